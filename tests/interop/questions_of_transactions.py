"""Requests about transactions whose answers two brokers must agree on, wrong ones most of all.

None of them changes a transaction: the transactional id `KNOWN_ID` was initiated once, and is empty. The brokers chose
its producer, so that these questions know only wrong ones. `test_same_transactions.py` has the conversations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.broker.node_requests import batch
from tests.interop.questions import GROUP, NOWHERE, ORDERS

from kafkawire import messages as m

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.messages import Message

KNOWN_ID, UNKNOWN_ID = "same-known", "same-unknown"
NO_PRODUCER = 987_654_321
PATTERNS = (
    "same-.*",
    "same",
    ".*known",
    "[a-z-]+",
    "",
    "(",
    "a{2",
    "[z-a]",
    "(?<!a)b",
    "(a)\\1",
    "same-(un)?known",
    "\\Qx",
)


def initiate(name: str | None, *, timeout: int = 60_000, **fields: Any) -> Message:
    return m.InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=timeout, **fields)


def add(version: int, name: str, *places: tuple[str, int], producer: int = NO_PRODUCER, **fields: Any) -> Message:
    topics: dict[str, list[int]] = {}
    for topic, index in places:
        topics.setdefault(topic, []).append(index)
    listed = [
        m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=indexes)
        for topic, indexes in topics.items()
    ]
    if version < 4:
        return m.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=producer,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=listed,
        )
    one = m.AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
        transactional_id=name, producer_id=producer, producer_epoch=0, topics=listed, **fields
    )
    return m.AddPartitionsToTxnRequest(transactions=[one])


def end(name: str, *, commit: bool = True, producer: int = NO_PRODUCER, epoch: int = 0) -> Message:
    return m.EndTxnRequest(transactional_id=name, producer_id=producer, producer_epoch=epoch, committed=commit)


def add_offsets(name: str, group: str = GROUP) -> Message:
    return m.AddOffsetsToTxnRequest(transactional_id=name, producer_id=NO_PRODUCER, producer_epoch=0, group_id=group)


def commit_offsets(name: str, topic: str = ORDERS, index: int = 0, group: str = GROUP, **fields: Any) -> Message:
    partition = m.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
        partition_index=index, committed_offset=3, committed_metadata=""
    )
    topics = [m.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=topic, partitions=[partition])]
    return m.TxnOffsetCommitRequest(
        transactional_id=name, group_id=group, producer_id=NO_PRODUCER, producer_epoch=0, topics=topics, **fields
    )


def mark(*places: tuple[str, int], producer: int = NO_PRODUCER, epoch: int = 0, **fields: Any) -> Any:
    topics: dict[str, list[int]] = {}
    for topic, index in places:
        topics.setdefault(topic, []).append(index)
    return m.WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=producer,
        producer_epoch=epoch,
        topics=[
            m.WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=topic, partition_indexes=indexes)
            for topic, indexes in topics.items()
        ],
        **fields,
    )


def produce(name: str | None, *, epoch: int = 0, **fields: Any) -> Message:
    data = batch(b"a", producer_id=NO_PRODUCER, producer_epoch=epoch, base_sequence=0, is_transactional=True, **fields)
    part = m.ProduceRequest.PartitionProduceData(index=0, records=data)
    topic = m.ProduceRequest.TopicProduceData(name=ORDERS, partition_data=[part])
    return m.ProduceRequest(transactional_id=name, acks=-1, timeout_ms=10_000, topic_data=[topic])


def describe(*names: str) -> Message:
    return m.DescribeTransactionsRequest(transactional_ids=list(names))


def list_all(version: int, **filters: Any) -> Message:
    return m.ListTransactionsRequest(**filters)


QUESTIONS: dict[str, Callable[[int], Message]] = {
    "a transaction's coordinator": lambda version: (
        m.FindCoordinatorRequest(key=KNOWN_ID, key_type=1)
        if version < 4
        else m.FindCoordinatorRequest(key_type=1, coordinator_keys=[KNOWN_ID, UNKNOWN_ID])
    ),
    "a producer with an id but no epoch": lambda version: initiate(KNOWN_ID, producer_id=5),
    "a producer with an epoch but no id": lambda version: initiate(KNOWN_ID, producer_epoch=5),
    "a producer without a name, with an id but no epoch": lambda version: initiate(None, producer_id=5),
    "a producer without a name, with an id and an epoch": lambda version: initiate(
        None, producer_id=5, producer_epoch=7
    ),
    "a producer with an id that is not its own": lambda version: initiate(
        KNOWN_ID, producer_id=NO_PRODUCER, producer_epoch=0
    ),
    "a producer with an empty name and a bad timeout": lambda version: initiate("", timeout=-1),
    "a producer whose transactions have no time": lambda version: initiate(KNOWN_ID, timeout=0),
    "a producer whose transactions have negative time": lambda version: initiate(KNOWN_ID, timeout=-1),
    "a producer whose transactions last too long": lambda version: initiate(KNOWN_ID, timeout=900_001),
    "a new producer whose transactions last too long": lambda version: initiate(UNKNOWN_ID, timeout=900_001),
    "a producer without a name whose transactions last too long": lambda version: initiate(None, timeout=900_001),
    "add to an unknown transaction": lambda version: add(version, UNKNOWN_ID, (ORDERS, 0)),
    "add for another producer": lambda version: add(version, KNOWN_ID, (ORDERS, 0)),
    "add to an empty name": lambda version: add(version, "", (ORDERS, 0)),
    "add nothing": lambda version: add(version, KNOWN_ID),
    "add a topic that is not there": lambda version: add(version, KNOWN_ID, (ORDERS, 0), (NOWHERE, 0)),
    "add a partition that is not there": lambda version: add(version, KNOWN_ID, (ORDERS, 0), (ORDERS, 99)),
    "add a negative partition": lambda version: add(version, KNOWN_ID, (ORDERS, -1)),
    "add an internal topic": lambda version: add(version, KNOWN_ID, (ORDERS, 0), ("__consumer_offsets", 0)),
    "add an internal topic and one that is not there": lambda version: add(
        version, KNOWN_ID, (NOWHERE, 0), ("__consumer_offsets", 0), (ORDERS, 1)
    ),
    "verify an unknown transaction": lambda version: add(version, UNKNOWN_ID, (ORDERS, 0), **_verify(version)),
    "verify for another producer": lambda version: add(version, KNOWN_ID, (ORDERS, 0), **_verify(version)),
    "verify a partition that is not there": lambda version: add(version, KNOWN_ID, (ORDERS, 99), **_verify(version)),
    "end an unknown transaction": lambda version: end(UNKNOWN_ID),
    "end for another producer": lambda version: end(KNOWN_ID),
    "end with an empty name": lambda version: end(""),
    "abort an unknown transaction": lambda version: end(UNKNOWN_ID, commit=False),
    "end with negative numbers": lambda version: end(KNOWN_ID, producer=-1, epoch=-1),
    "add offsets to an unknown transaction": lambda version: add_offsets(UNKNOWN_ID),
    "add offsets for another producer": lambda version: add_offsets(KNOWN_ID),
    "add offsets with an empty name": lambda version: add_offsets(""),
    "add offsets of no group": lambda version: add_offsets(KNOWN_ID, group=""),
    "commit offsets in an unknown transaction": lambda version: commit_offsets(UNKNOWN_ID),
    "commit offsets for another producer": lambda version: commit_offsets(KNOWN_ID),
    "commit offsets with an empty name": lambda version: commit_offsets(""),
    "commit offsets of no group in a transaction": lambda version: commit_offsets(KNOWN_ID, group=""),
    "commit offsets of a topic that is not there in a transaction": lambda version: commit_offsets(
        KNOWN_ID, topic=NOWHERE
    ),
    "commit offsets of a partition that is not there in a transaction": lambda version: commit_offsets(
        KNOWN_ID, index=99
    ),
    "commit offsets of a member in a transaction": lambda version: commit_offsets(KNOWN_ID, **_member(version)),
    "write no markers": lambda version: m.WriteTxnMarkersRequest(),
    "write a marker to nothing": lambda version: m.WriteTxnMarkersRequest(markers=[mark()]),
    "write a marker to a topic that is not there": lambda version: m.WriteTxnMarkersRequest(
        markers=[mark((NOWHERE, 0), (ORDERS, 0))]
    ),
    "write a marker to a partition that is not there": lambda version: m.WriteTxnMarkersRequest(
        markers=[mark((ORDERS, 99))]
    ),
    "write markers of one producer twice": lambda version: m.WriteTxnMarkersRequest(
        markers=[mark((NOWHERE, 0)), mark((NOWHERE, 1), epoch=1)]
    ),
    "produce in an unknown transaction": lambda version: produce(UNKNOWN_ID),
    "produce for another producer": lambda version: produce(KNOWN_ID),
    "produce transactionally without a name": lambda version: produce(None),
    "produce transactionally with an empty name": lambda version: produce(""),
    "describe a transaction that is not there": lambda version: describe(UNKNOWN_ID),
    "describe an empty name": lambda version: describe("", UNKNOWN_ID),
    "describe nothing": lambda version: describe(),
    "transactions in states that are none": lambda version: list_all(
        version, state_filters=["Ongoing", "Odd", "ongoing", ""]
    ),
    "transactions in a state that nobody is in": lambda version: list_all(version, state_filters=["PrepareCommit"]),
    "transactions of a producer that is not there": lambda version: list_all(
        version, producer_id_filters=[NO_PRODUCER]
    ),
    "transactions of a negative producer": lambda version: list_all(version, producer_id_filters=[-1]),
}
for _pattern in PATTERNS:
    QUESTIONS[f"transactions by {_pattern!r}"] = lambda version, pattern=_pattern: list_all(  # type: ignore[misc]
        version,
        state_filters=["Empty"],
        **({"transactional_id_pattern": pattern} if version >= 2 else {"producer_id_filters": [NO_PRODUCER]}),
    )


def _verify(version: int) -> dict[str, bool]:
    return {"verify_only": True} if version >= 4 else {}


def _member(version: int) -> dict[str, Any]:
    return {"member_id": "m", "generation_id_or_member_epoch": 3} if version >= 3 else {}
