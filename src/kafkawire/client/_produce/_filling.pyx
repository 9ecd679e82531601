# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Records into the batches that are being filled, compiled. `filling.py` beside it is the reference, with the rules."""

from cpython.bytes cimport PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.list cimport PyList_GET_SIZE
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from time import time_ns

from kafkawire.client._produce.partitioner import partition_of_key

cdef extern from *:
    """
    static PyObject *kw_new(PyObject *cls, PyObject *nothing) {
        return ((PyTypeObject *)cls)->tp_new((PyTypeObject *)cls, nothing, NULL);
    }
    """
    object kw_new(object cls, object nothing)


cdef tuple nothing = ()


cdef class Placed:
    """A record in a batch: the result of the batch, and the number of the record in it."""

    cdef public object batch
    cdef public Py_ssize_t number


cdef class Tail:
    """The end of a partition's queue: the batch that takes records, or None."""

    cdef object batch, grow, result
    cdef list stamps

    @property
    def filling(self):
        return self.batch

    @filling.setter
    def filling(self, batch):
        self.batch = batch
        if batch is None:
            self.grow = self.result = self.stamps = None
        else:
            self.grow, self.result, self.stamps = batch.grow, batch.result, batch.stamps


cdef class Filling:
    cdef dict topics
    cdef object future
    cdef public dict queues, sticky
    cdef public int64_t buffered, most_buffered
    cdef int64_t largest
    cdef int64_t last_ms
    cdef object last_stamp  # the time as an object, shared by the records in a row that have it

    def __init__(self, dict topics, future, int64_t most_buffered, int64_t largest):
        self.topics = topics
        self.future = future
        self.queues = {}
        self.sticky = {}
        self.buffered = 0
        self.most_buffered = most_buffered
        self.largest = largest
        self.last_ms = self.last_stamp = -1

    def accept(self, topic, value, key=None, partition=None, timestamp_ms=None):
        """Accept a record if that is possible at once; None if it is not."""
        cdef Tail tail = self.add(topic, value, key, partition, timestamp_ms)
        cdef Placed future
        if tail is None:
            return None
        future = <Placed> kw_new(self.future, nothing)
        future.batch = tail.result
        future.number = PyList_GET_SIZE(tail.stamps) - 1
        return future

    def accept_waiting(self, waiting):
        """Accept records from the left, up to one that cannot be accepted at once; the caller holds `results.LOCK`."""
        cdef tuple entry, record
        cdef Tail tail
        popleft = waiting.popleft
        while waiting:
            entry = waiting[0]
            record = entry[1]
            if record[5]:
                return
            tail = self.add(record[0], record[1], record[2], record[3], record[4])
            if tail is None:
                return
            popleft()
            entry[0].place(tail.result, PyList_GET_SIZE(tail.stamps) - 1)

    cdef object now(self):
        cdef int64_t ms = <int64_t> time_ns() // 1_000_000
        if ms != self.last_ms:
            self.last_ms, self.last_stamp = ms, ms
        return self.last_stamp

    cdef Tail add(self, topic, value, key, partition, timestamp_ms):
        """Add a record to its batch; returns the end of its queue, or None."""
        cdef int64_t size = 0
        cdef int overflow = 0
        cdef PyObject *found
        cdef Tail tail
        if value is not None:
            if not PyBytes_CheckExact(value):
                return None
            size = PyBytes_GET_SIZE(value)
        if key is not None:
            if not PyBytes_CheckExact(key):
                return None
            size += PyBytes_GET_SIZE(key)
        if size > self.largest or self.buffered >= self.most_buffered:
            return None
        found = PyDict_GetItemWithError(self.topics, topic)
        if found == NULL:
            return None
        partitions = (<object> found).partitions
        if not partitions:
            return None
        if partition is None and key is None:
            found = PyDict_GetItemWithError(self.sticky, topic)
        else:
            if partition is None:
                partition = partition_of_key(key, len(partitions))
            found = PyDict_GetItemWithError(self.queues, (topic, partition))
        if found == NULL:
            return None
        tail = <Tail> <object> found
        if tail.batch is None:
            return None
        if timestamp_ms is None:
            timestamp_ms = self.now()
        else:
            if not PyLong_CheckExact(timestamp_ms):
                return None
            PyLong_AsLongLongAndOverflow(timestamp_ms, &overflow)
            if overflow:
                return None
        size = tail.grow(key, value, timestamp_ms)
        if not size:
            return None
        tail.stamps.append(timestamp_ms)
        self.buffered += size
        return tail
