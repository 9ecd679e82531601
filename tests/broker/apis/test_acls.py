"""Access control entries over the wire: created, listed and deleted by filters, and in the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import ask

from kafkawire.broker._acls.authorizer import STANDARD
from kafkawire.broker._dispatch.dispatcher import RefusedRequestError
from kafkawire.messages import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node

ENTRY = {
    "resource_type": 2,
    "resource_name": "orders",
    "resource_pattern_type": 3,
    "principal": "User:a",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}


@pytest.fixture
def open_guarded(open_node: Callable[..., Node]) -> Callable[[], Node]:
    return lambda: open_node(**{"authorizer.class.name": STANDARD, "super.users": "User:ANONYMOUS"})


def create(node: Node, *entries: dict[str, Any], version: int = 3) -> list[int]:
    made = [CreateAclsRequest.AclCreation(**each) for each in entries]
    return [each.error_code for each in ask(node, CreateAclsRequest(creations=made), version).results]


def everything(node: Node, version: int = 3, **fields: Any) -> set[tuple[Any, ...]]:
    wanted = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    answer = ask(node, DescribeAclsRequest(**(wanted | fields)), version)
    assert not answer.error_code
    return {
        (row.resource_type, row.resource_name, row.pattern_type, acl.principal, acl.operation, acl.permission_type)
        for row in answer.resources
        for acl in row.acls
    }


def delete(node: Node, *filters: dict[str, Any]) -> Any:
    defaults = {"pattern_type_filter": 1, "operation": 1, "permission_type": 1, "resource_type_filter": 1}
    empty = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    made = [DeleteAclsRequest.DeleteAclsFilter(**(defaults | empty | each)) for each in filters]
    return ask(node, DeleteAclsRequest(filters=made), 3).filter_results


def test_entries_are_created_once_and_survive_a_stop_without_warning(open_guarded: Callable[[], Node]) -> None:
    node = open_guarded()
    prefixed = ENTRY | {"resource_pattern_type": 4}
    assert create(node, ENTRY, ENTRY, prefixed) == [0, 0, 0]
    assert create(node, ENTRY) == [0]
    expected = {(2, "orders", 3, "User:a", 3, 3), (2, "orders", 4, "User:a", 3, 3)}
    assert everything(node) == expected
    assert everything(open_guarded()) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"resource_type": 1},
        {"resource_type": 99},
        {"resource_name": ""},
        {"resource_type": 4},
        {"resource_pattern_type": 1},
        {"resource_pattern_type": 2},
        {"operation": 1},
        {"operation": 99},
        {"permission_type": 1},
        {"principal": "alice"},
    ],
)
def test_an_entry_that_cannot_exist_is_refused_beside_one_that_can(
    open_guarded: Callable[[], Node], wrong: dict[str, Any]
) -> None:
    node = open_guarded()
    assert create(node, ENTRY | wrong, ENTRY) == [42, 0]
    assert len(node.acls) == 1


@pytest.mark.parametrize("field", ["resource_type", "resource_pattern_type", "operation", "permission_type"])
def test_an_unknown_number_closes_the_connection(open_guarded: Callable[[], Node], field: str) -> None:
    node = open_guarded()
    with pytest.raises(RefusedRequestError, match="UNKNOWN"):
        create(node, ENTRY | {field: 0})
    name = {"resource_type": "resource_type_filter", "resource_pattern_type": "pattern_type_filter"}.get(field, field)
    with pytest.raises(RefusedRequestError, match="UNKNOWN"):
        everything(node, **{name: 0})
    with pytest.raises(RefusedRequestError, match="UNKNOWN"):
        delete(node, {name: 0})


def test_filters_find_what_they_name(open_guarded: Callable[[], Node]) -> None:
    node = open_guarded()
    create(node, ENTRY, ENTRY | {"resource_name": "*"}, ENTRY | {"resource_name": "ord", "resource_pattern_type": 4})
    create(node, ENTRY | {"resource_name": "else", "principal": "User:b"})
    assert len(everything(node, resource_name_filter="orders", pattern_type_filter=2)) == 3
    assert len(everything(node, resource_name_filter="orders", pattern_type_filter=3)) == 1
    assert len(everything(node, principal_filter="User:b")) == 1
    assert everything(node, operation=99) == set()
    assert len(everything(node, version=0, resource_name_filter="orders", pattern_type_filter=3)) == 1


def test_a_filter_deletes_what_it_finds_and_reports_it(open_guarded: Callable[[], Node]) -> None:
    node = open_guarded()
    create(node, ENTRY, ENTRY | {"principal": "User:b"}, ENTRY | {"resource_name": "kept"})
    both, one, none = delete(
        node, {"resource_name_filter": "orders"}, {"principal_filter": "User:b"}, {"principal_filter": "User:c"}
    )
    assert [len(each.matching_acls) for each in (both, one, none)] == [2, 1, 0]
    assert {each.principal for each in both.matching_acls} == {"User:a", "User:b"}
    assert [name for _, name, *_ in everything(open_guarded())] == ["kept"]


def test_a_filter_with_a_number_that_does_not_exist_is_refused_alone(open_guarded: Callable[[], Node]) -> None:
    node = open_guarded()
    create(node, ENTRY)
    wrong, right = delete(node, {"operation": 99}, {"resource_name_filter": "orders"})
    assert (wrong.error_code, right.error_code) == (42, 0)
    assert len(node.acls) == 0


def test_an_entry_is_in_force_with_the_response(open_guarded: Callable[[], Node]) -> None:
    node = open_guarded()
    assert node.authorizer is not None
    assert not node.authorizer.allows("User:a", "10.0.0.1", 3, 2, "orders")
    create(node, ENTRY)
    assert node.authorizer.allows("User:a", "10.0.0.1", 3, 2, "orders")
    delete(node, {})
    assert not node.authorizer.allows("User:a", "10.0.0.1", 3, 2, "orders")
