"""ListTransactions: v0-2. No transactions are coordinated here, so there are none to list.

Rules:
- State filters that name no state are told back, each once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker.serving import RequestContext, serves
from kafkawire.messages import ListTransactionsResponse

if TYPE_CHECKING:
    from kafkawire.broker.node import Node
    from kafkawire.messages import ListTransactionsRequest

STATES: Final = frozenset(
    {
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    }
)


@serves("ListTransactions")
async def handle(node: Node, request: ListTransactionsRequest, context: RequestContext) -> ListTransactionsResponse:
    unknown: dict[str, None] = {}
    for name in request.state_filters:
        if name not in STATES:
            unknown[name] = None
        await context.yield_if_due()
    return ListTransactionsResponse(unknown_state_filters=list(unknown))
