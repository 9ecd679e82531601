"""DescribeAcls: v0-3. There is no authorizer and there are no ACLs: SECURITY_DISABLED, as in Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.messages.errors import SecurityDisabledError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import DescribeAclsRequest, DescribeAclsResponse


@serves("DescribeAcls")
def handle(node: Node, request: DescribeAclsRequest, context: RequestContext) -> DescribeAclsResponse:
    raise SecurityDisabledError("no authorizer is configured")
