# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Decompression of a batch, compiled. `decompression.py` beside it is its reference; the rules are written there."""

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcmp

from kafkawire.records.compression import MAX_DECOMPRESSED, Codec, library, unpack


cdef extern from *:
    """
    /* function(first), or function(first, second) if it has one; None if that raises an Exception. Cython's own
       `try` costs as much as all else here. */
    static inline PyObject *kw_call_or_none(PyObject *function, PyObject *first, PyObject *second) {
        PyObject *arguments[2] = {first, second};
        PyObject *found = PyObject_Vectorcall(function, arguments, second == Py_None ? 1 : 2, NULL);
        if (found == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
            PyErr_Clear();
            found = Py_NewRef(Py_None);
        }
        return found;
    }
    """
    object kw_call_or_none(object function, object first, object second)
    long PyLong_AsLongAndOverflow(object number, int *overflow) except? -1


cdef enum:
    LZ4 = 3
    ZSTD = 4
    LZ4_BLOCK = 65536
    LZ4_GROWTH = 255
    ZSTD_GROWTH = 32
    ZSTD_BLOCK = 131072

cdef const uint8_t *LZ4_APART = <const uint8_t *> b"\x04\x22\x4d\x18\x60\x40\x82"
cdef const uint8_t *LZ4_LINKED = <const uint8_t *> b"\x04\x22\x4d\x18\x40\x40\xc0"
cdef int64_t USUAL_LIMIT = MAX_DECOMPRESSED
cdef list contexts = []
cdef object lz4_block = None, lz4_frame = None, lz4_room = LZ4_BLOCK


def decompress(codec, data, *, int magic=2, int64_t limit=USUAL_LIMIT, position=0):
    """Decompress the output of `compress`, at most `limit` bytes; `position` is that of the batch, for errors."""
    cdef int overflow = 0
    cdef long number = -1
    if isinstance(codec, int):
        number = PyLong_AsLongAndOverflow(codec, &overflow)
    elif isinstance(codec, str):
        number = LZ4 if codec == "lz4" else ZSTD if codec == "zstd" else -1
    whole = None
    if number == LZ4 and magic > 0:
        whole = whole_lz4(data, limit)
    elif number == ZSTD and magic == 2:
        whole = whole_zstd(data, limit)
    return unpack(codec, data, magic, limit, position) if whole is None else whole


cdef inline uint32_t little(const uint8_t *p, int width) noexcept nogil:
    cdef uint32_t value = 0
    while width > 0:
        width -= 1
        value = value << 8 | p[width]
    return value


cdef inline bint is_one_block(const uint8_t *p, int64_t size) noexcept nogil:
    return (size > 15 and little(p + 7, 4) == size - 15 and little(p + size - 4, 4) == 0
            and (memcmp(p, LZ4_APART, 7) == 0 or memcmp(p, LZ4_LINKED, 7) == 0))


cdef whole_lz4(data, int64_t limit):
    global lz4_block, lz4_frame
    cdef Py_buffer view
    if lz4_block is None:
        lz4_frame = library("lz4.frame", Codec.LZ4).decompress
        lz4_block = library("lz4.block", Codec.LZ4).decompress
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if limit >= LZ4_BLOCK and is_one_block(<const uint8_t *> view.buf, view.len):
            block = PyMemoryView_FromMemory(<char *> view.buf + 11, view.len - 15, PyBUF_READ)
            return kw_call_or_none(lz4_block, block, lz4_room)
        return whole_frame(data, view.len) if view.len <= limit // LZ4_GROWTH else None
    finally:
        PyBuffer_Release(&view)


cdef whole_frame(data, int64_t size):
    try:
        whole, read = lz4_frame(data, False, True)
    except Exception:
        return None
    return whole if read == size else None


cdef int64_t zstd_room(const uint8_t *p, int64_t size, bint *is_stated) noexcept nogil:
    """The most bytes that data of exactly one frame can decompress to, and whether it states them; -1 for other data."""
    cdef int64_t at, most = 0, stated = 0
    cdef uint32_t header
    cdef int flags, single, width
    if size < 9 or little(p, 4) != 0xFD2FB528U:
        return -1
    flags = p[4]
    single = flags >> 5 & 1
    at = 6 - single + ((1 << (flags & 3)) >> 1)
    width = single if flags < 64 else 1 << (flags >> 6)
    if width == 8 or size - at < width + 3:
        return -1
    if width:
        stated = <int64_t> little(p + at, width) + (256 if width == 2 else 0)
    at += width
    while True:
        if size - at < 3:
            return -1
        header = little(p + at, 3)
        at += 3 + (1 if (header >> 1 & 3) == 1 else header >> 3)
        most += ZSTD_BLOCK if (header >> 1 & 3) == 2 else header >> 3
        if header & 1:
            break
    if at + (flags & 4) != size or stated > most:
        return -1
    is_stated[0] = width > 0
    return stated if width else most


cdef whole_zstd(data, int64_t limit):
    cdef Py_buffer view
    cdef int64_t room, most
    cdef bint is_stated = False
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    room = zstd_room(<const uint8_t *> view.buf, view.len, &is_stated)
    most = view.len * ZSTD_GROWTH + ZSTD_BLOCK
    PyBuffer_Release(&view)
    if room <= 0 or room > limit or room > most:
        return None
    if not contexts:
        contexts.append(library("zstandard", Codec.ZSTD).ZstdDecompressor().decompress)
    unpack_frame = contexts.pop()
    whole = kw_call_or_none(unpack_frame, data, None if is_stated else room)
    if whole is not None:
        contexts.append(unpack_frame)
    return whole
