"""The sets of options and columns for writes that both connectors get.

Rules:
- A set has the columns of 20 rows with an `id`, as SQL, and the options. `TOPIC` stands for the name of a new topic
  with three partitions; what is read back from it is compared, with headers, by partition and offset.
- Both write with the mode `append`, which is the only one of ours.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.interop.spark_cases import REFUSED

TOPIC: Final = "$topic"


class Write(NamedTuple):
    """Columns and options of a write."""

    columns: tuple[str, ...]
    options: dict[str, str]


class DifferentWrite(NamedTuple):
    """A write where the connectors differ: the rows that each writes, or REFUSED."""

    write: Write
    ours: int
    theirs: int
    why: str


KEY, VALUE = "concat('k', id) AS key", "concat('v', id) AS value"
HEADERS = "array(struct('h' AS key, CAST('x' AS BINARY) AS value)) AS headers"
BOTH = (KEY, VALUE)
TO = {"topic": TOPIC}

SAME_WRITES: Final[dict[str, Write]] = {
    "a topic": Write(BOTH, TO),
    "the column topic": Write((*BOTH, f"'{TOPIC}' AS topic"), {}),
    "the option over the column": Write((*BOTH, "'spark-plain' AS topic"), TO),
    "a partition": Write((*BOTH, "2 AS partition"), TO),
    "no partition": Write((*BOTH, "CAST(NULL AS INT) AS partition"), TO),
    "headers": Write((*BOTH, HEADERS), {**TO, "includeHeaders": "true"}),
    "headers without the option": Write((*BOTH, HEADERS), TO),
    "the option without headers": Write(BOTH, {**TO, "includeHeaders": "true"}),
    "an option that is neither true nor false": Write(BOTH, {**TO, "includeHeaders": "yes"}),
    "no values": Write((KEY, "CAST(NULL AS STRING) AS value"), TO),
    "binary": Write(("CAST(concat('k', id) AS BINARY) AS key", "CAST('x' AS BINARY) AS value"), TO),
    "another column": Write((*BOTH, "id AS more"), TO),
    "acks 1": Write(BOTH, {**TO, "kafka.acks": "1"}),
    "acks all": Write(BOTH, {**TO, "kafka.acks": "all"}),
    "without idempotence": Write(BOTH, {**TO, "kafka.enable.idempotence": "false"}),
    "a codec": Write(BOTH, {**TO, "kafka.compression.type": "zstd"}),
    "a level of a codec": Write(BOTH, {**TO, "kafka.compression.type": "gzip", "kafka.compression.gzip.level": "3"}),
    "small batches": Write(BOTH, {**TO, "kafka.batch.size": "1000", "kafka.linger.ms": "1"}),
    "the path of a file": Write(BOTH, {**TO, "path": "p"}),
    "a checkpoint": Write(BOTH, {**TO, "checkpointLocation": "c"}),
    "interceptors, none": Write(BOTH, {**TO, "kafka.interceptor.classes": ""}),
    "an option of consumers": Write(BOTH, {**TO, "kafka.isolation.level": "read_committed"}),
    "an unknown option of the client": Write(BOTH, {**TO, "kafka.no.such": "x"}),
}

REFUSED_WRITES: Final[dict[str, Write]] = {
    "no topic": Write(BOTH, {}),
    "topics that are null": Write((*BOTH, "CAST(NULL AS STRING) AS topic"), {}),
    "an empty topic": Write(BOTH, {"topic": ""}),
    "a name that no topic can have": Write(BOTH, {"topic": "a b"}),
    "a partition that is missing": Write((*BOTH, "9 AS partition"), {**TO, "kafka.max.block.ms": "3000"}),
    "partition -1": Write((*BOTH, "-1 AS partition"), TO),
    "a partition of 64 bits": Write((*BOTH, "2L AS partition"), TO),
    "headers of text": Write((*BOTH, "array(struct('h' AS key, 'x' AS value)) AS headers"), TO),
    "a header without a name": Write(
        (*BOTH, "array(struct(CAST(NULL AS STRING) AS key, CAST('x' AS BINARY) AS value)) AS headers"), TO
    ),
    "no value": Write((KEY,), TO),
    "a number as value": Write(("1 AS value",), TO),
    "a number as key": Write(("1 AS key", VALUE), TO),
    "acks in words": Write(BOTH, {**TO, "kafka.acks": "x"}),
    "an unknown codec": Write(BOTH, {**TO, "kafka.compression.type": "br"}),
    "encoders of keys": Write(
        BOTH, {**TO, "kafka.key.serializer": "org.apache.kafka.common.serialization.StringSerializer"}
    ),
    "encoders of values": Write(
        BOTH, {**TO, "kafka.value.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer"}
    ),
    "large records": Write(("repeat('x', 5000) AS value",), {**TO, "kafka.max.request.size": "1000"}),
    "a timeout in words": Write(BOTH, {**TO, "kafka.delivery.timeout.ms": "x"}),
    "no servers": Write(BOTH, {**TO, "kafka.bootstrap.servers": ""}),
    "a transactional id": Write(
        BOTH,
        {
            **TO,
            "kafka.transactional.id": "x",
            "kafka.delivery.timeout.ms": "3000",
            "kafka.request.timeout.ms": "2000",
        },
    ),
}

DIFFERENT_WRITES: Final[dict[str, DifferentWrite]] = {
    "acks 0": DifferentWrite(
        Write(BOTH, {**TO, "kafka.acks": "0"}), REFUSED, 20, "the broker would not report whether rows were stored"
    ),
    "a partitioner": DifferentWrite(
        Write(BOTH, {**TO, "kafka.partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner"}),
        REFUSED,
        20,
        "a class of Java; compute the column `partition`",
    ),
    "an unknown option": DifferentWrite(Write(BOTH, {**TO, "foo": "x"}), REFUSED, 20, "it may be a typing error"),
    "the topic of a read": DifferentWrite(
        Write(BOTH, {**TO, "subscribe": "x"}), REFUSED, 20, "it belongs to reading, and has no effect here"
    ),
}
