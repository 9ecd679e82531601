"""The bodies of an exchange: their messages, decoded from frames, and the columns of exchanges that they fill.

Rules:
- A frame with a gap, a raw token, and an unknown API or version have no message; `fault` gives the reason.
- A response to an unknown version of ApiVersions is read as the highest known one, as far as possible. It lists the
  versions that the connection may use.
- A response has the version of its request. A response to ApiVersions that rejects the version has version 0.
- Bytes after a message are not a fault, because brokers and clients ignore them. librdkafka sends some (Metadata v12).
- Fetch sessions need only the start of a response: its error code and session id. They are read even if the rest cannot
  be decoded.
- Empty strings and producer ids below 0 are absent values.
- The error of an exchange is that of the response, or else the first one inside it.
- The member, generation and producer of a response override those of its request. EndTxn keeps those of its request,
  because the response names those of the next transaction (KIP-890).
- A request with several markers or transactions is named by its first.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.messages import (
    CodecError,
    Message,
    RequestHeader,
    ResponseHeader,
    StructBase,
    UnknownMessageError,
    api,
)
from kafkawire.wire.fetch_sessions import FIRST_VERSION, SessionResponse

if TYPE_CHECKING:
    from kafkawire._codec.plan import Shape
    from kafkawire.inspect._tables.exchanges import Conversation
    from kafkawire.messages import Api

Row = dict[str, object]
REQUEST_COLUMNS: Final = {
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
    "transaction_result": "committed",
    "transaction_timeout_ms": "transaction_timeout_ms",
    "replica_id": "replica_id",
    "max_wait_ms": "max_wait_ms",
    "min_bytes": "min_bytes",
    "isolation_level": "isolation",
    "session_id": "session_id",
    "session_epoch": "session_epoch",
    "share_session_epoch": "session_epoch",
    "allow_auto_topic_creation": "auto_create",
}
RESPONSE_COLUMNS: Final = {
    "throttle_time_ms": "throttle_ms",
    "member_id": "member_id",
    "generation_id": "generation",
    "member_epoch": "generation",
    "producer_id": "producer_id",
    "producer_epoch": "producer_epoch",
    "session_id": "session_id",
    "session_lifetime_ms": "session_lifetime_ms",
}
_NESTED: Final = {  # the lists of newer versions with fields that older ones had at the top
    "LeaveGroupRequest": "members",
    "OffsetFetchRequest": "groups",
    "AddPartitionsToTxnRequest": "transactions",
    "WriteTxnMarkersRequest": "markers",
}
_OF_THE_NEXT: Final = {"EndTxnResponse": ("producer_id", "producer_epoch")}
_ABSENT: Final = ("", -1)
_known: dict[tuple[type, int], list[tuple[str, str]]] = {}
_with_errors: dict[type[StructBase], tuple[list[str], list[str]]] = {}
ERRORS: Final = ("error_code", "partition_error_code", "acknowledge_error_code")
FETCH: Final = 1
_START: Final = 1024
_API_VERSIONS: Final = 18
_UNSUPPORTED: Final = 35


class ExchangeMessages(NamedTuple):
    """The request and the response of an exchange."""

    request: Message | None
    response: Message | None
    fault: str | None
    trailing: int = 0


_NOTHING: Final = ExchangeMessages(None, None, None)


def read_messages(talk: Conversation, index: int) -> ExchangeMessages:
    """The messages of one exchange of a connection."""
    requests, responses = talk.connection.requests, talk.connection.responses
    asked, answered = int(talk.matches.request[index]), int(talk.matches.response[index])
    if asked < 0 or requests.api_key[asked] < 0:
        return _NOTHING
    version = int(requests.version[asked])
    try:
        which = api(int(requests.api_key[asked]))
    except UnknownMessageError as error:
        return ExchangeMessages(None, None, str(error))
    request = response = fault = None
    trailing = 0
    if requests.whole[asked]:
        request, fault, trailing = _read(requests.read(asked), which, version, is_request=True)
    if answered >= 0 and responses.whole[answered]:
        response, other, more = _read(responses.read(answered), which, version, is_request=False)
        fault, trailing = fault or other, trailing + more
        if response is None and which.key == _API_VERSIONS and version > which.versions.last:
            response = _read_start(responses.read(answered), which)
    return ExchangeMessages(request, response, fault, trailing)


def read_request(talk: Conversation, index: int) -> Message | None:
    """The request of an exchange with a known API, if it is complete and can be decoded."""
    requests, asked = talk.connection.requests, int(talk.matches.request[index])
    if asked < 0 or not requests.whole[asked]:
        return None
    which = api(int(requests.api_key[asked]))
    return _read(requests.read(asked), which, int(requests.version[asked]), is_request=True)[0]


def read_response(talk: Conversation, index: int) -> Message | None:
    """The response of an exchange with a known API, if it is complete and can be decoded."""
    requests, responses = talk.connection.requests, talk.connection.responses
    asked, answered = int(talk.matches.request[index]), int(talk.matches.response[index])
    if asked < 0 or answered < 0 or not responses.whole[answered]:
        return None
    which = api(int(requests.api_key[asked]))
    return _read(responses.read(answered), which, int(requests.version[asked]), is_request=False)[0]


def response_version(which: Api, version: int, frame: memoryview) -> int:
    """The version of the response to a request of this version."""
    if which.key == _API_VERSIONS and len(frame) >= 6 and struct.unpack_from(">h", frame, 4)[0] == _UNSUPPORTED:
        return 0
    return version


def _read(frame: memoryview, which: Api, version: int, *, is_request: bool) -> tuple[Message | None, str | None, int]:
    """A message, the reason if it cannot be decoded, and the number of bytes after it."""
    try:
        if is_request:
            _, body = RequestHeader.decode_prefix(frame, which.request_header_version(version))
            message, size = which.request.decode_prefix(frame[body:], version)
        else:
            version = response_version(which, version, frame)
            _, body = ResponseHeader.decode_prefix(frame, which.response_header_version(version))
            message, size = which.response.decode_prefix(frame[body:], version)
    except CodecError as error:
        return None, str(error), 0
    return message, None, len(frame) - body - size


def _read_start(frame: memoryview, which: Api) -> Message | None:
    """A response of an unknown version, as far as the highest known version reads it."""
    version = which.versions.last
    try:
        _, body = ResponseHeader.decode_prefix(frame, which.response_header_version(version))
        return which.response.decode_prefix(frame[body:], version)[0]
    except CodecError:
        return None


def read_session_response(talk: Conversation, index: int) -> SessionResponse | None:
    """The session fields of a Fetch response; None without a response, or if it cannot be decoded."""
    requests, responses = talk.connection.requests, talk.connection.responses
    answered, version = int(talk.matches.response[index]), int(requests.version[talk.matches.request[index]])
    if answered < 0 or version < FIRST_VERSION or not responses.whole[answered]:
        return None
    size = min(int(responses.size[answered]) - 4, _START)
    start = responses.stream.read(int(responses.position[answered]) + 4, size, int(responses.first[answered]))
    try:
        _, body = ResponseHeader.decode_prefix(start, api(FETCH).response_header_version(version))
        return SessionResponse(*struct.unpack_from(">4xhi", start, body))
    except (CodecError, struct.error):
        return None


def body_columns(request: Message | None, response: Message | None) -> Row:
    """The columns of the exchanges table that bodies fill."""
    row: Row = {}
    _copy(row, request, REQUEST_COLUMNS)
    nested: list[Any] = getattr(request, _NESTED.get(type(request).__name__, ""), None) or []
    if nested:
        _copy(row, nested[0], REQUEST_COLUMNS)
    _describe_request(row, request)
    own = {name: row.get(name) for name in _OF_THE_NEXT.get(type(response).__name__, ())}
    _copy(row, response, RESPONSE_COLUMNS)
    row.update(own)
    if response is not None:
        row["error_code"] = _error(response)
        row["throttle_ms"] = getattr(response, "throttle_time_ms", None)
        row["assigned"] = _assigned(response)
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
    elif kind == "ConsumerGroupHeartbeatRequest":
        row["owned"] = _count(request.topic_partitions)
    elif kind == "StreamsGroupHeartbeatRequest":
        row["owned"] = _count(request.active_tasks)


def _assigned(response: Any) -> int | None:
    """The partitions or active tasks that the response to a heartbeat assigns."""
    kind = type(response).__name__
    if kind == "StreamsGroupHeartbeatResponse":
        return _count(response.active_tasks)
    if kind in ("ConsumerGroupHeartbeatResponse", "ShareGroupHeartbeatResponse"):
        return None if response.assignment is None else _count(response.assignment.topic_partitions)
    return None


def _count(listed: list[Any] | None) -> int | None:
    """The number of partitions of topics or subtopologies."""
    return None if listed is None else sum(len(each.partitions) for each in listed)


def _copy(row: Row, source: Any, columns: dict[str, str]) -> None:
    if source is None:
        return
    for attribute, column in _present(type(source), columns):
        value = getattr(source, attribute)
        if (value is not None and value not in _ABSENT) or column == "acks":
            row[column] = value


def _present(kind: type, columns: dict[str, str]) -> list[tuple[str, str]]:
    """The columns for which a message class has attributes; computed once per class."""
    known = _known.get((kind, id(columns)))
    if known is None:
        known = [(attribute, column) for attribute, column in columns.items() if hasattr(kind, attribute)]
        _known[kind, id(columns)] = known
    return known


def _error(value: Any) -> int:
    """The first error code of a message, its own before nested ones; 0 if there is none."""
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
            [slot.attribute for slot in slots if slot.attribute in ERRORS],
            [slot.attribute for slot in slots if slot.shape is not None and _has_errors(slot.shape)],
        )
    return known


def _has_errors(shape: Shape) -> bool:
    return any(slot.attribute in ERRORS or (slot.shape is not None and _has_errors(slot.shape)) for slot in shape.slots)
