"""Topics with everything that records may have, made alike on any broker.

Rules:
- Records and their times are the same on every broker, so that what two readers give of two brokers can be compared.
- Names begin with `spark-`; no other test's do.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from kafkawire.client._admin.types import NewTopic
from kafkawire.client._cluster.blocking_connection import SocketConnection
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client.blocking import Admin
from kafkawire.client.errors import is_retriable
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ProducerOptions
from kafkawire.messages import ProduceRequest, ProduceResponse
from kafkawire.messages.errors import error_for
from kafkawire.records import BatchBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable

Record = tuple[bytes | None, bytes | None, int, Any]

TIME: Final = 1_700_000_000_000
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
# The records are older than brokers keep them by default.
FOR_EVER: Final = {"retention.ms": "-1"}
TOPICS: Final = (
    NewTopic(name="spark-plain", num_partitions=3, topic_configs=FOR_EVER),
    NewTopic(name="spark-codecs", num_partitions=1, topic_configs=FOR_EVER),
    NewTopic(name="spark-broker-time", num_partitions=1, topic_configs={"message.timestamp.type": "LogAppendTime"}),
    NewTopic(name="spark-begins-late", num_partitions=2, topic_configs=FOR_EVER),
    NewTopic(name="spark-empty", num_partitions=1),
)
ODD: Final[tuple[Record, ...]] = (
    (None, b"no key", TIME, ()),
    (b"no value", None, TIME + 1, ()),
    (None, None, TIME + 2, ()),
    (b"", b"", TIME + 3, [("same", b"1"), ("same", None), ("", b""), ("umlaut-\u00fc", b"\x00\xff")]),
    (b"\xff\x00", b"x" * 5000, TIME - 5, [("one", b"1")]),
)


def fill_topics(address: str) -> None:
    """Make the topics and their records."""
    with Admin(bootstrap_servers=address) as admin:
        admin.create_topics(TOPICS)
        for partition, count in ((0, 100), (1, 7)):
            for first in range(0, count, 25):
                numbers = range(first, min(first + 25, count))
                append(address, "spark-plain", partition, (numbered(number) for number in numbers))
        for codec in CODECS:
            append(address, "spark-codecs", 0, ODD, compression=codec)
        append(address, "spark-broker-time", 0, ODD)
        append(address, "spark-begins-late", 0, map(numbered, range(10)))
        append(address, "spark-begins-late", 0, map(numbered, range(10, 20)))
        append(address, "spark-begins-late", 1, map(numbered, range(4)))
        admin.delete_records({TopicPartition("spark-begins-late", 0): 14})


def numbered(number: int) -> Record:
    """A record that contains its number, a second after the one before."""
    return b"k%d" % number, b"v%d" % number, TIME + 1000 * number, ()


def append(address: str, topic: str, partition: int, records: Iterable[Record], **builder: Any) -> None:
    """Append one batch."""
    batch = BatchBuilder(**builder)
    for record in records:
        batch.append(*record)
    data = ProduceRequest.PartitionProduceData(index=partition, records=batch.build())
    wanted = ProduceRequest.TopicProduceData(name=topic, partition_data=[data])
    host, _, port = address.rpartition(":")
    connection = SocketConnection(host, int(port), read_options(ProducerOptions, None, {}))
    deadline = time.monotonic() + 30
    try:
        while True:
            request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[wanted])
            answer = connection.request(request, ProduceResponse, version=9)
            code = answer.responses[0].partition_responses[0].error_code
            if not code:
                return
            error = error_for(code, f"{topic}-{partition}")
            # A topic that was just made may not have reached every part of the broker.
            if not is_retriable(error) or time.monotonic() > deadline:
                raise error
            time.sleep(0.1)
    finally:
        connection.close()


def run_transactions(address: str, topic: str) -> None:
    """One that is committed, one that is aborted, one that stays open."""
    from confluent_kafka import Producer

    with Admin(bootstrap_servers=address) as admin:
        admin.create_topics([NewTopic(name=topic, num_partitions=1, topic_configs=FOR_EVER)])

    config = {"bootstrap.servers": address, "transactional.id": topic, "transaction.timeout.ms": 600_000}
    producer = Producer(config)
    producer.init_transactions(30)
    for number, end in enumerate((producer.commit_transaction, producer.abort_transaction, None)):
        producer.begin_transaction()
        for part in range(3):
            producer.produce(topic, b"%d-%d" % (number, part), timestamp=TIME + number)
        assert producer.flush(30) == 0
        if end is not None:
            end(30)
