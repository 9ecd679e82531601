# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The engine, compiled: runs the plans of `plan.py` with the results and errors of `engine.py`.

Rules:
- Plans are turned into C arrays once; structs are allocated by their type and written by slot offset.
- A function that fails returns NULL and leaves the error in its state; its caller adds its part of the path.
- Nothing is read or written before the bytes left, or the room left, are known to suffice.
- A reference to a value is kept while Python code could run that might drop it.
- Other threads get the interpreter every few thousand elements, while a message is read and while it is written.
- The garbage collector is disabled while a message is decoded, because none of the objects being built can be garbage
  yet. Scanning them cost ten times as much as building them in a process with many objects.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.ref cimport PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove, memset

from uuid import UUID

from kafkawire._codec.errors import CodecError, EncodeError, UnsupportedVersionError, fault
from kafkawire._codec.parts import ExternalBytes
from kafkawire._codec.plan import UNKNOWN_TAGS, UNLIMITED
from kafkawire._codec.writer import shown

include "_declarations.pxi"
include "_plans.pxi"
include "_reading.pxi"
include "_writing.pxi"
include "_tags.pxi"


cdef object read_whole(
    object plan, object buffer, Py_ssize_t offset, bint allow_trailing, int64_t limit, Py_ssize_t* end
):
    cdef NativePlan native = native_plan(plan)
    cdef Reader r
    cdef Py_buffer raw
    cdef PyObject* made
    cdef object result
    cdef int collecting
    PyObject_GetBuffer(buffer, &raw, PyBUF_SIMPLE)
    try:
        if offset < 0 or offset > raw.len:
            raise ValueError(f"offset {offset} lies outside the buffer of {raw.len} bytes")
        r.start = <const unsigned char*>raw.buf
        r.position = r.start + offset
        r.end = r.start + raw.len
        r.source = <PyObject*>buffer
        r.view = NULL
        r.error = NULL
        r.elements = 0
        r.limit = limit
        r.shared = 0
        collecting = PyGC_Disable()
        made = read_struct(&r, &native.c)
        if collecting:
            PyGC_Enable()
        if made != NULL and r.position < r.end and not allow_trailing:
            Py_DECREF(made)
            made = fail(&r, TRAILING, r.position, r.end - r.position, 0)
        end[0] = r.position - r.start
        Py_XDECREF(r.view)
    finally:
        PyBuffer_Release(&raw)
    if made == NULL:
        raise_error(r.error, plan)
    result = <object>made
    Py_DECREF(made)
    return result


cdef int raise_error(PyObject* held, object plan) except -1:
    """Raise the error of a state, or the Python error that is set already."""
    if held == NULL:
        if PyErr_Occurred() != NULL:
            return -1
        raise SystemError("the engine failed without an error")
    cdef object error = <object>held
    Py_DECREF(held)
    if PyErr_Occurred() != NULL:
        PyErr_Clear()
    if isinstance(error, CodecError):
        error.title = plan.title
    raise error


cdef object write_whole(object plan, object value, list parts):
    cdef NativePlan native = native_plan(plan)
    cdef unsigned char first[FIRST_ROOM]
    cdef Writer w
    cdef object result = None
    w.data = first
    w.first = first
    w.size = 0
    w.room = FIRST_ROOM
    w.parts = <PyObject*>parts if parts is not None else NULL
    w.tag_depth = 0
    w.unshared = 0
    w.error = NULL
    cdef bint fine = write_struct(&w, &native.c, <PyObject*>value)
    try:
        if fine:
            result = w.data[:w.size]
    finally:
        if w.data != first:
            PyMem_Free(w.data)
    if not fine:
        raise_error(w.error, plan)
    return result


def decode(plan, buffer, Py_ssize_t offset=0, bint allow_trailing=False):
    """The value at `offset`; bytes after it are an error unless allowed."""
    cdef Py_ssize_t end
    return read_whole(plan, buffer, offset, allow_trailing, UNLIMITED, &end)


def decode_prefix(plan, buffer, Py_ssize_t offset=0, int64_t limit=UNLIMITED):
    """The value at `offset`, and the offset after it; ElementLimitError if its arrays hold more than `limit`."""
    cdef Py_ssize_t end = 0
    cdef object value = read_whole(plan, buffer, offset, True, limit, &end)
    return value, end


def encode(plan, value):
    """The bytes of a value."""
    return write_whole(plan, value, None)


def encode_parts(plan, value):
    """The bytes of a value in parts; its records are neither copied nor joined, and external ones stay as they are."""
    cdef list parts = []
    cdef bytes rest = write_whole(plan, value, parts)
    if rest or not parts:
        parts.append(rest)
    return parts


def _check_numbers():
    from kafkawire._codec import errors, plan

    ours = (BOOL, INT8, INT16, UINT16, INT32, UINT32, INT64, FLOAT64, UUID_, STRING, BYTES, RECORDS, STRUCT)
    assert ours == tuple(plan.CODES.values()), "operation codes differ from plan.py: build the extension anew"
    assert (VALUE, LIST, DEFAULT_STRUCT) == (plan.VALUE, plan.LIST, plan.DEFAULT_STRUCT)
    faults = (PAST_END, LENGTH, COUNT, NULL_VALUE, NEGATIVE, TEXT, VARINT, TAG_VERSION, TAG_SIZE, TRAILING, ELEMENTS)
    names = "PAST_END LENGTH COUNT NULL NEGATIVE TEXT VARINT TAG_VERSION TAG_SIZE TRAILING ELEMENTS"
    assert faults == tuple(getattr(errors, name) for name in names.split())
    if UUID_INT < 0 or UUID_SAFE < 0:
        raise ImportError("uuid.UUID of this Python has no slots; use KAFKAWIRE_IMPL=python")


_check_numbers()
