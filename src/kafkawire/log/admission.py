"""What may enter a log, and in what form.

Rules:
- Batches are taken whole and as they are wherever possible: only base offset and leader epoch change, which the CRC
  does not cover. A changed timestamp type, maximum timestamp or codec means a new header and a new CRC.
- Every record is looked at: counts, offsets, keys on compacted topics, timestamps against the clock. The largest
  timestamp is the one that was found, not the one that was claimed.
- One bad record refuses its batch, and the refusal names it.
- Magic 0 and 1 are converted to magic 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log.errors import RecordError, RefusedRecordsError, RefusedTimestampsError
from kafkawire.log.form import payload as payloads
from kafkawire.log.producers import ProducerBatch
from kafkawire.log.rewrite import APPEND_TIME, CODEC, CONTROL, TRANSACTIONAL, head_from_magic
from kafkawire.messages.errors import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    RecordTooLargeError,
    UnsupportedCompressionTypeError,
)
from kafkawire.records import (
    HEADER_SIZE,
    BatchBuilder,
    Codec,
    MissingCodecError,
    add_sequence,
    compress,
    crc32c,
    decompress,
    parse_header,
    read_batches,
)
from kafkawire.records import CorruptRecordError as CorruptBytesError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.log.configs import LogConfig
    from kafkawire.log.files import Bytes
    from kafkawire.records import BatchHeader

ASSIGNED_SIZE, MAGIC_AT, CHECKED_FROM = 16, 16, 21
MOST_REPORTED = 100


class Admitted(NamedTuple):
    """A batch ready to be written, all but its first 16 bytes: base offset, size and leader epoch."""

    size: int
    rest: Sequence[Bytes]
    last_offset_delta: int
    max_timestamp: int
    producer: ProducerBatch | None = None


def admit(data: Bytes, config: LogConfig, now: int) -> list[Admitted]:
    """The batches of a client, checked and in the form the log keeps."""
    view = memoryview(data)
    if not view:
        raise InvalidRecordError("no batch, expected at least one")
    try:
        if len(view) > MAGIC_AT and view[MAGIC_AT] < 2:
            view = memoryview(_upgraded(view, config))
        admitted, position = [], 0
        while position < len(view):
            header = parse_header(view, position)
            admitted.append(_admit(header, view[position : position + header.size], config, now))
            position += header.size
    except CorruptBytesError as error:
        raise CorruptRecordError(str(error)) from error
    except MissingCodecError as error:
        raise UnsupportedCompressionTypeError(str(error)) from error
    return admitted


def _upgraded(data: memoryview, config: LogConfig) -> bytes:
    """All messages of a client that knows no batches, in one batch."""
    batches = list(read_batches(data))
    builder = BatchBuilder(compression=batches[0].codec if batches else Codec.NONE)
    end = 0
    for batch in batches:
        if batch.magic == 2:
            raise InvalidRecordError("a batch of magic 2 after messages of an older format, expected one format")
        _check_size(batch.size, config)
        for record in batch.records():
            builder.append(record.key, record.value, timestamp=record.timestamp)
        end = batch.end
    if end < len(data):
        raise CorruptRecordError(f"{len(data) - end} bytes after the last whole message, expected none")
    return builder.build()


def _admit(batch: BatchHeader, data: memoryview, config: LogConfig, now: int) -> Admitted:
    if batch.magic != 2:
        raise InvalidRecordError(f"magic {batch.magic} after a batch of magic 2, expected one format")
    if len(data) < batch.size:
        raise CorruptRecordError(f"{len(data)} bytes after the last whole batch, expected none")
    _check_size(batch.size, config)
    if (computed := crc32c(data[CHECKED_FROM:])) != batch.crc:
        raise CorruptRecordError(f"stated CRC {batch.crc:#010x}, computed {computed:#010x}")
    _check_shape(batch)
    attributes = batch.attributes
    payload: Bytes = data[HEADER_SIZE:]
    codec = attributes & CODEC
    records = decompress(codec, payload) if codec else payload
    smallest, largest, keyless, in_order = payloads.examine(records, batch.record_count, batch.base_timestamp)
    if not in_order:
        raise InvalidRecordError(f"offset deltas do not run from 0 to {batch.last_offset_delta}")
    if keyless and config.compacts:
        _refuse_keyless(data)
    if config.log_append_time:
        attributes |= APPEND_TIME
        largest = now
    else:
        oldest, newest = now - config.message_timestamp_before_max_ms, now + config.message_timestamp_after_max_ms
        if largest > newest or smallest < oldest:
            _refuse_times(data, oldest, newest)
    if config.compression_type != "producer":
        wanted = Codec.of("none" if config.compression_type == "uncompressed" else config.compression_type)
        if wanted != codec:
            payload = compress(wanted, records, level=_level(wanted, config))
            attributes = attributes & ~CODEC | wanted
    size, rest = batch.size, [data[ASSIGNED_SIZE:]]
    if attributes != batch.attributes or largest != batch.max_timestamp:
        head = head_from_magic(batch, payload, attributes=attributes, max_timestamp=largest)
        size, rest = HEADER_SIZE + len(payload), [memoryview(head), memoryview(payload)]
        _check_size(size, config)
    return Admitted(size, rest, batch.last_offset_delta, largest, _producer(batch, largest))


def _check_size(size: int, config: LogConfig) -> None:
    if size > config.max_message_bytes:
        raise RecordTooLargeError(f"batch of {size} bytes, max.message.bytes is {config.max_message_bytes}")


def _check_shape(batch: BatchHeader) -> None:
    if batch.base_offset:
        raise InvalidRecordError(f"base offset {batch.base_offset}, expected 0 from a client")
    if batch.record_count <= 0 or batch.record_count != batch.last_offset_delta + 1:
        raise InvalidRecordError(
            f"{batch.record_count} records and last offset delta {batch.last_offset_delta}, expected one less of it"
        )
    if batch.attributes & CONTROL:
        raise InvalidRecordError("control batch, which clients may not write")
    if batch.attributes & APPEND_TIME:
        raise InvalidTimestampError("timestamp type LogAppendTime, which only a broker may set")
    if batch.producer_id >= 0 and (batch.base_sequence < 0 or batch.producer_epoch < 0):
        raise InvalidRecordError(
            f"producer {batch.producer_id} with epoch {batch.producer_epoch} and sequence {batch.base_sequence}, "
            "expected 0 or more"
        )
    if batch.producer_id < 0 and batch.attributes & TRANSACTIONAL:
        raise InvalidRecordError("transactional batch without a producer id")


def _producer(batch: BatchHeader, timestamp: int) -> ProducerBatch | None:
    if batch.producer_id < 0:
        return None
    last = add_sequence(batch.base_sequence, batch.last_offset_delta)
    transactional = batch.attributes & TRANSACTIONAL != 0
    return ProducerBatch(
        batch.producer_id, batch.producer_epoch, batch.base_sequence, last, -1, -1, timestamp, transactional
    )


def _level(codec: Codec, config: LogConfig) -> int | None:
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    level = levels.get(codec)
    return None if level == -1 else level


def _refuse_keyless(data: memoryview) -> None:
    keys = [record.key for batch in read_batches(data) for record in batch.records()]
    found = [number for number, key in enumerate(keys) if key is None]
    errors = [RecordError(number, "no key, which a compacted topic needs") for number in found[:MOST_REPORTED]]
    raise RefusedRecordsError(f"{len(found)} of {len(keys)} records have no key on a compacted topic", errors)


def _refuse_times(data: memoryview, oldest: int, newest: int) -> None:
    stamps = [record.timestamp for batch in read_batches(data) for record in batch.records()]
    found = [number for number, stamp in enumerate(stamps) if stamp != -1 and not oldest <= stamp <= newest]
    if not found:
        return
    errors = [
        RecordError(number, f"timestamp {stamps[number]}, expected {oldest} to {newest}")
        for number in found[:MOST_REPORTED]
    ]
    raise RefusedTimestampsError(
        f"{len(found)} of {len(stamps)} timestamps are too far from the broker's clock", errors
    )
