"""The pytest plugin as its users see it."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.broker.node_requests import batch
from tests.broker.raw_connection import Peer

from kafkawire.broker._net.listeners import CannotListenError
from kafkawire.messages import MetadataRequest, ProduceRequest
from kafkawire.messages._registry import UnknownMessageError
from kafkawire.messages.errors import ErrorCode, ErrorLookupError, UnknownTopicOrPartitionError
from kafkawire.testing import RunningBroker
from kafkawire.testing._orders import ImpossibleOrderError
from kafkawire.testing._running import NotRunningError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_topic_is_named_after_its_test(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    assert kafka_topic == "test_a_topic_is_named_after_its_test"
    with Peer(kafka_broker) as peer:
        assert [topic.name for topic in peer.call(MetadataRequest(topics=None)).topics] == [kafka_topic]


def test_loading_the_plugin_loads_no_broker() -> None:
    code = "import sys, kafkawire.testing.plugin; print([name for name in sys.modules if 'kafkawire.broker' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_requests_are_written_down(kafka_broker: RunningBroker) -> None:
    with Peer(kafka_broker) as peer:
        peer.call(MetadataRequest(topics=[]), 5)
    (request,) = kafka_broker.requests
    assert (request.api, request.version, request.client_id) == ("Metadata", 5, "peer")
    assert request.message == MetadataRequest(topics=[])


def test_requests_fail_as_often_as_requested(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    kafka_broker.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
    data = ProduceRequest.PartitionProduceData(records=batch(b"a"))
    topic = ProduceRequest.TopicProduceData(name=kafka_topic, partition_data=[data])
    request = ProduceRequest(acks=1, topic_data=[topic])
    with Peer(kafka_broker) as peer:
        codes = [peer.call(request, 9).responses[0].partition_responses[0].error_code for _ in range(3)]
    assert codes == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2 + [ErrorCode.NONE]


def test_connections_can_be_closed(kafka_broker: RunningBroker) -> None:
    with Peer(kafka_broker) as peer:
        peer.call(MetadataRequest(topics=[]))
        kafka_broker.drop_connections()
        assert peer.is_closed()
    kafka_broker.close_next("Metadata")
    with Peer(kafka_broker) as peer:
        peer.send(MetadataRequest(topics=[]))
        assert peer.is_closed()


def test_a_restart_keeps_port_and_data(tmp_path: Path) -> None:
    with RunningBroker(tmp_path) as broker:
        broker.create_topic("orders")
        before = broker.bootstrap_servers
        broker.restart()
        assert broker.bootstrap_servers == before
        with Peer(broker) as peer:
            assert [topic.name for topic in peer.call(MetadataRequest(topics=None)).topics] == ["orders"]


def test_mistakes_of_the_test_are_errors(kafka_broker: RunningBroker) -> None:
    with pytest.raises(UnknownMessageError, match="did you mean Produce"):
        kafka_broker.fail_next("Produec", 1)
    with pytest.raises(ErrorLookupError, match="did you mean NOT_COORDINATOR"):
        kafka_broker.fail_next("Produce", "NOT_COORDINATR")
    with pytest.raises(ImpossibleOrderError, match="UnregisterBroker is not served"):
        kafka_broker.fail_next("UnregisterBroker", "UNSUPPORTED_VERSION")
    with pytest.raises(ImpossibleOrderError, match="Heartbeat cannot fail for one topic, only"):
        kafka_broker.fail_next("Heartbeat", "REBALANCE_IN_PROGRESS", topic="orders")
    with pytest.raises(ImpossibleOrderError, match="Produce for partition 1: expected a topic"):
        kafka_broker.fail_next("Produce", "MESSAGE_TOO_LARGE", partition=1)
    with pytest.raises(NotRunningError):
        RunningBroker().create_topic("orders")
    with pytest.raises(NotRunningError):
        RunningBroker().produce("orders", b"a")
    with pytest.raises(NotRunningError):
        _ = RunningBroker().bootstrap_servers


def test_a_start_that_fails_says_why(kafka_broker: RunningBroker) -> None:
    port = int(kafka_broker.bootstrap_servers.rpartition(":")[2])
    with pytest.raises(CannotListenError, match="another process listens there"):
        RunningBroker(port=port).start()


def test_records_are_put_in_and_looked_at_without_a_client(kafka_broker: RunningBroker) -> None:
    kafka_broker.create_topic("orders", 2)
    assert kafka_broker.produce("orders", b"b", b"k", partition=1, headers=[("h", None)], timestamp=7) == 0
    assert kafka_broker.produce("orders", None) == 0
    first, second = kafka_broker.records("orders")
    assert (first.key, first.value, first.headers) == (None, None, ())
    assert (second.offset, second.timestamp, second.key, second.value) == (0, 7, b"k", b"b")
    assert second.headers == (("h", None),)
    assert list(kafka_broker.requests) == []
    with pytest.raises(UnknownTopicOrPartitionError):
        kafka_broker.records("nothing")


def test_produced_records_are_stored_also_with_flush_on_ack(tmp_path: Path) -> None:
    with RunningBroker(tmp_path, config={"flush.on.ack": "true"}) as broker:
        broker.create_topic("orders")
        assert [broker.produce("orders", value) for value in (b"a", b"b")] == [0, 1]
        assert [record.value for record in broker.records("orders")] == [b"a", b"b"]


def test_a_port_is_kept_while_the_broker_is_away(kafka_broker: RunningBroker) -> None:
    host, _, port = kafka_broker.bootstrap_servers.rpartition(":")
    kafka_broker.stop()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((host, int(port)))
    kafka_broker.start()
    with Peer(kafka_broker) as peer:
        peer.call(MetadataRequest(topics=[]))
