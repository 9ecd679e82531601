"""Conversations of share groups (KIP-932) go the same way with Apache Kafka and with us, mostly wrong requests.

Both brokers get the same member ids, so that a group has the same epochs. The first state of a share partition takes
Apache Kafka some time: a member joins again until it has its partitions.

Not asked, because Apache Kafka 4.3 answers UNKNOWN_SERVER_ERROR or after a long time: offsets of an empty list of
partitions, of partitions that a topic does not have, and of the group without a name; a start offset below -1, which it
stores; partitions of topic ids that are unknown or gone, which fail the whole fetch until they are forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from tests.broker.node_requests import batch
from tests.interop.answers import Asked
from tests.interop.dialogue import create_topic
from tests.interop.test_same_consumer_groups import FULL, Talk, compare, has_coordinator, heartbeat
from tests.interop.waiting import until

from kafkawire import messages as m

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.interop.apache_kafka import ApacheBroker
    from tests.interop.our_broker import OurBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
TOPIC, OTHER = "shared", "shared-too"
NOWHERE = UUID(int=77)
MEMBER, NEIGHBOUR = "m" * 22, "n" * 22
Acks = tuple[int, int, "Sequence[int]"]
ACCEPT, RELEASE, REJECT = (1,), (2,), (3,)


class ShareTalk(Talk):
    """A conversation about share groups with one broker."""

    def beat(self, group: str, member: str, epoch: int, version: int = 1, **said: Any) -> Any:
        return self.ask(_heartbeat(group, member, epoch, **said), version)

    def describe(self, *groups: str, version: int = 1) -> Any:
        return self.ask(m.ShareGroupDescribeRequest(group_ids=[*groups], include_authorized_operations=True), version)

    def join(self, group: str, member: str, *topics: str) -> None:
        """Become a member that has its partitions; how long that takes is not compared."""
        self.begin_at_the_first(group)
        epoch = 0

        def is_assigned() -> bool:
            nonlocal epoch
            answer = self.quietly(_heartbeat(group, member, epoch, subscribed_topic_names=[*topics]), 1)
            assert not answer.error_code, answer
            epoch = answer.member_epoch
            return answer.assignment is not None and len(answer.assignment.topic_partitions) == len(topics)

        until(is_assigned)

    def leave(self, group: str, member: str) -> None:
        assert not self.quietly(_heartbeat(group, member, -1), 1).error_code

    def reconnect(self) -> None:
        """End the connection, and with it the sessions; Apache Kafka forgets the records in flight with them."""
        self._broker.reconnect()

    def begin_at_the_first(self, group: str) -> None:
        self.configure(group, "share.auto.offset.reset", "earliest")
        self.configure(group, "share.assignment.interval.ms", "0")

    def produce(self, *values: bytes, topic: str = TOPIC, partition: int = 0) -> None:
        data = m.ProduceRequest.PartitionProduceData(
            index=partition, records=batch(*values, timestamp=1_700_000_000_000)
        )
        produced = m.ProduceRequest.TopicProduceData(name=topic, partition_data=[data])
        answer = self.quietly(m.ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[produced]), 9)
        assert not answer.responses[0].partition_responses[0].error_code

    def fetch(
        self, group: str, member: str, epoch: int, *acks: Acks, version: int = 2, topic: UUID | None = None, **said: Any
    ) -> Any:
        kind = m.ShareFetchRequest
        batches = [
            kind.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=[*types])
            for first, last, types in acks
        ]
        partition = kind.FetchPartition(partition_index=said.pop("partition", 0), acknowledgement_batches=batches)
        wanted = [kind.FetchTopic(topic_id=topic or self.id_of(TOPIC), partitions=[partition])]
        limits = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 500, "batch_size": 500}
        request = kind(
            group_id=group, member_id=member, share_session_epoch=epoch, **{**limits, "topics": wanted, **said}
        )
        return self.ask(request, version)

    def acknowledge(
        self, group: str, member: str, epoch: int, *acks: Acks, version: int = 2, topic: UUID | None = None, **said: Any
    ) -> Any:
        kind = m.ShareAcknowledgeRequest
        batches = [
            kind.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=[*types])
            for first, last, types in acks
        ]
        partition = kind.AcknowledgePartition(partition_index=said.pop("partition", 0), acknowledgement_batches=batches)
        wanted = [kind.AcknowledgeTopic(topic_id=topic or self.id_of(TOPIC), partitions=[partition])]
        request = kind(group_id=group, member_id=member, share_session_epoch=epoch, **{"topics": wanted, **said})
        return self.ask(request, version)

    def offsets(self, group: str, topics: Mapping[str, Sequence[int]] | None, version: int = 1) -> Any:
        kind = m.DescribeShareGroupOffsetsRequest
        wanted = None
        if topics is not None:
            wanted = [
                kind.DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=[*partitions])
                for name, partitions in topics.items()
            ]
        asked = kind.DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=wanted)
        return self.ask(kind(groups=[asked]), version)

    def alter(self, group: str, *topics: tuple[str, Sequence[tuple[int, int]]]) -> Any:
        kind = m.AlterShareGroupOffsetsRequest
        wanted = [
            kind.AlterShareGroupOffsetsRequestTopic(
                topic_name=name,
                partitions=[
                    kind.AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset)
                    for index, offset in offsets
                ],
            )
            for name, offsets in topics
        ]
        return self.ask(kind(group_id=group, topics=wanted), 0)

    def forget(self, group: str, *topics: str) -> Any:
        kind = m.DeleteShareGroupOffsetsRequest
        wanted = [kind.DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics]
        return self.ask(kind(group_id=group, topics=wanted), 0)


def _heartbeat(group: str, member: str, epoch: int, **said: Any) -> m.ShareGroupHeartbeatRequest:
    return m.ShareGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, **said)


@pytest.fixture(scope="module")
def both(apache_kafka: ApacheBroker, our_broker: OurBroker) -> Iterator[tuple[Asked, Asked]]:
    with Asked(our_broker) as ours, Asked(apache_kafka) as theirs:
        for broker in (ours, theirs):
            create_topic(broker, TOPIC, 2)
            create_topic(broker, OTHER, 1)
            until(lambda broker=broker: has_coordinator(broker))  # type: ignore[misc]
        yield ours, theirs


def a_consumer_group(talk: ShareTalk) -> str:
    """The name of a group of another kind."""
    talk.quietly(heartbeat("consumers", "c", 0, **{**FULL, "subscribed_topic_names": [TOPIC]}), 1)
    return "consumers"


def test_wrong_questions_about_offsets(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: ShareTalk) -> None:
        known: Mapping[str, Sequence[int]] = {TOPIC: [0, 1, 0], OTHER: [0]}
        wrong: tuple[Mapping[str, Sequence[int]] | None, ...] = (None, {}, {"unknown": [0, 1]})
        for version in (0, 1):
            for topics in wrong:
                talk.offsets("", topics, version)
            for group in ("nowhere", a_consumer_group(talk)):
                for topics in (*wrong, known):
                    talk.offsets(group, topics, version)
        kind = m.DescribeShareGroupOffsetsRequest
        asked = [kind.DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None) for name in ("nowhere", "x")]
        talk.ask(kind(groups=[]), 1)
        talk.ask(kind(groups=asked), 1)

    compare(both, conversation, ShareTalk)


def test_wrong_changes_of_offsets(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: ShareTalk) -> None:
        for group in ("", a_consumer_group(talk)):
            talk.alter(group)
            talk.alter(group, (TOPIC, [(0, 0)]))
            talk.alter(group, ("unknown", [(0, 0)]))
            talk.forget(group)
            talk.forget(group, TOPIC)
            talk.forget(group, "unknown")
        talk.forget("nowhere", TOPIC)
        talk.forget("nowhere")
        talk.alter("made-1")
        talk.offsets("made-1", None)
        talk.alter("made-2", ("unknown", [(0, 0), (1, 0)]))
        talk.offsets("made-2", None)
        talk.alter("made-3", (TOPIC, [(7, 0), (2, 0)]))
        talk.offsets("made-3", None)
        talk.alter("made-4", (TOPIC, []))
        talk.offsets("made-4", None)
        talk.alter("made-5", (TOPIC, [(0, 3), (7, 0)]), ("unknown", [(0, 0)]), (OTHER, [(0, 1)]))
        talk.offsets("made-5", None)
        talk.offsets("made-5", {TOPIC: [0, 1], OTHER: [0], "unknown": [0]})
        talk.offsets("made-5", {TOPIC: [0, 1], OTHER: [0], "unknown": [0]}, 0)
        talk.alter("made-6", (TOPIC, [(0, -1)]), (OTHER, [(0, 1), (0, 2), (0, 0)]))
        talk.offsets("made-6", None)
        talk.alter("made-6", (TOPIC, [(0, 1_000_000)]))
        talk.offsets("made-6", None)
        talk.describe("made-1", "made-2", "made-5")
        talk.forget("made-5", "unknown", OTHER)
        talk.forget("made-5", OTHER)
        talk.forget("made-5")
        talk.offsets("made-5", None)
        talk.offsets("made-5", {OTHER: [0]})
        for group in ("made-5", "made-1", "made-2"):
            talk.ask(m.DeleteGroupsRequest(groups_names=[group]), 2)
        talk.offsets("made-5", None)
        talk.offsets("made-5", {TOPIC: [0]})

    compare(both, conversation, ShareTalk)


def test_offsets_of_a_group_that_reads(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: ShareTalk) -> None:
        group = "reading"
        talk.produce(b"1", b"2", b"3", b"4", b"5", b"6")
        talk.join(group, MEMBER, TOPIC)
        talk.offsets(group, None)
        talk.fetch(group, MEMBER, 0)
        talk.offsets(group, None)
        talk.acknowledge(group, MEMBER, 1, (0, 1, ACCEPT))
        talk.offsets(group, {TOPIC: [0, 1]})
        talk.acknowledge(group, MEMBER, 2, (3, 3, ACCEPT), (4, 4, REJECT))
        talk.offsets(group, {TOPIC: [0]})
        talk.alter(group, (TOPIC, [(0, 0)]))
        talk.alter(group, ("unknown", [(0, 0)]))
        talk.forget(group, TOPIC)
        talk.forget(group)
        talk.ask(m.DeleteGroupsRequest(groups_names=[group]), 2)
        talk.acknowledge(group, MEMBER, -1)
        talk.leave(group, MEMBER)
        talk.reconnect()
        talk.offsets(group, {TOPIC: [0]})
        talk.alter(group, (TOPIC, [(0, 2)]))
        talk.offsets(group, {TOPIC: [0, 1]})
        talk.join(group, MEMBER, TOPIC)
        talk.fetch(group, MEMBER, 0)
        talk.acknowledge(group, MEMBER, -1, (2, 6, ACCEPT))
        talk.offsets(group, {TOPIC: [0]})
        talk.leave(group, MEMBER)
        talk.reconnect()
        talk.forget(group, TOPIC)
        talk.offsets(group, {TOPIC: [0]})
        talk.offsets(group, None)
        talk.forget(group, TOPIC)
        talk.join(group, MEMBER, TOPIC)
        talk.fetch(group, MEMBER, 0)
        talk.acknowledge(group, MEMBER, -1)
        talk.leave(group, MEMBER)
        talk.ask(m.DeleteGroupsRequest(groups_names=[group]), 2)
        talk.offsets(group, {TOPIC: [0]})
        talk.offsets(group, None)
        talk.forget(group, TOPIC)
        talk.describe(group)

    compare(both, conversation, ShareTalk)


def test_wrong_heartbeats_of_share_groups(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: ShareTalk) -> None:
        names: dict[str, Any] = {"subscribed_topic_names": [TOPIC]}
        for member, epoch, said in (
            ("", 0, names),
            (" ", 0, names),
            ("x" * 37, 0, names),
            ("m", 0, {}),
            ("m", 0, {"subscribed_topic_names": []}),
            ("m", 0, {**names, "rack_id": ""}),
            ("m", 1, {}),
            ("m", 1, names),
            ("m", -1, {}),
            ("m", -2, {}),
            ("m", -3, names),
        ):
            talk.beat("wrong-share", member, epoch, **said)
        talk.beat("", "m", 0, **names)
        talk.beat(a_consumer_group(talk), "m", 0, **names)
        talk.beat(a_consumer_group(talk), "m", -1)
        talk.describe("wrong-share", "", "nowhere", a_consumer_group(talk))

    compare(both, conversation, ShareTalk)


def test_wrong_fetches_and_acknowledgements(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: ShareTalk) -> None:
        group = "fetching"
        talk.produce(b"1", b"2", b"3", b"4", topic=OTHER)
        talk.join(group, MEMBER, OTHER)
        known = talk.id_of(OTHER)
        for member, epoch in (("", 0), ("x" * 37, 0), (MEMBER, 1), (MEMBER, -1), (MEMBER, -2)):
            talk.fetch(group, member, epoch, topic=known)
            talk.acknowledge(group, member, epoch, topic=known)
        talk.fetch(group, MEMBER, 0, (0, 0, ACCEPT), topic=known)
        talk.fetch(group, MEMBER, 0, topic=known, partition=5)
        talk.fetch(group, MEMBER, 1, (0, 0, ACCEPT), topic=known, partition=5)
        talk.fetch(group, MEMBER, 0, topic=known)
        talk.fetch(group, MEMBER, 5, topic=known)
        wrong: Sequence[Sequence[Acks]] = (
            [(0, 0, (9,))],
            [(0, 0, (-1,))],
            [(1, 0, ACCEPT)],
            [(0, 1, (1, 1, 1))],
            [(0, 1, ())],
            [(1, 1, ACCEPT), (0, 0, ACCEPT)],
            [(0, 0, (4,))],
            [(90, 90, ACCEPT)],
            [(3, 90, ACCEPT)],
            [],
        )
        for number, acks in enumerate(wrong):
            talk.acknowledge(group, MEMBER, number + 1, *acks, topic=known)
        talk.acknowledge(group, MEMBER, 11, (0, 0, ACCEPT), topic=NOWHERE)
        talk.acknowledge(group, MEMBER, 12, (0, 0, (4,)), topic=known, is_renew_ack=True)
        talk.acknowledge(group, MEMBER, 13, (0, 0, ACCEPT), topic=known)
        talk.acknowledge(group, MEMBER, 14, (0, 0, ACCEPT), topic=known)
        talk.fetch(group, MEMBER, 15, (1, 1, (4,)), topic=known, is_renew_ack=True)
        talk.acknowledge(group, MEMBER, -1, topic=known)
        talk.leave(group, MEMBER)

    compare(both, conversation, ShareTalk)


def test_a_release_in_a_fetch(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: ShareTalk) -> None:
        group = "releasing"
        for each in (b"1", b"2", b"3", b"4"):
            talk.produce(each, topic=OTHER)
        talk.join(group, MEMBER, OTHER)
        known = talk.id_of(OTHER)
        talk.fetch(group, MEMBER, 0, topic=known, max_records=2, share_acquire_mode=1)
        talk.fetch(group, MEMBER, 1, (0, 1, RELEASE), topic=known, max_records=2, share_acquire_mode=1)
        talk.fetch(group, MEMBER, 2, topic=known, max_records=2, share_acquire_mode=1)
        talk.fetch(group, MEMBER, -1, topic=known, max_records=2, share_acquire_mode=1)
        talk.leave(group, MEMBER)

    compare(both, conversation, ShareTalk)
