"""Requests of a member of a share group, and what its answers say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.broker.node_requests import ask, batch, values

from kafkawire.messages import ShareAcknowledgeRequest, ShareFetchRequest, ShareGroupHeartbeatRequest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from kafkawire.broker._node import Node

GROUP = "g"
ALL: tuple[int, ...] = (1,)


def heartbeat(node: Node, member: str, epoch: int, topics: Sequence[str] | None = None, group: str = GROUP) -> Any:
    return ask(
        node,
        ShareGroupHeartbeatRequest(
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            subscribed_topic_names=None if topics is None else [*topics],
        ),
    )


def join(node: Node, member: str, *topics: str, group: str = GROUP) -> Any:
    """Join a group, and beat once more: the second answer has the assignment."""
    first = heartbeat(node, member, 0, topics, group)
    assert first.error_code == 0, first
    node.clock.advance(2_000)  # type: ignore[attr-defined]  # of the tests
    return heartbeat(node, member, first.member_epoch, group=group)


def produce(node: Node, count: int, topic: str = "orders", index: int = 0) -> None:
    """Append one batch of records whose values are their offsets."""
    start = node.log(topic, index).end_offset
    records = (b"%d" % number for number in range(start, start + count))
    node.append(topic, index, batch(*records, timestamp=node.clock.now()))


def topic_id(node: Node, name: str = "orders") -> UUID:
    return node.topics.get(name).id


def fetch_request(
    node: Node,
    member: str,
    epoch: int,
    acks: Sequence[tuple[int, int, Sequence[int]]] = (),
    *,
    group: str = GROUP,
    index: int = 0,
    topic: UUID | None = None,
    **settings: Any,
) -> ShareFetchRequest:
    kind = ShareFetchRequest
    batches = [
        kind.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=[*types])
        for first, last, types in acks
    ]
    partition = kind.FetchPartition(partition_index=index, acknowledgement_batches=batches)
    wanted = kind.FetchTopic(topic_id=topic or topic_id(node), partitions=[partition])
    limits = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "max_records": 500, "batch_size": 500}
    return kind(group_id=group, member_id=member, share_session_epoch=epoch, topics=[wanted], **{**limits, **settings})


def fetch(node: Node, member: str, epoch: int, *acks: tuple[int, int, Sequence[int]], **settings: Any) -> Any:
    """The only partition of the answer; None if it has none."""
    answer = ask(node, fetch_request(node, member, epoch, acks, **settings))
    assert answer.error_code == 0, answer
    return answer.responses[0].partitions[0] if answer.responses else None


def acquired(partition: Any) -> list[tuple[int, int, int]]:
    """Offsets and delivery counts that a member got."""
    found = [] if partition is None else partition.acquired_records
    return [(each.first_offset, each.last_offset, each.delivery_count) for each in found]


def delivered(partition: Any) -> list[bytes | None]:
    """The values of the records that a member got."""
    sent = dict(enumerate(values(partition.records), _first_offset(partition)))
    return [sent[offset] for first, last, _ in acquired(partition) for offset in range(first, last + 1)]


def acknowledge(
    node: Node, member: str, epoch: int, *acks: tuple[int, int, Sequence[int]], version: int = 2, renews: bool = False
) -> Any:
    """The only partition of the answer, or the answer if it has none."""
    kind = ShareAcknowledgeRequest
    batches = [
        kind.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=[*types])
        for first, last, types in acks
    ]
    partition = kind.AcknowledgePartition(partition_index=0, acknowledgement_batches=batches)
    topic = kind.AcknowledgeTopic(topic_id=topic_id(node), partitions=[partition])
    request = kind(
        group_id=GROUP, member_id=member, share_session_epoch=epoch, topics=[topic] if acks else [], is_renew_ack=renews
    )
    answer = ask(node, request, version)
    return answer.responses[0].partitions[0] if answer.responses else answer


def _first_offset(partition: Any) -> int:
    return int.from_bytes(bytes(partition.records[:8]), "big")
