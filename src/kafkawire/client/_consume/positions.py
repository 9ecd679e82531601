"""The assigned partitions of a consumer, and its position in each.

Rules:
- `position` is the offset that the application gets next; `fetch_offset` is where the next fetch begins, ahead of it by
  the buffered records.
- A partition without a position has a `goal` to be looked up: the committed offset, or one of the special offsets.
- Both offsets have the leader epoch of the batch before them, or -1 if it is not certain: an epoch that is too old
  would look like a truncated log (KIP-320).
- Every change of the position (a seek, a reset, a revoked partition) discards the buffer and begins another `Stretch`.
  Anything of an earlier stretch is dropped: a fetch in flight, or the rest of a run.
- Offset and epoch are one value, written at once, because a run moves them on the thread of the application while the
  loop commits them. Writes to an earlier stretch have no effect.
- While the listener is called for a new partition, the partition is held: no records of it are returned.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING, Final

from kafkawire.client._consume.offsets import EARLIEST, LATEST
from kafkawire.client._consume.records import decode_chunk

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from kafkawire.client._bulk.arrow import ArrowDecoder
    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client._consume.records import Chunk, ConsumerRecord
    from kafkawire.client.options import ConsumerOptions

COMMITTED: Final = "committed"
Goal = str | int | None
_MOST_CHUNKS: Final = 2
_LEAST: Final = 500  # records are decoded in runs, even for a caller that wants one


class Stretch:
    """The progress since the position was last changed: the next offset, and the epoch before it."""

    __slots__ = ("at",)

    def __init__(self, at: tuple[int, int] | None) -> None:
        self.at = at


class Position:
    """One partition of a consumer."""

    __slots__ = (
        "_end",
        "chunks",
        "error",
        "fetch_epoch",
        "fetch_offset",
        "goal",
        "high_watermark",
        "is_held",
        "is_paused",
        "last_stable_offset",
        "not_before",
        "partition",
        "records",
        "stretch",
    )

    def __init__(self, partition: TopicPartition, goal: Goal) -> None:
        self.partition = partition
        self.goal: Goal = goal
        self.stretch = Stretch(None)
        self.fetch_offset = self.fetch_epoch = -1
        self.chunks: deque[Chunk] = deque()
        self.records: deque[ConsumerRecord] = deque()
        self.is_paused = self.is_held = False
        self.high_watermark = -1
        self.last_stable_offset = -1
        self.error: Exception | None = None
        self.not_before = 0.0
        self._end = (-1, -1)

    @property
    def position(self) -> int | None:
        at = self.stretch.at
        return None if at is None else at[0]

    @property
    def leader_epoch(self) -> int:
        at = self.stretch.at
        return -1 if at is None else at[1]

    def move(self, offset: int, leader_epoch: int = -1) -> None:
        """Continue at an offset, after a batch of this epoch."""
        self._forget((offset, leader_epoch))
        self.fetch_offset, self.fetch_epoch = offset, leader_epoch
        self.goal = None

    def look_up(self, goal: Goal) -> None:
        """Continue at an offset that has to be looked up first."""
        self._forget(None)
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
        """The next records, at most `most`; none if the buffer is empty.

        A chunk that cannot be decoded stays in the buffer: the error is raised again until the application seeks.
        """
        while not self.records and self.chunks:
            wanted = sys.maxsize if most is None else max(most, _LEAST)
            decoded, rest = decode_chunk(self.chunks[0], self.partition, options, wanted)
            self._take_part(rest)
            if most is None or len(decoded) <= most:
                self.stretch.at = self._end
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
            self.stretch.at = taken[-1].offset + 1, taken[-1].leader_epoch
        elif taken:
            self.stretch.at = self._end
        return taken

    def pop(self) -> ConsumerRecord:
        """The next decoded record."""
        record = self.records.popleft()
        if self.records:
            self.stretch.at = record.offset + 1, record.leader_epoch
        else:
            self.stretch.at = self._end
        return record

    def take_columns(self, decoder: ArrowDecoder) -> pa.RecordBatch | None:
        """The next rows, perhaps none if all records are filtered; None if the buffer is empty."""
        if self.records and self.stretch.at is not None:
            self.move(*self.stretch.at)  # the remaining records are fetched again, as bytes
        if not self.chunks:
            return None
        batch, rest = decoder.decode(self.chunks[0], self.partition)
        self._take_part(rest)
        self.stretch.at = self._end
        return batch

    def _take_part(self, rest: Chunk | None) -> None:
        """The first chunk is decoded up to its rest, where the position continues."""
        chunk = self.chunks.popleft()
        if rest is None:
            self._end = chunk.next_offset, chunk.leader_epoch
        else:
            self.chunks.appendleft(rest)
            self._end = rest.position, -1

    @property
    def has_data(self) -> bool:
        return not self.is_paused and not self.is_held and bool(self.records or self.chunks)

    def _forget(self, at: tuple[int, int] | None) -> None:
        self.chunks.clear()
        self.records.clear()
        self.error = None
        self.stretch = Stretch(at)


class Run:
    """Records that were taken together and are returned one by one; the position goes back and follows them."""

    __slots__ = ("_end", "_state", "_stretch", "records")

    def __init__(self, state: Position, records: Iterable[ConsumerRecord]) -> None:
        self._state, self._stretch = state, state.stretch
        self._end = self._stretch.at
        self.records = deque(records)
        self._stretch.at = self.records[0].offset, -1

    def pop(self) -> ConsumerRecord | None:
        """The next record; None after the last one, and after a change of the position."""
        stretch, records = self._stretch, self.records
        if not records or self._state.stretch is not stretch:
            return None
        record = records.popleft()
        stretch.at = (record.offset + 1, record.leader_epoch) if records else self._end
        return record

    @property
    def is_left(self) -> bool:
        """Whether there are more records."""
        return bool(self.records) and self._state.stretch is self._stretch


class Assignment:
    """The partitions of a consumer, in turn, and the number of calls that wait for records."""

    def __init__(self, reset: str) -> None:
        self.partitions: dict[TopicPartition, Position] = {}
        self.waiting = 0
        self._reset = reset

    @property
    def reset_goal(self) -> int | None:
        """The start without a committed offset; None if that is an error."""
        return {"earliest": EARLIEST, "latest": LATEST}.get(self._reset)

    def replace(self, partitions: Iterable[TopicPartition], goal: Goal) -> None:
        """Assign exactly these partitions; those that stay keep position and buffer."""
        before = self.partitions
        self.partitions = {each: before.get(each) or Position(each, goal) for each in partitions}
        for gone in before.keys() - self.partitions.keys():
            before[gone].look_up(goal)  # a run of it returns no further record

    def rotate(self, partition: TopicPartition) -> None:
        """Serve the other partitions first next time."""
        self.partitions[partition] = self.partitions.pop(partition)
