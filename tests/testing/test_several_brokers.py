"""Several brokers of one process: redirects as real clients see them."""

from __future__ import annotations

import asyncio
import warnings
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafkawire.client import Consumer, Producer
from kafkawire.testing import RunningBroker, UnknownBrokerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # kafka-python reads its schemas with a deprecated function
    from kafka import KafkaConsumer, KafkaProducer

TOPIC = "orders"


@pytest.fixture
def brokers() -> Iterator[RunningBroker]:
    with RunningBroker(brokers=3) as made:
        made.create_topic(TOPIC, partitions=3)
        yield made


def with_confluent(brokers: RunningBroker, values: list[bytes], move: Callable[[], object]) -> list[bytes]:
    config = {"bootstrap.servers": brokers.bootstrap_servers}
    producer = confluent_kafka.Producer({**config, "enable.idempotence": True, "linger.ms": 0})
    consumer = confluent_kafka.Consumer({**config, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    read: list[bytes] = []
    try:
        for number, value in enumerate(values):
            if number == len(values) // 2:
                while len(read) < number:
                    read.extend(each.value() or b"" for each in consumer.consume(100, 0.2))
                move()
            producer.produce(TOPIC, value, partition=number % 3)
            assert producer.flush(20) == 0
        while len(read) < len(values):
            read.extend(each.value() or b"" for each in consumer.consume(100, 0.2))
    finally:
        consumer.close()
    return read


def with_kafka_python(brokers: RunningBroker, values: list[bytes], move: Callable[[], object]) -> list[bytes]:
    servers = brokers.bootstrap_servers.split(",")
    with ExitStack() as stack:
        producer = KafkaProducer(bootstrap_servers=servers, retry_backoff_ms=20)
        stack.callback(producer.close)
        consumer = KafkaConsumer(
            TOPIC, bootstrap_servers=servers, group_id="g", auto_offset_reset="earliest", retry_backoff_ms=20
        )
        stack.callback(consumer.close)
        read: list[bytes] = []
        for number, value in enumerate(values):
            if number == len(values) // 2:
                while len(read) < number:
                    read.extend(each.value for found in consumer.poll(200).values() for each in found)
                move()
            producer.send(TOPIC, value, partition=number % 3).get(20)
        while len(read) < len(values):
            read.extend(each.value for found in consumer.poll(200).values() for each in found)
    return read


async def _with_asyncio(
    producer: Any, consumer: Any, values: list[bytes], move: Callable[[], object], send: Callable[..., Any]
) -> list[bytes]:
    read: list[bytes] = []
    async with producer, consumer:
        for number, value in enumerate(values):
            if number == len(values) // 2:
                while len(read) < number:
                    read.append((await anext(consumer)).value)
                await asyncio.to_thread(move)
            await send(TOPIC, value, partition=number % 3)
        while len(read) < len(values):
            read.append((await anext(consumer)).value)
    return [bytes(each) for each in read]


def with_aiokafka(brokers: RunningBroker, values: list[bytes], move: Callable[[], object]) -> list[bytes]:
    async def main() -> list[bytes]:
        servers = brokers.bootstrap_servers
        producer = AIOKafkaProducer(bootstrap_servers=servers, retry_backoff_ms=20)
        consumer = AIOKafkaConsumer(
            TOPIC,
            bootstrap_servers=servers,
            group_id="g",
            auto_offset_reset="earliest",
            retry_backoff_ms=20,
            enable_auto_commit=False,  # its close retries a last commit for ever if the coordinator has moved
        )
        return await _with_asyncio(producer, consumer, values, move, producer.send_and_wait)

    return asyncio.run(main())


def with_kafkawire(brokers: RunningBroker, values: list[bytes], move: Callable[[], object]) -> list[bytes]:
    async def main() -> list[bytes]:
        servers = brokers.bootstrap_servers
        producer = Producer(bootstrap_servers=servers)
        consumer = Consumer(TOPIC, bootstrap_servers=servers, group_id="g", auto_offset_reset="earliest")
        return await _with_asyncio(producer, consumer, values, move, producer.send_and_wait)

    return asyncio.run(main())


CLIENTS = [with_confluent, with_kafka_python, with_aiokafka, with_kafkawire]
of_every_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__)


@of_every_client
def test_a_client_finds_the_leaders_on_their_ports_and_follows_one_that_moves(
    client: Callable[..., list[bytes]], brokers: RunningBroker
) -> None:
    values = [b"%d" % number for number in range(12)]

    def move() -> None:
        assert {brokers.leader(TOPIC, each) for each in range(3)} == {1, 2, 3}
        brokers.move_leader(TOPIC, 0, to=2)
        brokers.move_coordinator("g")

    read = client(brokers, values, move)
    assert sorted(read) == sorted(values)
    assert [each.value for each in brokers.records(TOPIC, 0)] == values[0::3]
    produced = {each.broker for each in brokers.requests if each.api == "Produce"}
    fetched = {each.broker for each in brokers.requests if each.api == "Fetch"}
    assert produced == {1, 2, 3}
    assert fetched == {1, 2, 3}
    last = [each.broker for each in brokers.requests if each.api == "Produce"][-1]
    assert last == brokers.leader(TOPIC, 2)


@pytest.mark.parametrize(
    "client",
    [with_confluent, with_kafka_python, with_kafkawire],  # aiokafka hands the lost connection to its caller
    ids=lambda client: client.__name__,
)
def test_a_client_goes_on_with_the_others_when_a_broker_stops(
    client: Callable[..., list[bytes]], brokers: RunningBroker
) -> None:
    values = [b"%d" % number for number in range(12)]
    stopped = []

    def stop() -> None:
        stopped.append(brokers.coordinator("g"))
        brokers.stop_broker(stopped[0])

    read = client(brokers, values, stop)
    assert set(read) == set(values)  # a group that lost its coordinator may read records again
    assert stopped[0] not in brokers.addresses
    assert sorted(each.value or b"" for each in brokers.records(TOPIC)) == sorted(values)


def test_a_request_to_a_broker_that_does_not_lead_is_redirected(brokers: RunningBroker) -> None:
    async def main() -> None:
        async with Producer(bootstrap_servers=brokers.bootstrap_servers) as producer:
            await producer.send_and_wait(TOPIC, b"one", partition=0)
            assert brokers.move_leader(TOPIC, 0) == 2
            await producer.send_and_wait(TOPIC, b"two", partition=0)

    asyncio.run(main())
    where = [each.broker for each in brokers.requests if each.api == "Produce"]
    assert where == [1, 1, 2]


def test_a_moved_leader_has_a_higher_epoch_and_writes_it_into_its_batches(brokers: RunningBroker) -> None:
    brokers.produce(TOPIC, b"one")
    before = brokers.call(lambda: brokers.broker.node.epoch_of(TOPIC, 0))
    brokers.move_leader(TOPIC, 0)
    brokers.produce(TOPIC, b"two")
    epochs = brokers.call(lambda: brokers.broker.node.log(TOPIC, 0).epochs.latest)
    assert epochs == before + 1
    assert brokers.call(lambda: brokers.broker.node.epoch_of(TOPIC, 1)) == before


def test_administrators_see_the_brokers_the_leaders_and_the_replicas(brokers: RunningBroker) -> None:
    admin = AdminClient({"bootstrap.servers": brokers.bootstrap_servers})
    made = admin.create_topics([NewTopic("three", 3, 3), NewTopic("placed", 2, replica_assignment=[[2, 1], [1, 2]])])
    for future in made.values():
        future.result(20)
    cluster = admin.describe_cluster().result(20)
    assert {each.id: f"{each.host}:{each.port}" for each in cluster.nodes} == brokers.addresses
    topics = admin.list_topics(timeout=20).topics
    assert [topics["three"].partitions[each].leader for each in range(3)] == [1, 2, 3]
    assert topics["three"].partitions[0].replicas == [1, 2, 3]
    assert [topics["placed"].partitions[each].leader for each in range(2)] == [2, 1]
    refused = admin.create_topics([NewTopic("four", 1, 4)])["four"]
    with pytest.raises(confluent_kafka.KafkaException, match="INVALID_REPLICATION_FACTOR"):
        refused.result(20)


def test_groups_and_transactions_have_one_coordinator_each(brokers: RunningBroker) -> None:
    config = {"bootstrap.servers": brokers.bootstrap_servers}
    producer = confluent_kafka.Producer({**config, "transactional.id": "t"})
    producer.init_transactions(20)
    for number in range(3):
        brokers.move_coordinator(transactional_id="t")
        producer.begin_transaction()
        producer.produce(TOPIC, b"%d" % number, partition=number)
        producer.commit_transaction(20)
    assert sorted(each.value or b"" for each in brokers.records(TOPIC)) == [b"0", b"1", b"2"]
    ended = {each.broker for each in brokers.requests if each.api == "EndTxn"}
    assert ended == {1, 2, 3}


def test_leaders_stay_where_they_are_through_a_restart(tmp_path: Any) -> None:
    with RunningBroker(tmp_path, brokers=2) as brokers:
        brokers.create_topic(TOPIC)
        brokers.move_leader(TOPIC, to=2)
        brokers.produce(TOPIC, b"one")
        addresses = brokers.addresses
        brokers.restart()
        assert brokers.addresses == addresses
        assert brokers.leader(TOPIC) == 2
        brokers.produce(TOPIC, b"two")
        assert [each.value for each in brokers.records(TOPIC)] == [b"one", b"two"]


def test_faults_of_one_broker_leave_the_others_alone(brokers: RunningBroker) -> None:
    brokers.fail_next("Produce", "REQUEST_TIMED_OUT", broker=2)
    producer = confluent_kafka.Producer({"bootstrap.servers": brokers.bootstrap_servers, "retry.backoff.ms": 10})
    for partition in range(3):
        producer.produce(TOPIC, b"x", partition=partition)
    assert producer.flush(20) == 0
    assert len(brokers.wait_for_requests("Produce", 2, broker=2)) == 2


def test_brokers_that_need_a_password_and_tls() -> None:
    with RunningBroker(brokers=2, security="SASL_SSL") as brokers:
        brokers.create_topic(TOPIC, partitions=2)
        producer = confluent_kafka.Producer(brokers.client_config)
        for partition in range(2):
            producer.produce(TOPIC, b"x", partition=partition)
        assert producer.flush(20) == 0
        assert {each.broker for each in brokers.requests if each.api == "Produce"} == {1, 2}


def test_mistakes_of_a_test_are_errors_at_the_call(brokers: RunningBroker) -> None:
    for count in (0, -1, True, "3"):
        with pytest.raises(UnknownBrokerError, match="a whole number from 1 on"):
            RunningBroker(brokers=count)  # type: ignore[arg-type]
    with pytest.raises(UnknownBrokerError, match="leave out port"):
        RunningBroker(brokers=2, port=9092)
    with pytest.raises(UnknownBrokerError, match="expected one of the running brokers 1, 2, 3"):
        brokers.move_leader(TOPIC, to=4)
    with pytest.raises(UnknownBrokerError, match="is not stopped"):
        brokers.start_broker(1)
    brokers.stop_broker(1)
    brokers.stop_broker(2)
    with pytest.raises(UnknownBrokerError, match="the last one"):
        brokers.stop_broker(3)
    with RunningBroker() as one:
        one.create_topic(TOPIC)
        with pytest.raises(UnknownBrokerError, match=r"RunningBroker\(brokers=3\)"):
            one.coordinator("g")
