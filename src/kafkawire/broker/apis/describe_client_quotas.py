"""DescribeClientQuotas: v0-1. There are no quotas, so the response has no entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.messages import DescribeClientQuotasResponse

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import DescribeClientQuotasRequest


@serves("DescribeClientQuotas")
def handle(node: Node, request: DescribeClientQuotasRequest, context: RequestContext) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_message=None, entries=[])
