"""Groups of the consumer protocol (KIP-848) against our broker: sharing, reconciling, committing, leaving."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.conftest import STRICT, OurTopics
from tests.client.test_group import Journal, drain, until

from kafkawire.client import (
    Admin,
    ClientError,
    Consumer,
    GroupDescription,
    NewTopic,
    OptionError,
    Producer,
    SubscriptionPattern,
    TopicPartition,
    blocking,
)
from kafkawire.messages.errors import KafkaError, UnreleasedInstanceIdError, UnsupportedAssignorError
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.client.topics import Topics

QUICK_GROUPS = {
    "group.consumer.min.heartbeat.interval.ms": "50",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.min.assignment.interval.ms": "0",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[OurTopics]:
    with RunningBroker(config=STRICT | QUICK_GROUPS) as running:
        topics = OurTopics(running)
        yield topics
        topics.close()


@pytest.fixture
def topic(broker: Topics, request: pytest.FixtureRequest) -> str:
    return broker.create_topic(request.node.name.replace("[", ".").replace("]", ""), 4)


def options(broker: Topics, topics: tuple[str, ...], changes: dict[str, Any]) -> dict[str, Any]:
    return {
        "bootstrap_servers": broker.bootstrap,
        "group_id": "group-" + (topics[0] if topics else "x"),
        "group_protocol": "consumer",
        "auto_offset_reset": "earliest",
        "fetch_max_wait_ms": 50,
        "retry_backoff_ms": 10,
        **changes,
    }


def member(broker: Topics, *topics: str, **changes: Any) -> Consumer:
    return Consumer(*topics, **options(broker, topics, changes))


def classic(broker: Topics, *topics: str, **changes: Any) -> Consumer:
    return member(broker, *topics, group_protocol="classic", heartbeat_interval_ms=30, **changes)


async def described(broker: Topics, group: str) -> GroupDescription:
    async with Admin(bootstrap_servers=broker.bootstrap) as admin:
        (found,) = await admin.describe_groups([group])
        return found


@pytest.mark.parametrize("assignor", [None, "uniform", "range"])
def test_members_share_a_topic_and_take_over_from_one_that_leaves(
    broker: Topics, topic: str, assignor: str | None
) -> None:
    async def main() -> None:
        one = member(broker, topic, group_remote_assignor=assignor)
        other = member(broker, topic, group_remote_assignor=assignor)
        await one.start()
        await until(lambda: len(one.assignment()) == 4)
        await other.start()
        await until(lambda: len(one.assignment()) == 2 and len(other.assignment()) == 2)
        assert one.assignment().isdisjoint(other.assignment())
        found = await described(broker, "group-" + topic)
        assert (found.type, len(found.members), found.strategy) == ("consumer", 2, assignor or "uniform")
        await one.stop()
        await until(lambda: len(other.assignment()) == 4)
        await other.stop()

    asyncio.run(main())


def test_a_member_gives_up_only_what_moves_and_commits_it_first(broker: Topics, topic: str) -> None:
    for number in range(4):
        broker.fill(topic, 5, partition=number)

    async def main() -> None:
        journal = Journal()
        one = member(broker, group_id=topic, auto_commit_interval_ms=600_000)
        one.subscribe([topic], listener=journal)
        async with one:
            await drain(one, 20)
            async with member(broker, topic, group_id=topic) as other:
                await until(lambda: len(one.assignment()) == 2 and len(other.assignment()) == 2)
                moved = other.assignment()
                assert [await other.committed(each) for each in sorted(moved)] == [5, 5]
                assert await other.getmany(timeout_ms=300) == {}
            assert journal.entries == [
                ("assigned", {0, 1, 2, 3}),
                ("revoked", {each.partition for each in moved}),
            ]

    asyncio.run(main())


def test_heartbeats_go_on_while_a_listener_takes_its_time(broker: Topics, topic: str) -> None:
    class Slow(Journal):
        def __init__(self) -> None:
            super().__init__()
            self.may_go = asyncio.Event()

        async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
            await super().on_partitions_revoked(revoked)
            await self.may_go.wait()

    async def main() -> None:
        journal = Slow()
        one = member(broker, group_id=topic)
        one.subscribe([topic], listener=journal)
        async with one:
            await until(lambda: len(one.assignment()) == 4)
            async with member(broker, topic, group_id=topic) as other:
                await until(lambda: len(journal.entries) == 2)
                await asyncio.sleep(0.5)
                found = await described(broker, topic)
                assert len(found.members) == 2
                assert not other.assignment(), "what is not given up is not given to another"
                journal.may_go.set()
                await until(lambda: len(other.assignment()) == 2)

    asyncio.run(main())


def test_a_member_that_does_not_give_up_its_partitions_in_time_loses_them_and_comes_back(
    broker: Topics, topic: str
) -> None:
    class Stuck(Journal):
        def __init__(self) -> None:
            super().__init__()
            self.may_go = asyncio.Event()

        async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
            await super().on_partitions_revoked(revoked)
            await self.may_go.wait()

    async def main() -> None:
        journal = Stuck()
        one = member(broker, group_id=topic, rebalance_timeout_ms=500)
        one.subscribe([topic], listener=journal)
        async with one, member(broker, topic, group_id=topic) as other:
            await until(lambda: len(other.assignment()) == 4)
            journal.may_go.set()
            await until(lambda: len(one.assignment()) == 2 and len(other.assignment()) == 2)

    asyncio.run(main())


def test_a_new_member_goes_on_where_the_group_committed(broker: Topics, topic: str) -> None:
    broker.fill(topic, 20, partition=0)

    async def main() -> None:
        place = TopicPartition(topic, 0)
        async with member(broker, topic, enable_auto_commit=False) as one:
            assert (await asyncio.wait_for(one.getone(), 60)).offset == 0
            await one.commit({place: 12})
            assert await one.committed(place) == 12
            assert await one.committed(TopicPartition(topic, 1)) is None
            metadata = one.group_metadata()
            assert metadata.generation_id > 0
            assert len(metadata.member_id) == 22
        async with member(broker, topic, enable_auto_commit=False) as other:
            assert await drain(other, 8) == list(range(12, 20))
            await other.seek_to_committed(place)
            assert (await other.getone()).offset == 12

    asyncio.run(main())


def test_stopping_commits_what_was_handed_out_and_leaves(broker: Topics, topic: str) -> None:
    broker.fill(topic, 20, partition=0)

    async def main() -> None:
        async with member(broker, topic) as one:
            for _ in range(5):
                await asyncio.wait_for(one.getone(), 60)
        assert (await described(broker, "group-" + topic)).members == []
        async with member(broker, topic) as other:
            assert (await asyncio.wait_for(other.getone(), 60)).offset == 5

    asyncio.run(main())


def test_offsets_are_committed_with_a_transaction(broker: Topics, topic: str) -> None:
    broker.fill(topic, 3, partition=0)

    async def main() -> None:
        place = TopicPartition(topic, 0)
        async with (
            member(broker, topic, enable_auto_commit=False) as one,
            Producer(bootstrap_servers=broker.bootstrap, transactional_id=topic) as producer,
        ):
            await drain(one, 3)
            async with producer.transaction():
                await producer.send_offsets_to_transaction({place: 3}, one.group_metadata())
            assert await one.committed(place) == 3

    asyncio.run(main())


def test_a_pattern_of_this_side_follows_topics_that_appear(broker: Topics, topic: str) -> None:
    async def main() -> None:
        one = member(broker, group_id=topic, metadata_max_age_ms=50)
        one.subscribe(pattern=re.compile(re.escape(topic) + "(-more)?"))
        async with one:
            await until(lambda: len(one.assignment()) == 4)
            await asyncio.to_thread(broker.create_topic, topic + "-more", 2)
            await until(lambda: len(one.assignment()) == 6)
            assert one.subscription() == {topic, topic + "-more"}

    asyncio.run(main())


def test_a_pattern_that_the_broker_resolves_matches_whole_names(broker: Topics, topic: str) -> None:
    broker.create_topic("x" + topic, 1)
    broker.fill(topic, 3, partition=1)

    async def main() -> None:
        async with member(broker, group_id=topic) as one:
            one.subscribe(pattern=SubscriptionPattern(topic[:-2] + ".*"))
            assert await drain(one, 3) == [0, 1, 2]
            assert one.subscription() == {topic}
            one.subscribe(["x" + topic])
            await until(lambda: one.assignment() == {TopicPartition("x" + topic, 0)})

    asyncio.run(main())


def test_a_pattern_that_the_broker_cannot_read_is_an_error_and_the_next_subscription_works(
    broker: Topics, topic: str
) -> None:
    async def main() -> None:
        async with member(broker, group_id=topic) as one:
            one.subscribe(pattern=SubscriptionPattern("(unclosed"))
            with pytest.raises(KafkaError, match="unclosed"):
                await asyncio.wait_for(one.getone(), 60)
            one.subscribe([topic])
            await until(lambda: len(one.assignment()) == 4)

    asyncio.run(main())


def test_only_the_consumer_protocol_has_patterns_of_the_broker(broker: Topics) -> None:
    one = classic(broker, group_id="g")
    with pytest.raises(ClientError, match="group_protocol=consumer"):
        one.subscribe(pattern=SubscriptionPattern("x"))


def test_another_subscription_changes_the_assignment(broker: Topics, topic: str) -> None:
    second = broker.create_topic(topic + "-second", 2)

    async def main() -> None:
        async with member(broker, topic) as one:
            await until(lambda: len(one.assignment()) == 4)
            one.subscribe([topic, second])
            await until(lambda: len(one.assignment()) == 6)
            one.subscribe([second])
            await until(lambda: {each.topic for each in one.assignment()} == {second})
            await one.unsubscribe()
            assert one.assignment() == set()
            assert (await described(broker, "group-" + topic)).members == []

    asyncio.run(main())


def test_partitions_that_a_topic_gets_are_assigned(broker: Topics, topic: str) -> None:
    async def main() -> None:
        async with member(broker, topic) as one, Admin(bootstrap_servers=broker.bootstrap) as admin:
            await until(lambda: len(one.assignment()) == 4)
            await admin.create_partitions({topic: 6})
            await until(lambda: len(one.assignment()) == 6)

    asyncio.run(main())


def test_a_topic_that_was_made_again_is_read_from_its_start(broker: Topics, topic: str) -> None:
    broker.fill(topic, 5, partition=0)

    async def main() -> None:
        async with (
            member(broker, topic, metadata_max_age_ms=100) as one,
            Admin(bootstrap_servers=broker.bootstrap) as admin,
        ):
            await drain(one, 5)
            await admin.delete_topics([topic])
            await until(lambda: not one.assignment())
            await admin.create_topics([NewTopic(topic, 2, 1)])
            await asyncio.to_thread(broker.wait_for, topic, 2)
            await asyncio.to_thread(broker.fill, topic, 3, partition=0)
            assert await drain(one, 3) == [0, 1, 2]
            assert len(one.assignment()) == 2

    asyncio.run(main())


def test_a_member_that_asks_for_nothing_leaves_and_comes_back_when_it_asks(broker: Topics, topic: str) -> None:
    broker.fill(topic, 4, partition=0)

    async def main() -> None:
        async with member(broker, topic, max_poll_interval_ms=300) as one:
            await until(lambda: len(one.assignment()) == 4)
            await until(lambda: not one.assignment())
            with pytest.raises(KafkaError, match="the membership was lost"):
                await one.commit({TopicPartition(topic, 0): 1})
            assert await drain(one, 4) == [0, 1, 2, 3]

    asyncio.run(main())


def test_a_member_that_waits_for_records_asks_all_the_while(broker: Topics, topic: str) -> None:
    journal = Journal()

    async def main() -> None:
        async with member(broker, max_poll_interval_ms=300, group_id=topic) as one:
            one.subscribe([topic], listener=journal)
            waiting = asyncio.create_task(one.getone())
            await until(lambda: len(one.assignment()) == 4)
            await asyncio.sleep(1)
            assert journal.entries == [("assigned", {0, 1, 2, 3})]
            await asyncio.to_thread(broker.fill, topic, 1, partition=2)
            assert (await asyncio.wait_for(waiting, 60)).partition == 2

    asyncio.run(main())


def test_a_static_member_comes_back_without_a_rebalance(broker: Topics, topic: str) -> None:
    async def main() -> None:
        journal = Journal()
        one = member(broker, group_id=topic, group_instance_id="one")
        one.subscribe([topic], listener=journal)
        async with one:
            await until(lambda: len(one.assignment()) == 4)
            async with member(broker, topic, group_id=topic, group_instance_id="two") as two:
                await until(lambda: len(two.assignment()) == 2 and len(one.assignment()) == 2)
                held = two.assignment()
            members = {each.group_instance_id: each.epoch for each in (await described(broker, topic)).members}
            assert members["two"] == -2
            before = len(journal.entries)
            async with member(broker, topic, group_id=topic, group_instance_id="two") as again:
                await until(lambda: again.assignment() == held)
            assert len(journal.entries) == before

    asyncio.run(main())


def test_an_instance_id_that_is_in_use_is_an_error_of_the_application(broker: Topics, topic: str) -> None:
    async def main() -> None:
        async with member(broker, topic, group_instance_id="one") as one:
            await until(lambda: len(one.assignment()) == 4)
            async with member(broker, topic, group_instance_id="one") as other:
                with pytest.raises(UnreleasedInstanceIdError):
                    await asyncio.wait_for(other.getone(), 60)
            assert len(one.assignment()) == 4

    asyncio.run(main())


def test_an_assignor_that_the_broker_does_not_have_is_an_error_that_names_those_it_has(
    broker: Topics, topic: str
) -> None:
    async def main() -> None:
        async with member(broker, topic, group_remote_assignor="fair") as one:
            with pytest.raises(UnsupportedAssignorError, match="uniform"):
                await asyncio.wait_for(one.getone(), 60)

    asyncio.run(main())


@pytest.mark.parametrize("newcomer", ["consumer", "classic"])
def test_a_group_migrates_from_one_protocol_to_the_other_and_loses_nothing(
    broker: Topics, topic: str, newcomer: str
) -> None:
    for number in range(4):
        broker.fill(topic, 10, partition=number)
    old, new = (classic, member) if newcomer == "consumer" else (member, classic)

    async def main() -> None:
        strategy = {"partition_assignment_strategy": "cooperative-sticky"}
        changes = {False: {}, True: strategy}
        one = old(broker, topic, group_id=topic, **changes[old is classic])
        other = new(broker, topic, group_id=topic, **changes[new is classic])
        await one.start()
        await drain(one, 40)
        await other.start()
        await until(lambda: len(one.assignment()) == 2 and len(other.assignment()) == 2)
        assert one.assignment().isdisjoint(other.assignment())
        await one.commit()
        await asyncio.to_thread(broker.fill, topic, 5, partition=next(iter(other.assignment())).partition)
        await drain(other, 5)
        await one.stop()
        await until(lambda: len(other.assignment()) == 4)
        assert await other.getmany(timeout_ms=300) == {}, "everything before was committed"
        await other.stop()

    asyncio.run(main())


def test_plain_calls_join_too(broker: Topics, topic: str) -> None:
    broker.fill(topic, 10, partition=0)
    with blocking.Consumer(topic, **options(broker, (topic,), {})) as one:
        records = iter(one)
        assert [next(records).offset for _ in range(4)] == [0, 1, 2, 3]
        assert len(one.assignment()) == 4
    with blocking.Consumer(**options(broker, (topic,), {})) as other:
        other.subscribe(pattern=SubscriptionPattern(topic))
        assert next(iter(other)).offset == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"session.timeout.ms": 1000}, "group.consumer.session.timeout.ms"),
        ({"heartbeat_interval_ms": 1000}, "group.consumer.heartbeat.interval.ms"),
        ({"partition.assignment.strategy": "range"}, "group_remote_assignor"),
    ],
)
def test_options_of_the_classic_protocol_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Consumer(config={"group.protocol": "consumer", **given})


def test_an_assignor_of_the_broker_needs_the_consumer_protocol() -> None:
    with pytest.raises(OptionError, match="group_protocol=consumer"):
        Consumer(group_remote_assignor="range")
