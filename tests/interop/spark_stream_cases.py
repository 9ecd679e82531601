"""The sets of options for streams that both connectors get."""

from __future__ import annotations

from typing import Final

from tests.interop.spark_cases import PLAIN, REFUSED, TIME, Different

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
    "words in capitals": {"subscribe": "spark-plain", "startingOffsets": "EARLIEST"},
    "a pattern": {"subscribePattern": "spark-pl.*", **EARLIEST},
    "with headers": {"subscribe": "spark-codecs", "includeHeaders": "true", **EARLIEST},
    "a start after the end of the log, without loss": {
        **PLAIN,
        "startingOffsets": '{"spark-plain":{"0":500,"1":0}}',
        "failOnDataLoss": "false",
    },
    "an assigned partition that is missing": {"assign": '{"spark-plain":[1,9]}', **EARLIEST},
    "times by partition": {
        **PLAIN,
        "startingOffsetsByTimestamp": f'{{"spark-plain":{{"0":{TIME + 3_000},"1":{TIME}}}}}',
    },
    "a time that a partition does not reach": {
        **PLAIN,
        "startingTimestamp": str(TIME + 90_000),
        "startingOffsetsByTimestampStrategy": "latest",
    },
    "few offsets": {"assign": '{"spark-plain":[1]}', "maxOffsetsPerTrigger": "3", **EARLIEST},
    "at least some offsets": {**PLAIN, "minOffsetsPerTrigger": "5", **EARLIEST},
    "at least more offsets than there are": {
        **PLAIN,
        "minOffsetsPerTrigger": "5000",
        "maxTriggerDelay": "1s",
        **EARLIEST,
    },
    "at least no offsets": {**PLAIN, "minOffsetsPerTrigger": "0", **EARLIEST},
    "a delay in minutes": {**PLAIN, "minOffsetsPerTrigger": "5", "maxTriggerDelay": "5min", **EARLIEST},
    "small tasks": {**PLAIN, "maxRecordsPerPartition": "10", **EARLIEST},
    "a group": {**PLAIN, "kafka.group.id": "spark-stream", **EARLIEST},
    "a prefix of groups": {**PLAIN, "groupIdPrefix": "p", **EARLIEST},
    "patience and retries": {
        **PLAIN,
        "fetchOffset.numRetries": "2",
        "fetchOffset.retryIntervalMs": "5",
        "kafkaConsumer.pollTimeoutMs": "30000",
        **EARLIEST,
    },
}

REFUSED_STREAMS: Final[dict[str, dict[str, str]]] = {
    "a start after the end of the log": {**PLAIN, "startingOffsets": '{"spark-plain":{"0":500,"1":0}}'},
    "deleted offsets": {
        "subscribe": "spark-begins-late",
        "startingOffsets": '{"spark-begins-late":{"0":2,"1":1}}',
    },
    "a missing topic": {"subscribe": "spark-plain,spark-missing", **EARLIEST},
    "no record that late": {**PLAIN, "startingTimestamp": str(TIME + 10**9)},
    "a partition without a time": {**PLAIN, "startingOffsetsByTimestamp": f'{{"spark-plain":{{"0":{TIME}}}}}'},
    "a partition without an offset": {**PLAIN, "startingOffsets": '{"spark-plain":{"0":3}}'},
    "an end": {**PLAIN, "endingOffsets": "latest", **EARLIEST},
    "ends by time": {**PLAIN, "endingOffsetsByTimestamp": '{"spark-plain":{"0":1,"1":1}}', **EARLIEST},
    "a limit in words": {**PLAIN, "maxOffsetsPerTrigger": "x", **EARLIEST},
    "a minimum above the limit": {**PLAIN, "minOffsetsPerTrigger": "50", "maxOffsetsPerTrigger": "5", **EARLIEST},
    "a delay in words": {**PLAIN, "minOffsetsPerTrigger": "5", "maxTriggerDelay": "soon", **EARLIEST},
    "where to start by the client": {**PLAIN, "kafka.auto.offset.reset": "earliest", **EARLIEST},
    "a start that is not a word": {**PLAIN, "startingOffsets": "newest"},
}

DIFFERENT_STREAMS: Final[dict[str, Different]] = {
    "an ending time": Different(
        {**PLAIN, "endingTimestamp": str(TIME), **EARLIEST},
        REFUSED,
        107,
        "a stream has no end; Spark's ignores this one",
    ),
    "no offset per trigger": Different(
        {**PLAIN, "maxOffsetsPerTrigger": "0", **EARLIEST}, REFUSED, 0, "such a stream would never read"
    ),
    "fewer than no offsets per trigger": Different(
        {**PLAIN, "maxOffsetsPerTrigger": "-1", **EARLIEST}, REFUSED, 0, "such a stream would never read"
    ),
    "a limit that is also the minimum": Different(
        {**PLAIN, "minOffsetsPerTrigger": "50", "maxOffsetsPerTrigger": "50", **EARLIEST},
        107,
        98,
        "a query that ends with the existing records reads all of them; Spark's leaves the rest below the minimum",
    ),
    "an unknown option": Different({**PLAIN, "foo": "x", **EARLIEST}, REFUSED, 107, "it may be a typing error"),
}
