"""Nodes of record batches, with formats 0 to 2 in any mix.

Rules:
- Nodes of batches and records are created on demand. The length of a batch bounds the faults inside it.
- A truncated batch at the end of a records field is one leaf and not a fault, because Fetch responses end so. In bytes
  that are records alone it is a fault, and shows its fields and records up to the cut.
- An impossible size or magic is a fault. Its leaf ends at the next sound batch, if there is one, or else at the end.
- A wrong CRC is a fault of its leaf, and the batch is explained nevertheless.
- Compressed records are one leaf with an inner space: see `decompressed.py`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkawire.inspect._explain.cursor import INT8, INT16, INT32, INT64, UINT32, Cursor
from kafkawire.inspect._explain.decompressed import codec_name, open_packed
from kafkawire.inspect._explain.descriptions import BATCH, described
from kafkawire.inspect._explain.legacy import add_crc, explain_message
from kafkawire.inspect._explain.records import BatchContext, explain_records
from kafkawire.inspect._explain.tree import Fault, Node
from kafkawire.inspect._explain.value_names import utc
from kafkawire.records import CorruptRecordError, crc32c, read_batches
from kafkawire.records.layout import (
    APPEND_TIME,
    ATTRIBUTES_AT,
    CHECKED_FROM,
    CODEC,
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    MAGIC_AT,
    PREFIX_SIZE,
    PROBE_SIZE,
    RECORD_COUNT_AT,
    SIZE_AT,
    SMALLEST_LENGTHS,
    TRANSACTIONAL,
)
from kafkawire.records.walk import BytesAt, Stretch, walk

if TYPE_CHECKING:
    import struct
    from collections.abc import Callable

_FLAGS: Final = (
    (APPEND_TIME, "log append time"),
    (TRANSACTIONAL, "transactional"),
    (CONTROL, "control"),
    (DELETE_HORIZON, "delete horizon"),
)


_HIGHEST_OFFSET: Final = 1 << 48
_LARGEST_CUT: Final = 1 << 24
_FIELDS: Final = (
    *(("base_offset", "int64", INT64), ("batch_length", "int32", INT32), ("partition_leader_epoch", "int32", INT32)),
    *(("magic", "int8", INT8), ("crc", "uint32", UINT32), ("attributes", "int16", INT16)),
    *(("last_offset_delta", "int32", INT32), ("base_timestamp", "int64", INT64), ("max_timestamp", "int64", INT64)),
    *(("producer_id", "int64", INT64), ("producer_epoch", "int16", INT16), ("base_sequence", "int32", INT32)),
    ("record_count", "int32", INT32),
)
_OLD_FIELDS: Final = (
    *(("offset", "int64", INT64), ("size", "int32", INT32), ("crc", "uint32", UINT32), ("magic", "int8", INT8)),
    ("attributes", "int8", INT8),
)


def explain_batches(
    view: memoryview, start: int, end: int, topic: str | None, *, may_be_cut: bool = True
) -> list[Node]:
    """The batches of a span, and the bytes after the last whole one; `may_be_cut` if these are not a fault."""
    nodes: list[Node] = []
    position = start
    while position < end:
        name, left = f"[{len(nodes)}]", end - position
        length = INT32.unpack_from(view, position + SIZE_AT)[0] if left >= PREFIX_SIZE else 0
        magic = view[position + MAGIC_AT] if left >= PROBE_SIZE else 2
        problem = _misfit(position, left, length, magic)
        size = PREFIX_SIZE + length
        is_cut = left < PROBE_SIZE or size > left
        if problem is not None or (is_cut and not may_be_cut):
            problem = problem or Fault(position, f"{size} bytes" if left >= PREFIX_SIZE else "a batch", f"{left}")
            behind = _next_batch(view, position + 1, end)
            if is_cut and behind == end:
                expand = partial(_cut_batch, view, position, end, topic, problem)
                nodes.append(Node(name, position, left, "partial batch", None, "truncated", expand=expand))
                break
            nodes.append(Node(name, position, behind - position, "record batch", None, fault=problem))
            position = behind
            continue
        if is_cut:
            wanted = f"the first {left} of {size} bytes" if left >= PREFIX_SIZE else f"{left} bytes"
            nodes.append(Node(name, position, left, "partial batch", None, f"{wanted}; readers drop it"))
            break
        if magic == 2:
            expand = partial(_batch, view, position, position + size, topic)
            nodes.append(Node(name, position, size, "record batch", None, _summary(view, position), expand=expand))
        else:
            nodes.append(explain_message(view, position, position + size, name, topic))
        position += size
    return nodes


def _next_batch(view: memoryview, start: int, end: int) -> int:
    """The position of the next sound batch, or the end."""
    for part in walk(BytesAt(view[:end]), start, end, file_size=end):
        if isinstance(part, Stretch) and part.scan.count:
            return part.position + part.scan.position[0]
    return end


def resembles_batch(view: memoryview) -> bool:
    """Whether bytes begin like a batch that may be damaged or truncated: its offset, size and magic are possible."""
    if len(view) < PROBE_SIZE:
        return False
    offset, length, magic = INT64.unpack_from(view)[0], INT32.unpack_from(view, SIZE_AT)[0], view[MAGIC_AT]
    if magic > 2 or not 0 <= offset < _HIGHEST_OFFSET or length < SMALLEST_LENGTHS[magic]:
        return False
    if magic < 2 or len(view) < ATTRIBUTES_AT + 2:
        is_small_offset = not any(view[:4])  # no frame has a size of 0
        return bool(length <= (_LARGEST_CUT if is_small_offset else 2 * len(view)))
    return bool(0 <= INT16.unpack_from(view, ATTRIBUTES_AT)[0] < 1 << 7)


def begins_with_batch(view: memoryview) -> bool:
    """Whether bytes begin with a whole batch with a correct CRC."""
    try:
        return next(read_batches(view), None) is not None
    except CorruptRecordError:
        return False


def _misfit(position: int, left: int, length: int, magic: int) -> Fault | None:
    if left >= PROBE_SIZE and magic > 2:
        return Fault(position + MAGIC_AT, "magic 0, 1 or 2", f"magic {magic}")
    if left >= PREFIX_SIZE and length < SMALLEST_LENGTHS[magic if left >= PROBE_SIZE else 0]:
        smallest = SMALLEST_LENGTHS[magic if left >= PROBE_SIZE else 0]
        return Fault(position + SIZE_AT, f"a batch length of at least {smallest}", str(length))
    return None


def _summary(view: memoryview, position: int) -> str:
    base, last = INT64.unpack_from(view, position)[0], INT32.unpack_from(view, position + LAST_OFFSET_DELTA_AT)[0]
    count, attributes = (
        INT32.unpack_from(view, position + RECORD_COUNT_AT)[0],
        INT16.unpack_from(view, position + ATTRIBUTES_AT)[0],
    )
    parts = [
        f"offsets {base} to {base + last}" if last else f"offset {base}",
        f"{count} record{'s' if count != 1 else ''}",
    ]
    return ", ".join([*parts, *_attribute_names(attributes)])


def _attribute_names(attributes: int) -> list[str]:
    codec = attributes & CODEC
    names = [codec_name(codec)] if codec else []
    return names + [name for bit, name in _FLAGS if attributes & bit]


def _cut_batch(view: memoryview, start: int, end: int, topic: str | None, problem: Fault) -> list[Node]:
    """The fields of a batch up to where it is cut off, then the fault."""
    if end - start <= HEADER_SIZE or view[start + MAGIC_AT] != 2:
        root = Node("", start, end - start, "partial batch")
        cursor = Cursor(view, start, end)
        for name, kind, form in _FIELDS if end - start < PROBE_SIZE or view[start + MAGIC_AT] == 2 else _OLD_FIELDS:
            if cursor.end - cursor.position < form.size:
                break
            cursor.leaf(root, name, kind, cursor.fixed(form))
        cursor.fail(root, "rest", "bytes", problem)
        described(root.children(), BATCH)
        return list(root.children())
    fields = _batch(view, start, end, topic, is_cut=True)
    return [*fields, Node("rest", end, 0, "bytes", fault=problem)]


def _batch(view: memoryview, start: int, end: int, topic: str | None, *, is_cut: bool = False) -> list[Node]:
    root = Node("", start, end - start, "record batch")
    cursor = Cursor(view, start, end)
    batch = BatchContext(view, start, topic, is_cut=is_cut)

    def add(name: str, kind: str, form: struct.Struct, note: Callable[[Any], str] | None = None) -> Any:
        value = cursor.fixed(form)
        cursor.leaf(root, name, kind, value, note(value) if note else "")
        return value

    add("base_offset", "int64", INT64)
    add("batch_length", "int32", INT32, lambda value: f"{value + PREFIX_SIZE} bytes in all")
    add("partition_leader_epoch", "int32", INT32, _none)
    add("magic", "int8", INT8)
    if is_cut:
        add("crc", "uint32", UINT32, lambda _: "not checked, because the batch is truncated")
    else:
        add_crc(cursor, root, "CRC-32C", crc32c(view[start + CHECKED_FROM : end]))
    attributes = add("attributes", "int16", INT16, lambda value: ", ".join(_attribute_names(value)))
    add("last_offset_delta", "int32", INT32, lambda value: f"last offset {batch.base_offset + value}")
    horizon = " (delete horizon)" if attributes & DELETE_HORIZON else ""
    add("base_timestamp", "int64", INT64, lambda value: utc(value) + horizon)
    add("max_timestamp", "int64", INT64, utc)
    add("producer_id", "int64", INT64, _none)
    add("producer_epoch", "int16", INT16, _none)
    add("base_sequence", "int32", INT32, _none)
    count = add("record_count", "int32", INT32)
    _add_records(root, view, cursor.position, end, batch, count)
    described(root.children(), BATCH)
    return list(root.children())


def _add_records(root: Node, view: memoryview, start: int, end: int, batch: BatchContext, count: int) -> None:
    codec = batch.attributes & CODEC
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
