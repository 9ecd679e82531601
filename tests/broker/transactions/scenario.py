"""The steps of scenarios with transactions, through the requests of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.broker.node_requests import ask
from tests.broker.transactions.producer import (
    NEW,
    OLD,
    TransactionalProducer,
)

from kafkawire.messages import (
    FetchRequest,
)
from kafkawire.messages.errors import ErrorCode
from kafkawire.records import read_batches

if TYPE_CHECKING:
    from kafkawire.broker._node import Node

NONE, CONCURRENT = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS
FENCED, OLD_EPOCH = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH
STATE, MAPPING, ORDER = (
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
)
ORDERS = ("orders", 0)
LEVELS = pytest.mark.parametrize("level", [OLD, NEW])


def producer_of(node: Node, name: str = "t", *, level: int = NEW) -> TransactionalProducer:
    producer = TransactionalProducer(node, name, level=level)
    assert producer.init() == NONE
    return producer


async def start(node: Node) -> None:
    """Start a node's coordinators on a loop."""
    node.start()


def write(producer: TransactionalProducer, *values: bytes, partition: int = 0) -> None:
    """Produce into a partition of the transaction, which the old protocol adds first."""
    if producer.level == OLD:
        assert producer.add("orders", partition) == NONE
    assert producer.produce(*values, partition=partition) == NONE


def visible(node: Node, partition: int = 0) -> list[bytes]:
    """The values that a reader of committed records sees."""
    fetched = FetchRequest.FetchPartition(
        partition=partition, fetch_offset=node.log("orders", partition).log_start_offset, partition_max_bytes=1 << 20
    )
    topic = FetchRequest.FetchTopic(topic="orders", topic_id=node.topics.get("orders").id, partitions=[fetched])
    request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, isolation_level=1, topics=[topic])
    answer = ask(node, request).responses[0].partitions[0]
    assert answer.error_code == NONE
    aborted = sorted(
        ((each.first_offset, each.producer_id) for each in answer.aborted_transactions or ()), reverse=True
    )
    skipped: set[int] = set()
    found = []
    for each in read_batches(bytes(answer.records.read() if hasattr(answer.records, "read") else answer.records)):
        while aborted and aborted[-1][0] <= each.base_offset:
            skipped.add(aborted.pop()[1])
        if each.is_control:
            skipped.discard(each.producer_id)
        elif not (each.is_transactional and each.producer_id in skipped):
            found += [bytes(record.value or b"") for record in each.records()]
    return found


def stable(node: Node, partition: int = 0) -> int:
    return node.log("orders", partition).last_stable_offset
