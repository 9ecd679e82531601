"""Faults of requests: failed, delayed, closed and recorded ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import batch, values
from tests.broker.raw_connection import Peer
from tests.broker.test_connection import fetch, produce

from kafkawire.messages import (
    DeleteRecordsRequest,
    DescribeProducersRequest,
    FetchRequest,
    ListOffsetsRequest,
    Message,
    MetadataRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)
from kafkawire.messages.errors import ErrorCode
from kafkawire.testing._faults import Faults
from kafkawire.testing._orders import PARTITIONED

if TYPE_CHECKING:
    from kafkawire.testing import RunningBroker


REQUESTS: dict[str, tuple[Message, int]] = {
    "DeleteRecords": (
        DeleteRecordsRequest(
            topics=[
                DeleteRecordsRequest.DeleteRecordsTopic(
                    name="orders", partitions=[DeleteRecordsRequest.DeleteRecordsPartition(offset=0)]
                )
            ]
        ),
        2,
    ),
    "DescribeProducers": (
        DescribeProducersRequest(topics=[DescribeProducersRequest.TopicRequest(name="orders", partition_indexes=[0])]),
        0,
    ),
    "Fetch": (fetch("orders"), 12),
    "ListOffsets": (
        ListOffsetsRequest(
            topics=[
                ListOffsetsRequest.ListOffsetsTopic(
                    name="orders", partitions=[ListOffsetsRequest.ListOffsetsPartition(timestamp=-1)]
                )
            ]
        ),
        5,
    ),
    "OffsetForLeaderEpoch": (
        OffsetForLeaderEpochRequest(
            topics=[
                OffsetForLeaderEpochRequest.OffsetForLeaderTopic(
                    topic="orders", partitions=[OffsetForLeaderEpochRequest.OffsetForLeaderPartition()]
                )
            ]
        ),
        4,
    ),
    "Produce": (produce("orders", batch(b"a")), 9),
}


def error_of(answer: Any) -> int:
    """The error of the one partition that was asked for."""
    (topic,) = answer.responses if hasattr(answer, "responses") else answer.topics
    (partition,) = topic.partition_responses if hasattr(topic, "partition_responses") else topic.partitions
    return int(partition.error_code)


def codes(answer: Any) -> list[int]:
    return [each.error_code for topic in answer.responses for each in topic.partition_responses]


def test_an_error_can_be_for_one_partition_of_the_next_request_that_asks_for_it(kafka_broker: RunningBroker) -> None:
    kafka_broker.create_topic("orders", 2)
    kafka_broker.create_topic("others")
    kafka_broker.fail_next("Produce", "MESSAGE_TOO_LARGE", topic="orders", partition=1)
    with Peer(kafka_broker) as peer:
        assert codes(peer.call(produce("others", batch(b"a")), 9)) == [ErrorCode.NONE]
        both = produce("orders", batch(b"a"))
        both.topic_data[0].partition_data.append(ProduceRequest.PartitionProduceData(index=1, records=batch(b"b")))
        assert codes(peer.call(both, 9)) == [ErrorCode.NONE, ErrorCode.MESSAGE_TOO_LARGE]
        assert codes(peer.call(both, 9)) == [ErrorCode.NONE, ErrorCode.NONE]
    assert [record.value for record in kafka_broker.records("orders", 1)] == [b"b"]


def test_an_error_for_a_topic_is_one_for_all_its_partitions_in_a_request(kafka_broker: RunningBroker) -> None:
    kafka_broker.create_topic("orders", 3)
    kafka_broker.fail_next("ListOffsets", "NOT_LEADER_OR_FOLLOWER", topic="orders")
    places = [ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(3)]
    request = ListOffsetsRequest(topics=[ListOffsetsRequest.ListOffsetsTopic(name="orders", partitions=places)])
    with Peer(kafka_broker) as peer:
        told = [[each.error_code for each in peer.call(request, 5).topics[0].partitions] for _ in range(2)]
    assert told == [[ErrorCode.NOT_LEADER_OR_FOLLOWER] * 3, [ErrorCode.NONE] * 3]


@pytest.mark.parametrize("name", sorted(PARTITIONED))
def test_every_api_of_partitions_can_fail_for_one_topic(kafka_broker: RunningBroker, name: str) -> None:
    kafka_broker.create_topic("orders")
    kafka_broker.fail_next(name, "NOT_LEADER_OR_FOLLOWER", topic="orders")
    with Peer(kafka_broker) as peer:
        told = [error_of(peer.call(*REQUESTS[name])) for _ in range(2)]
    assert told == [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE]


def test_a_fetch_fails_in_its_partitions_and_only_a_refused_session_as_a_whole(
    kafka_broker: RunningBroker, kafka_topic: str
) -> None:
    kafka_broker.produce(kafka_topic, b"a")
    kafka_broker.fail_next("Fetch", "OFFSET_OUT_OF_RANGE")
    kafka_broker.fail_next("Fetch", "FETCH_SESSION_ID_NOT_FOUND")
    with Peer(kafka_broker) as peer:
        first, second, third = (peer.call(fetch(kafka_topic), 12) for _ in range(3))
    assert (first.error_code, first.responses[0].partitions[0].error_code) == (0, ErrorCode.OFFSET_OUT_OF_RANGE)
    assert (second.error_code, second.responses) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, [])
    assert values(third.responses[0].partitions[0].records) == [b"a"]


def test_metadata_fails_in_its_topics_so_that_clients_still_learn_of_the_broker(kafka_broker: RunningBroker) -> None:
    kafka_broker.create_topic("orders")
    kafka_broker.create_topic("others")
    kafka_broker.fail_next("Metadata", "LEADER_NOT_AVAILABLE")
    kafka_broker.fail_next("Metadata", "TOPIC_AUTHORIZATION_FAILED", topic="others")
    names = [MetadataRequest.MetadataRequestTopic(name=name) for name in ("orders", "others")]

    def told(topics: list[MetadataRequest.MetadataRequestTopic]) -> list[int]:
        answer = peer.call(MetadataRequest(topics=topics))
        assert len(answer.brokers) == 1
        assert answer.error_code == ErrorCode.NONE
        return [topic.error_code for topic in answer.topics]

    with Peer(kafka_broker) as peer:
        assert told([]) == []
        assert told(names) == [ErrorCode.LEADER_NOT_AVAILABLE] * 2
        assert told(names[:1]) == [ErrorCode.NONE]
        assert told(names) == [ErrorCode.NONE, ErrorCode.TOPIC_AUTHORIZATION_FAILED]


def test_a_partition_of_a_fetch_session_can_fail(kafka_broker: RunningBroker) -> None:
    kafka_broker.create_topic("orders", 2)
    opening = fetch("orders")
    opening.session_epoch = 0
    opening.topics[0].partitions.append(FetchRequest.FetchPartition(partition=1, partition_max_bytes=1))
    with Peer(kafka_broker) as peer:
        session = peer.call(opening, 12).session_id
        kafka_broker.fail_next("Fetch", "KAFKA_STORAGE_ERROR", topic="orders", partition=1)
        answer = peer.call(FetchRequest(session_id=session, session_epoch=1, max_wait_ms=0), 12)
    assert [(each.partition_index, each.error_code) for each in answer.responses[0].partitions] == [
        (1, ErrorCode.KAFKA_STORAGE_ERROR)
    ]


def test_orders_are_carried_out_oldest_first_also_after_a_delay(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    kafka_broker.delay_next("Produce", 0.001)
    kafka_broker.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER")
    kafka_broker.fail_next("Produce", "CORRUPT_MESSAGE", topic=kafka_topic)
    with Peer(kafka_broker) as peer:
        told = [codes(peer.call(produce(kafka_topic, batch(b"a")), 9)) for _ in range(3)]
    assert told == [[ErrorCode.CORRUPT_MESSAGE], [ErrorCode.NOT_LEADER_OR_FOLLOWER], [ErrorCode.NONE]]


def test_the_memory_of_requests_is_bounded(kafka_topic: str, kafka_broker: RunningBroker) -> None:
    faults = Faults(most_bytes=1000)
    kafka_broker.call(lambda: setattr(kafka_broker.broker.dispatcher, "interceptor", faults.intercept))
    with Peer(kafka_broker) as peer:
        for number in range(5):
            peer.call(produce(kafka_topic, batch(bytes(300 + number))), 9)
        kept = [request.size for request in faults.requests]
        assert len(kept) == 2
        assert sum(kept) <= 1000
        peer.call(produce(kafka_topic, batch(bytes(5000))), 9)
    assert [request.size > 5000 for request in faults.requests] == [True]
