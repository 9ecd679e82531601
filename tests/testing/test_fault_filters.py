"""Faults as test authors order them: filters, lost answers, answers of the test, and mistakes."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import batch
from tests.broker.raw_connection import Peer
from tests.broker.test_connection import fetch, produce

from kafkawire.client import Producer
from kafkawire.client.blocking import Consumer
from kafkawire.client.blocking import Producer as BlockingProducer
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import (
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
    OffsetCommitRequest,
    ProduceResponse,
)
from kafkawire.messages.errors import (
    ErrorCode,
    ErrorLookupError,
    KafkaError,
    NotLeaderOrFollowerError,
    UnknownTopicOrPartitionError,
)
from kafkawire.testing import (
    AsyncBroker,
    ImpossibleOrderError,
    RunningBroker,
    UnknownSettingError,
    UnusedFaultError,
    WaitTimeoutError,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def code(answer: Any) -> int:
    return int(answer.responses[0].partition_responses[0].error_code)


def test_settings_may_be_numbers_and_booleans() -> None:
    with RunningBroker(config={"num.partitions": 3, "auto.create.topics.enable": False}) as broker:
        config = broker.broker.node.config
        assert (config.integer("num.partitions"), config.boolean("auto.create.topics.enable")) == (3, False)
        broker.create_topic("orders", configs={"retention.ms": 1000, "preallocate": True})


def test_an_unknown_setting_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(UnknownSettingError, match=r"unknown setting 'num.partition' .*did you mean num.partitions"):
        RunningBroker(config={"num.partition": 3})
    with pytest.raises(UnknownSettingError, match="unknown setting 'nonsense'"):
        RunningBroker(config={"nonsense": 3})


@pytest.mark.parametrize(
    "error", [NotLeaderOrFollowerError, NotLeaderOrFollowerError("x"), 6, "NOT_LEADER_OR_FOLLOWER"], ids=str
)
def test_an_error_may_be_a_class_an_exception_a_code_or_a_name(
    kafka_broker: RunningBroker, kafka_topic: str, error: int | str | KafkaError | type[KafkaError]
) -> None:
    kafka_broker.fail_next("Produce", error)
    with Peer(kafka_broker) as peer:
        assert code(peer.call(produce(kafka_topic, batch(b"a")), 9)) == ErrorCode.NOT_LEADER_OR_FOLLOWER


WRONG: list[Callable[[Any], None]] = [
    lambda broker: broker.delay_next("Fetch", -1),
    lambda broker: broker.delay_next("Fetch", math.nan),
    lambda broker: broker.delay_next("Fetch", math.inf),
    lambda broker: broker.delay_next("Fetch", "1"),
    lambda broker: broker.delay_next("Fetch", True),
    lambda broker: broker.close_next("Fetch", 0),
    lambda broker: broker.close_next("Fetch", -1),
    lambda broker: broker.close_next("Fetch", 1.5),
    lambda broker: broker.close_next("Fetch", "2"),
    lambda broker: broker.close_next("Fetch", nth=0),
    lambda broker: broker.fail_next("Fetch", 0),
    lambda broker: broker.fail_next("Fetch", "NONE"),
    lambda broker: broker.reply_next("Fetch", MetadataResponse()),
    lambda broker: broker.reply_next("Fetch", None),
    lambda broker: broker.reply_next("Fetch", FetchResponse),
    lambda broker: broker.fail_next("Fetch", 9999),
    lambda broker: broker.fail_next("Fetch", True),
    lambda broker: broker.fail_next("Fetch", None),
    lambda broker: broker.fail_next("Fetch", ValueError),
    lambda broker: broker.fail_next("Fetch", KafkaError),
    lambda broker: broker.fail_next("Fetch", 6, topic=3),
    lambda broker: broker.fail_next("Fetch", 6, topic="t", partition="0"),
    lambda broker: broker.fail_next("Fetch", 6, topic="t", partition=-1),
    lambda broker: broker.fail_next("Fetch", 6, topic="t", partition=True),
    lambda broker: broker.fail_next("Fetch", 6, client_id=b"me"),
    lambda broker: broker.fail_next("Fetch", 6, group="g"),
    lambda broker: broker.fail_next("Fetch", 6, broker=2),
    lambda broker: broker.close_next("Heartbeat", topic="t"),
    lambda broker: broker.delay_next("Metadata", 1, topic="t", partition=0),
    lambda broker: broker.delay_next("Metadata", 1, group="g"),
    lambda broker: broker.wait_for_requests("Fetch", 0),
    lambda broker: broker.wait_for_requests("Fetch", group="g"),
    lambda broker: broker.wait_for_requests("Fetch", timeout=-1),
    lambda broker: broker.wait_for_requests("Fetch", timeout="1"),
    lambda broker: broker.wait_for_records("t", 0),
    lambda broker: broker.wait_for_group("g", state="Stabel"),
    lambda broker: broker.create_topic("t", 0),
    lambda broker: broker.create_topic("t", "3"),
]


def test_the_hint_of_a_wrong_filter_names_apis_that_have_it(kafka_broker: RunningBroker) -> None:
    with pytest.raises(ImpossibleOrderError, match=r"Produce requests name no group: expected one of .*Heartbeat"):
        kafka_broker.close_next("Produce", group="g")
    with pytest.raises(ImpossibleOrderError, match=r"expected one of .*; did you mean Stable\?"):
        kafka_broker.wait_for_group("g", state="Stabel")


@pytest.mark.parametrize(
    "api", ["AddOffsetsToTxn", "ConsumerGroupHeartbeat", "DescribeGroups", "FindCoordinator", "OffsetFetch"]
)
def test_a_group_can_be_a_filter_wherever_a_request_names_one(kafka_broker: RunningBroker, api: str) -> None:
    kafka_broker.close_next(api, group="g")
    kafka_broker.clear_faults()


@pytest.mark.parametrize(
    "api", ["CreateTopics", "DeleteTopics", "Fetch", "Metadata", "OffsetCommit", "ShareFetch", "TxnOffsetCommit"]
)
def test_a_topic_can_be_a_filter_wherever_a_request_names_one(kafka_broker: RunningBroker, api: str) -> None:
    kafka_broker.close_next(api, topic="t")
    kafka_broker.clear_faults()


def test_errors_of_other_clients_are_known_by_their_codes(kafka_broker: RunningBroker) -> None:
    aiokafka = pytest.importorskip("aiokafka")
    confluent_kafka = pytest.importorskip("confluent_kafka")
    for each in (
        aiokafka.errors.NotLeaderForPartitionError,
        aiokafka.errors.NotLeaderForPartitionError(),
        confluent_kafka.KafkaError(confluent_kafka.KafkaError.NOT_LEADER_FOR_PARTITION),
    ):
        kafka_broker.fail_next("Produce", each)
    assert kafka_broker.unused_faults == ["fail_next NOT_LEADER_OR_FOLLOWER (Produce)"] * 3
    kafka_broker.clear_faults()
    with pytest.raises(ImpossibleOrderError, match="expected a code of Kafka"):
        kafka_broker.fail_next("Produce", confluent_kafka.KafkaError(confluent_kafka.KafkaError._TRANSPORT))


def test_an_unknown_setting_of_a_topic_is_an_error_with_the_nearest_name(kafka_broker: RunningBroker) -> None:
    with pytest.raises(KafkaError, match=r"retention_ms: a topic has no such setting; did you mean retention\.ms\?"):
        kafka_broker.create_topic("orders", configs={"retention_ms": 3})
    with pytest.raises(KafkaError, match=r"min\.insync\.replicas: expected int, found 'true'"):
        kafka_broker.create_topic("orders", configs={"min.insync.replicas": True})
    kafka_broker.create_topic("orders", configs={"retention.ms": 1000.0})
    with pytest.raises(UnknownSettingError, match="expected text"):
        RunningBroker(config={3: 4})  # type: ignore[dict-item]  # what the test is about
    with pytest.raises(UnknownTopicOrPartitionError, match=r"create_topic\('missing'\)"):
        kafka_broker.records("missing")


def test_headers_may_be_a_mapping(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    kafka_broker.produce(kafka_topic, b"v", headers={"a": b"1", "b": None})
    assert list(kafka_broker.records(kafka_topic)[0].headers) == [("a", b"1"), ("b", None)]


def test_a_fault_for_very_many_requests_takes_no_memory(kafka_broker: RunningBroker) -> None:
    kafka_broker.close_next("Heartbeat", times=10**12)
    with Peer(kafka_broker) as peer:
        peer.send(HeartbeatRequest(group_id="g"), 4)
        assert peer.is_closed()
    assert kafka_broker.unused_faults == []


def test_forgotten_requests_do_not_count(kafka_broker: RunningBroker) -> None:
    with Peer(kafka_broker) as peer:
        peer.call(MetadataRequest(topics=[]))
        kafka_broker.clear_requests()
        with pytest.raises(WaitTimeoutError, match="found 0"):
            kafka_broker.wait_for_requests("Metadata", timeout=0.01)
        peer.call(MetadataRequest(topics=[]))
        assert len(kafka_broker.wait_for_requests("Metadata")) == 1


@pytest.mark.parametrize("answer", [lambda _: 1 / 0, lambda _: MetadataResponse(), lambda _: heartbeat_of_text()])
def test_a_function_that_cannot_answer_fails_the_test(answer: Callable[[Any], Any]) -> None:
    def run() -> None:
        with RunningBroker() as broker, Peer(broker) as peer:
            broker.reply_next("Heartbeat", answer)
            assert peer.call(HeartbeatRequest(group_id="g"), 4).error_code == ErrorCode.UNKNOWN_SERVER_ERROR

    with pytest.raises((ZeroDivisionError, KafkaWireError)) as caught:
        run()
    assert caught.value.__notes__ == ["while reply_next answered Heartbeat v4"]


def heartbeat_of_text() -> HeartbeatResponse:
    answer = HeartbeatResponse()
    answer.error_code = "text"  # type: ignore[assignment]  # what the test is about
    return answer


@pytest.mark.parametrize("order", WRONG)
def test_a_wrong_order_is_an_error_at_the_call(
    kafka_broker: RunningBroker, order: Callable[[RunningBroker], None]
) -> None:
    with pytest.raises(ImpossibleOrderError, match=r"expected|success"):
        order(kafka_broker)
    with pytest.raises(ErrorLookupError, match="did you mean"):
        kafka_broker.fail_next("Fetch", "NOT_LEADER_OR_FOLOWER")
    assert kafka_broker.unused_faults == []


def leave_with_an_unused_fault(**arguments: bool) -> None:
    with RunningBroker(**arguments) as broker:  # type: ignore[arg-type]  # passed through
        broker.fail_next("Heartbeat", "NOT_COORDINATOR")


def test_a_fault_that_no_request_met_fails_the_test() -> None:
    with pytest.raises(UnusedFaultError, match=r"no request met fail_next NOT_COORDINATOR \(Heartbeat\)"):
        leave_with_an_unused_fault()
    leave_with_an_unused_fault(allow_unused_faults=True)


def test_a_fault_for_many_requests_is_used_by_the_first() -> None:
    with RunningBroker() as broker:
        broker.fail_next("Heartbeat", "NOT_COORDINATOR", times=1000)
        assert broker.unused_faults == ["fail_next NOT_COORDINATOR (Heartbeat)"]
        with Peer(broker) as peer:
            peer.call(HeartbeatRequest(group_id="g"), 4)


def test_an_unused_fault_does_not_hide_the_error_of_the_test() -> None:
    def run() -> None:
        with RunningBroker() as broker:
            broker.fail_next("Heartbeat", "NOT_COORDINATOR")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()


def test_producing_to_a_missing_topic_says_how_to_create_it(kafka_broker: RunningBroker) -> None:
    with pytest.raises(UnknownTopicOrPartitionError, match=r"create_topic\('orders', partitions=1\)"):
        kafka_broker.produce("orders", b"a")


def test_an_idempotent_producer_survives_a_lost_answer(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    kafka_broker.lose_answer_next("Produce")
    with BlockingProducer(bootstrap_servers=kafka_broker.bootstrap_servers) as producer:
        producer.send_and_wait(kafka_topic, b"once")
    assert [record.value for record in kafka_broker.records(kafka_topic)] == [b"once"]
    assert len(kafka_broker.wait_for_requests("Produce", 2)) == 2


def test_a_lost_answer_means_that_the_request_was_served(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    kafka_broker.lose_answer_next("Produce")
    with Peer(kafka_broker) as peer:
        peer.send(produce(kafka_topic, batch(b"a")), 9)
        assert peer.is_closed()
    assert [record.value for record in kafka_broker.wait_for_records(kafka_topic)] == [b"a"]


def test_a_test_may_answer_itself(kafka_broker: RunningBroker) -> None:
    kafka_broker.reply_next("Metadata", MetadataResponse(cluster_id="of the test"))
    asked: list[Message] = []

    def answer(request: Message) -> Message | None:
        asked.append(request)
        return MetadataResponse(cluster_id=f"call {len(asked)}") if len(asked) < 3 else None

    kafka_broker.reply_next("Metadata", answer, times=3)
    with Peer(kafka_broker) as peer:
        told = [peer.call(MetadataRequest(topics=[])).cluster_id for _ in range(4)]
    assert told[:3] == ["of the test", "call 1", "call 2"]
    assert told[3] == kafka_broker.broker.node.cluster_id


def test_the_nth_request_of_a_topic_or_a_client(kafka_broker: RunningBroker) -> None:
    kafka_broker.create_topic("orders", 2)
    kafka_broker.create_topic("others")
    kafka_broker.fail_next("Produce", "MESSAGE_TOO_LARGE", nth=2, topic="orders", partition=0)
    kafka_broker.fail_next("Produce", "MESSAGE_TOO_LARGE", nth=5, client_id="peer")
    with Peer(kafka_broker) as peer:
        topics = ["orders", "others", "orders", "orders", "others", "others"]
        codes = [code(peer.call(produce(topic, batch(b"a")), 9)) for topic in topics]
    too_large = ErrorCode.MESSAGE_TOO_LARGE
    assert codes == [0, 0, too_large, 0, too_large, 0]


@pytest.mark.parametrize("version", [9, 13])
def test_a_filter_selects_topics_by_name_and_by_id(kafka_broker: RunningBroker, version: int) -> None:
    kafka_broker.create_topic("orders")
    kafka_broker.create_topic("others")
    ids = {topic.name: topic.id for topic in kafka_broker.call(lambda: list(kafka_broker.broker.node.topics))}
    kafka_broker.reply_next("Produce", ProduceResponse(throttle_time_ms=7), topic="orders", partition=0)
    told = []
    with Peer(kafka_broker) as peer:
        for topic in ("others", "orders", "orders"):
            request = produce(topic, batch(b"a"))
            if version >= 13:
                request.topic_data[0].topic_id = ids[topic]
                request.topic_data[0].name = ""
            told.append(peer.call(request, version).throttle_time_ms)
    assert told == [0, 7, 0]


def test_a_filter_by_group_and_client(kafka_broker: RunningBroker) -> None:
    kafka_broker.fail_next("Heartbeat", "REBALANCE_IN_PROGRESS", group="billing")
    kafka_broker.close_next("OffsetCommit", group="billing", client_id="somebody")
    with Peer(kafka_broker) as peer:
        told = [peer.call(HeartbeatRequest(group_id=group), 4).error_code for group in ("audit", "billing")]
        peer.call(OffsetCommitRequest(group_id="billing"), 8)
    assert told[0] != ErrorCode.REBALANCE_IN_PROGRESS
    assert told[1] == ErrorCode.REBALANCE_IN_PROGRESS
    assert kafka_broker.unused_faults == ["close_next (OffsetCommit)"]
    kafka_broker.clear_faults()


def test_the_second_fetch_of_a_topic_is_closed(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    kafka_broker.produce(kafka_topic, b"a")
    kafka_broker.close_next("Fetch", nth=2, topic=kafka_topic)
    with Peer(kafka_broker) as peer:
        assert peer.call(fetch(kafka_topic), 12).responses
        peer.send(fetch(kafka_topic), 12)
        assert peer.is_closed()


def test_waits_return_what_they_waited_for(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    servers = kafka_broker.bootstrap_servers
    with BlockingProducer(bootstrap_servers=servers) as producer:
        for value in (b"a", b"b"):
            producer.send(kafka_topic, value)
        found = kafka_broker.wait_for_records(kafka_topic, 2)
        assert [record.value for record in found] == [b"a", b"b"]
    with Consumer(kafka_topic, bootstrap_servers=servers, group_id="g", client_id="reader"):
        kafka_broker.wait_for_group("g", timeout=60)
        (first, *_) = kafka_broker.wait_for_requests("JoinGroup", client_id="reader", group="g")
        assert first.client_id == "reader"
    kafka_broker.wait_for_group("g", members=0, state="empty")


def test_a_wait_that_takes_too_long_says_what_was_there(kafka_broker: RunningBroker) -> None:
    with pytest.raises(WaitTimeoutError, match=r"expected 1 records in 'missing' within 0.0 s, found 0: nothing"):
        kafka_broker.wait_for_records("missing", timeout=0.0)
    with pytest.raises(WaitTimeoutError, match="expected 2 requests of Fetch"):
        kafka_broker.wait_for_requests("Fetch", 2, timeout=0.0)
    with pytest.raises(WaitTimeoutError, match="expected group 'g' in state Stable with 1 members"):
        kafka_broker.wait_for_group("g", timeout=0.0)


def test_a_broker_of_the_session_is_shared(kafka_broker_session: RunningBroker) -> None:
    kafka_broker_session.create_topic("shared")
    assert kafka_broker_session.produce("shared", b"a") == 0


def test_an_asynchronous_test_does_not_block_its_own_client(async_kafka_broker: AsyncBroker) -> None:
    async def run() -> list[bytes | None]:
        await async_kafka_broker.create_topic("orders")
        waiting = asyncio.create_task(async_kafka_broker.wait_for_records("orders", 2))
        async with Producer(bootstrap_servers=async_kafka_broker.bootstrap_servers) as producer:
            for value in (b"a", b"b"):
                await producer.send_and_wait("orders", value)
        return [record.value for record in await waiting]

    assert asyncio.run(run()) == [b"a", b"b"]
