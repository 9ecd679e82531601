# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The checks of a batch that a log receives, compiled. `payload.py` beside it is the reference, with the rules."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport INT64_MAX, INT64_MIN, int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from kafkawire.records._kernel._layout cimport *
from kafkawire.records._kernel._record cimport (
    KW_SMALLEST_RECORD, kw_add64, kw_crc32c, kw_crc_init, kw_cursor, kw_fault, kw_load16, kw_load32, kw_load64,
    kw_loadu32, kw_put_varint, kw_read_record, kw_record, kw_varint32, kw_varint64, kw_varint_size, kw_whole_batch,
)

from kafkawire.records._kernel.payload import incomplete
from kafkawire.records.errors import Fault, corrupt


kw_crc_init()


def head(data, int64_t position, int64_t most):
    """The header of the whole batch at a position, and the computed CRC; see `payload.Head`."""
    cdef Py_buffer view
    cdef kw_fault fault
    cdef const uint8_t *at
    cdef int64_t size
    cdef uint32_t computed = 0
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        memset(&fault, 0, sizeof(kw_fault))
        size = kw_whole_batch(<const uint8_t *> view.buf, position, view.len, &fault)
        if size < 0:
            raise corrupt(position, fault.code, fault.where, fault.found, fault.expected)
        if size == 0:
            raise incomplete(position, view.len)
        at = <const uint8_t *> view.buf + position
        if at[KW_MAGIC_AT] != 2:
            return size, at[KW_MAGIC_AT], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
        if size <= most:
            with nogil:
                computed = kw_crc32c(0, at + KW_CHECKED_FROM, <size_t> size - KW_CHECKED_FROM)
        return (
            size, 2, kw_loadu32(at + KW_CRC_AT), computed, kw_load16(at + KW_ATTRIBUTES_AT), kw_load64(at),
            kw_load32(at + KW_LAST_OFFSET_DELTA_AT), kw_load64(at + KW_BASE_TIMESTAMP_AT),
            kw_load64(at + KW_MAX_TIMESTAMP_AT), kw_load64(at + KW_PRODUCER_ID_AT),
            kw_load16(at + KW_PRODUCER_EPOCH_AT), kw_load32(at + KW_BASE_SEQUENCE_AT),
            kw_load32(at + KW_RECORD_COUNT_AT),
        )
    finally:
        PyBuffer_Release(&view)


cdef fail(kw_cursor *cursor):
    return corrupt(0, cursor.fault.code, cursor.fault.where, cursor.fault.found, cursor.fault.expected)


def examine(payload, int64_t count, int64_t base_timestamp):
    """Smallest and largest timestamp, the number of records without a key, and whether offsets run from 0 on."""
    cdef Py_buffer view
    cdef kw_cursor cursor
    cdef kw_record record
    cdef int64_t smallest = INT64_MAX, largest = INT64_MIN, keyless = 0, expected = 0, room, left
    cdef bint in_order = True
    cdef int failed = 0
    memset(&cursor, 0, sizeof(kw_cursor))
    PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
    try:
        room = view.len // KW_SMALLEST_RECORD
        if count < 0 or count > room:
            raise corrupt(0, Fault.COUNT, 0, count, room)
        cursor.start = cursor.at = <const uint8_t *> view.buf
        cursor.end = cursor.start + view.len
        cursor.base_timestamp = base_timestamp
        with nogil:
            while expected < count:
                failed = kw_read_record(&cursor, &record)
                if failed:
                    break
                if record.timestamp < smallest:
                    smallest = record.timestamp
                if record.timestamp > largest:
                    largest = record.timestamp
                keyless += record.key == NULL
                in_order = in_order and record.offset == expected
                expected += 1
        if failed:
            raise fail(&cursor)
        left = cursor.end - cursor.at
        if left:
            raise corrupt(0, Fault.TRAILING, cursor.at - cursor.start, left)
    finally:
        PyBuffer_Release(&view)
    return smallest, largest, keyless, in_order


def plain(data, int64_t most, int64_t oldest, int64_t newest, bint keys_needed):
    """The values that admission needs of one batch that a log stores as it is; None for every other one."""
    cdef Py_buffer view
    cdef kw_fault fault
    cdef kw_cursor cursor
    cdef kw_record record
    cdef const uint8_t *at
    cdef int64_t size, producer, number = 0, largest = INT64_MIN
    cdef int32_t last_delta, sequence, count
    cdef int16_t attributes, epoch
    cdef bint holds = True
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        memset(&fault, 0, sizeof(kw_fault))
        at = <const uint8_t *> view.buf
        size = kw_whole_batch(at, 0, view.len, &fault)
        if size != view.len or size < KW_HEADER_SIZE or size > most or at[KW_MAGIC_AT] != 2:
            return None
        attributes = kw_load16(at + KW_ATTRIBUTES_AT)
        if attributes & (KW_CODEC | KW_APPEND_TIME | KW_TRANSACTIONAL | KW_CONTROL) or kw_load64(at):
            return None
        last_delta = kw_load32(at + KW_LAST_OFFSET_DELTA_AT)
        producer = kw_load64(at + KW_PRODUCER_ID_AT)
        epoch = kw_load16(at + KW_PRODUCER_EPOCH_AT)
        sequence = kw_load32(at + KW_BASE_SEQUENCE_AT)
        count = kw_load32(at + KW_RECORD_COUNT_AT)
        if count <= 0 or count - 1 != last_delta or (producer >= 0 and (epoch < 0 or sequence < 0)):
            return None
        memset(&cursor, 0, sizeof(kw_cursor))
        cursor.start = cursor.at = at + KW_HEADER_SIZE
        cursor.end = at + size
        cursor.base_timestamp = kw_load64(at + KW_BASE_TIMESTAMP_AT)
        with nogil:
            holds = kw_crc32c(0, at + KW_CHECKED_FROM, <size_t> size - KW_CHECKED_FROM) == kw_loadu32(at + KW_CRC_AT)
            while holds and number < count:
                if kw_read_record(&cursor, &record):
                    holds = False
                    break
                if record.timestamp > largest:
                    largest = record.timestamp
                holds = (
                    record.offset == number and oldest <= record.timestamp <= newest
                    and not (keys_needed and record.key == NULL)
                )
                number += 1
        if not holds or cursor.at != cursor.end or largest != kw_load64(at + KW_MAX_TIMESTAMP_AT):
            return None
        return size, last_delta, largest, producer, epoch, sequence
    finally:
        PyBuffer_Release(&view)


def thin(payload, bytes keep, int64_t shift):
    """The records whose byte in `keep` is not 0, their timestamp deltas raised by `shift`."""
    cdef Py_buffer view
    cdef kw_cursor cursor
    cdef kw_record record
    cdef int64_t count = len(keep), i, delta = 0, size
    cdef int32_t length = 0
    cdef const uint8_t *wanted = keep
    cdef const uint8_t *from_
    cdef const uint8_t *body
    cdef const uint8_t *rest
    cdef uint8_t *out
    cdef uint8_t *start
    memset(&cursor, 0, sizeof(kw_cursor))
    PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
    try:
        # A shifted delta takes at most 9 bytes more, and the length before it at most 4.
        space = PyBytes_FromStringAndSize(NULL, view.len + (13 * count if shift else 0))
        start = out = <uint8_t *> PyBytes_AS_STRING(space)
        cursor.start = cursor.at = <const uint8_t *> view.buf
        cursor.end = cursor.start + view.len
        for i in range(count):
            from_ = cursor.at
            if kw_read_record(&cursor, &record):
                raise fail(&cursor)
            if not wanted[i]:
                continue
            if not shift:
                memcpy(out, from_, cursor.at - from_)
                out += cursor.at - from_
                continue
            body = from_
            kw_varint32(&body, cursor.end, &length)
            rest = body + 1
            kw_varint64(&rest, cursor.end, &delta)
            delta = kw_add64(delta, shift)
            size = 1 + kw_varint_size(delta) + (cursor.at - rest)
            out = kw_put_varint(out, size)
            out[0] = body[0]
            out = kw_put_varint(out + 1, delta)
            memcpy(out, rest, cursor.at - rest)
            out += cursor.at - rest
        return space[: out - start]
    finally:
        PyBuffer_Release(&view)
