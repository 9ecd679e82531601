"""Clocks that are set: hours forwards and backwards, while groups, long polls and idempotent producers are at work.

Rules:
- The broker's time of day jumps; its timers run on evenly, as those of the system do.
- The time of day stays within three days of the truth, and topics and offsets are kept for seven: nothing expires.
- Records of the future are taken (log.message.timestamp.after.max.ms): those of clients are, when the broker is behind.
- Nothing younger than its retention goes because the clock was set back.
"""

from __future__ import annotations

from random import Random
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from kafkawire.broker._clock import LoopClock
from kafkawire.messages import DescribeGroupsRequest
from torture.application import verify
from torture.clients import (
    PARTITIONS,
    TOPICS,
    Client,
    ConfluentConsumer,
    ConfluentIdempotent,
    KafkawireConsumer,
    KafkawireProducer,
)
from torture.hostile import neighbour_pause
from torture.inprocess import BrokerThread, FaultLog, empty_disk
from torture.ledger import Ledger
from torture.peer import Asked, Peer, batch, check, create, fetch, produce
from torture.scenario import BrokenPromiseError

if TYPE_CHECKING:
    from torture.scenario import Budget, Stage

HOUR_MS: Final = 3_600_000
FARTHEST_MS: Final = 72 * HOUR_MS
POLL_MS: Final = 300
LATE_MS: Final = 2000
STABLE_WITHIN: Final = 30.0
CONFIG: Final = {
    "log.segment.bytes": "20000",
    "log.retention.check.interval.ms": "20",
    "offsets.retention.check.interval.ms": "20",
    "producer.id.expiration.check.interval.ms": "20",
    "log.flush.scheduler.interval.ms": "20",
    "log.cleaner.backoff.ms": "20",
    "log.message.timestamp.after.max.ms": str(2**63 - 1),
}


class JumpingClock(LoopClock):
    """The time of day is wrong by as much as the test asks for; timers are not."""

    def __init__(self) -> None:
        self.wrong_by = 0

    def now(self) -> int:
        return super().now() + self.wrong_by


class Clocks:
    """One broker whose clock is set again and again."""

    name = "clocks"
    promises = (
        "no member of a group is dropped because a clock was set",
        "a long poll waits as long as it asked to",
        "nothing younger than its retention is deleted",
        "idempotent producers go on, once and in order, and committed offsets stay",
    )

    def run(self, budget: Budget, stage: Stage) -> None:
        dice = Random(stage.dice.getrandbits(32))
        ledger = Ledger(stage.figures)
        clock = JumpingClock()
        with FaultLog() as log, BrokerThread(empty_disk(dice), CONFIG, clock) as broker:
            with Peer(broker.port) as peer:
                for topic in (*TOPICS, "quiet"):
                    check(peer.ask(create(topic, PARTITIONS)).topics[0].error_code, f"creating {topic}")
                    ledger.topic_changed(topic, exists=True)
                keep_an_hour(peer, clock)
            clients = make_clients(broker, ledger, dice)
            for client in clients:
                client.start()
            try:
                members = await_members(broker)
                while budget.take():
                    wanted = dice.randint(-FARTHEST_MS, FARTHEST_MS)
                    stage.tell(f"jump {stage.figures.get('clock jumps') + 1:.0f}: {wanted / HOUR_MS:+.0f} h")
                    jump(broker, clock, wanted, stage)
                    check_clients(clients)
                    check_members(broker, members, stage)
            finally:
                for client in clients:
                    client.stopping.set()
                for client in clients:
                    client.join(60)
            check_clients(clients)
            ledger.begin_again()
            verify(ledger, broker.port)
        if log.faults:
            raise BrokenPromiseError("a clock that is set is not a fault of the broker", log.faults[0][-1500:])


def make_clients(broker: BrokerThread, ledger: Ledger, dice: Random) -> list[Client]:
    producers = (ConfluentIdempotent, KafkawireProducer)
    consumers = (ConfluentConsumer, KafkawireConsumer)
    writing = zip(producers, TOPICS, strict=True)
    return [
        *(kind(kind.__name__, broker, ledger, dice.getrandbits(32), topic) for kind, topic in writing),
        *(kind(kind.__name__, broker, ledger, dice.getrandbits(32)) for kind in consumers),
    ]


def keep_an_hour(peer: Peer, clock: JumpingClock) -> None:
    """Records that are kept for an hour outlive a clock that is set back by five, and forwards again."""
    check(peer.ask(create("hour", 1, [("retention.ms", str(HOUR_MS))])).topics[0].error_code, "creating hour")
    for number in range(40):
        answered = peer.ask(produce("hour", 0, batch([b"%d" % number * 200])))
        check(answered.responses[0].partition_responses[0].error_code, "filling hour")
    for wrong_by in (-5 * HOUR_MS, 0):
        clock.wrong_by = wrong_by
        neighbour_pause(monotonic() + 0.1)
        found = len(list(peer.read("hour", 0, 0)))
        if found != 40:
            raise BrokenPromiseError("40 records that are kept for an hour", f"{found} after {wrong_by} ms")


def jump(broker: BrokerThread, clock: JumpingClock, wrong_by: int, stage: Stage) -> None:
    """Set the clock while a long poll waits."""
    with Peer(broker.port) as peer:
        asked = fetch("quiet", 0, 0, wait_ms=POLL_MS)
        peer.send([asked])
        start = monotonic()
        neighbour_pause(start + 0.05)
        clock.wrong_by = wrong_by
        stage.figures.add("clock jumps")
        check(peer.receive(asked).responses[0].partitions[0].error_code, "a long poll")
        took = (monotonic() - start) * 1000
    if not POLL_MS - 20 <= took <= POLL_MS + LATE_MS:
        raise BrokenPromiseError(f"a long poll of {POLL_MS} ms", f"it took {took:.0f} ms across a jump")


def describe(peer: Peer) -> dict[str, tuple[str, frozenset[str]]]:
    """State and members of each group."""
    groups = [ConfluentConsumer.group, KafkawireConsumer.group]
    answered: Any = peer.ask(Asked(DescribeGroupsRequest(groups=groups), 5))
    return {
        group.group_id: (group.group_state, frozenset(member.member_id for member in group.members))
        for group in answered.groups
    }


def await_members(broker: BrokerThread) -> dict[str, tuple[str, frozenset[str]]]:
    end = monotonic() + STABLE_WITHIN
    with Peer(broker.port) as peer:
        while monotonic() < end:
            found = describe(peer)
            if all(state == "Stable" and members for state, members in found.values()):
                return found
            neighbour_pause(monotonic() + 0.05)
    raise BrokenPromiseError(f"groups are stable within {STABLE_WITHIN:.0f} s", str(found))


def check_members(broker: BrokerThread, members: dict[str, tuple[str, frozenset[str]]], stage: Stage) -> None:
    with Peer(broker.port) as peer:
        found = describe(peer)
    if found != members:
        stage.figures.add("group members dropped")
        raise BrokenPromiseError(f"groups stay as they are: {members}", str(found))


def check_clients(clients: list[Client]) -> None:
    for client in clients:
        if client.failure is not None:
            raise client.failure
