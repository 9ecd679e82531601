"""ListTransactions: v0-2. The transactional ids of this coordinator.

Rules:
- An id that the client may not describe is left out.
- Filters by state and by producer id are lists; an empty one matches everything. Unknown states are returned, each
  once, and match nothing.
- v1+: ids whose transaction is open for longer than DurationFilter; -1 matches everything. An id without a transaction
  counts as open since the beginning of time, as in Kafka.
- v2: ids that a regular expression of RE2/J matches as a whole. One that cannot be compiled:
  INVALID_REGULAR_EXPRESSION. An empty one matches everything. It is compiled in a thread.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker.groups.consumer.patterns import Alphabet, compile_for
from kafkawire.broker.groups.steps import finish_in_turns
from kafkawire.broker.transactions.states import BY_TITLE, State
from kafkawire.messages import ListTransactionsResponse
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.broker.groups.consumer.patterns import Pattern
    from kafkawire.broker.transactions.transaction import Entry
    from kafkawire.messages import ListTransactionsRequest


@serves("ListTransactions")
async def handle(node: Node, request: ListTransactionsRequest, context: RequestContext) -> ListTransactionsResponse:
    unknown: dict[str, None] = {}
    states: set[State] = set()
    for name in request.state_filters:
        state = BY_TITLE.get(name)
        if state is None:
            unknown[name] = None
        else:
            states.add(state)
        await context.yield_if_due()
    response = ListTransactionsResponse(unknown_state_filters=list(unknown))
    entries = list(node.transactions)
    pattern = await _compile(request.transactional_id_pattern or "", entries, context)
    has_states, producers = bool(request.state_filters), frozenset(request.producer_id_filters)
    now = node.clock.now()
    for entry in entries:
        await context.yield_if_due()
        current = entry.current
        if not context.may(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, current.transactional_id):
            continue
        if entry.pending is State.DEAD or (has_states and current.state not in states):
            continue
        if producers and current.producer_id not in producers:
            continue
        if request.duration_filter >= 0 and now - current.started_at <= request.duration_filter:
            continue
        if pattern is not None and not await finish_in_turns(pattern.matching(current.transactional_id), context):
            continue
        response.transaction_states.append(
            ListTransactionsResponse.TransactionState(
                transactional_id=current.transactional_id,
                producer_id=current.producer_id,
                transaction_state=current.state.title,
            )
        )
    return response


async def _compile(regex: str, entries: list[Entry], context: RequestContext) -> Pattern | None:
    """The pattern of the ids that are listed, over the characters that they have; None for all of them."""
    if not regex:
        return None
    symbols: set[str] = set()
    for entry in entries:
        symbols.update(entry.current.transactional_id)
        await context.yield_if_due()
    loop = asyncio.get_running_loop()
    pattern = await loop.run_in_executor(None, lambda: compile_for(regex, Alphabet(symbols)))
    context.begin_turn()
    return pattern
