"""The routes of the bytes view.

Rules:
- Explaining is work of a thread, because a frame may have megabytes.
- The search for faults stops after MOST_WALKED nodes at first. The page asks for the rest as a stream, which ends when
  the tab is closed or shows something else.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from kafkawire.inspect import differences, explain_walk, repair_as
from kafkawire.messages import message_class
from kafkawire.web._bytes.copies import as_code, as_json
from kafkawire.web._bytes.edit import edited, plain_value
from kafkawire.web._bytes.opening import open_document
from kafkawire.web._bytes.rows import field_of, first_rows, row_of, value_of, window
from kafkawire.web._bytes.versions import versions_of
from kafkawire.web._server.answers import answer, stream
from kafkawire.web._server.problems import Problem
from kafkawire.web._server.requests import body_of, field_in, number_in, text_in, workspace_of
from kafkawire.web._server.work import events_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

    from starlette.requests import Request

    from kafkawire.inspect import Difference, ExplainedSpace, ExplainedVisit
    from kafkawire.web._bytes.document import Document, Place

MOST_WALKED: Final = 20_000
LARGEST_WINDOW: Final = 1 << 18
MOST_DIFFERENCES: Final = 2_000
MOST_REPAIRED: Final = 20


async def open_bytes(request: Request) -> Response:
    """Open bytes; answers with the document's name and its first rows."""
    body, workspace = await body_of(request), workspace_of(request)

    def work() -> dict[str, Any]:
        document = open_document(workspace, body)
        return {"doc": workspace.keep(document), **summary(document), "rows": first_rows(document)}

    return answer(await run_in_threadpool(work))


def summary(document: Document) -> dict[str, Any]:
    """A document in short: its frames, its buffers, the first faults."""
    frames = []
    for place, frame in zip(document.roots(), document.frames, strict=True):
        shown: dict[str, Any] = {"id": place.id, "title": frame.title, "kind": frame.kind, "whole": frame.whole}
        shown |= {"message": frame.message, "version": frame.version, "buffer": place.buffer}
        shown |= {"offset": frame.space.root.offset, "length": frame.space.root.length}
        if frame.message and frame.version >= 0:
            versions = message_class(frame.message).__schema__.versions
            shown["versions"] = [versions.first, versions.last]
        frames.append(shown)
    faults, complete = faults_of(document, MOST_WALKED)
    asked, origin = document.asked, document.origin
    return {
        "title": origin.title,
        "link": origin.link,
        "note": document.note,
        "unknown": document.unknown,
        "asked": {"kind": asked.kind, "api": asked.api, "version": asked.version, "message": asked.message},
        "buffers": [{"id": f"b{number}", "length": len(data)} for number, data in enumerate(document.buffers)],
        "frames": frames,
        "faults": faults,
        "searched": complete,
    }


def faults_of(document: Document, most: int | None) -> tuple[list[dict[str, Any]], bool]:
    """The faults in the first nodes of each frame, and whether these were all nodes."""
    found, complete = [], True
    for number, frame in enumerate(document.frames):
        walked = 0
        for visit in islice(explain_walk(frame.space, sound=False), most):
            walked += 1
            if visit.node.fault is not None:
                found.append(_fault(number, visit))
        complete = complete and walked != most
    return found, complete


async def all_faults(request: Request) -> Response:
    """A stream of every fault, with a length that would repair the bytes at its end."""
    document = _document(request)
    return stream(events_of(request, lambda stop: _search_faults(document, stop)))


def _search_faults(document: Document, stop: Event) -> Iterator[dict[str, Any]]:
    walked = 0
    for number, frame in enumerate(document.frames):
        for visit in explain_walk(frame.space, sound=False):
            walked += 1
            if visit.node.fault is not None:
                yield {"faults": [_fault(number, visit)]}
            elif walked % MOST_WALKED == 0:
                yield {"walked": walked}
            if stop.is_set():
                return
    for number, frame in enumerate(document.frames[:MOST_REPAIRED]):
        repair = None if stop.is_set() else repair_as(frame, document.asked)
        if repair is not None:
            yield {"repairs": [{"frame": number, "text": repair.text}]}
    yield {"end": "all", "walked": walked}


def _fault(frame: int, visit: ExplainedVisit) -> dict[str, Any]:
    fault = visit.node.fault
    assert fault is not None
    return {
        "frame": frame,
        "path": visit.path,
        "offset": fault.offset,
        "expected": fault.expected,
        "found": fault.found,
    }


def rows(request: Request) -> Response:
    """A window of the children of a node."""
    document = _document(request)
    place = document.place(text_in(request, "node"))
    start = number_in(request, "start")
    return answer({"start": start, "rows": window(document, place, start, number_in(request, "count", 200))})


def reveal(request: Request) -> Response:
    """The chain of nodes that leads to an offset or to a path; the page opens the levels that it lacks."""
    document = _document(request)
    path = request.query_params.get("path")
    if path is not None:
        frame = number_in(request, "frame")
        found = document.at_path(frame, path) if 0 <= frame < len(document.frames) else None
        if found is None:
            raise Problem(f"there is no field {path}", status=404)
        chain = _chain(document, found.id)
    else:
        chain = document.at_offset(text_in(request, "buffer", "b0"), number_in(request, "offset"))
        if chain:
            chain = _chain(document, chain[-1].id)
    return answer({"chain": [row_of(document, place) for place in chain]})


def _chain(document: Document, name: str) -> list[Place]:
    parts = [part for part in name.split(".") if part != "i"]
    return [document.place(".".join(parts[:length])) for length in range(1, len(parts) + 1)]


def raw(request: Request) -> Response:
    """A window of the bytes of a buffer."""
    data = _document(request).buffer(text_in(request, "buffer", "b0"))
    start = max(number_in(request, "start"), 0)
    count = min(number_in(request, "count", LARGEST_WINDOW), LARGEST_WINDOW)
    return Response(bytes(data[start : start + count]), media_type="application/octet-stream")


def node(request: Request) -> Response:
    """All that is known about a node: its row, a window of its value, its field in the schema."""
    document = _document(request)
    place = document.place(text_in(request, "node"))
    shown: dict[str, Any] = {"row": row_of(document, place), "path": place.path}
    if not document.children(place):
        shown["value"] = value_of(place.node, max(number_in(request, "start"), 0))
        shown["plain"] = plain_value(place.node.value)
    field = field_of(document.frames[place.frame], place.path)
    if field is not None:
        shown["schema"] = {
            "versions": str(field.versions),
            "nullable": field.nullable,
            "default": field.default,
            "tag": field.tag,
        }
    return answer(shown)


def versions(request: Request) -> Response:
    """The versions of a frame."""
    document = _document(request)
    return answer({"versions": versions_of(document.frames[_frame(document, request)])})


async def edit(request: Request) -> Response:
    """A frame with one field changed, in hex."""
    document, body = _document(request), await body_of(request)
    place = document.place(field_in(body, "node", str, ""))
    text = None if field_in(body, "null", bool, False) else field_in(body, "text", str, "")

    def work() -> dict[str, Any]:
        return {"hex": edited(document.frames[place.frame], place, text).hex()}

    return answer(await run_in_threadpool(work))


def copy(request: Request) -> Response:
    """A frame as text to copy."""
    document = _document(request)
    frame = document.frames[_frame(document, request)]
    form = text_in(request, "form", "json")
    if form not in ("json", "code"):
        raise Problem(f"form: expected json or code, found {form[:40]!r}", status=400)
    return answer({"text": as_json(frame) if form == "json" else as_code(frame)})


async def diff(request: Request) -> Response:
    """The differences between two documents, frame by frame."""
    body, workspace = await body_of(request), workspace_of(request)
    before = workspace.document(field_in(body, "before", str, ""))
    after = workspace.document(field_in(body, "after", str, ""))

    def work() -> dict[str, Any]:
        pairs = list(zip(before.frames, after.frames, strict=False))
        every = ((number, each) for number, (a, b) in enumerate(pairs) for each in differences(a.space, b.space))
        found = list(islice(every, MOST_DIFFERENCES + 1))
        rows = [_difference(number, each, (pairs[number][0].space, pairs[number][1].space)) for number, each in found]
        unpaired = abs(len(before.frames) - len(after.frames))
        return {"rows": rows[:MOST_DIFFERENCES], "more": len(found) > MOST_DIFFERENCES, "unpaired": unpaired}

    return answer(await run_in_threadpool(work))


def _difference(frame: int, each: Difference, spaces: tuple[ExplainedSpace, ExplainedSpace]) -> dict[str, Any]:
    shown: dict[str, Any] = {"frame": frame, "kind": each.kind, "path": each.path}
    for name, side, space in (("before", each.before, spaces[0]), ("after", each.after, spaces[1])):
        if side is not None:
            node = side.node
            shown[name] = {"offset": node.offset, "length": node.length, "text": side.text}
            shown[name]["inner"] = side.space is not space
    return shown


def _document(request: Request) -> Document:
    return workspace_of(request).document(request.path_params["doc"])


def _frame(document: Document, request: Request) -> int:
    frame = number_in(request, "frame")
    if not 0 <= frame < len(document.frames):
        raise Problem(f"there is no frame {frame}", status=404)
    return frame


ROUTES: Final = [
    Route("/api/bytes", open_bytes, methods=["POST"]),
    Route("/api/bytes/diff", diff, methods=["POST"]),
    Route("/api/bytes/{doc}/rows", rows),
    Route("/api/bytes/{doc}/reveal", reveal),
    Route("/api/bytes/{doc}/raw", raw),
    Route("/api/bytes/{doc}/node", node),
    Route("/api/bytes/{doc}/versions", versions),
    Route("/api/bytes/{doc}/faults", all_faults),
    Route("/api/bytes/{doc}/copy", copy),
    Route("/api/bytes/{doc}/edit", edit, methods=["POST"]),
]
