"""FindCoordinator: v0-6. The coordinator of a group or a transactional id: this broker, the only one.

Rules:
- v0 is about groups. v1+ have a key type: 0 a group, 1 a transactional id, 2 (v6) a share group's partition. v4+ have
  many keys.
- A key type that does not exist, or not in this version: INVALID_REQUEST. Type 2 is refused too, because only the
  brokers of a cluster ask for it.
- A key that the client may not describe has the error of its type, GROUP_AUTHORIZATION_FAILED or
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED.
- A key that occurs more than once is answered once. Apache Kafka answers every occurrence, each with a host name,
  which may be much longer than the key.
- A request about a transactional id creates the topic `__transaction_state`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._acls.needs import ERRORS
from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.messages import FindCoordinatorResponse
from kafkawire.messages.errors import InvalidRequestError, error_for
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import FindCoordinatorRequest

GROUP, TRANSACTION = 0, 1
RESOURCES: Final = {GROUP: ResourceType.GROUP, TRANSACTION: ResourceType.TRANSACTIONAL_ID}
NO_NODE: Final = -1
NO_PORT: Final = -1


def refuse(request: FindCoordinatorRequest, error: Refusal, context: RequestContext) -> FindCoordinatorResponse:
    code, message = error
    if context.version < 4:
        return FindCoordinatorResponse(error_code=code, error_message=message, node_id=NO_NODE, port=NO_PORT)
    return FindCoordinatorResponse(
        coordinators=[_failed(key, error) for key in dict.fromkeys(request.coordinator_keys)]
    )


@serves("FindCoordinator", refuse=refuse)
async def handle(node: Node, request: FindCoordinatorRequest, context: RequestContext) -> FindCoordinatorResponse:
    if request.key_type not in (GROUP, TRANSACTION):
        expected = f"expected {GROUP} (group) or {TRANSACTION} (transaction)"
        raise InvalidRequestError(f"key type {request.key_type}, {expected}")
    resource = RESOURCES[request.key_type]
    host, port = node.endpoints[context.listener]
    if context.version < 4:
        context.require(Operation.DESCRIBE, resource, request.key)
        if request.key_type == TRANSACTION:
            await node.transactions.prepare()
        return FindCoordinatorResponse(error_message="NONE", node_id=node.id, host=host, port=port)
    found: dict[str, FindCoordinatorResponse.Coordinator] = {}
    for key in request.coordinator_keys:
        if key in found:
            pass
        elif not context.may(Operation.DESCRIBE, resource, key):
            found[key] = _failed(key, Refusal.of(error_for(ERRORS[resource])))
        else:
            if request.key_type == TRANSACTION:
                await node.transactions.prepare()
            found[key] = FindCoordinatorResponse.Coordinator(key=key, node_id=node.id, host=host, port=port)
        await context.yield_if_due()
    return FindCoordinatorResponse(coordinators=list(found.values()))


def _failed(key: str, refusal: Refusal) -> FindCoordinatorResponse.Coordinator:
    return FindCoordinatorResponse.Coordinator(
        key=key, node_id=NO_NODE, port=NO_PORT, error_code=refusal.code, error_message=refusal.message
    )
