"""JoinGroup over the wire."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker.groups.group_requests import GROUP, Talk, join_request, sync_request
from tests.broker.groups.group_requests import talk as talk

from kafkawire.broker.groups.classic.group import Group
from kafkawire.messages import JoinGroupRequest, api
from kafkawire.messages.errors import ErrorCode


@pytest.mark.parametrize("version", list(api("JoinGroup").versions))
def test_every_version_lets_a_member_in(talk: Talk, version: int) -> None:
    joined = talk.join(version=version).answer
    if version >= 4:
        assert (joined.error_code, joined.generation_id) == (ErrorCode.MEMBER_ID_REQUIRED, -1)
        assert joined.protocol_name == ("" if version < 7 else None)
        joined = talk.join(joined.member_id, version=version).answer
    assert (joined.error_code, joined.generation_id, joined.leader) == (ErrorCode.NONE, 1, joined.member_id)
    assert joined.protocol_name == "range"
    assert joined.protocol_type == ("consumer" if version >= 7 else None)
    assert joined.member_id.startswith("client-")
    assert [each.member_id for each in joined.members] == [joined.member_id]


def test_version_zero_takes_the_session_timeout_for_the_rebalance(talk: Talk) -> None:
    talk.join(version=0, rebalance_timeout_ms=-1)
    group = talk.node.groups.find(GROUP)
    assert isinstance(group, Group)
    (member,) = group.members.values()
    assert (member.session_timeout, member.rebalance_timeout) == (10_000, 10_000)


@pytest.mark.parametrize("version", list(api("JoinGroup").versions))
@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "ghost"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_every_version_returns_the_reason_of_a_refusal(
    talk: Talk, version: int, fields: dict[str, Any], error: ErrorCode
) -> None:
    answer = talk.ask(join_request(**fields), version)
    assert (answer.error_code, answer.generation_id) == (error, -1)
    assert answer.member_id == fields.get("member_id", "")


def test_a_member_learns_of_another_and_both_end_in_one_generation(talk: Talk) -> None:
    first = talk.member()
    second = talk.join()
    assert second.is_waiting
    assert talk.heartbeat(first) == ErrorCode.REBALANCE_IN_PROGRESS
    again = talk.join(first.member_id).answer
    assert (again.generation_id, second.answer.generation_id) == (2, 2)
    assert {each.member_id for each in again.members} == {first.member_id, second.answer.member_id}


def test_a_rebalance_ends_without_the_member_that_does_not_come(talk: Talk) -> None:
    first = talk.member()
    second = talk.join()
    for _ in range(12):
        assert second.is_waiting
        talk.turn(5_000)
        talk.heartbeat(first)
    assert [each.member_id for each in second.answer.members] == [second.answer.member_id]


def test_a_lost_connection_leaves_the_others_undisturbed(talk: Talk) -> None:
    first = talk.member()
    second = talk.join()
    second.give_up()
    again = talk.join(first.member_id).answer
    assert again.generation_id == 2
    assert len(again.members) == 2


def test_a_static_leader_that_returns_skips_the_assignment(talk: Talk) -> None:
    first = talk.join(version=5, group_instance_id="one").answer
    request = sync_request(first, {first.member_id: b"all"})
    request.group_instance_id = "one"
    assert talk.ask(request).error_code == ErrorCode.NONE
    back = talk.join(version=9, group_instance_id="one").answer
    assert (back.skip_assignment, back.leader, back.generation_id) == (True, back.member_id, 1)
    assert [each.group_instance_id for each in back.members] == ["one"]


def test_metadata_of_a_member_outlives_the_frame_that_it_came_in(talk: Talk) -> None:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=memoryview(b"x" * 100))
    talk.join(protocols=[protocol])
    group = talk.node.groups.find(GROUP)
    assert isinstance(group, Group)
    (member,) = group.members.values()
    assert type(member.protocols[0].metadata) is bytes
