"""The sets of options that both connectors get, and what differs between them: the table in docs/spark-topics.md.

Rules:
- The tests compare the rows of each set, and `make generate` writes the table from the same sets. An option that is in
  no set needs a reason here, or the table cannot be written.
"""

from __future__ import annotations

from typing import Final

TIME: Final = 1_700_000_000_000
_TOPICS: Final = ("spark-plain", "spark-codecs", "spark-broker-time", "spark-begins-late", "spark-empty")
ALL = {"subscribe": ",".join(_TOPICS)}
PLAIN = {"assign": '{"spark-plain":[0,1]}'}
SAME_ROWS: Final[dict[str, tuple[dict[str, str], int]]] = {
    "all there is": ({**ALL, "includeHeaders": "true"}, 147),
    "without headers": (ALL, 147),
    "a pattern": ({"subscribePattern": "spark-(plain|codecs|empty)"}, 132),
    "a pattern within a name": ({"subscribePattern": "ark-pl"}, 107),
    "partitions by number": ({"assign": '{"spark-plain":[1,2],"spark-codecs":[0]}', "includeHeaders": "true"}, 32),
    "offsets": (
        {
            **PLAIN,
            "startingOffsets": '{"spark-plain":{"0":95,"1":-2}}',
            "endingOffsets": '{"spark-plain":{"0":-1,"1":3}}',
        },
        8,
    ),
    "times": ({**PLAIN, "startingTimestamp": str(TIME + 4_500), "endingTimestamp": str(TIME + 60_000)}, 57),
    "times by partition": (
        {
            **PLAIN,
            "startingOffsetsByTimestamp": f'{{"spark-plain":{{"0":{TIME + 3_000},"1":{TIME}}}}}',
            "endingOffsetsByTimestamp": f'{{"spark-plain":{{"0":{TIME + 9_001},"1":{TIME + 5_000}}}}}',
        },
        12,
    ),
    "times that go before offsets": (
        {**PLAIN, "startingTimestamp": str(TIME + 6_000), "startingOffsets": '{"spark-plain":{"0":1,"1":1}}'},
        95,
    ),
    "a time after the last record, which is the end": (
        {
            **PLAIN,
            "startingTimestamp": str(TIME + 50_000),
            "startingOffsetsByTimestampStrategy": "latest",
            "endingTimestamp": str(TIME + 10**9),
        },
        50,
    ),
    "what is left of deleted records": (
        {
            "subscribe": "spark-begins-late",
            "startingOffsets": '{"spark-begins-late":{"0":2,"1":1}}',
            "failOnDataLoss": "false",
        },
        9,
    ),
    "more tasks": ({"subscribe": "spark-plain", "minPartitions": "9"}, 107),
    "small tasks": ({"subscribe": "spark-plain", "maxRecordsPerPartition": "30"}, 107),
    "more and small tasks": ({"subscribe": "spark-plain", "maxRecordsPerPartition": "40", "minPartitions": "6"}, 107),
    "small fetches": (
        {"subscribe": "spark-codecs", "kafka.max.partition.fetch.bytes": "1000", "includeHeaders": "true"},
        25,
    ),
}

REFUSED_BY_BOTH: Final[dict[str, dict[str, str]]] = {
    "no topics": {},
    "two ways to say which": {"subscribe": "spark-plain", "assign": '{"spark-plain":[0]}'},
    "a batch from the end": {"subscribe": "spark-plain", "startingOffsets": "latest"},
    "a batch to the beginning": {"subscribe": "spark-plain", "endingOffsets": "earliest"},
    "offset -1 to start at": {**PLAIN, "startingOffsets": '{"spark-plain":{"0":-1,"1":0}}'},
    "offset -2 to end at": {**PLAIN, "endingOffsets": '{"spark-plain":{"0":-2,"1":0}}'},
    "a partition without an offset": {**PLAIN, "startingOffsets": '{"spark-plain":{"0":1}}'},
    "an offset without a partition": {**PLAIN, "startingOffsets": '{"spark-plain":{"0":1,"1":1,"2":0}}'},
    "no record that late": {**PLAIN, "startingTimestamp": str(TIME + 10**9)},
    "no task": {**PLAIN, "minPartitions": "0"},
    "no record a task": {**PLAIN, "maxRecordsPerPartition": "0"},
    "where to start by the client": {**PLAIN, "kafka.auto.offset.reset": "earliest"},
    "decoders": {**PLAIN, "kafka.key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer"},
    "commits by the client": {**PLAIN, "kafka.enable.auto.commit": "true"},
    "interceptors": {**PLAIN, "kafka.interceptor.classes": "x.Y"},
    "an empty pattern": {"subscribePattern": " "},
    "deleted offsets": {
        "subscribe": "spark-begins-late",
        "startingOffsets": '{"spark-begins-late":{"0":2,"1":1}}',
    },
}

EARLIEST = {"startingOffsets": "earliest"}
SAME_TRIGGERS: Final[dict[str, dict[str, str]]] = {
    "all at once": {"subscribe": "spark-plain,spark-codecs,spark-empty", **EARLIEST},
    "shared among partitions": {"subscribe": "spark-plain,spark-codecs", "maxOffsetsPerTrigger": "21", **EARLIEST},
    "less than there are partitions": {"subscribe": "spark-plain", "maxOffsetsPerTrigger": "40", **EARLIEST},
    "in small tasks": {"subscribe": "spark-plain", "minPartitions": "5", **EARLIEST},
    "from offsets": {
        "assign": '{"spark-plain":[0,1,2]}',
        "startingOffsets": '{"spark-plain":{"0":90,"1":-1,"2":-2}}',
    },
    "from a time": {"assign": '{"spark-plain":[0,1]}', "startingTimestamp": str(TIME + 5_000)},
    "what is left of deleted records": {
        "subscribe": "spark-begins-late",
        "startingOffsets": '{"spark-begins-late":{"0":2,"1":1}}',
        "failOnDataLoss": "false",
    },
}


DIFFERENT: Final[dict[str, str]] = {
    "subscribePattern": "a regular expression of Python; Java's and Python's differ in rare forms",
    "startingOffsets": "also `group`: the committed offsets of `kafka.group.id`",
    "maxRecordsPerPartition": "in a batch, Spark's connector uses it only together with `minPartitions`",
    "failOnDataLoss": "a recreated topic is also noticed by its id",
}
"""Differences of options that both have; the rows of the sets above are equal all the same."""

NOT_COMPARED: Final[dict[str, str]] = {
    "minOffsetsPerTrigger": "same meaning, tested alone: Spark's waits cannot be compared trigger by trigger",
    "maxTriggerDelay": "same meaning, tested alone, for the same reason",
    "groupIdPrefix": "without effect: no group names are generated",
    "commitOffsets": "ours only",
    "kafkaConsumer.pollTimeoutMs": "same meaning; the default is a minute, not `spark.network.timeout`",
    "fetchOffset.numRetries": "same meaning; these retries add to those of our client",
    "fetchOffset.retryIntervalMs": "same meaning; these retries add to those of our client",
    "partition.metadata.cache.ttl.ms": "same meaning, tested alone: Spark's has it since 4.3",
    "table": "ours only: `batches` reads headers alone",
    "mode": "ours only: values that cannot be decoded",
    **{
        f"{side}.{name}": "ours only: values with schemas"
        for side in ("key", "value")
        for name in ("format", "schema", "subject", "message", "framing", "column")
    },
}
"""The options that are in no set, and why."""
