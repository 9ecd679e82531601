"""What `_record.h` offers to the compiled modules."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t


cdef extern from "_record.h" nogil:
    enum:
        KW_COUNT, KW_TRAILING, KW_NULL_WRAPPER, KW_MEMORY, KW_SMALLEST_RECORD

    ctypedef struct kw_fault:
        int64_t position, where, found, expected
        int code

    ctypedef struct kw_record:
        int64_t offset, timestamp
        const uint8_t *key
        const uint8_t *value
        const uint8_t *headers
        int32_t key_size, value_size, header_count

    ctypedef struct kw_cursor:
        const uint8_t *start
        const uint8_t *at
        const uint8_t *end
        int64_t base_offset, base_timestamp, append_timestamp, shift
        bint append, inside, verify
        kw_fault fault

    void kw_crc_init()
    uint32_t kw_crc32c(uint32_t crc, const uint8_t *p, size_t n)
    int16_t kw_load16(const uint8_t *p)
    int32_t kw_load32(const uint8_t *p)
    uint32_t kw_loadu32(const uint8_t *p)
    int64_t kw_load64(const uint8_t *p)
    int64_t kw_add64(int64_t a, int64_t b)
    int kw_varint32(const uint8_t **p, const uint8_t *end, int32_t *out)
    int kw_varint64(const uint8_t **p, const uint8_t *end, int64_t *out)
    int kw_varint_size(int64_t v)
    uint8_t *kw_put_varint(uint8_t *p, int64_t v)
    int kw_fail(kw_fault *fault, int code, int64_t where, int64_t found, int64_t expected)
    int64_t kw_batch_at(const uint8_t *data, int64_t position, int64_t total, uint8_t *magic, kw_fault *fault)
    int64_t kw_whole_batch(const uint8_t *data, int64_t position, int64_t total, kw_fault *fault)
    bint kw_crc_holds(const uint8_t *batch, int64_t size, uint8_t magic, int64_t position, kw_fault *fault)
    int kw_read_record(kw_cursor *c, kw_record *r)
    int kw_read_header(kw_cursor *c, const uint8_t **p, const uint8_t *stop, const uint8_t **key, int32_t *key_size,
                       const uint8_t **value, int32_t *value_size)
    int kw_read_message(kw_cursor *c, kw_record *r)
    int64_t kw_open_wrapper(kw_cursor *c, int wrapper_magic, int64_t wrapper_offset)
