"""ListPartitionReassignments: v0. There is one broker, so no partition is ever reassigned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.messages import ListPartitionReassignmentsResponse

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import ListPartitionReassignmentsRequest


@serves("ListPartitionReassignments")
def handle(
    node: Node, request: ListPartitionReassignmentsRequest, context: RequestContext
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_message=None)
