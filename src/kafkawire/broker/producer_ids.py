"""Producer ids: handed out once each, also across restarts.

Rules:
- Ids come in blocks of 1000. The end of a block is in the journal before its first id is given away, so that a crash
  loses ids and never repeats one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.messages import ProducerIdsRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafkawire.messages import Message

BLOCK: Final = 1000


class ProducerIds:
    """The ids that are left of the current block."""

    def __init__(self, broker_id: int, write: Callable[[Iterable[Message]], None]) -> None:
        self._broker_id = broker_id
        self._write = write
        self._next = self._end = 0

    def restore(self, next_id: int) -> None:
        """Start behind the last block that the journal knows."""
        self._next = self._end = next_id

    @property
    def next_block(self) -> int:
        """The first id that the journal does not know of."""
        return self._end

    def take(self) -> int:
        """An id that nobody has had."""
        if self._next == self._end:
            self._write([ProducerIdsRecord(broker_id=self._broker_id, next_producer_id=self._end + BLOCK)])
            self._end += BLOCK
        self._next += 1
        return self._next - 1
