"""Past bugs of Kafka and of its relatives, as scenarios through the requests of a node."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.broker.node_requests import ask, batch
from tests.broker.transactions.producer import (
    NEW,
    OLD,
    TransactionalProducer,
    open_producers,
    pass_time,
    write_marker,
)
from tests.broker.transactions.scenario import (
    CONCURRENT,
    FENCED,
    LEVELS,
    MAPPING,
    NONE,
    OLD_EPOCH,
    ORDER,
    STATE,
    producer_of,
    stable,
    start,
    visible,
    write,
)

from kafkawire.broker.transactions.initiation import Initiation
from kafkawire.broker.transactions.states import State
from kafkawire.broker.transactions.transaction import Transaction
from kafkawire.messages import (
    ProduceRequest,
    UpdateFeaturesRequest,
)
from kafkawire.messages.errors import ErrorCode, KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node
    from kafkawire.testing.manual_clock import ManualClock


@pytest.mark.parametrize(("version", "expected"), [(10, STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)])
def test_1_a_late_batch_after_the_end_of_its_transaction_is_not_appended(
    node: Node, version: int, expected: ErrorCode
) -> None:
    producer = producer_of(node, level=OLD)
    write(producer, b"a")
    assert producer.end(commit=False) == NONE
    end = node.log("orders", 0).end_offset
    assert producer.produce(b"late", version=version) == expected
    assert (node.log("orders", 0).end_offset, stable(node)) == (end, end)
    assert open_producers(node) == {}


def test_2_a_late_batch_does_not_join_the_next_transaction_of_the_new_protocol(node: Node) -> None:
    producer = producer_of(node)
    write(producer, b"a")
    before = producer.epoch
    assert producer.end(commit=False) == NONE
    write(producer, b"b")
    assert producer.produce(b"late", epoch=before, sequence=1) == OLD_EPOCH
    assert producer.end() == NONE
    assert visible(node) == [b"b"]


def test_2_a_late_batch_of_the_old_protocol_joins_only_a_partition_that_was_added_again(node: Node) -> None:
    producer = producer_of(node, level=OLD)
    write(producer, b"a")
    assert producer.end(commit=False) == NONE
    assert producer.add("orders", 1) == NONE
    assert producer.produce(b"late", version=10) == STATE
    assert producer.add("orders", 0) == NONE
    assert producer.produce(b"late", version=10) == NONE


@pytest.mark.parametrize("commit", [True, False])
def test_3_a_delayed_end_does_not_end_the_next_transaction(node: Node, commit: bool) -> None:
    producer = producer_of(node)
    write(producer, b"1")
    first = producer.epoch
    assert producer.end(commit=commit) == NONE
    write(producer, b"2")
    second = producer.epoch
    assert producer.end(commit=commit, epoch=first) == FENCED
    assert (producer.state, producer.epoch) == ("Ongoing", second)
    write(producer, b"3")
    assert producer.end(commit=not commit) == NONE
    assert visible(node) == ([b"1"] if commit else [b"2", b"3"])


@LEVELS
def test_4_a_partition_that_was_never_added_gets_nothing(node: Node, level: int) -> None:
    producer = producer_of(node, level=level)
    assert producer.produce(b"a", version=11) == ErrorCode.TRANSACTION_ABORTABLE
    assert producer.produce(b"a", version=9) == STATE
    assert node.log("orders", 0).end_offset == 0
    assert open_producers(node) == {}


@pytest.mark.parametrize("epoch", [32765, 32766])
@pytest.mark.parametrize("level", [0, 2])
def test_6_fences_at_the_last_epochs_give_a_new_id(node: Node, clock: ManualClock, epoch: int, level: int) -> None:
    producer = exhausted(node, epoch, level)
    write(producer, b"a")
    old_id = producer.id
    successor = TransactionalProducer(node)
    assert successor.init() == CONCURRENT
    assert successor.init() == NONE
    assert 0 <= successor.epoch <= 32766
    assert successor.id != old_id or epoch == 32765
    assert producer.end(commit=False, epoch=epoch) in (NONE, FENCED, MAPPING)
    write(successor, b"b")
    assert producer.end(commit=False, epoch=epoch, producer_id=old_id, version=5) in (FENCED, MAPPING)
    assert successor.end() == NONE
    assert visible(node) == [b"b"]


def exhausted(node: Node, epoch: int, level: int) -> TransactionalProducer:
    """A producer whose id has used up its epochs."""
    producer = producer_of(node, level=level)
    entry = node.transactions.find("t")
    assert entry is not None
    if level == OLD:
        set_level(node, 0)
    entry.current = Transaction("t", producer.id, epoch, 60_000, State.EMPTY, updated_at=node.clock.now())
    producer.epoch = epoch
    return producer


def set_level(node: Node, level: int) -> None:
    if node.transactions.level == level:
        return
    update = UpdateFeaturesRequest.FeatureUpdateKey(
        feature="transaction.version", max_version_level=level, upgrade_type=1 if level else 3
    )
    assert ask(node, UpdateFeaturesRequest(feature_updates=[update])).error_code == NONE
    assert node.transactions.level == level


def test_7_the_end_at_the_last_epoch_answers_a_new_id_which_is_usable_at_once(node: Node) -> None:
    producer = exhausted(node, 32766, NEW)
    write(producer, b"a")
    old_id = producer.id
    assert producer.end() == NONE
    assert (producer.id != old_id, producer.epoch) == (True, 0)
    write(producer, b"b")
    assert producer.end() == NONE
    assert visible(node) == [b"a", b"b"]
    assert producer.end(producer_id=old_id, epoch=32766) == MAPPING


def test_7_the_new_id_waits_for_the_markers_of_the_old_one(node: Node) -> None:
    producer = exhausted(node, 32766, NEW)
    write(producer, b"a")
    entry = node.transactions.find("t")
    assert entry is not None
    entry.pending = State.COMPLETE_COMMIT
    assert producer.produce(b"b", producer_id=producer.id + 1, epoch=0, sequence=0, partition=1, version=11) == MAPPING
    assert ask_with_time(node, producer) == CONCURRENT


def ask_with_time(node: Node, producer: TransactionalProducer) -> int:
    """Produce with the next id; the inner retry ends because the settings allow no time."""
    object.__setattr__(node.transactions.settings, "retry_backoff_max_ms", 0)
    return producer.produce(b"b", producer_id=producer.id + 1, epoch=0, sequence=0, partition=1)


@LEVELS
@pytest.mark.parametrize("commit", [True, False])
def test_8_a_crash_between_markers_and_completion_is_finished_at_the_next_start(
    node: Node, open_node: Callable[..., Node], clock: ManualClock, level: int, commit: bool
) -> None:
    producer = producer_of(node, level=level)
    write(producer, b"a")
    write(producer, b"b", partition=1)
    entry = node.transactions.find("t")
    assert entry is not None
    fail_completion(node)
    assert producer.end(commit=commit) == NONE
    assert entry.pending is not None
    node = open_node()
    asyncio.run(start(node))
    producer.node = node
    assert producer.state == ("PrepareCommit" if commit else "PrepareAbort")
    assert producer.init() == CONCURRENT
    pass_time(node, clock, 1)
    assert producer.state == ("CompleteCommit" if commit else "CompleteAbort")
    assert (visible(node), visible(node, 1)) == (([b"a"], [b"b"]) if commit else ([], []))
    write(producer, b"c")
    assert producer.end() == NONE


def fail_completion(node: Node) -> None:
    """Let the disk refuse the record of the next completion."""
    log = node.transactions._log
    real = log.write

    def write(change, level, now):  # type: ignore[no-untyped-def]
        if change.target is not None and change.target.state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT):
            raise KafkaStorageError("full")
        return real(change, level, now)

    log.write = write  # type: ignore[method-assign]


def test_9_a_marker_of_an_earlier_transaction_does_not_end_an_open_one(node: Node) -> None:
    producer = producer_of(node)
    write(producer, b"a")
    assert producer.end() == NONE
    write(producer, b"b")
    assert write_marker(node, (producer.id, producer.epoch), level=2) == OLD_EPOCH
    assert write_marker(node, (producer.id, producer.epoch - 1), level=0) == OLD_EPOCH
    assert open_producers(node) == {producer.id: 2}
    assert write_marker(node, (producer.id, producer.epoch), level=0) == NONE
    assert open_producers(node) == {}


@LEVELS
@pytest.mark.parametrize("commit", [True, False])
def test_10_an_end_whose_answer_was_lost_is_repeated(node: Node, level: int, commit: bool) -> None:
    producer = producer_of(node, level=level)
    write(producer, b"a")
    epoch = producer.epoch
    assert producer.end(commit=commit) == NONE
    after = producer.id, producer.epoch
    for _ in range(3):
        assert producer.end(commit=commit, epoch=epoch) == NONE
        assert (producer.id, producer.epoch) == after
        assert producer.end(commit=not commit, epoch=epoch) == STATE
    assert visible(node) == ([b"a"] if commit else [])


def test_11_an_abort_when_nothing_arrived_keeps_the_next_transaction_apart(node: Node) -> None:
    producer = producer_of(node)
    epoch = producer.epoch
    assert producer.produce(b"a", sequence=3) == ORDER  # added to the transaction, but not appended
    assert producer.state == "Ongoing"
    assert producer.end(commit=False) == NONE
    assert producer.end(commit=False) == NONE
    assert producer.epoch == epoch + 2
    write(producer, b"b")
    assert producer.end() == NONE
    assert visible(node) == [b"b"]


def test_12_the_level_changes_between_transactions(node: Node) -> None:
    producer = producer_of(node, level=OLD)
    set_level(node, 0)
    write(producer, b"a")
    set_level(node, 2)
    assert producer.end() == NONE
    assert producer.init(producer_id=producer.id, epoch=producer.epoch) == NONE
    producer.level = NEW
    write(producer, b"b")
    set_level(node, 0)
    assert producer.end() == NONE
    assert producer.init(producer_id=producer.id, epoch=producer.epoch) == NONE
    producer.level = OLD
    write(producer, b"c")
    assert producer.end() == NONE
    assert visible(node) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_15_readers_stop_before_the_earliest_open_transaction(node: Node, order: tuple[int, ...]) -> None:
    producers = [producer_of(node, name) for name in "abc"]
    for number, producer in enumerate(producers):
        write(producer, f"{number}".encode())
    node.append("orders", 0, batch(b"plain"))
    ends = {0: True, 1: False}
    for number in order:
        if number in ends:
            assert producers[number].end(commit=ends[number]) == NONE
            still_open = [each for each in range(3) if each == 2 or order.index(each) > order.index(number)]
            assert stable(node) == min(still_open)
    assert stable(node) == 2
    assert visible(node) == [b"0"]
    node.log("orders", 0).compact(force=True)
    assert visible(node) == [b"0"]
    assert producers[2].end() == NONE
    assert visible(node) == [b"0", b"2", b"plain"]


def test_16_an_expired_id_is_unknown_and_starts_again(open_node: Callable[..., Node], clock: ManualClock) -> None:
    node = open_node(transaction_abort_timed_out_transaction_cleanup_interval_ms="600000000")
    node.create_topic("orders", 1)
    asyncio.run(start(node))
    producer = producer_of(node)
    write(producer, b"a")
    assert producer.end() == NONE
    old_id = producer.id
    pass_time(node, clock, 604_800_000 + 3_600_000)
    assert producer.described.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert producer.end(commit=False) == MAPPING
    assert producer.init() == NONE
    assert (producer.id != old_id, producer.epoch) == (True, 0)
    assert old_id in node.log("orders", 0).producers.entries


def test_17_of_two_producers_that_start_at_once_one_waits_and_gets_the_higher_epoch(node: Node) -> None:
    first, second = producer_of(node, "other"), TransactionalProducer(node)
    first.name = "t"
    outcome = node.transactions._coordinator.initiate(Initiation("t", 1000), node.clock.now())
    assert outcome.change is not None
    assert second.init() == CONCURRENT
    node.transactions._coordinator.written(outcome.change)
    assert second.init() == NONE
    assert second.epoch == outcome.epoch + 1
    first.id, first.epoch = outcome.producer_id, outcome.epoch
    assert first.add() == FENCED


@LEVELS
def test_a_transaction_that_is_open_too_long_is_aborted_and_its_producer_fenced(
    node: Node, clock: ManualClock, level: int
) -> None:
    asyncio.run(start(node))
    set_level(node, level)
    producer = producer_of(node, level=level)
    write(producer, b"a")
    epoch = producer.epoch
    pass_time(node, clock, 60_000)
    assert producer.state == "Ongoing"
    pass_time(node, clock, 10_000)
    assert (producer.state, producer.described.producer_epoch) == ("CompleteAbort", epoch + 1)
    assert stable(node) == node.log("orders", 0).end_offset
    assert producer.produce(b"late") == OLD_EPOCH
    late = producer.end(commit=True)
    assert late == (STATE if level == NEW else FENCED)
    assert visible(node) == []


def test_two_producers_in_one_request_are_refused(node: Node) -> None:
    producer = producer_of(node)
    data = [
        batch(b"a", producer_id=producer.id, producer_epoch=epoch, base_sequence=0, is_transactional=True)
        for epoch in (0, 1)
    ]
    topic = ProduceRequest.TopicProduceData(
        name="orders",
        topic_id=node.topics.get("orders").id,
        partition_data=[ProduceRequest.PartitionProduceData(index=i, records=each) for i, each in enumerate(data)],
    )
    answer = ask(node, ProduceRequest(transactional_id="t", acks=-1, timeout_ms=1000, topic_data=[topic]))
    assert [each.error_code for each in answer.responses[0].partition_responses] == [MAPPING, MAPPING]
    assert node.log("orders", 0).end_offset == 0


def test_a_producer_unknown_to_the_partition_starts_at_sequence_0_in_the_new_protocol(node: Node) -> None:
    new, old = producer_of(node, "new"), producer_of(node, "old", level=OLD)
    assert new.produce(b"a", sequence=1) == ORDER
    assert new.produce(b"a", sequence=0) == NONE
    assert old.add() == NONE
    assert old.produce(b"a", sequence=7) == NONE


def test_a_later_batch_waits_for_an_earlier_one_whose_verification_failed(node: Node) -> None:
    producer = producer_of(node, level=OLD)
    assert producer.add() == NONE
    entry = node.transactions.find("t")
    assert entry is not None
    before = entry.current
    entry.current = Transaction("t", producer.id, producer.epoch, 1000, State.PREPARE_COMMIT)
    assert producer.produce(b"a", sequence=0) == ErrorCode.NOT_ENOUGH_REPLICAS
    entry.current = before
    assert producer.produce(b"b", sequence=1) == ORDER
    assert producer.produce(b"a", sequence=0) == NONE
    assert producer.produce(b"b", sequence=1) == NONE


def test_without_verification_the_old_protocol_needs_no_added_partition(open_node: Callable[..., Node]) -> None:
    node = open_node(transaction_partition_verification_enable="false")
    node.create_topic("orders", 1)
    producer = producer_of(node, level=OLD)
    assert producer.produce(b"a") == NONE
    assert open_producers(node) == {producer.id: 0}
