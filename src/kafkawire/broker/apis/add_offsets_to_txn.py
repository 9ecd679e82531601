"""AddOffsetsToTxn: v0-4. Adds the partition of `__consumer_offsets` that holds a group to a producer's transaction.

Rules:
- The group does not have to exist; TxnOffsetCommit checks its members. An empty group id: INVALID_GROUP_ID.
- A fenced producer gets PRODUCER_FENCED, below v2 INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.broker._metadata.topics import CONSUMER_OFFSETS
from kafkawire.broker.transactions.errors import known_error
from kafkawire.messages import AddOffsetsToTxnResponse

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import AddOffsetsToTxnRequest


@serves("AddOffsetsToTxn")
async def handle(node: Node, request: AddOffsetsToTxnRequest, context: RequestContext) -> AddOffsetsToTxnResponse:
    await node.groups.prepare()
    place = CONSUMER_OFFSETS, node.groups.offsets_partition(request.group_id)
    producer = request.producer_id, request.producer_epoch
    outcome = await node.transactions.add(request.transactional_id, producer, frozenset({place}), 0)
    return AddOffsetsToTxnResponse(error_code=known_error(outcome.error, context.version))
