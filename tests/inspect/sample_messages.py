"""Requests and responses for the conversations in tests."""

from __future__ import annotations

from typing import Any

from kafkawire.messages import (
    FetchRequest,
    FetchResponse,
    MetadataResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    ProduceRequest,
    ProduceResponse,
)
from kafkawire.records import BatchBuilder


def batch(*values: bytes | None, last_offset: int | None = None, **options: Any) -> bytes:
    """A record batch of these values."""
    builder = BatchBuilder(**options)
    for value in values:
        builder.append(b"k", value)
    return bytes(builder.build(last_offset=last_offset))


def fetch(
    session: int, epoch: int, *partitions: tuple[int, int], topic: str = "orders", limit: int = 1 << 20, **more: Any
) -> FetchRequest:
    """A fetch of (partition, offset) pairs."""
    asked = [FetchRequest.FetchPartition(partition=p, fetch_offset=o, partition_max_bytes=limit) for p, o in partitions]
    topics = [FetchRequest.FetchTopic(topic=topic, partitions=asked)] if asked else []
    options = {"max_wait_ms": 500, "min_bytes": 1} | more
    return FetchRequest(session_id=session, session_epoch=epoch, topics=topics, **options)


def fetched(
    session: int, *partitions: tuple[int, int, bytes], topic: str = "orders", error: int = 0, **more: Any
) -> FetchResponse:
    """An answer of (partition, high watermark, records); `more` goes to each partition."""
    data = [
        FetchResponse.PartitionData(partition_index=p, high_watermark=h, records=r, **more) for p, h, r in partitions
    ]
    topics = [FetchResponse.FetchableTopicResponse(topic=topic, partitions=data)] if data else []
    return FetchResponse(session_id=session, error_code=error, responses=topics)


def produce(records: bytes, topic: str = "orders", partition: int = 3, acks: int = -1) -> ProduceRequest:
    data = ProduceRequest.PartitionProduceData(index=partition, records=records)
    return ProduceRequest(acks=acks, topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[data])])


def produced(
    base: int, topic: str = "orders", partition: int = 3, error: int = 0, throttle: int = 0
) -> ProduceResponse:
    data = ProduceResponse.PartitionProduceResponse(index=partition, base_offset=base, error_code=error)
    answer = ProduceResponse.TopicProduceResponse(name=topic, partition_responses=[data])
    return ProduceResponse(responses=[answer], throttle_time_ms=throttle)


def described(topic: str, partitions: int = 0, error: int = 0, **more: Any) -> MetadataResponse:
    """Metadata of one topic."""
    found = [MetadataResponse.MetadataResponsePartition(partition_index=p, leader_id=1) for p in range(partitions)]
    one = MetadataResponse.MetadataResponseTopic(name=topic, error_code=error, partitions=found, **more)
    return MetadataResponse(topics=[one])


def commit(offset: int, group: str = "g", topic: str = "orders") -> OffsetCommitRequest:
    asked = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=[asked])]
    return OffsetCommitRequest(group_id=group, member_id="m", topics=topics)


def committed(topic: str = "orders", error: int = 0) -> OffsetCommitResponse:
    verdict = OffsetCommitResponse.OffsetCommitResponsePartition(partition_index=0, error_code=error)
    return OffsetCommitResponse(
        topics=[OffsetCommitResponse.OffsetCommitResponseTopic(name=topic, partitions=[verdict])]
    )
