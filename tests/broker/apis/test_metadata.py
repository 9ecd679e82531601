"""Metadata: which topics there are, and how they come to be."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from tests.broker.node_requests import ask

from kafkawire.messages import MetadataRequest, MetadataResponse
from kafkawire.messages._registry import api
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkawire.broker._metadata.changes import NewTopic
    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._node import Node
    from kafkawire.messages.errors import KafkaError

Wanted = MetadataRequest.MetadataRequestTopic


def names(response: MetadataResponse) -> list[str | None]:
    return [topic.name for topic in response.topics]


@pytest.mark.parametrize("version", list(api("Metadata").versions))
def test_every_version_returns_broker_topics_and_partitions(node: Node, version: int) -> None:
    response = ask(node, MetadataRequest(topics=[Wanted(name="orders")]), version)
    assert [(each.node_id, each.host) for each in response.brokers] == [(1, "127.0.0.1")]
    (topic,) = response.topics
    assert (topic.error_code, topic.name) == (0, "orders")
    assert [(each.partition_index, each.leader_id, each.isr_nodes) for each in topic.partitions] == [
        (0, 1, [1]),
        (1, 1, [1]),
    ]


@pytest.mark.parametrize("version", [8, 13])
def test_authorized_operations_are_those_of_names_also_without_a_topic(node: Node, version: int) -> None:
    topics = [Wanted(name="orders"), Wanted(name="nowhere")]
    request = MetadataRequest(topics=topics, include_topic_authorized_operations=True, allow_auto_topic_creation=False)
    response = ask(node, request, version)
    assert [each.topic_authorized_operations for each in response.topics] == [3576, 3576]


def test_how_all_and_none_are_asked_for(node: Node) -> None:
    assert names(ask(node, MetadataRequest(topics=[]), 0)) == ["orders"]
    assert names(ask(node, MetadataRequest(topics=[]), 1)) == []
    assert names(ask(node, MetadataRequest(topics=None), 1)) == ["orders"]


@pytest.mark.parametrize("version", [0, 4, 12, 13])
def test_the_request_that_makes_a_topic_does_not_find_it_and_the_next_does(node: Node, version: int) -> None:
    request = MetadataRequest(topics=[Wanted(name="fresh")])
    (topic,) = ask(node, request, version).topics
    assert (topic.error_code, len(topic.partitions)) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)
    assert "fresh" in node.topics
    (topic,) = ask(node, request, version).topics
    assert (topic.error_code, len(topic.partitions)) == (ErrorCode.NONE, 1)


def test_a_topic_that_another_request_makes_meanwhile_is_found(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    create = node.create_topics

    async def create_twice(wanted: Sequence[NewTopic]) -> list[Topic | KafkaError]:
        await create(wanted)
        return await create(wanted)

    monkeypatch.setattr(node, "create_topics", create_twice)
    (topic,) = ask(node, MetadataRequest(topics=[Wanted(name="fresh")]), 12).topics
    assert (topic.error_code, len(topic.partitions)) == (ErrorCode.NONE, 1)


def test_the_client_may_forbid_making_topics(node: Node) -> None:
    request = MetadataRequest(topics=[Wanted(name="fresh")], allow_auto_topic_creation=False)
    assert ask(node, request, 12).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "fresh" not in node.topics


def test_the_broker_may_forbid_making_topics(open_node: Callable[..., Node]) -> None:
    node = open_node(auto_create_topics_enable="false")
    request = MetadataRequest(topics=[Wanted(name="fresh")])
    assert ask(node, request, 12).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ü", "x" * 250])
def test_names_no_topic_can_have_are_refused(node: Node, name: str) -> None:
    assert ask(node, MetadataRequest(topics=[Wanted(name=name)]), 12).topics[0].error_code == 17


def test_topic_is_found_by_its_id_with_an_empty_name_as_java_asks(node: Node) -> None:
    wanted = Wanted(topic_id=node.topics.get("orders").id, name="")
    (found,) = ask(node, MetadataRequest(topics=[wanted]), 13).topics
    assert (found.error_code, found.name) == (0, "orders")


def test_topics_are_found_by_id_from_version_twelve_on(node: Node) -> None:
    known = Wanted(topic_id=node.topics.get("orders").id, name=None)
    unknown = Wanted(topic_id=uuid4(), name=None)
    answered = ask(node, MetadataRequest(topics=[known, unknown]), 12).topics
    assert [(each.error_code, each.name) for each in answered] == [(0, "orders"), (ErrorCode.UNKNOWN_TOPIC_ID, None)]
    assert ask(node, MetadataRequest(topics=[known]), 11).topics[0].error_code == ErrorCode.INVALID_REQUEST


def test_operations_are_returned_only_on_request(node: Node) -> None:
    silent = ask(node, MetadataRequest(topics=None), 8)
    assert silent.topics[0].topic_authorized_operations == -(2**31)
    asked = MetadataRequest(
        topics=None, include_topic_authorized_operations=True, include_cluster_authorized_operations=True
    )
    told = ask(node, asked, 8)
    assert (told.topics[0].topic_authorized_operations, told.cluster_authorized_operations) == (0xDF8, 0x1FA0)
