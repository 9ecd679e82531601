"""The options of reading topics: names and meanings are those of Spark's own Kafka connector.

Rules:
- An unknown option raises an error that names the closest known one. An option of streams raises in a batch, or is
  ignored with a warning if the connector ignores it. An option of batches raises in a stream.
- `kafka.*` options go to the client. Unknown ones are ignored with one warning, as by the connector, because most tune
  Java's client. So are options of security that only tune it. Other unknown options of security raise: a connection
  must not be less secure than its options say. Options that the connector controls itself (where to start, how to
  decode, when to commit) are rejected here. `kafka.bootstrap.servers` is required.
- Of several options for one bound, a global timestamp overrides timestamps by partition, and these override offsets.
- `kafka.sasl.jaas.config` is the login of every mechanism, as in the client. No error contains it.
- Messages of the client name its options as they were given, with `kafka.`.
"""

from __future__ import annotations

import json
import logging
import re
import warnings
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, Literal

from kafkawire.client import TopicPartition
from kafkawire.client.option_names import option_named, read_options, unknown_option
from kafkawire.client.options import ConsumerOptions
from kafkawire.exceptions import KafkaWireError
from kafkawire.spark._options import choice
from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.client.options import ClientOptions

FORMAT: Final = "kafkawire"
EARLIEST: Final = -2
LATEST: Final = -1
TABLES: Final = ("records", "batches")
STRATEGIES: Final = ("assign", "subscribe", "subscribePattern")
_STARTING: Final = (
    *("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets"),
    "startingOffsetsByTimestampStrategy",
)
_ENDING: Final = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
_OF_A_STREAM: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
_OF_VALUES: Final = ("format", "schema", "subject", "message", "framing", "column")
_NAMES: Final = (
    *(*STRATEGIES, *_STARTING, *_ENDING, *_OF_A_STREAM),
    *("failOnDataLoss", "minPartitions", "maxRecordsPerPartition", "includeHeaders", "groupIdPrefix", "commitOffsets"),
    *("kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs"),
    *("partition.metadata.cache.ttl.ms", "table", "mode"),
    *(f"{side}.{name}" for side in ("key", "value") for name in _OF_VALUES),
)
_REFUSED: Final = {
    "auto.offset.reset": "use startingOffsets",
    "key.deserializer": "keys are binary; cast the column, or decode it by key.format",
    "value.deserializer": "values are binary; cast the column, or decode it by value.format",
    "enable.auto.commit": "Spark stores the offsets; commitOffsets also commits them to a group",
    "interceptor.classes": "Java classes are not supported",
}
_INSTEAD: Final = {
    "topic": "; did you mean subscribe?",
    "checkpointlocation": "; it is one of writing, set it on writeStream",
}
_OF_MSK: Final = (
    "; for AWS MSK with IAM, set kafka.sasl.mechanism=OAUTHBEARER and"
    " name a function in kafka.sasl.oauth.token.provider"
)
# A catalogue table passes its own properties with the options.
_OF_SPARK: Final = re.compile(r"path|paths|owner|provider|comment|location|external|is_managed_location|option\..*")
_SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "": 1e-3}
_PREFIX: Final = "kafka."
_SECURITY: Final = re.compile(r"(ssl|sasl|security)\.")
# These tune Java's logins and TLS, or are options of brokers: a connection is as secure without them.
_TUNING: Final = re.compile(
    r"sasl\.(kerberos\..+|login\.(connect|read)\.timeout\.ms|login\.(refresh|retry)\..+"
    r"|oauthbearer\.(clock\.skew\.seconds|expected\..+|jwks\..+|scope\.claim\.name|sub\.claim\.name))"
    r"|ssl\.(keymanager\.algorithm|protocol|secure\.random\.implementation|trustmanager\.algorithm)"
)
_log = logging.getLogger("kafkawire.spark")
_ignored: set[str] = set()


@dataclass(frozen=True)
class Bound:
    """The start or end of a read: a word (earliest, latest, group), a time, or offsets or times by partition."""

    option: str
    word: str = ""
    timestamp: int | None = None
    offsets: Mapping[TopicPartition, int] | None = None
    timestamps: Mapping[TopicPartition, int] | None = None


@dataclass(frozen=True)
class TopicOptions:
    """The checked options of a read."""

    is_stream: bool
    client: tuple[tuple[str, str], ...] = field(repr=False)  # contains passwords
    strategy: str
    topics: tuple[str, ...]
    assigned: tuple[TopicPartition, ...]
    start: Bound
    end: Bound
    no_match: Literal["error", "latest"]
    fail_on_data_loss: bool
    min_partitions: int | None
    max_records: int | None
    max_per_trigger: int | None
    min_per_trigger: int | None
    max_trigger_delay: float
    group: str | None
    commits: bool
    isolation: str
    fetch_bytes: int | None
    retries: int
    retry_interval: float
    cache_seconds: float
    table: str

    def without_offsets(self) -> TopicOptions:
        """The options of tasks: those without the names and offsets of partitions, of which there may be thousands."""
        return replace(self, topics=(), assigned=(), start=Bound(self.start.option), end=Bound(self.end.option))

    @classmethod
    def parse(cls, given: Mapping[str, str], *, is_stream: bool) -> TopicOptions:
        """Parse the options from Spark, whose keys may have any case."""
        options = _own(given)
        kind = "stream" if is_stream else "batch"
        if is_stream and (ending := [name for name in _ENDING if name in options]):
            raise SourceOptionError(f"{', '.join(ending)}: only for batch reads, because a stream has no end")
        if not is_stream and (ignored := [name for name in _OF_A_STREAM if name in options]):
            _log.warning("%s: ignored, because only streams have it", ", ".join(ignored))
        strategy, topics, assigned = _strategy(options)
        client = client_config(given, _REFUSED)
        if "kafkaConsumer.pollTimeoutMs" in options:
            timeout = _number("kafkaConsumer.pollTimeoutMs", options["kafkaConsumer.pollTimeoutMs"])
            client.setdefault("default.api.timeout.ms", str(timeout))
        client = without_unknown(ConsumerOptions, client)
        try:
            consumer = read_options(ConsumerOptions, client, {})
        except KafkaWireError as error:
            raise SourceOptionError(as_typed(str(error), client)) from error
        largest = _optional(options, "maxOffsetsPerTrigger")
        smallest = _optional(options, "minOffsetsPerTrigger", least=0) or None
        if largest is not None and smallest is not None and smallest > largest:
            raise SourceOptionError(f"minOffsetsPerTrigger is {smallest}, more than maxOffsetsPerTrigger, {largest}")
        start = _bound(options, "starting", "latest" if is_stream else "earliest")
        end = _bound(options, "ending", "latest")
        if not is_stream:
            _check_batch_bounds(start, end)
        commits = _flag(options, "commitOffsets", default=False)
        if commits and not is_stream:
            raise SourceOptionError("commitOffsets: only for streams, because a batch read commits nothing")
        if (commits or start.word == "group") and not consumer.group_id:
            wanted = "commitOffsets" if commits else "startingOffsets=group"
            raise SourceOptionError(f"{wanted} of a {kind} needs the group's name, kafka.group.id")
        fetch = [name for name in client if name in ("max.partition.fetch.bytes", "fetch.message.max.bytes")]
        return cls(
            is_stream=is_stream,
            client=tuple(sorted(client.items())),
            strategy=strategy,
            topics=topics,
            assigned=assigned,
            start=start,
            end=end,
            no_match=_no_match(options),
            fail_on_data_loss=_flag(options, "failOnDataLoss", default=True),
            min_partitions=_optional(options, "minPartitions"),
            max_records=_optional(options, "maxRecordsPerPartition"),
            max_per_trigger=largest,
            min_per_trigger=smallest,
            max_trigger_delay=duration("maxTriggerDelay", options.get("maxTriggerDelay", "15m")),
            group=consumer.group_id,
            commits=commits,
            isolation=consumer.isolation_level,
            fetch_bytes=consumer.max_partition_fetch_bytes if fetch else None,
            retries=_number("fetchOffset.numRetries", options.get("fetchOffset.numRetries", "3")),
            retry_interval=_number("fetchOffset.retryIntervalMs", options.get("fetchOffset.retryIntervalMs", "10"))
            / 1000,
            cache_seconds=_number(
                "partition.metadata.cache.ttl.ms", options.get("partition.metadata.cache.ttl.ms", "-1"), least=-1
            )
            / 1000,
            table=wanted_table(given),
        )


def option_names() -> tuple[str, ...]:
    """The options of reading, without those of the client."""
    return _NAMES


def wanted_table(given: Mapping[str, str]) -> str:
    """The table that is read: one row per record, or one row per batch."""
    options = {key.lower(): value for key, value in given.items()}
    return choice("table", options.get("table", "records").lower(), TABLES)


def includes_headers(given: Mapping[str, str]) -> bool:
    """Whether rows have the headers column."""
    options = {key.lower(): value for key, value in given.items()}
    return _flag({"includeHeaders": options.get("includeheaders", "false")}, "includeHeaders", default=False)


def parse_offsets(option: str, text: str, least: int = 0) -> dict[TopicPartition, int]:
    """Numbers by topic and partition.

    >>> parse_offsets("startingOffsets", '{"orders": {"0": 23}}')
    {TopicPartition(topic='orders', partition=0): 23}
    """
    expected = f'{option} is {text!r}, expected JSON such as {{"topic": {{"0": 23, "1": 0}}}}'
    try:
        found = {
            TopicPartition(topic, int(partition)): offset
            for topic, offsets in json.loads(text).items()
            for partition, offset in offsets.items()
        }
    except (ValueError, AttributeError) as error:
        raise SourceOptionError(expected) from error
    for partition, offset in found.items():
        if type(offset) is not int or not least <= offset < 2**63 or partition.partition < 0:
            raise SourceOptionError(f"{expected}; {partition} has {offset!r}")
    return found


def duration(option: str, text: str) -> float:
    """The seconds of a duration in Spark's notation.

    >>> duration("maxTriggerDelay", "15m"), duration("maxTriggerDelay", "200ms")
    (900.0, 0.2)
    """
    match = re.fullmatch(r"\s*(\d{1,18})\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in _SECONDS:
        raise SourceOptionError(f"{option} is {text!r}, expected a duration such as 15m, 30s or 500ms")
    return float(int(match[1]) * _SECONDS[match[2]])


def client_config(given: Mapping[str, str], refused: Mapping[str, str]) -> dict[str, str]:
    """The options of the client, without their prefix.

    >>> client_config({"kafka.bootstrap.servers": "k:9092", "subscribe": "t"}, {})
    {'bootstrap.servers': 'k:9092'}
    """
    config = {}
    for key, value in given.items():
        name = key.lower()
        if not name.startswith(_PREFIX):
            continue
        name = name.removeprefix(_PREFIX)
        if name in refused:
            raise SourceOptionError(f"kafka.{name} cannot be set: {refused[name]}")
        config[name] = value
    if not config.get("bootstrap.servers", "").strip():
        raise SourceOptionError("kafka.bootstrap.servers is missing, expected host:port, separated by commas")
    return config


def without_unknown(kind: type[ClientOptions], client: Mapping[str, str]) -> dict[str, str]:
    """The options that a kind of client has; a process warns once about each of the others.

    >>> without_unknown(ConsumerOptions, {"bootstrap.servers": "k:9092", "receive.buffer.bytes": "65536"})
    {'bootstrap.servers': 'k:9092'}
    """
    known = dict(client)
    for name in client:
        problem = unknown_option(kind, name)
        if problem is None or (_SECURITY.match(name) and not _TUNING.fullmatch(name)):
            continue
        del known[name]
        if name not in _ignored:
            _ignored.add(name)
            _log.warning("kafka.%s is ignored: %s", name, problem)
    return known


def as_typed(text: str, client: Mapping[str, str]) -> str:
    """A message of the client with the names of options as they were given to Spark.

    >>> as_typed("ssl_cafile=/a.pem: no such file", {"ssl.truststore.location": "/a.pem"})
    'kafka.ssl.truststore.location=/a.pem: no such file'
    """
    names = {found: name for name in client for found in (option_named(name), name)}
    if not names:
        return text
    text += _OF_MSK if re.search(r"AWS_MSK_IAM|software\.amazon\.msk", text) else ""
    pattern = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    text = text.replace("did you mean '", f"did you mean '{_PREFIX}")
    return re.sub(rf"(?<![\w.])(?:{pattern})(?![\w.]*\w)", lambda match: f"{_PREFIX}{names[match[0]]}", text)


def _own(given: Mapping[str, str]) -> dict[str, str]:
    """The options of the source itself, by their documented names."""
    names = {name.lower(): name for name in _NAMES}
    options = {}
    for key, value in given.items():
        lower = key.lower()
        if lower in names:
            options[names[lower]] = value
        elif not lower.startswith(("kafka.", "schema.registry.")) and not _OF_SPARK.fullmatch(lower):
            close = get_close_matches(lower, names, n=1, cutoff=0.6)
            hint = f"; did you mean {names[close[0]]}?" if close else ""
            hint = _INSTEAD.get(lower, hint)
            raise SourceOptionError(f"{FORMAT} has no option {key!r} for reading{hint}")
    return options


def _strategy(options: Mapping[str, str]) -> tuple[str, tuple[str, ...], tuple[TopicPartition, ...]]:
    given = [name for name in STRATEGIES if name in options]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        raise SourceOptionError(f"expected exactly one of {', '.join(STRATEGIES)}, found {found}")
    [name] = given
    text = options[name].strip()
    if name == "assign":
        try:
            listed = {topic: list(numbers) for topic, numbers in json.loads(text).items()}
        except (ValueError, AttributeError, TypeError) as error:
            raise SourceOptionError(f'assign is {text!r}, expected JSON such as {{"topic": [0, 1]}}') from error
        assigned = [TopicPartition(topic, number) for topic, numbers in listed.items() for number in numbers]
        if not assigned or not all(type(each.partition) is int and each.partition >= 0 for each in assigned):
            raise SourceOptionError(f'assign is {text!r}, expected JSON such as {{"topic": [0, 1]}}')
        return name, tuple(sorted(listed)), tuple(sorted(set(assigned)))
    if name == "subscribe":
        topics = tuple(sorted({topic.strip() for topic in text.split(",") if topic.strip()}))
        if not topics:
            raise SourceOptionError(f"subscribe is {text!r}, expected topic names, separated by commas")
        return name, topics, ()
    try:
        if not text:
            raise re.error("it is empty")
        with warnings.catch_warnings():
            # Java's intersections of sets, [a-z&&[^q]], would silently have another meaning.
            warnings.simplefilter("error", FutureWarning)
            re.compile(text)
    except (re.error, FutureWarning) as error:
        raise SourceOptionError(f"subscribePattern is {text!r}, not a regular expression of Python: {error}") from error
    return name, (text,), ()


def _bound(options: Mapping[str, str], which: str, default: str) -> Bound:
    name = f"{which}Timestamp"
    if name in options:
        return Bound(name, timestamp=_number(name, options[name]))
    name = f"{which}OffsetsByTimestamp"
    if name in options:
        return Bound(name, timestamps=parse_offsets(name, options[name]))
    name = f"{which}Offsets"
    text = options.get(name, default).strip()
    if text.lower() in ("earliest", "latest") or (text.lower() == "group" and which == "starting"):
        return Bound(name, word=text.lower())
    if not text.startswith("{"):
        words = "earliest, latest, group" if which == "starting" else "latest"
        raise SourceOptionError(f"{name} is {text!r}, expected {words} or JSON of offsets")
    return Bound(name, offsets=parse_offsets(name, text, least=EARLIEST))


def _check_batch_bounds(start: Bound, end: Bound) -> None:
    if start.word == "latest":
        raise SourceOptionError("startingOffsets is 'latest', which a batch read cannot start at")
    if end.word == "earliest":
        raise SourceOptionError("endingOffsets is 'earliest', which a batch read cannot end at")
    for partition, offset in (start.offsets or {}).items():
        if offset == LATEST:
            raise SourceOptionError(f"startingOffsets has -1 (latest) for {partition}: a batch read cannot start there")
    for partition, offset in (end.offsets or {}).items():
        if offset == EARLIEST:
            raise SourceOptionError(f"endingOffsets has -2 (earliest) for {partition}: a batch read cannot end there")


def _no_match(options: Mapping[str, str]) -> Literal["error", "latest"]:
    text = options.get("startingOffsetsByTimestampStrategy", "error").lower()
    if text == "error":
        return "error"
    if text == "latest":
        return "latest"
    raise SourceOptionError(f"startingOffsetsByTimestampStrategy is {text!r}, expected error or latest")


def _optional(options: Mapping[str, str], name: str, least: int = 1) -> int | None:
    return _number(name, options[name], least) if name in options else None


def _number(name: str, text: str, least: int = 0) -> int:
    match = re.fullmatch(r"\s*(-?\d{1,18})\s*", text)
    if match is None or int(match[1]) < least:
        raise SourceOptionError(f"{name} is {text!r}, expected a whole number from {least} on")
    return int(match[1])


def _flag(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = options.get(name, str(default)).strip().lower()
    if text not in ("true", "false"):
        raise SourceOptionError(f"{name} is {text!r}, expected true or false")
    return text == "true"
