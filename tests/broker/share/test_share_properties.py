"""For all histories of a share partition: one owner per record, nothing finished comes again, limits hold, progress.

Members may acknowledge, release, reject or renew any of their records, or nothing. Locks end, sessions end, the broker
is killed, and the log grows and loses records.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker.share.share_stage import KEY, LOCK, Stage, replayed

from kafkawire.broker.share.partition import ACCEPT, GAP, REJECT, RELEASE, RENEW
from kafkawire.messages.errors import InvalidRecordStateError, InvalidRequestError

MEMBERS = st.sampled_from(["a", "b", "c"])
STEPS = st.one_of(
    st.tuples(st.just("fetch"), MEMBERS, st.integers(1, 40), st.integers(1, 20), st.booleans()),
    st.tuples(st.just("acknowledge"), MEMBERS, st.lists(st.sampled_from(range(5)), min_size=1, max_size=8)),
    st.tuples(st.just("acknowledge all"), MEMBERS, st.sampled_from([ACCEPT, RELEASE, REJECT, RENEW])),
    st.tuples(st.just("acknowledge anything"), MEMBERS, st.integers(0, 80), st.integers(0, 10)),
    st.tuples(st.just("close"), MEMBERS),
    st.tuples(st.just("time"), st.sampled_from([1, LOCK // 2, LOCK])),
    st.tuples(st.just("append"), st.lists(st.integers(1, 12), min_size=1, max_size=3)),
    st.tuples(st.just("abort"), st.integers(1, 9)),
    st.tuples(st.just("trim"), st.integers(1, 15)),
    st.tuples(st.just("kill")),
)
HISTORIES = st.lists(STEPS, min_size=5, max_size=60)


class Witness:
    """Watches what members get, and knows what they may get."""

    def __init__(self, limit: int, most_locks: int) -> None:
        self.stage = Stage(6, 1, 9, limit=limit, most_locks=most_locks, updates_per_snapshot=4)
        self.holders: dict[int, str] = {}
        self.until: dict[int, int] = {}
        self.deliveries: dict[int, int] = {}
        self.finished: set[int] = set()
        self.unavailable: set[int] = set()

    def step(self, kind: str, *what: object) -> None:
        getattr(self, kind.replace(" ", "_"))(*what)
        self.check()

    def fetch(self, member: str, most: int, size: int, limited: bool) -> None:
        stage = self.stage
        found = stage.fetch(member, most, size=size, limited=limited)
        offsets = [offset for first, last, _ in found for offset in range(first, last + 1)]
        assert offsets == sorted(set(offsets))
        if limited:
            assert len(offsets) <= most
        for first, last, count in found:
            assert 1 <= count <= stage.limit
            for offset in range(first, last + 1):
                assert offset not in self.holders, f"{offset} has two owners"
                assert offset not in self.finished, f"{offset} comes again"
                assert stage.log_start <= offset < stage.end
                assert not any(span.first <= offset <= span.last for span in stage.aborted)
                assert count == self.deliveries.get(offset, 0) + 1
                self.deliveries[offset] = count
                self.holders[offset] = member
                self.until[offset] = stage.now + LOCK

    def acknowledge(self, member: str, types: list[int]) -> None:
        for first in sorted(offset for offset, holder in self.holders.items() if holder == member):
            types = types[: next((n for n in range(len(types)) if self.holders.get(first + n) != member), len(types))]
            self.stage.acknowledge(member, first, first + len(types) - 1, *types)
            for offset, kind in enumerate(types, first):
                self._acknowledged(offset, kind)
            return

    def acknowledge_all(self, member: str, kind: int) -> None:
        for offset in sorted(offset for offset, holder in self.holders.items() if holder == member):
            self.stage.acknowledge(member, offset, offset, kind)
            self._acknowledged(offset, kind)

    def acknowledge_anything(self, member: str, first: int, size: int) -> None:
        before = repr(self.stage.partition)
        try:
            self.stage.acknowledge(member, first, first + size)
        except (InvalidRecordStateError, InvalidRequestError):
            assert repr(self.stage.partition) == before
        else:
            for offset in range(first, first + size + 1):
                if self.holders.get(offset) == member and offset >= self.stage.log_start:
                    self._acknowledged(offset, ACCEPT)

    def close(self, member: str) -> None:
        self.stage.release(member)
        for offset in [offset for offset, holder in self.holders.items() if holder == member]:
            self._acknowledged(offset, RELEASE)

    def time(self, passed: int) -> None:
        self.stage.now += passed
        self.stage.expire()
        for offset in [offset for offset, until in self.until.items() if until <= self.stage.now]:
            self._acknowledged(offset, RELEASE)

    def append(self, sizes: list[int]) -> None:
        self.stage.append(*sizes)

    def abort(self, size: int) -> None:
        self.stage.append(size)
        self.stage.aborted.append(self.stage.spans[-1])

    def trim(self, count: int) -> None:
        stage = self.stage
        stage.log_start = min(stage.end, stage.log_start + count)
        stage.partition.log_starts_at(stage.log_start)
        for offset in [offset for offset in self.holders if offset < stage.log_start]:
            self._forget(offset)

    def kill(self) -> None:
        stored = {
            offset: batch.deliveries
            for batch in self.stage.states.find(KEY).batches  # type: ignore[union-attr]
            for offset in range(batch.first, batch.last + 1)
        }
        self.stage.restart()
        self.deliveries = stored
        self.holders.clear()
        self.until.clear()

    def check(self) -> None:
        stage = self.stage
        assert stage.partition.start <= stage.partition.end + 1
        assert replayed(stage.records, 4).find(KEY) == stage.states.find(KEY)

    def drain(self) -> None:
        """Members take and accept everything that is left."""
        self.time(LOCK)
        for _ in range(2 * self.stage.end + 20):
            self.fetch("z", 1_000, 1_000, False)
            self.acknowledge_all("z", ACCEPT)
        expected = {
            offset
            for offset in range(self.stage.log_start, self.stage.end)
            if not any(span.first <= offset <= span.last for span in self.stage.aborted)
        }
        assert expected <= self.finished
        assert not self.stage.fetch("z")
        self.stage.partition.log_starts_at(self.stage.log_start)
        assert self.stage.partition.next_offset() >= self.stage.end

    def _acknowledged(self, offset: int, kind: int) -> None:
        if kind == RENEW:
            self.until[offset] = self.stage.now + LOCK
            return
        self._forget(offset)
        if kind in (ACCEPT, REJECT, GAP) or self.deliveries[offset] >= self.stage.limit:
            self.finished.add(offset)

    def _forget(self, offset: int) -> None:
        self.holders.pop(offset, None)
        self.until.pop(offset, None)


@given(HISTORIES, st.integers(2, 5), st.sampled_from([10, 2_000]))
@settings(max_examples=300, deadline=None)
def test_every_history(history: list[tuple[object, ...]], limit: int, most_locks: int) -> None:
    witness = Witness(limit, most_locks)
    for kind, *what in history:
        witness.step(str(kind), *what)
    witness.drain()
