"""DescribeProducers: v0. The active producers of partitions.

Rules:
- A partition that occurs more than once is answered once. Apache Kafka answers every occurrence, so that a small
  request can have a response of any size.
- Messages do not repeat the names of the request, for the same reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._metadata.topics import check_name
from kafkawire.messages import DescribeProducersResponse
from kafkawire.messages.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import DescribeProducersRequest

    PartitionResponse = DescribeProducersResponse.PartitionResponse


_MESSAGES: Final[dict[int, str]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "no such partition",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "not a topic's name",
}


def refuse(request: DescribeProducersRequest, refusal: Refusal, context: RequestContext) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            DescribeProducersResponse.TopicResponse(
                name=topic.name, partitions=[_failed(index, refusal) for index in topic.partition_indexes]
            )
            for topic in request.topics
        ]
    )


@serves("DescribeProducers", refuse=refuse)
async def handle(node: Node, request: DescribeProducersRequest, context: RequestContext) -> DescribeProducersResponse:
    answered: dict[str, dict[int, PartitionResponse]] = {}
    for topic in request.topics:
        partitions = answered.setdefault(topic.name, {})
        for index in topic.partition_indexes:
            if index not in partitions:
                partitions[index] = await _describe(node, topic.name, index, context)
            await context.yield_if_due()
    return DescribeProducersResponse(
        topics=[
            DescribeProducersResponse.TopicResponse(name=name, partitions=list(partitions.values()))
            for name, partitions in answered.items()
        ]
    )


async def _describe(node: Node, topic: str, index: int, context: RequestContext) -> PartitionResponse:
    try:
        check_name(topic)
        entries = list(node.log(topic, index).producers.entries.values())
    except KafkaError as error:
        return _failed(index, Refusal(error.code, _MESSAGES.get(error.code, error.message)))
    described = DescribeProducersResponse.PartitionResponse(partition_index=index)
    for producer in entries:
        described.active_producers.append(
            DescribeProducersResponse.ProducerState(
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp,
                coordinator_epoch=producer.coordinator_epoch,
                current_txn_start_offset=producer.transaction_start,
            )
        )
        await context.yield_if_due()
    return described


def _failed(index: int, refusal: Refusal) -> PartitionResponse:
    return DescribeProducersResponse.PartitionResponse(
        partition_index=index, error_code=refusal.code, error_message=refusal.message
    )
