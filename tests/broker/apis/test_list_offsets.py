"""ListOffsets: offsets by time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import ask, batch

from kafkawire.messages import ListOffsetsRequest, ListOffsetsResponse
from kafkawire.messages._registry import api
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker._node import Node


@pytest.fixture
def filled(node: Node) -> Node:
    for timestamp in (100, 300, 200):
        node.append("orders", 0, batch(b"a", b"b", timestamp=timestamp))
    return node


def find(
    node: Node, timestamp: int, version: int = 11, **fields: Any
) -> ListOffsetsResponse.ListOffsetsPartitionResponse:
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    if not version:
        wanted.max_num_offsets = 9
    topic = ListOffsetsRequest.ListOffsetsTopic(name="orders", partitions=[wanted])
    response = ask(node, ListOffsetsRequest(replica_id=-1, topics=[topic], **fields), version)
    return response.topics[0].partitions[0]  # type: ignore[no-any-return]  # read back from bytes


@pytest.mark.parametrize(
    ("timestamp", "offset", "found"),
    [(-1, 6, -1), (-2, 0, -1), (-3, 2, 300), (-4, 0, -1), (-5, -1, -1), (100, 0, 100), (101, 2, 300), (301, -1, -1)],
)
def test_a_timestamp_selects_an_offset(filled: Node, timestamp: int, offset: int, found: int) -> None:
    answered = find(filled, timestamp)
    assert (answered.error_code, answered.offset, answered.timestamp) == (ErrorCode.NONE, offset, found)


@pytest.mark.parametrize("version", [v for v in api("ListOffsets").versions if v])
def test_every_version_knows_the_ends(filled: Node, version: int) -> None:
    assert [find(filled, timestamp, version).offset for timestamp in (-1, -2)] == [6, 0]


@pytest.mark.parametrize(("timestamp", "version"), [(-3, 0), (-9, 0), (-3, 6), (-4, 7), (-5, 8), (-6, 10), (-7, 11)])
def test_a_value_newer_than_the_version_is_refused(filled: Node, timestamp: int, version: int) -> None:
    assert find(filled, timestamp, version).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_the_oldest_version_lists_segments_latest_first(filled: Node) -> None:
    filled.log("orders", 0).roll()
    filled.append("orders", 0, batch(b"c"))
    assert find(filled, -1, 0).old_style_offsets == [7, 6, 0]
    assert find(filled, -2, 0).old_style_offsets == [0]


def test_readers_of_committed_records_get_the_last_stable_offset(filled: Node) -> None:
    open_transaction = batch(b"a", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    filled.log("orders", 0).append(open_transaction)
    assert find(filled, -1).offset == 7
    assert find(filled, -1, isolation_level=1).offset == 6


def test_a_partition_asked_for_twice_is_refused(filled: Node) -> None:
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-1)
    topic = ListOffsetsRequest.ListOffsetsTopic(name="orders", partitions=[wanted, wanted])
    response = ask(filled, ListOffsetsRequest(topics=[topic]), 5)
    assert [each.error_code for each in response.topics[0].partitions] == [ErrorCode.INVALID_REQUEST]
