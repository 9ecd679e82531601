"""ACLs by the admin client: the requests that it sends, and the answers and errors that it returns."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from kafkawire.client._admin.acls import AclAdmin
from kafkawire.client._cluster.metadata import Metadata
from kafkawire.messages import CreateAclsResponse, DeleteAclsResponse, DescribeAclsResponse
from kafkawire.messages.errors import InvalidRequestError, SecurityDisabledError
from kafkawire.wire.acls import Acl, AclFilter, Operation, Pattern, PatternType, Permission, ResourceType

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kafkawire.client._cluster.cluster import Cluster
    from kafkawire.messages import Message

READS = Acl(Pattern(ResourceType.TOPIC, "ord", PatternType.PREFIXED), "User:a", "*", Operation.READ, Permission.ALLOW)
DENIES = Acl(Pattern(ResourceType.GROUP, "*"), "User:*", "::1", Operation.ALL, Permission.DENY)


class Scripted(AclAdmin):
    """Answers every request with one message, and keeps the request."""

    def __init__(self, answer: Message) -> None:
        self._cluster = cast("Cluster", self)
        self.options = SimpleNamespace(request_timeout_ms=1000)
        self.metadata = Metadata()
        self.answer = answer
        self.asked: Any = None

    def any_node(self) -> int:
        return 7

    async def connection(self, node: int) -> Scripted:
        assert node == 7
        return self

    def version(self, key: int) -> int:
        return 3

    async def request(self, request: Message, answer: type[Any], *, timeout: float) -> Any:
        self.asked = request
        assert isinstance(self.answer, answer)
        return self.answer

    async def retry(self, what: str, ask: Callable[[], Awaitable[Any]]) -> Any:
        return await ask()


def test_created_entries_are_sent_with_their_numbers() -> None:
    result = CreateAclsResponse.AclCreationResult
    admin = Scripted(CreateAclsResponse(results=[result(), result()]))
    asyncio.run(admin.create_acls([READS, DENIES]))
    first, second = admin.asked.creations
    assert (first.resource_type, first.resource_name, first.resource_pattern_type) == (2, "ord", 4)
    assert (second.principal, second.host, second.operation, second.permission_type) == ("User:*", "::1", 2, 2)


def test_an_entry_that_is_refused_is_named_by_its_error() -> None:
    result = CreateAclsResponse.AclCreationResult
    admin = Scripted(CreateAclsResponse(results=[result(), result(error_code=42, error_message="Invalid operation")]))
    with pytest.raises(InvalidRequestError, match="Invalid operation"):
        asyncio.run(admin.create_acls([READS, DENIES]))


def test_described_entries_are_sorted_and_whole() -> None:
    kind = DescribeAclsResponse
    resources = [
        kind.DescribeAclsResource(
            resource_type=each.pattern.resource_type,
            resource_name=each.pattern.name,
            pattern_type=each.pattern.pattern_type,
            acls=[
                kind.AclDescription(
                    principal=each.principal,
                    host=each.host,
                    operation=each.operation,
                    permission_type=each.permission,
                )
            ],
        )
        for each in (DENIES, READS)
    ]
    admin = Scripted(kind(resources=resources))
    assert asyncio.run(admin.describe_acls(AclFilter(ResourceType.TOPIC, "orders", PatternType.MATCH))) == [
        READS,
        DENIES,
    ]
    request = admin.asked
    assert (request.resource_type_filter, request.resource_name_filter, request.pattern_type_filter) == (2, "orders", 2)
    assert (request.principal_filter, request.host_filter, request.operation, request.permission_type) == (
        None,
        None,
        1,
        1,
    )


def test_an_entry_that_two_filters_find_is_returned_once() -> None:
    kind = DeleteAclsResponse
    found = kind.DeleteAclsMatchingAcl(
        resource_type=2,
        resource_name="ord",
        pattern_type=4,
        principal="User:a",
        host="*",
        operation=3,
        permission_type=3,
    )
    result = kind.DeleteAclsFilterResult(matching_acls=[found])
    admin = Scripted(kind(filter_results=[result, result]))
    assert asyncio.run(admin.delete_acls([AclFilter(name="ord"), AclFilter(principal="User:a")])) == [READS]


def test_a_filter_that_is_refused_raises_its_error() -> None:
    kind = DeleteAclsResponse
    result = kind.DeleteAclsFilterResult(error_code=54, error_message="No Authorizer is configured.")
    with pytest.raises(SecurityDisabledError, match="No Authorizer"):
        asyncio.run(Scripted(kind(filter_results=[result])).delete_acls([AclFilter()]))
