"""DescribeGroups over the wire."""

from __future__ import annotations

import pytest
from tests.broker.groups.group_requests import GROUP, Talk
from tests.broker.groups.group_requests import talk as talk
from tests.broker.groups.manual_coordinator import subscription

from kafkawire.broker import _acl_bits as operations
from kafkawire.messages import DescribeGroupsRequest, api
from kafkawire.messages.errors import ErrorCode


@pytest.mark.parametrize("version", list(api("DescribeGroups").versions))
def test_every_version_describes_a_stable_group(talk: Talk, version: int) -> None:
    joined = talk.member()
    (group,) = talk.ask(DescribeGroupsRequest(groups=[GROUP]), version).groups
    assert (group.error_code, group.group_id, group.group_state) == (ErrorCode.NONE, GROUP, "Stable")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
    (member,) = group.members
    assert (member.member_id, member.client_id, member.client_host) == (joined.member_id, "client", "/test")
    assert (member.member_metadata, member.member_assignment) == (subscription("orders"), b"everything")
    assert group.authorized_operations == operations.NOT_ASKED


@pytest.mark.parametrize("version", list(api("DescribeGroups").versions))
def test_a_group_that_is_not_there_is_dead(talk: Talk, version: int) -> None:
    (group,) = talk.ask(DescribeGroupsRequest(groups=["none"]), version).groups
    assert (group.group_id, group.group_state, group.members) == ("none", "Dead", [])
    if version >= 6:
        assert (group.error_code, group.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group none not found.")
    else:
        assert group.error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_authorized_operations_are_all_of_them(talk: Talk, version: int) -> None:
    talk.commit(1)
    request = DescribeGroupsRequest(groups=[GROUP, "none"], include_authorized_operations=True)
    group, missing = talk.ask(request, version).groups
    assert group.authorized_operations == 3400
    assert missing.authorized_operations == (3400 if version < 6 else operations.NOT_ASKED)


def test_a_group_in_a_rebalance_does_not_return_what_is_about_to_change(talk: Talk) -> None:
    talk.member()
    talk.join()
    (group,) = talk.ask(DescribeGroupsRequest(groups=[GROUP])).groups
    assert (group.group_state, group.protocol_data, len(group.members)) == ("PreparingRebalance", "", 2)
    assert {bytes(each.member_metadata) for each in group.members} == {b""}


def test_a_simple_group_is_empty_and_of_no_kind(talk: Talk) -> None:
    talk.commit(1)
    (group,) = talk.ask(DescribeGroupsRequest(groups=[GROUP])).groups
    assert (group.group_state, group.protocol_type, group.members) == ("Empty", "", [])


def test_static_members_show_their_name(talk: Talk) -> None:
    talk.join(version=5, group_instance_id="one")
    (group,) = talk.ask(DescribeGroupsRequest(groups=[GROUP])).groups
    assert [each.group_instance_id for each in group.members] == ["one"]
