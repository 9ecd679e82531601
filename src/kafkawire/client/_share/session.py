"""The session of a share consumer with one broker (KIP-932).

Pure: no I/O and no clock.

Rules:
- The first fetch has epoch 0, names all partitions and carries no acknowledgements. Later requests name what changed.
- Every answered request advances the epoch, of fetches and of acknowledgements alike; after the largest epoch comes 1.
- A session belongs to its connection. A session that failed is replaced, and the records acquired in it are released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.messages import ShareAcknowledgeRequest, ShareFetchRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from uuid import UUID

    from kafkawire.client._share.acknowledgements import Acknowledgements
    from kafkawire.client.options import ShareConsumerOptions

    Place = tuple[UUID, int]

FINAL: Final = -1
_LAST: Final = 2**31 - 1


class ShareSession:
    """One session; `is_over` once it has failed or was closed."""

    __slots__ = ("epoch", "group_id", "is_over", "member_id", "node_id", "partitions")

    def __init__(self, group_id: str, member_id: str, node_id: int) -> None:
        self.node_id = node_id
        self.group_id = group_id
        self.member_id = member_id
        self.epoch = 0
        self.partitions: set[Place] = set()
        self.is_over = False

    @property
    def is_new(self) -> bool:
        return self.epoch == 0

    def fetch_request(
        self, wanted: Iterable[Place], acks: Sequence[Acknowledgements], options: ShareConsumerOptions, wait_ms: int
    ) -> ShareFetchRequest:
        """A fetch of all wanted partitions; acknowledgements are those of wanted partitions."""
        assert not (acks and self.is_new), "the first fetch of a session carries no acknowledgements"
        wanted = set(wanted)
        request = ShareFetchRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=self.epoch,
            max_wait_ms=wait_ms,
            min_bytes=options.fetch_min_bytes,
            max_bytes=options.fetch_max_bytes,
            max_records=options.max_poll_records,
            batch_size=options.max_poll_records,
            share_acquire_mode=options.acquire_mode,
        )
        said = {each.place: each for each in acks}
        topics: dict[UUID, ShareFetchRequest.FetchTopic] = {}
        for place in sorted((wanted - self.partitions) | said.keys()):
            partition = ShareFetchRequest.FetchPartition(partition_index=place[1])
            if place in said:
                partition.acknowledgement_batches = [
                    ShareFetchRequest.AcknowledgementBatch(
                        first_offset=first, last_offset=last, acknowledge_types=kinds
                    )
                    for first, last, kinds in said[place].batches()
                ]
            topics.setdefault(place[0], ShareFetchRequest.FetchTopic(topic_id=place[0])).partitions.append(partition)
        request.topics = list(topics.values())
        gone: dict[UUID, list[int]] = {}
        for topic, number in sorted(self.partitions - wanted):
            gone.setdefault(topic, []).append(number)
        request.forgotten_topics_data = [
            ShareFetchRequest.ForgottenTopic(topic_id=topic, partitions=numbers) for topic, numbers in gone.items()
        ]
        self.partitions = wanted
        return request

    def acknowledge_request(
        self, acks: Sequence[Acknowledgements], *, closing: bool = False
    ) -> ShareAcknowledgeRequest:
        """A request with acknowledgements only; with `closing` it ends the session."""
        request = ShareAcknowledgeRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=FINAL if closing else self.epoch,
            is_renew_ack=any(each.renews for each in acks),
        )
        topics: dict[UUID, ShareAcknowledgeRequest.AcknowledgeTopic] = {}
        for each in acks:
            batches = [
                ShareAcknowledgeRequest.AcknowledgementBatch(
                    first_offset=first, last_offset=last, acknowledge_types=kinds
                )
                for first, last, kinds in each.batches()
            ]
            topic = topics.setdefault(each.topic_id, ShareAcknowledgeRequest.AcknowledgeTopic(topic_id=each.topic_id))
            topic.partitions.append(
                ShareAcknowledgeRequest.AcknowledgePartition(
                    partition_index=each.partition.partition, acknowledgement_batches=batches
                )
            )
        request.topics = list(topics.values())
        return request

    def answered(self) -> None:
        """A request was accepted."""
        self.epoch = 1 if self.epoch == _LAST else self.epoch + 1
