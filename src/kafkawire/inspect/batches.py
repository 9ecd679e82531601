"""Record batches to nodes, formats 0 to 2 mixed as they come.

Rules:
- Batches and records are made when asked for; a batch's own length bounds what is wrong inside it.
- A cut batch at the end is no fault (Fetch responses end so): it is one leaf. An impossible size or magic is one, and
  ends the batches.
- A wrong CRC is a fault of its leaf, and the batch is explained nevertheless.
- Packed records are one leaf with an inner space: see `packed.py`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkawire.inspect.cursor import INT8, INT16, INT32, INT64, Cursor
from kafkawire.inspect.legacy import add_crc, explain_message
from kafkawire.inspect.notes import utc
from kafkawire.inspect.packed import codec_name, open_packed
from kafkawire.inspect.record import BatchContext, explain_records
from kafkawire.inspect.tree import Fault, Node
from kafkawire.records import HEADER_SIZE, CorruptRecordError, crc32c, read_batches

if TYPE_CHECKING:
    import struct
    from collections.abc import Callable

_SMALLEST: Final = (14, 22, HEADER_SIZE - 12)
_FLAGS: Final = ((8, "log append time"), (16, "transactional"), (32, "control"), (64, "delete horizon"))


def explain_batches(view: memoryview, start: int, end: int, topic: str | None) -> list[Node]:
    """The batches of a span, and what is left behind the last whole one."""
    nodes: list[Node] = []
    position = start
    while position < end:
        name, left = f"[{len(nodes)}]", end - position
        length = INT32.unpack_from(view, position + 8)[0] if left >= 12 else 0
        magic = view[position + 16] if left >= 17 else 2
        problem = _misfit(position, left, length, magic)
        if problem is not None:
            nodes.append(Node(name, position, left, "record batch", None, fault=problem))
            break
        size = 12 + length
        if left < 17 or size > left:
            wanted = f"the first {left} of {size} bytes" if left >= 12 else f"{left} bytes"
            nodes.append(Node(name, position, left, "partial batch", None, f"{wanted}; readers drop it"))
            break
        if magic == 2:
            expand = partial(_batch, view, position, position + size, topic)
            nodes.append(Node(name, position, size, "record batch", None, _summary(view, position), expand=expand))
        else:
            nodes.append(explain_message(view, position, position + size, name, topic))
        position += size
    return nodes


def begins_with_batch(view: memoryview) -> bool:
    """Whether bytes begin with a whole batch whose CRC is right."""
    try:
        return next(read_batches(view), None) is not None
    except CorruptRecordError:
        return False


def _misfit(position: int, left: int, length: int, magic: int) -> Fault | None:
    if left >= 17 and magic > 2:
        return Fault(position + 16, "magic 0, 1 or 2", f"magic {magic}")
    if left >= 12 and length < _SMALLEST[magic if left >= 17 else 0]:
        smallest = _SMALLEST[magic if left >= 17 else 0]
        return Fault(position + 8, f"a batch length of at least {smallest}", str(length))
    return None


def _summary(view: memoryview, position: int) -> str:
    base, last = INT64.unpack_from(view, position)[0], INT32.unpack_from(view, position + 23)[0]
    count, attributes = INT32.unpack_from(view, position + 57)[0], INT16.unpack_from(view, position + 21)[0]
    parts = [
        f"offsets {base} to {base + last}" if last else f"offset {base}",
        f"{count} record{'s' if count != 1 else ''}",
    ]
    return ", ".join([*parts, *_attribute_names(attributes)])


def _attribute_names(attributes: int) -> list[str]:
    codec = attributes & 7
    names = [codec_name(codec)] if codec else []
    return names + [name for bit, name in _FLAGS if attributes & bit]


def _batch(view: memoryview, start: int, end: int, topic: str | None) -> list[Node]:
    root = Node("", start, end - start, "record batch")
    cursor = Cursor(view, start, end)
    batch = BatchContext(view, start, topic)

    def add(name: str, kind: str, form: struct.Struct, note: Callable[[Any], str] | None = None) -> Any:
        value = cursor.fixed(form)
        cursor.leaf(root, name, kind, value, note(value) if note else "")
        return value

    add("base_offset", "int64", INT64)
    add("batch_length", "int32", INT32, lambda value: f"{value + 12} bytes in all")
    add("partition_leader_epoch", "int32", INT32, _none)
    add("magic", "int8", INT8)
    add_crc(cursor, root, "CRC-32C", crc32c(view[start + 21 : end]))
    attributes = add("attributes", "int16", INT16, lambda value: ", ".join(_attribute_names(value)))
    add("last_offset_delta", "int32", INT32, lambda value: f"last offset {batch.base_offset + value}")
    horizon = " (delete horizon)" if attributes & 64 else ""
    add("base_timestamp", "int64", INT64, lambda value: utc(value) + horizon)
    add("max_timestamp", "int64", INT64, utc)
    add("producer_id", "int64", INT64, _none)
    add("producer_epoch", "int16", INT16, _none)
    add("base_sequence", "int32", INT32, _none)
    count = add("record_count", "int32", INT32)
    _add_records(root, view, cursor.position, end, batch, count)
    return list(root.children())


def _add_records(root: Node, view: memoryview, start: int, end: int, batch: BatchContext, count: int) -> None:
    codec = batch.attributes & 7
    if not codec:
        root.add(
            Node(
                "records",
                start,
                end - start,
                "records",
                count,
                expand=lambda: explain_records(view, start, end, batch, count),
            )
        )
        return
    leaf = root.add(Node("records", start, end - start, f"{codec_name(codec)} data", view[start:end]))

    def inside(unpacked: memoryview) -> Node:
        expand = partial(explain_records, unpacked, 0, len(unpacked), batch, count)
        return Node("", 0, len(unpacked), "records", count, expand=expand)

    open_packed(leaf, codec, 2, inside)


def _none(value: int) -> str:
    return "none" if value == -1 else ""
