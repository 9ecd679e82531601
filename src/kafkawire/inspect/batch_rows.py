"""The record batches and records that exchanges and segments carry, as rows.

Rules:
- Every batch whose header can be read has a row; crc_ok tells the good from the bad. Behind a header that cannot be
  read there are no rows. A tail that is no whole batch has none either.
- `location` says where a batch is: connection, exchange and byte for captures, file and byte for segments.
- Records are unpacked only when they are asked for, and their values kept only when those are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.records import CorruptRecordError, RecordsError, parse_header, read_batches, scan_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect.rows import Rows
    from kafkawire.records import BatchHeader, Buffer

_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
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


def add_records(rows: Rows, origin: Origin, data: Buffer, *, values: bool) -> str | None:
    """Add a row for each record of the good batches; what stopped it, if something did."""
    try:
        for batch in read_batches(data):
            if batch.is_control:
                continue
            location = f"{origin.place}@{batch.position}"
            for record in batch.records():
                rows.add(_record_row(origin, location, record, values=values))
    except RecordsError as error:
        return str(error)
    return None


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
