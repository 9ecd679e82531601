"""Any bytes of the protocol to a tree that explains them: a request, a response, a bare message, record batches.

Rules:
- A request's header says which API and version its body has; a response has to be told.
- A frame may stand with its 4-byte size or without; unless told, the size is taken to be there if it fits.
- Offsets count from the start of the buffer that was given, so several frames of one dump share its offsets.
- Nothing is raised for bad bytes: the fault is in the tree, and the leaves still tile the span.
- A topic id counts as its topic's name where `topics` has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkawire.codec import UnsupportedVersionError
from kafkawire.codec import plan as p
from kafkawire.inspect.batches import begins_with_batch, explain_batches
from kafkawire.inspect.cursor import INT16, INT32, Cursor, StopWalkError
from kafkawire.inspect.embedded import open_bytes, open_framed, open_prefixed, plan_of
from kafkawire.inspect.notes import METADATA_TOPIC_ID
from kafkawire.inspect.tree import Fault, Node, Space
from kafkawire.inspect.walker import Opening, Walker
from kafkawire.messages import Api, UnknownMessageError, api, message_class

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.codec.engine import Buffer
    from kafkawire.inspect.walker import Opener

_NO_TOPICS: Final[Mapping[UUID, str]] = {}
_API_VERSIONS: Final = 18
_UNSUPPORTED_VERSION: Final = 35


@dataclass(slots=True)
class Explanation:
    """What bytes are: the kind (request, response, message, records), the message and its version, and the tree.

    `message` is empty and `version` -1 where the bytes do not tell. `whole` says that header and body were read to
    their end; faults of records and batches, which are read later, do not count.
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
    """The tree of a request; `version` reads the body as another version than its header says.

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
            frame.cursor.take(2)
            frame.cursor.leaf(frame.root, "request_api_key", "int16", key)
            frame.cursor.fail(frame.root, "rest", "bytes", Fault(at, "the key of an API", str(key)))
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

    An ApiVersions response that refuses the version has the layout of version 0, and is read so.

    >>> frame = bytes.fromhex("0000000a 00000007 00000000 001b")
    >>> list(explain_response(frame, "Heartbeat", 1).space.leaves())[-1].note
    'REBALANCE_IN_PROGRESS'
    """
    target = api(which)
    _check_version(target.name + "Response", version)
    frame = _Frame(data, start, end, sized, topics)
    at, left = frame.cursor.position, frame.cursor.end - frame.cursor.position
    if target.key == _API_VERSIONS and left >= 6 and INT16.unpack_from(frame.view, at + 4)[0] == _UNSUPPORTED_VERSION:
        version = 0
    if frame.walk("header", "ResponseHeader", target.response_header_version(version)):
        frame.body(target.name + "Response", version)
    return frame.explained("response", target.name + "Response", version)


def explain_message(
    data: Buffer, name: str, version: int | None = None, *, topics: Mapping[UUID, str] = _NO_TOPICS
) -> Explanation:
    """The tree of a message without a frame.

    Without `version`, a data message is read as Kafka stores it: behind its version, or in the frame of its log.

    >>> explain_message(bytes.fromhex("0002 0001 67"), "GroupMetadataKey").title
    'GroupMetadataKey v2'
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
    is_framed = schema.key is not None
    opening = open_framed(view, 0, len(view), schema.place.split("/")[1]) if is_framed else None
    if not is_framed:
        opening = open_prefixed(view, 0, len(view), name)
    if opening is None or not opening.note.startswith(name + " "):
        what = "a record in the frame of its log" if is_framed else "a version and the message behind it"
        problem = Fault(0, f"{what} ({name})", f"{len(view)} bytes that are none")
        root.add(Node("message", 0, len(view), "bytes", view, fault=problem))
        return Explanation("message", name, -1, Space(name, view, root), False)
    for node in opening.nodes():
        root.add(node)
    version = root.children()[2 if is_framed else 0].value
    return Explanation("message", name, version, Space(opening.note, view, root), True)


def explain_records(data: Buffer, *, start: int = 0, end: int | None = None, topic: str | None = None) -> Explanation:
    """The tree of record batches that follow each other, as in a log file or a records field.

    >>> explain_records(b"").title
    'records'
    """
    view = memoryview(data).cast("B")
    end = len(view) if end is None else end
    root = Node("", start, end - start, "records", expand=partial(explain_batches, view, start, end, topic))
    return Explanation("records", "", -1, Space("record batches", view, root), True)


class _Frame:
    """A frame being explained: its size, then parts that follow each other."""

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
        """Add one part; whether the next can follow."""
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
        # A part of a snapshot may begin anywhere inside a batch; only one that begins with a batch can be told apart.
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
