"""Heartbeat over the wire."""

from __future__ import annotations

import pytest
from tests.broker.groups.group_requests import GROUP, Talk
from tests.broker.groups.group_requests import talk as talk

from kafkawire.messages import HeartbeatRequest, api
from kafkawire.messages.errors import ErrorCode


@pytest.mark.parametrize("version", list(api("Heartbeat").versions))
@pytest.mark.parametrize(
    ("group_id", "member_id", "generation", "error"),
    [
        (GROUP, None, 1, ErrorCode.NONE),
        (GROUP, None, 2, ErrorCode.ILLEGAL_GENERATION),
        (GROUP, "ghost", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("nobody's", None, 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", None, 1, ErrorCode.INVALID_GROUP_ID),
    ],
)
def test_every_version_returns_the_state_of_a_member(
    talk: Talk, version: int, group_id: str, member_id: str | None, generation: int, error: ErrorCode
) -> None:
    joined = talk.member()
    request = HeartbeatRequest(group_id=group_id, member_id=member_id or joined.member_id, generation_id=generation)
    assert talk.ask(request, version).error_code == error


@pytest.mark.parametrize("version", [3, 4])
def test_the_wrong_process_of_a_static_member_is_fenced(talk: Talk, version: int) -> None:
    joined = talk.join(version=5, group_instance_id="one").answer
    talk.join(version=5, group_instance_id="one")
    request = HeartbeatRequest(group_id=GROUP, member_id=joined.member_id, generation_id=1, group_instance_id="one")
    assert talk.ask(request, version).error_code == ErrorCode.FENCED_INSTANCE_ID


def test_heartbeats_keep_a_session_alive_and_silence_ends_it(talk: Talk) -> None:
    joined = talk.member()
    for _ in range(4):
        talk.turn(9_999)
        assert talk.heartbeat(joined) == ErrorCode.NONE
    talk.turn(10_000)
    assert talk.heartbeat(joined) == ErrorCode.UNKNOWN_MEMBER_ID
