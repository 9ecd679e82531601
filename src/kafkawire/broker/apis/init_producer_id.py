"""InitProducerId: v0-5 (v6 is not stable). Assigns a producer id, and the epoch of a transactional id.

Rules:
- Without a transactional id every request gets a new id and epoch 0, whatever id it contains.
- A transactional id needs WRITE on it. Without one, IDEMPOTENT_WRITE on the cluster or WRITE on any topic is enough.
- An empty transactional id, and an id without an epoch or the reverse (v3+): INVALID_REQUEST.
- A fenced producer gets PRODUCER_FENCED, below v4 INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker.transactions.initiation import Initiation
from kafkawire.messages import InitProducerIdResponse
from kafkawire.messages.errors import ClusterAuthorizationError, ErrorCode, InvalidRequestError, error_for
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import InitProducerIdRequest

KNOWS_FENCED: Final = 4


def refuse(request: InitProducerIdRequest, refusal: Refusal, context: RequestContext) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=refusal.code, producer_id=-1, producer_epoch=-1)


@serves("InitProducerId", refuse=refuse)
async def handle(node: Node, request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
    _check_access(request, context)
    producer_id, epoch = request.producer_id, request.producer_epoch
    if (producer_id == -1) != (epoch == -1):
        raise InvalidRequestError(f"producer id {producer_id} with epoch {epoch}, expected both or neither")
    if request.transactional_id is None:
        while node.producer_ids.is_empty:
            await node.changes.run(node.changes.producer_id_block())
        return InitProducerIdResponse(producer_id=node.producer_ids.take(), producer_epoch=0)
    if not request.transactional_id:
        raise InvalidRequestError("an empty transactional id")
    wanted = Initiation(request.transactional_id, request.transaction_timeout_ms, producer_id, epoch)
    outcome = await node.transactions.initiate(wanted)
    if outcome.error:
        fenced = outcome.error is ErrorCode.PRODUCER_FENCED and context.version < KNOWS_FENCED
        raise error_for(ErrorCode.INVALID_PRODUCER_EPOCH if fenced else outcome.error)
    return InitProducerIdResponse(producer_id=outcome.producer_id, producer_epoch=outcome.epoch)


def _check_access(request: InitProducerIdRequest, context: RequestContext) -> None:
    access = context.access
    if access is None:
        return
    if request.transactional_id is not None:
        context.require(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)
    elif not (
        access.may(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER)
        or access.may_on_any(Operation.WRITE, ResourceType.TOPIC)
    ):
        raise ClusterAuthorizationError
