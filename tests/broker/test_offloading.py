"""Slow work runs beside the loop: others are served meanwhile, and nothing gets out of order."""

from __future__ import annotations

import os
import time
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import batch, values
from tests.broker.raw_connection import Peer
from tests.broker.test_connection import GREETING, fetch, pipelined, produce

from kafkawire.broker._fetch import down_conversion
from kafkawire.log import _admission as admission
from kafkawire.log._cleanup import compaction, retention
from kafkawire.messages.errors import ErrorCode
from kafkawire.records import Codec, read_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire.testing import RunningBroker

BIG = os.urandom(admission.SLOW_TO_PACK)
PATIENCE = 60.0


class Gate:
    """Holds up a function until it is opened."""

    def __init__(self, work: Callable[..., Any]) -> None:
        self._work = work
        self.reached, self._open = Event(), Event()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.reached.set()
        assert self._open.wait(PATIENCE)
        return self._work(*arguments, **named)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any, str], Gate]]:
    gates: list[Gate] = []

    def put(owner: Any, name: str) -> Gate:
        gates.append(Gate(getattr(owner, name)))
        monkeypatch.setattr(owner, name, gates[-1])
        return gates[-1]

    yield put
    for each in gates:
        each.open()


def only(answer: Any) -> Any:
    return answer.responses[0].partition_responses[0]


def stored(peer: Peer, topic: str) -> Any:
    return peer.call(fetch(topic), 12).responses[0].partitions[0].records


def test_others_are_answered_while_records_are_recompressed(
    kafka_broker: RunningBroker, kafka_topic: str, gate: Callable[[Any, str], Gate]
) -> None:
    kafka_broker.create_topic("packed", 1, {"compression.type": "zstd"})
    packing = gate(admission, "compress")
    with Peer(kafka_broker) as slow, Peer(kafka_broker) as other:
        sent = slow.send(produce("packed", batch(BIG)), 9)
        assert packing.reached.wait(PATIENCE)
        assert other.call(GREETING, 3).error_code == 0
        assert only(other.call(produce(kafka_topic, batch(b"a")), 9)).base_offset == 0
        assert only(other.call(produce("packed", batch(b"small", compression="zstd")), 9)).base_offset == 0
        packing.open()
        assert only(slow.receive(sent)).base_offset == 1
        assert values(stored(other, "packed")) == [b"small", BIG]
        assert {each.codec for each in read_batches(stored(other, "packed"))} == {Codec.ZSTD}


def test_requests_of_one_client_stay_in_order_while_they_are_recompressed(kafka_broker: RunningBroker) -> None:
    kafka_broker.create_topic("packed", 1, {"compression.type": "gzip"})
    with Peer(kafka_broker) as peer:
        peer.socket.sendall(pipelined("packed", batch(BIG), batch(b"a"), batch(BIG), batch(b"b")))
        answers = [only(peer.receive((0, 9, number))) for number in range(4)]
        assert [each.base_offset for each in answers] == [0, 1, 2, 3]
        assert values(stored(peer, "packed")) == [BIG, b"a", BIG, b"b"]


def test_a_refusal_from_the_thread_names_its_reason(kafka_broker: RunningBroker) -> None:
    kafka_broker.create_topic("packed", 1, {"compression.type": "gzip", "cleanup.policy": "compact"})
    with Peer(kafka_broker) as peer:
        told = only(peer.call(produce("packed", batch(BIG, key=None)), 9))
        assert told.error_code == ErrorCode.INVALID_RECORD
        assert [each.batch_index for each in told.record_errors] == [0]
        peer.send(produce("packed", batch(BIG, key=None), acks=0), 9)
        assert peer.is_closed()


def test_a_topic_that_goes_while_its_records_are_packed_is_unknown(
    kafka_broker: RunningBroker, gate: Callable[[Any, str], Gate]
) -> None:
    kafka_broker.create_topic("packed", 1, {"compression.type": "gzip"})
    packing = gate(admission, "compress")
    with Peer(kafka_broker) as peer:
        sent = peer.send(produce("packed", batch(BIG)), 9)
        assert packing.reached.wait(PATIENCE)
        node = kafka_broker.broker.node
        kafka_broker.call(lambda: node.delete_topic(node.topics.get("packed")))
        packing.open()
        assert only(peer.receive(sent)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_log_is_read_and_appended_to_while_it_is_compacted(
    kafka_broker_factory: Callable[..., RunningBroker], gate: Callable[[Any, str], Gate]
) -> None:
    writing = gate(compaction, "_write_group")
    broker = kafka_broker_factory(config={"log.cleaner.backoff.ms": "20"})
    broker.create_topic("keyed", 1, {"cleanup.policy": "compact", "segment.bytes": "300"})
    with Peer(broker) as peer:
        for number in range(10):
            peer.call(produce("keyed", batch(b"%d" % number)), 9)
        assert writing.reached.wait(PATIENCE)
        assert only(peer.call(produce("keyed", batch(b"meanwhile")), 9)).base_offset == 10
        assert values(stored(peer, "keyed"))[0] == b"0"
        writing.open()
        until(lambda: b"0" not in values(stored(peer, "keyed")))
        assert values(peer.call(fetch("keyed", 10), 12).responses[0].partitions[0].records)[-1] == b"meanwhile"


def test_others_are_answered_while_records_are_converted_for_an_old_client(
    kafka_broker: RunningBroker, kafka_topic: str, gate: Callable[[Any, str], Gate]
) -> None:
    converting = gate(down_conversion, "convert")
    with Peer(kafka_broker) as old, Peer(kafka_broker) as other:
        other.call(produce(kafka_topic, batch(b"a")), 9)
        sent = old.send(fetch(kafka_topic), 1)
        assert converting.reached.wait(PATIENCE)
        assert values(stored(other, kafka_topic)) == [b"a"]
        converting.open()
        assert values(old.receive(sent).responses[0].partitions[0].records) == [b"a"]


def test_requests_are_served_while_expired_files_are_removed(
    kafka_broker_factory: Callable[..., RunningBroker], gate: Callable[[Any, str], Gate]
) -> None:
    removing = gate(retention, "remove")
    broker = kafka_broker_factory(config={"log.retention.check.interval.ms": "20"})
    broker.create_topic("short", 1, {"retention.bytes": "1", "segment.bytes": "300", "file.delete.delay.ms": "0"})
    with Peer(broker) as peer:
        for number in range(10):
            peer.call(produce("short", batch(b"%d" % number)), 9)
        assert removing.reached.wait(PATIENCE)
        assert only(peer.call(produce("short", batch(b"meanwhile")), 9)).base_offset == 10
        removing.open()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
