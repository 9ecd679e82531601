"""A transactional producer that puts its requests to a node one by one, in any version."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tests.broker.node_requests import ask, batch

from kafkawire.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    OffsetFetchRequest,
    ProduceRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.broker._node import Node
    from kafkawire.testing.manual_clock import ManualClock

TIMEOUT = 60_000
OLD, NEW = 0, 2
"""The protocols of transactions: without an epoch per transaction, and with one (KIP-890)."""


class TransactionalProducer:
    """A producer of one transactional id; `level` chooses the protocol that it speaks."""

    def __init__(self, node: Node, name: str = "t", *, level: int = NEW) -> None:
        self.node = node
        self.name = name
        self.level = level
        self.id = self.epoch = -1
        self.sequences: dict[tuple[str, int], int] = {}
        ask(node, FindCoordinatorRequest(key_type=1, coordinator_keys=[name]))

    def init(self, *, producer_id: int = -1, epoch: int = -1, timeout: int = TIMEOUT, version: int = 5) -> int:
        """InitProducerId; its error. A success gives this producer its id and epoch."""
        request = InitProducerIdRequest(
            transactional_id=self.name, transaction_timeout_ms=timeout, producer_id=producer_id, producer_epoch=epoch
        )
        answer = ask(self.node, request, version)
        if not answer.error_code:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        return int(answer.error_code)

    def add(self, topic: str = "orders", *partitions: int, version: int = 3, epoch: int | None = None) -> int:
        """AddPartitionsToTxn; the error of its first partition."""
        topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=list(partitions or (0,)))]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.id,
            v3_and_below_producer_epoch=self.epoch if epoch is None else epoch,
            v3_and_below_topics=topics,
        )
        found = ask(self.node, request, version).results_by_topic_v3_and_below
        return int(found[0].results_by_partition[0].partition_error_code)

    def produce(
        self,
        *values: bytes,
        topic: str = "orders",
        partition: int = 0,
        version: int | None = None,
        epoch: int | None = None,
        producer_id: int | None = None,
        sequence: int | None = None,
    ) -> int:
        """Produce one batch; its error."""
        place = topic, partition
        first = self.sequences.get(place, 0) if sequence is None else sequence
        data = batch(
            *(values or (b"v",)),
            producer_id=self.id if producer_id is None else producer_id,
            producer_epoch=self.epoch if epoch is None else epoch,
            base_sequence=first,
            is_transactional=True,
            timestamp=self.node.clock.now(),
        )
        topic_data = ProduceRequest.TopicProduceData(
            name=topic,
            topic_id=self.node.topics.get(topic).id,
            partition_data=[ProduceRequest.PartitionProduceData(index=partition, records=data)],
        )
        request = ProduceRequest(transactional_id=self.name, acks=-1, timeout_ms=1000, topic_data=[topic_data])
        if version is None:
            version = 13 if self.level == NEW else 11
        error = ask(self.node, request, version).responses[0].partition_responses[0].error_code
        if not error:
            self.sequences[place] = first + len(values or (b"v",))
        return int(error)

    def end(
        self,
        *,
        commit: bool = True,
        version: int | None = None,
        epoch: int | None = None,
        producer_id: int | None = None,
    ) -> int:
        """EndTxn; its error. The new protocol gives this producer its next epoch."""
        request = EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.id if producer_id is None else producer_id,
            producer_epoch=self.epoch if epoch is None else epoch,
            committed=commit,
        )
        version = (5 if self.level == NEW else 4) if version is None else version
        answer = ask(self.node, request, version)
        if not answer.error_code and answer.producer_id >= 0:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        return int(answer.error_code)

    def add_offsets(self, group: str = "g", version: int = 4) -> int:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.name, producer_id=self.id, producer_epoch=self.epoch, group_id=group
        )
        return int(ask(self.node, request, version).error_code)

    def commit_offsets(
        self,
        offsets: Mapping[tuple[str, int], int],
        group: str = "g",
        *,
        version: int | None = None,
        generation: int = -1,
        member: str = "",
    ) -> int:
        """TxnOffsetCommit; the error of its first partition."""
        topics = [
            TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
                        partition_index=index, committed_offset=offset, committed_metadata=""
                    )
                ],
            )
            for (topic, index), offset in offsets.items()
        ]
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=group,
            producer_id=self.id,
            producer_epoch=self.epoch,
            generation_id_or_member_epoch=generation,
            member_id=member,
            topics=topics,
        )
        version = (5 if self.level == NEW else 4) if version is None else version
        return int(ask(self.node, request, version).topics[0].partitions[0].error_code)

    @property
    def described(self) -> Any:
        """The transactional id as DescribeTransactions has it."""
        return ask(self.node, DescribeTransactionsRequest(transactional_ids=[self.name])).transaction_states[0]

    @property
    def state(self) -> str:
        return str(self.described.transaction_state)


def pass_time(node: Node, clock: ManualClock, ms: int) -> None:
    """Advance the clock, and return when the work that this started is done."""

    async def advance() -> None:
        clock.advance(ms)
        while node.transactions._tasks:
            await asyncio.sleep(0.001)

    asyncio.run(advance())


def open_producers(node: Node, topic: str = "orders", partition: int = 0) -> dict[int, int]:
    """The open transactions of a partition: producer id and first offset."""
    wanted = DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=[partition])
    found = ask(node, DescribeProducersRequest(topics=[wanted])).topics[0].partitions[0].active_producers
    return {each.producer_id: each.current_txn_start_offset for each in found if each.current_txn_start_offset >= 0}


def write_marker(
    node: Node,
    producer: tuple[int, int],
    *,
    commit: bool = False,
    topic: str = "orders",
    partition: int = 0,
    coordinator_epoch: int = 0,
    level: int = 0,
    version: int = 2,
) -> int:
    """WriteTxnMarkers for one partition; its error."""
    marker = WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=producer[0],
        producer_epoch=producer[1],
        transaction_result=commit,
        topics=[WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
        coordinator_epoch=coordinator_epoch,
        transaction_version=level,
    )
    answer = ask(node, WriteTxnMarkersRequest(markers=[marker]), version)
    return int(answer.markers[0].topics[0].partitions[0].error_code)


def committed(node: Node, group: str = "g", place: tuple[str, int] = ("orders", 0), *, stable: bool = True) -> Any:
    """The committed offset of a group, or the name of the error."""
    topics = [OffsetFetchRequest.OffsetFetchRequestTopics(name=place[0], partition_indexes=[place[1]])]
    asked = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=topics)
    found = ask(node, OffsetFetchRequest(groups=[asked], require_stable=stable), 9).groups[0].topics[0].partitions[0]
    return found.error_code or found.committed_offset
