# cython: language_level=3
"""Records with their topic and partition, compiled. `consumer_records.py` beside it is its reference.

Tuples of a subclass are filled where they are made, and the garbage collector rests meanwhile. The fields of compiled
records are read where they are, without a lookup by name.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM

cdef extern from *:
    """
    #define kw_new_row(kind, size) (((PyTypeObject *)(kind))->tp_alloc((PyTypeObject *)(kind), (size)))
    """
    object kw_new_row(object kind, Py_ssize_t size)


cdef extern from "_object.h":
    ctypedef struct kw_object:
        PyObject *offset
        PyObject *timestamp
        PyObject *key
        PyObject *value
        PyObject *headers


cdef extern from "Python.h":
    int PyGC_Disable()
    int PyGC_Enable()


cdef type RECORD = None
"""The compiled class of records, if it is in use; its instances are laid out as `kw_object`."""

try:
    from kafkawire.records._kernel._kernel import Record as RECORD
except ImportError:
    pass


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
    cdef kw_object *fields
    for each in records:
        if type(each) is RECORD:
            fields = <kw_object *> each
            offset, timestamp, key = <object> fields.offset, <object> fields.timestamp, <object> fields.key
            value, headers = <object> fields.value, <object> fields.headers
        else:
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
