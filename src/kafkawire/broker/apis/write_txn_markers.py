"""WriteTxnMarkers: v1-2. Writes markers on behalf of an administrator who ends a hanging transaction.

Rules:
- v2 has the transaction.version of the producer. v1 means 0.
- The results are grouped by producer id, as in Kafka: those of two markers of one producer are merged.
  A marker without partitions has no result.
- A partition that occurs more than once for a producer is written once.
- The markers are synced before the response if the settings ask for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker.transactions.markers import Marker
from kafkawire.messages import WriteTxnMarkersResponse
from kafkawire.messages.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from kafkawire.broker._node import Node
    from kafkawire.broker.transactions.transaction import TopicPartition
    from kafkawire.messages import WriteTxnMarkersRequest

    Results = dict[int, dict[TopicPartition, int]]
    TopicResult = WriteTxnMarkersResponse.WritableTxnMarkerTopicResult


def refuse(request: WriteTxnMarkersRequest, refusal: Refusal, context: RequestContext) -> WriteTxnMarkersResponse:
    results: Results = {}
    for each in request.markers:
        for topic in each.topics:
            places = ((topic.name, index) for index in topic.partition_indexes)
            results.setdefault(each.producer_id, {}).update(dict.fromkeys(places, refusal.code))
    response = WriteTxnMarkersResponse()
    for _ in _fill(response, results):
        """A refusal has no turns."""
    return response


@serves("WriteTxnMarkers", refuse=refuse)
async def handle(node: Node, request: WriteTxnMarkersRequest, context: RequestContext) -> WriteTxnMarkersResponse:
    results: Results = {}
    waiting: list[tuple[dict[TopicPartition, int], TopicPartition, Awaitable[None]]] = []
    for each in request.markers:
        marker = Marker(
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.transaction_result,
            each.transaction_version,
        )
        for topic in each.topics:
            for index in topic.partition_indexes:
                await context.yield_if_due()
                place = topic.name, index
                errors = results.setdefault(each.producer_id, {})
                if place in errors:
                    continue
                try:
                    durable = node.transactions.write_marker(place, marker)
                except KafkaError as error:
                    errors[place] = error.code
                else:
                    errors[place] = ErrorCode.NONE
                    if durable is not None:
                        waiting.append((errors, place, durable))
        await context.yield_if_due()
    for errors, place, durable in waiting:
        try:
            await durable
        except KafkaError as error:
            errors[place] = error.code
    response = WriteTxnMarkersResponse()
    for _ in _fill(response, results):
        await context.yield_if_due()
    return response


def _fill(response: WriteTxnMarkersResponse, results: Results) -> Iterator[None]:
    """Add the results to the response, in steps."""
    for producer_id, errors in results.items():
        topics: dict[str, TopicResult] = {}
        for (name, index), error in errors.items():
            if name not in topics:
                topics[name] = WriteTxnMarkersResponse.WritableTxnMarkerTopicResult(name=name)
            topics[name].partitions.append(
                WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult(partition_index=index, error_code=error)
            )
            yield
        response.markers.append(
            WriteTxnMarkersResponse.WritableTxnMarkerResult(producer_id=producer_id, topics=list(topics.values()))
        )
