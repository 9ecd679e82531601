"""One row per partition of an exchange, with the values of its request and response.

Rules:
- Request and response are joined by topic (name or id) and partition; either may lack a partition.
- A partition of -1 is the topic as a whole, for responses with errors of topics (Metadata, CreateTopics).
- A fetch in a session has rows for the partitions that its request or its response names, with the offsets of the
  session. A partition that leaves the session has a row without offset and error.
- A request that adds partitions to a transaction, or writes its markers, has one row for each.
- A response that assigns partitions to a member has one row for each: SyncGroup of consumers, ConsumerGroupHeartbeat,
  ShareGroupHeartbeat.
- Records that a share group acquires count as delivered as often as the one that was delivered most.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from kafkawire.messages import CodecError, ConsumerProtocolAssignment, apis

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkawire.messages import Message
    from kafkawire.wire.fetch_sessions import ObservedSession

_NIL: Final = UUID(int=0)
Key = tuple[str, UUID, int]
Row = dict[str, object]


class Form(NamedTuple):
    """The attributes with topics of a message, with partitions of a topic, and with the number of a partition."""

    topics: str
    partitions: str = "partitions"
    number: str = "partition_index"
    outer: str = ""


FORMS: Final[dict[str, tuple[Form, ...]]] = {
    "ProduceRequest": (Form("topic_data", "partition_data", "index"),),
    "ProduceResponse": (Form("responses", "partition_responses", "index"),),
    "FetchRequest": (Form("topics", number="partition"),),
    "FetchResponse": (Form("responses"),),
    "ShareFetchResponse": (Form("responses"),),
    "ShareAcknowledgeResponse": (Form("responses"),),
    "DescribeShareGroupOffsetsResponse": (Form("topics", outer="groups"),),
    "AlterShareGroupOffsetsResponse": (Form("responses"),),
    "DeleteShareGroupOffsetsResponse": (Form("responses", ""),),
    "ListOffsetsRequest": (Form("topics"),),
    "ListOffsetsResponse": (Form("topics"),),
    "MetadataResponse": (Form("topics"),),
    "DescribeTopicPartitionsResponse": (Form("topics"),),
    "CreateTopicsResponse": (Form("topics", ""),),
    "DeleteTopicsResponse": (Form("responses", ""),),
    "OffsetCommitRequest": (Form("topics"),),
    "OffsetCommitResponse": (Form("topics"),),
    "TxnOffsetCommitRequest": (Form("topics"),),
    "TxnOffsetCommitResponse": (Form("topics"),),
    "OffsetFetchResponse": (Form("topics"), Form("topics", outer="groups")),
    "OffsetForLeaderEpochRequest": (Form("topics", number="partition"),),
    "OffsetForLeaderEpochResponse": (Form("topics", number="partition"),),
    "DeleteRecordsRequest": (Form("topics"),),
    "DeleteRecordsResponse": (Form("topics"),),
    "AddPartitionsToTxnResponse": (
        Form("results_by_topic_v3_and_below", "results_by_partition"),
        Form("topic_results", "results_by_partition", outer="results_by_transaction"),
    ),
    "WriteTxnMarkersResponse": (Form("topics", outer="markers"),),
}

OTHERS: Final = frozenset(
    {"SyncGroup", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "AddPartitionsToTxn", "WriteTxnMarkers"}
)
APIS_OF_PARTITIONS: Final[Mapping[int, int]] = {
    each.key: 0
    for each in apis()
    if each.name in OTHERS or not FORMS.keys().isdisjoint({f"{each.name}Request", f"{each.name}Response"})
}
"""The APIs whose exchanges may have partitions, and the first version of each, as `_exchanges_of` takes them."""
_WITH_RECORDS: Final = frozenset({"ProduceRequest", "FetchResponse", "ShareFetchResponse"})
NAMES: Final = ("name", "topic", "topic_name")
COLUMNS: Final = {
    "error_code": "error_code",
    "partition_error_code": "error_code",
    "fetch_offset": "fetch_offset",
    "partition_max_bytes": "max_bytes",
    "committed_offset": "committed_offset",
    "timestamp": "timestamp",
    "base_offset": "base_offset",
    "offset": "base_offset",
    "high_watermark": "high_watermark",
    "last_stable_offset": "lso",
    "log_start_offset": "log_start",
    "low_watermark": "log_start",
    "leader_id": "leader_id",
    "leader_epoch": "leader_epoch",
}
ASKED_ONLY: Final = {"ListOffsetsResponse": ("timestamp",), "FetchRequest": ("high_watermark", "log_start_offset")}
COUNTED: Final = {"replica_nodes": "replicas", "isr_nodes": "isr", "records": "bytes"}


def partition_rows(
    request: Message | None, response: Message | None, session: ObservedSession | None
) -> dict[Key, Row]:
    """The rows of an exchange, by topic and partition."""
    rows: dict[Key, Row] = {}
    for message in (request, response):
        for key, topic, partition in _partitions(message):
            _fill(rows.setdefault(key, {}), message, partition if partition is not None else topic)
    for key in (*_assigned(response), *_added(request)):
        rows.setdefault(key, {})
    if session is not None:
        for key in _forgotten(request):
            rows.setdefault(key, {})
        for key, row in rows.items():
            asked = session.partitions.get(key)
            if asked is not None:
                row["fetch_offset"], row["max_bytes"] = asked.offset, asked.max_bytes
    return rows


def records_by_partition(message: Message | None) -> Iterator[tuple[Key, memoryview]]:
    """The records of a message, by partition; partitions without records are absent."""
    if type(message).__name__ not in _WITH_RECORDS:
        return
    for key, _, partition in _partitions(message):
        records = getattr(partition, "records", None)
        if records is not None and len(records):
            yield key, memoryview(records)


def _assigned(response: Any) -> Iterator[Key]:
    """The partitions that a response assigns to the member."""
    kind = type(response).__name__
    if kind == "SyncGroupResponse" and response.protocol_type in (None, "consumer"):
        assignment = _read_assignment(response.assignment)
        for topic in assignment.assigned_partitions if assignment is not None else ():
            yield from ((topic.topic, _NIL, partition) for partition in topic.partitions)
    elif kind in ("ConsumerGroupHeartbeatResponse", "ShareGroupHeartbeatResponse") and response.assignment is not None:
        for topic in response.assignment.topic_partitions:
            yield from (("", topic.topic_id, partition) for partition in topic.partitions)


def _read_assignment(data: bytes) -> ConsumerProtocolAssignment | None:
    """The assignment of a consumer; None for groups of other kinds."""
    try:
        version = min(struct.unpack_from(">h", data)[0], ConsumerProtocolAssignment.__schema__.versions.last)
        return ConsumerProtocolAssignment.decode_prefix(data[2:], version)[0]
    except (CodecError, struct.error):
        return None


def _forgotten(request: Any) -> Iterator[Key]:
    for topic in getattr(request, "forgotten_topics_data", ()):
        yield from ((topic.topic, topic.topic_id, partition) for partition in topic.partitions)


def _added(request: Any) -> Iterator[Key]:
    """The partitions that a request adds to transactions, or in which it ends them."""
    kind = type(request).__name__
    if kind == "AddPartitionsToTxnRequest":
        for each in (request.v3_and_below_topics, *(each.topics for each in request.transactions)):
            for topic in each:
                yield from ((topic.name, _NIL, partition) for partition in topic.partitions)
    elif kind == "WriteTxnMarkersRequest":
        for marker in request.markers:
            for topic in marker.topics:
                yield from ((topic.name, _NIL, partition) for partition in topic.partition_indexes)


def _partitions(message: Message | None) -> Iterator[tuple[Key, Any, Any]]:
    """Each topic with an error code of its own (partition None), and each partition."""
    if message is None:
        return
    for form in FORMS.get(type(message).__name__, ()):
        for holder in getattr(message, form.outer) if form.outer else (message,):
            for topic in getattr(holder, form.topics) or ():
                name = next((found for each in NAMES if (found := getattr(topic, each, None))), "")
                topic_id = getattr(topic, "topic_id", _NIL)
                if hasattr(topic, "error_code"):
                    yield (name, topic_id, -1), topic, None
                for partition in getattr(topic, form.partitions) if form.partitions else ():
                    yield (name, topic_id, getattr(partition, form.number)), topic, partition


def _fill(row: Row, message: Message | None, source: Any) -> None:
    plan = _plans.get((type(message), type(source)))
    if plan is None:
        plan = _plans[type(message), type(source)] = _plan(type(message).__name__, source)
    for attribute, column in plan.copied:
        row[column] = getattr(source, attribute)
    for attribute, column in plan.counted:
        value = getattr(source, attribute)
        row[column] = 0 if value is None else len(value)
    if plan.has_acquired and source.acquired_records:
        most = max(source.acquired_records, key=lambda each: (each.delivery_count, -each.first_offset))
        row["deliveries"], row["base_offset"] = most.delivery_count, most.first_offset
    if plan.has_leader and source.current_leader.leader_epoch >= 0:
        row["leader_id"], row["leader_epoch"] = source.current_leader.leader_id, source.current_leader.leader_epoch


class _Plan(NamedTuple):
    """The attributes of a struct and their columns; computed once per class."""

    copied: list[tuple[str, str]]
    counted: list[tuple[str, str]]
    has_leader: bool
    has_acquired: bool


_plans: dict[tuple[type, type], _Plan] = {}


def _plan(kind: str, source: Any) -> _Plan:
    skipped = ASKED_ONLY.get(kind, ())
    copied = [pair for pair in COLUMNS.items() if hasattr(source, pair[0]) and pair[0] not in skipped]
    counted = [pair for pair in COUNTED.items() if hasattr(source, pair[0])]
    return _Plan(copied, counted, hasattr(source, "current_leader"), hasattr(source, "acquired_records"))
