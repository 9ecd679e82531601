"""Our clients beside Apache Kafka's own, on Apache Kafka: groups shared, and groups of the new protocol described."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.test_peers import until
from tests.interop.apache_kafka import PREVIOUS
from tests.interop.client_broker import ON_APACHE_KAFKA, ApacheTopics, broker
from tests.interop.drivers import JavaClients, Member
from tests.interop.waiting import until as until_now

from kafkawire.cli.main import main as kafkawire
from kafkawire.client import Consumer
from kafkawire.client.blocking import Admin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.apache_kafka import ApacheBroker, ApacheKafka

__all__ = ["broker"]
pytestmark = ON_APACHE_KAFKA
PARTITIONS = 4
ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}


@pytest.fixture(scope="module")
def java(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaClients]:
    made = JavaClients(tmp_path_factory.mktemp("drivers") / "java.log")
    yield made
    made.close()


@pytest.mark.parametrize("ours_leads", [True, False])
@pytest.mark.parametrize("strategy", ASSIGNORS)
def test_a_group_shared_with_java(broker: ApacheTopics, java: JavaClients, strategy: str, ours_leads: bool) -> None:
    topic = broker.create_topic(f"java.{strategy}.{ours_leads}", PARTITIONS)
    chosen = {"partition.assignment.strategy": f"org.apache.kafka.clients.consumer.{ASSIGNORS[strategy]}"}
    settings: dict[str, Any] = {
        "bootstrap_servers": broker.bootstrap,
        "group_id": topic,
        "partition_assignment_strategy": strategy,
        "heartbeat_interval_ms": 50,
    }

    async def main() -> None:
        ours = Consumer(topic, **settings)
        if ours_leads:
            await ours.start()
            await until(lambda: len(ours.assignment()) == PARTITIONS)
        theirs = await asyncio.to_thread(java.join, broker.bootstrap, topic, [topic], **chosen)
        try:
            if not ours_leads:
                await until(lambda: len(theirs.partitions()) == PARTITIONS)
                await ours.start()
            await until(lambda: len(ours.assignment()) == 2 and len(theirs.partitions()) == 2)
            assert ours.assignment().isdisjoint(theirs.partitions())
        finally:
            await asyncio.to_thread(theirs.leave)
        await until(lambda: len(ours.assignment()) == PARTITIONS)
        await ours.stop()

    asyncio.run(main())


def test_a_group_of_the_new_protocol_is_listed_and_described(
    broker: ApacheTopics, java: JavaClients, strict_kafka: ApacheBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    if strict_kafka.release is PREVIOUS:
        pytest.skip("before 4.0, the new protocol of groups was off")
    topic = broker.create_topic("java.kip848", PARTITIONS)
    broker.fill(topic, 10)
    settings = {"group.id": topic, "group.protocol": "consumer", "client.id": "modern", "auto.offset.reset": "earliest"}
    java.call("join", name="modern", bootstrap=broker.bootstrap, topics=[topic], settings=settings)
    member = Member(java, "modern")
    until_now(lambda: len(member.partitions()) == PARTITIONS and len(member.values()) == 10)
    member.commit()
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        assert {each.group_id: each.type for each in admin.list_groups()}[topic].lower() == "consumer"
        (described,) = admin.describe_groups([topic])
        assert (described.state, described.type, described.strategy) == ("Stable", "consumer", "uniform")
        assert [each.client_id for each in described.members] == ["modern"]
        assert set(described.members[0].assignment) == {(topic, number) for number in range(PARTITIONS)}
    assert kafkawire(["groups", "describe", topic, "-b", broker.bootstrap]) == 0
    assert "modern" in capsys.readouterr().out
    member.leave()
