"""The record batches and records that exchanges and segments carry, as rows.

Rules:
- Every batch with a readable header has a row; `crc_ok` is false if its checksum fails. Rows end at the first header
  that cannot be read. An incomplete batch at the end has no row.
- `location` is connection/exchange@byte for captures and file@byte for segments.
- Headers are collected as tuples and become columns in runs, because one dictionary per batch costs more than its
  header. Log directories use the same columns.
- Records are unpacked only on request, and their values are kept only on request. The records of many messages become
  columns in one call. If one batch cannot be read, they are read one by one up to it.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.inspect._tables.rows import RUN, Rows, as_microseconds, microseconds
from kafkawire.inspect._tables.schemas import BATCHES, RECORDS
from kafkawire.records import (
    ColumnSizeError,
    CorruptRecordError,
    RecordsError,
    crc32c,
    parse_header,
    read_batches,
    scan_batches,
    to_arrow,
)
from kafkawire.records.layout import (
    APPEND_TIME,
    CHECKED_FROM,
    CODEC,
    CONTROL,
    DELETE_HORIZON,
    LEGACY_CHECKED_FROM,
    TRANSACTIONAL,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from kafkawire.records import BatchHeader, Buffer

    Columns = dict[str, pa.Array[Any]]

_CODECS: Final = pa.array(["none", "gzip", "snappy", "lz4", "zstd", None, None, None], pa.string())
_HEADER: Final = (
    *("position", "size", "magic", "attributes", "base_offset", "last_offset", "record_count", "base_timestamp"),
    *("max_timestamp", "leader_epoch", "producer_id", "producer_epoch", "base_sequence", "crc"),
)
_fields = attrgetter(*_HEADER)
_UNPACKED: Final = ("position", "offset", "timestamp", "timestamp_type", "key", "value", "headers")
_TOGETHER: Final = 4 << 20


class Origin(NamedTuple):
    """The source of records: a message of an exchange, or a segment file."""

    source: str
    place: str
    conn_id: int | None
    seq: int | None
    topic: str | None
    partition: int
    file: str | None = None


class BatchRows(Rows):
    """Rows of batches."""

    def __init__(self) -> None:
        super().__init__(BATCHES)
        self._headers: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return super().__len__() + len(self._headers)

    def add_all(self, origin: Origin, data: Buffer) -> int:
        """Add one row per batch of a buffer; returns their number."""
        count = 0
        for header, fine in read_headers(data):
            last = None
            if fine and header.magic == 2 and 0 < header.record_count <= header.last_offset_delta:
                last = _last_record(memoryview(data)[header.position : header.end])
            self._headers.append((origin, fine, last, *_fields(header)))
            count += 1
        if len(self._headers) >= RUN:
            self._flush()
        return count

    def _flush(self) -> None:
        if self._headers:
            origins, fine, last, *fields = zip(*self._headers, strict=True)
            self._headers = []
            columns = header_columns(
                {name: np.array(each, np.int64) for name, each in zip(_HEADER, fields, strict=True)}
            )
            places = zip(origins, columns["position"].to_pylist(), strict=True)
            columns["location"] = pa.array([f"{each.place}@{position}" for each, position in places], pa.string())
            columns["last_record"], columns["crc_ok"] = pa.array(last, pa.int64()), pa.array(fine, pa.bool_())
            for name in ("topic", "partition", "file", "source", "conn_id", "seq"):
                columns[name] = pa.array([getattr(each, name) for each in origins], BATCHES.field(name).type)
            self.add_columns(pa.RecordBatch.from_arrays([columns[name] for name in BATCHES.names], schema=BATCHES))


def header_columns(fields: Mapping[str, NDArray[np.int64]]) -> Columns:
    """The columns of a table that the header fields of batches give."""
    attributes, magic, size = fields["attributes"], fields["magic"], fields["size"]
    is_new, codec = magic == 2, attributes & CODEC
    made: dict[str, Any] = {
        **fields,
        "codec": _CODECS.take(codec.astype(np.int32)),
        "is_transactional": is_new & (attributes & TRANSACTIONAL != 0),
        "is_control": is_new & (attributes & CONTROL != 0),
        "has_delete_horizon": is_new & (attributes & DELETE_HORIZON != 0),
        "timestamp_type": np.where(magic == 0, -1, attributes & APPEND_TIME != 0),
        "raw_bytes": pa.array(size, mask=codec != 0),
    }
    for name in ("base_timestamp", "max_timestamp"):
        made[name] = as_microseconds(pa.array(fields[name]).cast(pa.timestamp("ms", tz="UTC")))
    return {name: pa.array(column).cast(BATCHES.field(name).type) for name, column in made.items()}


def read_headers(data: Buffer) -> Iterator[tuple[BatchHeader, bool]]:
    """The batch headers in a buffer, and whether the checksum of each holds."""
    position, view = 0, memoryview(data)
    size = view.nbytes
    if not size:
        return
    try:
        header = parse_header(view, 0)
    except CorruptRecordError:
        return
    if header.end == size:  # one batch, as most requests have; a scan of it would cost several times as much
        yield header, _checksum(view, header.magic) == header.crc
        return
    while position < size:
        scan = scan_batches(data, start=position)
        for place in scan.position:
            yield parse_header(data, place), True
        if scan.error is None:
            return
        try:
            header = parse_header(data, scan.end)
        except CorruptRecordError:
            return
        if header.size <= 0 or header.end > size:
            return
        yield header, False
        position = header.end


def _checksum(batch: memoryview, magic: int) -> int:
    return crc32c(batch[CHECKED_FROM:]) if magic == 2 else zlib.crc32(batch[LEGACY_CHECKED_FROM:])


def _last_record(batch: memoryview) -> int | None:
    try:
        return max(record.offset for each in read_batches(batch) for record in each.records())
    except (RecordsError, ValueError):
        return None


class _Packed(NamedTuple):
    """Consecutive good batches, and their position in the records field or file."""

    origin: Origin
    begin: int
    data: memoryview


class RecordRows(Rows):
    """Rows of records; the batches of many messages are unpacked at once."""

    def __init__(self, *, values: bool) -> None:
        super().__init__(RECORDS)
        self._values = values
        self._packed: list[_Packed] = []
        self._size = 0

    def unpack(self, origin: Origin, data: Buffer) -> None:
        """Add a row for each record of the batches up to the first that is not good."""
        scan, view = scan_batches(data), memoryview(data)
        begin = 0
        for position in [*scan.position, scan.end]:
            if position - begin >= _TOGETHER or position == scan.end:
                self._take(_Packed(origin, begin, view[begin:position]))
                begin = position

    def _take(self, packed: _Packed) -> None:
        self._packed.append(packed)
        self._size += len(packed.data)
        if self._size >= _TOGETHER:
            self._unpack_all()

    def _flush(self) -> None:
        self._unpack_all()
        super()._flush()

    def _unpack_all(self) -> None:
        packed, self._packed, self._size = self._packed, [], 0
        if not packed:
            return
        try:
            found = to_arrow(b"".join([each.data for each in packed]), columns=_UNPACKED, verify=False)
        except (CorruptRecordError, ColumnSizeError):
            for each in packed:
                self._unpack_singly(each)
        else:
            self.add_columns(self._columns(packed, found))

    def _unpack_singly(self, packed: _Packed) -> None:
        """The records before one that cannot be read."""
        with suppress(CorruptRecordError):
            for batch in read_batches(packed.data):
                if batch.is_control:
                    continue
                place = _place(packed.origin, packed.begin + batch.position)
                place["timestamp_type"] = batch.timestamp_type
                for record in batch.records():
                    self.add(place | _record(record, values=self._values))

    def _columns(self, packed: list[_Packed], found: pa.RecordBatch) -> pa.RecordBatch:
        sizes = np.array([len(each.data) for each in packed], np.int64)
        starts = np.cumsum(sizes) - sizes
        positions, batch = np.unique(found.column("position"), return_inverse=True)
        carrier = np.searchsorted(starts, positions, "right") - 1
        within = positions - starts[carrier] + np.array([each.begin for each in packed], np.int64)[carrier]
        places = zip(carrier.tolist(), within.tolist(), strict=True)
        locations = pa.array([f"{packed[number].origin.place}@{position}" for number, position in places], pa.string())
        value: Any = found.column("value")
        columns: dict[str, pa.Array[Any]] = {
            "location": locations.take(batch),
            "position": pa.array(within[batch], pa.int64()),
            "offset": found.column("offset"),
            "timestamp": as_microseconds(found.column("timestamp")),
            "timestamp_type": found.column("timestamp_type"),
            "key": found.column("key"),
            "value_len": pc.binary_length(value).cast(pa.int64()),
            "value": value if self._values else pa.nulls(len(found), pa.binary()),
            "headers": found.column("headers"),
            "tombstone": pc.is_null(value),
        }
        for name in ("source", "conn_id", "seq", "topic", "partition", "file"):
            known = pa.array([getattr(each.origin, name) for each in packed], RECORDS.field(name).type)
            columns[name] = known.take(carrier[batch])
        return pa.RecordBatch.from_arrays([columns[name] for name in RECORDS.names], schema=RECORDS)


def _place(origin: Origin, position: int) -> dict[str, object]:
    return {
        "topic": origin.topic,
        "partition": origin.partition,
        "position": position,
        "file": origin.file,
        "source": origin.source,
        "location": f"{origin.place}@{position}",
        "conn_id": origin.conn_id,
        "seq": origin.seq,
    }


def _record(record: Any, *, values: bool) -> dict[str, object]:
    value = record.value
    return {
        "offset": record.offset,
        "timestamp": microseconds(record.timestamp),
        "key": None if record.key is None else bytes(record.key),
        "value_len": None if value is None else len(value),
        "value": bytes(value) if values and value is not None else None,
        "headers": [{"key": key, "value": content} for key, content in record.headers],
        "tombstone": value is None,
    }
