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
    decompress,
    read_batches,
)
from kafkawire.records import CorruptRecordError as CorruptBytesError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.log.configs import LogConfig
    from kafkawire.log.files import Bytes
    from kafkawire.records import Batch

ASSIGNED_SIZE = 16
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
    try:
        return [_admit(batch, config, now) for batch in _incoming(data, config)]
    except CorruptBytesError as error:
        raise CorruptRecordError(str(error)) from error
    except MissingCodecError as error:
        raise UnsupportedCompressionTypeError(str(error)) from error


def _incoming(data: Bytes, config: LogConfig) -> list[Batch]:
    reader = read_batches(data)
    batches = list(reader)
    if reader.partial_tail:
        raise CorruptRecordError(f"{reader.partial_tail} bytes after the last whole batch, expected none")
    if not batches:
        raise InvalidRecordError("no batch, expected at least one")
    for batch in batches:
        if batch.size > config.max_message_bytes:
            raise RecordTooLargeError(f"batch of {batch.size} bytes, max.message.bytes is {config.max_message_bytes}")
    if all(batch.magic == 2 for batch in batches):
        return batches
    if any(batch.magic == 2 for batch in batches):
        raise InvalidRecordError("batches of magic 2 among others, expected one format")
    return list(read_batches(_upgraded(batches), verify=False))


def _upgraded(batches: list[Batch]) -> bytes:
    """All messages of a client that knows no batches, in one batch."""
    builder = BatchBuilder(compression=batches[0].codec)
    for batch in batches:
        for record in batch.records():
            builder.append(record.key, record.value, timestamp=record.timestamp)
    return builder.build()


def _admit(batch: Batch, config: LogConfig, now: int) -> Admitted:
    _check_shape(batch)
    attributes = batch.attributes
    payload: Bytes = batch.data[HEADER_SIZE:]
    codec = attributes & CODEC
    records = decompress(codec, payload) if codec else payload
    smallest, largest, keyless, in_order = payloads.examine(records, batch.record_count, batch.base_timestamp)
    if not in_order:
        raise InvalidRecordError(f"offset deltas do not run from 0 to {batch.last_offset_delta}")
    if keyless and config.compacts:
        _refuse_keyless(batch)
    if config.log_append_time:
        attributes |= APPEND_TIME
        largest = now
    else:
        oldest, newest = now - config.message_timestamp_before_max_ms, now + config.message_timestamp_after_max_ms
        if largest > newest or smallest < oldest:
            _refuse_times(batch, oldest, newest)
    rest: Sequence[Bytes] = (batch.data[ASSIGNED_SIZE:],)
    if config.compression_type != "producer":
        wanted = Codec.of("none" if config.compression_type == "uncompressed" else config.compression_type)
        if wanted != codec:
            payload = compress(wanted, records, level=_level(wanted, config))
            attributes = attributes & ~CODEC | wanted
    if attributes != batch.attributes or largest != batch.max_timestamp:
        rest = head_from_magic(batch, payload, attributes=attributes, max_timestamp=largest), payload
    size = ASSIGNED_SIZE + sum(map(len, rest))
    if size > config.max_message_bytes:
        raise RecordTooLargeError(f"batch of {size} bytes when stored, max.message.bytes is {config.max_message_bytes}")
    return Admitted(size, rest, batch.last_offset_delta, largest, _producer(batch, largest))


def _check_shape(batch: Batch) -> None:
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


def _producer(batch: Batch, timestamp: int) -> ProducerBatch | None:
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


def _refuse_keyless(batch: Batch) -> None:
    found = [number for number, record in enumerate(batch.records()) if record.key is None]
    errors = [RecordError(number, "no key, which a compacted topic needs") for number in found[:MOST_REPORTED]]
    raise RefusedRecordsError(f"{len(found)} of {batch.record_count} records have no key on a compacted topic", errors)


def _refuse_times(batch: Batch, oldest: int, newest: int) -> None:
    stamps = [record.timestamp for record in batch.records()]
    found = [number for number, stamp in enumerate(stamps) if stamp != -1 and not oldest <= stamp <= newest]
    if not found:
        return
    errors = [
        RecordError(number, f"timestamp {stamps[number]}, expected {oldest} to {newest}")
        for number in found[:MOST_REPORTED]
    ]
    raise RefusedTimestampsError(
        f"{len(found)} of {batch.record_count} timestamps are too far from the broker's clock", errors
    )
