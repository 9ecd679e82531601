"""DescribeCluster: v0-2. Describes the cluster: this broker, which is also its controller.

Rules:
- A client that may not describe the cluster has no authorized operations: 0.
- A request for controllers (v1+, type 2) on a broker's port: MISMATCHED_ENDPOINT_TYPE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker import _acl_bits as operations
from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.messages import DescribeClusterResponse
from kafkawire.messages.errors import MismatchedEndpointTypeError
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import DescribeClusterRequest

BROKERS = 1


@serves("DescribeCluster")
def handle(node: Node, request: DescribeClusterRequest, context: RequestContext) -> DescribeClusterResponse:
    if context.version >= 1 and request.endpoint_type != BROKERS:
        raise MismatchedEndpointTypeError(f"endpoint type {request.endpoint_type}, this port is a broker's: {BROKERS}")
    allowed = operations.NOT_ASKED
    if request.include_cluster_authorized_operations:
        may = context.may(Operation.DESCRIBE, ResourceType.CLUSTER)
        allowed = context.operations_on(ResourceType.CLUSTER) if may else 0
    here = node.endpoints[context.listener]
    return DescribeClusterResponse(
        cluster_id=node.cluster_id,
        controller_id=node.id,
        brokers=[
            DescribeClusterResponse.DescribeClusterBroker(
                broker_id=node.id, host=here.host, port=here.port, rack=node.rack
            )
        ],
        cluster_authorized_operations=allowed,
    )
