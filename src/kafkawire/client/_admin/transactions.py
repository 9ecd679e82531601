"""Administration of transactions and of the producers that write to partitions (KIP-664).

Rules:
- Every broker is asked for its own list of transactional ids. Requests about one id go to its coordinator, requests
  about the producers of a partition to its leader.
- A transaction hangs if it is open in a partition and its coordinator does not know it: no transactional id has the
  producer id, or the transaction of the id does not have the partition. Then nothing ends it, and readers of committed
  records wait at its first offset. `abort_transaction` writes the marker that ends it.
- A transaction that is younger than the longest timeout of the broker is not reported, because the coordinator may be
  about to end it.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import TYPE_CHECKING, TypeVar

from kafkawire.client._admin.types import (
    HangingTransaction,
    ProducerState,
    TransactionDescription,
    TransactionListing,
    raise_errors,
)
from kafkawire.client._cluster.discovery import TRANSACTION
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._consume.offsets import by_leader
from kafkawire.client._transactions.coordinator import Coordinator
from kafkawire.client._transactions.prepared import PreparedTransaction, end_prepared
from kafkawire.client.errors import ClientError
from kafkawire.messages import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    Message,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafkawire.messages.errors import ErrorCode, KafkaError, error_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.client._cluster.cluster import Cluster
    from kafkawire.client._produce.batches import Identity

_Answer = TypeVar("_Answer", bound=Message)
LONGEST_TIMEOUT_MS = 900_000
_DURATION_FROM, _PATTERN_FROM = 1, 2


class TransactionAdmin:
    """The methods of the admin client for transactions."""

    _cluster: Cluster

    async def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        longer_than_ms: int | None = None,
        pattern: str | None = None,
    ) -> list[TransactionListing]:
        """Every transactional id of the cluster, or those in some states, open for some time, or with a name (RE2)."""
        await self._cluster.refresh()
        request = ListTransactionsRequest(
            state_filters=list(states),
            producer_id_filters=list(producer_ids),
            duration_filter=-1 if longer_than_ms is None else longer_than_ms,
            transactional_id_pattern=pattern,
        )
        found = []
        for node in sorted(self._cluster.metadata.nodes):

            async def ask(at: int = node) -> ListTransactionsResponse:
                connection = await self._cluster.connection(at)
                version = connection.version("ListTransactions")
                needed = _PATTERN_FROM if pattern else _DURATION_FROM if longer_than_ms is not None else 0
                if version < needed:
                    raise error_for(
                        ErrorCode.UNSUPPORTED_VERSION,
                        f"ListTransactions v{version} of broker {at} cannot filter by this; expected v{needed}",
                    )
                answer = await connection.request(request, ListTransactionsResponse)
                if answer.error_code:
                    raise error_for(answer.error_code, "ListTransactions")
                if answer.unknown_state_filters:
                    raise ClientError(f"broker {at} does not know the states {', '.join(answer.unknown_state_filters)}")
                return answer

            answer = await self._cluster.retry("the list of transactions", ask)
            found += [
                TransactionListing(each.transactional_id, each.producer_id, each.transaction_state, node)
                for each in answer.transaction_states
            ]
        return sorted(found, key=lambda each: each.transactional_id)

    async def describe_transactions(self, transactional_ids: Iterable[str]) -> list[TransactionDescription]:
        """The state, the producer and the partitions of transactional ids."""
        described = []
        errors: dict[str, KafkaError] = {}
        for name in transactional_ids:

            async def ask(named: str = name) -> TransactionDescription:
                node = await self._cluster.coordinator(TRANSACTION, named)
                request = DescribeTransactionsRequest(transactional_ids=[named])
                answer = await self._cluster.request(node, request, DescribeTransactionsResponse)
                (found,) = answer.transaction_states
                if found.error_code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
                    self._cluster.forget_coordinator(TRANSACTION, named)
                if found.error_code:
                    raise error_for(found.error_code, f"transactional id {named!r}")
                places = [TopicPartition(topic.topic, each) for topic in found.topics for each in topic.partitions]
                return TransactionDescription(
                    *(named, node, found.transaction_state, found.transaction_timeout_ms),
                    None if found.transaction_start_time_ms < 0 else found.transaction_start_time_ms,
                    *(found.producer_id, found.producer_epoch, sorted(places)),
                )

            try:
                described.append(await self._cluster.retry(f"transactional id {name!r}", ask))
            except KafkaError as error:
                errors[name] = error
        raise_errors(errors)
        return described

    async def describe_producers(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, list[ProducerState]]:
        """The producers that each partition remembers, with their open transactions."""
        wanted = {TopicPartition(*each): 0 for each in partitions}
        await self._know({each.topic for each in wanted})
        found: dict[TopicPartition, list[ProducerState]] = {}
        errors: dict[str, KafkaError] = {}
        for node, part in by_leader(wanted, self._cluster.metadata).items():
            topics: dict[str, DescribeProducersRequest.TopicRequest] = {}
            for name, number in part:
                topic = topics.setdefault(name, DescribeProducersRequest.TopicRequest(name=name))
                topic.partition_indexes.append(number)
            if node < 0:
                errors |= {str(each): error_for(ErrorCode.LEADER_NOT_AVAILABLE, str(each)) for each in part}
                continue
            request = DescribeProducersRequest(topics=list(topics.values()))
            answer = await self._cluster.request(node, request, DescribeProducersResponse)
            for topic_answer in answer.topics:
                for each in topic_answer.partitions:
                    place = TopicPartition(topic_answer.name, each.partition_index)
                    if each.error_code:
                        errors[str(place)] = error_for(each.error_code, each.error_message or str(place))
                        continue
                    found[place] = [_producer(state) for state in each.active_producers]
        raise_errors(errors)
        return found

    async def abort_transaction(
        self, partition: TopicPartition, *, producer_id: int, producer_epoch: int, coordinator_epoch: int
    ) -> None:
        """Write the ABORT marker of a transaction that hangs; the values are those of `describe_producers`."""
        place = TopicPartition(*partition)
        await self._know({place.topic})
        marker = WriteTxnMarkersRequest.WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transaction_result=False,
            coordinator_epoch=max(0, coordinator_epoch),
            topics=[
                WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=place.topic, partition_indexes=[place.partition])
            ],
        )

        async def ask() -> None:
            leader, _ = await self._cluster.leader(*place)
            request = WriteTxnMarkersRequest(markers=[marker])
            answer = await self._cluster.request(leader.id, request, WriteTxnMarkersResponse)
            for result in answer.markers:
                for topic in result.topics:
                    for each in topic.partitions:
                        if each.error_code:
                            raise error_for(each.error_code, f"{place}, producer id {producer_id}")

        await self._cluster.retry(f"abort in {place}", ask)

    async def fence_producers(self, transactional_ids: Iterable[str]) -> dict[str, Identity]:
        """End the transactions of ids and refuse their producers from now on; their new producer ids and epochs."""
        options = self._cluster.options
        return {
            name: await Coordinator(self._cluster, name, options.default_api_timeout_ms / 1000).initialize(
                options.request_timeout_ms
            )
            for name in transactional_ids
        }

    async def find_hanging_transactions(
        self, partitions: Iterable[TopicPartition] | None = None, *, older_than_ms: int = LONGEST_TIMEOUT_MS
    ) -> list[HangingTransaction]:
        """The transactions that hang in these partitions, or in all, without a write for this long."""
        await self._cluster.refresh()
        if partitions is None:
            known = self._cluster.metadata.topics.values()
            partitions = [TopicPartition(topic.name, number) for topic in known for number in topic.partitions]
        before = time.time_ns() // 1_000_000 - older_than_ms
        candidates = [
            HangingTransaction(place, state)
            for place, states in (await self.describe_producers(partitions)).items()
            for state in states
            if state.open_since is not None and state.last_timestamp < before
        ]
        if not candidates:
            return []
        ids = sorted({each.producer.producer_id for each in candidates})
        named = {each.producer_id: each.transactional_id for each in await self.list_transactions(producer_ids=ids)}
        covered = {
            (found.producer_id, place)
            for found in await self._describe_known(named.values())
            for place in found.partitions
        }
        return sorted(each for each in candidates if (each.producer.producer_id, each.partition) not in covered)

    async def end_transaction(self, prepared: PreparedTransaction, *, commit: bool) -> None:
        """Commit or abort a transaction that a producer or a `BulkWriter` has prepared, perhaps in another process."""
        await end_prepared(self._cluster, PreparedTransaction(*prepared), commit=commit)

    async def _describe_known(self, names: Iterable[str]) -> list[TransactionDescription]:
        found = []
        for name in names:
            try:
                found += await self.describe_transactions([name])
            except KafkaError as error:
                if error.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                    raise
        return found

    @abstractmethod
    async def _know(self, topics: set[str]) -> None:
        """Have the metadata of topics, or raise the error of one that does not exist."""


def _producer(state: DescribeProducersResponse.ProducerState) -> ProducerState:
    return ProducerState(
        *(state.producer_id, state.producer_epoch, state.last_sequence, state.last_timestamp),
        state.coordinator_epoch,
        None if state.current_txn_start_offset < 0 else state.current_txn_start_offset,
    )
