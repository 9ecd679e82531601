"""DeleteTopics, CreatePartitions, DeleteRecords, DescribeTopicPartitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from tests.broker.node_requests import ask, batch

from kafkawire.messages import (
    CreatePartitionsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    DescribeTopicPartitionsRequest,
)
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node

Doomed = DeleteTopicsRequest.DeleteTopicState


def delete(node: Node, *topics: Any) -> list[tuple[str | None, int]]:
    response = ask(node, DeleteTopicsRequest(topics=list(topics)), 6)
    return [(each.name, each.error_code) for each in response.responses]


def test_topics_go_by_name_and_by_id(node: Node) -> None:
    other = node.create_topic("other", 1)
    assert delete(node, Doomed(name="orders"), Doomed(topic_id=other.id)) == [("orders", 0), ("other", 0)]
    assert len(node.topics) == 0


def test_old_clients_delete_by_name(node: Node) -> None:
    response = ask(node, DeleteTopicsRequest(topic_names=["orders", "other"]), 3)
    assert [each.error_code for each in response.responses] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_request_that_names_no_topic_is_refused(node: Node) -> None:
    both = Doomed(name="orders", topic_id=node.topics.get("orders").id)
    assert delete(node, Doomed(name="no"), Doomed(topic_id=uuid4()), both, Doomed(name=None)) == [
        ("no", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
        ("orders", ErrorCode.INVALID_REQUEST),
        (None, ErrorCode.INVALID_REQUEST),
    ]
    assert delete(node, Doomed(name="orders"), Doomed(name="orders")) == [("orders", ErrorCode.INVALID_REQUEST)]
    assert "orders" in node.topics


def test_deletion_can_be_forbidden(open_node: Callable[..., Node]) -> None:
    node = open_node(delete_topic_enable="false")
    node.create_topic("orders", 1)
    assert delete(node, Doomed(name="orders")) == [("orders", ErrorCode.TOPIC_DELETION_DISABLED)]


def test_a_recreated_topic_is_empty_and_has_another_id(node: Node) -> None:
    before = node.topics.get("orders").id
    node.append("orders", 0, batch(b"old"))
    delete(node, Doomed(name="orders"))
    after = node.create_topic("orders", 1)
    assert after.id != before
    assert node.log("orders", 0).end_offset == 0


def grow(node: Node, count: int, assigned: list[list[int]] | None = None, **fields: Any) -> int:
    wanted = CreatePartitionsRequest.CreatePartitionsTopic(name="orders", count=count, assignments=None)
    if assigned is not None:
        wanted.assignments = [CreatePartitionsRequest.CreatePartitionsAssignment(broker_ids=each) for each in assigned]
    return ask(node, CreatePartitionsRequest(topics=[wanted], **fields)).results[0].error_code  # type: ignore[no-any-return]  # from bytes


def test_a_topic_grows(node: Node) -> None:
    assert grow(node, 4) == ErrorCode.NONE
    assert node.append("orders", 3, batch(b"a")).base_offset == 0


@pytest.mark.parametrize(
    ("count", "assigned", "error"),
    [
        (2, None, ErrorCode.INVALID_PARTITIONS),
        (1, None, ErrorCode.INVALID_PARTITIONS),
        (2**31 - 1, None, ErrorCode.INVALID_PARTITIONS),
        (4, [[1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[2]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_a_topic_does_not_grow_like_that(
    node: Node, count: int, assigned: list[list[int]] | None, error: ErrorCode
) -> None:
    assert grow(node, count, assigned) == error
    assert node.topics.get("orders").partitions == 2


def test_growing_can_be_tried_first(node: Node) -> None:
    assert grow(node, 3, [[1]], validate_only=True) == ErrorCode.NONE
    assert node.topics.get("orders").partitions == 2


def cut(node: Node, offset: int, topic: str = "orders") -> tuple[int, int]:
    wanted = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsRequest.DeleteRecordsTopic(name=topic, partitions=[wanted])])
    (found,) = ask(node, request).topics[0].partitions
    return found.error_code, found.low_watermark


def test_records_go_up_to_an_offset_and_stay_gone(node: Node, open_node: Callable[..., Node]) -> None:
    node.append("orders", 0, batch(b"a", b"b", b"c"))
    assert cut(node, 2) == (ErrorCode.NONE, 2)
    assert open_node().log("orders", 0).log_start_offset == 2
    assert cut(node, -1) == (ErrorCode.NONE, 3)


def test_records_that_are_not_there_cannot_go(node: Node) -> None:
    node.create_topic("compacted", 1, {"cleanup.policy": "compact"})
    assert cut(node, 1) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert cut(node, -2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert cut(node, 0, "compacted") == (ErrorCode.POLICY_VIOLATION, -1)
    assert cut(node, 0, "other") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


def pages(node: Node, names: list[str], limit: int) -> list[list[tuple[str, int, list[int]]]]:
    """Every page of a listing."""
    found = []
    topics = [DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in names]
    request = DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=limit)
    while True:
        response = ask(node, request)
        found.append(
            [
                (topic.name, topic.error_code, [each.partition_index for each in topic.partitions])
                for topic in response.topics
            ]
        )
        if response.next_cursor is None:
            return found
        cursor = response.next_cursor
        request.cursor = DescribeTopicPartitionsRequest.Cursor(
            topic_name=cursor.topic_name, partition_index=cursor.partition_index
        )


def test_partitions_come_in_pages(node: Node) -> None:
    node.create_topic("alpha", 3)
    assert pages(node, [], 2) == [[("alpha", 0, [0, 1])], [("alpha", 0, [2]), ("orders", 0, [0])], [("orders", 0, [1])]]
    assert pages(node, ["orders", "alpha"], 3) == [[("alpha", 0, [0, 1, 2])], [("orders", 0, [0, 1])]]
    assert pages(node, ["none", "orders"], 2000) == [[("none", 3, []), ("orders", 0, [0, 1])]]


def test_a_cursor_must_be_a_place_in_the_list(node: Node) -> None:
    cursor = DescribeTopicPartitionsRequest.Cursor(topic_name="alpha", partition_index=0)
    topics = [DescribeTopicPartitionsRequest.TopicRequest(name="orders")]
    response = ask(node, DescribeTopicPartitionsRequest(topics=topics, cursor=cursor))
    assert [topic.error_code for topic in response.topics] == [ErrorCode.INVALID_REQUEST]
