"""Explaining bytes of the protocol as a tree: a request, a response, a message without frame, record batches.

Rules:
- The header of a request contains the API and version of the body. For a response the caller passes them.
- A frame may begin with its 4-byte size or without it. By default the size is assumed to be there if it fits.
- Offsets count from the start of the buffer, so several frames of one dump share its offsets.
- Invalid bytes raise nothing: the fault is in the tree, and the leaves still cover the span.
- `topics` gives the names of topic ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkawire._codec import UnsupportedVersionError
from kafkawire._codec import plan as p
from kafkawire.inspect._explain.cursor import INT16, INT32, Cursor, StopWalkError
from kafkawire.inspect._explain.embedded import (
    open_bytes,
    open_framed,
    open_key_after_type,
    open_prefixed,
    plan_of,
)
from kafkawire.inspect._explain.record_batches import begins_with_batch, explain_batches
from kafkawire.inspect._explain.tree import Fault, Node, Space
from kafkawire.inspect._explain.value_names import METADATA_TOPIC_ID
from kafkawire.inspect._explain.walker import Opening, Walker
from kafkawire.messages import Api, UnknownMessageError, api, message_class

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire._codec.engine import Buffer
    from kafkawire.inspect._explain.walker import Opener
    from kafkawire.messages.schema import MessageSchema

_NO_TOPICS: Final[Mapping[UUID, str]] = {}
_API_VERSIONS: Final = 18
_UNSUPPORTED_VERSION: Final = 35


@dataclass(slots=True)
class Explanation:
    """Explained bytes: the kind (request, response, message, records), the message, its version, and the tree.

    `message` is empty and `version` is -1 if the bytes do not show them. `whole` means that header and body decoded to
    their end. Faults of records and batches, which are decoded later, do not count.
    """

    kind: str
    message: str
    version: int
    space: Space
    whole: bool

    @property
    def title(self) -> str:
        return f"{self.message} v{self.version}" if self.message and self.version >= 0 else self.message or self.kind


def explain_request(
    data: Buffer,
    *,
    start: int = 0,
    end: int | None = None,
    sized: bool | None = None,
    version: int | None = None,
    topics: Mapping[UUID, str] = _NO_TOPICS,
) -> Explanation:
    """The tree of a request; `version` overrides the version in its header.

    >>> frame = bytes.fromhex("0000000a 0012 0000 00000007 ffff")
    >>> [(leaf.path, leaf.value, leaf.note) for leaf in explain_request(frame).space.leaves()][1:3]
    [('header.request_api_key', 18, 'ApiVersions'), ('header.request_api_version', 0, '')]
    """
    frame = _Frame(data, start, end, sized, topics)
    view, at, left = frame.view, frame.cursor.position, frame.cursor.end - frame.cursor.position
    key = INT16.unpack_from(view, at)[0] if left >= 2 else -1
    stated = INT16.unpack_from(view, at + 2)[0] if left >= 4 else 0
    target = _known_api(key)
    if target is None:
        if left >= 2:
            problem = Fault(at, "the key of an API", str(key))
            if frame.walk("header", "RequestHeader", 1):
                frame.cursor.fail(frame.root, "body", "bytes", problem)
            else:
                frame.root.children()[-1].fault = problem
        else:
            frame.cursor.fail(frame.root, "request_api_key", "int16", Fault(at, "2 more bytes", str(left)))
        return frame.explained("request", "", -1)
    name, body_version = target.name + "Request", stated if version is None else version
    if frame.walk("header", "RequestHeader", target.request_header_version(stated)):
        frame.body(name, body_version)
    return frame.explained("request", name, body_version)


def explain_response(
    data: Buffer,
    which: int | str,
    version: int,
    *,
    start: int = 0,
    end: int | None = None,
    sized: bool | None = None,
    topics: Mapping[UUID, str] = _NO_TOPICS,
) -> Explanation:
    """The tree of a response to a request of this API and version.

    An ApiVersions response that rejects the version has the layout of version 0, and is read as such. Of a version that
    the schemas do not have, only the header is read.

    >>> frame = bytes.fromhex("0000000a 00000007 00000000 001b")
    >>> list(explain_response(frame, "Heartbeat", 1).space.leaves())[-1].note
    'REBALANCE_IN_PROGRESS'
    """
    target = api(which)
    frame = _Frame(data, start, end, sized, topics)
    at, left = frame.cursor.position, frame.cursor.end - frame.cursor.position
    if target.key == _API_VERSIONS and left >= 6 and INT16.unpack_from(frame.view, at + 4)[0] == _UNSUPPORTED_VERSION:
        version = 0
    if frame.walk("header", "ResponseHeader", target.response_header_version(version)):
        frame.body(target.name + "Response", version)
    return frame.explained("response", target.name + "Response", version)


def explain_unknown_response(data: Buffer) -> Explanation:
    """The tree of a frame that may be a response to an unknown request: its size and correlation id."""
    frame = _Frame(data, 0, None, True, _NO_TOPICS)
    if frame.walk("header", "ResponseHeader", 0):
        problem = Fault(frame.cursor.position, "the API and version of the request", "neither in a response")
        frame.cursor.fail(frame.root, "body", "bytes", problem)
    return frame.explained("frame", "", -1)


def explain_message(
    data: Buffer, name: str, version: int | None = None, *, topics: Mapping[UUID, str] = _NO_TOPICS
) -> Explanation:
    """The tree of a message without a frame.

    Without `version`, a data message is read as Kafka stores it: after its version or type, or in the frame of its log.

    >>> explain_message(bytes.fromhex("0002 0001 67"), "GroupMetadataKey").title
    'GroupMetadataKey v0'
    """
    view = memoryview(data).cast("B")
    if version is None:
        return _explain_stored(view, name)
    root = Node("", 0, len(view), name)
    _check_version(name, version)
    walker = Walker(view, 0, len(view), name, _opener(topics))
    try:
        walker.struct(plan_of(message_class(name), version), root)
        whole = walker.position == len(view)
        walker.trailing(root)
    except StopWalkError:
        whole = False
    root.length = len(view)
    return Explanation("message", name, version, Space(f"{name} v{version}", view, root), whole)


def _explain_stored(view: memoryview, name: str) -> Explanation:
    schema = message_class(name).__schema__
    if schema.kind != "data":
        raise UnsupportedVersionError(f"a version of {schema.versions}", f"none for {name}")
    root = Node("", 0, len(view), name)
    opening, what = _open_stored(view, schema)
    if opening is None or opening.note.split(" ")[0] != name:
        problem = Fault(0, f"{what} ({name})", f"{len(view)} bytes that are none")
        root.add(Node("message", 0, len(view), "bytes", view, fault=problem))
        return Explanation("message", name, -1, Space(name, view, root), False)
    for node in opening.nodes():
        root.add(node)
    version = next((node.value for node in root.children()[:3] if node.name in ("version", "record_version")), 0)
    return Explanation("message", name, version, Space(opening.note, view, root), True)


def _open_stored(view: memoryview, schema: MessageSchema) -> tuple[Opening | None, str]:
    if schema.stored == "id":
        folder = schema.place.split("/")[1]
        return open_framed(view, 0, len(view), folder), "a record in the frame of its log"
    if schema.stored == "key":
        return open_key_after_type(view, 0, len(view), schema.name), f"type {schema.key} and the key behind it"
    return open_prefixed(view, 0, len(view), schema.name), "a version and the message behind it"


def explain_records(data: Buffer, *, start: int = 0, end: int | None = None, topic: str | None = None) -> Explanation:
    """The tree of consecutive record batches, as in a log file or a records field.

    >>> explain_records(b"").title
    'records'
    """
    view = memoryview(data).cast("B")
    end = len(view) if end is None else end
    root = Node(
        "", start, end - start, "records", expand=partial(explain_batches, view, start, end, topic, may_be_cut=False)
    )
    return Explanation("records", "", -1, Space("record batches", view, root), True)


class _Frame:
    """A frame: its size, then its parts."""

    def __init__(
        self, data: Buffer, start: int, end: int | None, sized: bool | None, topics: Mapping[UUID, str]
    ) -> None:
        self.view = memoryview(data).cast("B")
        end = len(self.view) if end is None else end
        self.root = Node("", start, end - start, "frame")
        self.cursor = Cursor(self.view, start, end)
        self.opener = _opener(topics)
        self.whole = False
        length = end - start
        if sized is None:
            sized = length >= 4 and INT32.unpack_from(self.view, start)[0] == length - 4
        self.misstated = False
        if sized and length >= 4:
            stated = self.cursor.fixed(INT32)
            leaf = self.cursor.leaf(self.root, "size", "int32", stated)
            if stated != length - 4:
                leaf.fault = Fault(start, f"a frame of {stated} bytes", f"{length - 4}")
                self.misstated = True

    def walk(self, name: str, message: str, version: int) -> bool:
        """Add one part; returns whether the next can follow."""
        cursor = self.cursor
        node = cursor.branch(self.root, name, f"{message} v{version}")
        walker = Walker(self.view, cursor.position, cursor.end, message, self.opener)
        try:
            walker.struct(plan_of(message_class(message), version), node)
            whole = True
        except StopWalkError:
            whole = False
        cursor.position = cursor.covered = walker.position
        return whole

    def body(self, message: str, version: int) -> None:
        cursor = self.cursor
        versions = message_class(message).__schema__.versions
        if version not in versions:
            problem = Fault(cursor.position, f"a version of {message} ({versions})", f"version {version}")
            cursor.fail(self.root, "body", f"{message} v{version}", problem)
        elif self.walk("body", message, version):
            left = cursor.end - cursor.position
            self.whole = not left and not self.misstated
            if left:
                problem = Fault(cursor.position, f"the end of {message} v{version}", f"{left} bytes more")
                cursor.fail(self.root, "trailing", "bytes", problem)

    def explained(self, kind: str, message: str, version: int) -> Explanation:
        title = f"{message} v{version}" if message else kind
        return Explanation(kind, message, version, Space(title, self.view, self.root), self.whole)


def _opener(topics: Mapping[UUID, str]) -> Opener:
    def open_field(walker: Walker, step: p.Step, start: int) -> Opening | None:
        if step.code != p.RECORDS:
            return open_bytes(walker, step, start)
        # A part of a snapshot may begin within a batch. It is recognised only if it begins with a batch.
        if step.slot.attribute == "unaligned_records" and not begins_with_batch(walker.view[start : walker.position]):
            return None
        topic = walker.known("name", "topic", "topic_id")
        if isinstance(topic, UUID):
            topic = "__cluster_metadata" if topic == METADATA_TOPIC_ID else topics.get(topic)
        return Opening(partial(explain_batches, walker.view, start, walker.position, topic), "")

    return open_field


def _known_api(key: int) -> Api | None:
    try:
        return api(key)
    except UnknownMessageError:
        return None


def _check_version(name: str, version: int) -> None:
    versions = message_class(name).__schema__.versions
    if version not in versions:
        error = UnsupportedVersionError(f"a version of {versions}", str(version))
        error.title = name
        raise error
