"""Scenes of transactional producers, good and bad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.inspect.captures import MILLISECOND, START, Conversation
from tests.inspect.conversations import talk
from tests.inspect.sample_messages import batch, fetch, fetched, produce, produced

from kafkawire.messages import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from tests.inspect.conversations import Build


class Producer:
    """A transactional producer on one connection."""

    def __init__(self, number: int = 0, name: str = "payments", *, producer: int = 7, at: float = 0) -> None:
        self.talk = talk(number)
        self.talk.wait(at)
        self.name, self.id, self.epoch = name, producer, 0

    def init(self, epoch: int = 0, *, error: int = 0, timeout: int = 60_000) -> Producer:
        self.epoch = epoch
        asked = InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=timeout)
        answer = InitProducerIdResponse(error_code=error)
        if not error:
            answer.producer_id, answer.producer_epoch = self.id, epoch
        self.talk.exchange(asked, answer, 4)
        return self

    def add(self, *partitions: int, error: int = 0) -> Producer:
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="orders", partitions=list(partitions))
        asked = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[topic],
        )
        results = [
            AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult(
                partition_index=each, partition_error_code=error
            )
            for each in partitions
        ]
        answered = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult(name="orders", results_by_partition=results)
        self.talk.exchange(asked, AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[answered]), 3)
        return self

    def write(self, base: int, *values: bytes, partition: int = 0, error: int = 0, version: int = 9) -> Producer:
        records = batch(
            *(values or (b"a",)),
            producer_id=self.id,
            producer_epoch=self.epoch,
            base_sequence=base,
            is_transactional=True,
        )
        asked = produce(records, partition=partition)
        asked.transactional_id = self.name
        self.talk.exchange(asked, produced(-1 if error else base, partition=partition, error=error), version)
        return self

    def commit_offsets(self, group: str = "g", *, explicitly: bool = True) -> Producer:
        own: dict[str, Any] = {"transactional_id": self.name, "producer_id": self.id, "producer_epoch": self.epoch}
        if explicitly:
            self.talk.exchange(AddOffsetsToTxnRequest(group_id=group, **own), AddOffsetsToTxnResponse(), 3)
        asked = TxnOffsetCommitRequest(group_id=group, **own)
        self.talk.exchange(asked, TxnOffsetCommitResponse(), 3)
        return self

    def end(self, *, commit: bool = True, error: int = 0, version: int = 3) -> Producer:
        asked = EndTxnRequest(
            transactional_id=self.name, producer_id=self.id, producer_epoch=self.epoch, committed=commit
        )
        answer = EndTxnResponse(error_code=error)
        if version >= 5 and not error:
            answer.producer_id, answer.producer_epoch = self.id, self.epoch + 1
        self.talk.exchange(asked, answer, version)
        if version >= 5 and not error:
            self.epoch += 1
        return self

    def wait(self, seconds: float) -> Producer:
        self.talk.wait(seconds * 1000)
        return self


def marked(producer: int, *, commit: bool = False, at: float = 0) -> Conversation:
    """An administrator that ends a transaction by its marker."""
    one = talk(5, "admin")
    one.wait(at * 1000)
    topic = WriteTxnMarkersRequest.WritableTxnMarkerTopic(name="orders", partition_indexes=[0])
    marker = WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=producer, transaction_result=commit, topics=[topic], coordinator_epoch=3
    )
    return one.exchange(WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse(), 1)


def fetches(*points: tuple[float, int, int], isolation: int = 0, offset: int | None = None) -> Conversation:
    """Fetches at a second, with the last stable offset and the high watermark of each."""
    one = talk(3, "reader")
    before = 0.0
    for second, stable, mark in points:
        one.wait((second - before) * 1000)
        before = second
        at = mark if offset is None else offset
        asked = fetch(0, -1, (0, at), isolation_level=isolation)
        one.exchange(asked, fetched(0, (0, mark, b""), last_stable_offset=stable), 11)
    return one


def left_open(seconds: float, *, timeout: int = 60_000, stable: int | None = None) -> Build:
    """A producer that adds a partition, writes, and does nothing more, while another connection goes on."""

    def build() -> list[Conversation]:
        one = Producer().init(timeout=timeout).add(0).write(10)
        if stable is None:
            return [one.talk, talk(4).wait(seconds * 1000).close()]
        return [one.talk, fetches((seconds, stable, 500))]

    return build


def writing_late(seconds: float, error: int) -> Build:
    """A producer that pauses within a transaction, and then ends it."""

    def build() -> list[Conversation]:
        one = Producer().init().add(0).write(10).wait(seconds)
        return [one.end(error=error).talk]

    return build


def asking_for(timeout: int, error: int) -> Build:
    return lambda: [Producer().init(timeout=timeout, error=error).talk]


def claiming(*who: int, reconnecting: bool = False) -> Build:
    """Producers of one id that initialise themselves one second after the other, each by its number."""

    def build() -> list[Conversation]:
        talks: dict[int, Conversation] = {}
        for turn, number in enumerate(who):
            key, moment = turn if reconnecting else number, START + turn * 1000 * MILLISECOND
            if key not in talks:
                talks[key] = Conversation(client=(f"10.0.0.{number + 1}", 52_000 + key), now=moment).open()
            talks[key].now = max(talks[key].now, moment)
            answer = InitProducerIdResponse(producer_id=7, producer_epoch=turn)
            talks[key].exchange(InitProducerIdRequest(transactional_id="payments"), answer, 4)
        return list(talks.values())

    return build
