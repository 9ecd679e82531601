# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The rows of partitions; `partition_columns.py` says the rules, `partition_programs.py` makes the programs."""

from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

import array as arrays

import numpy as np

from kafkawire.inspect._tables import partition_programs as programs

include "_frame_bytes.pxi"

cdef enum:
    SKIP, TEXT, BYTES, ARRAY, STRUCT, TAGS, NAME, ID, NUMBER, VALUE, COUNT, RECORDS, TOPICS, PARTITIONS, EMPTY, HEAD
    MOST_VALUES = 16
    WIDTH = 4 + 15
    MOST_ROWS = 1024
    SLOTS = 4096
    TEXT_LIMIT = 32767

cdef int64_t NULL_NUMBER = programs.NULL
cdef int COUNT_OF_VALUES = len(programs.VALUES)
cdef int _BYTES_AT = programs.VALUES.index("bytes")
assert COUNT_OF_VALUES + 4 == WIDTH and COUNT_OF_VALUES <= MOST_VALUES


cdef class _Program:
    cdef int32_t[::1] code
    cdef int topic_count, partition_count
    cdef int topic_at[MOST_VALUES]
    cdef int partition_at[MOST_VALUES]
    cdef int64_t topic_default[MOST_VALUES]
    cdef int64_t partition_default[MOST_VALUES]
    cdef bint has_topic_rows

    def __init__(self, division):
        self.code = np.array([*division.operations, -1], np.int32)
        self.topic_count, self.partition_count = len(division.of_topic), len(division.of_partition)
        self.has_topic_rows = division.has_topic_rows
        for index, (at, default) in enumerate(division.of_topic):
            self.topic_at[index], self.topic_default[index] = at, default
        for index, (at, default) in enumerate(division.of_partition):
            self.partition_at[index], self.partition_default[index] = at, default


cdef class _Pair:
    cdef _Program request, response
    cdef bint request_tags, response_tags

    def __init__(self, divided):
        self.request, self.response = _Program(divided.request), _Program(divided.response)
        self.request_tags, self.response_tags = divided.has_request_tags, divided.has_response_tags


cdef class _Reader:
    """Reads the messages of one exchange at a time into `rows`."""

    cdef const uint8_t* at
    cdef const uint8_t* end
    cdef const int32_t* code
    cdef _Program program
    cdef int64_t rows[MOST_ROWS][WIDTH]
    cdef uint8_t seen[MOST_ROWS]
    cdef int32_t slots[SLOTS]
    cdef int32_t slot_of[MOST_ROWS]
    cdef int count, message
    cdef int64_t head[2]
    cdef int64_t values[MOST_VALUES]
    cdef int64_t topic_values[MOST_VALUES]
    cdef int64_t name, topic_id, number, exchange, no_name, no_id
    cdef bint has_row
    cdef const uint8_t* records
    cdef int64_t records_size
    cdef dict names, ids
    cdef list carried
    cdef bytes last_name

    def __init__(self, dict names, dict ids):
        cdef int slot
        self.names, self.ids = names, ids
        self.last_name = None
        self.no_name, self.no_id = names.setdefault(b"", len(names)), ids.setdefault(bytes(16), len(ids))
        for slot in range(SLOTS):
            self.slots[slot] = -1

    cdef bint length_of(self, bint compact, int width, bint nullable, int64_t* out) noexcept:
        cdef uint32_t value = 0
        cdef int index
        if compact:
            for index in range(5):
                if self.at >= self.end:
                    return False
                value |= <uint32_t> (self.at[0] & 0x7F) << (7 * index)
                self.at += 1
                if (self.at - 1)[0] < 0x80:
                    break
            else:
                return False
            out[0] = <int64_t> value - 1
        elif self.end - self.at < width:
            return False
        else:
            out[0] = be16(self.at) if width == 2 else be32(self.at)
            self.at += width
        return out[0] >= 0 or (out[0] == -1 and nullable)

    cdef bint number_of(self, int size, int64_t* out) noexcept:
        if self.end - self.at < size:
            return False
        if size == 8:
            out[0] = (<int64_t> be32(self.at) << 32) | <uint32_t> be32(self.at + 4)
        elif size == 4:
            out[0] = be32(self.at)
        elif size == 2:
            out[0] = be16(self.at)
        else:
            out[0] = <int8_t> self.at[0]
        self.at += size
        return out[0] != NULL_NUMBER

    cdef int64_t number_of_text(self, dict known, const uint8_t* text, int64_t length) except -1:
        cdef bytes content
        if known is self.names and self.last_name is not None and PyBytes_GET_SIZE(self.last_name) == length:
            if memcmp(PyBytes_AS_STRING(self.last_name), text, length) == 0:
                return <int64_t> known[self.last_name]
        content = PyBytes_FromStringAndSize(<const char*> text, length)
        found = known.get(content)
        if found is None:
            found = known[content] = len(known)
        if known is self.names:
            self.last_name = content
        return <int64_t> found

    cdef int put(self, int64_t number, bint of_topic) except -1:
        """Fill the row of a topic or partition; 0 if the reference has to."""
        cdef uint64_t hashed = <uint64_t> self.name * 1000003 + <uint64_t> self.topic_id
        cdef int slot, row, index
        hashed = (hashed * 1000003 + <uint64_t> number) * <uint64_t> 0x9E3779B97F4A7C15
        slot = <int> (hashed >> 52)
        while True:
            row = self.slots[slot]
            if row < 0:
                break
            if (self.rows[row][1] == self.name and self.rows[row][2] == self.topic_id
                    and self.rows[row][3] == number):
                break
            slot = (slot + 1) % SLOTS
        if row < 0:
            if self.count == MOST_ROWS:
                return 0
            row = self.count
            self.count += 1
            self.slots[slot], self.slot_of[row] = row, slot
            self.rows[row][0], self.rows[row][1] = self.exchange, self.name
            self.rows[row][2], self.rows[row][3] = self.topic_id, number
            for index in range(COUNT_OF_VALUES):
                self.rows[row][4 + index] = NULL_NUMBER
        elif self.seen[row] == self.message:
            return 0
        self.seen[row] = self.message
        if of_topic:
            for index in range(self.program.topic_count):
                self.rows[row][4 + self.program.topic_at[index]] = self.topic_values[self.program.topic_at[index]]
        else:
            for index in range(self.program.partition_count):
                self.rows[row][4 + self.program.partition_at[index]] = self.values[self.program.partition_at[index]]
        if self.records_size > 0 and not of_topic:
            content = PyBytes_FromStringAndSize(<const char*> self.records, self.records_size)
            self.carried.append((row, self.message == 2, content))
        return 1

    cdef int topic(self, int position, int stop) except -1:
        cdef int index
        self.name, self.topic_id = self.no_name, self.no_id
        self.has_row = not self.program.has_topic_rows
        for index in range(self.program.topic_count):
            self.topic_values[self.program.topic_at[index]] = self.program.topic_default[index]
        return self.run(position, stop, True) and self.put_topic()

    cdef int put_topic(self) except -1:
        """Fill the row of a topic, before those of its partitions."""
        if self.has_row:
            return 1
        self.has_row = True
        return self.put(-1, True)

    cdef int run(self, int position, int stop, bint in_topic) except -1:
        """Run operations; 0 if the reference has to read the exchange."""
        cdef const int32_t* code = self.code
        cdef int64_t length = 0, index
        cdef int operation, body, place
        while position < stop:
            operation = code[position]
            if operation == SKIP:
                if self.end - self.at < code[position + 1]:
                    return 0
                self.at += code[position + 1]
                position += 2
            elif operation == VALUE:
                if not self.number_of(code[position + 1], &length):
                    return 0
                if in_topic:
                    self.topic_values[code[position + 2]] = length
                else:
                    self.values[code[position + 2]] = length
                position += 3
            elif operation == NUMBER:
                if not self.number_of(4, &self.number):
                    return 0
                position += 1
            elif operation == HEAD:
                if not self.number_of(code[position + 1], &self.head[code[position + 2]]):
                    return 0
                position += 3
            elif operation == TEXT or operation == NAME:
                if not self.length_of(code[position + 1], 2, code[position + 2], &length):
                    return 0
                if length > TEXT_LIMIT or length > self.end - self.at:
                    return 0
                if length > 0:
                    if operation == NAME:
                        self.name = self.number_of_text(self.names, self.at, length)
                    self.at += length
                position += 3
            elif operation == ID:
                if self.end - self.at < 16:
                    return 0
                self.topic_id = self.number_of_text(self.ids, self.at, 16)
                self.at += 16
                position += 1
            elif operation == BYTES or operation == RECORDS:
                if not self.length_of(code[position + 1], 4, code[position + 2], &length):
                    return 0
                if length > self.end - self.at:
                    return 0
                if length < 0:
                    length = 0
                if operation == RECORDS:
                    self.records, self.records_size = self.at, length
                    self.values[_BYTES_AT] = length
                self.at += length
                position += 3
            elif operation == TAGS:
                if self.at >= self.end or self.at[0] != 0:
                    return 0
                self.at += 1
                position += 1
            elif operation == STRUCT:
                if self.at >= self.end:
                    return 0
                body = position + 2 + code[position + 1]
                self.at += 1
                if <int8_t> (self.at - 1)[0] >= 0 and not self.run(position + 2, body, in_topic):
                    return 0
                position = body
            elif operation == EMPTY:
                if not self.length_of(code[position + 1], 4, False, &length) or length != 0:
                    return 0
                position += 2
            else:
                if not self.length_of(code[position + 1], 4, code[position + 2], &length):
                    return 0
                if length > 0 and length * code[position + 3] > self.end - self.at:
                    return 0
                place = position + 5 + (operation == COUNT)
                body = place + code[position + 4]
                if operation == COUNT:
                    if in_topic:
                        self.topic_values[code[position + 5]] = length if length > 0 else 0
                    else:
                        self.values[code[position + 5]] = length if length > 0 else 0
                elif operation == PARTITIONS and not self.put_topic():
                    return 0
                if operation == TOPICS:
                    for index in range(length):
                        if not self.topic(place, body):
                            return 0
                elif operation == PARTITIONS:
                    for index in range(length):
                        if not self.partition(place, body):
                            return 0
                elif body - place == 2 and code[place] == SKIP:
                    if length > 0:
                        if length * code[place + 1] > self.end - self.at:
                            return 0
                        self.at += length * code[place + 1]
                else:
                    for index in range(length):
                        if not self.run(place, body, in_topic):
                            return 0
                position = body
        return 1

    cdef int partition(self, int position, int stop) except -1:
        cdef int index
        self.records_size = 0
        for index in range(self.program.partition_count):
            self.values[self.program.partition_at[index]] = self.program.partition_default[index]
        if not self.run(position, stop, False):
            return 0
        return self.put(self.number, False)

    cdef void begin(self, int64_t exchange):
        cdef int row
        for row in range(self.count):
            self.slots[self.slot_of[row]] = -1
        self.count, self.exchange, self.carried = 0, exchange, []
        self.head[0], self.head[1] = 0, -1

    cdef int read(self, _Program program, const uint8_t* data, int64_t size, int message, bint has_tags) except -1:
        """Read the frame of a request (message 1) or response (2); 0 if the reference has to."""
        cdef int64_t length = 0
        self.at, self.end, self.program, self.code = data, data + size, program, &program.code[0]
        self.message, self.records_size = message, 0
        if size < (10 if message == 1 else 4):
            return 0
        self.at += 8 if message == 1 else 4
        if message == 1:
            if not self.length_of(False, 2, True, &length) or length > self.end - self.at:
                return 0
            if length > 0:
                self.at += length
        if has_tags:
            if self.at >= self.end or self.at[0] != 0:
                return 0
            self.at += 1
        return self.run(0, <int> program.code.shape[0] - 1, False)


def read_partitions(requests, responses, asked, answered, wanted, program, dict names, dict ids):
    cdef _Side ask = _Side(requests)
    cdef _Side answer = _Side(responses)
    cdef const int64_t[::1] places = np.ascontiguousarray(asked)
    cdef const int64_t[::1] replies = np.ascontiguousarray(answered)
    cdef const uint8_t[::1] chosen = wanted
    cdef const int64_t[::1] keys = requests.api_key
    cdef const int64_t[::1] versions = requests.version
    cdef _Reader reader = _Reader(names, ids)
    cdef _Pair pair = None
    cdef Py_ssize_t index, a, b, before
    cdef int64_t key = -1, version = -1
    cdef array.array rows = arrays.array("q")
    carried = []
    done = []
    pairs = {}
    for index in range(places.shape[0]):
        a, b = places[index], replies[index]
        if not chosen[index] or a < 0 or keys[a] < 0 or not ask.whole[a] or (b >= 0 and not answer.whole[b]):
            continue
        if pair is None or keys[a] != key or versions[a] != version:
            key, version = keys[a], versions[a]
            made = pairs.get((key, version), ...)
            if made is ...:
                found = program(key, version)
                made = pairs[key, version] = None if found is None else _Pair(found)
            pair = made
        if pair is None:
            continue
        reader.begin(index)
        if not reader.read(pair.request, ask.frame(a), ask.size[a] - 4, 1, pair.request_tags):
            continue
        if reader.head[0] != 0 or reader.head[1] != -1:
            continue
        if b >= 0 and not reader.read(pair.response, answer.frame(b), answer.size[b] - 4, 2, pair.response_tags):
            continue
        before = len(rows) // WIDTH
        if reader.count:
            array.extend_buffer(rows, <char*> &reader.rows[0][0], reader.count * WIDTH)
        carried += [(before + row, is_response, content) for row, is_response, content in reader.carried]
        done.append(index)
    return rows, carried, done
