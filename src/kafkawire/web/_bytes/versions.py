"""The versions of a message: which of them read the same bytes, and how long the message is when each writes it.

Rules:
- A version fits if it reads header and body to the last byte.
- A version that cannot express a field of the message says which one, instead of a size.
- The work is bounded: longer bodies than LARGEST are not read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkawire.inspect import changes_between, explain_message
from kafkawire.messages import CodecError, message_class
from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from kafkawire.inspect import Explanation

LARGEST: Final = 4 << 20


def body_of_frame(frame: Explanation) -> memoryview:
    """The bytes of the body."""
    if frame.kind == "message":
        return frame.space.data[frame.space.root.offset : frame.space.root.end]
    body = next((each for each in frame.space.root.children() if each.name == "body"), None)
    if body is None or not frame.message or frame.version < 0:
        raise Problem("this frame has no body that could be read")
    return frame.space.data[body.offset : frame.space.root.end]


def versions_of(frame: Explanation) -> list[dict[str, Any]]:
    """The versions of a frame's message, each with whether it fits, its size, and what changed before it."""
    body = body_of_frame(frame)
    cls = message_class(frame.message)
    try:
        message = cls.decode(body, frame.version) if len(body) <= LARGEST else None
    except CodecError:
        message = None
    rows: list[dict[str, Any]] = []
    before: int | None = None
    for version in cls.__schema__.versions:
        row: dict[str, Any] = {"version": version, "fits": None, "size": None}
        if len(body) <= LARGEST:
            row["fits"] = explain_message(body, frame.message, version).whole
        if message is not None:
            try:
                row["size"] = len(message.encode(version))
            except CodecError as error:
                row["why"] = str(error)
        if before is not None:
            changes = changes_between(cls.__schema__, before, version)
            row["changes"] = [{"kind": each.kind, "path": each.path, "after": each.after} for each in changes]
        rows.append(row)
        before = version
    return rows
