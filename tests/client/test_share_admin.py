"""Share groups seen by the admin client and by `kafkawire groups`: epochs, offsets, lag, changes."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.test_share_consumer import broker as broker
from tests.client.test_share_consumer import configure, sharer, some
from tests.client.test_share_consumer import topic as topic

from kafkawire.cli.main import main
from kafkawire.client import Admin, ShareOffset, TopicPartition
from kafkawire.messages.errors import GroupIdNotFoundError, KafkaError, NonEmptyGroupError

if TYPE_CHECKING:
    from tests.client.topics import Topics


@pytest.fixture
def run(broker: Topics, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> list[dict[str, Any]]:
        assert main(["groups", *arguments, "-b", broker.bootstrap, "--json"]) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return call


async def read(broker: Topics, topic: str, count: int) -> None:
    """Accept so many records, which are one batch each."""
    async with sharer(broker, topic, max_poll_records=1, share_acquire_mode="record_limit") as one:
        for _ in range(count):
            assert len(await some(one, 1)) == 1
            await one.commit_sync()


def test_a_group_is_listed_and_described_with_its_members_and_epochs(broker: Topics, topic: str) -> None:
    broker.fill(topic, 1)

    async def main() -> None:
        async with sharer(broker, topic) as one, Admin(bootstrap_servers=broker.bootstrap) as admin:
            await some(one, 1)
            (listed,) = [each for each in await admin.list_groups(types=["share"]) if each.group_id == topic]
            assert (listed.type, listed.state) == ("share", "Stable")
            (found,) = await admin.describe_groups([topic])
            (member,) = found.members
            assert (found.type, found.strategy, found.state) == ("share", "simple", "Stable")
            assert found.epoch is not None
            assert found.epoch >= (found.assignment_epoch or 0) > 0
            assert (member.epoch, member.assignment) == (found.assignment_epoch, [TopicPartition(topic, 0)])

    asyncio.run(main())


def test_offsets_are_listed_changed_and_deleted(broker: Topics, topic: str) -> None:
    broker.fill(topic, 6)
    place = TopicPartition(topic, 0)

    async def main() -> None:
        await read(broker, topic, 2)
        async with Admin(bootstrap_servers=broker.bootstrap) as admin:
            offsets = await admin.list_share_group_offsets(topic)
            assert offsets[place].start_offset in (1, 2), "Apache Kafka stores it one change later"
            assert offsets[place].lag == 4
            assert await admin.list_share_group_offsets(topic, [place]) == offsets
            await admin.alter_share_group_offsets(topic, {place: 5})
            found = (await admin.list_share_group_offsets(topic))[place]
            assert isinstance(found, ShareOffset)
            assert (found.start_offset, found.lag) == (5, 1)
            async with sharer(broker, topic) as one:
                assert [record.offset for record in await some(one, 1)] == [5]
                with pytest.raises(NonEmptyGroupError):
                    await admin.alter_share_group_offsets(topic, {place: 0})
                await one.commit_sync()
            await admin.delete_share_group_offsets(topic, [topic])
            assert place not in await admin.list_share_group_offsets(topic)
            await admin.delete_groups([topic])
            with pytest.raises(GroupIdNotFoundError):
                await admin.delete_share_group_offsets(topic, [topic])

    asyncio.run(main())


def test_a_partition_that_does_not_exist_is_an_error(broker: Topics, topic: str) -> None:
    async def main() -> None:
        async with Admin(bootstrap_servers=broker.bootstrap) as admin:
            with pytest.raises(KafkaError):
                await admin.alter_share_group_offsets(topic, {TopicPartition(topic, 7): 0})

    asyncio.run(main())


def test_the_command_line_shows_and_moves_the_offsets_of_a_share_group(run: Any, broker: Topics, topic: str) -> None:
    broker.fill(topic, 6)
    asyncio.run(configure(broker, topic))
    asyncio.run(read(broker, topic, 2))
    assert {row["group"]: row["type"] for row in run("list", "--type", "share")}[topic] == "share"
    (row,) = run("describe", topic)
    assert (row["type"], row["state"], row["end"], row["lag"]) == ("share", "Empty", 6, 4)
    before = row["committed"]
    (state,) = run("describe", topic, "--state")
    assert (state["type"], state["strategy"]) == ("share", "simple")
    assert run("reset", topic, "--to", "earliest") == [{"topic": topic, "partition": 0, "before": before, "after": 0}]
    run("reset", topic, "--to", "latest", "--execute")
    assert run("describe", topic)[0]["committed"] == 6
    assert main(["groups", "forget", topic, "-t", f"{topic}:0", "-b", broker.bootstrap]) == 2
    run("forget", topic, "-t", topic)
    assert run("describe", topic)[0]["topic"] is None
    run("delete", topic)
    assert topic not in {row["group"] for row in run("list")}
    run("reset", topic, "--type", "share", "-t", topic, "--to", "3", "--execute")
    assert run("describe", topic)[0]["committed"] == 3
