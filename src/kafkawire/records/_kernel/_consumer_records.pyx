# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Records with their topic and partition, compiled. `consumer_records.py` beside it is its reference."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.object cimport PyObject, PyObject_RichCompare, PyTypeObject
from libc.stdint cimport INT64_MAX, INT64_MIN, int16_t, int32_t, int64_t, uint8_t

from kafkawire.records._kernel._kernel cimport RecordIterator, open_records, read_headers
from kafkawire.records._kernel._layout cimport *
from kafkawire.records._kernel._record cimport *

cdef extern from "_consumer_record.h":
    ctypedef struct kw_place:
        PyTypeObject *cls
        PyObject *topic
        PyObject *partition
        PyObject *timestamp_type
        PyObject *leader_epoch

    object kw_placed_object(const kw_place *place, const kw_record *found, object timestamp, object headers)
    int kw_adopt_placed(type cls) except -1


from collections.abc import Sequence

from kafkawire.records._kernel.consumer_records import EACH, FIELDS, restored
from kafkawire.records._kernel.twins import decompression
from kafkawire.records.compression import MAX_DECOMPRESSED
from kafkawire.records.errors import RecordsError

cdef int64_t each_takes = EACH
cdef object decompress = decompression.decompress


@cython.final
cdef class ConsumerRecord:
    """A record and its place."""

    cdef object topic, partition, offset, timestamp, timestamp_type, key, value, headers, leader_epoch
    cdef int is_decoded

    __match_args__ = _fields = FIELDS

    def __cinit__(
        self, topic, partition, offset, timestamp, timestamp_type, key, value, headers, leader_epoch=-1
    ):
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.timestamp_type = timestamp_type
        self.key = key
        self.value = value
        self.headers = headers
        self.leader_epoch = leader_epoch

    def __richcmp__(self, other, int operation):
        if type(other) is not ConsumerRecord:
            return NotImplemented
        return PyObject_RichCompare(row(self), row(other), operation)

    def __hash__(self):
        return hash(row(self))

    def __repr__(self):
        values = ", ".join([f"{name}={value!r}" for name, value in zip(FIELDS, row(self))])
        return f"ConsumerRecord({values})"

    def __reduce__(self):
        return restored, row(self)

    def __iter__(self):
        return iter(row(self))

    def __len__(self):
        return len(FIELDS)

    def __getitem__(self, at):
        return row(self)[at]

    def index(self, value, *bounds):
        """The place of the first field with this value, as of a tuple."""
        return row(self).index(value, *bounds)

    def count(self, value):
        """How many fields have this value."""
        return row(self).count(value)

    def _asdict(self):
        """The fields by name."""
        return dict(zip(FIELDS, row(self)))

    def _replace(self, **changes):
        """The record with other values in these fields."""
        return ConsumerRecord(**{**self._asdict(), **changes})

    __replace__ = _replace

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


kw_crc_init()
kw_adopt_placed(ConsumerRecord)
Sequence.register(ConsumerRecord)


cdef tuple row(ConsumerRecord record):
    return (record.topic, record.partition, record.offset, record.timestamp, record.timestamp_type, record.key,
            record.value, record.headers, record.leader_epoch)


cdef int add_records(list found, RecordIterator iterator, kw_place *place, int64_t first) except -1:
    """Append the records from offset `first` on."""
    cdef kw_record record
    while iterator.step(&record):
        if record.offset >= first:
            headers = read_headers(&iterator.cursor, &record) if record.header_count else ()
            found.append(kw_placed_object(place, &record, iterator.stamp, headers))
    return 0


def build_records(records, topic, partition, timestamp_type, leader_epoch):
    cdef list found = []
    cdef kw_place place
    if type(records) is RecordIterator:
        place.cls, place.topic, place.partition = <PyTypeObject *> ConsumerRecord, <PyObject *> topic, <PyObject *> partition
        place.timestamp_type, place.leader_epoch = <PyObject *> timestamp_type, <PyObject *> leader_epoch
        add_records(found, records, &place, INT64_MIN)
        return found
    for each in records:
        found.append(ConsumerRecord(
            topic, partition, each.offset, each.timestamp, timestamp_type, each.key, each.value, each.headers, leader_epoch
        ))
    return found


cdef object payload_of(buffer, int64_t at, int64_t size, int codec):
    """The records of a batch, decompressed."""
    payload = memoryview(buffer)[at + KW_HEADER_SIZE : at + size]
    return decompress(codec, payload, magic=2, limit=MAX_DECOMPRESSED, position=at) if codec else payload


def plain_records(buffer, int64_t first, bint verify, Py_ssize_t most, int64_t enough, topic, partition):
    cdef Py_buffer view
    cdef const uint8_t *batch
    cdef int64_t at = 0, size, taken = 0, last
    cdef int32_t count
    cdef uint8_t magic
    cdef int16_t attributes
    cdef kw_fault fault
    cdef kw_place place
    cdef object stamp_type, epoch
    cdef list found = []
    cdef RecordIterator iterator
    place.cls, place.topic, place.partition = <PyTypeObject *> ConsumerRecord, <PyObject *> topic, <PyObject *> partition
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        while len(found) < most and taken < enough:
            size = kw_batch_at(<const uint8_t *> view.buf, at, view.len, &magic, &fault)
            batch = <const uint8_t *> view.buf + at
            if size <= 0 or magic != 2 or (verify and not kw_crc_holds(batch, size, magic, at, &fault)):
                break
            last = kw_add64(kw_load64(batch), kw_load32(batch + KW_LAST_OFFSET_DELTA_AT))
            if last == INT64_MAX:
                break
            attributes, count = kw_load16(batch + KW_ATTRIBUTES_AT), kw_load32(batch + KW_RECORD_COUNT_AT)
            if count and not attributes & KW_CONTROL:
                stamp_type = 1 if attributes & KW_APPEND_TIME else 0
                epoch = kw_load32(batch + KW_LEADER_EPOCH_AT)
                place.timestamp_type, place.leader_epoch = <PyObject *> stamp_type, <PyObject *> epoch
                before = len(found)
                try:
                    payload = payload_of(buffer, at, size, attributes & KW_CODEC)
                    iterator = open_records(
                        payload, at, kw_load64(batch), kw_load64(batch + KW_BASE_TIMESTAMP_AT),
                        kw_load64(batch + KW_MAX_TIMESTAMP_AT), (attributes & KW_APPEND_TIME) != 0, count,
                    )
                    taken += iterator.view.len + each_takes * count
                    add_records(found, iterator, &place, first)
                except RecordsError:
                    del found[before:]
                    break
            first = max(first, last + 1)
            at += size
    finally:
        PyBuffer_Release(&view)
    return found, at, first
