# cython: language_level=3
"""Records with their topic and partition, compiled. `consumer_records.py` beside it is its reference.

Tuples of a subclass are filled where they are made, and the garbage collector rests meanwhile.
"""

from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM

cdef extern from *:
    """
    #define kw_new_row(kind, size) (((PyTypeObject *)(kind))->tp_alloc((PyTypeObject *)(kind), (size)))
    """
    object kw_new_row(object kind, Py_ssize_t size)


cdef extern from "Python.h":
    int PyGC_Disable()
    int PyGC_Enable()


def without_collecting(work, *arguments):
    cdef int collecting = PyGC_Disable()
    try:
        return work(*arguments)
    finally:
        if collecting:
            PyGC_Enable()


cdef inline void put(object row, Py_ssize_t at, object item) noexcept:
    Py_INCREF(item)
    PyTuple_SET_ITEM(row, at, item)


def build_records(records, type kind, topic, partition, timestamp_type, leader_epoch):
    cdef list found = []
    for each in records:
        offset, timestamp, key, value, headers = each.offset, each.timestamp, each.key, each.value, each.headers
        row = kw_new_row(kind, 9)
        put(row, 0, topic)
        put(row, 1, partition)
        put(row, 2, offset)
        put(row, 3, timestamp)
        put(row, 4, timestamp_type)
        put(row, 5, key)
        put(row, 6, value)
        put(row, 7, headers)
        put(row, 8, leader_epoch)
        found.append(row)
    return found
