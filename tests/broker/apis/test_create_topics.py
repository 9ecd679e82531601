"""CreateTopics: what can be made, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import ask

from kafkawire.messages import CreateTopicsRequest, CreateTopicsResponse
from kafkawire.messages._registry import api
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker._node import Node

Wanted = CreateTopicsRequest.CreatableTopic
Config = CreateTopicsRequest.CreatableTopicConfig


def wanted(
    name: str = "fresh", partitions: int = 1, replicas: int = 1, **fields: Any
) -> CreateTopicsRequest.CreatableTopic:
    return Wanted(name=name, num_partitions=partitions, replication_factor=replicas, **fields)


def assigned(*partitions: tuple[int, list[int]]) -> CreateTopicsRequest.CreatableTopic:
    each = [
        CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
        for index, brokers in partitions
    ]
    return wanted(partitions=-1, replicas=-1, assignments=each)


def create(
    node: Node, *topics: Any, version: int = 7, **fields: Any
) -> list[CreateTopicsResponse.CreatableTopicResult]:
    return ask(node, CreateTopicsRequest(topics=list(topics), **fields), version).topics  # type: ignore[no-any-return]  # from bytes


@pytest.mark.parametrize("version", list(api("CreateTopics").versions))
def test_every_version_makes_topics(node: Node, version: int) -> None:
    (made,) = create(node, wanted(partitions=3), version=version)
    assert made.error_code == ErrorCode.NONE
    assert node.topics.get("fresh").partitions == 3


def test_the_answer_describes_what_was_made(node: Node) -> None:
    (made,) = create(node, wanted(partitions=-1, replicas=-1, configs=[Config(name="retention.ms", value="5")]))
    assert (made.num_partitions, made.replication_factor) == (1, 1)
    assert made.topic_id == node.topics.get("fresh").id
    settings = {each.name: (each.value, each.config_source) for each in made.configs or ()}
    assert settings["retention.ms"] == ("5", 1)
    assert settings["segment.bytes"] == ("1073741824", 5)


def test_the_message_of_success_is_null(node: Node) -> None:
    wanted = CreateTopicsRequest.CreatableTopic(name="silent", num_partitions=1, replication_factor=1)
    assert ask(node, CreateTopicsRequest(topics=[wanted])).topics[0].error_message is None


def test_validating_makes_nothing(node: Node) -> None:
    (made,) = create(node, wanted(), validate_only=True)
    assert made.error_code == ErrorCode.NONE
    assert "fresh" not in node.topics


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (wanted("orders"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (wanted("a/b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (wanted("__cluster_metadata"), ErrorCode.INVALID_REQUEST),
        (wanted(partitions=0), ErrorCode.INVALID_PARTITIONS),
        (wanted(partitions=2**31 - 1), ErrorCode.INVALID_PARTITIONS),
        (wanted(replicas=3), ErrorCode.INVALID_REPLICATION_FACTOR),
        (wanted(replicas=0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (wanted(configs=[Config(name="no.such", value="1")]), ErrorCode.INVALID_CONFIG),
        (wanted(configs=[Config(name="retention.ms", value="soon")]), ErrorCode.INVALID_CONFIG),
        (wanted(configs=[Config(name="segment.bytes", value="1")]), ErrorCode.INVALID_CONFIG),
        (wanted(configs=[Config(name="retention.ms", value=None)]), ErrorCode.INVALID_CONFIG),
        (assigned((0, [1]), (2, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned((0, [1]), (0, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned((0, [7])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned((0, [])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_an_impossible_topic_is_refused_and_not_created(
    node: Node, topic: CreateTopicsRequest.CreatableTopic, error: ErrorCode
) -> None:
    (refused,) = create(node, topic)
    assert (refused.error_code, bool(refused.error_message)) == (error, True)
    assert [each.name for each in node.topics] == ["orders"]


def test_an_assignment_gives_the_number_of_partitions(node: Node) -> None:
    assert create(node, assigned((1, [1]), (0, [1])))[0].error_code == ErrorCode.NONE
    assert node.topics.get("fresh").partitions == 2


def test_names_that_only_metrics_confuse_collide(node: Node) -> None:
    create(node, wanted("a.b"))
    assert create(node, wanted("a_b"))[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_name_that_occurs_twice_is_refused_once(node: Node) -> None:
    assert [each.error_code for each in create(node, wanted(), wanted())] == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize("version", list(api("CreateTopics").versions))
def test_defaults_are_for_every_version_as_kafkajs_asks_in_v3_for_them(node: Node, version: int) -> None:
    topic = CreateTopicsRequest.CreatableTopic(name="fresh", num_partitions=-1, replication_factor=-1)
    assert create(node, topic, version=version)[0].error_code == ErrorCode.NONE
    assert node.topics.get("fresh").partitions == 1
