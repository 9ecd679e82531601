"""Offsets of partitions, looked up at their leaders (ListOffsets): the start, the end, the first since a time.

Rules:
- All partitions of one leader are in one request, each with the leader epoch that is known. All leaders are asked, so
  that a partition without a leader, or a broker that is gone, does not delay the others.
- A time after the last record has no offset: the broker answers -1, and the result is None.
- Every partition that was asked for has a result. A partition that the broker leaves out is an error; a partition that
  was not asked for is ignored.
- `look_up_offsets` returns all offsets or raises an error, at once for a partition that its topic does not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client.errors import ClientError, UnknownPartitionError
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import ListOffsetsRequest, ListOffsetsResponse
from kafkawire.messages.errors import ErrorCode, error_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.client._cluster.discovery import Discovery
    from kafkawire.client._cluster.metadata import Metadata

    Found = dict[TopicPartition, "OffsetAndTimestamp | None"]

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3


class OffsetAndTimestamp(NamedTuple):
    """An offset, and the timestamp of the record there (-1 if no time was asked for)."""

    offset: int
    timestamp: int
    leader_epoch: int = -1


def by_leader(wanted: Mapping[TopicPartition, int], metadata: Metadata) -> dict[int, dict[TopicPartition, int]]:
    """The partitions to ask each broker for; those without a leader are under -1."""
    grouped: dict[int, dict[TopicPartition, int]] = {}
    for partition, when in wanted.items():
        leader = metadata.leader(*partition)
        grouped.setdefault(-1 if leader is None else leader.id, {})[partition] = when
    return grouped


def offsets_request(
    wanted: Mapping[TopicPartition, int], isolation: int, metadata: Metadata, timeout_ms: int
) -> ListOffsetsRequest:
    """The request for these partitions, each with LATEST, EARLIEST, MAX_TIMESTAMP or a time in milliseconds."""
    topics: dict[str, list[ListOffsetsRequest.ListOffsetsPartition]] = {}
    for (topic, partition), when in wanted.items():
        info = metadata.partition(topic, partition)
        entry = ListOffsetsRequest.ListOffsetsPartition(
            partition_index=partition,
            timestamp=when,
            current_leader_epoch=-1 if info is None else info.leader_epoch,
        )
        topics.setdefault(topic, []).append(entry)
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=[ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=each) for name, each in topics.items()],
        timeout_ms=timeout_ms,
    )


def read_offsets(
    response: ListOffsetsResponse, wanted: Iterable[TopicPartition]
) -> dict[TopicPartition, OffsetAndTimestamp | KafkaWireError | None]:
    """The offset of each partition that was asked for, or the error."""
    found: dict[TopicPartition, OffsetAndTimestamp | KafkaWireError | None] = {
        partition: ClientError(f"{partition}: the broker's answer leaves it out") for partition in wanted
    }
    for topic in response.topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            if partition not in found:
                continue
            if each.error_code:
                found[partition] = error_for(each.error_code, str(partition))
                continue
            offset = each.old_style_offsets[0] if each.old_style_offsets else each.offset
            found[partition] = None if offset < 0 else OffsetAndTimestamp(offset, each.timestamp, each.leader_epoch)
    return found


async def look_up_offsets(cluster: Discovery[Any], wanted: Mapping[TopicPartition, int], isolation: int) -> Found:
    """Offsets of times, or of LATEST, EARLIEST and MAX_TIMESTAMP, with retries."""
    for topic in {each.topic for each in wanted}:
        numbers = {each.partition for each in wanted if each.topic == topic}
        known = await cluster.topic(topic)
        if not numbers <= known.partitions.keys():
            await cluster.refresh([topic])
            known = await cluster.topic(topic)
        for unknown in sorted(numbers - known.partitions.keys()):
            raise UnknownPartitionError(f"{topic}-{unknown}: the topic has {len(known.partitions)} partitions")

    async def ask() -> Found:
        found, failed = await ask_leaders(cluster, wanted, isolation)
        for error in failed.values():
            raise error
        return found

    return await cluster.retry("offsets", ask)


async def ask_leaders(
    cluster: Discovery[Any], wanted: Mapping[TopicPartition, int], isolation: int
) -> tuple[Found, dict[TopicPartition, KafkaWireError]]:
    """The offsets that can be found now, and the errors of the other partitions."""
    found: Found = {}
    failed: dict[TopicPartition, KafkaWireError] = {}

    async def ask(node: int, part: dict[TopicPartition, int]) -> None:
        try:
            if node < 0:
                raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, ", ".join(map(str, part)))
            request = offsets_request(part, isolation, cluster.metadata, cluster.options.request_timeout_ms)
            answer = read_offsets(await cluster.request(node, request, ListOffsetsResponse), part)
        except KafkaWireError as error:
            failed.update(dict.fromkeys(part, error))
            return
        for partition, offset in answer.items():
            if isinstance(offset, KafkaWireError):
                failed[partition] = offset
            else:
                found[partition] = offset

    await cluster.gather([ask(node, part) for node, part in by_leader(wanted, cluster.metadata).items()])
    return found, failed
