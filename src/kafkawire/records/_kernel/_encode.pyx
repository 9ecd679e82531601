# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Records to bytes, compiled. `encode.py` beside it is its reference; the rules are written there."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport INT32_MAX, INT64_MAX, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from kafkawire.records._kernel._layout cimport *

from kafkawire.records.errors import InvalidRecordError


cdef extern from "Python.h":
    ctypedef struct PyVarObject:
        pass

    PyObject *PyBytes_New "PyBytes_FromStringAndSize"(const char *data, Py_ssize_t size) except NULL
    int _PyBytes_Resize(PyObject **space, Py_ssize_t size) except -1
    void Py_SET_SIZE(PyVarObject *instance, Py_ssize_t size)
    void Py_XDECREF(PyObject *instance)
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL


cdef extern from "_write.h" nogil:
    enum:
        KW_MOST_OVERHEAD, KW_MOST_HEADER, KW_LARGEST

    struct ArrowArray:
        int64_t length, offset
        ArrowArray **children
        void (*release)(ArrowArray *) noexcept nogil

    ctypedef struct kw_out:
        uint8_t *data
        int64_t used, capacity

    ctypedef struct kw_new_record:
        int64_t offset, timestamp
        const uint8_t *key
        const uint8_t *value
        int64_t key_size, value_size, headers, headers_size

    ctypedef struct kw_column:
        pass

    ctypedef struct kw_rows:
        kw_column offset, timestamp, key, value
        int64_t length, next_row, next_offset, records_per_batch, batch_bytes

    ctypedef struct kw_filled:
        int64_t count, base_offset

    void kw_crc_init()
    int kw_varint_size(int64_t v)
    int64_t kw_sub64(int64_t a, int64_t b)
    int kw_room(kw_out *out, int64_t more)
    int64_t kw_body_size(kw_new_record *r, int64_t timestamp_delta, int64_t offset_delta)
    void kw_put_record(kw_out *out, kw_new_record *r, int64_t body, int64_t timestamp_delta, int64_t offset_delta)
    void kw_put_header(kw_out *out, const uint8_t *key, int64_t key_size, const uint8_t *value, int64_t value_size)
    void kw_put_message(kw_out *out, kw_new_record *r, int magic, int attributes)
    void kw_open_column(kw_column *column, const ArrowArray *a, int64_t more, bint is_integer)
    void kw_open_headers(kw_rows *rows, const ArrowArray *a)
    int64_t kw_column_bytes(const kw_column *column, int64_t rows)
    int kw_fill_batch(kw_rows *rows, kw_out *out, kw_filled *filled)
    void kw_seal(uint8_t *batch, int64_t size, const kw_filled *filled, int64_t last_offset, int64_t sequence)


kw_crc_init()

cdef int hold(object data, Py_buffer *view, const uint8_t **start, int64_t *size) except -1:
    """The bytes of a key or value; a view that must be released has a length."""
    view.len = -1
    if data is None:
        size[0] = -1
    elif PyBytes_CheckExact(data):
        start[0] = <const uint8_t *> PyBytes_AS_STRING(data)
        size[0] = PyBytes_GET_SIZE(data)
    else:
        PyObject_GetBuffer(data, view, PyBUF_SIMPLE)
        start[0] = <const uint8_t *> view.buf
        size[0] = view.len
    return 0


cdef class Appender:
    """The encoded records of one batch."""

    cdef readonly int magic
    cdef readonly int64_t base_offset, next_offset, count, base_timestamp, max_timestamp
    cdef int64_t size_limit, fixed_timestamp, overhead
    cdef bint relative, has_fixed_base
    cdef int attributes
    cdef kw_out out

    def __init__(self, int magic, int64_t base_offset, bint relative, int64_t size_limit, base_timestamp,
                 append_timestamp):
        self.magic = magic
        self.base_offset = self.next_offset = base_offset
        self.relative = relative
        self.size_limit = size_limit
        self.has_fixed_base = base_timestamp is not None
        self.base_timestamp = base_timestamp if base_timestamp is not None else -1
        self.max_timestamp = -1
        self.attributes = 8 if append_timestamp is not None and magic == 1 else 0
        self.fixed_timestamp = append_timestamp if self.attributes else -1
        self.overhead = KW_HEADER_SIZE if magic == 2 else 0
        self.count = 0
        self.out.used = 0

    def __dealloc__(self):
        free(self.out.data)

    @property
    def size(self):
        """The bytes of the batch if it were built now, before compression."""
        return self.overhead + self.out.used

    def grow(self, key, value, int64_t timestamp=-1, headers=()):
        """Add a record as `append` does: the bytes by which it grew the batch, or 0 if it was not added.

        The first record also brings the bytes of the header.
        """
        cdef int64_t before = self.overhead + self.out.used if self.count else 0
        return self.overhead + self.out.used - before if self.add(key, value, timestamp, headers, self.next_offset) else 0

    def append(self, key, value, int64_t timestamp=-1, headers=(), offset=None):
        """Add a record; False, without adding it, if the batch has records and would exceed its size limit."""
        return self.add(key, value, timestamp, headers, self.next_offset if offset is None else <int64_t> offset)

    cdef bint add(self, key, value, int64_t timestamp, headers, int64_t offset) except -1:
        cdef kw_new_record record
        cdef Py_buffer key_view, value_view
        cdef bint added
        cdef tuple pairs = ()
        record.timestamp = timestamp
        record.offset = offset
        if record.offset < self.next_offset or record.offset - self.base_offset > INT32_MAX or record.offset == INT64_MAX:
            last = min(<object> self.base_offset + INT32_MAX, INT64_MAX - 1)
            raise InvalidRecordError(f"offset {record.offset}, expected {self.next_offset} to {last}")
        record.headers = record.headers_size = 0
        if headers:
            pairs = tuple(headers)
            record.headers = len(pairs)
            if self.magic < 2:
                raise InvalidRecordError(f"magic {self.magic} has no headers, {len(pairs)} given")
        hold(key, &key_view, &record.key, &record.key_size)
        try:
            hold(value, &value_view, &record.value, &record.value_size)
            try:
                if record.key_size > KW_LARGEST or record.value_size > KW_LARGEST:
                    raise InvalidRecordError(f"a key or value passes {KW_LARGEST} bytes")
                if self.magic == 2:
                    added = self.append_record(&record, pairs)
                else:
                    added = self.append_message(&record)
            finally:
                if value_view.len >= 0:
                    PyBuffer_Release(&value_view)
        finally:
            if key_view.len >= 0:
                PyBuffer_Release(&key_view)
        if added:
            self.next_offset = record.offset + 1
            if timestamp > self.max_timestamp:
                self.max_timestamp = timestamp
            self.count += 1
        return added

    cdef bint fits(self, int64_t more) except -1:
        cdef int64_t needed = self.overhead + self.out.used + more
        if self.count and needed > self.size_limit:
            return False
        if needed > KW_LARGEST:
            raise InvalidRecordError(f"batch of {needed} bytes, expected at most {KW_LARGEST}")
        if kw_room(&self.out, more + KW_MOST_OVERHEAD) < 0:
            raise MemoryError
        return True

    cdef bint append_record(self, kw_new_record *record, tuple pairs) except -1:
        cdef int64_t base = self.base_timestamp if self.count or self.has_fixed_base else record.timestamp
        cdef int64_t timestamp_delta = kw_sub64(record.timestamp, base)
        cdef int64_t offset_delta = record.offset - self.base_offset
        cdef int64_t body
        encoded = encode_headers(pairs) if pairs else b""
        record.headers_size = PyBytes_GET_SIZE(encoded)
        body = kw_body_size(record, timestamp_delta, offset_delta)
        if not self.fits(kw_varint_size(body) + body):
            return False
        self.base_timestamp = base
        kw_put_record(&self.out, record, body, timestamp_delta, offset_delta)
        memcpy(self.out.data + self.out.used, PyBytes_AS_STRING(encoded), record.headers_size)
        self.out.used += record.headers_size
        return True

    cdef bint append_message(self, kw_new_record *record) except -1:
        cdef kw_new_record message = record[0]
        cdef int64_t size = KW_LEGACY_KEY_AT(self.magic) + 8
        size += (record.key_size if record.key_size > 0 else 0) + (record.value_size if record.value_size > 0 else 0)
        if not self.fits(size):
            return False
        if self.relative:
            message.offset -= self.base_offset
        if self.attributes:
            message.timestamp = self.fixed_timestamp
        kw_put_message(&self.out, &message, self.magic, self.attributes)
        return True

    def payload(self):
        """The encoded records of the batch, or the encoded messages of the set."""
        return PyBytes_FromStringAndSize(<const char *> self.out.data, self.out.used) if self.out.used else b""

    def copy_into(self, space, int64_t at):
        """Write the payload into this memory, from a place on; ValueError if it does not fit."""
        cdef Py_buffer view
        PyObject_GetBuffer(space, &view, PyBUF_WRITABLE)
        try:
            if at < 0 or view.len - at < self.out.used:
                raise ValueError(f"{self.out.used} bytes at {at} of {view.len}")
            if self.out.used:
                memcpy(<uint8_t *> view.buf + at, self.out.data, self.out.used)
        finally:
            PyBuffer_Release(&view)


cdef bytes encode_headers(tuple pairs):
    cdef kw_out out
    cdef Py_buffer view
    cdef const uint8_t *value = NULL
    cdef const char *text
    cdef Py_ssize_t text_size
    cdef int64_t size
    memset(&out, 0, sizeof(kw_out))
    try:
        for name, content in pairs:
            if not PyUnicode_Check(name):
                raise TypeError(f"header key {name!r}: expected str")
            text = PyUnicode_AsUTF8AndSize(name, &text_size)
            hold(content, &view, &value, &size)
            try:
                if kw_room(&out, text_size + (size if size > 0 else 0) + KW_MOST_HEADER) < 0:
                    raise MemoryError
                kw_put_header(&out, <const uint8_t *> text, text_size, value, size)
            finally:
                if view.len >= 0:
                    PyBuffer_Release(&view)
        return PyBytes_FromStringAndSize(<const char *> out.data, out.used)
    finally:
        free(out.data)


def encode(batch, bytes template, int64_t base_offset, int64_t sequence, int64_t records_per_batch, int64_t batch_bytes,
           pack):
    """Rows as magic 2 batches with the constant fields of a template: the bytes, and the next offset and sequence."""
    cdef ArrowArray array
    cdef kw_rows rows
    cdef kw_out out
    cdef kw_filled filled
    cdef int64_t start, size
    cdef int i, status = 0
    cdef PyObject *space = NULL
    memset(&array, 0, sizeof(ArrowArray))
    memset(&rows, 0, sizeof(kw_rows))
    out.used = out.capacity = 0
    batch._export_to_c(<uintptr_t> &array)
    try:
        for i, name in enumerate(batch.schema.names):
            if name == "headers":
                kw_open_headers(&rows, array.children[i])
            else:
                kw_open_column(column_of(&rows, name), array.children[i], array.offset, name in ("offset", "timestamp"))
        rows.length = array.length
        rows.next_offset = base_offset
        rows.records_per_batch = records_per_batch
        rows.batch_bytes = batch_bytes
        size = kw_column_bytes(&rows.key, rows.length) + kw_column_bytes(&rows.value, rows.length)
        widen(&space, &out, size + 14 * rows.length + 1024)
        while rows.next_row < rows.length:
            start = out.used
            status = -3
            if out.capacity - start > KW_HEADER_SIZE:
                out.used = start + KW_HEADER_SIZE
                with nogil:
                    status = kw_fill_batch(&rows, &out, &filled)
            if status == -3:
                out.used = start
                widen(&space, &out, out.capacity + 1024)
                continue
            if status < 0:
                refuse(status, rows.next_row, rows.next_offset)
            memcpy(out.data + start, PyBytes_AS_STRING(template), KW_HEADER_SIZE)
            if pack is not None:
                squeezed = bytes(pack(PyBytes_FromStringAndSize(<const char *> out.data + start + KW_HEADER_SIZE, out.used - start - KW_HEADER_SIZE)))
                out.used = start + KW_HEADER_SIZE
                size = PyBytes_GET_SIZE(squeezed)
                if out.capacity - out.used < size:
                    widen(&space, &out, size)
                memcpy(out.data + out.used, PyBytes_AS_STRING(squeezed), size)
                out.used += size
            with nogil:
                kw_seal(out.data + start, out.used - start, &filled, rows.next_offset - 1, sequence)
            if sequence >= 0:
                sequence = (sequence + rows.next_offset - filled.base_offset) & INT32_MAX
        return finished(&space, &out), rows.next_offset, sequence
    finally:
        Py_XDECREF(space)
        if array.release != NULL:
            array.release(&array)


cdef int widen(PyObject **space, kw_out *out, int64_t more) except -1:
    """Enlarge the bytes object, which nothing else refers to yet."""
    if space[0] == NULL:
        space[0] = PyBytes_New(NULL, more)
    else:
        _PyBytes_Resize(space, out.capacity + more)
    out.data = <uint8_t *> PyBytes_AS_STRING(<object> space[0])
    out.capacity += more
    return 0


cdef object finished(PyObject **space, kw_out *out):
    """The bytes object, cut to what was written. A small rest is left in its memory: cutting a large block makes the next
    one of its size come from fresh pages, which costs more than writing it."""
    if out.capacity - out.used > out.capacity // 8:
        _PyBytes_Resize(space, out.used)
    else:
        Py_SET_SIZE(<PyVarObject *> space[0], out.used)
        out.data[out.used] = 0
    return <object> space[0]


cdef kw_column *column_of(kw_rows *rows, str name):
    if name == "offset":
        return &rows.offset
    if name == "timestamp":
        return &rows.timestamp
    return &rows.key if name == "key" else &rows.value


cdef int refuse(int64_t code, int64_t row, int64_t expected) except -1:
    if code == -2:
        raise InvalidRecordError(f"row {row}: a batch of more than {KW_LARGEST} bytes")
    raise InvalidRecordError(f"row {row}: expected an offset of {expected} or more and header keys that are not null")

