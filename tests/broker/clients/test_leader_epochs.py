"""Every start of the broker begins a leader epoch: stale epochs are fenced, and clients keep their positions.

The consumers here treat a lost position as an error, because a reset would hide it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from tests.broker.raw_connection import Peer

from kafkawire.client import TopicPartition
from kafkawire.client.blocking import Consumer, Producer
from kafkawire.messages import FetchRequest, ListOffsetsRequest, MetadataRequest
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kafkawire.testing import RunningBroker

PATIENCE = 60.0
RESTARTS = 3


@pytest.fixture
def broker(kafka_broker_factory: Callable[..., RunningBroker], tmp_path: Path) -> RunningBroker:
    broker = kafka_broker_factory(data_dir=tmp_path)
    broker.create_topic("orders", 1)
    return broker


def produce(broker: RunningBroker, *values: bytes) -> None:
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for value in values:
            producer.send("orders", value).result(PATIENCE)


def epoch(peer: Peer) -> int:
    topics = [MetadataRequest.MetadataRequestTopic(name="orders")]
    found: int = peer.call(MetadataRequest(topics=topics)).topics[0].partitions[0].leader_epoch
    return found


def test_a_request_of_an_earlier_epoch_is_fenced_and_one_of_a_later_epoch_is_unknown(broker: RunningBroker) -> None:
    with Peer(broker) as peer:
        before = epoch(peer)
    broker.restart()
    with Peer(broker) as peer:
        now = epoch(peer)
        assert now > before
        for stated, error in (
            (before, ErrorCode.FENCED_LEADER_EPOCH),
            (now, ErrorCode.NONE),
            (now + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ):
            fetch = FetchRequest.FetchPartition(
                partition=0, current_leader_epoch=stated, fetch_offset=0, partition_max_bytes=1000
            )
            topics = [FetchRequest.FetchTopic(topic="orders", partitions=[fetch])]
            found = peer.call(FetchRequest(topics=topics), 12).responses[0].partitions[0]
            assert found.error_code == error
            offset = ListOffsetsRequest.ListOffsetsPartition(
                partition_index=0, current_leader_epoch=stated, timestamp=-1
            )
            asked = [ListOffsetsRequest.ListOffsetsTopic(name="orders", partitions=[offset])]
            assert peer.call(ListOffsetsRequest(topics=asked)).topics[0].partitions[0].error_code == error


def test_our_consumer_keeps_its_position_over_restarts(broker: RunningBroker) -> None:
    produce(broker, b"0")
    where = TopicPartition("orders", 0)
    with Consumer(bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="none") as consumer:
        consumer.assign([where])
        consumer.seek(where, 0)
        assert consumer.getone().value == b"0"
        for number in range(1, RESTARTS + 1):
            broker.restart()
            produce(broker, b"%d" % number)
            assert consumer.getone().value == b"%d" % number
        broker.restart()
        broker.restart()
        assert consumer.position(where) == RESTARTS + 1
        produce(broker, b"last")
        assert consumer.getone().value == b"last"


def test_our_producer_continues_over_restarts(broker: RunningBroker) -> None:
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for number in range(RESTARTS):
            assert producer.send("orders", b"%d" % number).result(PATIENCE).offset == number
            broker.restart()


def test_confluent_kafka_keeps_its_position_over_restarts(broker: RunningBroker) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    produce(broker, b"0")
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "readers",
            "auto.offset.reset": "error",
            "enable.auto.commit": False,
            "reconnect.backoff.max.ms": 200,
        }
    )

    def value() -> bytes:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            message = consumer.poll(0.5)
            if message is None:
                continue
            error = message.error()
            if error is None:
                found: bytes = message.value()
                return found
            assert error.code() != confluent_kafka.KafkaError._AUTO_OFFSET_RESET, error
        pytest.fail("no record came")

    try:
        consumer.assign([confluent_kafka.TopicPartition("orders", 0, 0)])
        assert value() == b"0"
        for number in range(1, RESTARTS + 1):
            broker.restart()
            produce(broker, b"%d" % number)
            assert value() == b"%d" % number
    finally:
        consumer.close()
