# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The chains that are walked one by one; `walk.py` says the rules and is the reference."""

from cpython cimport array
from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, int32_t, int16_t, uint8_t, uint16_t
from libc.string cimport memcmp, memcpy

import array as arrays

from kafkawire.inspect._capture.walk import COLUMNS, CUT, END, IMPLAUSIBLE, LARGEST_PACKET, LARGEST_REQUEST, LARGEST_RESPONSE, SASL

cdef int64_t LARGEST_RECORD = LARGEST_PACKET
cdef int64_t LARGEST_IN = LARGEST_REQUEST
cdef int64_t LARGEST_OUT = LARGEST_RESPONSE
cdef int STRIDE = COLUMNS


cdef inline int32_t be32(const uint8_t* at) noexcept:
    return <int32_t> ((<unsigned int> at[0] << 24) | (<unsigned int> at[1] << 16) | (<unsigned int> at[2] << 8) | at[3])


cdef inline uint16_t be16(const uint8_t* at) noexcept:
    return <uint16_t> ((at[0] << 8) | at[1])


cdef class _Cursor:
    cdef const uint8_t[::1] data
    cdef const int64_t[::1] starts, offsets, sizes
    cdef Py_ssize_t piece

    cdef void settle(self, int64_t position):
        while self.starts[self.piece] + self.sizes[self.piece] <= position:
            self.piece += 1

    cdef const uint8_t* peek(self, int64_t position, int64_t size, uint8_t* spare):
        """The bytes at a position of the current piece or after it: in place, or joined in the spare room."""
        cdef Py_ssize_t index = self.piece
        cdef int64_t within, left, taken = 0
        while self.starts[index] + self.sizes[index] <= position:
            index += 1
        within = position - self.starts[index]
        if self.sizes[index] - within >= size:
            return &self.data[self.offsets[index] + within]
        while taken < size:
            within = position + taken - self.starts[index]
            left = min(self.sizes[index] - within, size - taken)
            memcpy(spare + taken, &self.data[self.offsets[index] + within], left)
            taken += left
            index += 1
        return spare


    cdef bint equals(self, int64_t position, int64_t size, bytes other):
        """Whether the bytes at a position, if one piece has them all, are these."""
        cdef Py_ssize_t index = self.piece
        cdef int64_t within
        if PyBytes_GET_SIZE(other) != size:
            return False
        while index < self.starts.shape[0] and self.starts[index] + self.sizes[index] <= position:
            index += 1
        if size == 0 or index == self.starts.shape[0]:
            return size == 0
        within = position - self.starts[index]
        if self.sizes[index] - within < size:
            return False
        return memcmp(&self.data[self.offsets[index] + within], PyBytes_AsString(other), size) == 0

    cdef bytes copy(self, int64_t position, int64_t size):
        cdef bytes made = PyBytes_FromStringAndSize(NULL, size)
        cdef uint8_t* room = <uint8_t*> PyBytes_AsString(made)
        cdef const uint8_t* found
        if size:
            found = self.peek(position, size, room)
            if found != room:
                memcpy(room, found, size)
        return made


def chain(const uint8_t[::1] data, int64_t position, bint little):
    cdef array.array records = arrays.array("q")
    cdef array.array chunk = array.clone(arrays.array("q"), 4096, False)
    cdef Py_ssize_t filled = 0
    cdef int64_t end = data.shape[0], captured
    cdef const uint8_t* at
    while position + 16 <= end:
        at = &data[position + 8]
        if little:
            captured = at[0] | (at[1] << 8) | (at[2] << 16) | (<int64_t> at[3] << 24)
        else:
            captured = at[3] | (at[2] << 8) | (at[1] << 16) | (<int64_t> at[0] << 24)
        if captured > LARGEST_RECORD or position + 16 + captured > end:
            break
        chunk.data.as_longlongs[filled] = position
        filled += 1
        if filled == 4096:
            array.extend(records, chunk)
            filled = 0
        position += 16 + captured
    array.extend_buffer(records, chunk.data.as_chars, filled)
    return records, position


def walk(data, starts, offsets, sizes, Py_ssize_t piece, int64_t position, int64_t end, int64_t limit, bint requests,
         dict clients):
    cdef _Cursor cursor = _Cursor()
    cursor.data, cursor.starts, cursor.offsets, cursor.sizes, cursor.piece = data, starts, offsets, sizes, piece
    cdef array.array rows = arrays.array("q")
    cdef array.array chunk = array.clone(arrays.array("q"), 1024 * STRIDE, False)
    cdef Py_ssize_t filled = 0
    cdef uint8_t spare[16]
    cdef const uint8_t* head
    cdef int64_t size, after, smallest = 8 if requests else 4, largest = LARGEST_IN if requests else LARGEST_OUT
    cdef int64_t key, version, correlation, client, length, header, last_client = -1
    cdef bytes last_name = None
    cdef Py_ssize_t last
    cdef int reason = END
    while limit > 0 and position < end:
        if end - position < 4:
            reason = CUT
            break
        cursor.settle(position)
        size = be32(cursor.peek(position, 4, spare))
        if size < smallest or size > largest:
            reason = IMPLAUSIBLE
            break
        if position + 4 + size > end:
            reason = CUT
            break
        key = version = client = -1
        if requests:
            header = min(size, 10)
            head = cursor.peek(position + 4, header, spare)
            key, version, correlation = be16(head), be16(head + 2), be32(head + 4)
            if key >= 1024 or version >= 256:
                reason = IMPLAUSIBLE
                break
            if key != 7 or version != 0:
                if header < 10:
                    reason = IMPLAUSIBLE
                    break
                length = <int16_t> be16(head + 8)
                if length < -1 or 10 + length > size:
                    reason = IMPLAUSIBLE
                    break
                if length >= 0:
                    if last_name is not None and cursor.equals(position + 14, length, last_name):
                        client = last_client
                    else:
                        last_name = cursor.copy(position + 14, length)
                        client = last_client = clients.setdefault(last_name, len(clients))
        else:
            correlation = be32(cursor.peek(position + 4, 4, spare))
        last, after = cursor.piece, position + 4 + size
        while cursor.starts[last] + cursor.sizes[last] < after:
            last += 1
        chunk.data.as_longlongs[filled] = position
        chunk.data.as_longlongs[filled + 1] = 4 + size
        chunk.data.as_longlongs[filled + 2] = cursor.piece
        chunk.data.as_longlongs[filled + 3] = last
        chunk.data.as_longlongs[filled + 4] = key
        chunk.data.as_longlongs[filled + 5] = version
        chunk.data.as_longlongs[filled + 6] = correlation
        chunk.data.as_longlongs[filled + 7] = client
        filled += STRIDE
        if filled == 1024 * STRIDE:
            array.extend(rows, chunk)
            filled = 0
        cursor.piece, position, limit = last, after, limit - 1
        if key == 17 and version == 0:
            reason = SASL
            break
    array.extend_buffer(rows, chunk.data.as_chars, filled)
    return rows, position, reason
