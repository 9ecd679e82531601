"""What `_kernel.pyx` offers to the compiled modules beside it."""

from libc.stdint cimport int64_t

from kafkawire.records._kernel._record cimport kw_cursor, kw_record


cdef tuple read_headers(kw_cursor *cursor, kw_record *record)


cdef class RecordIterator:
    cdef Py_buffer view
    cdef bint held, messages
    cdef int64_t left, position, timestamp
    cdef object stamp  # the timestamp as an object, shared by the records in a row that have it
    cdef kw_cursor cursor

    cdef int hold(self, payload) except -1
    cdef int refuse(self) except -1
    cdef bint step(self, kw_record *found) except -1


cdef RecordIterator open_records(
    payload, int64_t position, int64_t base_offset, int64_t base_timestamp, int64_t max_timestamp, bint append, int64_t count
)
