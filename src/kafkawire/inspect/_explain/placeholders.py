"""Requests whose input has placeholders in place of the API or of its version.

Rules:
- Without a key, only the header is read. The bytes of the body are one leaf with a fault.
- Without a version, the bytes are read as the highest version in which they decode to their end. A note lists the
  versions that fit, because it is a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.inspect._explain.cursor import INT16
from kafkawire.inspect._explain.explain import explain_request
from kafkawire.inspect._explain.tree import Fault, Node
from kafkawire.messages import message_class

if TYPE_CHECKING:
    from kafkawire.inspect._explain.explain import Explanation

    Holes = tuple[tuple[int, int], ...]


def with_holes(explanation: Explanation, holes: Holes, *, version: int | None = None) -> tuple[Explanation, str]:
    """The tree of a request with holes, and a note if its version was guessed; `version` is the one of the caller."""
    space = explanation.space
    space.holes = holes
    if explanation.kind != "request":
        return explanation, ""
    parts = space.root.children()
    header = {node.name: node for part in parts if part.name == "header" for node in part.children()}
    key, stated = header.get("request_api_key"), header.get("request_api_version")
    if key is not None and not space.is_known(key.offset, key.end):
        _leave_body(explanation, key)
    elif stated is not None and version is None and not space.is_known(stated.offset, stated.end):
        return _with_best_version(explanation, holes, stated.offset, sized=parts[0].name == "size")
    return explanation, ""


def _leave_body(explanation: Explanation, key: Node) -> None:
    root = explanation.space.root
    kept = [part for part in root.children() if part.name in ("size", "header")]
    key.fault = Fault(key.offset, "the key of an API", "a placeholder")
    if kept[-1].end < root.end:
        kept.append(Node("body", kept[-1].end, root.end - kept[-1].end, "bytes", fault=key.fault))
        key.fault = None
    root.set_children(kept)
    explanation.message, explanation.version, explanation.whole = "", -1, False


def _with_best_version(explanation: Explanation, holes: Holes, at: int, *, sized: bool) -> tuple[Explanation, str]:
    versions = message_class(explanation.message).__schema__.versions
    readings = (_read(explanation, version, at, sized=sized) for version in versions)
    fitting = [each for each in readings if each.whole]
    if not fitting:
        return explanation, "the version is a placeholder, and the bytes fit no version; --version N chooses one"
    listed = ", ".join(str(each.version) for each in fitting)
    chosen = fitting[-1]
    chosen.space.holes = holes
    return chosen, f"the version is a placeholder; the bytes fit {listed}, and are read as {chosen.version}"


def _read(explanation: Explanation, version: int, at: int, *, sized: bool) -> Explanation:
    """The bytes with a version in their header, which decides on the form of the header too."""
    root = explanation.space.root
    data = bytearray(explanation.space.data)
    data[at : at + INT16.size] = INT16.pack(version)
    return explain_request(data, start=root.offset, end=root.end, sized=sized)
