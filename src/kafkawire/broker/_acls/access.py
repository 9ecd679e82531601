"""The access of one request: the decisions of the authorizer about its principal.

Rules:
- A request has an `Access` only if the broker has an authorizer. Without one everything is allowed, at no cost.
- A handler asks only for operations that the row of its API lists (`needs`), so that the table stays complete.
- Authorized operations are those that the type of the resource supports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._acl_bits import SUPPORTED
from kafkawire.exceptions import KafkaWireError
from kafkawire.wire.acls import CLUSTER_NAME

if TYPE_CHECKING:
    from kafkawire.broker._acls.authorizer import Authorizer
    from kafkawire.broker._acls.needs import Row
    from kafkawire.broker._security.peer import Peer
    from kafkawire.wire.acls import Operation, ResourceType


class UnlistedNeedError(KafkaWireError):
    """A handler asks for an operation that the table of needs does not list for its API."""


class Access:
    """The permissions of the client of a request."""

    __slots__ = ("_authorizer", "_host", "_principal", "_row")

    def __init__(self, authorizer: Authorizer, row: Row, peer: Peer) -> None:
        self._authorizer = authorizer
        self._row = row
        self._principal = str(peer.principal)
        self._host = peer.address[0]

    def may(self, operation: Operation, resource: ResourceType, name: str = CLUSTER_NAME) -> bool:
        """Whether the client may do an operation on a resource."""
        if (operation, resource) not in self._row.listed:
            raise UnlistedNeedError(f"{operation.name} on {resource.name} is not in the API's row: {self._row}")
        return self._authorizer.allows(self._principal, self._host, operation, resource, name)

    def may_on_any(self, operation: Operation, resource: ResourceType) -> bool:
        """Whether the client may do an operation on at least one resource of a type."""
        if (operation, resource) not in self._row.listed:
            raise UnlistedNeedError(f"{operation.name} on {resource.name} is not in the API's row: {self._row}")
        return self._authorizer.allows_any(self._principal, self._host, operation, resource)

    def operations(self, resource: ResourceType, name: str = CLUSTER_NAME) -> int:
        """The operations that the client may do on a resource, as bits of responses."""
        allowed = self._authorizer.operations(self._principal, self._host, resource, name)
        return allowed & SUPPORTED[resource]
