"""The record batches and records that exchanges and segments carry, as rows.

Rules:
- Every batch whose header can be read has a row; crc_ok tells the good from the bad. Behind a header that cannot be
  read there are no rows. A tail that is no whole batch has none either.
- `location` says where a batch is: connection, exchange and byte for captures, file and byte for segments.
- Records are unpacked only when they are asked for, and their values kept only when those are. Those of
  many messages become columns in one call; where one cannot be read, they are read one by one up to it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.inspect.rows import Rows
from kafkawire.inspect.tables import RECORDS
from kafkawire.records import (
    ColumnSizeError,
    CorruptRecordError,
    RecordsError,
    parse_header,
    read_batches,
    scan_batches,
    to_arrow,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.records import BatchHeader, Buffer

_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
_UNPACKED: Final = ("position", "offset", "timestamp", "key", "value", "headers")
_TOGETHER: Final = 4 << 20
_CLOCKS: Final = {-1: None, 0: "create", 1: "append"}


class Origin(NamedTuple):
    """Where records were found."""

    source: str
    place: str
    conn_id: int | None
    seq: int | None
    topic: str | None
    partition: int


def add_batches(rows: Rows, origin: Origin, data: Buffer) -> tuple[int, list[bool]]:
    """Add a row for each batch; how many there are, and of each whether it is whole."""
    good = []
    for header, fine in read_headers(data):
        good.append(fine)
        row = _batch_row(origin, header, fine)
        if fine and header.magic == 2 and 0 < header.record_count <= header.last_offset_delta:
            row["last_record"] = _last_record(memoryview(data)[header.position : header.end])
        rows.add(row)
    return len(good), good


def read_headers(data: Buffer) -> Iterator[tuple[BatchHeader, bool]]:
    """The batch headers in a buffer, and whether the checksum of each holds."""
    position, size = 0, memoryview(data).nbytes
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


def _last_record(batch: memoryview) -> int | None:
    try:
        return max(record.offset for each in read_batches(batch) for record in each.records())
    except (RecordsError, ValueError):
        return None


class _Packed(NamedTuple):
    """Good batches that follow each other, and where they begin in what carries them."""

    origin: Origin
    begin: int
    data: memoryview

    def location(self, position: int) -> str:
        return f"{self.origin.place}@{self.begin + position}"


class RecordRows(Rows):
    """Records on their way into their table: what many messages carry is unpacked at once."""

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

    def _settle(self) -> None:
        self._unpack_all()
        super()._settle()

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
                location = packed.location(batch.position)
                for record in batch.records():
                    self.add(_record_row(packed.origin, location, record, values=self._values))

    def _columns(self, packed: list[_Packed], found: pa.RecordBatch) -> pa.RecordBatch:
        sizes = np.array([len(each.data) for each in packed], np.int64)
        starts = np.cumsum(sizes) - sizes
        positions, batch = np.unique(found.column("position"), return_inverse=True)
        carrier = np.searchsorted(starts, positions, "right") - 1
        places = zip(carrier.tolist(), (positions - starts[carrier]).tolist(), strict=True)
        locations = pa.array([packed[number].location(position) for number, position in places], pa.string())
        value: Any = found.column("value")
        columns: dict[str, pa.Array[Any]] = {
            "location": locations.take(batch),
            "offset": found.column("offset"),
            "ts": found.column("timestamp").cast(pa.int64()),
            "key": found.column("key"),
            "value_len": pc.binary_length(value).cast(pa.int64()),
            "value": value if self._values else pa.nulls(len(found), pa.binary()),
            "headers": found.column("headers"),
            "tombstone": pc.is_null(value),
        }
        for name in ("source", "conn_id", "seq", "topic", "partition"):
            known = pa.array([getattr(each.origin, name) for each in packed], RECORDS.field(name).type)
            columns[name] = known.take(carrier[batch])
        return pa.RecordBatch.from_arrays([columns[name] for name in RECORDS.names], schema=RECORDS)


def _batch_row(origin: Origin, header: BatchHeader, fine: bool) -> dict[str, object]:
    codec = header.attributes & 7
    return {
        "source": origin.source,
        "location": f"{origin.place}@{header.position}",
        "conn_id": origin.conn_id,
        "seq": origin.seq,
        "topic": origin.topic,
        "partition": origin.partition,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "count": None if header.record_count < 0 else header.record_count,
        "magic": header.magic,
        "codec": _CODECS[codec] if codec < len(_CODECS) else str(codec),
        "ts_type": _CLOCKS[header.timestamp_type],
        "base_ts": header.base_timestamp,
        "max_ts": header.max_timestamp,
        "producer_id": None if header.producer_id < 0 else header.producer_id,
        "epoch": None if header.producer_id < 0 else header.producer_epoch,
        "base_seq": None if header.base_sequence < 0 else header.base_sequence,
        "txn": header.is_transactional,
        "control": header.is_control,
        "leader_epoch": header.leader_epoch,
        "bytes": header.size,
        "raw_bytes": header.size if codec == 0 else None,
        "crc": header.crc,
        "crc_ok": fine,
    }


def _record_row(origin: Origin, location: str, record: Any, *, values: bool) -> dict[str, object]:
    value = record.value
    return {
        "source": origin.source,
        "location": location,
        "conn_id": origin.conn_id,
        "seq": origin.seq,
        "topic": origin.topic,
        "partition": origin.partition,
        "offset": record.offset,
        "ts": record.timestamp,
        "key": None if record.key is None else bytes(record.key),
        "value_len": None if value is None else len(value),
        "value": bytes(value) if values and value is not None else None,
        "headers": [{"key": key, "value": content} for key, content in record.headers],
        "tombstone": value is None,
    }
