"""Consumer groups against our broker: sharing, rebalancing, committing, leaving."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.client._admin.admin import Admin
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._consume import group_member as group
from kafkawire.client._consume.consumer import Consumer
from kafkawire.client._consume.subscription import RebalanceListener
from kafkawire.client.errors import NoOffsetError
from kafkawire.messages.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client.topics import Topics

STRATEGIES = ["range", "roundrobin", "sticky", "cooperative-sticky"]


@pytest.fixture
def topic(broker: Topics, request: pytest.FixtureRequest) -> str:
    return broker.create_topic(request.node.name.replace("[", ".").replace("]", ""), 4)


def member(broker: Topics, *topics: str, **options: Any) -> Consumer:
    settings = {
        "group_id": "group-" + (topics[0] if topics else "x"),
        "auto_offset_reset": "earliest",
        "heartbeat_interval_ms": 30,
        "session_timeout_ms": 30_000,
        "fetch_max_wait_ms": 50,
        "retry_backoff_ms": 10,
        **options,
    }
    return Consumer(*topics, bootstrap_servers=broker.bootstrap, **settings)


async def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.01)


async def drain(consumer: Consumer, count: int) -> list[int]:
    numbers: list[int] = []
    async with asyncio.timeout(60):
        while len(numbers) < count:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                numbers += [int(record.value) for record in records]
    return numbers


class Journal(RebalanceListener):
    def __init__(self) -> None:
        self.entries: list[tuple[str, set[int]]] = []

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        self.entries.append(("revoked", {each.partition for each in revoked}))

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.entries.append(("assigned", {each.partition for each in assigned}))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_members_share_a_topic_and_take_over_from_one_that_leaves(broker: Topics, topic: str, strategy: str) -> None:
    async def main() -> None:
        one = member(broker, topic, partition_assignment_strategy=strategy)
        other = member(broker, topic, partition_assignment_strategy=strategy)
        await one.start()
        await until(lambda: len(one.assignment()) == 4)
        await other.start()
        await until(lambda: len(one.assignment()) == 2 and len(other.assignment()) == 2)
        assert one.assignment().isdisjoint(other.assignment())
        await one.stop()
        await until(lambda: len(other.assignment()) == 4)
        await other.stop()

    asyncio.run(main())


def test_eager_members_give_everything_up_and_cooperative_ones_only_what_moves(broker: Topics, topic: str) -> None:
    async def main(strategy: str, group: str) -> list[tuple[str, set[int]]]:
        journal = Journal()
        one = member(broker, group_id=group, partition_assignment_strategy=strategy)
        one.subscribe([topic], listener=journal)
        other = member(broker, topic, group_id=group, partition_assignment_strategy=strategy)
        async with one:
            await until(lambda: len(one.assignment()) == 4)
            async with other:
                await until(lambda: len(one.assignment()) == 2 and len(other.assignment()) == 2)
            return list(journal.entries)

    eager = asyncio.run(main("sticky", "eager"))
    assert eager[:2] == [("assigned", {0, 1, 2, 3}), ("revoked", {0, 1, 2, 3})]
    cooperative = asyncio.run(main("cooperative-sticky", "cooperative"))
    assert cooperative[0] == ("assigned", {0, 1, 2, 3})
    kind, moved = next(entry for entry in cooperative[1:] if entry[1])
    assert kind == "revoked"
    assert len(moved) == 2


@pytest.mark.parametrize("group", ["seeking", None])
def test_nothing_comes_before_a_listener_that_takes_its_time_has_sought(
    broker: Topics, topic: str, group: str | None
) -> None:
    broker.fill(topic, 10, partition=0)
    first = TopicPartition(topic, 0)

    async def main() -> None:
        async with member(broker, group_id=group) as one:

            class Seeking(RebalanceListener):
                async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
                    assert await one.position(first) == 0
                    await asyncio.sleep(0.2)
                    one.seek(first, 7)

            one.subscribe([topic], listener=Seeking())
            assert await drain(one, 3) == [7, 8, 9]

    asyncio.run(main())


def test_a_new_member_goes_on_where_the_group_committed(broker: Topics, topic: str) -> None:
    broker.fill(topic, 20, partition=0)

    async def main() -> None:
        async with member(broker, topic, enable_auto_commit=False) as one:
            assert (await asyncio.wait_for(one.getone(), 60)).offset == 0
            place = TopicPartition(topic, 0)
            await one.commit({place: 12})
            assert await one.committed(place) == 12
            assert await one.committed(TopicPartition(topic, 1)) is None
        async with member(broker, topic, enable_auto_commit=False) as other:
            assert await drain(other, 8) == list(range(12, 20))
            await other.seek_to_committed(place)
            assert (await other.getone()).offset == 12

    asyncio.run(main())


def test_stopping_commits_what_was_handed_out(broker: Topics, topic: str) -> None:
    broker.fill(topic, 20, partition=0)

    async def main() -> None:
        async with member(broker, topic) as one:
            for _ in range(5):
                await asyncio.wait_for(one.getone(), 60)
        async with member(broker, topic) as other:
            assert (await asyncio.wait_for(other.getone(), 60)).offset == 5

    asyncio.run(main())


@pytest.mark.parametrize("at_once", [1, None])
def test_a_commit_carries_the_epoch_of_what_was_read(broker: Topics, topic: str, at_once: int | None) -> None:
    broker.fill(topic, 10)
    place = TopicPartition(topic, 0)

    async def main() -> None:
        async with member(broker, topic, enable_auto_commit=False) as consumer:
            found = await consumer.getmany(timeout_ms=60_000, max_records=at_once)
            await consumer.commit()
        async with Admin(bootstrap_servers=broker.bootstrap) as admin:
            committed = (await admin.list_group_offsets(f"group-{topic}"))[place]
            last = found[place][-1]
            assert (committed.offset, committed.leader_epoch) == (last.offset + 1, last.leader_epoch)
        async with member(broker, topic) as consumer:
            assert sorted(await drain(consumer, 10 - last.offset - 1)) == list(range(last.offset + 1, 10))

    asyncio.run(main())


def test_offsets_are_committed_in_the_background(broker: Topics, topic: str) -> None:
    broker.fill(topic, 20, partition=0)

    async def main() -> None:
        async with member(broker, topic, auto_commit_interval_ms=30) as one:
            await asyncio.wait_for(one.getone(), 60)
            async with asyncio.timeout(60):
                while await one.committed(TopicPartition(topic, 0)) != 1:
                    await asyncio.sleep(0.02)

    asyncio.run(main())


def test_partitions_assigned_by_hand_can_be_committed_too(broker: Topics, topic: str) -> None:
    broker.fill(topic, 20, partition=0)

    async def main() -> None:
        place = TopicPartition(topic, 0)
        async with member(broker, group_id="by-hand") as one:
            one.assign([place])
            await asyncio.wait_for(one.getone(), 60)
            await one.commit()
            assert await one.committed(place) == 1

    asyncio.run(main())


def test_nothing_committed_and_no_reset_is_an_error(broker: Topics, topic: str) -> None:
    async def main() -> None:
        async with member(broker, topic, auto_offset_reset="none") as one:
            with pytest.raises(NoOffsetError, match="nothing is committed, and auto_offset_reset is none"):
                await asyncio.wait_for(one.getone(), 60)

    asyncio.run(main())


def test_a_pattern_follows_topics_that_appear(broker: Topics) -> None:
    broker.create_topic("pattern-1", 1)

    async def main() -> None:
        one = member(broker, group_id="pattern", metadata_max_age_ms=50)
        one.subscribe(pattern="pattern-.*")
        async with one:
            await until(lambda: len(one.assignment()) == 1)
            await asyncio.get_running_loop().run_in_executor(None, broker.create_topic, "pattern-2", 2)
            await until(lambda: len(one.assignment()) == 3)
            assert one.subscription() == {"pattern-1", "pattern-2"}

    asyncio.run(main())


def test_another_subscription_changes_the_assignment(broker: Topics, topic: str) -> None:
    broker.create_topic("second", 2)

    async def main() -> None:
        async with member(broker, topic, group_id="changing") as one:
            await until(lambda: len(one.assignment()) == 4)
            one.subscribe([topic, "second"])
            await until(lambda: len(one.assignment()) == 6)
            one.subscribe(["second"])
            await until(lambda: {each.topic for each in one.assignment()} == {"second"})
            await one.unsubscribe()
            assert one.assignment() == set()

    asyncio.run(main())


def test_a_member_that_asks_for_nothing_leaves_and_comes_back_when_it_asks(broker: Topics, topic: str) -> None:
    broker.fill(topic, 4, partition=0)

    async def main() -> None:
        async with member(broker, topic, max_poll_interval_ms=150) as one:
            await until(lambda: len(one.assignment()) == 4)
            await until(lambda: not one.assignment())
            assert await drain(one, 4) == [0, 1, 2, 3]

    asyncio.run(main())


def test_a_member_that_waits_for_records_asks_all_the_while(broker: Topics, topic: str) -> None:
    journal = Journal()

    async def main() -> None:
        async with member(broker, max_poll_interval_ms=150, group_id="patient-" + topic) as one:
            one.subscribe([topic], listener=journal)
            waiting = asyncio.create_task(one.getone())
            await until(lambda: len(one.assignment()) == 4)
            await asyncio.sleep(1)
            assert journal.entries == [("assigned", {0, 1, 2, 3})]
            await asyncio.to_thread(broker.fill, topic, 1, partition=2)
            assert (await asyncio.wait_for(waiting, 60)).partition == 2

    asyncio.run(main())


def test_a_member_that_asks_while_it_is_leaving_comes_back(broker: Topics, topic: str) -> None:
    class Slow(Journal):
        def __init__(self) -> None:
            super().__init__()
            self.may_go = asyncio.Event()

        async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
            await super().on_partitions_revoked(revoked)
            await self.may_go.wait()

    broker.fill(topic, 1, partition=0)

    async def main() -> None:
        journal = Slow()
        async with member(broker, max_poll_interval_ms=150, group_id="late-" + topic) as one:
            one.subscribe([topic], listener=journal)
            await until(lambda: len(journal.entries) == 2)
            for each in one.assignment():
                one.pause(each)
            waiting = asyncio.create_task(one.getone())
            await asyncio.sleep(0)
            journal.may_go.set()
            assert (await asyncio.wait_for(waiting, 60)).offset == 0

    asyncio.run(main())


def test_a_static_member_comes_back_without_a_rebalance(broker: Topics, topic: str) -> None:
    async def main() -> None:
        journal = Journal()
        one = member(broker, group_id="static", group_instance_id="one")
        one.subscribe([topic], listener=journal)
        async with one:
            await until(lambda: len(one.assignment()) == 4)
            async with member(broker, topic, group_id="static", group_instance_id="two") as two:
                await until(lambda: len(two.assignment()) == 2 and len(one.assignment()) == 2)
                held = two.assignment()
            await asyncio.sleep(0.1)
            before = len(journal.entries)
            async with member(broker, topic, group_id="static", group_instance_id="two") as again:
                await until(lambda: again.assignment() == held)
            assert len(journal.entries) == before

    asyncio.run(main())


def test_a_listener_may_look_up_seek_pause_and_commit(broker: Topics, topic: str) -> None:
    broker.fill(topic, 10)
    first = TopicPartition(topic, 0)

    class Listener(RebalanceListener):
        def __init__(self) -> None:
            self.positions: list[int] = []

        async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
            self.positions = [await consumer.position(each) for each in sorted(assigned)]
            consumer.seek(first, 4)
            consumer.pause(*assigned - {first})

        async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
            await consumer.commit({first: 9})

    listener = Listener()

    async def main() -> None:
        async with consumer:
            assert await drain(consumer, 6) == [4, 5, 6, 7, 8, 9]
            assert len(consumer.paused()) == 3
        async with member(broker, group_id="listening-aside") as other:
            assert await other.committed(first) == 9

    consumer = member(broker, group_id="listening-aside", enable_auto_commit=False)
    consumer.subscribe([topic], listener=listener)
    asyncio.run(main())
    assert listener.positions == [0, 0, 0, 0]


def test_a_member_that_cannot_go_on_says_so_instead_of_waiting_forever(
    broker: Topics, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(group, "assign", broken)

    async def main() -> None:
        async with member(broker, topic) as consumer:
            with pytest.raises(ZeroDivisionError):
                await asyncio.wait_for(consumer.getone(), 60)

    asyncio.run(main())


def test_a_group_with_no_common_strategy_is_an_error_for_the_latecomer(broker: Topics, topic: str) -> None:
    async def main() -> None:
        async with (
            member(broker, topic, partition_assignment_strategy="range") as one,
            member(broker, topic, partition_assignment_strategy="roundrobin") as other,
        ):
            await until(lambda: len(one.assignment()) == 4)
            with pytest.raises(KafkaError, match="INCONSISTENT_GROUP_PROTOCOL"):
                await asyncio.wait_for(other.getone(), 60)

    asyncio.run(main())
