"""A log against a list: whatever is done to it, and however it stops, it says what a list would say."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.log.batches import NOW, Clock, records

from kafkawire.log import LogConfig, LogDirectory, Partition
from kafkawire.messages.errors import KafkaStorageError
from kafkawire.records import BatchBuilder
from kafkawire.testing.faulty_files import Fault, FaultyFiles

ROOT = Path("/data")
KEYS = [b"a", b"b", b"c", b"a key that is longer than a digest of its bytes would be"]


class Row(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int


class LogModel(RuleBasedStateMachine):
    """`rows` is what the log should hold; `durable` how far it must survive a power cut."""

    @initialize(
        segment_bytes=st.sampled_from([170, 300, 1000]),
        policy=st.sampled_from(["delete", "compact"]),
        interval=st.sampled_from([0, 100, 4096]),
        codec=st.sampled_from(["producer", "gzip"]),
    )
    def start(self, segment_bytes: int, policy: str, interval: int, codec: str) -> None:
        self.clock = Clock()
        self.disk = FaultyFiles(self.clock)
        self.config = LogConfig(
            cleanup_policy=policy,
            segment_bytes=segment_bytes,
            index_interval_bytes=interval,
            compression_type=codec,
        )
        self.rows: list[Row] = []
        self.end = self.log_start = self.durable = 0
        self.sequence = 0
        self.open()
        self.logs.create("t", 0)

    def open(self) -> None:
        self.logs = LogDirectory(ROOT, files=self.disk, clock=self.clock, config=self.config)

    @property
    def log(self) -> Partition:
        return self.logs.partitions["t", 0]

    @rule(
        items=st.lists(st.tuples(st.sampled_from(KEYS), st.none() | st.binary(max_size=8)), min_size=1, max_size=3),
        late=st.integers(-50, 50),
    )
    def append(self, items: list[tuple[bytes, bytes | None]], late: int) -> None:
        builder = BatchBuilder(producer_id=1, producer_epoch=0, base_sequence=self.sequence)
        for key, value in items:
            builder.append(key, value, timestamp=NOW + late)
        data = builder.build()
        if len(data) + 30 > self.config.segment_bytes:
            return
        result = self.log.append(data)
        assert (result.base_offset, result.last_offset) == (self.end, self.end + len(items) - 1)
        assert self.log.append(data).duplicate
        self.rows += [Row(self.end + n, key, value, NOW + late) for n, (key, value) in enumerate(items)]
        self.end += len(items)
        self.sequence += len(items)

    @rule(
        items=st.lists(st.tuples(st.sampled_from(KEYS[:3]), st.binary(max_size=8)), min_size=1, max_size=5),
        late=st.integers(-50, 50),
        kept=st.none() | st.integers(0, 300),
    )
    def append_together(self, items: list[tuple[bytes, bytes]], late: int, kept: int | None) -> None:
        """Hold a batch for each item, and write them in one go, or fail to after some bytes."""
        for number, (key, value) in enumerate(items):
            builder = BatchBuilder(producer_id=1, producer_epoch=0, base_sequence=self.sequence + number)
            builder.append(key, value, timestamp=NOW + late)
            assert self.log.append(builder.build(), hold=True).base_offset == self.end + number
        if kept is not None:
            self.disk.arm(Fault("write", keep=kept))
        try:
            self.log.write_held()
        except KafkaStorageError:
            assert kept is not None
        self.disk.faults.clear()
        written = self.log.end_offset - self.end
        assert written == len(items) or kept is not None
        self.rows += [Row(self.end + n, *item, NOW + late) for n, item in enumerate(items[:written])]
        self.end += written
        self.sequence += written

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.durable = self.end

    @precondition(lambda self: self.end > self.log_start)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        wanted = data.draw(st.integers(self.log_start, self.end))
        self.logs.truncate("t", 0, wanted)
        end = self.log.end_offset
        assert end <= wanted
        self.rows = [row for row in self.rows if row.offset < end]
        self.end, self.log_start = end, min(self.log_start, end)
        self.durable = self.log.recovery_point
        self.sequence = self.log.producers.entries[1].last_sequence + 1 if self.log.producers.entries else 0

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        self.log_start = self.logs.delete_records("t", 0, data.draw(st.integers(self.log_start, self.end)))

    @precondition(lambda self: self.config.compacts)
    @rule()
    def compact(self) -> None:
        boundary = self.log.segments.active.base_offset
        if self.log.compact(force=True):
            latest = {row.key: row.offset for row in self.rows if row.offset < boundary}
            self.rows = [row for row in self.rows if row.offset >= boundary or latest[row.key] == row.offset]
            self.durable = self.end
            self.logs.checkpoint()

    @rule()
    def checkpoint(self) -> None:
        self.logs.checkpoint()

    @rule()
    def stop_cleanly(self) -> None:
        self.logs.close()
        self.durable = self.end
        self.open()

    @rule()
    def be_killed(self) -> None:
        self.disk = self.disk.killed()
        self.open()

    @rule()
    def lose_power(self) -> None:
        self.disk = self.disk.unplugged()
        self.open()
        assert self.log.end_offset >= self.durable
        self.end = self.log.end_offset
        left = {record.offset for record in records(self.log)} if self.config.compacts else range(self.end)
        self.rows = [row for row in self.rows if row.offset < self.durable or row.offset in left]
        known = self.log.producers.entries.get(1)
        self.sequence = known.last_sequence + 1 if known else 0

    @invariant()
    def reads_what_was_written(self) -> None:
        log = self.log
        assert (log.log_start_offset, log.end_offset) == (self.log_start, self.end)
        expected = [row for row in self.rows if row.offset >= self.log_start]
        assert [Row(r.offset, r.key, r.value, r.timestamp) for r in records(log)] == expected
        middle = (self.log_start + self.end) // 2
        found = records(log, start=middle)
        assert [record.offset for record in found] == [row.offset for row in expected if row.offset >= middle]

    @invariant()
    def finds_times(self) -> None:
        for stamp in (NOW - 50, NOW, NOW + 20):
            expected = next((r for r in self.rows if r.offset >= self.log_start and r.timestamp >= stamp), None)
            found = self.log.offset_for_timestamp(stamp)
            assert (found.offset if found else None) == (expected.offset if expected else None)


TestLogModel = LogModel.TestCase
TestLogModel.settings = settings(max_examples=120, stateful_step_count=40)
