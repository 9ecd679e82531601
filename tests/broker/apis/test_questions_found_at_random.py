"""Answers that differed from Apache Kafka's when both were asked random requests; `tests/interop` asks both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.broker.raw_connection import Peer
from tests.interop.questions import NOWHERE, ORDERS
from tests.interop.questions_found_at_random import QUESTIONS, commit_for_no_group, elect, forget, offset_at

from kafkawire.messages import ElectLeadersRequest, MetadataRequest
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.testing import RunningBroker


@pytest.fixture
def peer(kafka_broker: RunningBroker) -> Iterator[Peer]:
    kafka_broker.create_topic(ORDERS)
    with Peer(kafka_broker) as peer:
        yield peer


def test_a_type_of_election_that_is_none_is_refused_for_each_partition(peer: Peer) -> None:
    answer = peer.call(elect(9, 0, 99), 2)
    (topic,) = answer.replica_election_results
    codes = {answer.error_code, *(each.error_code for each in topic.partition_result)}
    assert codes == {ErrorCode.INVALID_REQUEST}
    assert peer.call(elect(0), 2).error_code == ErrorCode.NONE
    assert peer.call(elect(9), 2).error_code == ErrorCode.INVALID_REQUEST
    assert peer.call(ElectLeadersRequest(election_type=9, topic_partitions=[]), 2).error_code == ErrorCode.NONE


def test_offsets_of_no_group_are_not_deleted(peer: Peer) -> None:
    assert peer.call(forget(""), 0).error_code == ErrorCode.INVALID_GROUP_ID


def test_a_topic_is_looked_for_before_its_group(peer: Peer) -> None:
    nowhere, orders = peer.call(commit_for_no_group(NOWHERE, ORDERS), 3).topics
    assert nowhere.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert orders.partitions[0].error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize(
    ("version", "code"), [(7, ErrorCode.UNSUPPORTED_VERSION), (8, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
)
def test_a_timestamp_is_looked_at_before_its_topic(peer: Peer, version: int, code: ErrorCode) -> None:
    (topic,) = peer.call(offset_at(NOWHERE, -4), version).topics
    assert topic.partitions[0].error_code == code


def test_quotas_that_there_are_not_come_with_an_empty_message(peer: Peer) -> None:
    assert peer.call(QUESTIONS["quotas that there are not"](1), 1).error_message == ""


def test_an_id_makes_the_names_of_a_metadata_request_void(peer: Peer) -> None:
    made = MetadataRequest.MetadataRequestTopic
    (orders,) = peer.call(MetadataRequest(topics=[made(name=ORDERS)]), 12).topics
    asked = [made(name=NOWHERE), made(topic_id=orders.topic_id, name="another name"), made(name=ORDERS)]
    answer = peer.call(MetadataRequest(topics=asked, allow_auto_topic_creation=False), 12)
    assert [(each.error_code, each.name) for each in answer.topics] == [(ErrorCode.NONE, ORDERS)]
