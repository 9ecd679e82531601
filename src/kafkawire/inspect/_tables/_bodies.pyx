# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The columns of exchanges from their bodies; `bodies.py` says the rules, `body_programs.py` makes the programs."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

import numpy as np

from kafkawire.inspect._tables import body_programs as programs

cdef enum:
    FIXED, INTEGER, TEXT, KEPT_TEXT, BYTES, ARRAY, STRUCT, ERROR, TAGS, LISTED
    MOST_REGISTERS = 32
    TEXT_LIMIT = 32767

cdef int64_t NULL_NUMBER = programs.NULL
cdef int _ERROR_CODE = programs.NUMBERS.index("error_code")
cdef int _THROTTLE = programs.NUMBERS.index("throttle_ms")
cdef int _ACKS = programs.NUMBERS.index("acks")
cdef int _REPLICA = programs.NUMBERS.index("replica_id")
cdef int _SESSION_ID = programs.NUMBERS.index("session_id")
cdef int _EPOCH = programs.NUMBERS.index("session_epoch")
cdef int _SESSION_SIZE = programs.NUMBERS.index("session_size")
cdef int _TRAILING = programs.NUMBERS.index("trailing_bytes")


cdef class _Message:
    """A program in C."""

    cdef int32_t[::1] code
    cdef int count
    cdef int column[MOST_REGISTERS]
    cdef int64_t default[MOST_REGISTERS]
    cdef bint is_text[MOST_REGISTERS]

    def __init__(self, program):
        self.code = np.array([*program.operations, -1], np.int32)
        self.count = len(program.registers)
        assert self.count <= MOST_REGISTERS
        for index, ((column, default), is_text) in enumerate(zip(program.registers, program.is_text)):
            self.column[index], self.default[index], self.is_text[index] = column, default, is_text


cdef class _Pair:
    cdef _Message request, response
    cdef bint request_tags, response_tags, is_fetch

    def __init__(self, exchange):
        self.request, self.response = _Message(exchange.request), _Message(exchange.response)
        self.request_tags, self.response_tags = exchange.has_request_tags, exchange.has_response_tags
        self.is_fetch = exchange.is_fetch


include "_frame_bytes.pxi"


cdef struct Walk:
    const uint8_t* at
    const uint8_t* end
    const int32_t* code
    int64_t number[MOST_REGISTERS]
    const uint8_t* text[MOST_REGISTERS]
    int64_t error
    int64_t listed


cdef inline bint uvarint(Walk* w, int64_t* out) noexcept:
    cdef uint32_t value = 0
    cdef int index
    for index in range(5):
        if w.at >= w.end:
            return False
        value |= <uint32_t> (w.at[0] & 0x7F) << (7 * index)
        w.at += 1
        if (w.at - 1)[0] < 0x80:
            out[0] = value
            return True
    return False


cdef inline bint no_tags(Walk* w) noexcept:
    if w.at >= w.end or w.at[0] != 0:
        return False
    w.at += 1
    return True


cdef inline bint length_of(Walk* w, bint compact, int width, bint nullable, int64_t* out) noexcept:
    if compact:
        if not uvarint(w, out):
            return False
        out[0] -= 1
    elif w.end - w.at < width:
        return False
    else:
        out[0] = be16(w.at) if width == 2 else be32(w.at)
        w.at += width
    return out[0] >= 0 or (out[0] == -1 and nullable)


cdef bint run(Walk* w, int position, int stop) noexcept:
    """Run operations; False if the reference has to read the message."""
    cdef const int32_t* code = w.code
    cdef int64_t length, index
    cdef int operation, body
    while position < stop:
        operation = code[position]
        if operation == FIXED:
            if w.end - w.at < code[position + 1]:
                return False
            w.at += code[position + 1]
            position += 2
        elif operation == INTEGER:
            body = code[position + 1]
            if w.end - w.at < body:
                return False
            if body == 4:
                length = be32(w.at)
            elif body == 2:
                length = be16(w.at)
            elif body == 1:
                length = <int8_t> w.at[0]
            else:
                length = (<int64_t> be32(w.at) << 32) | <uint32_t> be32(w.at + 4)
                if length == NULL_NUMBER:
                    return False
            w.number[code[position + 2]] = length
            w.at += body
            position += 3
        elif operation == TEXT or operation == KEPT_TEXT:
            if not length_of(w, code[position + 1], 2, code[position + 2], &length):
                return False
            if length > TEXT_LIMIT or length > w.end - w.at:
                return False
            if operation == KEPT_TEXT:
                w.text[code[position + 3]] = w.at
                w.number[code[position + 3]] = length
                position += 1
            if length > 0:
                w.at += length
            position += 3
        elif operation == BYTES:
            if not length_of(w, code[position + 1], 4, code[position + 2], &length) or length > w.end - w.at:
                return False
            if length > 0:
                w.at += length
            position += 3
        elif operation == ARRAY:
            if not length_of(w, code[position + 1], 4, code[position + 2], &length):
                return False
            if length > 0 and length * code[position + 3] > w.end - w.at:
                return False
            body = position + 5 + code[position + 4]
            position += 5
            if body - position == 2 and code[position] == FIXED:
                if length > 0:
                    if length * code[position + 1] > w.end - w.at:
                        return False
                    w.at += length * code[position + 1]
            else:
                for index in range(length):
                    if not run(w, position, body):
                        return False
            position = body
        elif operation == STRUCT:
            if w.at >= w.end:
                return False
            body = position + 2 + code[position + 1]
            w.at += 1
            if <int8_t> (w.at - 1)[0] >= 0 and not run(w, position + 2, body):
                return False
            position = body
        elif operation == ERROR:
            if w.end - w.at < 2:
                return False
            length = be16(w.at)
            w.at += 2
            if length != 0:
                if w.error != 0 and w.error != length:
                    return False
                w.error = length
            position += 1
        elif operation == TAGS:
            if not no_tags(w):
                return False
            position += 1
        else:
            w.listed += 1
            position += 1
    return True


cdef bint read(Walk* w, _Message message, const uint8_t* data, int64_t size, bint is_request, bint has_tags) noexcept:
    """Read a frame; False if the reference has to."""
    cdef int index
    cdef int64_t length
    w.at, w.end, w.code = data, data + size, &message.code[0]
    w.error = w.listed = 0
    for index in range(message.count):
        w.number[index] = -1 if message.is_text[index] else message.default[index]
    if is_request:
        if size < 10:
            return False
        w.at += 8
        if not length_of(w, False, 2, True, &length) or length > w.end - w.at:
            return False
        if length > 0:
            w.at += length
    else:
        if size < 4:
            return False
        w.at += 4
    if has_tags and not no_tags(w):
        return False
    return run(w, 0, <int> message.code.shape[0] - 1)


cdef class _Output:
    cdef int64_t[:, ::1] numbers, texts
    cdef dict known

    cdef int put(self, Walk* w, _Message message, Py_ssize_t row) except -1:
        """Write the registers that hold values; an empty text and -1 are absent."""
        cdef int index, column
        cdef int64_t value
        for index in range(message.count):
            column, value = message.column[index], w.number[index]
            if message.is_text[index]:
                if value > 0:
                    self.texts[column, row] = self.code_of(column, w.text[index], value)
            elif value != -1 or column == _ACKS:
                self.numbers[column, row] = value
        return 0

    cdef int64_t code_of(self, int column, const uint8_t* text, int64_t length) except -1:
        cdef bytes content = PyBytes_FromStringAndSize(<const char*> text, length)
        code = self.known.get(content)
        if code is None:
            code = self.known[content] = len(self.known)
        return code


def read_bodies(requests, responses, asked, answered, program, numbers, texts, known):
    cdef _Side ask = _Side(requests)
    cdef _Side answer = _Side(responses)
    cdef const int64_t[::1] places = np.ascontiguousarray(asked)
    cdef const int64_t[::1] replies = np.ascontiguousarray(answered)
    cdef const int64_t[::1] keys = requests.api_key
    cdef const int64_t[::1] versions = requests.version
    cdef _Output out = _Output()
    cdef _Pair pair = None
    cdef Walk sent, came
    cdef Py_ssize_t row, a, b
    cdef int64_t key = -1, version = -1
    cdef int index
    cdef int64_t[:, ::1] filled = numbers
    out.numbers, out.texts, out.known = numbers, texts, known
    left = []
    pairs = {}
    for row in range(places.shape[0]):
        a, b = places[row], replies[row]
        if a < 0 or keys[a] < 0:
            continue
        if pair is None or keys[a] != key or versions[a] != version:
            key, version = keys[a], versions[a]
            made = pairs.get((key, version), ...)
            if made is ...:
                found = program(key, version)
                made = pairs[key, version] = None if found is None else _Pair(found)
            pair = made
        if pair is None or not ask.whole[a] or (b >= 0 and not answer.whole[b]):
            left.append(row)
            continue
        if not read(&sent, pair.request, ask.frame(a), ask.size[a] - 4, True, pair.request_tags):
            left.append(row)
            continue
        if b >= 0 and not read(&came, pair.response, answer.frame(b), answer.size[b] - 4, False, pair.response_tags):
            left.append(row)
            continue
        if pair.is_fetch:
            for index in range(pair.request.count):
                if pair.request.column[index] == _SESSION_ID and sent.number[index] != 0:
                    break
                if pair.request.column[index] == _EPOCH and sent.number[index] != -1:
                    break
            else:
                index = -1
            if index >= 0 or sent.listed > 1:
                left.append(row)
                continue
        out.put(&sent, pair.request, row)
        if pair.is_fetch:
            filled[_SESSION_SIZE, row] = sent.listed
            for index in range(pair.request.count):
                if pair.request.column[index] == _REPLICA:
                    filled[_REPLICA, row] = max(sent.number[index], -1)
        filled[_TRAILING, row] = sent.end - sent.at
        if b >= 0:
            out.put(&came, pair.response, row)
            filled[_ERROR_CODE, row] = came.error
            for index in range(pair.response.count):
                if pair.response.column[index] == _THROTTLE:
                    filled[_THROTTLE, row] = came.number[index]
            filled[_TRAILING, row] += came.end - came.at
    return np.array(left, np.int64)
