"""LeaveGroup over the wire."""

from __future__ import annotations

import pytest
from tests.broker.groups.group_requests import GROUP, Talk
from tests.broker.groups.group_requests import talk as talk

from kafkawire.broker.groups.classic.states import State
from kafkawire.messages import LeaveGroupRequest, api
from kafkawire.messages.errors import ErrorCode


def leave(version: int, *members: tuple[str, str | None]) -> LeaveGroupRequest:
    if version < 3:
        return LeaveGroupRequest(group_id=GROUP, member_id=members[0][0])
    return LeaveGroupRequest(
        group_id=GROUP,
        members=[LeaveGroupRequest.MemberIdentity(member_id=each, group_instance_id=name) for each, name in members],
    )


@pytest.mark.parametrize("version", list(api("LeaveGroup").versions))
def test_every_version_lets_a_member_go(talk: Talk, version: int) -> None:
    joined = talk.member()
    answer = talk.ask(leave(version, (joined.member_id, None)), version)
    assert answer.error_code == ErrorCode.NONE
    if version >= 3:
        assert [(each.member_id, each.error_code) for each in answer.members] == [(joined.member_id, ErrorCode.NONE)]
    group = talk.node.groups.find(GROUP)
    assert group is not None
    assert group.state is State.EMPTY


@pytest.mark.parametrize("version", list(api("LeaveGroup").versions))
def test_every_version_refuses_a_client_that_is_not_a_member(talk: Talk, version: int) -> None:
    answer = talk.ask(leave(version, ("ghost", None)), version)
    errors = [answer.error_code] if version < 3 else [each.error_code for each in answer.members]
    assert errors == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert answer.error_code == (ErrorCode.UNKNOWN_MEMBER_ID if version < 3 else ErrorCode.NONE)


@pytest.mark.parametrize("version", list(api("LeaveGroup").versions))
def test_the_empty_group_is_an_error_of_the_whole_request(talk: Talk, version: int) -> None:
    request = leave(version, ("ghost", None))
    request.group_id = ""
    assert talk.ask(request, version).error_code == ErrorCode.INVALID_GROUP_ID


def test_many_leave_at_once_by_id_or_by_name(talk: Talk) -> None:
    static = talk.join(version=5, group_instance_id="one").answer
    answer = talk.ask(leave(5, ("", "one"), ("", "two"), (static.member_id, None)), 5)
    assert [(each.group_instance_id, each.error_code) for each in answer.members] == [
        ("one", ErrorCode.NONE),
        ("two", ErrorCode.UNKNOWN_MEMBER_ID),
        (None, ErrorCode.UNKNOWN_MEMBER_ID),
    ]
