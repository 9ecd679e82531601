"""DescribeAcls: v0-3. Without an authorizer there are no ACLs to tell of: SECURITY_DISABLED, as Kafka answers then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.serving import RequestContext, serves
from kafkawire.messages.errors import SecurityDisabledError

if TYPE_CHECKING:
    from kafkawire.broker.node import Node
    from kafkawire.messages import DescribeAclsRequest, DescribeAclsResponse


@serves("DescribeAcls")
def handle(node: Node, request: DescribeAclsRequest, context: RequestContext) -> DescribeAclsResponse:
    raise SecurityDisabledError("no authorizer is configured")
