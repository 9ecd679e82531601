"""The sets of options for batches that both connectors get: the tables in docs/spark-topics.md.

Rules:
- The tests compare the rows of each set, and `make generate` writes the tables from the same sets. An option that is in
  no set needs a reason here, or the tables cannot be written.
- A set where the two differ has the outcome of each, a number of rows or REFUSED, and the reason.
- The sets of streams, writes and clients are in the modules `spark_*_cases` beside this one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

REFUSED: Final = -1


class Different(NamedTuple):
    """A set of options where the connectors differ: the rows with each of them, or REFUSED."""

    options: dict[str, str]
    ours: int
    theirs: int
    why: str


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
    "times that override offsets": (
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
    "words in capitals": ({**PLAIN, "startingOffsets": "EARLIEST", "endingOffsets": "LATEST"}, 107),
    "words between spaces": ({**PLAIN, "startingOffsets": " earliest ", "endingOffsets": " latest "}, 107),
    "a start at the end": ({**PLAIN, "startingOffsets": '{"spark-plain":{"0":100,"1":7}}'}, 0),
    "a range without offsets": (
        {
            **PLAIN,
            "startingOffsets": '{"spark-plain":{"0":50,"1":0}}',
            "endingOffsets": '{"spark-plain":{"0":50,"1":0}}',
        },
        0,
    ),
    "an end after the end of the log": (
        {**PLAIN, "endingOffsets": '{"spark-plain":{"0":500,"1":7}}', "failOnDataLoss": "false"},
        107,
    ),
    "an assigned partition that is missing": ({"assign": '{"spark-plain":[0,9]}'}, 100),
    "an assigned partition that is missing, without loss": (
        {"assign": '{"spark-plain":[0,9]}', "failOnDataLoss": "false"},
        100,
    ),
    "a partition twice": ({"assign": '{"spark-plain":[0,0]}'}, 100),
    "topics between spaces": ({"subscribe": " spark-plain , spark-empty "}, 107),
    "topics between commas": ({"subscribe": ",spark-plain,,"}, 107),
    "a topic twice": ({"subscribe": "spark-plain,spark-plain"}, 107),
    "a pattern without a topic": ({"subscribePattern": "zzz"}, 0),
    "a pattern of a whole name": ({"subscribePattern": "^spark-plain$"}, 107),
    "a possessive pattern": ({"subscribePattern": "spark-p++lain"}, 107),
    "a pattern with a flag": ({"subscribePattern": "(?i)SPARK-PLAIN"}, 107),
    "a pattern that looks ahead": ({"subscribePattern": "spark-(?!codecs|broker|begins|empty)plain"}, 107),
    "headers in capitals": ({**PLAIN, "includeHeaders": "TRUE"}, 107),
    "data loss in capitals": ({**PLAIN, "failOnDataLoss": "TRUE"}, 107),
    "one task": ({**PLAIN, "minPartitions": "1"}, 107),
    "more tasks than records": ({**PLAIN, "minPartitions": "150"}, 107),
    "a record for each task": ({"assign": '{"spark-plain":[1]}', "maxRecordsPerPartition": "1"}, 7),
    "the time 0": ({**PLAIN, "startingTimestamp": "0"}, 107),
    "an end at the time 0": ({**PLAIN, "endingTimestamp": "0"}, 0),
    "a late time, which is the end": (
        {**PLAIN, "startingTimestamp": str(TIME + 10**9), "startingOffsetsByTimestampStrategy": "LATEST"},
        0,
    ),
    "late times by partition, which are the end": (
        {
            **PLAIN,
            "startingOffsetsByTimestamp": f'{{"spark-plain":{{"0":{TIME + 10**9},"1":{TIME}}}}}',
            "startingOffsetsByTimestampStrategy": "latest",
        },
        7,
    ),
    "ending times by partition that override offsets": (
        {
            **PLAIN,
            "endingOffsetsByTimestamp": f'{{"spark-plain":{{"0":{TIME + 2_000},"1":{TIME}}}}}',
            "endingOffsets": '{"spark-plain":{"0":90,"1":7}}',
        },
        2,
    ),
    "an ending time that overrides those by partition": (
        {
            **PLAIN,
            "endingTimestamp": str(TIME + 1_000),
            "endingOffsetsByTimestamp": f'{{"spark-plain":{{"0":{TIME + 9_000},"1":{TIME}}}}}',
        },
        2,
    ),
    "patience": ({**PLAIN, "kafkaConsumer.pollTimeoutMs": "20000"}, 107),
    "retries": ({**PLAIN, "fetchOffset.numRetries": "5", "fetchOffset.retryIntervalMs": "20"}, 107),
    "a prefix of groups": ({**PLAIN, "groupIdPrefix": "p"}, 107),
    "an empty prefix of groups": ({**PLAIN, "groupIdPrefix": ""}, 107),
    "a group and a prefix": ({**PLAIN, "kafka.group.id": "g", "groupIdPrefix": "p"}, 107),
    "an empty group": ({**PLAIN, "kafka.group.id": ""}, 107),
    "a cache of partitions": ({**PLAIN, "partition.metadata.cache.ttl.ms": "4000"}, 107),
    "limits of triggers, without effect": (
        {**PLAIN, "maxOffsetsPerTrigger": "5", "minOffsetsPerTrigger": "5", "maxTriggerDelay": "1m"},
        107,
    ),
    "names in capitals": (
        {"ASSIGN": '{"spark-plain":[1]}', "STARTINGOFFSETS": "earliest", "KAFKA.ISOLATION.LEVEL": "read_committed"},
        7,
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
    "an empty start": {**PLAIN, "startingOffsets": ""},
    "a start that is not a word": {**PLAIN, "startingOffsets": "newest"},
    "an end that is not a word": {**PLAIN, "endingOffsets": "oldest"},
    "offset -3": {**PLAIN, "startingOffsets": '{"spark-plain":{"0":-3,"1":0}}'},
    "an offset as text": {**PLAIN, "startingOffsets": '{"spark-plain":{"0":"3","1":0}}'},
    "an offset beyond 64 bits": {**PLAIN, "startingOffsets": '{"spark-plain":{"0":99999999999999999999,"1":0}}'},
    "a start after the end of the log": {**PLAIN, "startingOffsets": '{"spark-plain":{"0":500,"1":0}}'},
    "a start after the end of the log, without loss": {
        **PLAIN,
        "startingOffsets": '{"spark-plain":{"0":500,"1":0}}',
        "failOnDataLoss": "false",
    },
    "an end after the end of the log": {**PLAIN, "endingOffsets": '{"spark-plain":{"0":500,"1":7}}'},
    "a start after the end": {
        **PLAIN,
        "startingOffsets": '{"spark-plain":{"0":50,"1":0}}',
        "endingOffsets": '{"spark-plain":{"0":40,"1":7}}',
        "failOnDataLoss": "false",
    },
    "a time after the end": {
        **PLAIN,
        "startingTimestamp": str(TIME + 50_000),
        "startingOffsetsByTimestampStrategy": "latest",
        "endingTimestamp": str(TIME),
        "failOnDataLoss": "false",
    },
    "a missing topic": {"subscribe": "spark-plain,spark-missing"},
    "a missing topic, without loss": {"subscribe": "spark-missing", "failOnDataLoss": "false"},
    "an assigned topic that is missing": {"assign": '{"spark-missing":[0]}'},
    "broken JSON": {"assign": "{"},
    "a partition as text": {"assign": '{"spark-plain":["0"]}'},
    "no name": {"subscribe": ""},
    "only a comma": {"subscribe": ","},
    "a name that no topic can have": {"subscribe": "a b"},
    "a broken pattern": {"subscribePattern": "("},
    "headers that are neither true nor false": {**PLAIN, "includeHeaders": "yes"},
    "headers that are empty": {**PLAIN, "includeHeaders": ""},
    "data loss that is neither true nor false": {**PLAIN, "failOnDataLoss": "no"},
    "tasks in words": {**PLAIN, "minPartitions": "many"},
    "fewer than no tasks": {**PLAIN, "minPartitions": "-1"},
    "half a task": {**PLAIN, "minPartitions": "2.5"},
    "fewer than no records a task": {**PLAIN, "maxRecordsPerPartition": "-4"},
    "records a task in words": {**PLAIN, "maxRecordsPerPartition": "x"},
    "a time in words": {**PLAIN, "startingTimestamp": "yesterday"},
    "a time before 1970": {**PLAIN, "startingTimestamp": "-5"},
    "a time beyond 64 bits": {**PLAIN, "startingTimestamp": "99999999999999999999"},
    "an ending time in words": {**PLAIN, "endingTimestamp": "x"},
    "an unknown strategy": {**PLAIN, "startingOffsetsByTimestampStrategy": "guess"},
    "a partition without a time": {**PLAIN, "startingOffsetsByTimestamp": f'{{"spark-plain":{{"0":{TIME}}}}}'},
    "a time without a partition": {
        **PLAIN,
        "startingOffsetsByTimestamp": f'{{"spark-plain":{{"0":{TIME},"1":{TIME},"2":{TIME}}}}}',
    },
    "times that are broken JSON": {**PLAIN, "startingOffsetsByTimestamp": "{"},
    "no record that late in a partition": {
        **PLAIN,
        "startingOffsetsByTimestamp": f'{{"spark-plain":{{"0":{TIME + 10**9},"1":{TIME}}}}}',
    },
    "a partition without an ending time": {
        **PLAIN,
        "endingOffsetsByTimestamp": f'{{"spark-plain":{{"0":{TIME + 2_000}}}}}',
    },
    "a partition without an end": {**PLAIN, "endingOffsets": '{"spark-plain":{"0":90}}'},
    "patience in words": {**PLAIN, "kafkaConsumer.pollTimeoutMs": "x"},
    "no patience": {**PLAIN, "kafkaConsumer.pollTimeoutMs": "0"},
    "negative patience": {**PLAIN, "kafkaConsumer.pollTimeoutMs": "-1"},
    "retries in words": {**PLAIN, "fetchOffset.numRetries": "x"},
    "fewer than no retries": {**PLAIN, "fetchOffset.numRetries": "-1"},
    "a pause in words": {**PLAIN, "fetchOffset.retryIntervalMs": "x"},
    "decoders of values": {
        **PLAIN,
        "kafka.value.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
    },
    "an unknown isolation": {**PLAIN, "kafka.isolation.level": "serializable"},
    "no servers": {**PLAIN, "kafka.bootstrap.servers": ""},
    "a port that no server has": {**PLAIN, "kafka.bootstrap.servers": "127.0.0.1:99999"},
    "an unknown protocol": {**PLAIN, "kafka.security.protocol": "TLS"},
}

DIFFERENT_ROWS: Final[dict[str, Different]] = {
    "a fraction of an offset": Different(
        {**PLAIN, "startingOffsets": '{"spark-plain":{"0":3.5,"1":0}}'}, REFUSED, 104, "a fraction is a mistake"
    ),
    "an offset for an assigned partition that is missing": Different(
        {"assign": '{"spark-plain":[0,9]}', "startingOffsets": '{"spark-plain":{"0":5,"9":0}}'},
        95,
        REFUSED,
        "the partitions that exist are read, as without offsets",
    ),
    "no partition": Different({"assign": "{}"}, REFUSED, 0, "a read of nothing is a mistake"),
    "no number": Different({"assign": '{"spark-plain":[]}'}, REFUSED, 0, "a read of nothing is a mistake"),
    "partition -1": Different({"assign": '{"spark-plain":[-1]}'}, REFUSED, 0, "no partition has this number"),
    "a class of characters of Java": Different(
        {"subscribePattern": "^spark-\\p{Lower}+n$"}, REFUSED, 107, "Python's regular expressions have no such class"
    ),
    "a quotation of Java": Different(
        {"subscribePattern": "\\Qspark-plain\\E"}, REFUSED, 107, "Python's regular expressions have no quotations"
    ),
    "a group of Java": Different(
        {"subscribePattern": "(?<n>spark)-plain"}, REFUSED, 107, "Python writes named groups as `(?P<n>...)`"
    ),
    "an intersection of Java": Different(
        {"subscribePattern": "^spark-[a-z&&[^q]]+n$"}, REFUSED, 107, "Python would read it as other characters"
    ),
    "more tasks than 32 bits": Different(
        {**PLAIN, "minPartitions": "3000000000"}, 107, REFUSED, "numbers have no largest value"
    ),
    "a number between spaces": Different({**PLAIN, "minPartitions": " 4 "}, 107, REFUSED, "spaces are ignored"),
    "a time by partition of -1": Different(
        {**PLAIN, "startingOffsetsByTimestamp": '{"spark-plain":{"0":-1,"1":0}}'}, REFUSED, 7, "-1 is not a time"
    ),
    "no retries": Different({**PLAIN, "fetchOffset.numRetries": "0"}, 107, REFUSED, "one attempt is possible"),
    "a cache in words": Different(
        {**PLAIN, "partition.metadata.cache.ttl.ms": "x"}, REFUSED, 107, "Spark's has the option since 4.3"
    ),
    "a limit in words in a batch": Different(
        {**PLAIN, "maxOffsetsPerTrigger": "x"}, REFUSED, 107, "values are checked also where they have no effect"
    ),
    "a delay in words in a batch": Different(
        {**PLAIN, "maxTriggerDelay": "soon"}, REFUSED, 107, "values are checked also where they have no effect"
    ),
    "an unknown option": Different({**PLAIN, "startingOffset": "latest"}, REFUSED, 107, "it may be a typing error"),
    "the topic of a write": Different({**PLAIN, "topic": "t"}, REFUSED, 107, "`subscribe` was meant, perhaps"),
    "the checkpoint of a write": Different(
        {**PLAIN, "checkpointLocation": "c"}, REFUSED, 107, "it belongs to `writeStream`, and has no effect here"
    ),
    "an isolation in capitals": Different(
        {**PLAIN, "kafka.isolation.level": "READ_COMMITTED"}, 107, REFUSED, "words may have any case"
    ),
}

DIFFERENT: Final[dict[str, str]] = {
    "subscribePattern": "a regular expression of Python; Java's and Python's differ in rare forms",
    "startingOffsets": "also `group`: the committed offsets of `kafka.group.id`",
    "maxRecordsPerPartition": "in a batch, Spark's connector uses it only together with `minPartitions`",
    "failOnDataLoss": "a recreated topic is also noticed by its id",
    "groupIdPrefix": "without effect: no group names are generated",
    "kafkaConsumer.pollTimeoutMs": "the default is a minute, not `spark.network.timeout`",
    "fetchOffset.numRetries": "these retries add to those of our client",
    "fetchOffset.retryIntervalMs": "these retries add to those of our client",
    "partition.metadata.cache.ttl.ms": "Spark's has it since 4.3",
    "minOffsetsPerTrigger": "a query that ends with the existing records reads all of them",
}
"""Differences of options that both have; the rows of the sets above are equal all the same."""

NOT_COMPARED: Final[dict[str, str]] = {
    "commitOffsets": "ours only",
    "table": "ours only: `batches` reads headers alone",
    "mode": "ours only: values that cannot be decoded",
    **{
        f"{side}.{name}": "ours only: values with schemas"
        for side in ("key", "value")
        for name in ("format", "schema", "subject", "message", "framing", "column")
    },
}
"""The options that are in no set, and why."""
