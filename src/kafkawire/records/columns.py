"""Batches as Arrow tables: one row per record, or one row per batch.

Rules:
- Every table over Kafka records uses the names and types below.
- Missing values are -1, as in the format (a timestamp of -1 is one millisecond before 1970); keys, values and header
  values may be null. A record without headers has an empty list.
- The limit on decompressed bytes applies to each batch. A column that would exceed 2 GiB is an error: read in parts.
- Header fields of a compressed magic 0 or 1 message are those of the wrapper, which has only its last offset.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkawire._native import load
from kafkawire.records._scan import scan_batches
from kafkawire.records.compression import MAX_DECOMPRESSED, Codec
from kafkawire.records.errors import ColumnSizeError, CorruptRecordError, Fault, InvalidRecordError
from kafkawire.records.layout import CODEC, CONTROL, DELETE_HORIZON, TRANSACTIONAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkawire.records._kernel import decode as form
    from kafkawire.records._kernel.kernel import Buffer
else:
    form = load("kafkawire.records._kernel._decode", "kafkawire.records._kernel.decode")


def _schema(fields: list[tuple[str, pa.DataType]]) -> pa.Schema:
    return pa.schema(fields)


_TIME = pa.timestamp("ms", tz="UTC")
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

RECORD_SCHEMA = _schema(
    [
        ("offset", pa.int64()),
        ("timestamp", _TIME),
        ("timestamp_type", pa.int8()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", HEADERS),
    ]
)
"""The columns of a record: the default columns of `to_arrow`."""

BATCH_SCHEMA = _schema(
    [
        ("position", pa.int64()),
        ("size", pa.int32()),
        ("magic", pa.int8()),
        ("codec", pa.string()),
        ("attributes", pa.int16()),
        ("base_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("record_count", pa.int32()),
        ("base_timestamp", _TIME),
        ("max_timestamp", _TIME),
        ("leader_epoch", pa.int32()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("base_sequence", pa.int32()),
        ("is_transactional", pa.bool_()),
        ("is_control", pa.bool_()),
        ("has_delete_horizon", pa.bool_()),
        ("crc", pa.uint32()),
    ]
)
"""The columns of a batch header: those of `batches_to_arrow`, which `to_arrow` accepts too."""

_FLAGS = {"is_transactional": TRANSACTIONAL, "is_control": CONTROL, "has_delete_horizon": DELETE_HORIZON}
_DERIVED = ("codec", *_FLAGS)
_CODECS = pa.array([codec.name.lower() for codec in Codec] + [None] * 3, pa.string())
_FIELDS = {field.name: field for field in (*RECORD_SCHEMA, *BATCH_SCHEMA)}


@lru_cache(64)
def _schemas(columns: tuple[str, ...]) -> tuple[pa.Schema, pa.Schema]:
    """The requested schema, and that of the columns that the kernel builds for it."""
    unknown = [name for name in columns if name not in _FIELDS]
    if unknown:
        raise InvalidRecordError(f"no column {', '.join(unknown)}; there are {', '.join(_FIELDS)}")
    if len(set(columns)) != len(columns):
        raise InvalidRecordError(f"a column is requested twice in {', '.join(columns)}")
    stored = [name for name in columns if name not in _DERIVED]
    if len(stored) < len(columns):
        stored += [name for name in ("magic", "attributes") if name not in stored]
    return pa.schema([_FIELDS[name] for name in columns]), pa.schema([_FIELDS[name] for name in stored])


def _derive(name: str, magic: pa.Array[Any], attributes: pa.Array[Any]) -> pa.Array[Any]:
    if name == "codec":
        return _CODECS.take(pc.bit_wise_and(attributes, pa.scalar(CODEC, pa.int16())))
    flag = pc.not_equal(pc.bit_wise_and(attributes, pa.scalar(_FLAGS[name], pa.int16())), pa.scalar(0, pa.int16()))
    return pc.and_(flag, pc.equal(magic, pa.scalar(2, pa.int8())))


def _complete(stored: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if stored.schema.names == schema.names:
        return stored
    magic, attributes = stored.column("magic"), stored.column("attributes")
    return pa.record_batch(
        [_derive(name, magic, attributes) if name in _DERIVED else stored.column(name) for name in schema.names],
        schema=schema,
    )


def to_arrow(
    buffer: Buffer,
    *,
    columns: Sequence[str] | None = None,
    verify: bool = True,
    include_control: bool = False,
    aborted: Iterable[tuple[int, int]] | None = None,
    start: int | None = None,
    end: int | None = None,
    max_decompressed: int = MAX_DECOMPRESSED,
) -> pa.RecordBatch:
    """The records of a buffer of batches, of any mix of formats, as Arrow columns; a cut tail is left out.

    `columns` may name those of RECORD_SCHEMA (all of them by default) and of BATCH_SCHEMA. `start` and `end` keep
    records with start <= offset < end. `aborted` lists (producer id, first offset) of aborted transactions, as a
    fetch response does: their records are left out. `include_control` keeps the records of control batches.

    >>> from kafkawire.records import BatchBuilder
    >>> builder = BatchBuilder(base_offset=5)
    >>> builder.append(b"k", b"hello", timestamp=0)
    True
    >>> to_arrow(builder.build(), columns=["offset", "value", "codec"]).to_pylist()
    [{'offset': 5, 'value': b'hello', 'codec': 'none'}]
    """
    schema, stored = _schemas(tuple(RECORD_SCHEMA.names if columns is None else columns))
    arguments = (
        *(buffer, stored, verify, include_control, list(aborted or ())),
        *(-(2**63) if start is None else start, 2**63 - 1 if end is None else end - 1, max_decompressed),
    )
    try:
        return _complete(form.decode(*arguments), schema)
    except CorruptRecordError as error:
        if error.code == Fault.OVERFLOW:
            raise ColumnSizeError(str(error)) from None
        raise


def batches_to_arrow(buffer: Buffer, *, verify: bool = True) -> pa.RecordBatch:
    """One row per batch, from the headers alone; nothing is decompressed, and a cut tail is left out.

    >>> from kafkawire.records import BatchBuilder
    >>> builder = BatchBuilder(compression="gzip")
    >>> builder.append(None, b"hello")
    True
    >>> batches_to_arrow(builder.build()).select(["codec", "last_offset"]).to_pylist()
    [{'codec': 'gzip', 'last_offset': 0}]
    """
    scan = scan_batches(buffer, verify=verify)
    scan.raise_error()
    schema, stored = _schemas(tuple(BATCH_SCHEMA.names))
    arrays = [
        pa.Array.from_buffers(field.type, scan.count, [None, pa.py_buffer(getattr(scan, field.name))])
        for field in stored
    ]
    return _complete(pa.record_batch(arrays, schema=stored), schema)
