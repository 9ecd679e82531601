# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The record kernel, compiled. `kernel.py` beside it is its reference; the rules are written there."""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

from kafkawire.records._kernel._layout cimport *
from kafkawire.records._kernel._record cimport *


cdef extern from "_object.h":
    object kw_bytes_or_none(const uint8_t *data, int32_t size)
    object kw_record_object(type cls, const kw_record *found, object timestamp, object headers)
    int kw_adopt_class(type cls) except -1


kw_crc_init()

from kafkawire.records.errors import corrupt
from kafkawire.records._kernel.kernel import SCAN_COLUMNS

_WIDTHS = tuple({"q": 8, "i": 4, "I": 4, "h": 2, "b": 1}[code] for code in SCAN_COLUMNS.values())


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


cdef void scan_row(
    const uint8_t *batch, int64_t position, int64_t size, uint8_t magic, int64_t row, ScanColumns *out
) noexcept nogil:
    out.position[row] = position
    out.size[row] = <int32_t> size
    out.magic[row] = magic
    out.base_offset[row] = kw_load64(batch)
    if magic == 2:
        out.attributes[row] = kw_load16(batch + KW_ATTRIBUTES_AT)
        out.last_offset[row] = kw_add64(kw_load64(batch), kw_load32(batch + KW_LAST_OFFSET_DELTA_AT))
        out.record_count[row] = kw_load32(batch + KW_RECORD_COUNT_AT)
        out.base_timestamp[row] = kw_load64(batch + KW_BASE_TIMESTAMP_AT)
        out.max_timestamp[row] = kw_load64(batch + KW_MAX_TIMESTAMP_AT)
        out.leader_epoch[row] = kw_load32(batch + KW_LEADER_EPOCH_AT)
        out.producer_id[row] = kw_load64(batch + KW_PRODUCER_ID_AT)
        out.producer_epoch[row] = kw_load16(batch + KW_PRODUCER_EPOCH_AT)
        out.base_sequence[row] = kw_load32(batch + KW_BASE_SEQUENCE_AT)
        out.crc[row] = kw_loadu32(batch + KW_CRC_AT)
        return
    out.attributes[row] = <int8_t> batch[KW_LEGACY_ATTRIBUTES_AT]
    out.last_offset[row] = kw_load64(batch)
    out.record_count[row] = -1 if batch[KW_LEGACY_ATTRIBUTES_AT] & KW_CODEC else 1
    out.base_timestamp[row] = kw_load64(batch + KW_LEGACY_TIMESTAMP_AT) if magic else -1
    out.max_timestamp[row] = out.base_timestamp[row]
    out.leader_epoch[row] = -1
    out.producer_id[row] = -1
    out.producer_epoch[row] = -1
    out.base_sequence[row] = -1
    out.crc[row] = kw_loadu32(batch + KW_LEGACY_CRC_AT)


def scan(buffer, int64_t start, bint verify, int64_t limit):
    """Scan up to `limit` batches from `start`: their columns, the end of the good batches, and the fault there."""
    cdef Py_buffer view
    cdef const uint8_t *data
    cdef int64_t position = start, size, count = 0, row = 0
    cdef uint8_t magic
    cdef kw_fault fault
    cdef ScanColumns out
    cdef void **column = <void **> &out
    fault.code = 0
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        data = <const uint8_t *> view.buf
        with nogil:
            while count < limit:
                size = kw_whole_batch(data, position, view.len, &fault)
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
                size = kw_batch_at(data, position, view.len, &magic, &fault)
                if size <= 0:
                    break  # the buffer changed while it was read
                if verify and not kw_crc_holds(data + position, size, magic, position, &fault):
                    break
                scan_row(data + position, position, size, magic, row, &out)
                row += 1
                position += size
    finally:
        PyBuffer_Release(&view)
    if row < count:
        columns = [space[: row * width] for space, width in zip(columns, _WIDTHS)]
    found = (fault.position, fault.code, fault.where, fault.found, fault.expected) if fault.code else None
    return columns, position, found


@cython.final
@cython.no_gc
cdef class Record:
    """A record; keys, values and header values may be None."""

    cdef object offset, timestamp, key, value, headers

    __match_args__ = ("offset", "timestamp", "key", "value", "headers")
    __hash__ = None

    def __init__(self, offset, timestamp, key, value, headers=()):
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers

    def __eq__(self, other):
        if not isinstance(other, Record):
            return NotImplemented
        cdef Record that = other
        return (self.offset == that.offset and self.timestamp == that.timestamp and self.key == that.key
                and self.value == that.value and self.headers == that.headers)

    def __repr__(self):
        return (f"Record(offset={self.offset!r}, timestamp={self.timestamp!r}, key={self.key!r}, "
                f"value={self.value!r}, headers={self.headers!r})")

    def __reduce__(self):
        return Record, (self.offset, self.timestamp, self.key, self.value, self.headers)

    def header(self, name, default=None):
        """The value of the first header with a name, which may be None; the default if there is no such header."""
        for key, value in self.headers:
            if key == name:
                return value
        return default

    def last_header(self, name, default=None):
        """As `header`, of the last header with the name, which counts if a program replaced a header by adding one."""
        for key, value in reversed(self.headers):
            if key == name:
                return value
        return default


kw_adopt_class(Record)


cdef tuple read_headers(kw_cursor *cursor, kw_record *record):
    cdef const uint8_t *p = record.headers
    cdef const uint8_t *key
    cdef const uint8_t *value
    cdef int32_t key_size, value_size, i
    found = []
    for i in range(record.header_count):
        if kw_read_header(cursor, &p, cursor.at, &key, &key_size, &value, &value_size) < 0:
            raise BufferError("the buffer changed while it was read")
        found.append((PyUnicode_DecodeUTF8(<const char *> key, key_size, "replace"), kw_bytes_or_none(value, value_size)))
    return tuple(found)


@cython.final
cdef class RecordIterator:
    """An iterator over the records of one batch."""

    def __cinit__(self):
        self.held = False

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)

    cdef int hold(self, payload) except -1:
        PyObject_GetBuffer(payload, &self.view, PyBUF_SIMPLE)
        self.held = True
        self.cursor.start = self.cursor.at = <const uint8_t *> self.view.buf
        self.cursor.end = self.cursor.start + self.view.len
        return 0

    cdef int refuse(self) except -1:
        self.left = 0
        raise corrupt(self.position, self.cursor.fault.code, self.cursor.fault.where, self.cursor.fault.found,
                      self.cursor.fault.expected)

    def __iter__(self):
        return self

    cdef bint step(self, kw_record *found) except -1:
        """Read the next record and set `stamp`; False after the last one."""
        cdef kw_cursor *cursor = &self.cursor
        if self.left == 0:
            if not self.messages and cursor.at != cursor.end and cursor.fault.code == 0:
                kw_fail(&cursor.fault, KW_TRAILING, cursor.at - cursor.start, cursor.end - cursor.at, 0)
                self.refuse()
            return False
        if (kw_read_message(cursor, found) if self.messages else kw_read_record(cursor, found)) < 0:
            self.refuse()
        self.left -= 1
        if found.timestamp != self.timestamp or self.stamp is None:
            self.timestamp = found.timestamp
            self.stamp = found.timestamp
        return True

    def __next__(self):
        cdef kw_record found
        if not self.step(&found):
            raise StopIteration
        headers = read_headers(&self.cursor, &found) if found.header_count else ()
        return kw_record_object(Record, &found, self.stamp, headers)


cdef RecordIterator open_records(
    payload, int64_t position, int64_t base_offset, int64_t base_timestamp, int64_t max_timestamp, bint append, int64_t count
):
    cdef RecordIterator iterator = RecordIterator.__new__(RecordIterator)
    iterator.position = position
    iterator.cursor.base_offset = base_offset
    iterator.cursor.base_timestamp = base_timestamp
    iterator.cursor.append_timestamp = max_timestamp
    iterator.cursor.append = append
    iterator.hold(payload)
    if count < 0 or count > iterator.view.len // KW_SMALLEST_RECORD:
        kw_fail(&iterator.cursor.fault, KW_COUNT, 0, count, iterator.view.len // KW_SMALLEST_RECORD)
        iterator.refuse()
    iterator.left = count
    return iterator


def records(payload, int64_t position, int64_t base_offset, int64_t base_timestamp, int64_t max_timestamp, bint append,
            int64_t count):
    """The records of a magic 2 batch from its decompressed bytes."""
    return open_records(payload, position, base_offset, base_timestamp, max_timestamp, append, count)


def messages(data, int64_t position, bint inside, int magic, int64_t offset, int64_t timestamp, bint append, bint verify):
    """The one message in `data`, or those inside a wrapper, from its decompressed bytes."""
    cdef RecordIterator iterator = RecordIterator.__new__(RecordIterator)
    iterator.position = position
    iterator.messages = True
    iterator.cursor.inside = inside
    iterator.cursor.append = inside and append
    iterator.cursor.append_timestamp = timestamp
    iterator.cursor.verify = verify
    iterator.hold(data)
    iterator.left = kw_open_wrapper(&iterator.cursor, magic, offset) if inside else 1
    if iterator.left < 0:
        iterator.refuse()
    return iterator
