"""DescribeProducers: v0. The producers a partition remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.serving import ErrorAnswer, RequestContext, serves
from kafkawire.messages import DescribeProducersResponse
from kafkawire.messages.errors import KafkaError

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
def handle(node: Node, request: DescribeProducersRequest, context: RequestContext) -> DescribeProducersResponse:
    response = DescribeProducersResponse()
    for topic in request.topics:
        answered = DescribeProducersResponse.TopicResponse(name=topic.name)
        for index in topic.partition_indexes:
            try:
                answered.partitions.append(_describe(node, topic.name, index))
            except KafkaError as error:
                answered.partitions.append(_failed(index, ErrorAnswer.of(error)))
        response.topics.append(answered)
    return response


def _describe(node: Node, topic: str, index: int) -> Described:
    return DescribeProducersResponse.PartitionResponse(
        partition_index=index,
        active_producers=[
            DescribeProducersResponse.ProducerState(
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp,
                coordinator_epoch=producer.coordinator_epoch,
                current_txn_start_offset=producer.transaction_start,
            )
            for producer in node.log(topic, index).producers.entries.values()
        ],
    )


def _failed(index: int, refusal: ErrorAnswer) -> Described:
    return DescribeProducersResponse.PartitionResponse(
        partition_index=index, error_code=refusal.code, error_message=refusal.message
    )
