"""Incremental fetch sessions from the client's side (KIP-227).

Rules:
- The first request names every partition and asks for a session; the next ones name only what changed and what is no
  longer wanted.
- An error about the session, or a lost connection, starts over with a full request.
- A broker that gives no session (id 0) is asked in full every time, with the question repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.messages import FetchRequest

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.client.metadata import TopicPartition
    from kafkawire.messages import FetchResponse

_LAST_EPOCH: Final = 2**31 - 1
NO_SESSIONS_BEFORE: Final = 7
NAMED_BY_TOPIC: Final = 12
TELLS_DIVERGENCE: Final = 12


class Wanted(NamedTuple):
    """What a fetch asks of a partition."""

    topic_id: UUID
    offset: int
    leader_epoch: int
    max_bytes: int
    fetched_epoch: int = -1


class FetchSession:
    """What one broker was told, and what it is to be told next."""

    def __init__(self) -> None:
        self.id = 0
        self.epoch = 0
        self._told: dict[TopicPartition, Wanted] = {}

    def fill(self, request: FetchRequest, wanted: dict[TopicPartition, Wanted], version: int) -> None:
        """Write partitions and session into a request."""
        if version < NO_SESSIONS_BEFORE:
            request.topics = _topics(wanted)
            return
        request.session_id, request.session_epoch = self.id, self.epoch
        if self.epoch == 0:
            request.topics = _topics(wanted)
        else:
            told = self._told
            gone = {each: was for each, was in told.items() if each not in wanted}
            made_anew = {
                each: was for each, was in told.items() if each in wanted and wanted[each].topic_id != was.topic_id
            }
            request.topics = _topics({each: now for each, now in wanted.items() if told.get(each) != now})
            request.forgotten_topics_data = _forgotten(gone | made_anew)
        self._told = wanted

    def answered(self, response: FetchResponse) -> None:
        """Take note of a good answer."""
        if response.session_id == 0:
            self.reset()
        elif self.id != response.session_id:
            self.id, self.epoch = response.session_id, 1
        else:
            self.epoch = 1 if self.epoch == _LAST_EPOCH else self.epoch + 1

    def reset(self, *, closing: bool = False) -> None:
        """Start over; a session that the broker may still hold is closed by the next request."""
        if not closing:
            self.id = 0
        self.epoch = 0
        self._told = {}


def _topics(wanted: dict[TopicPartition, Wanted]) -> list[FetchRequest.FetchTopic]:
    topics: dict[str, FetchRequest.FetchTopic] = {}
    for (name, partition), each in wanted.items():
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = FetchRequest.FetchTopic(topic=name, topic_id=each.topic_id)
        topic.partitions.append(
            FetchRequest.FetchPartition(
                partition=partition,
                current_leader_epoch=each.leader_epoch,
                fetch_offset=each.offset,
                last_fetched_epoch=each.fetched_epoch,
                partition_max_bytes=each.max_bytes,
            )
        )
    return list(topics.values())


def _forgotten(gone: dict[TopicPartition, Wanted]) -> list[FetchRequest.ForgottenTopic]:
    topics: dict[tuple[str, UUID], FetchRequest.ForgottenTopic] = {}
    for (name, partition), was in gone.items():
        place = (name, was.topic_id)
        if place not in topics:
            topics[place] = FetchRequest.ForgottenTopic(topic=name, topic_id=was.topic_id)
        topics[place].partitions.append(partition)
    return list(topics.values())
