"""Random histories of transactions with crashes at every change of the disk.

Several transactional ids, of both protocols, write to two partitions and commit offsets. Producers are replaced in the
middle of transactions, transactions time out, and the process or the power dies. Checked after every crash:
- a transaction whose commit was acknowledged is visible as a whole, once and in order, with its offsets;
- an aborted one is not visible, and neither is one that timed out;
- any other is visible as a whole or not at all;
- no transaction stays open once the timeouts are over;
- the state that is loaded is the one that was acknowledged.
"""

from __future__ import annotations

import asyncio
import errno
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.broker.transactions.producer import NEW, OLD, TransactionalProducer

from kafkawire.broker._config.settings import BrokerConfig
from kafkawire.broker._node import Node
from kafkawire.broker.transactions.service import RETRY_MS
from kafkawire.broker.transactions.states import PREPARED, State
from kafkawire.messages.errors import ErrorCode
from kafkawire.records import read_batches
from kafkawire.testing.faulty_files import Fault, FaultyFiles
from kafkawire.testing.manual_clock import ManualClock

if TYPE_CHECKING:
    from kafkawire.broker.transactions.transaction import Transaction

START = 1_700_000_000_000
PARTITIONS = 2
TIMEOUT = 60_000
NONE = ErrorCode.NONE
CONFIG = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "add.partitions.to.txn.retry.backoff.max.ms": "0",  # the clock of these tests does not advance by itself
}


@dataclass
class Attempt:
    """A transaction as its producer knows it: the acknowledged records, and how it ended, if that is known."""

    number: int
    name: str
    records: list[tuple[int, bytes]] = field(default_factory=list)
    offset: bool = False
    is_broken: bool = False
    """Whether a request failed, so that the producer may only abort."""
    end: bool | None = None
    """True: the commit was acknowledged; False: it must not be visible; None: not known."""


class History:
    """A node, its disk, its producers, and the transactions so far."""

    def __init__(self, seed: int, *, syncs: bool) -> None:
        self.dice = Random(seed)
        self.syncs = syncs
        self.clock = ManualClock(START)
        self.files = FaultyFiles(self.clock.now)
        self.attempts: list[Attempt] = []
        self.current: dict[str, Attempt] = {}
        self.producers: dict[str, TransactionalProducer] = {}
        self.open_node()
        self.node.create_topic("orders", PARTITIONS)
        for name, level in (("old", OLD), ("new", NEW), ("mixed", NEW)):
            self.producers[name] = TransactionalProducer(self.node, name, level=level)
        asyncio.run(self.node.groups.prepare())

    def open_node(self) -> None:
        config = BrokerConfig({**CONFIG, "flush.on.ack": str(self.syncs).lower()})
        self.node = Node(config, self.clock, root=Path("/data"), files=self.files)
        asyncio.run(self._start())
        for producer in self.producers.values():
            producer.node = self.node

    async def _start(self) -> None:
        self.node.start()

    def advance(self, ms: int) -> None:
        async def pass_time() -> None:
            for _ in range(ms // 10_000 + 1):
                self.clock.advance(min(ms, 10_000))
                while self.node.transactions._tasks:
                    await asyncio.sleep(0.0005)

        asyncio.run(pass_time())

    def crash(self, *, power: bool) -> None:
        """Kill the process, or cut the power; the next process finds what is left."""
        self.node.transactions.stop()
        self.node.groups.stop()
        self.files = self.files.unplugged(self.dice) if power else self.files.killed()
        self.clock = ManualClock(self.clock.now() + 1)
        self.open_node()
        self.advance(0)
        for attempt in self.current.values():
            attempt.is_broken = True

    def step(self) -> None:
        """One request of one producer."""
        name = self.dice.choice(list(self.producers))
        attempt = self.current.get(name)
        action = self.dice.random()
        if attempt is None or action < 0.05:
            self.begin(name)
        elif action < 0.6 and not attempt.is_broken:
            self.produce(name, attempt)
        elif action < 0.75 and not attempt.is_broken:
            self.commit_offset(name, attempt)
        elif action < 0.78:
            self.advance(TIMEOUT + 20_000)
            for each in self.current.values():
                each.is_broken = True
        else:
            self.end(name, attempt, commit=not attempt.is_broken and self.dice.random() < 0.7)

    def begin(self, name: str) -> None:
        """Start a transaction, mostly in a new instance of the producer, which ends what the old one left open."""
        producer = self.producers[name]
        left = self.current.pop(name, None)
        if left is not None or producer.id < 0 or self.dice.random() < 0.3:
            for _ in range(3):
                error = producer.init(timeout=TIMEOUT)
                if error != ErrorCode.CONCURRENT_TRANSACTIONS:
                    break
                self.advance(2000)
            if error:
                producer.id = -1
                return
        if left is not None and left.end is None and not left.is_broken:
            left.end = False  # the new instance has aborted it before it started
        attempt = self.current[name] = Attempt(len(self.attempts), name)
        self.attempts.append(attempt)

    def produce(self, name: str, attempt: Attempt) -> None:
        producer, partition = self.producers[name], self.dice.randrange(PARTITIONS)
        value = b"%d-%d" % (attempt.number, len(attempt.records))
        error = NONE
        if producer.level == OLD:
            error = ErrorCode(producer.add("orders", partition))
        if not error:
            error = ErrorCode(producer.produce(value, partition=partition))
        if error:
            attempt.is_broken = True
        else:
            attempt.records.append((partition, value))

    def commit_offset(self, name: str, attempt: Attempt) -> None:
        producer = self.producers[name]
        error = ErrorCode(producer.add_offsets(name)) if producer.level == OLD else NONE
        if not error:
            error = ErrorCode(producer.commit_offsets({("orders", 0): attempt.number}, name))
        if error:
            attempt.is_broken = True
        else:
            attempt.offset = True

    def end(self, name: str, attempt: Attempt, *, commit: bool) -> None:
        producer = self.producers[name]
        if commit and not attempt.records and not attempt.offset:
            return
        error = producer.end(commit=commit)
        if error:
            attempt.is_broken = True
            if not commit:
                del self.current[name]
                producer.id = -1
            return
        attempt.end = commit
        del self.current[name]
        if name == "mixed":
            self.change_protocol(producer)

    def change_protocol(self, producer: TransactionalProducer) -> None:
        if self.dice.random() < 0.3:
            producer.level = NEW - producer.level
            producer.id = -1

    def loaded(self) -> dict[str, Transaction]:
        return {
            entry.current.transactional_id: entry.current._replace(last_epoch=-1) for entry in self.node.transactions
        }

    def settle(self) -> None:
        """Let everything end that ends by itself."""
        self.advance(2 * TIMEOUT)
        for entry in self.node.transactions:
            assert entry.pending is None
            assert entry.current.state not in (*PREPARED, State.ONGOING), entry.current
        for (topic, _), log in self.node.logs.partitions.items():
            if topic == "orders":
                assert log.last_stable_offset == log.high_watermark == log.end_offset

    def check(self) -> None:
        """Compare the committed records that readers see with the answers that producers got."""
        seen: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
        for partition in range(PARTITIONS):
            for value in committed_values(self.node, partition):
                seen[int(value.split(b"-")[0])].append((partition, value))
        for attempt in self.attempts:
            found, expected = sorted(seen.get(attempt.number, [])), sorted(attempt.records)
            if attempt.end is True:
                assert found == expected, attempt
            elif attempt.end is False:
                assert found == [], attempt
            else:
                assert found in ([], expected), attempt
        for name in self.producers:
            group = self.node.groups.find(name)
            offset = group.offsets.get(("orders", 0)) if group is not None else None
            decided = [each.number for each in self.attempts if each.name == name and each.offset and each.end is True]
            open_ended = [
                each.number
                for each in self.attempts
                if each.name == name and each.end is None and (not each.records or seen.get(each.number))
            ]
            last = decided[-1] if decided else None
            if offset is None:
                assert last is None, name
            else:
                assert offset.offset == last or offset.offset in open_ended, (name, offset, last, open_ended)
            assert not self.node.groups.unstable(name)


def committed_values(node: Node, partition: int) -> list[bytes]:
    """The values of a partition that readers of committed records see, in order; no value may occur twice."""
    log = node.log("orders", partition)
    aborted = {(each.producer_id, each.first_offset) for each in log.aborted_transactions(0, log.end_offset)}
    skipped: set[int] = set()
    found: list[bytes] = []
    offset = 0
    while offset < log.last_stable_offset and (data := log.read(offset, 1 << 20).read()):
        for batch in read_batches(data):
            offset = batch.next_offset
            if (batch.producer_id, batch.base_offset) in aborted:
                skipped.add(batch.producer_id)
            if batch.is_control:
                skipped.discard(batch.producer_id)
            elif batch.producer_id not in skipped:
                found += [bytes(record.value or b"") for record in batch.records()]
    assert len(set(found)) == len(found)
    return found


@pytest.mark.parametrize("syncs", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_no_crash_tears_a_transaction(seed: int, syncs: bool) -> None:
    history = History(seed, syncs=syncs)
    for _ in range(4):
        for _ in range(history.dice.randrange(5, 25)):
            history.step()
        before = history.loaded()
        files = history.files
        if history.dice.random() < 0.7:
            files.cut_after(history.dice.randrange(8))
            with suppress(OSError):
                for _ in range(history.dice.randrange(1, 4)):
                    history.step()
            history.crash(power=syncs and history.dice.random() < 0.7)
        else:
            history.crash(power=False)
            finished = {name for name, known in before.items() if known.state in PREPARED}
            after = history.loaded()
            assert {name: each for name, each in after.items() if name not in finished} == {
                name: each for name, each in before.items() if name not in finished
            }
        history.settle()
        for attempt in history.current.values():
            attempt.is_broken = True
        history.check()


@pytest.mark.parametrize("syncs", [False, True])
@pytest.mark.parametrize("level", [OLD, NEW])
@pytest.mark.parametrize("commit", [True, False])
def test_a_crash_at_every_change_of_the_disk(level: int, commit: bool, syncs: bool) -> None:
    changes = 0
    while True:
        history = History(0, syncs=syncs)
        for name in history.producers:
            history.producers[name].level = level
        history.files.cut_after(changes)
        with suppress(OSError):
            transact(history, commit=commit)
        is_over = bool(history.attempts) and history.attempts[0].end is not None and not history.attempts[0].is_broken
        history.crash(power=syncs)
        history.settle()
        history.check()
        if is_over and changes > 5:
            break
        changes += 1
    assert changes > 8


@pytest.mark.parametrize(("kind", "syncs"), [("write", False), ("write", True), ("sync", True)])
@pytest.mark.parametrize("level", [OLD, NEW])
@pytest.mark.parametrize("commit", [False, True])
@pytest.mark.parametrize("sticky", [False, True])
def test_a_failing_disk_tears_nothing_and_blocks_nothing(
    level: int, kind: str, sticky: bool, syncs: bool, commit: bool
) -> None:
    """Every operation of a kind fails once, or from then on until the disk heals; then the producer goes on."""
    for after in range(40):
        history = History(0, syncs=syncs)
        producer = history.producers["old"]
        producer.level = level
        fault = Fault(kind, after=after, error=errno.ENOSPC, sticky=sticky)
        history.files.arm(fault)
        transact(history, commit=commit)
        was_struck = bool(history.files.struck)
        history.files.faults.clear()
        history.advance(3 * RETRY_MS)
        for _ in range(5):
            producer.init(timeout=TIMEOUT)
            history.current.clear()
            transact(history, commit=True)
            if history.attempts[-1].end is True:
                break
            history.advance(3 * RETRY_MS)
        assert history.attempts[-1].end is True
        history.crash(power=syncs)
        history.settle()
        history.check()
        if not was_struck:
            return


def transact(history: History, *, commit: bool) -> None:
    """One transaction of one producer, as far as it gets."""
    history.begin("old")
    attempt = history.current.get("old")
    if attempt is None:
        return
    for _ in range(2):
        if not attempt.is_broken:
            history.produce("old", attempt)
    if not attempt.is_broken:
        history.commit_offset("old", attempt)
    history.end("old", attempt, commit=commit and not attempt.is_broken)
