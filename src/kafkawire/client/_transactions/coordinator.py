"""The requests to the coordinator of a transactional id, with retries; written once for both drivers.

Rules:
- Every call is repeated until it is answered, its error is not retriable, or its time is over. A connection that fails,
  and a coordinator that has moved, is looked up again first.
- CONCURRENT_TRANSACTIONS passes as soon as the markers of the last transaction are written, so it is retried soon.
- The version of a request selects the protocol. EndTxn v5 and TxnOffsetCommit v5 belong to transactions v2 (KIP-890),
  AddPartitionsToTxn v4 and above to brokers, and TxnOffsetCommit v6 names topics by id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkawire.client._cluster.discovery import GROUP, TRANSACTION
from kafkawire.client._produce.batches import Identity
from kafkawire.client._transactions.state import Reaction, Step, pause_after, reaction
from kafkawire.client.errors import ClientError
from kafkawire.messages import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    Message,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from kafkawire.messages.errors import ErrorCode, error_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kafkawire.client._cluster.discovery import Discovery
    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client._consume.commits import ConsumerGroupMetadata, OffsetAndMetadata

_Answer = TypeVar("_Answer", bound=Message)
_INIT_NAMES_PRODUCER: Final = 3
_INIT_LATEST: Final = 5  # version 6 (KIP-939) is not stable in any release
_ADD_PARTITIONS_OF_CLIENTS: Final = 3
_END: Final = {False: 4, True: 5}
_COMMIT_OFFSETS: Final = {False: 4, True: 5}
_COMMIT_NAMES_MEMBER: Final = 3


class Coordinator:
    """The coordinator of one transactional id; calls raise the broker's error, or RequestTimeoutError."""

    def __init__(self, cluster: Discovery[Any], transactional_id: str, seconds: float) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._seconds = seconds

    async def initialize(self, timeout_ms: int, before: Identity | None = None) -> Identity:
        """Get a producer id and epoch, which fences every earlier producer and aborts its transaction.

        With the identity `before`, only this producer gets the next epoch (KIP-360).
        """

        def build(version: int) -> InitProducerIdRequest:
            request = InitProducerIdRequest(transactional_id=self._id, transaction_timeout_ms=timeout_ms)
            if before is not None and version >= _INIT_NAMES_PRODUCER:
                request.producer_id, request.producer_epoch = before
            return request

        answer = await self._ask(
            Step.INITIALIZE, build, InitProducerIdResponse, _INIT_LATEST, lambda answer: [answer.error_code]
        )
        return Identity(answer.producer_id, answer.producer_epoch)

    async def add_partitions(self, identity: Identity, places: Iterable[TopicPartition]) -> None:
        """Make partitions part of the transaction (transactions v0 and v1)."""
        topics: dict[str, AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = {}
        for name, number in places:
            topic = topics.setdefault(name, AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=name))
            topic.partitions.append(number)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=identity.producer_id,
            v3_and_below_producer_epoch=identity.epoch,
            v3_and_below_topics=list(topics.values()),
        )

        def codes(answer: AddPartitionsToTxnResponse) -> list[int]:
            found = [
                each.partition_error_code
                for topic in answer.results_by_topic_v3_and_below
                for each in topic.results_by_partition
            ]
            # partitions that were not tried have no error of their own
            return sorted(found, key=lambda code: code == ErrorCode.OPERATION_NOT_ATTEMPTED)

        await self._ask(
            Step.ADD_PARTITIONS, lambda _: request, AddPartitionsToTxnResponse, _ADD_PARTITIONS_OF_CLIENTS, codes
        )

    async def add_offsets(self, identity: Identity, group: str) -> None:
        """Make the offsets of a group part of the transaction (transactions v0 and v1)."""
        request = AddOffsetsToTxnRequest(
            transactional_id=self._id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            group_id=group,
        )
        await self._ask(
            Step.ADD_OFFSETS, lambda _: request, AddOffsetsToTxnResponse, None, lambda answer: [answer.error_code]
        )

    async def commit_offsets(
        self,
        identity: Identity,
        group: ConsumerGroupMetadata,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        is_v2: bool,
    ) -> None:
        """Write offsets of a group that become visible with the commit of the transaction."""
        topics: dict[str, TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] = {}
        for (name, number), each in offsets.items():
            topic = topics.setdefault(name, TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=name))
            topic.partitions.append(
                TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
                    partition_index=number,
                    committed_offset=each.offset,
                    committed_leader_epoch=each.leader_epoch,
                    committed_metadata=each.metadata,
                )
            )

        def build(version: int) -> TxnOffsetCommitRequest:
            request = TxnOffsetCommitRequest(
                transactional_id=self._id,
                group_id=group.group_id,
                producer_id=identity.producer_id,
                producer_epoch=identity.epoch,
                topics=list(topics.values()),
            )
            if group.generation_id >= 0 or group.member_id:
                if version < _COMMIT_NAMES_MEMBER:
                    raise ClientError(
                        f"TxnOffsetCommit v{version} has no member of a group; expected version 3 (Kafka 2.5), "
                        "or the id of the group without a member"
                    )
                request.generation_id_or_member_epoch, request.member_id = group.generation_id, group.member_id
                request.group_instance_id = group.group_instance_id
            return request

        def codes(answer: TxnOffsetCommitResponse) -> list[int]:
            return [each.error_code for topic in answer.topics for each in topic.partitions]

        await self._ask(
            *(Step.COMMIT_OFFSETS, build, TxnOffsetCommitResponse, _COMMIT_OFFSETS[is_v2], codes),
            key=(GROUP, group.group_id),
        )

    async def end(
        self, identity: Identity, *, commit: bool, is_v2: bool, lost: Callable[[], None] | None = None
    ) -> Identity:
        """End the transaction; the identity for the next one. `lost` is called when an answer does not arrive."""
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            committed=commit,
        )
        step = Step.COMMIT if commit else Step.ABORT
        answer = await self._ask(
            step, lambda _: request, EndTxnResponse, _END[is_v2], lambda answer: [answer.error_code], lost=lost
        )
        return identity if answer.producer_id < 0 else Identity(answer.producer_id, answer.producer_epoch)

    async def _ask(
        self,
        step: Step,
        build: Callable[[int], Message],
        kind: type[_Answer],
        last: int | None,
        codes: Callable[[_Answer], Iterable[int]],
        *,
        key: tuple[int, str] | None = None,
        lost: Callable[[], None] | None = None,
    ) -> _Answer:
        cluster = self._cluster
        key = (TRANSACTION, self._id) if key is None else key
        what = f"transactional id {self._id!r}, {step.value}"

        async def attempt() -> _Answer:
            node = await cluster.coordinator(*key)
            try:
                connection = await cluster.connection(node)
                version = connection.version(kind.__name__.removesuffix("Response"))
                version = version if last is None else min(version, last)
                request = build(version)
                try:
                    answer = await cluster.exchange(connection, request, kind, version=version)
                except BaseException:
                    if lost is not None:
                        lost()
                    raise
            except ClientError:
                cluster.forget_coordinator(*key)
                raise
            for code in codes(answer):
                if code:
                    if reaction(step, code) is Reaction.FIND_COORDINATOR:
                        cluster.forget_coordinator(*key)
                    raise error_for(code, what)
            return answer

        return await cluster.retry(what, attempt, self._seconds, shortened=pause_after)
