"""Several producers against a list of what they wrote, through stops of every kind."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.log.batches import Clock, batch

from kafkawire.log import LogConfig, LogDirectory, Partition
from kafkawire.log._producers import CACHED_BATCHES
from kafkawire.testing.faulty_files import FaultyFiles

ROOT = Path("/data")
PRODUCERS = range(3)


class Sent(NamedTuple):
    """A batch of a producer, and the offset that it got."""

    epoch: int
    sequence: int
    records: int
    offset: int


class ProducersModel(RuleBasedStateMachine):
    """`sent` is what each producer wrote that the log holds."""

    @initialize(segment_bytes=st.sampled_from([250, 600, 100_000]))
    def start(self, segment_bytes: int) -> None:
        self.clock = Clock()
        self.disk = FaultyFiles(self.clock)
        self.config = LogConfig(segment_bytes=segment_bytes)
        self.sent: dict[int, list[Sent]] = {producer: [] for producer in PRODUCERS}
        self.open()
        self.logs.create("t", 0)

    def open(self) -> None:
        self.logs = LogDirectory(ROOT, files=self.disk, clock=self.clock, config=self.config)

    @property
    def log(self) -> Partition:
        return self.logs.partitions["t", 0]

    @rule(producer=st.sampled_from(PRODUCERS), count=st.integers(1, 2), bumps=st.sampled_from([0] * 9 + [1]))
    def append(self, producer: int, count: int, bumps: int) -> None:
        self.clock.advance(1)
        last = self.sent[producer][-1] if self.sent[producer] else Sent(0, 0, 0, 0)
        epoch, sequence = last.epoch + bumps, 0 if bumps else last.sequence + last.records
        offset = self.log.end_offset
        result = self.log.append(batch(*[b"v"] * count, producer=(producer, epoch, sequence)))
        assert (result.base_offset, result.duplicate) == (offset, False)
        self.sent[producer].append(Sent(epoch, sequence, count, offset))

    @rule()
    def append_without_a_producer(self) -> None:
        self.log.append(batch(b"plain"))

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.logs.checkpoint()

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        self.logs.truncate("t", 0, data.draw(st.integers(0, self.log.end_offset)))
        self.forget()

    @rule()
    def stop_cleanly(self) -> None:
        self.logs.close()
        self.open()

    @rule()
    def stop_cleanly_and_lose_power(self) -> None:
        self.logs.close()
        self.disk = self.disk.unplugged()
        self.open()

    @rule()
    def be_killed(self) -> None:
        self.disk = self.disk.killed()
        self.open()

    @rule()
    def lose_power(self) -> None:
        self.disk = self.disk.unplugged()
        self.open()
        self.forget()

    def forget(self) -> None:
        end = self.log.end_offset
        self.sent = {producer: [each for each in sent if each.offset < end] for producer, sent in self.sent.items()}

    @invariant()
    def each_of_the_last_five_batches_is_known(self) -> None:
        for producer, sent in self.sent.items():
            current = [each for each in sent if each.epoch == sent[-1].epoch]
            for epoch, sequence, count, offset in current[-CACHED_BATCHES:]:
                end = self.log.end_offset
                result = self.log.append(batch(*[b"v"] * count, producer=(producer, epoch, sequence)))
                assert result.duplicate
                assert (result.base_offset, result.last_offset) == (offset, offset + count - 1)
                assert self.log.end_offset == end


TestProducersModel = ProducersModel.TestCase
TestProducersModel.settings = settings(max_examples=80, stateful_step_count=40)
