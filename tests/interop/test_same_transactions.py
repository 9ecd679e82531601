"""Transactions go the same way with Apache Kafka and with us, in the oldest, middle and newest versions of all APIs.

Apache Kafka completes a transaction after it has answered. A conversation waits for the completion (`settle`), and
compares only answers that do not depend on its speed.
"""

from __future__ import annotations

from time import sleep
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import batch
from tests.interop.apache_kafka import PREVIOUS
from tests.interop.dialogue import Talk, compare
from tests.interop.test_same_dialogues import TIME, TOPIC, both
from tests.interop.waiting import until

from kafkawire import messages as m

if TYPE_CHECKING:
    from tests.interop.answers import Asked
    from tests.interop.apache_kafka import ApacheBroker
    from tests.interop.our_broker import OurBroker

__all__ = ["both"]
pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
AGES = pytest.mark.parametrize("age", [0.0, 0.25, 0.5, 0.75, 1.0])
CONCURRENT = 51
GROUP = "same-transactions"


@pytest.fixture(autouse=True)
def only_newest(each_kafka: ApacheBroker, our_twin: OurBroker) -> None:
    if each_kafka.release is PREVIOUS:
        pytest.skip("coordinators before 4.0 answer other errors (KIP-890)")
    our_twin.expected_errors.add("cannot be completed")  # markers of administrators come before the coordinator's


class Producer:
    """A transactional producer in a conversation; its methods send one request each, with any numbers."""

    def __init__(self, talk: Talk, name: str) -> None:
        self.talk = talk
        self.name = name
        self.id = self.epoch = -1
        until(lambda: self._finds_coordinator())

    def _finds_coordinator(self) -> bool:
        broker = self.talk._broker
        broker.ask(m.FindCoordinatorRequest(key=self.name, key_type=1), 1)
        described: Any = broker.ask(m.DescribeTransactionsRequest(transactional_ids=[self.name]), 0)
        broker.ask(m.FindCoordinatorRequest(key=GROUP), 1)
        groups: Any = broker.ask(m.DescribeGroupsRequest(groups=[GROUP]), 0)
        errors = described.transaction_states[0].error_code, groups.groups[0].error_code
        initiated: Any = broker.ask(m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 1)
        return not {14, 15, 16} & {*errors, initiated.error_code}

    def settle(self) -> None:
        """Wait until no transaction is being completed."""

        def is_settled() -> bool:
            asked = m.DescribeTransactionsRequest(transactional_ids=[self.name])
            answer: Any = self.talk._broker.ask(asked, 0)
            return not answer.transaction_states[0].transaction_state.startswith("Prepare")

        until(is_settled)

    def init(self, *, timeout: int = 60_000, **fields: Any) -> Any:
        fields = fields if self.talk.version("InitProducerId") >= 3 else {}
        answer = self.talk.ask(
            m.InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=timeout, **fields)
        )
        if not answer.error_code:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
        return answer

    def add(self, *partitions: int, by: int = 0, other: int = 0, verify: bool = False) -> None:
        """Add partitions, with an epoch or an id that is off by some number."""
        topics = [m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=TOPIC, partitions=list(partitions))]
        if self.talk.version("AddPartitionsToTxn") < 4:
            request = m.AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.name,
                v3_and_below_producer_id=self.id + other,
                v3_and_below_producer_epoch=self.epoch + by,
                v3_and_below_topics=topics,
            )
        else:
            one = m.AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
                transactional_id=self.name,
                producer_id=self.id + other,
                producer_epoch=self.epoch + by,
                verify_only=verify,
                topics=topics,
            )
            request = m.AddPartitionsToTxnRequest(transactions=[one])
        self.talk.ask(request)

    def produce(self, sequence: int, *, partition: int = 0, by: int = 0, is_transactional: bool = True) -> None:
        data = batch(
            b"v",
            timestamp=TIME,
            producer_id=self.id,
            producer_epoch=self.epoch + by,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        part = m.ProduceRequest.PartitionProduceData(index=partition, records=data)
        topic = m.ProduceRequest.TopicProduceData(partition_data=[part])
        if self.talk.version("Produce") >= 13:
            topic.topic_id = self.talk.topic_id(TOPIC)
        else:
            topic.name = TOPIC
        name = self.name if is_transactional else None
        self.talk.ask(m.ProduceRequest(transactional_id=name, acks=-1, timeout_ms=10_000, topic_data=[topic]))

    def end(self, *, commit: bool = True, by: int = 0, other: int = 0) -> Any:
        request = m.EndTxnRequest(
            transactional_id=self.name, producer_id=self.id + other, producer_epoch=self.epoch + by, committed=commit
        )
        answer = self.talk.ask(request)
        self.settle()
        return answer

    def follow(self, answer: Any) -> None:
        """Take over the id and epoch of an end."""
        if not answer.error_code and answer.producer_id >= 0:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch

    def add_offsets(self, *, by: int = 0) -> None:
        self.talk.ask(
            m.AddOffsetsToTxnRequest(
                transactional_id=self.name, producer_id=self.id, producer_epoch=self.epoch + by, group_id=GROUP
            )
        )

    def commit_offset(self, offset: int, *, by: int = 0, metadata: str = "", **member: Any) -> None:
        part = m.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=metadata
        )
        topics = [m.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=TOPIC, partitions=[part])]
        request = m.TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=GROUP,
            producer_id=self.id,
            producer_epoch=self.epoch + by,
            topics=topics,
            **(member if self.talk.version("TxnOffsetCommit") >= 3 else {}),
        )
        self.talk.ask(request)

    def describe(self) -> None:
        """The description for administrators, without times and numbers that the broker chose."""
        found: Any = self.talk._broker.ask(m.DescribeTransactionsRequest(transactional_ids=[self.name]), 0)
        (state,) = found.transaction_states
        topics = sorted((topic.topic, sorted(topic.partitions)) for topic in state.topics)
        self.talk.said.append(
            (
                "described",
                {
                    "error": state.error_code,
                    "state": state.transaction_state,
                    "timeout": state.transaction_timeout_ms,
                    "has started": state.transaction_start_time_ms >= 0,
                    "epoch": state.producer_epoch - self.epoch,
                    "topics": [name if name.startswith("__") else (name, indexes) for name, indexes in topics],
                },
            )
        )

    def read(self, partition: int = 0) -> None:
        """The batches of the producer's partition, and where readers of committed records stop."""
        part = m.FetchRequest.FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1_000_000)
        topic = m.FetchRequest.FetchTopic(topic=TOPIC, partitions=[part])
        request = m.FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1_000_000, isolation_level=1, topics=[topic])
        answer: Any = self.talk._broker.ask(request, 11)
        found = answer.responses[0].partitions[0]
        state = {"stable behind end": found.high_watermark - found.last_stable_offset, "error": found.error_code}
        self.talk.said.append(("read", state))

    def producers(self, partition: int = 0) -> None:
        """The state of this producer in the partition."""
        asked = m.DescribeProducersRequest.TopicRequest(name=TOPIC, partition_indexes=[partition])
        answer: Any = self.talk._broker.ask(m.DescribeProducersRequest(topics=[asked]), 0)
        known = [
            (each.producer_epoch, each.last_sequence, each.coordinator_epoch, each.current_txn_start_offset >= 0)
            for each in answer.topics[0].partitions[0].active_producers
            if each.producer_id == self.id
        ]
        self.talk.said.append(("producers", known))

    def listed(self, **filters: Any) -> None:
        """The list of transactional ids, as far as it is about this producer."""
        self.talk.ask(m.ListTransactionsRequest(producer_id_filters=[self.id], **filters))

    def committed(self) -> None:
        topics = [m.OffsetFetchRequest.OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])]
        group = m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=GROUP, topics=topics)
        for stable in (False, True):
            request = m.OffsetFetchRequest(groups=[group], require_stable=stable)
            answer: Any = self.talk._broker.ask(request, 9)
            found = answer.groups[0].topics[0].partitions[0]
            said = found.error_code, found.committed_offset, found.committed_leader_epoch, found.metadata
            self.talk.said.append((f"committed, stable {stable}", said))

    def mark(self, *, by: int = 0, coordinator: int = 0, commit: bool = False, **fields: Any) -> None:
        marker = m.WriteTxnMarkersRequest.WritableTxnMarker(
            producer_id=self.id,
            producer_epoch=self.epoch + by,
            transaction_result=commit,
            topics=[m.WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[0])],
            coordinator_epoch=coordinator,
            **(fields if self.talk.version("WriteTxnMarkers") >= 2 else {}),
        )
        self.talk.ask(m.WriteTxnMarkersRequest(markers=[marker]))


@AGES
def test_the_start_of_a_producer(both: tuple[Asked, Asked], age: float) -> None:
    def talk(talk: Talk) -> None:
        producer = Producer(talk, f"same-start-{age}")
        producer.init()
        producer.init()
        producer.init(producer_id=producer.id, producer_epoch=producer.epoch)
        producer.init(producer_id=producer.id, producer_epoch=producer.epoch - 1)  # a retry
        producer.init(producer_id=producer.id, producer_epoch=producer.epoch - 2)
        producer.init(producer_id=producer.id + 100, producer_epoch=producer.epoch)
        producer.init(producer_id=producer.id, producer_epoch=producer.epoch + 1)
        producer.init(timeout=1000)
        producer.describe()

    compare(both, age, talk)


@AGES
@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_and_its_retries(both: tuple[Asked, Asked], age: float, commit: bool) -> None:
    def talk(talk: Talk) -> None:
        producer = Producer(talk, f"same-life-{age}-{commit}")
        producer.init()
        producer.end(commit=commit)
        producer.settle()
        producer.init()
        producer.produce(0)
        producer.add(0, 1)
        producer.add(0)
        producer.add(0, by=1)
        producer.add(0, by=-1)
        producer.add(0, other=7)
        producer.describe()
        producer.produce(0)
        producer.produce(0)  # a duplicate
        producer.produce(5)
        producer.produce(1, is_transactional=False)
        producer.produce(1, by=-1)
        producer.produce(1, by=1)
        producer.read()
        producer.producers()
        producer.end(commit=commit, by=1)
        producer.end(commit=commit, by=-1)
        producer.end(commit=commit, other=7)
        ended = producer.end(commit=commit)
        producer.describe()
        producer.read()
        producer.end(commit=commit)
        producer.settle()
        producer.end(commit=not commit)
        producer.settle()
        producer.describe()
        producer.follow(ended)
        producer.producers()
        producer.describe()

    compare(both, age, talk)


@AGES
def test_late_batches_of_a_transaction_that_has_ended(both: tuple[Asked, Asked], age: float) -> None:
    def talk(talk: Talk) -> None:
        producer = Producer(talk, f"same-late-{age}")
        producer.init()
        producer.add(0)
        producer.produce(0)
        ended = producer.end(commit=False)
        producer.produce(1)
        producer.producers()
        producer.follow(ended)
        producer.add(1)
        producer.produce(0)
        producer.produce(1)
        producer.describe()
        producer.follow(producer.end())
        producer.produce(0, partition=1)
        producer.describe()
        producer.producers(1)
        producer.end(commit=False)
        producer.read()
        producer.read(1)

    compare(both, age, talk)


@AGES
def test_fencing(both: tuple[Asked, Asked], age: float) -> None:
    def talk(talk: Talk) -> None:
        first, second = (Producer(talk, f"same-fence-{age}") for _ in range(2))
        first.init()
        first.add(0)
        first.produce(0)
        second.init()
        second.settle()
        first.describe()
        second.init()
        first.add(0)
        first.produce(1)
        first.end()
        first.add_offsets()
        first.commit_offset(5)
        first.init(producer_id=first.id, producer_epoch=first.epoch)
        second.describe()
        second.add(0)
        second.produce(0)
        second.follow(second.end())
        second.producers()
        second.read()

    compare(both, age, talk)


@AGES
@pytest.mark.parametrize("commit", [True, False])
def test_offsets(both: tuple[Asked, Asked], age: float, commit: bool) -> None:
    def talk(talk: Talk) -> None:
        producer = Producer(talk, f"same-offsets-{age}-{commit}")
        producer.init()
        producer.commit_offset(4)
        producer.committed()
        producer.add_offsets()
        producer.add_offsets(by=1)
        producer.add_offsets(by=-1)
        producer.commit_offset(5)
        producer.commit_offset(6, by=1)
        producer.commit_offset(7, by=-1)
        producer.commit_offset(8, metadata="m" * 5000)
        producer.commit_offset(9, member_id="m", generation_id_or_member_epoch=3)
        producer.commit_offset(9, member_id="m", generation_id_or_member_epoch=-1)
        producer.commit_offset(9, member_id="", generation_id_or_member_epoch=3)
        producer.commit_offset(9, group_instance_id="i")
        producer.committed()
        producer.describe()
        plain = m.OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=20, committed_metadata="plain"
        )
        topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name=TOPIC, partitions=[plain])
        talk._broker.ask(m.OffsetCommitRequest(group_id=GROUP, topics=[topic]), 8)
        producer.committed()
        producer.commit_offset(30)
        producer.follow(producer.end(commit=commit))
        producer.committed()
        producer.describe()
        deleted = m.OffsetDeleteRequest.OffsetDeleteRequestTopic(
            name=TOPIC, partitions=[m.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)]
        )
        producer.add_offsets()
        producer.commit_offset(40)
        talk.ask(m.OffsetDeleteRequest(group_id=GROUP, topics=[deleted]))
        producer.committed()
        producer.end()
        producer.committed()
        talk.ask(m.DeleteGroupsRequest(groups_names=[GROUP]))

    compare(both, age, talk)


@AGES
def test_markers_of_administrators(both: tuple[Asked, Asked], age: float) -> None:
    def talk(talk: Talk) -> None:
        producer = Producer(talk, f"same-markers-{age}")
        producer.init()
        producer.init()
        producer.add(0)
        producer.produce(0)
        producer.mark(by=-1)
        producer.mark(coordinator=-1)
        producer.mark(transaction_version=2)
        producer.mark(by=-1, transaction_version=2)
        producer.producers()
        producer.mark()
        producer.producers()
        producer.mark()
        producer.mark(transaction_version=2)
        producer.mark(coordinator=9)
        producer.mark(coordinator=8)
        producer.mark(by=3)
        producer.producers()
        producer.produce(1)
        producer.describe()

    compare(both, age, talk)


@AGES
def test_sequences_in_a_transaction(both: tuple[Asked, Asked], age: float) -> None:
    def talk(talk: Talk) -> None:
        producer = Producer(talk, f"same-sequences-{age}")
        producer.init()
        producer.add(0, 1)
        producer.produce(3)
        producer.produce(4)
        producer.produce(0)
        producer.produce(1)
        producer.producers()
        producer.produce(0, partition=1)
        producer.produce(2, partition=1)
        producer.produce(1, partition=1)
        producer.producers(1)
        producer.follow(producer.end())
        producer.producers()
        producer.add(0)
        producer.produce(7)
        producer.produce(0)
        producer.producers()
        producer.follow(producer.end(commit=False))
        producer.read()
        producer.read(1)

    compare(both, age, talk)


@pytest.mark.parametrize("age", [1.0])
def test_verification(both: tuple[Asked, Asked], age: float) -> None:
    def talk(talk: Talk) -> None:
        producer = Producer(talk, "same-verify")
        producer.init()
        producer.add(0, verify=True)
        producer.add(0)
        producer.add(0, 1, verify=True)
        producer.add(0, verify=True, by=1)
        producer.add(0, verify=True, by=-1)
        producer.add(0, verify=True, other=3)
        producer.follow(producer.end())
        producer.add(0, verify=True)

    compare(both, age, talk)


@AGES
def test_lists_of_transactions(both: tuple[Asked, Asked], age: float) -> None:
    def talk(talk: Talk) -> None:
        producer = Producer(talk, f"same-listed-{age}")
        last = talk.version("ListTransactions")

        def look() -> None:
            for filters in ({}, {"state_filters": ["Ongoing", "Nope"]}, {"state_filters": ["CompleteCommit", "Empty"]}):
                producer.listed(**filters)
            for duration in (-1, 0, 3_600_000) if last >= 1 else ():
                producer.listed(duration_filter=duration)
            for pattern in ("same-.*", "same", ".*listed-[0-9.]+", "(?i)SAME-LISTED.*", "", "(") if last >= 2 else ():
                producer.listed(transactional_id_pattern=pattern)

        producer.init()
        look()
        producer.add(0)
        producer.produce(0)
        sleep(0.01)  # the duration of 0 must be over on both brokers
        look()
        producer.follow(producer.end())
        look()

    compare(both, age, talk)
