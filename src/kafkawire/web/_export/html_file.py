"""One file without a server: frames with their trees and their hex, and findings with the frames that prove them.

Rules:
- The file has no external references. Its policy allows only its own style and its one script, by hash.
- Keys, values and header values of records are blanked, with their lengths kept, unless they are asked for. So are the
  compressed bytes that hold them, tokens of SASL, and partial batches.
- The hex has only the bytes of fields that the tree shows. Bytes that cannot be read, or that are behind the end of the
  tree, may be values, so they are blanked too.
- A tree has at most MOST_ROWS rows, and a buffer at most MOST_BYTES in hex. The file says what it leaves out.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from kafkawire import __version__
from kafkawire._look.document import document
from kafkawire._look.findings import card_of_finding
from kafkawire.inspect import explain_walk, value_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkawire.inspect import ExplainedNode, ExplainedSpace, Explanation, Finding

MOST_ROWS: Final = 20_000
MOST_BYTES: Final = 1 << 20
_SHOWN: Final = 200
_WIDTH: Final = 16
_BLANKED: Final = {"key", "value"}
_HOLDERS: Final = {"record", "message", "header"}
_SECRETS: Final = {"auth_bytes", "salted_password", "hmac"}


def html_of_frames(frames: Sequence[tuple[str, Explanation]], title: str, *, with_values: bool = False) -> str:
    """A page with frames, each with a heading."""
    return _page(title, "".join(_frame(number, *each, with_values) for number, each in enumerate(frames)), with_values)


def html_of_findings(
    findings: Sequence[Finding], frames: Sequence[tuple[str, Explanation]], title: str, *, with_values: bool = False
) -> str:
    """A page with findings, and the frames that prove them; a frame is headed by its exchange."""
    places = {heading.partition(" ")[0]: number for number, (heading, _) in reversed(list(enumerate(frames)))}
    cards = "".join(_finding(*each, places) for each in enumerate(findings)) or "<p>The rules found nothing.</p>"
    shown = "".join(_frame(number, *each, with_values) for number, each in enumerate(frames))
    parts = [("Findings", "findings")]
    if frames:
        parts.append(("Frames", "frame0"))
    return _page(title, f'<section id="findings"><h2>Findings</h2>{cards}</section>{shown}', with_values, parts)


def _page(title: str, body: str, with_values: bool, parts: Sequence[tuple[str, str]] = ()) -> str:
    resources = files("kafkawire.web") / "static" / "export"
    script = (resources / "linked.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    blanked = "" if with_values else " Keys and values of records are blanked."
    head = f'<h1>{escape(title)}</h1><p class="soft">kafkawire {escape(__version__)}.{blanked}</p>'
    return document(
        title,
        parts,
        f'<main class="sheet">{head}{body}</main>',
        (resources / "linked.css").read_text("utf-8"),
        f"<script>{script}</script>",
        policy,
    )


def _finding(number: int, each: Finding, places: dict[str, int]) -> str:
    links = {name: f"frame{place}" for name, place in places.items()}
    return card_of_finding(each.row(), links, f"finding-{number}")


def _frame(number: int, heading: str, frame: Explanation, with_values: bool) -> str:
    root = frame.space.root
    buffers: dict[
        int, tuple[str, ExplainedSpace, list[tuple[int, int]]]
    ] = {}  # a name, bytes, and what is shown of them
    rows: list[str] = []

    def buffer_of(space: ExplainedSpace) -> str:
        if id(space) not in buffers:
            buffers[id(space)] = (f"{number}-{len(buffers)}", space, [])
        return buffers[id(space)][0]

    name = buffer_of(frame.space)
    parents: list[tuple[str, bool]] = []
    walked = 0
    for visit in islice(explain_walk(frame.space), MOST_ROWS):
        walked += 1
        name, node = buffer_of(visit.space), visit.node
        del parents[visit.depth :]
        holder, is_partial = parents[-1] if parents else ("", False)
        is_partial = is_partial or node.type == "partial batch"
        blank = not with_values and (
            (node.name in _BLANKED and holder in _HOLDERS)
            or node.inner is not None
            or node.name in _SECRETS
            or (node.type == "bytes" and node.fault is not None)
            or is_partial
        )
        parents.append((node.type, is_partial))
        if not blank and not node.children():
            buffers[id(visit.space)][2].append((node.offset, node.end))
        rows.append(_row(visit.depth, node, name, blank))
    more = f"<p>The tree goes on; the first {MOST_ROWS} nodes are here.</p>" if walked == MOST_ROWS else ""
    panes = "".join(
        _hex(*each, with_values, start=root.offset if at == 0 else 0, end=root.end if at == 0 else None)
        for at, each in enumerate(buffers.values())
    )
    small = f"<small>{escape(frame.title)}, {root.length} bytes</small>"
    tree = f'<div class="tree" role="table" aria-label="Fields">{"".join(rows)}{more}</div>'
    return (
        f'<section class="frame" id="frame{number}"><h2>{escape(heading)} {small}</h2>'
        f'<div class="both card">{tree}<div class="panes">{panes}</div></div></section>'
    )


def _row(depth: int, node: ExplainedNode, buffer: str, blank: bool) -> str:
    text = (
        f"{node.length} bytes, blanked"
        if blank
        else ""
        if node.value is None and node.length
        else value_text(node.value, _SHOWN)
    )
    if node.children() and not blank:
        text = ""
    note = "" if blank or not node.note else f" <i>{escape(node.note)}</i>"
    fault = "" if node.fault is None else f'<em role="cell">{escape(str(node.fault))}</em>'
    about = f' title="{escape(node.description, quote=True)}"' if node.description else ""
    return (
        f'<div role="row" tabindex="0" data-b="{buffer}" data-o="{node.offset}" data-l="{node.length}"{about}>'
        f'<span role="cell" data-d="{min(depth, 20)}">{escape(node.name)}</span>'
        f'<span role="cell">{escape(text)}{note}</span>'
        f'<span role="cell">{escape(node.type)}</span>{fault}</div>'
    )


def _hex(
    name: str, space: ExplainedSpace, shown: list[tuple[int, int]], whole: bool, *, start: int, end: int | None
) -> str:
    last = len(space.data) if end is None else end
    data: bytes = bytes(space.data[start : min(last, start + MOST_BYTES)])
    hidden = bytearray(len(data)) if whole else bytearray(b"\1" * len(data))
    for low, high in shown:
        first, last_shown = max(low - start, 0), min(high - start, len(data))
        if first < last_shown:
            hidden[first:last_shown] = bytes(last_shown - first)
    lines = list(_lines(data, hidden, start))
    left = f"<p>{last - start - len(data)} more bytes are left out.</p>" if last - start > len(data) else ""
    about = f'id="hex{name}" data-start="{start}" tabindex="0" aria-label="Bytes in hex"'
    return f"<pre {about}>{chr(10).join(lines)}</pre>{left}"


def _lines(data: bytes, hidden: bytearray, start: int) -> Iterator[str]:
    for at in range(0, len(data), _WIDTH):
        part: Any = list(zip(data[at : at + _WIDTH], hidden[at : at + _WIDTH], strict=True))
        pairs = " ".join("··" if gone else f"{byte:02x}" for byte, gone in part)
        text = "".join(" " if gone else chr(byte) if 0x20 <= byte < 0x7F else "·" for byte, gone in part)
        yield f"{start + at:>8}  {pairs:<{_WIDTH * 3}} {escape(text)}"
