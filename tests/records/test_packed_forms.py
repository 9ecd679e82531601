"""librdkafka and Kafka's Java clients can read every batch that a log accepts; all else is refused as corrupt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.broker.raw_connection import Peer
from tests.log.batches import NOW
from tests.records.compressed_forms import ACCEPTED, FORMS, HEADER, LZ4, VALUES, packed_batch, plain

from kafkawire.log import LogConfig
from kafkawire.log._admission import admit
from kafkawire.messages import ProduceRequest
from kafkawire.messages.errors import CorruptRecordError, ErrorCode, InvalidRecordError
from kafkawire.records import decompress

if TYPE_CHECKING:
    from kafkawire.testing import RunningBroker

RAW = plain(VALUES)[HEADER:]
REFUSED = [name for name in FORMS if name not in ACCEPTED]
READABLE = (
    "gzip with reserved flag 0x20",
    "gzip of two members",
    "gzip after an empty member",
    "snappy with its header again",
    "lz4 with linked blocks",
)


def batch_of(name: str) -> bytes:
    codec, pack = FORMS[name]
    return packed_batch(codec, pack(RAW))


def produce(broker: RunningBroker, topic: str, data: bytes) -> int:
    """Send a batch as a client would; the error code of the answer."""
    partition = ProduceRequest.PartitionProduceData(index=0, records=data)
    request = ProduceRequest(
        acks=1,
        timeout_ms=30_000,
        topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[partition])],
    )
    with Peer(broker) as peer:
        code: int = peer.call(request, 9).responses[0].partition_responses[0].error_code
        return code


@pytest.mark.twin
@pytest.mark.parametrize("name", sorted(ACCEPTED))
def test_forms_that_every_client_reads_are_accepted_as_they_are(name: str) -> None:
    data = batch_of(name)
    (admitted,) = admit(data, LogConfig(), NOW)
    assert b"".join(admitted.rest) == data[16:]


@pytest.mark.twin
@pytest.mark.parametrize("name", REFUSED)
def test_forms_that_some_client_cannot_read_are_refused(name: str) -> None:
    error = InvalidRecordError if name == "lz4 with linked blocks" else CorruptRecordError
    with pytest.raises(error):
        admit(batch_of(name), LogConfig(), NOW)


@pytest.mark.twin
@pytest.mark.parametrize("name", READABLE)
def test_batches_that_a_log_refuses_can_be_read_from_logs_of_others(name: str) -> None:
    codec, pack = FORMS[name]
    assert bytes(decompress(codec, pack(RAW))) == RAW


def test_a_refusal_is_answered_as_such(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    found = {name: produce(kafka_broker, kafka_topic, batch_of(name)) for name in REFUSED}
    linked = {"lz4 with linked blocks": ErrorCode.INVALID_RECORD}
    assert found == {**dict.fromkeys(REFUSED, ErrorCode.CORRUPT_MESSAGE), **linked}


def test_librdkafka_reads_everything_that_was_accepted(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    expected = []
    for name in FORMS:
        if produce(kafka_broker, kafka_topic, batch_of(name)) == 0:
            expected += VALUES
    assert len(expected) == len(ACCEPTED) * len(VALUES)
    consumer = Consumer({"bootstrap.servers": kafka_broker.bootstrap_servers, "group.id": "g", "check.crcs": True})
    consumer.assign([TopicPartition(kafka_topic, 0, 0)])
    read: list[bytes | None] = []
    while len(read) < len(expected):
        messages = consumer.consume(len(expected), timeout=30)
        assert messages, f"{len(read)} of {len(expected)} records"
        for message in messages:
            assert message.error() is None
            value = message.value()
            assert not isinstance(value, str)
            read.append(value)
    consumer.close()
    assert read == expected


def test_the_table_names_a_form_of_each_codec_on_both_sides() -> None:
    for names in (ACCEPTED, REFUSED):
        assert {FORMS[name][0] for name in names} == {1, 2, LZ4, 4}
