"""A scripted broker that coordinates transactions, with faults on demand: the rules of a coordinator, in memory.

Rules:
- `level` is the finalized `transaction.version`. EndTxn v5 and Produce v12 follow transactions v2, lower versions v0.
- `faults` has a queue for each API. A fault is an error code, or one of LOSE_REQUEST and LOSE_ANSWER.
- Sequences and epochs are checked as a broker does; `committed` has the values that readers of committed records see.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from tests.client.produced_log import LOSE_ANSWER, LOSE_REQUEST
from tests.client.scripted_broker import HANG_UP, ScriptedBroker

from kafkawire.messages import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    ApiVersionsResponse,
    EndTxnResponse,
    FindCoordinatorResponse,
    InitProducerIdResponse,
    Message,
    ProduceResponse,
    TxnOffsetCommitResponse,
)
from kafkawire.records import add_sequence, read_batches

if TYPE_CHECKING:
    from collections.abc import Callable

EMPTY, ONGOING, COMMITTED, ABORTED = "Empty", "Ongoing", "CompleteCommit", "CompleteAbort"
FENCED, TXN_STATE, ID_MAPPING, PARTITION_EPOCH, OUT_OF_ORDER = 90, 48, 49, 47, 45
Place = tuple[str, int]


class TransactionalBroker:
    """One transactional id, its coordinator, and its partitions."""

    def __init__(self, level: int = 2) -> None:
        self.level = level
        self.faults: defaultdict[str, deque[int | str]] = defaultdict(deque)
        self.identity = (-1, -1)
        self.last_epoch = -2
        self.state = EMPTY
        self.ids_given = 0
        self.added: set[Place] = set()
        self.groups: set[str] = set()
        self.log: dict[Place, list[bytes | None]] = {}
        self.open: dict[Place, list[bytes | None]] = {}
        self.offsets: dict[Place, int] = {}
        self.pending_offsets: dict[Place, int] = {}
        self.sequences: dict[Place, tuple[tuple[int, int], int, deque[tuple[int, int]]]] = {}
        self.fake = ScriptedBroker(
            {
                "FindCoordinator": self._with_faults("FindCoordinator", self._find, FindCoordinatorResponse),
                "InitProducerId": self._with_faults("InitProducerId", self._initialize, InitProducerIdResponse),
                "AddPartitionsToTxn": self._with_faults("AddPartitionsToTxn", self._add, AddPartitionsToTxnResponse),
                "AddOffsetsToTxn": self._with_faults("AddOffsetsToTxn", self._add_offsets, AddOffsetsToTxnResponse),
                "TxnOffsetCommit": self._with_faults("TxnOffsetCommit", self._commit_offsets, TxnOffsetCommitResponse),
                "EndTxn": self._with_faults("EndTxn", self._end, EndTxnResponse),
                "Produce": self._with_faults("Produce", self._produce, ProduceResponse),
            }
        )
        self.fake.topics["t"] = 3
        self.fake.handlers["ApiVersions"] = self._api_versions

    @property
    def committed(self) -> list[bytes | None]:
        """The committed values of all partitions."""
        return [value for place in sorted(self.log) for value in self.log[place]]

    def names(self, *wanted: str) -> list[str]:
        """The requests of these APIs, in order."""
        return [name for name, _, _ in self.fake.requests if name in wanted]

    def versions(self, wanted: str) -> set[int]:
        return {version for name, version, _ in self.fake.requests if name == wanted}

    def time_out(self) -> None:
        """Abort the transaction as the coordinator does when its time is over."""
        producer, epoch = self.identity
        self._finish(commit=False)
        self.identity, self.last_epoch = (producer, epoch + 1), -2

    def _api_versions(self, request: Any, version: int) -> Message:
        answer = self.fake.api_versions(request, version)
        assert isinstance(answer, ApiVersionsResponse)
        answer.finalized_features_epoch = self.level
        answer.finalized_features = [
            ApiVersionsResponse.FinalizedFeatureKey(
                name="transaction.version", max_version_level=self.level, min_version_level=self.level
            )
        ]
        return answer

    def _with_faults(
        self, name: str, handle: Callable[[Any, int, int], Message], kind: type[Message]
    ) -> Callable[[Any, int], Message | str]:
        def answer(request: Any, version: int) -> Message | str:
            queue = self.faults[name]
            fault = queue.popleft() if queue else 0
            if fault == LOSE_REQUEST:
                return HANG_UP
            made = handle(request, version, fault if isinstance(fault, int) else 0)
            assert isinstance(made, kind)
            return HANG_UP if fault == LOSE_ANSWER else made

        return answer

    def _find(self, request: Any, version: int, code: int) -> Message:
        found = [
            FindCoordinatorResponse.Coordinator(
                key=key, node_id=0, host="127.0.0.1", port=self.fake.port, error_code=code
            )
            for key in request.coordinator_keys
        ]
        return FindCoordinatorResponse(coordinators=found)

    def _initialize(self, request: Any, version: int, code: int) -> Message:
        if code:
            return InitProducerIdResponse(error_code=code)
        sent = (request.producer_id, request.producer_epoch)
        if self.state == ONGOING:
            self.time_out()
            return InitProducerIdResponse(error_code=51)
        if sent == (self.identity[0], self.last_epoch):
            return InitProducerIdResponse(producer_id=self.identity[0], producer_epoch=self.identity[1])
        if sent not in ((-1, -1), self.identity):
            return InitProducerIdResponse(error_code=FENCED)
        self.last_epoch = sent[1]
        if self.identity == (-1, -1):
            self.ids_given += 1
            self.identity = 1000 + self.ids_given, 0
        else:
            self.identity = self.identity[0], self.identity[1] + 1
        self.state = EMPTY
        return InitProducerIdResponse(producer_id=self.identity[0], producer_epoch=self.identity[1])

    def _check(self, producer: int, epoch: int) -> int:
        if producer != self.identity[0]:
            return ID_MAPPING
        return 0 if epoch == self.identity[1] else FENCED

    def _add(self, request: Any, version: int, code: int) -> Message:
        code = code or self._check(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
        results = []
        for topic in request.v3_and_below_topics:
            if not code:
                self.state = ONGOING
                self.added |= {(topic.name, number) for number in topic.partitions}
            results.append(
                AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult(
                    name=topic.name,
                    results_by_partition=[
                        AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult(
                            partition_index=number, partition_error_code=code
                        )
                        for number in topic.partitions
                    ],
                )
            )
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)

    def _add_offsets(self, request: Any, version: int, code: int) -> Message:
        code = code or self._check(request.producer_id, request.producer_epoch)
        if not code:
            self.state = ONGOING
            self.groups.add(request.group_id)
        return AddOffsetsToTxnResponse(error_code=code)

    def _commit_offsets(self, request: Any, version: int, code: int) -> Message:
        code = code or self._check(request.producer_id, request.producer_epoch)
        if not code and version < 5 and request.group_id not in self.groups:
            code = TXN_STATE
        topics = []
        for topic in request.topics:
            partitions = []
            for each in topic.partitions:
                if not code:
                    self.state = ONGOING
                    self.pending_offsets[topic.name, each.partition_index] = each.committed_offset
                partitions.append(
                    TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index, error_code=code
                    )
                )
            topics.append(TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic(name=topic.name, partitions=partitions))
        return TxnOffsetCommitResponse(topics=topics)

    def _end(self, request: Any, version: int, code: int) -> Message:
        producer, epoch = self.identity
        if code:
            return EndTxnResponse(error_code=code)
        if request.producer_id != producer:
            return EndTxnResponse(error_code=ID_MAPPING)
        is_v2, done = version >= 5, COMMITTED if request.committed else ABORTED
        if is_v2 and self.state in (COMMITTED, ABORTED) and epoch == request.producer_epoch + 1:
            code = 0 if self.state == done else TXN_STATE
            return EndTxnResponse(error_code=code, producer_id=producer, producer_epoch=epoch)
        if request.producer_epoch != epoch:
            return EndTxnResponse(error_code=FENCED)
        if self.state != ONGOING and (is_v2 or self.state != done) and (request.committed or not is_v2):
            return EndTxnResponse(error_code=TXN_STATE)
        if self.state == ONGOING:
            self._finish(commit=request.committed)
        self.state = done
        if is_v2:
            self.identity = producer, epoch + 1
            return EndTxnResponse(producer_id=producer, producer_epoch=epoch + 1)
        return EndTxnResponse()

    def _finish(self, *, commit: bool) -> None:
        if commit:
            for place, values in self.open.items():
                self.log.setdefault(place, []).extend(values)
            self.offsets |= self.pending_offsets
        self.open, self.pending_offsets = {}, {}
        self.added.clear()
        self.groups.clear()
        self.state = COMMITTED if commit else ABORTED

    def _produce(self, request: Any, version: int, code: int) -> Message:
        assert request.transactional_id is not None
        answers = []
        for topic in request.topic_data:
            name = topic.name or "t"
            results = [
                ProduceResponse.PartitionProduceResponse(
                    index=data.index, error_code=code or self._append((name, data.index), data.records, version)
                )
                for data in topic.partition_data
            ]
            answers.append(
                ProduceResponse.TopicProduceResponse(
                    name=topic.name, topic_id=topic.topic_id, partition_responses=results
                )
            )
        return ProduceResponse(responses=answers)

    def _append(self, place: Place, records: Any, version: int) -> int:
        (batch,) = read_batches(records)
        assert batch.is_transactional
        sent = batch.producer_id, batch.producer_epoch
        if sent != self.identity:
            return PARTITION_EPOCH
        known, expected, recent = self.sequences.get(place, (sent, 0, deque()))
        if known != sent:
            expected, recent = 0, deque()
        span = batch.base_sequence, batch.last_sequence
        if span in recent:
            return 0
        if batch.base_sequence != expected:
            return OUT_OF_ORDER
        if version >= 12:
            self.state = ONGOING
        elif self.state != ONGOING or place not in self.added:
            return TXN_STATE
        recent.append(span)
        self.sequences[place] = sent, add_sequence(batch.last_sequence, 1), deque(recent, 5)
        self.open.setdefault(place, []).extend(record.value for record in batch.records())
        return 0
