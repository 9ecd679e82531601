"""Producer ids: each is assigned once, also across restarts.

Rules:
- Ids come in blocks of 1000. The end of a block is in the journal before its first id is assigned. So a crash loses ids
  and never repeats one.
"""

from __future__ import annotations

from typing import Final

from kafkawire.messages import ProducerIdsRecord

BLOCK: Final = 1000


class ProducerIds:
    """The ids that are left of the current block."""

    def __init__(self, broker_id: int) -> None:
        self._broker_id = broker_id
        self._next = self._end = 0

    def restore(self, next_id: int) -> None:
        """Start behind the last block that the journal knows."""
        self._next = self._end = next_id

    def skip(self, producer_id: int) -> None:
        """Never assign an id that is in use, although the journal does not know it."""
        if producer_id >= self._end:
            self.restore(producer_id + 1)

    @property
    def next_block(self) -> int:
        """The first id that the journal does not know of."""
        return self._end

    @property
    def is_empty(self) -> bool:
        """Whether a block must be written to the journal before the next id is taken."""
        return self._next == self._end

    def next_record(self) -> ProducerIdsRecord:
        """The next block, as the journal writes it down."""
        return ProducerIdsRecord(broker_id=self._broker_id, next_producer_id=self._end + BLOCK)

    def extend(self, record: ProducerIdsRecord) -> None:
        """Assign the ids of a block that is in the journal."""
        self._end = record.next_producer_id

    def take(self) -> int:
        """An id that no producer has had."""
        assert not self.is_empty, "write the next block to the journal first"
        self._next += 1
        return self._next - 1
