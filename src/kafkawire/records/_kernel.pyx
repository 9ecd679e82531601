# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The record kernel, compiled. `kernel.py` beside it is its reference; the rules are written there."""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t


cdef extern from "_bytes.h" nogil:
    int16_t kw_load16(const uint8_t *p)
    int32_t kw_load32(const uint8_t *p)
    uint32_t kw_loadu32(const uint8_t *p)
    int64_t kw_load64(const uint8_t *p)
    int64_t kw_add64(int64_t a, int64_t b)


cdef extern from "_crc32c.h" nogil:
    void kw_crc_init()
    uint32_t kw_crc32c(uint32_t crc, const uint8_t *p, size_t n)
    uint32_t kw_crc32(uint32_t crc, const uint8_t *p, size_t n)


kw_crc_init()

from kafkawire.records.kernel import SCAN_COLUMNS

cdef enum:
    FAULT_SIZE = 1
    FAULT_MAGIC = 2
    FAULT_CRC = 3


cdef struct Fault:
    int64_t position
    int code
    int64_t where
    int64_t found
    int64_t expected


cdef inline int64_t whole_batch(const uint8_t *data, int64_t position, int64_t total, Fault *fault) noexcept nogil:
    """The size of the batch at a position; 0 where only a cut tail is left, or -1 and the fault."""
    cdef int64_t left = total - position
    cdef int32_t length, smallest = 14
    cdef uint8_t magic
    if left < 12:
        return 0
    length = kw_load32(data + position + 8)
    if length >= 14:
        if left < 17:
            return 0
        magic = data[position + 16]
        if magic > 2:
            fault[0] = Fault(position, FAULT_MAGIC, 0, <int8_t> magic, 2)
            return -1
        smallest = 49 if magic == 2 else (22 if magic == 1 else 14)
    if length < smallest:
        fault[0] = Fault(position, FAULT_SIZE, 0, length, smallest)
        return -1
    return 12 + <int64_t> length if 12 + <int64_t> length <= left else 0


cdef inline bint crc_holds(const uint8_t *batch, int64_t size, int64_t position, Fault *fault) noexcept nogil:
    cdef uint32_t stated, computed
    if batch[16] == 2:
        stated = kw_loadu32(batch + 17)
        computed = kw_crc32c(0, batch + 21, size - 21)
    else:
        stated = kw_loadu32(batch + 12)
        computed = kw_crc32(0, batch + 16, size - 16)
    if stated != computed:
        fault[0] = Fault(position, FAULT_CRC, 0, computed, stated)
        return False
    return True


def crc32c(data, uint32_t value=0):
    """CRC-32C of any buffer, continuing from `value`."""
    cdef Py_buffer view
    cdef uint32_t crc
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if view.len < 65536:
            crc = kw_crc32c(value, <const uint8_t *> view.buf, view.len)
        else:
            with nogil:
                crc = kw_crc32c(value, <const uint8_t *> view.buf, view.len)
    finally:
        PyBuffer_Release(&view)
    return crc


cdef struct ScanColumns:
    int64_t *position
    int32_t *size
    int8_t *magic
    int16_t *attributes
    int64_t *base_offset
    int64_t *last_offset
    int32_t *record_count
    int64_t *base_timestamp
    int64_t *max_timestamp
    int32_t *leader_epoch
    int64_t *producer_id
    int16_t *producer_epoch
    int32_t *base_sequence
    uint32_t *crc


cdef void scan_row(const uint8_t *batch, int64_t position, int64_t size, int64_t row, ScanColumns *out) noexcept nogil:
    out.position[row] = position
    out.size[row] = <int32_t> size
    out.magic[row] = batch[16]
    out.base_offset[row] = kw_load64(batch)
    if batch[16] == 2:
        out.attributes[row] = kw_load16(batch + 21)
        out.last_offset[row] = kw_add64(kw_load64(batch), kw_load32(batch + 23))
        out.record_count[row] = kw_load32(batch + 57)
        out.base_timestamp[row] = kw_load64(batch + 27)
        out.max_timestamp[row] = kw_load64(batch + 35)
        out.leader_epoch[row] = kw_load32(batch + 12)
        out.producer_id[row] = kw_load64(batch + 43)
        out.producer_epoch[row] = kw_load16(batch + 51)
        out.base_sequence[row] = kw_load32(batch + 53)
        out.crc[row] = kw_loadu32(batch + 17)
        return
    out.attributes[row] = <int8_t> batch[17]
    out.last_offset[row] = kw_load64(batch)
    out.record_count[row] = -1 if batch[17] & 7 else 1
    out.base_timestamp[row] = kw_load64(batch + 18) if batch[16] else -1
    out.max_timestamp[row] = out.base_timestamp[row]
    out.leader_epoch[row] = -1
    out.producer_id[row] = -1
    out.producer_epoch[row] = -1
    out.base_sequence[row] = -1
    out.crc[row] = kw_loadu32(batch + 12)


def scan(buffer, int64_t start, bint verify, int64_t limit):
    """Walk up to `limit` batches from `start`: their columns, where the good bytes end, and the fault that ended them."""
    cdef Py_buffer view
    cdef const uint8_t *data
    cdef int64_t position = start, size, count = 0, row = 0
    cdef Fault fault
    cdef ScanColumns out
    cdef void **column = <void **> &out
    fault.code = 0
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        data = <const uint8_t *> view.buf
        with nogil:
            while count < limit:
                size = whole_batch(data, position, view.len, &fault)
                if size <= 0:
                    break
                position += size
                count += 1
        columns = []
        for width in _WIDTHS:
            space = PyByteArray_FromStringAndSize(NULL, count * <int64_t> width)
            column[len(columns)] = PyByteArray_AS_STRING(space)
            columns.append(space)
        position = start
        with nogil:
            while row < count:
                size = 12 + <int64_t> kw_load32(data + position + 8)
                if verify and not crc_holds(data + position, size, position, &fault):
                    break
                scan_row(data + position, position, size, row, &out)
                row += 1
                position += size
    finally:
        PyBuffer_Release(&view)
    if row < count:
        columns = [space[: row * width] for space, width in zip(columns, _WIDTHS)]
    found = (fault.position, fault.code, fault.where, fault.found, fault.expected) if fault.code else None
    return columns, position, found


_WIDTHS = tuple({"q": 8, "i": 4, "I": 4, "h": 2, "b": 1}[code] for code in SCAN_COLUMNS.values())
