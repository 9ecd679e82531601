"""The admin client against our broker."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.scripted_broker import ScriptedBroker

from kafkawire.client import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    Admin,
    AdminErrors,
    ConfigResource,
    Consumer,
    NewTopic,
    ResourceType,
    TopicPartition,
)
from kafkawire.messages import DescribeClusterRequest, DescribeClusterResponse, MetadataRequest, MetadataResponse
from kafkawire.messages.errors import (
    GroupNotEmptyError,
    InvalidPartitionsError,
    InvalidTopicError,
    TopicAlreadyExistsError,
    TopicAuthorizationError,
    UnknownTopicOrPartitionError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from tests.client.topics import Topics


@pytest.fixture
def topic(broker: Topics, request: pytest.FixtureRequest) -> str:
    return broker.create_topic(request.node.name.replace("[", ".").replace("]", ""), 2)


def with_admin(broker: Topics, work: Callable[[Admin], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        async with Admin(bootstrap_servers=broker.bootstrap) as admin:
            await work(admin)

    asyncio.run(main())


async def until_there_are(admin: Admin, topic: str, partitions: list[int]) -> None:
    """Brokers learn of changes a moment after the controller made them; without partitions the topic is gone."""
    async with asyncio.timeout(60):
        while [sorted(each.partitions) for each in await admin.describe_topics() if each.name == topic] != (
            [partitions] if partitions else []
        ):
            await asyncio.sleep(0.01)


def test_topics_are_made_described_grown_and_removed(broker: Topics) -> None:
    async def work(admin: Admin) -> None:
        await admin.create_topics([NewTopic(name="made", num_partitions=2, topic_configs={"retention.ms": "1000"})])
        await until_there_are(admin, "made", [0, 1])
        await admin.create_partitions({"made": 5})
        await until_there_are(admin, "made", [0, 1, 2, 3, 4])
        (made,) = await admin.describe_topics(["made"])
        assert len(made.partitions) == 5
        assert "made" in await admin.list_topics()
        await admin.delete_topics(["made"])
        await until_there_are(admin, "made", [])
        assert "made" not in await admin.list_topics()

    with_admin(broker, work)


def test_checking_a_topic_does_not_make_it(broker: Topics) -> None:
    async def work(admin: Admin) -> None:
        await admin.create_topics([NewTopic(name="maybe", num_partitions=1)], validate_only=True)
        assert "maybe" not in await admin.list_topics()

    with_admin(broker, work)


def test_one_failure_is_its_own_error_and_several_come_together(broker: Topics, topic: str) -> None:
    async def work(admin: Admin) -> None:
        with pytest.raises(TopicAlreadyExistsError):
            await admin.create_topics([NewTopic(name=topic), NewTopic(name="new-one")])
        await until_there_are(admin, "new-one", [0])
        with pytest.raises(AdminErrors) as caught:
            await admin.delete_topics(["missing-1", "missing-2"])
        assert set(caught.value.errors) == {"missing-1", "missing-2"}
        with pytest.raises(InvalidPartitionsError):
            await admin.create_partitions({topic: 1})
        with pytest.raises(UnknownTopicOrPartitionError, match="topic 'nope'"):
            await admin.describe_topics(["nope"])

    with_admin(broker, work)


def test_the_error_of_a_topic_is_the_one_that_the_broker_names(broker: Topics, topic: str) -> None:
    async def work(admin: Admin) -> None:
        with pytest.raises(InvalidTopicError, match="topic 'no such name!'"):
            await admin.describe_topics([topic, "no such name!"])
        with pytest.raises(AdminErrors) as caught:
            await admin.describe_topics(["no such name!", topic, "nope"])
        kinds = {name: type(each) for name, each in caught.value.errors.items()}
        assert kinds == {"no such name!": InvalidTopicError, "nope": UnknownTopicOrPartitionError}
        assert await admin.describe_topics([]) == []
        assert [each.name for each in await admin.describe_topics([topic, topic])] == [topic, topic]

    with_admin(broker, work)


def test_a_topic_that_the_client_may_not_see_is_not_called_unknown() -> None:
    async def work() -> None:
        async with ScriptedBroker() as scripted:

            def metadata(request: MetadataRequest, version: int) -> Any:
                answer: Any = scripted.metadata(request, version)
                if request.topics:
                    refused = MetadataResponse.MetadataResponseTopic(name="secret", error_code=29)
                    answer.topics = [refused]
                return answer

            scripted.handlers["Metadata"] = metadata
            async with Admin(bootstrap_servers=f"127.0.0.1:{scripted.port}") as admin:
                with pytest.raises(TopicAuthorizationError, match="topic 'secret'"):
                    await admin.describe_topics(["secret"])

    asyncio.run(work())


def test_configs_are_read_set_and_taken_back(broker: Topics, topic: str) -> None:
    async def work(admin: Admin) -> None:
        resource = ConfigResource(ResourceType.TOPIC, topic)

        async def retention() -> tuple[str | None, bool]:
            entry = (await admin.describe_configs([resource]))[resource]["retention.ms"]
            return entry.value, entry.is_default

        async def until_it_is(expected: tuple[str | None, bool]) -> None:
            async with asyncio.timeout(60):
                while await retention() != expected:
                    await asyncio.sleep(0.01)

        before = await retention()
        assert before[1]
        await admin.alter_configs(resource, {"retention.ms": "12345"})
        await until_it_is(("12345", False))
        await admin.alter_configs(resource, {"retention.ms": None})
        await until_it_is(before)
        node = str((await admin.describe_cluster()).nodes[0].id)
        brokers = ConfigResource(ResourceType.BROKER, node)
        assert "message.max.bytes" in (await admin.describe_configs([brokers]))[brokers]

    with_admin(broker, work)


def test_the_cluster_and_its_directories_are_described(broker: Topics, topic: str) -> None:
    broker.fill(topic, 10)

    async def work(admin: Admin) -> None:
        cluster = await admin.describe_cluster()
        assert [f"{node.host}:{node.port}" for node in cluster.nodes] == [broker.bootstrap]
        sizes = {entry.partition: entry.size for entry in await admin.describe_log_dirs()}
        assert sizes[TopicPartition(topic, 0)] > 0
        answer = await admin.raw(DescribeClusterRequest(), version=0)
        assert isinstance(answer, DescribeClusterResponse)
        assert answer.cluster_id == cluster.cluster_id

    with_admin(broker, work)


def test_records_are_deleted_and_offsets_follow(broker: Topics, topic: str) -> None:
    broker.fill(topic, 10)

    async def work(admin: Admin) -> None:
        place = TopicPartition(topic, 0)
        assert await admin.delete_records({place: 4}) == {place: 4}
        for when, expected in [(EARLIEST, 4), (LATEST, 10), (MAX_TIMESTAMP, 9), (1_700_000_000_006, 6)]:
            found = (await admin.list_offsets({place: when}))[place]
            assert found is not None
            assert found.offset == expected

    with_admin(broker, work)


def test_groups_are_listed_described_moved_and_removed(broker: Topics, topic: str) -> None:
    broker.fill(topic, 10)
    place = TopicPartition(topic, 0)

    async def work(admin: Admin) -> None:
        async with Consumer(
            topic, bootstrap_servers=broker.bootstrap, group_id="looked-at", auto_offset_reset="earliest"
        ) as consumer:
            await consumer.getone()
            await consumer.commit()
            (group,) = await admin.describe_groups(["looked-at"])
            assert (group.state, group.strategy) == ("Stable", "range")
            (member,) = group.members
            assert set(member.assignment) == {place, TopicPartition(topic, 1)}
            assert member.client_id == "kafkawire"
            with pytest.raises(GroupNotEmptyError):
                await admin.delete_groups(["looked-at"])
        listed = {each.group_id: each for each in await admin.list_groups()}
        assert listed["looked-at"].protocol_type == "consumer"
        assert (await admin.list_group_offsets("looked-at"))[place].offset == 1
        await admin.alter_group_offsets("looked-at", {place: 7})
        assert (await admin.list_group_offsets("looked-at", [place]))[place].offset == 7
        await admin.delete_group_offsets("looked-at", [place])
        assert place not in await admin.list_group_offsets("looked-at")
        await admin.delete_groups(["looked-at"])
        assert "looked-at" not in {each.group_id for each in await admin.list_groups()}

    with_admin(broker, work)
