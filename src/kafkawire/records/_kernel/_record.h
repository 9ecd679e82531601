/* One batch in a buffer and one record in its bytes, read with every bound checked before it is used.
 * Fault numbers are those of errors.Fault; `where` counts from the start of the records. */
#ifndef KW_RECORD_H
#define KW_RECORD_H
#include "_bytes.h"
#include "_crc32c.h"
#include "_layout.h"

enum {
    KW_SIZE = 1, KW_MAGIC, KW_CRC, KW_COUNT, KW_SHORT, KW_VARINT, KW_LENGTH, KW_RECORD_SIZE, KW_HEADER_COUNT, KW_TRAILING,
    KW_NESTED, KW_WRAPPER_OFFSET, KW_EMPTY_WRAPPER, KW_NULL_WRAPPER, KW_OVERFLOW, KW_MEMORY = 99
};

#define KW_SMALLEST_RECORD 7

typedef struct {
    int64_t position, where, found, expected;
    int code;
} kw_fault;

typedef struct {
    int64_t offset, timestamp;
    const uint8_t *key, *value, *headers; /* key and value are NULL if they are null */
    int32_t key_size, value_size, header_count;
    uint8_t magic, attributes;
} kw_record;

/* The records of one batch, and the position that was reached. */
typedef struct {
    const uint8_t *start, *at, *end;
    int64_t base_offset, base_timestamp, append_timestamp, shift;
    int append; /* every record has append_timestamp */
    int inside; /* messages of a wrapper: the check of the batch did not include their CRCs */
    int verify;
    kw_fault fault;
} kw_cursor;

static int kw_fail(kw_fault *fault, int code, int64_t where, int64_t found, int64_t expected) {
    fault->code = code;
    fault->where = where;
    fault->found = found;
    fault->expected = expected;
    return -1;
}

/* The size of the batch at a position and its magic; 0 if only a cut tail is left, or -1 and the fault.
 * Callers must use both values and never read them again: another thread may write to the buffer meanwhile, and
 * another magic could mean a longer header than was checked. */
static inline int64_t kw_batch_at(const uint8_t *data, int64_t position, int64_t total, uint8_t *magic, kw_fault *fault) {
    int64_t left = total - position;
    int32_t length, smallest = KW_SMALLEST_LENGTH(0);
    if (left < KW_PREFIX_SIZE) return 0;
    length = kw_load32(data + position + KW_SIZE_AT);
    if (length >= smallest) {
        if (left < KW_PROBE_SIZE) return 0;
        *magic = data[position + KW_MAGIC_AT];
        if (*magic > 2) {
            fault->position = position;
            return kw_fail(fault, KW_MAGIC, 0, (int8_t)*magic, 2);
        }
        smallest = KW_SMALLEST_LENGTH(*magic);
    }
    if (length < smallest) {
        fault->position = position;
        return kw_fail(fault, KW_SIZE, 0, length, smallest);
    }
    return KW_PREFIX_SIZE + (int64_t)length <= left ? KW_PREFIX_SIZE + (int64_t)length : 0;
}

static inline int64_t kw_whole_batch(const uint8_t *data, int64_t position, int64_t total, kw_fault *fault) {
    uint8_t magic;
    return kw_batch_at(data, position, total, &magic, fault);
}

static inline int kw_crc_holds(const uint8_t *batch, int64_t size, uint8_t magic, int64_t position, kw_fault *fault) {
    uint32_t stated, computed;
    if (magic == 2) {
        stated = kw_loadu32(batch + KW_CRC_AT);
        computed = kw_crc32c(0, batch + KW_CHECKED_FROM, (size_t)size - KW_CHECKED_FROM);
    } else {
        stated = kw_loadu32(batch + KW_LEGACY_CRC_AT);
        computed = kw_crc32(0, batch + KW_LEGACY_CHECKED_FROM, (size_t)size - KW_LEGACY_CHECKED_FROM);
    }
    if (stated == computed) return 1;
    fault->position = position;
    kw_fail(fault, KW_CRC, 0, computed, stated);
    return 0;
}

#define KW_WHERE(c, p) ((int64_t)((p) - (c)->start))
#define KW_VARINT_FAULT(c, p, stop, f) \
    ((f) == -1 ? kw_fail(&(c)->fault, KW_SHORT, KW_WHERE(c, stop), 0, 1) : kw_fail(&(c)->fault, KW_VARINT, KW_WHERE(c, p), 0, 0))

/* A length and that many bytes; a length of -1 is null if `nullable`. */
KW_INLINE int kw_read_bytes(kw_cursor *c, const uint8_t **p, const uint8_t *stop, int nullable, const uint8_t **out,
                            int32_t *size) {
    const uint8_t *at = *p;
    int32_t length;
    int f = kw_varint32(p, stop, &length);
    if (f) return KW_VARINT_FAULT(c, at, stop, f);
    if (length < 0 ? !nullable || length != -1 : length > stop - *p)
        return kw_fail(&c->fault, KW_LENGTH, KW_WHERE(c, at), length, stop - *p);
    *out = length < 0 ? NULL : *p;
    *size = length < 0 ? 0 : length;
    *p += *size;
    return 0;
}

/* The next header of a record whose headers were checked by kw_read_record, or are being checked by it. */
KW_INLINE int kw_read_header(kw_cursor *c, const uint8_t **p, const uint8_t *stop, const uint8_t **key, int32_t *key_size,
                             const uint8_t **value, int32_t *value_size) {
    if (kw_read_bytes(c, p, stop, 0, key, key_size)) return -1;
    return kw_read_bytes(c, p, stop, 1, value, value_size);
}

/* The next record of a magic 2 batch: 0, or -1 and the fault in the cursor. */
KW_INLINE int kw_read_record(kw_cursor *c, kw_record *r) {
    const uint8_t *p = c->at, *stop = c->end, *at = p;
    int32_t length, delta, count, i;
    int64_t stamp;
    int f;
    if ((f = kw_varint32(&p, stop, &length)) != 0) return KW_VARINT_FAULT(c, at, stop, f);
    if (length < 0 || length > stop - p) return kw_fail(&c->fault, KW_LENGTH, KW_WHERE(c, at), length, stop - p);
    stop = p + length;
    if (p == stop) return kw_fail(&c->fault, KW_SHORT, KW_WHERE(c, p), 0, 1);
    r->attributes = *p++;
    if ((f = kw_varint64(&p, stop, &stamp)) != 0 || (f = kw_varint32(&p, stop, &delta)) != 0)
        return KW_VARINT_FAULT(c, p, stop, f);
    if (kw_read_bytes(c, &p, stop, 1, &r->key, &r->key_size)) return -1;
    if (kw_read_bytes(c, &p, stop, 1, &r->value, &r->value_size)) return -1;
    if ((f = kw_varint32(&p, stop, &count)) != 0) return KW_VARINT_FAULT(c, p, stop, f);
    if (count < 0 || count > stop - p) return kw_fail(&c->fault, KW_HEADER_COUNT, KW_WHERE(c, p), count, stop - p);
    r->header_count = count;
    r->headers = p;
    for (i = 0; i < count; i++) {
        const uint8_t *key, *value;
        int32_t key_size, value_size;
        if (kw_read_header(c, &p, stop, &key, &key_size, &value, &value_size)) return -1;
    }
    if (p != stop)
        return kw_fail(&c->fault, KW_RECORD_SIZE, KW_WHERE(c, at), length - (stop - p), length);
    r->offset = kw_add64(c->base_offset, delta);
    r->timestamp = c->append ? c->append_timestamp : kw_add64(c->base_timestamp, stamp);
    c->at = p;
    return 0;
}

/* An int32 length and that many bytes of a message, -1 for null. */
KW_INLINE int kw_read_field(kw_cursor *c, const uint8_t **p, const uint8_t *stop, const uint8_t **out, int32_t *size) {
    int32_t length;
    if (stop - *p < 4) return kw_fail(&c->fault, KW_SHORT, KW_WHERE(c, *p), stop - *p, 4);
    length = kw_load32(*p);
    if (length < -1 || length > stop - *p - 4)
        return kw_fail(&c->fault, KW_LENGTH, KW_WHERE(c, *p), length, stop - *p - 4);
    *p += 4;
    *out = length < 0 ? NULL : *p;
    *size = length < 0 ? 0 : length;
    *p += *size;
    return 0;
}

/* The next message of magic 0 or 1: 0, or -1 and the fault in the cursor. Offsets are as stored, plus the cursor's shift. */
static int kw_read_message(kw_cursor *c, kw_record *r) {
    const uint8_t *at = c->at, *p, *stop;
    int64_t size = kw_batch_at(at, 0, c->end - at, &r->magic, &c->fault);
    if (size < 0) return -1;
    if (size == 0) return kw_fail(&c->fault, KW_SHORT, KW_WHERE(c, at), c->end - at, KW_PREFIX_SIZE + KW_SMALLEST_LENGTH(0));
    if (r->magic == 2) return kw_fail(&c->fault, KW_MAGIC, 0, 2, 1);
    if (c->inside && c->verify && !kw_crc_holds(at, size, r->magic, 0, &c->fault)) return -1;
    stop = at + size;
    r->attributes = at[KW_LEGACY_ATTRIBUTES_AT];
    if (c->inside && r->attributes & KW_CODEC) return kw_fail(&c->fault, KW_NESTED, KW_WHERE(c, at), 0, 0);
    r->offset = kw_add64(kw_load64(at), c->shift);
    r->timestamp = r->magic == 0 ? -1 : c->append ? c->append_timestamp : kw_load64(at + KW_LEGACY_TIMESTAMP_AT);
    p = at + KW_LEGACY_KEY_AT(r->magic);
    r->headers = NULL;
    r->header_count = 0;
    if (kw_read_field(c, &p, stop, &r->key, &r->key_size)) return -1;
    if (kw_read_field(c, &p, stop, &r->value, &r->value_size)) return -1;
    if (p != stop) return kw_fail(&c->fault, KW_RECORD_SIZE, KW_WHERE(c, at), size - (stop - p), size);
    c->at = p;
    return 0;
}

/* Count the messages of a wrapper and set the shift from inner to absolute offsets: the count, or -1 and the fault. */
static int64_t kw_open_wrapper(kw_cursor *c, int wrapper_magic, int64_t wrapper_offset) {
    const uint8_t *p = c->start;
    int64_t count = 0, last = 0, size;
    while (p != c->end) {
        size = kw_whole_batch(p, 0, c->end - p, &c->fault);
        if (size < 0) return -1;
        if (size == 0) return kw_fail(&c->fault, KW_SHORT, KW_WHERE(c, p), c->end - p, KW_PREFIX_SIZE + KW_SMALLEST_LENGTH(0));
        last = kw_load64(p);
        p += size;
        count++;
    }
    if (count == 0) return kw_fail(&c->fault, KW_EMPTY_WRAPPER, 0, 0, 0);
    c->shift = 0;
    /* Old librdkafka producers left a wrapper offset of 0: inner offsets are then absolute. */
    if (wrapper_magic == 1 && wrapper_offset != 0) {
        if (wrapper_offset < last) return kw_fail(&c->fault, KW_WRAPPER_OFFSET, 0, wrapper_offset, last);
        c->shift = kw_add64(wrapper_offset, (int64_t)(0 - (uint64_t)last));
    }
    return count;
}
#endif
