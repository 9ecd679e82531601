"""DeleteGroups over the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.broker.groups.group_requests import GROUP, Talk
from tests.broker.groups.group_requests import talk as talk

from kafkawire.messages import DeleteGroupsRequest, api
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node


@pytest.mark.parametrize("version", list(api("DeleteGroups").versions))
def test_every_version_forgets_groups_that_have_no_members(talk: Talk, version: int) -> None:
    talk.member()
    talk.commit(1, group_id="simple")
    answer = talk.ask(DeleteGroupsRequest(groups_names=[GROUP, "simple", "none", "simple"]), version)
    assert {each.group_id: each.error_code for each in answer.results} == {
        GROUP: ErrorCode.NON_EMPTY_GROUP,
        "simple": ErrorCode.NONE,
        "none": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert [group.group_id for group in talk.node.groups] == [GROUP]
    explained = {each.group_id for each in answer.results if each.error_message}
    assert explained == ({GROUP, "none"} if version >= 3 else set())


def test_a_deleted_group_does_not_come_back(talk: Talk, open_node: Callable[..., Node]) -> None:
    talk.commit(1)
    talk.ask(DeleteGroupsRequest(groups_names=[GROUP]))
    again = open_node()
    again.start()
    assert list(again.groups) == []
