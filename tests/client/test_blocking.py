"""The clients with plain calls."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import signal
import threading
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.topics import until

import kafkawire.client
from kafkawire.client import ConsumerRecord, RebalanceListener, TopicPartition, blocking
from kafkawire.client._admin.types import NewTopic
from kafkawire.client._cluster.background_loop import SHARED
from kafkawire.client.blocking import Admin, Consumer, Producer
from kafkawire.client.errors import (
    ClientError,
    ClosedError,
    ConnectionLostError,
    RequestTimeoutError,
    UnknownPartitionError,
)
from kafkawire.messages import ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client.topics import Topics

    from kafkawire.client._produce.results import Delivery


@pytest.fixture
def topic(broker: Topics, request: pytest.FixtureRequest) -> str:
    return broker.create_topic(request.node.name.replace("[", ".").replace("]", ""), 2)


def records_of(broker: Topics, topic: str) -> int:
    with consumer_of(broker) as consumer:
        return sum(consumer.end_offsets([TopicPartition(topic, number) for number in range(2)]).values())


def consumer_of(broker: Topics, *topics: str, **options: Any) -> Consumer:
    settings = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 50, **options}
    return Consumer(*topics, bootstrap_servers=broker.bootstrap, **settings)


def test_sent_records_are_received(broker: Topics, topic: str) -> None:
    with Producer(bootstrap_servers=broker.bootstrap) as producer:
        futures = [producer.send(topic, b"%d" % number, partition=1) for number in range(2000)]
        assert producer.send_and_wait(topic, b"x", partition=0).offset == 0
        producer.flush()
        assert [future.result(0).offset for future in futures] == list(range(2000))
        assert producer.partitions_for(topic) == {0, 1}
    with consumer_of(broker) as consumer:
        consumer.assign([(topic, 1)])
        numbers = []
        for record in consumer:
            numbers.append(int(record.value))
            if len(numbers) == 2000:
                break
        assert numbers == list(range(2000))
        assert consumer.position(TopicPartition(topic, 1)) == 2000


def test_closing_sends_what_is_left(broker: Topics, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 60_000})
    future = producer.send(topic, b"last")
    producer.close()
    assert future.result(0).offset == 0
    with pytest.raises(ClosedError):
        producer.send(topic, b"too late")
    producer.close()


def test_a_client_ends_where_another_loop_runs(broker: Topics, topic: str) -> None:
    """As in a notebook, whose cells run inside a loop."""

    async def cell() -> int:
        with Producer(bootstrap_servers=broker.bootstrap) as producer:
            return int(producer.send_and_wait(topic, b"x").offset)

    assert asyncio.run(cell()) == 0


def test_a_record_that_cannot_be_taken_says_so_in_its_future(broker: Topics, topic: str) -> None:
    with Producer(bootstrap_servers=broker.bootstrap) as producer, pytest.raises(UnknownPartitionError):
        producer.send(topic, b"x", partition=9).result(60)


def test_the_position_follows_the_loop_record_by_record(broker: Topics, topic: str) -> None:
    broker.fill(topic, 100, partition=0)
    with consumer_of(broker, topic, group_id="blocking") as consumer:
        for record in consumer:
            if record.offset == 41:
                break
        assert consumer.position(TopicPartition(topic, 0)) == 42
    with consumer_of(broker, topic, group_id="blocking") as consumer:
        assert next(iter(consumer)).offset == 42


def test_a_seek_drops_what_the_loop_had_taken(broker: Topics, topic: str) -> None:
    broker.fill(topic, 100, partition=0)
    with consumer_of(broker) as consumer:
        consumer.assign([(topic, 0)])
        records = iter(consumer)
        assert [next(records).offset for _ in range(3)] == [0, 1, 2]
        consumer.seek(TopicPartition(topic, 0), 90)
        assert next(records).offset == 90
        consumer.seek_to_beginning()
        assert next(records).offset == 0


def test_a_loop_hands_out_nothing_of_what_a_rebalance_took_and_nothing_twice(broker: Topics, topic: str) -> None:
    for partition in (0, 1):
        broker.fill(topic, 200, partition=partition)
    settings = {"group_id": topic, "partition_assignment_strategy": "range", "heartbeat_interval_ms": 30}
    with consumer_of(broker, topic, **settings) as one:
        records = iter(one)
        seen = [next(records) for _ in range(50)]
        with consumer_of(broker, topic, **settings) as other:
            until(lambda: len(one.assignment()) == len(other.assignment()) == 1)
            (kept,) = one.assignment()
            last = max((record.offset for record in seen if record.partition == kept.partition), default=-1)
            rest = [next(records) for _ in range(199 - last)]
            assert [(record.partition, record.offset) for record in rest] == [
                (kept.partition, offset) for offset in range(last + 1, 200)
            ]
            one.commit()
            assert one.committed(kept) == 200


def test_a_loop_hands_out_nothing_of_a_partition_that_is_paused(broker: Topics, topic: str) -> None:
    for partition in (0, 1):
        broker.fill(topic, 20, partition=partition)
    with consumer_of(broker, topic) as consumer:
        records = iter(consumer)
        first = next(records)
        paused = TopicPartition(topic, first.partition)
        consumer.pause(paused)
        assert [next(records).partition for _ in range(20)] == [1 - first.partition] * 20
        consumer.resume(paused)
        assert [next(records).offset for _ in range(19)] == list(range(1, 20))


def test_records_that_a_loop_left_are_returned_by_the_next_call(broker: Topics, topic: str) -> None:
    for partition in (0, 1):
        broker.fill(topic, 50, partition=partition)
    first, second = (TopicPartition(topic, number) for number in (0, 1))

    def left_after(consumer: Consumer, step: Callable[[], object]) -> set[tuple[int, int]]:
        """The records after a loop was left at its first record and another call was made."""
        consumer.seek(first, 0)
        consumer.seek(second, 0)
        taken = [next(iter(consumer)), step()]
        seen = {(record.partition, record.offset) for record in taken if isinstance(record, ConsumerRecord)}
        while len(seen) < 100 and (found := consumer.getmany(timeout_ms=10_000, max_records=7)):
            seen |= {(record.partition, record.offset) for records in found.values() for record in records}
        return seen

    everything = {(partition, offset) for partition in (0, 1) for offset in range(50)}
    with consumer_of(broker) as consumer:
        consumer.assign([first, second])
        assert left_after(consumer, lambda: None) == everything
        assert left_after(consumer, lambda: consumer.seek_to_beginning(second)) == everything
        assert left_after(consumer, lambda: consumer.assign([second, first])) == everything
        assert left_after(consumer, consumer.getone) == everything


@pytest.mark.parametrize("name", ["Producer", "Consumer", "Admin"])
def test_plain_clients_have_what_the_others_have(name: str) -> None:
    def public(kind: type) -> set[str]:
        return {each for each in dir(kind) if not each.startswith("_")}

    of_the_loop = {"start", "stop", "take", "wait", "run_of", "known_topics"}
    assert public(getattr(kafkawire.client, name)) - of_the_loop == public(getattr(blocking, name)) - {"close"}


def test_many_records_one_record_and_columns(broker: Topics, topic: str) -> None:
    broker.fill(topic, 100, partition=0)
    with consumer_of(broker, topic) as consumer:
        assert consumer.getone().offset == 0
        place = TopicPartition(topic, 0)
        assert len(consumer.getmany(timeout_ms=60_000, max_records=9)[place]) == 9
        consumer.seek(place, 50)
        rows = 0
        for batch in consumer.arrow(["offset"], timeout_ms=60_000):
            rows += batch.num_rows
            if rows >= 50:
                break
        assert rows == 50
        assert list(consumer.arrow(["offset"], timeout_ms=60)) == []
        assert consumer.end_offsets([place]) == {place: 100}
        assert consumer.assignment() == {place, TopicPartition(topic, 1)}


def test_a_listener_may_call_the_consumer_and_wait(broker: Topics, topic: str) -> None:
    broker.fill(topic, 10)
    first = TopicPartition(topic, 0)
    positions: list[int] = []
    with consumer_of(broker, group_id="listening", enable_auto_commit=False) as consumer:

        class Listener(RebalanceListener):
            def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
                positions.append(consumer.position(first))
                consumer.seek(first, 7)

            def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
                consumer.commit()

        consumer.subscribe([topic], listener=Listener())
        assert [int(consumer.getone().value) for _ in range(2)] == [7, 8]
    assert positions == [0]
    with consumer_of(broker, group_id="listening") as consumer:
        assert consumer.committed(first) == 9


def test_a_callback_that_fails_does_not_stop_the_other_callbacks(
    broker: Topics, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Delivery) -> None:
        raise ZeroDivisionError("the application's")

    with Producer(bootstrap_servers=broker.bootstrap, linger_ms=60_000) as producer:
        deliveries = [producer.send(topic, b"x", partition=0) for _ in range(5)]
        deliveries[1].add_done_callback(fail)
        producer.flush()
        assert [delivery.result(60).offset for delivery in deliveries] == list(range(5))
    assert "a callback of a delivery failed" in caplog.messages


def test_a_callback_may_send_but_not_wait_for_itself(broker: Topics, topic: str) -> None:
    broker.create_topic(f"{topic}-2")
    errors: list[ClientError] = []
    sent: list[Delivery] = []
    done = threading.Event()
    with Producer(bootstrap_servers=broker.bootstrap) as producer:

        def go_on(_: Delivery) -> None:
            sent.append(producer.send(f"{topic}-2", b"from a topic that was not known before"))
            try:
                producer.flush()
            except ClientError as error:
                errors.append(error)
            done.set()

        producer.send(topic, b"first").add_done_callback(go_on)
        assert done.wait(60)
        assert sent[0].result(60).offset == 0
    assert "would deadlock" in str(errors[0])


def test_a_topic_that_does_not_come_keeps_nobody_else_waiting(broker: Topics, topic: str) -> None:
    with Producer(bootstrap_servers=broker.bootstrap, max_block_ms=60_000) as patient:
        stuck = threading.Thread(target=patient.send, args=("made-late", b"x"))
        stuck.start()
        assert patient.send_and_wait(topic, b"quick", partition=0).offset == 0
        assert stuck.is_alive()
        broker.create_topic("made-late")
        stuck.join(60)
        assert not stuck.is_alive()
    with Producer(bootstrap_servers=broker.bootstrap, max_block_ms=50) as hasty:
        deliveries = [hasty.send("never-made", b"x") for _ in range(2)]
        assert all(isinstance(each.exception(60), RequestTimeoutError) for each in deliveries)


def test_a_consumer_closed_by_another_thread_ends_its_loop_and_refuses_its_calls(broker: Topics, topic: str) -> None:
    ends: list[object] = []
    began = threading.Barrier(3)

    def loop(consumer: Consumer) -> None:
        began.wait(60)
        ends.append(list(consumer))

    def call(consumer: Consumer) -> None:
        began.wait(60)
        with pytest.raises(ClosedError):
            consumer.getone()
        ends.append("refused")

    with consumer_of(broker, topic) as looping, consumer_of(broker, topic) as calling:
        threads = [threading.Thread(target=loop, args=[looping]), threading.Thread(target=call, args=[calling])]
        for thread in threads:
            thread.start()
        began.wait(60)
    for thread in threads:
        thread.join(60)
    assert ends in ([[], "refused"], ["refused", []])


def test_records_that_wait_when_their_send_is_cancelled_get_an_error(broker: Topics, topic: str) -> None:
    waiting: list[Delivery] = []
    done = threading.Event()
    with Producer(bootstrap_servers=broker.bootstrap, max_block_ms=3_600_000) as producer:

        def go_on(_: Delivery) -> None:
            waiting.extend(producer.send("not-made", b"%d" % number) for number in range(3))
            done.set()

        producer.send(topic, b"first").add_done_callback(go_on)
        assert done.wait(60)
        until(lambda: producer._pumping and len(producer._taken) == 2)
        assert producer._pump_task is not None
        SHARED.loop.call_soon_threadsafe(producer._pump_task.cancel)
        assert all(isinstance(each.exception(60), ClosedError) for each in waiting)
        assert producer.send_and_wait(topic, b"second") is not None


@pytest.mark.parametrize("alone", [True, False])
def test_an_interrupt_while_a_producer_closes_gives_up_what_it_has(
    broker: Topics, topic: str, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = concurrent.futures.Future.result

    def interrupted(future: concurrent.futures.Future[Any], timeout: float | None = None) -> Any:
        """As if Ctrl-C came once the record that cannot be taken holds up the others."""
        monkeypatch.setattr(concurrent.futures.Future, "result", wait)
        until(lambda: producer._pumping and len(producer._taken) == 2)
        raise KeyboardInterrupt

    with contextlib.ExitStack() as others:
        if not alone:
            others.enter_context(Admin(bootstrap_servers=broker.bootstrap))
        producer = Producer(bootstrap_servers=broker.bootstrap, linger_ms=3_600_000, max_block_ms=3_600_000)
        deliveries = [producer.send(topic, b"taken")]
        producer.flush()
        assert deliveries.pop().result(60) is not None
        held = producer.send(topic, b"lingers")
        done = threading.Event()

        def fill() -> None:
            deliveries.extend(producer.send("not-made", b"%d" % number) for number in range(3))
            done.set()

        SHARED.loop.call_soon_threadsafe(fill)
        assert done.wait(60)
        monkeypatch.setattr(concurrent.futures.Future, "result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            producer.close()
        assert all(isinstance(each.exception(60), ClosedError) for each in (held, *deliveries))
        with pytest.raises(ClosedError):
            producer.send(topic, b"too late")
    assert not any(thread.name == "kafkawire client" for thread in threading.enumerate())
    assert records_of(broker, topic) == 1


def test_a_child_process_has_clients_of_its_own(broker: Topics, topic: str) -> None:
    """The exit code of the child is its result."""
    with Producer(bootstrap_servers=broker.bootstrap) as producer:
        producer.send_and_wait(topic, b"before", partition=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads, which is the point
            child = os.fork()
        if child == 0:
            signal.alarm(60)  # a child that hangs ends by this
            code = 1
            try:
                with contextlib.suppress(ClosedError):
                    producer.send(topic, b"never-made")
                    code = 2
                producer.close()
                with Producer(bootstrap_servers=broker.bootstrap) as own:
                    code = code - 1 if own.send_and_wait(topic, b"child", partition=0).offset == 1 else 3
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert producer.send_and_wait(topic, b"after", partition=0).offset == 2


def test_a_client_that_is_forgotten_is_warned_of(broker: Topics) -> None:
    with Admin(bootstrap_servers=broker.bootstrap) as kept:
        forgotten = Admin.__new__(Admin)
        forgotten._client, forgotten._is_open = kept._client, True
        with pytest.warns(ResourceWarning, match="Admin was not closed"):
            del forgotten


def test_the_background_thread_ends_with_the_last_client(broker: Topics) -> None:
    def count() -> int:
        return sum(thread.name == "kafkawire client" for thread in threading.enumerate())

    assert count() == 0
    with Admin(bootstrap_servers=broker.bootstrap), Admin(bootstrap_servers=broker.bootstrap):
        assert count() == 1
    assert count() == 0
    with pytest.raises(ConnectionLostError):
        Admin(bootstrap_servers="127.0.0.1:1")
    assert count() == 0


def test_the_admin_client_has_its_calls_and_any_message(broker: Topics) -> None:
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name="made-blocking", num_partitions=2)])
        assert "made-blocking" in admin.list_topics()
        assert isinstance(admin.raw(ApiVersionsRequest(), version=1), ApiVersionsResponse)
