"""A partition's log as a broker keeps it for idempotent producers, with faults on demand."""

from __future__ import annotations

from collections import deque
from typing import Any

from tests.client.scripted_broker import HANG_UP, ScriptedBroker

from kafkawire.messages import InitProducerIdResponse, ProduceResponse
from kafkawire.records import add_sequence, read_batches

TOO_LARGE = 10
STORED, LOSE_ANSWER, LOSE_REQUEST = "stored", "stored, but the answer is lost", "the request is lost"


class ProducedLog:
    """Checks sequences as a broker does; `faults` say what happens to the next requests, in order.

    A fault is one of the words above, or an error code that refuses the batch. A batch of more than `most` records,
    or `most_bytes`, is too large.
    """

    def __init__(self) -> None:
        self.values: list[bytes | None] = []
        self.counts: list[int] = []
        """The number of records of each batch that was sent."""
        self.faults: deque[str | int] = deque()
        self.epochs: list[tuple[int, int]] = []
        self.ids_given = 0
        self.most = self.most_bytes = 1_000_000
        self.refused_as_too_large = 0
        self.state: dict[int, tuple[int, int, deque[tuple[int, int, int]]]] = {}

    def broker(self, partitions: int = 1) -> ScriptedBroker:
        fake = ScriptedBroker({"Produce": self.produce, "InitProducerId": self.give_id})
        fake.topics["t"] = partitions
        return fake

    def give_id(self, request: Any, version: int) -> InitProducerIdResponse:
        self.ids_given += 1
        return InitProducerIdResponse(producer_id=1000 + self.ids_given, producer_epoch=0)

    def forget_producers(self) -> None:
        """As if the broker had lost what it knows: the next sequence is expected to be 0."""
        self.state = {producer: (epoch, 0, deque()) for producer, (epoch, _, _) in self.state.items()}

    def produce(self, request: Any, version: int) -> ProduceResponse | str:
        (topic,) = request.topic_data
        (data,) = topic.partition_data
        (batch,) = read_batches(data.records)
        self.counts.append(batch.record_count)
        fault = self.faults.popleft() if self.faults else STORED
        if fault == LOSE_REQUEST:
            return HANG_UP
        if batch.record_count > self.most or batch.size > self.most_bytes:
            self.refused_as_too_large += 1
            fault = TOO_LARGE
        code, offset = (fault, -1) if isinstance(fault, int) else self._store(batch)
        if fault == LOSE_ANSWER:
            return HANG_UP
        entry = ProduceResponse.PartitionProduceResponse(index=data.index, error_code=code, base_offset=offset)
        answer = ProduceResponse.TopicProduceResponse(
            name=topic.name, topic_id=topic.topic_id, partition_responses=[entry]
        )
        return ProduceResponse(responses=[answer])

    def _store(self, batch: Any) -> tuple[int, int]:
        first, last = batch.base_sequence, batch.last_sequence
        if batch.producer_id >= 0:
            epoch, expected, recent = self.state.get(batch.producer_id, (batch.producer_epoch, first, deque()))
            for start, end, offset in recent:
                if (start, end) == (first, last) and epoch == batch.producer_epoch:
                    return 0, offset
            if batch.producer_epoch < epoch:
                return 47, -1
            if batch.producer_epoch > epoch:
                expected, recent = 0, deque()
            if first != expected:
                return 45, -1
            recent.append((first, last, len(self.values)))
            while len(recent) > 5:
                recent.popleft()
            self.state[batch.producer_id] = (batch.producer_epoch, add_sequence(last, 1), recent)
        self.epochs.append((batch.producer_id, batch.producer_epoch))
        offset = len(self.values)
        self.values += [record.value for record in batch.records()]
        return 0, offset
