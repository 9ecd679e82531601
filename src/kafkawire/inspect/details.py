"""What the bodies of an exchange tell of it as a whole: who asked, in which group or transaction, with what result.

Rules:
- Empty strings and producer ids below 0 are absent values.
- The error of an exchange is the response's own, or else the first that anything in it has.
- What a response says of member, generation and producer is truer than what the request asked with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkawire.messages import Message, StructBase

if TYPE_CHECKING:
    from kafkawire.codec.plan import Shape

Row = dict[str, object]

_ASKED: Final = {
    "acks": "acks",
    "group_id": "group_id",
    "member_id": "member_id",
    "group_instance_id": "instance_id",
    "instance_id": "instance_id",
    "generation_id": "generation",
    "generation_id_or_member_epoch": "generation",
    "member_epoch": "generation",
    "reason": "reason",
    "transactional_id": "transactional_id",
    "v3_and_below_transactional_id": "transactional_id",
    "producer_id": "producer_id",
    "v3_and_below_producer_id": "producer_id",
    "producer_epoch": "producer_epoch",
    "v3_and_below_producer_epoch": "producer_epoch",
    "committed": "committed",
    "replica_id": "replica_id",
    "max_wait_ms": "max_wait_ms",
    "min_bytes": "min_bytes",
    "isolation_level": "isolation",
    "session_id": "session_id",
    "session_epoch": "session_epoch",
    "allow_auto_topic_creation": "auto_create",
}
_ANSWERED: Final = {
    "throttle_time_ms": "throttle_ms",
    "member_id": "member_id",
    "generation_id": "generation",
    "member_epoch": "generation",
    "producer_id": "producer_id",
    "producer_epoch": "producer_epoch",
    "session_id": "session_id",
    "session_lifetime_ms": "session_lifetime_ms",
}
_NESTED: Final = {  # where newer versions keep what older ones had at the top
    "LeaveGroupRequest": "members",
    "OffsetFetchRequest": "groups",
    "AddPartitionsToTxnRequest": "transactions",
}
_ABSENT: Final = ("", -1)
_known: dict[tuple[type, int], list[tuple[str, str]]] = {}
_with_errors: dict[type[StructBase], tuple[list[str], list[str]]] = {}
_ERRORS: Final = ("error_code", "partition_error_code")


def details(request: Message | None, response: Message | None) -> Row:
    """The columns of the exchanges table that bodies fill."""
    row: Row = {}
    _copy(row, request, _ASKED)
    nested: list[Any] = getattr(request, _NESTED.get(type(request).__name__, ""), None) or []
    if nested:
        _copy(row, nested[0], _ASKED)
    _describe_request(row, request)
    _copy(row, response, _ANSWERED)
    if response is not None:
        row["error_code"] = _error(response)
        row["throttle_ms"] = getattr(response, "throttle_time_ms", None)
    if type(response).__name__ == "ApiVersionsResponse":
        keys: list[Any] = getattr(response, "api_keys", [])
        row["api_versions"] = [
            {"api_key": each.api_key, "min": each.min_version, "max": each.max_version} for each in keys
        ]
    return row


def _describe_request(row: Row, request: Any) -> None:
    kind = type(request).__name__
    if kind == "FindCoordinatorRequest":
        keys = request.coordinator_keys or [request.key]
        row["transactional_id" if request.key_type == 1 else "group_id"] = keys[0]
    elif kind == "FetchRequest":
        row["replica_id"] = max(request.replica_id, request.replica_state.replica_id)


def _copy(row: Row, source: Any, columns: dict[str, str]) -> None:
    if source is None:
        return
    for attribute, column in _present(type(source), columns):
        value = getattr(source, attribute)
        if (value is not None and value not in _ABSENT) or column == "acks":
            row[column] = value


def _present(kind: type, columns: dict[str, str]) -> list[tuple[str, str]]:
    """The columns that a message class has attributes for; looked up once a class."""
    known = _known.get((kind, id(columns)))
    if known is None:
        known = [(attribute, column) for attribute, column in columns.items() if hasattr(kind, attribute)]
        _known[kind, id(columns)] = known
    return known


def _error(value: Any) -> int:
    """The first error code of a message that is one, its own before others; 0 if there is none."""
    own, others = _places_of_errors(type(value))
    for name in own:
        if code := getattr(value, name):
            return int(code)
    for name in others:
        nested = getattr(value, name)
        if nested is None:
            continue
        for each in (nested,) if isinstance(nested, StructBase) else nested:
            if code := _error(each):
                return code
    return 0


def _places_of_errors(kind: type[StructBase]) -> tuple[list[str], list[str]]:
    """The attributes of a struct that are error codes, and those that may hold more."""
    known = _with_errors.get(kind)
    if known is None:
        slots = kind.__shape__.slots
        known = _with_errors[kind] = (
            [slot.attribute for slot in slots if slot.attribute in _ERRORS],
            [slot.attribute for slot in slots if slot.shape is not None and _has_errors(slot.shape)],
        )
    return known


def _has_errors(shape: Shape) -> bool:
    return any(
        slot.attribute in _ERRORS or (slot.shape is not None and _has_errors(slot.shape)) for slot in shape.slots
    )
