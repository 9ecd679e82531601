"""Notes that explain values: error names, API names, times, and the names of numbers.

Rules:
- A note is looked up once by message and field name, and then depends on the value only.
- A number without a name has no note, because notes are never guessed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from kafkawire.log.internal_topics import TRANSACTION_STATES
from kafkawire.messages import UnknownMessageError, api
from kafkawire.messages.errors import ErrorCode
from kafkawire.wire.acls import Operation, PatternType, Permission, ResourceType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from enum import IntEnum

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_TIME: Final = 253402300799999
_NOT_ASKED_FOR: Final = -(2**31)

METADATA_TOPIC_ID: Final = UUID(int=1)


def _words(kind: type[IntEnum], **others: str) -> dict[int, str]:
    """The names of numbers as words; some are not those of the names."""
    words = {each.value: others.get(each.name.lower(), each.name.lower().replace("_", " ")) for each in kind}
    return {0: "unknown", **words}


_CONFIG_RESOURCES: Final = {
    0: "unknown",
    2: "topic",
    4: "broker",
    8: "broker logger",
    16: "client metrics",
    32: "group",
}
_ACL_RESOURCES: Final = _words(ResourceType)
_OPERATIONS: Final = _words(Operation, two_phase_commit="two-phase commit")
_RECOVERY: Final = {0: "recovered", 1: "recovering"}
_ISOLATION: Final = {0: "read uncommitted", 1: "read committed"}
_SCRAM: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
_CODECS: Final = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
_ACKNOWLEDGEMENTS: Final = {0: "gap", 1: "accept", 2: "release", 3: "reject", 4: "renew"}
_CONFIG_TYPES: Final = dict(
    enumerate(("unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password"))
)
_CONFIG_SOURCES: Final = dict(
    enumerate(
        (
            *("unknown", "topic", "dynamic broker", "dynamic default broker", "static broker", "default"),
            *("dynamic broker logger", "client metrics", "group"),
        )
    )
)
_MEMBER_STATES: Final = {0: "stable", 1: "unrevoked partitions", 2: "unreleased partitions", 127: "unknown"}
_STREAMS_STATUSES: Final = dict(
    enumerate(
        (
            *("stale topology", "missing source topics", "incorrectly partitioned topics", "missing internal topics"),
            *("shutdown application", "assignment delayed", "missing client tags"),
        )
    )
)
_TRANSACTION_STATES: Final = dict(enumerate(TRANSACTION_STATES))

_NAMES: Final[Mapping[str, Mapping[int, str]]] = {
    "acks": {-1: "all in-sync replicas", 0: "no response", 1: "the leader"},
    "isolation_level": _ISOLATION,
    "replica_id": {-1: "a consumer", -2: "a debugging consumer"},
    "permission_type": _words(Permission),
    "pattern_type": _words(PatternType),
    "mechanism": _SCRAM,
    "config_operation": dict(enumerate(("set", "delete", "append", "subtract"))),
    "config_source": _CONFIG_SOURCES,
    "config_type": _CONFIG_TYPES,
    "election_type": {0: "preferred", 1: "unclean"},
    "leader_recovery_state": _RECOVERY,
    "security_protocol": dict(enumerate(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"))),
    "transaction_status": _TRANSACTION_STATES,
    "upgrade_type": {1: "upgrade", 2: "safe downgrade", 3: "unsafe downgrade"},
    "endpoint_type": {1: "brokers", 2: "controllers"},
    "acknowledge_types": _ACKNOWLEDGEMENTS,
    "accepted_compression_types": _CODECS,
    "compression_type": _CODECS,
    "node_type": {1: "source", 2: "processor", 3: "sink"},
    "topology_description_status": {0: "not requested", 1: "not stored", 2: "error", 3: "available"},
    "remote_log_segment_state": dict(enumerate(("copy started", "copy finished", "delete started", "delete finished"))),
    "remote_partition_delete_state": {0: "marked", 1: "started", 2: "finished"},
    "share_acquire_mode": {0: "batch optimized", 1: "record limit"},
    "delivery_state": {0: "available", 2: "acknowledged", 4: "archived"},
}
_PATTERN_TYPES: Final = ("pattern_type_filter", "resource_pattern_type")
_NAMES_IN: Final[Mapping[tuple[str, str], Mapping[int, str]]] = {
    ("FindCoordinatorRequest", "key_type"): {0: "group", 1: "transaction", 2: "share"},
    ("ListOffsetsRequest", "timestamp"): {
        -1: "the latest offset",
        -2: "the earliest offset",
        -3: "the offset of the largest timestamp",
        -4: "the earliest local offset",
        -5: "the latest tiered offset",
    },
    ("FetchRequest", "session_epoch"): {-1: "no session, or its end", 0: "opens a session"},
    ("ShareFetchRequest", "share_session_epoch"): {-1: "ends the session", 0: "opens a session"},
    ("ConsumerGroupHeartbeatRequest", "member_epoch"): {-2: "leaves, static", -1: "leaves", 0: "joins"},
    ("DescribeClientQuotasRequest", "match_type"): {0: "exact", 1: "default", 2: "any"},
    ("ConsumerGroupCurrentMemberAssignmentValue", "state"): _MEMBER_STATES,
    ("ShareGroupCurrentMemberAssignmentValue", "state"): _MEMBER_STATES,
    ("StreamsGroupCurrentMemberAssignmentValue", "state"): {
        1: "stable",
        2: "unrevoked tasks",
        3: "unreleased tasks",
        127: "unknown",
    },
    ("StreamsGroupHeartbeatRequest", "member_epoch"): {-2: "leaves, static", -1: "leaves", 0: "joins"},
    ("ShareGroupHeartbeatRequest", "member_epoch"): {-1: "leaves", 0: "joins"},
    ("StreamsGroupHeartbeatResponse", "status_code"): _STREAMS_STATUSES,
    ("BrokerRegistrationChangeRecord", "fenced"): {-1: "unfenced", 0: "no change", 1: "fenced"},
    ("BrokerRegistrationChangeRecord", "in_controlled_shutdown"): {0: "no change", 1: "yes"},
    ("ConsumerGroupDescribeResponse", "member_type"): {0: "classic", 1: "consumer"},
}
_TIMES: Final = ("log_append_time_ms", "transaction_start_time_ms")


def utc(milliseconds: int) -> str:
    """A readable timestamp.

    >>> utc(1700000000123), utc(-1), utc(2**62)
    ('2023-11-14 22:13:20.123 UTC', 'none', '')
    """
    if milliseconds == -1:
        return "none"
    if not 0 <= milliseconds <= _LATEST_TIME:
        return ""
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03} UTC"


def error_name(code: int) -> str:
    """The name of an error code.

    >>> error_name(3), error_name(0), error_name(31999)
    ('UNKNOWN_TOPIC_OR_PARTITION', 'NONE', 'not a code that Kafka has')
    """
    found = ErrorCode(code)
    unknown = found.name == ErrorCode.UNKNOWN_SERVER_ERROR.name and code != ErrorCode.UNKNOWN_SERVER_ERROR
    return "not a code that Kafka has" if unknown else found.name


def api_name(key: int) -> str:
    """The name of an API key, or nothing."""
    try:
        return api(key).name
    except UnknownMessageError:
        return ""


@cache
def note_on(message: str, attribute: str) -> Callable[[Any], str] | None:
    """The function that explains the values of a field, if there is one."""
    names = _NAMES_IN.get((message, attribute))
    if names is not None and attribute != "timestamp":
        return lambda value: names.get(value, "")
    if names is not None:
        return lambda value: names.get(value, "") or utc(value)
    if attribute.endswith("error_code"):
        return error_name
    if attribute in ("request_api_key", "api_key"):
        return api_name
    if "timestamp" in attribute or attribute in _TIMES:
        return utc
    if attribute.endswith("authorized_operations"):
        return _operations
    if attribute.endswith("topic_id"):
        return _topic_id
    return _by_name(message, attribute)


def _by_name(message: str, attribute: str) -> Callable[[Any], str] | None:
    names = _NAMES.get(attribute)
    about_acls = "Acl" in message or "AccessControl" in message
    if attribute in ("resource_type", "resource_type_filter"):
        names = _ACL_RESOURCES if about_acls else _CONFIG_RESOURCES
    elif attribute == "operation" and about_acls:
        names = _OPERATIONS
    elif attribute in _PATTERN_TYPES:
        names = _NAMES["pattern_type"]
    elif attribute == "source" and message == "DescribeConfigsResponse":
        names = _CONFIG_SOURCES
    if not names:
        return None
    return lambda value: names.get(value, "")


def _operations(bits: int) -> str:
    if bits == _NOT_ASKED_FOR:
        return "not asked for"
    return ", ".join(name for bit, name in _OPERATIONS.items() if bits >> bit & 1)


def _topic_id(value: UUID) -> str:
    if not value.int:
        return "none"
    return "__cluster_metadata" if value == METADATA_TOPIC_ID else ""
