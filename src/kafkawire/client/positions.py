"""Which partitions a consumer has, and how far it is in each.

Rules:
- `position` is the offset that the application gets next; `fetch_offset` is where the next fetch begins, ahead of it by
  what is buffered.
- A partition without a position has a `goal`: the committed offset, or one of the special offsets, to be looked up.
- Each of the two has the leader epoch of the batch before it, or -1 where that is not known for sure: an epoch that is
  too old would look like a log that was cut off (KIP-320).
- Whatever changes the position (seek, a reset) throws away what was buffered, and a fetch that was on its way is not
  taken: `version` tells.
- While the listener is told of a new partition it is held: the application gets nothing of it before.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from kafkawire.client.decoding import decode_chunk
from kafkawire.client.offsets import EARLIEST, LATEST

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from kafkawire.client.arrow import ArrowDecoder
    from kafkawire.client.decoding import Chunk, ConsumerRecord
    from kafkawire.client.metadata import TopicPartition
    from kafkawire.client.options import ConsumerOptions

COMMITTED: Final = "committed"
Goal = str | int | None
_MOST_CHUNKS: Final = 2


class Position:
    """One partition of a consumer."""

    __slots__ = (
        "_end",
        "_end_epoch",
        "chunks",
        "error",
        "fetch_epoch",
        "fetch_offset",
        "goal",
        "high_watermark",
        "is_held",
        "is_paused",
        "last_stable_offset",
        "leader_epoch",
        "not_before",
        "partition",
        "position",
        "records",
        "version",
    )

    def __init__(self, partition: TopicPartition, goal: Goal) -> None:
        self.partition = partition
        self.goal: Goal = goal
        self.position: int | None = None
        self.fetch_offset = self.fetch_epoch = -1
        self.chunks: deque[Chunk] = deque()
        self.records: deque[ConsumerRecord] = deque()
        self.is_paused = self.is_held = False
        self.high_watermark = -1
        self.last_stable_offset = -1
        self.leader_epoch = -1
        self.error: Exception | None = None
        self.not_before = 0.0
        self.version = 0
        self._end = self._end_epoch = -1

    def move(self, offset: int, leader_epoch: int = -1) -> None:
        """Go on at an offset, after a batch of this epoch."""
        self._forget()
        self.position = self.fetch_offset = offset
        self.leader_epoch = self.fetch_epoch = leader_epoch
        self.goal = None

    def look_up(self, goal: Goal) -> None:
        """Go on at an offset that has to be looked up first."""
        self._forget()
        self.position = None
        self.goal = goal

    @property
    def is_full(self) -> bool:
        return not self.is_paused and len(self.chunks) >= _MOST_CHUNKS

    def may_fetch(self, now: float) -> bool:
        return (
            self.position is not None
            and not self.is_paused
            and self.error is None
            and len(self.chunks) < _MOST_CHUNKS
            and now >= self.not_before
        )

    def add(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)
        self.fetch_offset, self.fetch_epoch = chunk.next_offset, chunk.leader_epoch

    def take(self, most: int | None, options: ConsumerOptions) -> list[ConsumerRecord]:
        """The next records, at most so many; none while nothing is buffered.

        A chunk that cannot be decoded stays where it is: the error comes again until the application seeks past it.
        """
        while not self.records and self.chunks:
            decoded, rest = decode_chunk(self.chunks[0], self.partition, options)
            self._take_part(rest)
            if most is None or len(decoded) <= most:
                self.position, self.leader_epoch = self._end, self._end_epoch
                if decoded:
                    return decoded
                continue
            self.records = deque(decoded)
        if most is None or len(self.records) <= most:
            taken = list(self.records)
            self.records.clear()
        else:
            taken = [self.records.popleft() for _ in range(most)]
        if taken and self.records:
            self.position, self.leader_epoch = taken[-1].offset + 1, taken[-1].leader_epoch
        elif taken:
            self.position, self.leader_epoch = self._end, self._end_epoch
        return taken

    def pop(self) -> ConsumerRecord:
        """The next of the records that are decoded."""
        record = self.records.popleft()
        if self.records:
            self.position, self.leader_epoch = record.offset + 1, record.leader_epoch
        else:
            self.position, self.leader_epoch = self._end, self._end_epoch
        return record

    def take_columns(self, decoder: ArrowDecoder) -> pa.RecordBatch | None:
        """The next rows, perhaps none of a fetch that holds no records to see; None while nothing is buffered."""
        if self.records and self.position is not None:
            self.move(self.position, self.leader_epoch)  # what is left of them comes again, as bytes
        if not self.chunks:
            return None
        batch, rest = decoder.decode(self.chunks[0], self.partition)
        self._take_part(rest)
        self.position, self.leader_epoch = self._end, self._end_epoch
        return batch

    def _take_part(self, rest: Chunk | None) -> None:
        """The first chunk is decoded but for a rest, where to go on then."""
        chunk = self.chunks.popleft()
        if rest is None:
            self._end, self._end_epoch = chunk.next_offset, chunk.leader_epoch
        else:
            self.chunks.appendleft(rest)
            self._end, self._end_epoch = rest.position, -1

    @property
    def has_data(self) -> bool:
        return not self.is_paused and not self.is_held and bool(self.records or self.chunks)

    def _forget(self) -> None:
        self.chunks.clear()
        self.records.clear()
        self.error = None
        self.version += 1


class Assignment:
    """The partitions of a consumer, in the order they came, and how many calls wait for records of them."""

    def __init__(self, reset: str) -> None:
        self.partitions: dict[TopicPartition, Position] = {}
        self.waiting = 0
        self._reset = reset

    @property
    def reset_goal(self) -> int | None:
        """Where to begin without a committed offset; None where the application wants to be told."""
        return {"earliest": EARLIEST, "latest": LATEST}.get(self._reset)

    def replace(self, partitions: Iterable[TopicPartition], goal: Goal) -> None:
        """Have exactly these; those that stay keep their positions and what is buffered."""
        before = self.partitions
        self.partitions = {each: before.get(each) or Position(each, goal) for each in partitions}
        for gone in before.keys() - self.partitions.keys():
            before[gone].look_up(goal)  # whoever still holds it gets nothing more

    def rotate(self, partition: TopicPartition) -> None:
        """Let the others go first next time."""
        self.partitions[partition] = self.partitions.pop(partition)
