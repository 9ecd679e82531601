"""Past bugs of offsets that are committed with transactions, as scenarios through the requests of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.broker.node_requests import ask
from tests.broker.transactions.producer import (
    OLD,
    TransactionalProducer,
    committed,
)
from tests.broker.transactions.scenario import (
    LEVELS,
    NONE,
    OLD_EPOCH,
    ORDERS,
    STATE,
    producer_of,
)

from kafkawire.messages import (
    DeleteGroupsRequest,
    OffsetCommitRequest,
)
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node


def commit_plainly(node: Node, offset: int, group: str = "g") -> None:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_metadata=""
    )
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(name="orders", partitions=[partition])
    answer = ask(node, OffsetCommitRequest(group_id=group, topics=[topic]), 8)
    assert answer.topics[0].partitions[0].error_code == NONE


class TestOffsets:
    UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT

    def commit(self, producer: TransactionalProducer, offset: int, group: str = "g") -> None:
        if producer.level == OLD:
            assert producer.add_offsets(group) == NONE
        assert producer.commit_offsets({ORDERS: offset}, group) == NONE

    @LEVELS
    @pytest.mark.parametrize("commit", [True, False])
    def test_they_are_unstable_until_the_transaction_ends(self, node: Node, level: int, commit: bool) -> None:
        commit_plainly(node, 3)
        producer = producer_of(node, level=level)
        self.commit(producer, 5)
        assert (committed(node), committed(node, stable=False)) == (self.UNSTABLE, 3)
        assert producer.end(commit=commit) == NONE
        assert committed(node) == (5 if commit else 3)

    @LEVELS
    def test_13_a_later_plain_commit_wins(self, node: Node, open_node: Callable[..., Node], level: int) -> None:
        producer = producer_of(node, level=level)
        self.commit(producer, 5)
        commit_plainly(node, 9)
        assert committed(node) == self.UNSTABLE
        assert producer.end() == NONE
        assert committed(node) == 9
        again = open_node()
        again.start()
        assert committed(again) == 9

    @pytest.mark.parametrize("first", [0, 1])
    def test_13_of_two_producers_the_later_record_wins(
        self, node: Node, open_node: Callable[..., Node], first: int
    ) -> None:
        producers = [producer_of(node, "a"), producer_of(node, "b")]
        for number, producer in enumerate(producers):
            self.commit(producer, number + 1)
        assert producers[first].end() == NONE
        assert (committed(node), committed(node, stable=False)) == (self.UNSTABLE, first + 1)
        assert producers[1 - first].end() == NONE
        assert committed(node) == 2
        again = open_node()
        again.start()
        assert committed(again) == 2

    def test_13_one_marker_is_for_all_groups_of_the_partition(self, open_node: Callable[..., Node]) -> None:
        node = open_node(offsets_topic_num_partitions="1")
        node.create_topic("orders", 1)
        producer = producer_of(node)
        self.commit(producer, 1, "g")
        self.commit(producer, 2, "h")
        assert producer.end() == NONE
        assert (committed(node, "g"), committed(node, "h")) == (1, 2)

    def test_13_a_deleted_group_does_not_come_back(self, node: Node, open_node: Callable[..., Node]) -> None:
        producer = producer_of(node)
        commit_plainly(node, 3)
        self.commit(producer, 5)
        assert ask(node, DeleteGroupsRequest(groups_names=["g"])).results[0].error_code == NONE
        assert committed(node) == -1
        assert producer.end() == NONE
        assert committed(node) == -1
        again = open_node()
        again.start()
        assert committed(again) == -1

    @LEVELS
    @pytest.mark.parametrize("commit", [True, False])
    def test_13_they_stay_pending_over_a_restart(
        self, node: Node, open_node: Callable[..., Node], level: int, commit: bool
    ) -> None:
        producer = producer_of(node, level=level)
        commit_plainly(node, 3)
        self.commit(producer, 5)
        again = producer.node = open_node()
        again.start()
        assert (committed(again), committed(again, stable=False)) == (self.UNSTABLE, 3)
        assert producer.end(commit=commit) == NONE
        assert committed(again) == (5 if commit else 3)

    def test_14_an_abort_leaves_the_committed_offset(self, node: Node) -> None:
        producer = producer_of(node)
        self.commit(producer, 5)
        assert producer.end() == NONE
        self.commit(producer, 7)
        assert producer.end(commit=False) == NONE
        assert committed(node) == 5

    @pytest.mark.parametrize(("version", "expected"), [(0, STATE), (3, STATE), (4, ErrorCode.TRANSACTION_ABORTABLE)])
    def test_a_group_that_was_not_added_is_refused(self, node: Node, version: int, expected: ErrorCode) -> None:
        producer = producer_of(node, level=OLD)
        assert producer.commit_offsets({ORDERS: 5}, version=version) == expected

    def test_a_fenced_producer_commits_nothing(self, node: Node) -> None:
        producer = producer_of(node)
        producer.epoch += 1
        assert producer.commit_offsets({ORDERS: 5}) == OLD_EPOCH
        assert committed(node) == -1

    def test_the_member_is_checked(self, node: Node) -> None:
        producer = producer_of(node)
        assert producer.commit_offsets({ORDERS: 5}, generation=3, member="m") == ErrorCode.ILLEGAL_GENERATION
        commit_plainly(node, 1)
        assert producer.commit_offsets({ORDERS: 5}, generation=3, member="m") == ErrorCode.UNKNOWN_MEMBER_ID
        assert producer.commit_offsets({ORDERS: 5}) == NONE
