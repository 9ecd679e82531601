"""OffsetFetch over the wire."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from tests.broker.groups.group_requests import GROUP, Talk
from tests.broker.groups.group_requests import talk as talk

from kafkawire.messages import OffsetFetchRequest, api
from kafkawire.messages.errors import ErrorCode


def fetch(talk: Talk, version: int, *, topics: list[str] | None, group_id: str = GROUP) -> OffsetFetchRequest:
    """A request about partitions 0 and 1 that every version can write."""
    if version < 8:
        old = None
        if topics is not None:
            old = [OffsetFetchRequest.OffsetFetchRequestTopic(name=each, partition_indexes=[0, 1]) for each in topics]
        return OffsetFetchRequest(group_id=group_id, topics=old)
    new = None
    if topics is not None:
        found = {each: talk.node.topics.find(each) for each in topics}
        new = [
            OffsetFetchRequest.OffsetFetchRequestTopics(
                name=name, topic_id=uuid4() if topic is None else topic.id, partition_indexes=[0, 1]
            )
            for name, topic in found.items()
        ]
    return OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=new)])


def found(response: Any, version: int) -> list[tuple[int, int, str, int]]:
    topics = response.topics if version < 8 else response.groups[0].topics
    return [
        (each.partition_index, each.committed_offset, each.metadata, each.error_code)
        for topic in topics
        for each in topic.partitions
    ]


@pytest.mark.parametrize(("version", "offset"), [(7, 42), (9, 42), (10, -1)])
def test_an_offset_of_an_earlier_topic_of_the_name_is_not_returned_for_its_id(
    talk: Talk, version: int, offset: int
) -> None:
    talk.commit(42)
    group = talk.node.groups.find(GROUP)
    assert group is not None
    group.offsets["orders", 0] = group.offsets["orders", 0]._replace(topic_id=uuid4())
    response = talk.ask(fetch(talk, version, topics=["orders"]), version)
    assert found(response, version)[0][1] == offset


@pytest.mark.parametrize("version", [7, 10])
def test_all_offsets_include_those_of_an_earlier_topic_of_the_name(talk: Talk, version: int) -> None:
    talk.commit(42)
    group = talk.node.groups.find(GROUP)
    assert group is not None
    group.offsets["orders", 0] = group.offsets["orders", 0]._replace(topic_id=uuid4())
    response = talk.ask(fetch(talk, version, topics=None), version)
    assert [each[1] for each in found(response, version)] == [42]


@pytest.mark.parametrize("version", list(api("OffsetFetch").versions))
def test_every_version_returns_committed_and_missing_offsets(talk: Talk, version: int) -> None:
    talk.commit(42, metadata="note")
    response = talk.ask(fetch(talk, version, topics=["orders"]), version)
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if version == 0 else ErrorCode.NONE
    assert found(response, version) == [(0, 42, "note", ErrorCode.NONE), (1, -1, "", missing)]


@pytest.mark.parametrize("version", range(2, 11))
def test_null_topics_ask_for_everything(talk: Talk, version: int) -> None:
    talk.node.create_topic("payments", 1)
    talk.commit(42)
    talk.commit(43, index=1)
    talk.commit(7, topic="payments")
    response = talk.ask(fetch(talk, version, topics=None), version)
    assert sorted(each[:2] for each in found(response, version)) == [(0, 7), (0, 42), (1, 43)]


@pytest.mark.parametrize("version", range(1, 11))
def test_a_missing_group_has_committed_nothing_without_an_error(talk: Talk, version: int) -> None:
    response = talk.ask(fetch(talk, version, topics=["orders"], group_id="none"), version)
    assert [each[1:] for each in found(response, version)] == [(-1, "", ErrorCode.NONE)] * 2
    assert response.error_code == ErrorCode.NONE
    assert talk.node.groups.find("none") is None


@pytest.mark.parametrize("version", range(1, 10))
def test_a_missing_topic_has_no_offsets_without_an_error(talk: Talk, version: int) -> None:
    response = talk.ask(fetch(talk, version, topics=["missing"]), version)
    assert [each[1:] for each in found(response, version)] == [(-1, "", ErrorCode.NONE)] * 2


def test_a_topic_id_that_is_not_there_is_an_error(talk: Talk) -> None:
    response = talk.ask(fetch(talk, 10, topics=["missing"]), 10)
    assert [each[1:] for each in found(response, 10)] == [(-1, "", ErrorCode.UNKNOWN_TOPIC_ID)] * 2


@pytest.mark.parametrize("version", [8, 9, 10])
def test_many_groups_are_asked_about_at_once(talk: Talk, version: int) -> None:
    talk.commit(1)
    talk.commit(2, group_id="others")
    request = fetch(talk, version, topics=None)
    request.groups += fetch(talk, version, topics=None, group_id="others").groups
    request.groups += fetch(talk, version, topics=None, group_id="none").groups
    response = talk.ask(request, version)
    offsets = {
        group.group_id: [each.committed_offset for topic in group.topics for each in topic.partitions]
        for group in response.groups
    }
    assert offsets == {GROUP: [1], "others": [2], "none": []}


@pytest.mark.parametrize("version", [7, 8, 9, 10])
def test_every_offset_is_stable(talk: Talk, version: int) -> None:
    talk.commit(42)
    request = fetch(talk, version, topics=["orders"])
    request.require_stable = True
    assert found(talk.ask(request, version), version)[0][:2] == (0, 42)


def test_member_and_epoch_of_the_newer_protocol_are_not_looked_at(talk: Talk) -> None:
    talk.commit(42)
    request = fetch(talk, 9, topics=["orders"])
    request.groups[0].member_id, request.groups[0].member_epoch = "ghost", 5
    assert found(talk.ask(request, 9), 9)[0][:2] == (0, 42)


def test_a_deleted_topic_takes_its_offsets_along(talk: Talk) -> None:
    talk.commit(42)
    talk.node.delete_topic(talk.node.topics.get("orders"))
    assert talk.committed() == -1
