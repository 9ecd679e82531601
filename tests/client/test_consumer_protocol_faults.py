"""Members of the consumer protocol while answers are lost, the coordinator moves, and the broker is killed."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.conftest import STRICT, OurTopics
from tests.client.proxy import FaultyProxy
from tests.client.scripted_broker import ScriptedBroker
from tests.client.test_consumer_protocol import QUICK_GROUPS
from tests.client.test_group import Journal, drain, until
from tests.client.test_modern_groups import coordinator
from torture.victim import Victim

from kafkawire.client import Admin, Consumer, GroupError, NewTopic, Producer, SubscriptionPattern, TopicPartition
from kafkawire.client.options import parse_address
from kafkawire.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from kafkawire.messages.errors import (
    ErrorCode,
    GroupAuthorizationFailedError,
    StaleMemberEpochError,
    TopicAuthorizationFailedError,
)
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEARTBEAT = "ConsumerGroupHeartbeat"


@pytest.fixture
def running() -> Iterator[RunningBroker]:
    with RunningBroker(config=STRICT | QUICK_GROUPS) as broker:
        broker.create_topic("t", 4)
        yield broker


@pytest.fixture
def filled(running: RunningBroker) -> Iterator[OurTopics]:
    topics = OurTopics(running)
    for number in range(4):
        topics.fill("t", 5, partition=number)
    yield topics
    topics.close()


def member(bootstrap: str, *topics: str, **changes: Any) -> Consumer:
    settings: dict[str, Any] = {
        "group_id": "g",
        "group_protocol": "consumer",
        "auto_offset_reset": "earliest",
        "fetch_max_wait_ms": 50,
        "retry_backoff_ms": 10,
        "reconnect_backoff_ms": 10,
        "reconnect_backoff_max_ms": 50,
        "client_id": "one",
        **changes,
    }
    return Consumer(*topics, bootstrap_servers=bootstrap, **settings)


def heartbeats(running: RunningBroker) -> list[ConsumerGroupHeartbeatRequest]:
    found = [each.message for each in running.requests if each.api == HEARTBEAT]
    assert all(isinstance(each, ConsumerGroupHeartbeatRequest) for each in found)
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("instance", [None, "i"])
def test_a_join_whose_answer_is_lost_is_repeated_with_the_same_member_id(
    running: RunningBroker, instance: str | None
) -> None:
    running.lose_answer_next(HEARTBEAT, times=2)

    async def main() -> None:
        async with member(running.bootstrap_servers, "t", group_instance_id=instance) as one:
            await until(lambda: len(one.assignment()) == 4)

    asyncio.run(main())
    assert len({each.member_id for each in heartbeats(running)}) == 1


def test_a_lost_answer_to_any_heartbeat_neither_fences_nor_moves_anything(running: RunningBroker) -> None:
    async def main() -> None:
        journal = Journal()
        one = member(running.bootstrap_servers)
        one.subscribe(["t"], listener=journal)
        async with one:
            await until(lambda: len(one.assignment()) == 4)
            for _ in range(3):
                running.lose_answer_next(HEARTBEAT, client_id="one")
                await until(lambda: not running.unused_faults)
                async with member(running.bootstrap_servers, "t", client_id="two") as two:
                    running.lose_answer_next(HEARTBEAT, client_id="one")
                    await until(lambda: len(two.assignment()) == 2 and len(one.assignment()) == 2)
                    await until(lambda: not running.unused_faults)
                await until(lambda: len(one.assignment()) == 4)
            kinds = [kind for kind, _ in journal.entries]
            assert kinds == ["assigned"] + ["revoked", "assigned"] * 3
            assert all(len(moved) == 2 for _, moved in journal.entries[1:])

    asyncio.run(main())


@pytest.mark.parametrize(
    "error", ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "REQUEST_TIMED_OUT"]
)
def test_a_coordinator_that_is_not_ready_is_asked_again(running: RunningBroker, error: str) -> None:
    running.fail_next(HEARTBEAT, error, times=3)

    async def main() -> None:
        journal = Journal()
        one = member(running.bootstrap_servers)
        one.subscribe(["t"], listener=journal)
        async with one:
            await until(lambda: len(one.assignment()) == 4)
            running.fail_next(HEARTBEAT, error, times=3)
            await until(lambda: not running.unused_faults)
            assert journal.entries == [("assigned", {0, 1, 2, 3})]

    asyncio.run(main())


@pytest.mark.parametrize("error", ["FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID", "GROUP_ID_NOT_FOUND"])
@pytest.mark.parametrize("instance", [None, "i"])
def test_a_fenced_member_drops_its_partitions_without_a_commit_and_joins_again(
    running: RunningBroker, filled: OurTopics, error: str, instance: str | None
) -> None:
    async def main() -> None:
        journal = Journal()
        one = member(running.bootstrap_servers, group_instance_id=instance, auto_commit_interval_ms=600_000)
        one.subscribe(["t"], listener=journal)
        async with one:
            await drain(one, 20)
            running.fail_next(HEARTBEAT, error)
            await until(lambda: len(journal.entries) == 3)
            assert journal.entries[1:] == [("revoked", {0, 1, 2, 3}), ("assigned", {0, 1, 2, 3})]
            assert len(await drain(one, 20)) == 20, "nothing was committed for the lost partitions"

    asyncio.run(main())
    assert len({each.member_id for each in heartbeats(running)}) == 1


def test_a_commit_with_an_old_epoch_is_sent_again_while_the_partitions_are_still_there(
    running: RunningBroker, filled: OurTopics
) -> None:
    async def main() -> None:
        async with member(running.bootstrap_servers, "t", enable_auto_commit=False) as one:
            await drain(one, 20)
            running.fail_next("OffsetCommit", "STALE_MEMBER_EPOCH", times=2)
            await one.commit()
            assert await one.committed(TopicPartition("t", 0)) == 5
            running.fail_next("OffsetCommit", "STALE_MEMBER_EPOCH", times=1)
            with pytest.raises(StaleMemberEpochError):
                await one.commit({TopicPartition("other", 0): 1})

    asyncio.run(main())


def test_committed_offsets_are_read_with_the_epoch_of_the_member(running: RunningBroker, filled: OurTopics) -> None:
    running.fail_next("OffsetFetch", "STALE_MEMBER_EPOCH", times=2)
    running.fail_next("OffsetFetch", "UNKNOWN_MEMBER_ID")

    async def main() -> None:
        async with member(running.bootstrap_servers, "t") as one:
            assert len(await drain(one, 20)) == 20

    asyncio.run(main())
    asked: list[Any] = [each.message for each in running.requests if each.api == "OffsetFetch"]
    assert all(each.groups[0].member_epoch > 0 and each.groups[0].member_id for each in asked)


def test_the_commit_before_a_revocation_is_retried(running: RunningBroker, filled: OurTopics) -> None:
    async def main() -> None:
        async with member(running.bootstrap_servers, "t", auto_commit_interval_ms=600_000) as one:
            await drain(one, 20)
            running.fail_next("OffsetCommit", "STALE_MEMBER_EPOCH", client_id="one")
            running.fail_next("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS", client_id="one", nth=2)
            async with member(running.bootstrap_servers, "t", client_id="two") as two:
                await until(lambda: len(two.assignment()) == 2)
                assert await two.getmany(timeout_ms=300) == {}

    asyncio.run(main())


def test_a_member_whose_broker_is_out_of_reach_stops_soon(running: RunningBroker, filled: OurTopics) -> None:
    async def main() -> None:
        async with FaultyProxy(parse_address(running.bootstrap_servers)[1]) as proxy:
            one = member(proxy.bootstrap, "t")
            await one.start()
            await drain(one, 20)
            proxy.refuses = True
            proxy.cut()
            async with asyncio.timeout(30):
                await one.stop()

    asyncio.run(main())


def test_heartbeats_say_only_what_changed(running: RunningBroker) -> None:
    async def main() -> None:
        async with member(running.bootstrap_servers, "t", group_remote_assignor="range") as one:
            await until(lambda: len(one.assignment()) == 4)
            said = len(heartbeats(running))
            await until(lambda: len(heartbeats(running)) > said + 2)

    asyncio.run(main())
    first, *_, last, leave = heartbeats(running)
    assert (first.member_epoch, first.subscribed_topic_names, first.server_assignor) == (0, ["t"], "range")
    assert (last.subscribed_topic_names, last.server_assignor, last.topic_partitions) == (None, None, None)
    assert last.rebalance_timeout_ms == -1
    assert leave.member_epoch == -1
    owned = [each for each in heartbeats(running) if each.topic_partitions]
    assert len(owned) == 1, "the assignment is acknowledged once"


async def after_the_topics(one: Consumer) -> None:
    """Read until the error of the topics has passed."""
    while True:
        with contextlib.suppress(TopicAuthorizationFailedError):
            await asyncio.wait_for(one.getone(), 60)
        await asyncio.sleep(0.01)


def test_a_group_that_may_not_be_read_is_an_error_and_a_topic_that_may_not_be_read_passes(
    running: RunningBroker,
) -> None:
    async def main() -> None:
        async with member(running.bootstrap_servers, "t") as one:
            await until(lambda: len(one.assignment()) == 4)
            running.fail_next(HEARTBEAT, "TOPIC_AUTHORIZATION_FAILED")
            with pytest.raises(TopicAuthorizationFailedError):
                await asyncio.wait_for(one.getone(), 60)
            assert len(one.assignment()) == 4
            running.fail_next(HEARTBEAT, "GROUP_AUTHORIZATION_FAILED")
            with pytest.raises(GroupAuthorizationFailedError):
                await after_the_topics(one)

    asyncio.run(main())


def test_a_broker_without_the_protocol_is_an_error_that_says_what_to_do() -> None:
    async def main(handlers: Any, pattern: SubscriptionPattern | None = None) -> None:
        async with ScriptedBroker({"FindCoordinator": coordinator, **handlers}) as fake:
            fake.topics = {"t": 1}
            fake.ranges = {HEARTBEAT: (0, 0)}
            async with member(fake.bootstrap) as one:
                one.subscribe([] if pattern else ["t"], pattern)
                await asyncio.wait_for(one.getone(), 60)

    def refuse(request: Any, version: int) -> ConsumerGroupHeartbeatResponse:
        return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)

    with pytest.raises(GroupError, match=r"set group_protocol=classic, or .* group\.version 1"):
        asyncio.run(main({}))
    with pytest.raises(GroupError, match=r"set group_protocol=classic, or .* group\.version 1"):
        asyncio.run(main({HEARTBEAT: refuse}))
    with pytest.raises(GroupError, match="pattern of the module re"):
        asyncio.run(main({HEARTBEAT: refuse}, SubscriptionPattern("t")))


@pytest.mark.parametrize("kills", [3])
def test_members_survive_a_broker_that_is_killed_and_every_record_arrives(tmp_path: Path, kills: int) -> None:
    dice = random.Random(kills)
    seen: dict[tuple[int, int], int] = {}
    count = 400

    async def read(one: Consumer) -> None:
        while len(seen) < count:
            for place, records in (await one.getmany(timeout_ms=100)).items():
                for record in records:
                    seen[place.partition, record.offset] = seen.get((place.partition, record.offset), 0) + 1

    async def write(bootstrap: str) -> None:
        async with Producer(bootstrap_servers=bootstrap, retry_backoff_ms=10, reconnect_backoff_ms=10) as producer:
            for number in range(count):
                await producer.send_and_wait("t", b"%d" % number, partition=number % 4)
                await asyncio.sleep(0.005)

    async def main() -> None:
        with Victim(tmp_path, QUICK_GROUPS) as victim:
            victim.start()
            async with Admin(bootstrap_servers=victim.bootstrap) as admin:
                await admin.create_topics([NewTopic(name="t", num_partitions=4)])
            one = member(victim.bootstrap, "t", auto_commit_interval_ms=50)
            two = member(victim.bootstrap, "t", auto_commit_interval_ms=50, group_instance_id="two")
            async with one, two:
                work = asyncio.gather(write(victim.bootstrap), read(one), read(two))
                for _ in range(kills):
                    await asyncio.sleep(dice.uniform(0.2, 0.8))
                    victim.kill()
                    await asyncio.to_thread(victim.start)
                await asyncio.wait_for(work, 120)
                await until(lambda: len(one.assignment()) == 2 and len(two.assignment()) == 2)
                assert one.assignment().isdisjoint(two.assignment())
            assert not victim.faults

    asyncio.run(main())
    assert seen.keys() == {(number % 4, number // 4) for number in range(count)}
