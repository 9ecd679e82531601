"""EndTxn: v0-5. Commits or aborts a transaction.

Rules:
- From v5 on the producer has an epoch per transaction (KIP-890), and the response contains its next id and epoch.
- A fenced producer gets PRODUCER_FENCED, below v2 INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker.transactions.ending import Ending
from kafkawire.broker.transactions.errors import known_error
from kafkawire.broker.transactions.transaction import EPOCH_PER_TRANSACTION
from kafkawire.messages import EndTxnResponse

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import EndTxnRequest

EPOCH_VERSION: Final = 5


@serves("EndTxn")
async def handle(node: Node, request: EndTxnRequest, context: RequestContext) -> EndTxnResponse:
    level = EPOCH_PER_TRANSACTION if context.version >= EPOCH_VERSION else 0
    ending = Ending(request.transactional_id, request.producer_id, request.producer_epoch, request.committed, level)
    outcome = await node.transactions.end(ending)
    if outcome.error:
        return EndTxnResponse(error_code=known_error(outcome.error, context.version))
    return EndTxnResponse(producer_id=outcome.producer_id, producer_epoch=outcome.epoch)
