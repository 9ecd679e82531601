# The bytes of frames, and numbers in them. Modules that include this file import what it uses.

cdef class _Side:
    """The frames of one direction."""

    cdef const uint8_t[::1] data
    cdef const int64_t[::1] starts, offsets, sizes, position, size, first, last
    cdef const uint8_t[::1] whole
    cdef uint8_t* joined
    cdef int64_t room

    def __init__(self, frames):
        stream = frames.stream
        self.data = stream.data
        self.starts, self.offsets, self.sizes = stream.starts, stream.offsets, stream.sizes
        self.position, self.size = frames.position, frames.size
        self.first, self.last = frames.first, frames.last
        self.whole = frames.whole.view(np.uint8)

    def __dealloc__(self):
        free(self.joined)

    cdef const uint8_t* frame(self, Py_ssize_t index) except? NULL:
        """The bytes of a frame without its size: in place, or joined."""
        cdef int64_t position = self.position[index] + 4, size = self.size[index] - 4, taken = 0, within, left
        cdef Py_ssize_t piece = self.first[index]
        while self.starts[piece] + self.sizes[piece] <= position and piece < self.last[index]:
            piece += 1
        within = position - self.starts[piece]
        if self.sizes[piece] - within >= size:
            return &self.data[0] + self.offsets[piece] + within
        if size > self.room:
            free(self.joined)
            self.joined = <uint8_t*> malloc(size)
            self.room = size if self.joined != NULL else 0
            if self.joined == NULL:
                raise MemoryError
        while taken < size:
            within = position + taken - self.starts[piece]
            left = min(self.sizes[piece] - within, size - taken)
            memcpy(self.joined + taken, &self.data[0] + self.offsets[piece] + within, left)
            taken += left
            piece += 1
        return self.joined


cdef inline int16_t be16(const uint8_t* p) noexcept:
    return <int16_t> ((p[0] << 8) | p[1])


cdef inline int32_t be32(const uint8_t* p) noexcept:
    return <int32_t> ((<uint32_t> p[0] << 24) | (<uint32_t> p[1] << 16) | (<uint32_t> p[2] << 8) | p[3])
