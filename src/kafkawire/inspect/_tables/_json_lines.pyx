# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Lines of JSON from columns; `json_lines.py` says the rules and is the reference."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

cdef enum:
    PAIR, NUMBER, BOOLEAN, MOMENT, TEXT
    ROOM = 64
    SECOND = 1000000


cdef struct Out:
    char* start
    int64_t size
    int64_t room


cdef inline bint reserve(Out* out, int64_t more) noexcept:
    cdef char* grown
    if out.size + more <= out.room:
        return True
    out.room = 2 * (out.size + more)
    grown = <char*> realloc(out.start, out.room)
    if grown == NULL:
        return False
    out.start = grown
    return True


cdef inline void put_number(Out* out, int64_t value) noexcept:
    cdef char digits[24]
    cdef int at = 24
    cdef uint64_t left = <uint64_t> value
    if value < 0:
        left = 0 - left
    while True:
        at -= 1
        digits[at] = <char> (48 + left % 10)
        left //= 10
        if left == 0:
            break
    if value < 0:
        at -= 1
        digits[at] = 45
    memcpy(out.start + out.size, &digits[at], 24 - at)
    out.size += 24 - at


cdef inline void put_padded(char* at, int64_t value, int width) noexcept:
    while width:
        width -= 1
        at[width] = <char> (48 + value % 10)
        value //= 10


cdef void write_second(char* text, int64_t seconds) noexcept:
    """YYYY-MM-DD HH:MM:SS of seconds since 1970, by the calendar of eras of 400 years."""
    cdef int64_t days = seconds // 86400, rest = seconds % 86400, era, day, year_of_era, day_of_year, month, year
    if rest < 0:
        rest += 86400
        days -= 1
    days += 719468
    era = days // 146097
    day = days - era * 146097
    year_of_era = (day - day // 1460 + day // 36524 - day // 146096) // 365
    year = year_of_era + era * 400
    day_of_year = day - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * day_of_year + 2) // 153
    put_padded(text + 8, day_of_year - (153 * month + 2) // 5 + 1, 2)
    month = month + 3 if month < 10 else month - 9
    put_padded(text, year + (month <= 2), 4)
    put_padded(text + 5, month, 2)
    put_padded(text + 11, rest // 3600, 2)
    put_padded(text + 14, rest // 60 % 60, 2)
    put_padded(text + 17, rest % 60, 2)
    text[4] = text[7] = 45
    text[10] = 32
    text[13] = text[16] = 58


cdef class _Column:
    cdef int kind
    cdef bytes before
    cdef const int64_t[::1] values, seconds
    cdef const uint8_t[::1] nulls
    cdef bint has_nulls
    cdef list texts
    cdef int64_t second
    cdef char text[20]

    def __init__(self, kind, before, values, nulls, more):
        self.kind, self.before, self.values = kind, before, values
        self.has_nulls = nulls is not None
        if self.has_nulls:
            self.nulls = nulls
        if kind == PAIR:
            self.seconds = more
        elif kind == TEXT:
            self.texts = more
        self.second = -1 << 62

    cdef bint put(self, Out* out, Py_ssize_t row) except False:
        cdef int64_t value = self.values[row], length = PyBytes_GET_SIZE(self.before), micros
        cdef bytes text = None
        if self.kind == TEXT and not (self.has_nulls and self.nulls[row]):
            text = <bytes> self.texts[value]
            length += PyBytes_GET_SIZE(text)
        if not reserve(out, length + ROOM):
            raise MemoryError
        length = PyBytes_GET_SIZE(self.before)
        memcpy(out.start + out.size, PyBytes_AS_STRING(self.before), length)
        out.size += length
        if self.has_nulls and self.nulls[row]:
            memcpy(out.start + out.size, b"null", 4)
            out.size += 4
        elif self.kind == NUMBER:
            put_number(out, value)
        elif self.kind == TEXT:
            memcpy(out.start + out.size, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
            out.size += PyBytes_GET_SIZE(text)
        elif self.kind == MOMENT:
            micros = value % SECOND
            value = value // SECOND
            if micros < 0:
                micros += SECOND
                value -= 1
            if value != self.second:
                self.second = value
                write_second(self.text, value)
            out.start[out.size] = 34
            memcpy(out.start + out.size + 1, self.text, 19)
            out.size += 20
            if micros:
                out.start[out.size] = 46
                put_padded(out.start + out.size + 1, micros, 6)
                out.size += 7
            memcpy(out.start + out.size, b'+00:00"', 7)
            out.size += 7
        elif self.kind == BOOLEAN:
            memcpy(out.start + out.size, b"true" if value else b"false", 4 if value else 5)
            out.size += 4 if value else 5
        else:
            out.start[out.size] = 34
            out.size += 1
            put_number(out, value)
            out.start[out.size] = 47
            out.size += 1
            put_number(out, self.seconds[row])
            out.start[out.size] = 34
            out.size += 1
        return True


def render(columns, bytes tail, Py_ssize_t rows):
    cdef list made = [_Column(*each) for each in columns]
    cdef Out out
    cdef Py_ssize_t row
    cdef _Column column
    out.size, out.room = 0, 1 << 16
    out.start = <char*> malloc(out.room)
    if out.start == NULL:
        raise MemoryError
    try:
        for row in range(rows):
            for column in made:
                column.put(&out, row)
            if not reserve(&out, PyBytes_GET_SIZE(tail)):
                raise MemoryError
            memcpy(out.start + out.size, PyBytes_AS_STRING(tail), PyBytes_GET_SIZE(tail))
            out.size += PyBytes_GET_SIZE(tail)
        return PyUnicode_DecodeUTF8(out.start, out.size, NULL)
    finally:
        free(out.start)
