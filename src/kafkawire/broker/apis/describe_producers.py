"""DescribeProducers: v0. The producers a partition remembers.

Rules:
- A partition that occurs more than once is answered once. Apache Kafka answers every occurrence, which lets a small
  request have an answer of any size.
- Messages do not repeat the names of the request, for the same reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.serving import ErrorAnswer, RequestContext, serves
from kafkawire.messages import DescribeProducersResponse
from kafkawire.messages.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkawire.broker.node import Node
    from kafkawire.messages import DescribeProducersRequest

    Described = DescribeProducersResponse.PartitionResponse


def refuse(
    request: DescribeProducersRequest, refusal: ErrorAnswer, context: RequestContext
) -> DescribeProducersResponse:
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
    answered: dict[str, dict[int, Described]] = {}
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


async def _describe(node: Node, topic: str, index: int, context: RequestContext) -> Described:
    try:
        entries = list(node.log(topic, index).producers.entries.values())
    except KafkaError as error:
        unknown = error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return _failed(index, ErrorAnswer(error.code, "no such partition" if unknown else error.message))
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


def _failed(index: int, refusal: ErrorAnswer) -> Described:
    return DescribeProducersResponse.PartitionResponse(
        partition_index=index, error_code=refusal.code, error_message=refusal.message
    )
