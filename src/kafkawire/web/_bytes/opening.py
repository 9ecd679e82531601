"""Opens bytes: pasted hex, an upload, what the command line gave, an exchange, or a batch.

Rules:
- Hex is accepted in every form that `kafkawire decode` accepts. Packets of a dump are taken apart first.
- An exchange or a batch is named by its source; the source returns its frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from kafkawire.exceptions import KafkaWireError
from kafkawire.inspect import Asked, HexError, explain_as, raw_or_hex, read_hex, with_holes
from kafkawire.messages import CodecError
from kafkawire.web._bytes.document import Document, Origin
from kafkawire.web._server.problems import Problem
from kafkawire.web._server.requests import field_in

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.inspect import AskedKind, HexInput
    from kafkawire.web._server.workspace import Workspace

_KINDS: Final = ("", "request", "response", "message", "records")
LARGEST_DOCUMENT: Final = 256 << 20
LONGEST_NAME: Final = 100


def asked_in(body: dict[str, Any]) -> Asked:
    """The reading that a request of the page asks for."""
    kind = field_in(body, "kind", str, "")
    if kind not in _KINDS:
        raise Problem(f"kind: expected one of {', '.join(_KINDS[1:])}, found {kind[:40]!r}", status=400)
    api = field_in(body, "api", str, "")
    if len(api) > LONGEST_NAME:
        raise Problem(f"api: expected a name or a key, found {api[:40]!r}", status=400)
    asked = Asked(
        cast("AskedKind", kind),
        api,
        body["version"] if isinstance(body.get("version"), int) else None,
        field_in(body, "message", str, ""),
        field_in(body, "topic", str, "") or None,
    )
    if kind == "response" and (not asked.api or asked.version is None):
        raise Problem("a response does not contain its API and version: choose both")
    if kind == "message" and not asked.message:
        raise Problem("choose the message")
    return asked


def open_document(workspace: Workspace, body: dict[str, Any]) -> Document:
    """The document that a request of the page asks for."""
    asked = asked_in(body)
    if "source" in body:
        source = workspace.sources.get(field_in(body, "source", str, ""))
        if source is None or not hasattr(source, "open_bytes"):
            raise Problem("this source is not open any more; start the page with it again", status=404)
        return cast("Document", source.open_bytes(field_in(body, "item", str, ""), asked))
    if field_in(body, "given", bool, False):
        if workspace.given is None:
            raise Problem("the command line gave no bytes; paste some", status=404)
        return workspace.given
    if "upload" in body:
        upload = workspace.upload(field_in(body, "upload", str, ""))
        if upload.size > LARGEST_DOCUMENT:
            raise Problem(f"{upload.name}: {upload.size} bytes are too many for this view; open it as a capture")
        return read_document(_read(upload.path.read_bytes()), asked, Origin(upload.name))
    return read_document(_hex(field_in(body, "text", str, "")), asked, Origin("pasted bytes"))


def document_of_file(path: Path) -> Document:
    """The document of a file that the command line names."""
    return read_document(_read(path.read_bytes()), Asked(), Origin(path.name))


def read_document(given: HexInput, asked: Asked, origin: Origin) -> Document:
    """The document of bytes."""
    data = given.data
    if not data:
        raise Problem("there are no bytes; paste some hex, or drop a file")
    if given.packets:
        from kafkawire.inspect import DumpedPackets, packets_to_pcap

        pcap = packets_to_pcap(given.packets)
        if pcap is not None:
            dumped = DumpedPackets(pcap)
            frames = [] if asked.kind else dumped.explain()
            if frames:
                note = f"taken as {dumped.packets} packets with {len(frames)} frames"
                return Document(frames, asked, note=note, origin=origin)
            data = dumped.payload or data
    try:
        explained = explain_as(data, asked)
    except CodecError as error:
        raise Problem(str(error)) from error
    trees, notes = explained.trees, [explained.note]
    if given.holes:
        filled = [with_holes(tree, given.holes, version=asked.version) for tree in trees]
        trees = [tree for tree, _ in filled]
        notes += [note for _, note in filled]
    note = "; ".join(filter(None, notes))
    return Document(trees, asked, note=note, unknown=explained.unknown, origin=origin)


def _hex(text: str) -> HexInput:
    try:
        return read_hex(text)
    except HexError as error:
        raise Problem(str(error), column=getattr(error, "column", None)) from error


def _read(data: bytes) -> HexInput:
    try:
        return raw_or_hex(data)
    except KafkaWireError as error:
        raise Problem(str(error)) from error
