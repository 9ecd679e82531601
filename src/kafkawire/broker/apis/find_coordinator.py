"""FindCoordinator: v0-6. Who looks after a group or a transactional id: this broker, the only one.

Rules:
- v0 asks about groups; v1+ say what the key is: 0 a group, 1 a transactional id, 2 (v6) a share group's partition. v4+
  ask about many keys at once.
- A kind that does not exist, or not in this version: INVALID_REQUEST. So are share groups, which are not served.
- A key that occurs more than once is answered once. Apache Kafka answers every occurrence, each with a host name,
  which may be much longer than the key.
- Where transactions are not served, their coordinator is refused with TRANSACTIONAL_ID_AUTHORIZATION_FAILED: clients
  give up at once, where COORDINATOR_NOT_AVAILABLE would let them try until they run out of time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker.serving import ErrorAnswer, RequestContext, served_apis, serves
from kafkawire.messages import FindCoordinatorResponse, api
from kafkawire.messages.errors import InvalidRequestError, TransactionalIdAuthorizationFailedError

if TYPE_CHECKING:
    from kafkawire.broker.node import Node
    from kafkawire.messages import FindCoordinatorRequest

GROUP, TRANSACTION = 0, 1
NO_NODE: Final = -1
NO_PORT: Final = -1


def refuse(request: FindCoordinatorRequest, error: ErrorAnswer, context: RequestContext) -> FindCoordinatorResponse:
    code, message = error
    if context.version < 4:
        return FindCoordinatorResponse(error_code=code, error_message=message, node_id=NO_NODE, port=NO_PORT)
    return FindCoordinatorResponse(
        coordinators=[
            FindCoordinatorResponse.Coordinator(
                key=key, node_id=NO_NODE, port=NO_PORT, error_code=code, error_message=message
            )
            for key in dict.fromkeys(request.coordinator_keys)
        ]
    )


@serves("FindCoordinator", refuse=refuse)
async def handle(node: Node, request: FindCoordinatorRequest, context: RequestContext) -> FindCoordinatorResponse:
    _check(request.key_type)
    host, port = node.endpoints[context.listener]
    if context.version < 4:
        return FindCoordinatorResponse(error_message="NONE", node_id=node.id, host=host, port=port)
    found: dict[str, FindCoordinatorResponse.Coordinator] = {}
    for key in request.coordinator_keys:
        if key not in found:
            found[key] = FindCoordinatorResponse.Coordinator(key=key, node_id=node.id, host=host, port=port)
        await context.yield_if_due()
    return FindCoordinatorResponse(coordinators=list(found.values()))


def _check(key_type: int) -> None:
    if key_type == TRANSACTION and api("AddPartitionsToTxn").key not in served_apis():
        raise TransactionalIdAuthorizationFailedError("this broker serves no transactions")
    if key_type not in (GROUP, TRANSACTION):
        raise InvalidRequestError(f"key type {key_type}, expected {GROUP} (group) or {TRANSACTION} (transaction)")
