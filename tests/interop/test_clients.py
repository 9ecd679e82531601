"""Clients of Java and Node against our broker: what clients of Python go through in tests/broker/clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.broker.clients.workload import CODECS, START, Sent, workload
from tests.interop.drivers import DriverError, JavaClients, KafkaJs
from tests.interop.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.apache_kafka import ApacheKafka
    from tests.interop.drivers import Driver, Member
    from tests.interop.our_broker import OurBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


@pytest.fixture(scope="module", params=["java", "kafkajs"])
def client(
    request: pytest.FixtureRequest, kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driver]:
    log = tmp_path_factory.mktemp("drivers") / f"{request.param}.log"
    made = JavaClients(log) if request.param == "java" else KafkaJs(log)
    yield made
    made.close()


@pytest.fixture
def bootstrap(our_broker: OurBroker) -> str:
    return our_broker.bootstrap


@pytest.fixture
def topic(client: Driver, bootstrap: str, request: pytest.FixtureRequest) -> str:
    """A topic of this test's own, with four partitions."""
    name = "".join(each if each.isalnum() else "-" for each in request.node.name)
    client.call("create_topic", bootstrap=bootstrap, topic=name, partitions=4)
    return name


def numbered(values: range) -> list[Sent]:
    return [Sent(None, b"%d" % number, [], START + number) for number in values]


def numbers(*members: Member) -> list[int]:
    return sorted(int(value or b"") for member in members for value in member.values())


@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
@pytest.mark.parametrize("codec", CODECS)
def test_produced_records_are_consumed(
    client: Driver, bootstrap: str, topic: str, codec: str, idempotent: bool
) -> None:
    client.produce(bootstrap, topic, workload(), codec=codec, idempotent=idempotent)
    assert client.consume(bootstrap, topic, len(workload())) == workload()


def test_topics_are_made_by_asking_for_them(client: Driver, bootstrap: str, request: pytest.FixtureRequest) -> None:
    name = f"asked-for-by-{type(client).__name__}"
    client.produce(bootstrap, name, numbered(range(3)))
    assert [each.value for each in client.consume(bootstrap, name, 3)] == [b"0", b"1", b"2"]


def test_two_members_share_and_the_one_that_stays_takes_over(client: Driver, bootstrap: str, topic: str) -> None:
    everything = {(topic, partition) for partition in range(4)}
    first = client.join(bootstrap, topic, [topic])
    until(lambda: first.partitions() == everything)
    second = client.join(bootstrap, topic, [topic])
    until(lambda: [len(each.partitions()) for each in (first, second)] == [2, 2])
    assert first.partitions() | second.partitions() == everything
    client.produce(bootstrap, topic, numbered(range(20)))
    until(lambda: len(numbers(first, second)) >= 20)
    first.leave()
    until(lambda: second.partitions() == everything)
    second.leave()


def test_a_group_resumes_where_it_committed_after_the_broker_restarted(
    client: Driver, our_broker: OurBroker, topic: str
) -> None:
    client.produce(our_broker.bootstrap, topic, numbered(range(10)))
    first = client.join(our_broker.bootstrap, topic, [topic])
    until(lambda: numbers(first) == [*range(10)])
    first.commit()
    first.leave()
    client.produce(our_broker.bootstrap, topic, numbered(range(10, 15)))
    our_broker.restart()
    second = client.join(our_broker.bootstrap, topic, [topic])
    until(lambda: len(numbers(second)) >= 5)
    assert numbers(second) == [10, 11, 12, 13, 14]
    second.leave()


def test_a_member_carries_on_through_a_restart_of_the_broker(client: Driver, our_broker: OurBroker, topic: str) -> None:
    client.produce(our_broker.bootstrap, topic, numbered(range(5)))
    member = client.join(our_broker.bootstrap, topic, [topic])
    until(lambda: numbers(member) == [*range(5)])
    member.commit()
    our_broker.restart()
    client.produce(our_broker.bootstrap, topic, numbered(range(5, 10)))
    until(lambda: {*numbers(member)} == {*range(10)})
    member.commit()
    member.leave()


def test_an_idempotent_producer_survives_lost_connections_without_duplicates(
    client: Driver, our_broker: OurBroker, topic: str
) -> None:
    count = 500
    with our_broker.failing_network() as network:
        with network.cutting(every=0.15):
            client.produce(network.bootstrap, topic, numbered(range(count)), idempotent=True, pause=2)
        assert network.connections > 5
    found = client.consume(our_broker.bootstrap, topic, count)
    assert [each.value for each in found] == [b"%d" % number for number in range(count)]
    client.produce(our_broker.bootstrap, topic, numbered(range(count, count + 1)))
    assert len(client.consume(our_broker.bootstrap, topic, count + 1)) == count + 1


def test_a_topic_that_is_deleted_is_gone(client: Driver, bootstrap: str, topic: str) -> None:
    assert topic in client.call("topics", bootstrap=bootstrap)
    client.call("delete_topic", bootstrap=bootstrap, topic=topic)
    assert topic not in client.call("topics", bootstrap=bootstrap)
    with pytest.raises(DriverError, match=r"no topic|does not host"):
        client.call("delete_topic", bootstrap=bootstrap, topic=topic)
