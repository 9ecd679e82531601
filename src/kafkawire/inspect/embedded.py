"""Messages inside the bytes of other messages and of records.

Rules:
- Most carry their version in front, as an int16; records of the metadata log carry a frame of three varints.
- What does not read to its end as the message it should be stays plain bytes: brokers do not look inside either, so
  it is no fault of the frame.
- A version above the highest known is read as the highest known, and what is left is shown as such.
- A request inside an Envelope is opened, but no Envelope inside it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from kafkawire.codec.errors import DecodeError
from kafkawire.inspect.cursor import INT16, Cursor, StopWalkError
from kafkawire.inspect.tree import Node
from kafkawire.inspect.walker import Opening, Walker
from kafkawire.messages import Message, api, message_class, message_names

if TYPE_CHECKING:
    from kafkawire.codec import plan as p
    from kafkawire.inspect.walker import Opener

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
    from kafkawire.messages.compile import compile_plan

    plan = cls.__plans__.get(version)
    if plan is None:
        plan = cls.__plans__[version] = compile_plan(cls, version)
    return plan


def open_bytes(walker: Walker, step: p.Step, start: int) -> Opening | None:
    """What stands inside a field of type bytes, if it is known."""
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
    """A message behind an int16 that is its version."""
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


def open_framed(view: memoryview, start: int, end: int, folder: str) -> Opening | None:
    """A record of the metadata log: frame version, record type and record version, then its body."""
    root = Node("", start, end - start, "record")
    cursor = Cursor(view, start, end)
    try:
        cursor.leaf(root, "frame_version", "uvarint", cursor.uvarint())
        kind = cursor.uvarint()
        name = _records_by_id(folder).get(kind)
        cursor.leaf(root, "record_type", "uvarint", kind, name or "")
        version = cursor.uvarint()
        cursor.leaf(root, "record_version", "uvarint", version)
    except DecodeError:
        return None
    if name is None or version not in message_class(name).__schema__.versions:
        return None
    if walk_into(root, view, cursor.position, end, name, version) != end:
        return None
    return Opening(lambda: list(root.children()), f"{name} v{version}")


def walk_into(
    root: Node, view: memoryview, start: int, end: int, name: str, version: int, opener: Opener | None = open_bytes
) -> int | None:
    """Add the fields of a message to a node; the position behind it, or None where it makes no sense."""
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


@cache
def _records_by_id(folder: str) -> dict[int, str]:
    """The records of a folder of schemas, by their type."""
    found = {}
    for name in message_names():
        if name.endswith("Record"):
            schema = message_class(name).__schema__
            if schema.key is not None and schema.place.startswith(f"data/{folder}/"):
                found[schema.key] = name
    return found
