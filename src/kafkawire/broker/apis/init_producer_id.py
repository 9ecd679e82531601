"""InitProducerId: v0-5 (v6 is not stable). An id for an idempotent producer.

Rules:
- Without a transactional id every request gets a fresh id and epoch 0, whatever id it comes with.
- An empty transactional id: INVALID_REQUEST. Transactions need their coordinator, which this broker does not have:
  UNSUPPORTED_VERSION, which clients take as final.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.serving import ErrorAnswer, RequestContext, serves
from kafkawire.messages import InitProducerIdResponse
from kafkawire.messages.errors import InvalidRequestError, UnsupportedVersionError
from kafkawire.messages.schema import Versions

if TYPE_CHECKING:
    from kafkawire.broker.node import Node
    from kafkawire.messages import InitProducerIdRequest


def refuse(request: InitProducerIdRequest, refusal: ErrorAnswer, context: RequestContext) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=refusal.code, producer_id=-1, producer_epoch=-1)


@serves("InitProducerId", versions=Versions(0, 5), refuse=refuse)
async def handle(node: Node, request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
    if request.transactional_id == "":
        raise InvalidRequestError("an empty transactional id")
    if request.transactional_id is not None:
        raise UnsupportedVersionError("transactions are not served")
    while node.producer_ids.is_empty:
        await node.changes.run(node.changes.producer_id_block())
    return InitProducerIdResponse(producer_id=node.producer_ids.take(), producer_epoch=0)
