"""Admission: the checks and changes of a client's batches before they enter a log.

Rules:
- Batches are stored unchanged if possible: only base offset and leader epoch change, which the CRC does not cover. A
  changed timestamp type, maximum timestamp or codec means a new header and a new CRC.
- Every record is checked: counts, offsets, keys on compacted topics, timestamps against the clock. The largest
  timestamp is computed from the records, not taken from the header.
- One bad record makes its batch invalid, and the error names it.
- The batch that most producers send is recognised in one pass (`admit_plain`). For any other one,
  valid or not, the checks run one by one, so that an error names what it found.
- Magic 0 and 1 are converted to magic 2.
- Compressed records must be in a form that every client can read (`records._portable`). An lz4 frame must have
  independent blocks, because Kafka's broker and its Java clients read no others.
- Admission depends only on its arguments, so a slow admission may run in any thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log._producers import ProducerBatch
from kafkawire.log.config import FOREVER
from kafkawire.log.errors import RecordError, RefusedRecordsError, RefusedTimestampsError
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
    decompress_portable,
    parse_header,
    read_batches,
)
from kafkawire.records import CorruptRecordError as CorruptBytesError
from kafkawire.records import payload as payloads
from kafkawire.records.batch import head_from_magic
from kafkawire.records.layout import (
    APPEND_TIME,
    ASSIGNED,
    CODEC,
    CODEC_AT,
    CONTROL,
    MAGIC_AT,
    PREFIX_SIZE,
    TRANSACTIONAL,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.log._position_index import BatchSummary
    from kafkawire.log.config import LogConfig
    from kafkawire.log.storage.files import Bytes

NO_TIMESTAMP = -1
ATTRIBUTES = 4  # the position in a payloads.Head
SLOW_TO_PACK, SLOW_TO_UNPACK = 4096, 65536
MOST_REPORTED = 100
_PLAIN = ("producer", "uncompressed")  # compression.type under which a batch without compression is stored as it is
LZ4_INDEPENDENT_BLOCKS = 0x20  # in the flags of a frame


class AdmittedBatch(NamedTuple):
    """A batch ready to be written, all but its first 16 bytes: base offset, size and leader epoch."""

    size: int
    rest: Sequence[Bytes]
    last_offset_delta: int
    max_timestamp: int
    producer: ProducerBatch | None = None


class AppendResult(NamedTuple):
    """The offsets that batches got; for a duplicate, those that it got the first time."""

    base_offset: int
    last_offset: int
    append_time: int
    log_start_offset: int
    duplicate: bool = False


def assign_offsets(
    admitted: Sequence[AdmittedBatch], offset: int, leader_epoch: int
) -> tuple[list[Bytes], list[BatchSummary], list[ProducerBatch], int, int, int]:
    """Place batches at the end of a log.

    Returns their bytes, the fields for indexes and producers, the total size, the largest timestamp, and the new end. A
    plain tuple, because every append makes one.
    """
    parts: list[Bytes] = []
    summaries, producers, total, latest = [], [], 0, NO_TIMESTAMP
    for size, rest, last_delta, timestamp, producer in admitted:
        last = offset + last_delta
        parts.append(ASSIGNED.pack(offset, size - PREFIX_SIZE, leader_epoch))
        parts.extend(rest)
        summaries.append((last, size, timestamp))
        if producer is not None:
            producers.append(producer._replace(first_offset=offset, last_offset=last))
        total += size
        latest = max(latest, timestamp)
        offset = last + 1
    return parts, summaries, producers, total, latest, offset


def is_slow(data: Bytes, config: LogConfig) -> bool:
    """Whether these bytes need so much decompression or compression that it should run in a thread."""
    if len(data) < SLOW_TO_PACK:
        return False
    magic = data[MAGIC_AT]
    packed = data[CODEC_AT[magic]] & CODEC if magic <= 2 else 0
    if packed and len(data) >= SLOW_TO_UNPACK:
        return True
    return config.compression_type != "producer" and packed != _wanted(config)


def admit_plain(data: Bytes, config: LogConfig, now: int) -> AdmittedBatch | None:
    """One batch of the usual kind, which is stored as it is; None if it is of another kind, or if anything is wrong."""
    if config.log_append_time or config.compression_type not in _PLAIN:
        return None
    oldest = now - config.message_timestamp_before_max_ms
    newest = now + config.message_timestamp_after_max_ms
    found = payloads.plain(data, config.max_message_bytes, max(oldest, -FOREVER), min(newest, FOREVER), config.compacts)
    if found is None:
        return None
    size, last_delta, largest, producer_id, epoch, sequence = found
    producer = None
    if producer_id >= 0:
        last = add_sequence(sequence, last_delta)
        producer = ProducerBatch(producer_id, epoch, sequence, last, -1, -1, largest, False)
    return AdmittedBatch(size, (memoryview(data)[ASSIGNED.size :],), last_delta, largest, producer)


def admit(data: Bytes, config: LogConfig, now: int) -> list[AdmittedBatch]:
    """The batches of a client, checked and in the form that the log stores."""
    usual = admit_plain(data, config, now)
    if usual is not None:
        return [usual]
    view = memoryview(data)
    if not view:
        raise InvalidRecordError("no batch, expected at least one")
    try:
        if len(view) > MAGIC_AT and view[MAGIC_AT] < 2:
            view = memoryview(_upgraded(view, config))
        admitted, position = [], 0
        while position < len(view):
            head = payloads.head(view, position, config.max_message_bytes)
            end = position + head[0]
            admitted.append(_admit(head, view[position:end], config, now))
            position = end
    except CorruptBytesError as error:
        raise CorruptRecordError(str(error)) from error
    except MissingCodecError as error:
        raise UnsupportedCompressionTypeError(str(error)) from error
    return admitted


def admit_unsequenced(data: Bytes, config: LogConfig) -> tuple[AdmittedBatch, int, int]:
    """The transactional batch of a coordinator, which has no sequence; its producer id and epoch."""
    head = parse_header(data)
    size, epoch, last_delta = len(data), head.producer_epoch, head.last_offset - head.base_offset
    if size > config.max_message_bytes:
        raise _too_large(size, config)
    producer = ProducerBatch(head.producer_id, epoch, -1, -1, -1, -1, head.max_timestamp, True)
    rest = (memoryview(data)[ASSIGNED.size :],)
    return AdmittedBatch(size, rest, last_delta, head.max_timestamp, producer), head.producer_id, epoch


def stores_as_is(size: int, config: LogConfig) -> bool:
    """Whether settings and size let a batch without compression be stored as it is."""
    return not config.log_append_time and config.compression_type in _PLAIN and size <= config.max_message_bytes


def admit_own(data: Bytes, now: int) -> AdmittedBatch:
    """A batch that this broker has just built, with one record of this time."""
    return AdmittedBatch(len(data), (memoryview(data)[ASSIGNED.size :],), 0, now)


def _upgraded(data: memoryview, config: LogConfig) -> bytes:
    """All messages of a client that uses magic 0 or 1, in one batch of magic 2."""
    batches = list(read_batches(data))
    builder = BatchBuilder(compression=batches[0].codec if batches else Codec.NONE)
    end = 0
    for batch in batches:
        if batch.magic == 2:
            raise InvalidRecordError("a batch of magic 2 after messages of an older format, expected one format")
        if batch.size > config.max_message_bytes:
            raise _too_large(batch.size, config)
        for record in batch.records():
            builder.append(record.key, record.value, timestamp=record.timestamp)
        end = batch.end
    if end < len(data):
        raise CorruptRecordError(f"{len(data) - end} bytes after the last whole message, expected none")
    return builder.build()


def _admit(head: payloads.Head, data: memoryview, config: LogConfig, now: int) -> AdmittedBatch:
    size, magic, crc, computed, attributes, _, last_delta, base_timestamp, max_timestamp, producer, _, _, count = head
    if magic != 2:
        raise InvalidRecordError(f"magic {magic} after a batch of magic 2, expected one format")
    if size > config.max_message_bytes:
        raise _too_large(size, config)
    if computed != crc:
        raise CorruptRecordError(f"stated CRC {crc:#010x}, computed {computed:#010x}")
    _check_shape(head)
    payload: Bytes = data[HEADER_SIZE:]
    codec = attributes & CODEC
    records = decompress_portable(codec, payload) if codec else payload
    if codec == Codec.LZ4 and not payload[4] & LZ4_INDEPENDENT_BLOCKS:
        raise InvalidRecordError("lz4 frame with linked blocks, expected independent blocks")
    smallest, largest, keyless, in_order = payloads.examine(records, count, base_timestamp)
    if not in_order:
        raise InvalidRecordError(f"offset deltas do not run from 0 to {last_delta}")
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
        wanted = _wanted(config)
        if wanted != codec:
            payload = compress(wanted, records, level=_level(wanted, config))
            attributes = attributes & ~CODEC | wanted
    rest: tuple[Bytes, ...] = (data[ASSIGNED.size :],)
    if attributes != head[ATTRIBUTES] or largest != max_timestamp:
        rest = head_from_magic(parse_header(data), payload, attributes=attributes, max_timestamp=largest), payload
        size = HEADER_SIZE + len(payload)
        if size > config.max_message_bytes:
            raise _too_large(size, config)
    return AdmittedBatch(size, rest, last_delta, largest, _producer(head, largest) if producer >= 0 else None)


def _too_large(size: int, config: LogConfig) -> RecordTooLargeError:
    return RecordTooLargeError(f"batch of {size} bytes, max.message.bytes is {config.max_message_bytes}")


def _check_shape(head: payloads.Head) -> None:
    _, _, _, _, attributes, base_offset, last_delta, _, _, producer_id, epoch, sequence, count = head
    if base_offset:
        raise InvalidRecordError(f"base offset {base_offset}, expected 0 from a client")
    if count <= 0 or count != last_delta + 1:
        raise InvalidRecordError(f"{count} records and last offset delta {last_delta}, expected a delta of {count - 1}")
    if attributes & CONTROL:
        raise InvalidRecordError("control batch, which a client must not write")
    if attributes & APPEND_TIME:
        raise InvalidTimestampError("timestamp type LogAppendTime, which only a broker sets")
    if producer_id >= 0 and (sequence < 0 or epoch < 0):
        raise InvalidRecordError(
            f"producer {producer_id} with epoch {epoch} and sequence {sequence}, expected 0 or more"
        )
    if producer_id < 0 and attributes & TRANSACTIONAL:
        raise InvalidRecordError("transactional batch without a producer id")


def _producer(head: payloads.Head, timestamp: int) -> ProducerBatch:
    _, _, _, _, attributes, _, last_delta, _, _, producer_id, epoch, sequence, _ = head
    last = add_sequence(sequence, last_delta)
    return ProducerBatch(producer_id, epoch, sequence, last, -1, -1, timestamp, attributes & TRANSACTIONAL != 0)


def _wanted(config: LogConfig) -> Codec:
    return Codec.of("none" if config.compression_type == "uncompressed" else config.compression_type)


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
