"""DescribeTransactions: v0. The state of transactional ids.

Rules:
- An id that does not exist, or that is being removed: TRANSACTIONAL_ID_NOT_FOUND. An empty id: INVALID_REQUEST.
- The partitions of a prepared transaction are those without a marker.
- Topics that the client may not describe are left out.
- An id that occurs more than once is answered once.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker.transactions.states import PREPARED, State
from kafkawire.messages import DescribeTransactionsResponse
from kafkawire.messages.errors import ErrorCode
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.broker.transactions.transaction import Entry
    from kafkawire.messages import DescribeTransactionsRequest

    Description = DescribeTransactionsResponse.TransactionState


def refuse(
    request: DescribeTransactionsRequest, refusal: Refusal, context: RequestContext
) -> DescribeTransactionsResponse:
    ids = dict.fromkeys(request.transactional_ids)
    return DescribeTransactionsResponse(transaction_states=[_failed(each, refusal.code) for each in ids])


@serves("DescribeTransactions", refuse=refuse)
async def handle(
    node: Node, request: DescribeTransactionsRequest, context: RequestContext
) -> DescribeTransactionsResponse:
    found: dict[str, Description] = {}
    for each in request.transactional_ids:
        if each not in found:
            found[each] = _describe(node, each, context)
        await context.yield_if_due()
    return DescribeTransactionsResponse(transaction_states=list(found.values()))


def _describe(node: Node, transactional_id: str, context: RequestContext) -> Description:
    if not transactional_id:
        return _failed(transactional_id, ErrorCode.INVALID_REQUEST)
    if not node.transactions.is_coordinator:
        return _failed(transactional_id, ErrorCode.NOT_COORDINATOR)
    entry = node.transactions.find(transactional_id)
    if entry is None or entry.pending is State.DEAD:
        return _failed(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    current = entry.current
    return DescribeTransactionsResponse.TransactionState(
        transactional_id=transactional_id,
        transaction_state=current.state.title,
        transaction_timeout_ms=current.timeout_ms,
        transaction_start_time_ms=current.started_at,
        producer_id=current.producer_id,
        producer_epoch=current.epoch,
        topics=_topics(entry, context),
    )


def _topics(entry: Entry, context: RequestContext) -> list[DescribeTransactionsResponse.TopicData]:
    places = entry.unmarked if entry.current.state in PREPARED else entry.current.partitions
    return [
        DescribeTransactionsResponse.TopicData(topic=topic, partitions=[index for _, index in found])
        for topic, found in groupby(sorted(places), key=lambda place: place[0])
        if context.may(Operation.DESCRIBE, ResourceType.TOPIC, topic)
    ]


def _failed(transactional_id: str, code: int) -> Description:
    return DescribeTransactionsResponse.TransactionState(transactional_id=transactional_id, error_code=code)
