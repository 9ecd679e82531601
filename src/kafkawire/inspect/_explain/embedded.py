"""Messages inside the bytes of other messages and of records.

Rules:
- Most begin with their version as an int16, and keys of coordinators with their type. Records of the metadata log begin
  with a frame of three varints.
- Bytes that do not decode to their end as the expected message stay plain bytes. That is not a fault of the frame,
  because brokers do not decode them either.
- A version above the highest known is read as the highest known, and the bytes left are shown as such.
- A request inside an Envelope is explained, but not an Envelope inside it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from kafkawire._codec.errors import DecodeError
from kafkawire.inspect._explain.cursor import INT16, Cursor, StopWalkError
from kafkawire.inspect._explain.tree import Node
from kafkawire.inspect._explain.walker import Opening, Walker
from kafkawire.log.internal_topics import record_names
from kafkawire.messages import Message, api, message_class

if TYPE_CHECKING:
    from kafkawire._codec import plan as p
    from kafkawire.inspect._explain.walker import Opener

SUBSCRIPTION: Final = "ConsumerProtocolSubscription"
ASSIGNMENT: Final = "ConsumerProtocolAssignment"
_MEMBER_FIELDS: Final = {
    ("JoinGroupRequest", "metadata"): SUBSCRIPTION,
    ("JoinGroupResponse", "metadata"): SUBSCRIPTION,
    ("SyncGroupRequest", "assignment"): ASSIGNMENT,
    ("SyncGroupResponse", "assignment"): ASSIGNMENT,
    ("DescribeGroupsResponse", "member_metadata"): SUBSCRIPTION,
    ("DescribeGroupsResponse", "member_assignment"): ASSIGNMENT,
    ("GroupMetadataValue", "subscription"): SUBSCRIPTION,
    ("GroupMetadataValue", "assignment"): ASSIGNMENT,
}
_CONSUMER: Final = "consumer"
_ENVELOPE: Final = 58


def plan_of(cls: type[Message], version: int) -> p.Plan:
    """The plan of a version that the message has."""
    from kafkawire.messages import compile_plan

    plan = cls.__plans__.get(version)
    if plan is None:
        plan = cls.__plans__[version] = compile_plan(cls, version)
    return plan


def open_bytes(walker: Walker, step: p.Step, start: int) -> Opening | None:
    """The content of a field of type bytes, if it is known."""
    message, attribute = walker.message, step.slot.attribute
    inside = _MEMBER_FIELDS.get((message, attribute))
    if inside is not None:
        protocol_type = walker.known("protocol_type")
        return (
            open_prefixed(walker.view, start, walker.position, inside) if protocol_type in (None, _CONSUMER) else None
        )
    if message == "EnvelopeRequest" and attribute == "request_principal":
        return open_prefixed(walker.view, start, walker.position, "DefaultPrincipalData")
    if message == "EnvelopeRequest" and attribute == "request_data":
        return _open_request(walker.view, start, walker.position)
    return None


def open_prefixed(view: memoryview, start: int, end: int, name: str) -> Opening | None:
    """A message after an int16 with its version."""
    root = Node("", start, end - start, name)
    cursor = Cursor(view, start, end)
    versions = message_class(name).__schema__.versions
    try:
        stated = cursor.fixed(INT16)
    except DecodeError:
        return None
    if stated < versions.first:
        return None
    cursor.leaf(root, "version", "int16", stated)
    version = min(stated, versions.last)
    behind = walk_into(root, view, cursor.position, end, name, version)
    if behind is None or (behind < end and stated == version):
        return None
    if behind < end:
        root.add(Node("unread", behind, end - behind, "bytes", view[behind:end], f"of a version after {version}"))
    return Opening(lambda: list(root.children()), f"{name} v{stated}")


def open_key_after_type(view: memoryview, start: int, end: int, name: str) -> Opening | None:
    """The key of a coordinator's record after an int16 with its type; a key has version 0 only."""
    root = Node("", start, end - start, name)
    cursor = Cursor(view, start, end)
    try:
        kind = cursor.fixed(INT16)
    except DecodeError:
        return None
    if kind != message_class(name).__schema__.key:
        return None
    cursor.leaf(root, "type", "int16", kind)
    if walk_into(root, view, cursor.position, end, name, 0) != end:
        return None
    return Opening(lambda: list(root.children()), name)


def open_framed(view: memoryview, start: int, end: int, folder: str) -> Opening | None:
    """A record of the metadata log: frame version, record type and record version, then its body."""
    root = Node("", start, end - start, "record")
    cursor = Cursor(view, start, end)
    try:
        cursor.leaf(root, "frame_version", "uvarint", cursor.uvarint())
        kind = cursor.uvarint()
        name = record_names(folder, "id").get(kind, "")
        cursor.leaf(root, "record_type", "uvarint", kind, name)
        version = cursor.uvarint()
        cursor.leaf(root, "record_version", "uvarint", version)
    except DecodeError:
        return None
    if not name or version not in message_class(name).__schema__.versions:
        return None
    if walk_into(root, view, cursor.position, end, name, version) != end:
        return None
    return Opening(lambda: list(root.children()), f"{name} v{version}")


def walk_into(
    root: Node, view: memoryview, start: int, end: int, name: str, version: int, opener: Opener | None = open_bytes
) -> int | None:
    """Add the fields of a message to a node; returns the position after it, or None if the bytes are invalid."""
    walker = Walker(view, start, end, name, opener)
    try:
        walker.struct(plan_of(message_class(name), version), root)
    except StopWalkError:
        return None
    return walker.position


def _open_request(view: memoryview, start: int, end: int) -> Opening | None:
    if end - start < 4:
        return None
    key, version = INT16.unpack_from(view, start)[0], INT16.unpack_from(view, start + 2)[0]
    if key == _ENVELOPE or key not in _api_keys() or version not in api(key).versions:
        return None
    header = Node("header", start, 0, "RequestHeader")
    behind = walk_into(header, view, start, end, "RequestHeader", api(key).request_header_version(version))
    if behind is None:
        return None
    body = Node("body", behind, 0, api(key).name + "Request")
    if walk_into(body, view, behind, end, body.type, version) != end:
        return None
    return Opening(lambda: [header, body], f"{body.type} v{version}")


@cache
def _api_keys() -> frozenset[int]:
    from kafkawire.messages import apis

    return frozenset(each.key for each in apis())
