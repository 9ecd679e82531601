"""Asking where partitions begin and end, and where a time lies in them (ListOffsets).

Rules:
- Everything for one broker goes into one request, each partition with the leader epoch that we know.
- A time after the last record has no offset: the answer says -1, and so do we, with None.
- Who asks for a partition gets an answer about it: one that the broker leaves out is an error,
  one that nobody asked for is not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.client.errors import ClientError
from kafkawire.client.metadata import TopicPartition
from kafkawire.messages import ListOffsetsRequest
from kafkawire.messages.errors import error_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.client.metadata import Metadata
    from kafkawire.exceptions import KafkaWireError
    from kafkawire.messages import ListOffsetsResponse

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3


class OffsetAndTimestamp(NamedTuple):
    """An offset, and the timestamp of the record there (-1 where none was asked for)."""

    offset: int
    timestamp: int
    leader_epoch: int = -1


def by_leader(wanted: Mapping[TopicPartition, int], metadata: Metadata) -> dict[int, dict[TopicPartition, int]]:
    """What to ask each broker; partitions without a leader stand under -1."""
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
