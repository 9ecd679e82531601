"""ListGroups over the wire."""

from __future__ import annotations

import pytest
from tests.broker.groups.group_requests import GROUP, Talk
from tests.broker.groups.group_requests import talk as talk

from kafkawire.messages import ListGroupsRequest, api
from kafkawire.messages.errors import ErrorCode


@pytest.mark.parametrize("version", list(api("ListGroups").versions))
def test_every_version_lists_every_group(talk: Talk, version: int) -> None:
    talk.member()
    talk.commit(1, group_id="simple")
    answer = talk.ask(ListGroupsRequest(), version)
    assert answer.error_code == ErrorCode.NONE
    assert [(each.group_id, each.protocol_type) for each in answer.groups] == [(GROUP, "consumer"), ("simple", "")]
    if version >= 4:
        assert [each.group_state for each in answer.groups] == ["Stable", "Empty"]
    if version >= 5:
        assert [each.group_type for each in answer.groups] == ["classic", "classic"]


@pytest.mark.parametrize(
    ("states", "types", "listed"),
    [
        (["Stable"], [], [GROUP]),
        (["stable", "EMPTY"], [], [GROUP, "simple"]),
        (["Empty"], ["classic"], ["simple"]),
        (["Dead"], [], []),
        (["no state"], [], []),
        ([], ["Classic"], [GROUP, "simple"]),
        ([], ["consumer"], []),
        ([], ["no type"], []),
    ],
)
def test_filters_leave_what_was_asked_for(talk: Talk, states: list[str], types: list[str], listed: list[str]) -> None:
    talk.member()
    talk.commit(1, group_id="simple")
    answer = talk.ask(ListGroupsRequest(states_filter=states, types_filter=types))
    assert [each.group_id for each in answer.groups] == listed
