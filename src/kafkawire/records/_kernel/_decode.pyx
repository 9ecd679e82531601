# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Batches to Arrow columns, compiled. `decode.py` beside it is its reference; the rules are written there.

Columns grow in plain memory without the interpreter lock and are passed to Arrow by its C data interface. The loop
returns to Python only to decompress a batch, so that at most one decompressed batch is in memory besides the columns.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from kafkawire.records._kernel._layout cimport *
from kafkawire.records._kernel._record cimport *

from pyarrow import RecordBatch

from kafkawire.records._kernel import decode as reference
from kafkawire.records._kernel.decode import WIDTHS
from kafkawire.records.errors import corrupt
from kafkawire.records._kernel.twins import decompression


cdef extern from "_sink.h" nogil:
    enum:
        KW_BATCH_COLUMNS

    struct ArrowArray:
        ArrowArray **children
        void (*release)(ArrowArray *) noexcept nogil

    ctypedef struct kw_binary:
        bint wanted
        int64_t most

    ctypedef struct kw_sink:
        int64_t rows
        bint wants_offset, wants_timestamp, wants_type, wants_headers, wants_batch
        int64_t *offset
        int64_t *timestamp
        int8_t *timestamp_type
        kw_binary key, value, header_key, header_value
        int width[14]
        void *batch[14]

    int kw_arrow_init(ArrowArray *array, int64_t length, int64_t nulls, int64_t buffers, int64_t children)
    int kw_reserve(kw_sink *s, int64_t rows)
    int kw_widen(kw_binary *column, int64_t size)
    int kw_put_row(kw_sink *s, kw_cursor *c, kw_record *r, int8_t timestamp_type)
    void kw_put_batch(kw_sink *s, const uint8_t *b, int64_t position, int64_t size, uint8_t magic, int64_t first)
    int kw_take_plain(ArrowArray *array, int64_t rows, void *space)
    int kw_take_binary(ArrowArray *array, int64_t rows, kw_binary *column)
    int kw_take_headers(ArrowArray *array, kw_sink *s)
    void kw_free_sink(kw_sink *s)


kw_crc_init()

cdef enum Step:
    FINISHED
    FAILED
    PACKED


cdef struct Reader:
    const uint8_t *data
    int64_t position, total
    int64_t size  # of the current batch, like its magic
    uint8_t magic
    bint verify, include_control, ranged
    int64_t start, last
    int64_t aborted_count, aborted_next, active_count
    int64_t *aborted  # producer, first offset, repeated
    int64_t *active
    const uint8_t *packed
    int64_t packed_size
    kw_cursor cursor
    kw_fault fault
    kw_sink sink


cdef inline int fail(Reader *reader, int code) noexcept nogil:
    """Record a fault of the current batch; without a code, the one in its cursor."""
    if code:
        kw_fail(&reader.fault, code, reader.cursor.at - reader.cursor.start, 0, 0)
    else:
        reader.fault = reader.cursor.fault
    reader.fault.position = reader.position
    return -1


cdef int decode_batch(Reader *reader, const uint8_t *payload, int64_t length) noexcept nogil:
    """All records of the current magic 2 batch; `payload` has them decompressed."""
    cdef const uint8_t *b = reader.data + reader.position
    cdef kw_cursor *cursor = &reader.cursor
    cdef kw_sink *sink = &reader.sink
    cdef kw_record record
    cdef int64_t count = kw_load32(b + KW_RECORD_COUNT_AT), i
    cdef int16_t attributes = kw_load16(b + KW_ATTRIBUTES_AT)
    cdef int8_t timestamp_type = (attributes & KW_APPEND_TIME) != 0
    cdef bint wanted = reader.include_control or not attributes & KW_CONTROL
    cdef int code
    cursor.start = cursor.at = payload
    cursor.end = payload + length
    cursor.base_offset = kw_load64(b)
    cursor.base_timestamp = kw_load64(b + KW_BASE_TIMESTAMP_AT)
    cursor.append_timestamp = kw_load64(b + KW_MAX_TIMESTAMP_AT)
    cursor.append = timestamp_type
    if count < 0 or count > length // KW_SMALLEST_RECORD:
        kw_fail(&cursor.fault, KW_COUNT, 0, count, length // KW_SMALLEST_RECORD)
        return fail(reader, 0)
    if wanted and kw_reserve(sink, count) < 0:
        return fail(reader, KW_MEMORY)
    for i in range(count):
        if kw_read_record(cursor, &record) < 0:
            return fail(reader, 0)
        if attributes & KW_CONTROL and reader.aborted_count and record.key_size >= 4 and kw_load16(record.key + 2) == 0:
            end_transaction(reader, kw_load64(b + KW_PRODUCER_ID_AT))
        if not wanted or reader.ranged and (record.offset < reader.start or record.offset > reader.last):
            continue
        code = kw_put_row(sink, cursor, &record, timestamp_type)
        if code:
            return fail(reader, code)
    if cursor.at != cursor.end:
        kw_fail(&cursor.fault, KW_TRAILING, cursor.at - cursor.start, cursor.end - cursor.at, 0)
        return fail(reader, 0)
    return 0


cdef int decode_messages(Reader *reader, const uint8_t *set_of, int64_t length, bint inside) noexcept nogil:
    """The current message, or those inside it."""
    cdef const uint8_t *b = reader.data + reader.position
    cdef kw_cursor *cursor = &reader.cursor
    cdef kw_record record
    cdef int64_t count = 1, i
    cdef int8_t wrapper_type = -1 if reader.magic == 0 else (b[KW_LEGACY_ATTRIBUTES_AT] & KW_APPEND_TIME) != 0
    cdef int code
    cursor.start = cursor.at = set_of
    cursor.end = set_of + length
    cursor.inside = inside
    cursor.verify = reader.verify
    cursor.shift = 0
    cursor.append = inside and wrapper_type == 1
    cursor.append_timestamp = kw_load64(b + KW_LEGACY_TIMESTAMP_AT) if reader.magic == 1 else -1
    if inside:
        count = kw_open_wrapper(cursor, reader.magic, kw_load64(b))
        if count < 0:
            return fail(reader, 0)
    if kw_reserve(&reader.sink, count) < 0:
        return fail(reader, KW_MEMORY)
    for i in range(count):
        if kw_read_message(cursor, &record) < 0:
            return fail(reader, 0)
        if reader.ranged and (record.offset < reader.start or record.offset > reader.last):
            continue
        code = kw_put_row(&reader.sink, cursor, &record, wrapper_type)
        if code:
            return fail(reader, code)
    return 0


cdef void begin_transactions(Reader *reader, int64_t last_offset) noexcept nogil:
    """Activate the aborted transactions that begin up to an offset: their batches are skipped until their marker."""
    while reader.aborted_next < reader.aborted_count and reader.aborted[2 * reader.aborted_next + 1] <= last_offset:
        reader.active[reader.active_count] = reader.aborted[2 * reader.aborted_next]
        reader.active_count += 1
        reader.aborted_next += 1


cdef void end_transaction(Reader *reader, int64_t producer) noexcept nogil:
    cdef int64_t i, kept = 0
    for i in range(reader.active_count):
        if reader.active[i] != producer:
            reader.active[kept] = reader.active[i]
            kept += 1
    reader.active_count = kept


cdef bint is_aborted(Reader *reader, int64_t producer) noexcept nogil:
    cdef int64_t i
    for i in range(reader.active_count):
        if reader.active[i] == producer:
            return True
    return False


cdef bint is_wanted(Reader *reader, const uint8_t *b) noexcept nogil:
    """Whether the current batch must be read: for its rows, or for the abort marker in it."""
    cdef int64_t first = kw_load64(b), last
    cdef int16_t attributes
    if reader.magic < 2:
        return not reader.ranged or first >= reader.start and (b[KW_LEGACY_ATTRIBUTES_AT] & KW_CODEC or first <= reader.last)
    attributes = kw_load16(b + KW_ATTRIBUTES_AT)
    last = kw_add64(first, kw_load32(b + KW_LAST_OFFSET_DELTA_AT))
    if reader.aborted_count and kw_load64(b + KW_PRODUCER_ID_AT) >= 0:
        begin_transactions(reader, last)
        if attributes & KW_CONTROL:
            return True
        if attributes & KW_TRANSACTIONAL and is_aborted(reader, kw_load64(b + KW_PRODUCER_ID_AT)):
            return False
    if attributes & KW_CONTROL and not reader.include_control:
        return False
    return not reader.ranged or last >= reader.start and first <= reader.last


cdef Step advance(Reader *reader) noexcept nogil:
    """Read batches up to the end, a fault, or a batch that must be decompressed first."""
    cdef const uint8_t *b
    cdef int64_t size, first
    cdef kw_record wrapper
    while True:
        size = kw_batch_at(reader.data, reader.position, reader.total, &reader.magic, &reader.fault)
        if size <= 0:
            return FINISHED if size == 0 else FAILED
        reader.size = size
        b = reader.data + reader.position
        if reader.verify and not kw_crc_holds(b, size, reader.magic, reader.position, &reader.fault):
            return FAILED
        if is_wanted(reader, b):
            first = reader.sink.rows
            if reader.magic == 2:
                if kw_load32(b + KW_RECORD_COUNT_AT) != 0:
                    if b[KW_CODEC_AT(2)] & KW_CODEC:
                        reader.packed = b + KW_HEADER_SIZE
                        reader.packed_size = size - KW_HEADER_SIZE
                        return PACKED
                    if decode_batch(reader, b + KW_HEADER_SIZE, size - KW_HEADER_SIZE) < 0:
                        return FAILED
            elif b[KW_LEGACY_ATTRIBUTES_AT] & KW_CODEC:
                reader.cursor.start = reader.cursor.at = b
                reader.cursor.end = b + size
                reader.cursor.inside = reader.cursor.append = False
                if kw_read_message(&reader.cursor, &wrapper) < 0:
                    fail(reader, 0)
                    return FAILED
                if wrapper.value == NULL:
                    fail(reader, KW_NULL_WRAPPER)
                    return FAILED
                reader.packed = wrapper.value
                reader.packed_size = wrapper.value_size
                return PACKED
            elif decode_messages(reader, b, size, False) < 0:
                return FAILED
            kw_put_batch(&reader.sink, b, reader.position, size, reader.magic, first)
        reader.position += size


cdef int unpacked(Reader *reader, const uint8_t *payload, int64_t length) noexcept nogil:
    """Continue with the current batch, whose bytes have been decompressed."""
    cdef int64_t first = reader.sink.rows
    if reader.magic == 2:
        if decode_batch(reader, payload, length) < 0:
            return -1
    elif decode_messages(reader, payload, length, True) < 0:
        return -1
    kw_put_batch(&reader.sink, reader.data + reader.position, reader.position, reader.size, reader.magic, first)
    reader.position += reader.size
    return 0


cdef void prepare(Reader *reader) noexcept nogil:
    """Reserve room for the uncompressed records, by their headers; compressed batches are not counted."""
    cdef int64_t position = 0, rows = 0, bytes_ = 0, size, count
    cdef const uint8_t *b
    cdef kw_fault ignored
    cdef uint8_t magic
    while True:
        size = kw_batch_at(reader.data, position, reader.total, &magic, &ignored)
        if size <= 0:
            break
        b = reader.data + position
        if magic < 2:
            rows += 1
            bytes_ += size
        elif not b[KW_CODEC_AT(2)] & KW_CODEC:
            count = kw_load32(b + KW_RECORD_COUNT_AT)
            if 0 < count <= (size - KW_HEADER_SIZE) // KW_SMALLEST_RECORD:
                rows += count
            bytes_ += size - KW_HEADER_SIZE
        position += size
    if kw_reserve(&reader.sink, rows) < 0:
        kw_fail(&reader.fault, KW_MEMORY, 0, 0, 0)
    elif reader.sink.value.wanted and bytes_ - rows * KW_SMALLEST_RECORD > 0:
        kw_widen(&reader.sink.value, bytes_ - rows * KW_SMALLEST_RECORD)


cdef object export(kw_sink *sink, schema):
    """The requested columns as a record batch; Arrow then owns their memory."""
    cdef ArrowArray array
    cdef ArrowArray *child
    cdef int failed = kw_arrow_init(&array, sink.rows, 0, 1, len(schema))
    cdef int64_t i = 0
    if failed:
        raise MemoryError
    try:
        for name in schema.names:
            child = array.children[i]
            if name == "offset":
                failed |= kw_take_plain(child, sink.rows, &sink.offset)
            elif name == "timestamp":
                failed |= kw_take_plain(child, sink.rows, &sink.timestamp)
            elif name == "timestamp_type":
                failed |= kw_take_plain(child, sink.rows, &sink.timestamp_type)
            elif name == "key":
                failed |= kw_take_binary(child, sink.rows, &sink.key)
            elif name == "value":
                failed |= kw_take_binary(child, sink.rows, &sink.value)
            elif name == "headers":
                failed |= kw_take_headers(child, sink)
            else:
                failed |= kw_take_plain(child, sink.rows, &sink.batch[_ORDER[name]])
            i += 1
        if failed:
            raise MemoryError
        return RecordBatch._import_from_c(<uintptr_t> &array, schema)
    finally:
        if array.release != NULL:
            array.release(&array)


cdef int set_up(Reader *reader, names, aborted) except -1:
    """Set the requested columns, and the aborted transactions in the order of their first offsets."""
    cdef kw_sink *sink = &reader.sink
    cdef int64_t i
    sink.wants_offset = "offset" in names
    sink.wants_timestamp = "timestamp" in names
    sink.wants_type = "timestamp_type" in names
    sink.wants_headers = "headers" in names
    sink.key.wanted = "key" in names
    sink.value.wanted = "value" in names
    sink.key.most = sink.value.most = sink.header_key.most = sink.header_value.most = reference.COLUMN_BYTES
    for name, order in _ORDER.items():
        if name in names:
            sink.width[<int> order] = WIDTHS[name]
            sink.wants_batch = True
    reader.aborted_count = len(aborted)
    reader.aborted = <int64_t *> calloc(3 * reader.aborted_count + 1, 8)
    if reader.aborted == NULL:
        raise MemoryError
    reader.active = reader.aborted + 2 * reader.aborted_count
    for i, (producer, first) in enumerate(sorted(aborted, key=_first_offset)):
        reader.aborted[2 * i] = producer
        reader.aborted[2 * i + 1] = first
    return 0


def decode(buffer, schema, bint verify, bint include_control, aborted, int64_t start, int64_t last, limit):
    """The records of a buffer of batches as the columns of a schema."""
    cdef Reader reader
    cdef Py_buffer view, payload
    cdef Step step
    cdef int64_t first
    memset(&reader, 0, sizeof(Reader))
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        reader.data = <const uint8_t *> view.buf
        reader.total = view.len
        reader.verify = verify
        reader.include_control = include_control
        reader.start = start
        reader.last = last
        reader.ranged = start > INT64_MIN or last < INT64_MAX
        set_up(&reader, schema.names, aborted)
        with nogil:
            prepare(&reader)
        while True:
            with nogil:
                step = advance(&reader) if reader.fault.code == 0 else FAILED
            if step == FINISHED:
                return export(&reader.sink, schema)
            if step == FAILED:
                if reader.fault.code == KW_MEMORY:
                    raise MemoryError
                raise corrupt(reader.fault.position, reader.fault.code, reader.fault.where, reader.fault.found,
                              reader.fault.expected)
            codec = reader.data[reader.position + KW_CODEC_AT(reader.magic)] & KW_CODEC
            first = reader.packed - reader.data
            packed = memoryview(buffer).cast("B")[first : first + reader.packed_size]
            whole = decompress(codec, packed, magic=reader.magic, limit=limit, position=reader.position)
            PyObject_GetBuffer(whole, &payload, PyBUF_SIMPLE)
            with nogil:
                unpacked(&reader, <const uint8_t *> payload.buf, payload.len)
            PyBuffer_Release(&payload)
    finally:
        kw_free_sink(&reader.sink)
        free(reader.aborted)
        PyBuffer_Release(&view)


def _first_offset(entry):
    return entry[1]


decompress = decompression.decompress
_ORDER = {name: order for order, name in enumerate(WIDTHS)}
