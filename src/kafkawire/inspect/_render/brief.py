"""Shorter trees, for messages that are shown while they happen.

Rules:
- Bytes of records are one leaf, with their counts as its note. Nothing is decompressed.
- Of a long array, the first elements stay; one leaf has the bytes of the others.
- The bytes of secrets are zeros and holes. Their notes have the lengths.
- Nodes that are made on demand have no secrets and are not changed, because they are made again by each reader.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kafkawire.inspect._explain.tree import Node
from kafkawire.inspect._render.lines import Plain
from kafkawire.records import RecordsError, read_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire.inspect._explain.explain import Explanation

    IsSecret = Callable[[str, str | None], bool]

_NAMES_OF_SETTINGS = ("name", "config_name")


def shortened(explanation: Explanation, *, most: int | None, is_secret: IsSecret) -> Explanation:
    """The tree with at most this many elements of each array and without records, or all of both if it is None.

    `is_secret(field, setting)` decides whether the value of a field is withheld; `setting` is the name beside it.
    """
    space = explanation.space
    if most is not None:
        _shorten(space.root, most)
    secrets = list(_secrets(space.root, is_secret))
    if secrets:
        data = bytearray(space.data)
        for node in secrets:
            data[node.offset : node.end] = bytes(node.length)
        holes = tuple((node.offset, node.length) for node in secrets)
        space = replace(space, data=memoryview(data), holes=space.holes + holes, holes_have_notes=True)
    return replace(explanation, space=space)


def records_text(data: bytes | memoryview) -> str:
    """Records in one line: counts, offsets and codecs."""
    batches = count = 0
    codecs: dict[str, None] = {}
    first = last = -1
    try:
        for batch in read_batches(data, verify=False):
            first = batch.base_offset if not batches else first
            batches, count, last = batches + 1, count + batch.record_count, batch.last_offset
            codecs[batch.codec.name.lower()] = None
    except RecordsError as error:
        return str(error)
    if not batches:
        return ""
    counts = f"{_number(batches, 'batch', 'es')}, {_number(count, 'record')}"
    return f"{counts}, offsets {first} to {last}, codec {', '.join(codecs)}"


def _shorten(node: Node, most: int) -> None:
    for child in node.children():
        if child.type.removeprefix("compact ").removesuffix("?") == "records" and isinstance(child.value, memoryview):
            child.note = records_text(child.value)
            child.set_children([])
            continue
        elements = [each for each in child.children() if not each.framing] if "[]" in child.type else []
        if len(elements) > most and not isinstance(elements[0].value, int):  # numbers are shown in one line
            rest = elements[most:]
            heads = [each for each in child.children() if each.framing]
            others = Node("...", rest[0].offset, rest[-1].end - rest[0].offset, "", Plain(f"{len(rest)} more"))
            child.set_children([*heads, *elements[:most], others])
        _shorten(child, most)


def _secrets(parent: Node, is_secret: IsSecret) -> Iterator[Node]:
    """The leaves of secrets below a node, with their lengths as notes."""
    children = parent.children()
    setting = next((each.value for each in children if each.name in _NAMES_OF_SETTINGS), None)
    for node in children:
        value = node.value
        if value is not None and is_secret(node.name, setting) and isinstance(value, str | bytes | memoryview):
            node.note = f"{len(value)} {'characters' if isinstance(value, str) else 'bytes'}, not shown"
            yield node
        else:
            yield from _secrets(node, is_secret)


def _number(count: int, noun: str, plural: str = "s") -> str:
    return f"{count} {noun}{'' if count == 1 else plural}"
