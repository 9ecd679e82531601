/* Records and messages written into memory that grows, and Arrow columns read for them. */
#ifndef KW_WRITE_H
#define KW_WRITE_H
#include "_arrow.h"
#include "_record.h"

#define KW_MOST_OVERHEAD 48 /* the varints and fixed fields of a record or message, without its headers */
#define KW_LARGEST (INT32_MAX - 1024)
#define KW_MOST_HEADER 10   /* the varints of a header */

typedef struct {
    uint8_t *data;
    int64_t used, capacity;
} kw_out;

/* The parts of one record; a size of -1 is null. */
typedef struct {
    int64_t offset, timestamp;
    const uint8_t *key, *value;
    int64_t key_size, value_size, headers, headers_size; /* headers_size: the encoded bytes of all headers */
} kw_new_record;

static int kw_room(kw_out *out, int64_t more) {
    int64_t needed = out->used + more;
    uint8_t *larger;
    if (needed <= out->capacity) return 0;
    if (needed < 2 * out->capacity) needed = 2 * out->capacity;
    larger = (uint8_t *)realloc(out->data, (size_t)needed);
    if (larger == NULL) return -1;
    out->data = larger;
    out->capacity = needed;
    return 0;
}

KW_INLINE int64_t kw_sized(int64_t size) { return kw_varint_size(size) + (size > 0 ? size : 0); }

/* The bytes of a record after its length. */
KW_INLINE int64_t kw_body_size(const kw_new_record *r, int64_t timestamp_delta, int64_t offset_delta) {
    return 1 + kw_varint_size(timestamp_delta) + kw_varint_size(offset_delta) + kw_sized(r->key_size) +
           kw_sized(r->value_size) + kw_varint_size(r->headers) + r->headers_size;
}

KW_INLINE uint8_t *kw_put_sized(uint8_t *p, const uint8_t *data, int64_t size) {
    p = kw_put_varint(p, size);
    if (size > 0) {
        kw_copy(p, data, size);
        p += size;
    }
    return p;
}

/* A magic 2 record without its headers, which must follow; the room must be there. */
KW_INLINE void kw_put_record(kw_out *out, const kw_new_record *r, int64_t body, int64_t timestamp_delta, int64_t offset_delta) {
    uint8_t *p = out->data + out->used;
    p = kw_put_varint(p, body);
    *p++ = 0;
    p = kw_put_varint(p, timestamp_delta);
    p = kw_put_varint(p, offset_delta);
    p = kw_put_sized(p, r->key, r->key_size);
    p = kw_put_sized(p, r->value, r->value_size);
    p = kw_put_varint(p, r->headers);
    out->used = p - out->data;
}

KW_INLINE void kw_put_header(kw_out *out, const uint8_t *key, int64_t key_size, const uint8_t *value, int64_t value_size) {
    uint8_t *p = out->data + out->used;
    p = kw_put_sized(p, key, key_size);
    out->used = kw_put_sized(p, value, value_size) - out->data;
}

static uint8_t *kw_put_field(uint8_t *p, const uint8_t *data, int64_t size) {
    kw_store32(p, (uint32_t)size);
    if (size > 0) memcpy(p + 4, data, (size_t)size);
    return p + 4 + (size > 0 ? size : 0);
}

/* A message of magic 0 or 1; the room must be there. */
static void kw_put_message(kw_out *out, const kw_new_record *r, int magic, int attributes) {
    uint8_t *start = out->data + out->used, *p = start + KW_LEGACY_TIMESTAMP_AT;
    start[KW_MAGIC_AT] = (uint8_t)magic;
    start[KW_LEGACY_ATTRIBUTES_AT] = (uint8_t)attributes;
    if (magic == 1) {
        kw_store64(p, r->timestamp);
        p += 8;
    }
    p = kw_put_field(p, r->key, r->key_size);
    p = kw_put_field(p, r->value, r->value_size);
    kw_store64(start, r->offset);
    kw_store32(start + KW_SIZE_AT, (uint32_t)(p - start - KW_PREFIX_SIZE));
    kw_store32(start + KW_LEGACY_CRC_AT, kw_crc32(0, start + KW_LEGACY_CHECKED_FROM, (size_t)(p - start - KW_LEGACY_CHECKED_FROM)));
    out->used = p - out->data;
}

/* A column of rows: integers, or (offsets set) bytes or lists; nothing is set if the column is absent. */
typedef struct {
    const uint8_t *valid, *data;
    const int32_t *offsets;
    const int64_t *integers;
    int64_t shift; /* of the validity bits */
} kw_column;

typedef struct {
    kw_column offset, timestamp, key, value, headers, header, header_key, header_value;
    int64_t length, next_row, next_offset, records_per_batch, batch_bytes;
} kw_rows;

/* The header fields of a filled batch. */
typedef struct {
    int64_t count, base_offset, base_timestamp, max_timestamp;
} kw_filled;

/* A column of nulls only is left absent, which reads the same and costs nothing. */
static void kw_open_column(kw_column *column, const struct ArrowArray *a, int64_t more, int is_integer) {
    int64_t shift = a->offset + more;
    if (!is_integer && a->length > 0 && a->null_count == a->length) return;
    column->valid = a->null_count == 0 ? NULL : (const uint8_t *)a->buffers[0];
    column->shift = shift;
    if (is_integer) {
        column->integers = (const int64_t *)a->buffers[1] + shift;
    } else {
        column->offsets = (const int32_t *)a->buffers[1] + shift;
        column->data = a->n_buffers > 2 ? (const uint8_t *)a->buffers[2] : NULL;
    }
}

/* A list's entries are rows of a struct, whose own offset applies to its children. */
static void kw_open_headers(kw_rows *rows, const struct ArrowArray *a) {
    const struct ArrowArray *entry = a->children[0];
    if (entry->length == 0) return;
    kw_open_column(&rows->headers, a, 0, 0);
    rows->header.valid = entry->null_count == 0 ? NULL : (const uint8_t *)entry->buffers[0];
    rows->header.shift = entry->offset;
    kw_open_column(&rows->header_key, entry->children[0], entry->offset, 0);
    kw_open_column(&rows->header_value, entry->children[1], entry->offset, 0);
}

/* The bytes that the rows of a column have in all. */
static int64_t kw_column_bytes(const kw_column *column, int64_t rows) {
    return column->offsets == NULL || rows == 0 ? 0 : (int64_t)column->offsets[rows] - column->offsets[0];
}

KW_INLINE int kw_is_null(const kw_column *column, int64_t row) {
    int64_t at = column->shift + row;
    return column->valid != NULL && !(column->valid[at >> 3] >> (at & 7) & 1);
}

KW_INLINE int64_t kw_bytes_at(const kw_column *column, int64_t row, const uint8_t **data) {
    if (column->offsets == NULL || kw_is_null(column, row)) return -1;
    *data = column->data + column->offsets[row];
    return (int64_t)column->offsets[row + 1] - column->offsets[row];
}

/* The most bytes that a row's headers take: 0 without, or -1 for one that is null or has a null key. */
static int64_t kw_most_headers(const kw_rows *rows, int32_t first, int32_t end) {
    const uint8_t *ignored = NULL;
    int64_t most = 0;
    int32_t i;
    for (i = first; i < end; i++) {
        int64_t key_size = kw_bytes_at(&rows->header_key, i, &ignored);
        int64_t value_size = kw_bytes_at(&rows->header_value, i, &ignored);
        if (key_size < 0 || kw_is_null(&rows->header, i)) return -1;
        most += KW_MOST_HEADER + key_size + (value_size > 0 ? value_size : 0);
    }
    return most;
}

/* Write rows until the batch is full or the rows end: 0, -1 (a row that cannot be), -2 (too large), or -3 and nothing
 * changed (no room).
 *
 * A record's length comes first but is known last: its width is guessed from the bytes to come, and is hardly ever wrong.
 * Everything the loop needs is held in locals, because the compiler must take each byte written for a change of anything
 * that a pointer could reach. */
static int kw_fill_batch(kw_rows *rows, kw_out *out, kw_filled *filled) {
    const kw_rows in = *rows;
    const int64_t start = out->used - KW_HEADER_SIZE;
    const int64_t end = in.length - in.next_row > in.records_per_batch ? in.next_row + in.records_per_batch : in.length;
    int64_t row = in.next_row, next_offset = in.next_offset, base_offset = 0, base_timestamp = 0, max_timestamp = -1;
    int64_t used = out->used;
    const int64_t capacity = out->capacity;
    uint8_t *const data = out->data;
    int status = 0;
    for (; row < end; row++) {
        const uint8_t *key = NULL, *value = NULL;
        int64_t offset = next_offset, timestamp = -1, most, width, body;
        int64_t key_size = kw_bytes_at(&in.key, row, &key), value_size = kw_bytes_at(&in.value, row, &value);
        int32_t i, first = 0, last = 0;
        uint8_t *p;
        if (in.offset.integers != NULL) {
            offset = in.offset.integers[row];
            if (offset < next_offset || kw_is_null(&in.offset, row)) status = -1;
        }
        if (in.timestamp.integers != NULL && !kw_is_null(&in.timestamp, row)) timestamp = in.timestamp.integers[row];
        most = (key_size > 0 ? key_size : 0) + (value_size > 0 ? value_size : 0);
        if (in.headers.offsets != NULL && in.headers.offsets[row] != in.headers.offsets[row + 1] && !kw_is_null(&in.headers, row)) {
            int64_t more;
            first = in.headers.offsets[row];
            last = in.headers.offsets[row + 1];
            more = kw_most_headers(rows, first, last);
            if (more < 0) status = -1;
            most += more;
        }
        if (status || offset == INT64_MAX) {
            status = -1;
            break;
        }
        if (row == in.next_row) {
            base_offset = offset;
            base_timestamp = timestamp;
        }
        if (offset - base_offset > INT32_MAX) break;
        if (most > KW_LARGEST) {
            status = -2;
            break;
        }
        if (used + most + KW_MOST_OVERHEAD > capacity) return -3;
        width = most + 6 < 64 ? 1 : most + 6 < 8192 ? 2 : kw_varint_size(most + 6);
        p = data + used + width;
        *p++ = 0;
        p = kw_put_varint(p, kw_sub64(timestamp, base_timestamp));
        p = kw_put_varint(p, offset - base_offset);
        p = kw_put_sized(p, key, key_size);
        p = kw_put_sized(p, value, value_size);
        p = kw_put_varint(p, last - first);
        for (i = first; i < last; i++) {
            key_size = kw_bytes_at(&in.header_key, i, &key);
            value_size = kw_bytes_at(&in.header_value, i, &value);
            p = kw_put_sized(p, key, key_size);
            p = kw_put_sized(p, value, value_size);
        }
        body = p - (data + used + width);
        if (kw_put_varint(data + used, body) != data + used + width) {
            /* The guess was short: the varint just written has covered the first byte, which is always 0. */
            int64_t right = kw_varint_size(body);
            data[used + width] = 0;
            memmove(data + used + right, data + used + width, (size_t)body);
            kw_put_varint(data + used, body);
            p += right - width;
        }
        if (row != in.next_row && p - data - start > in.batch_bytes) break;
        used = p - data;
        if (timestamp > max_timestamp) max_timestamp = timestamp;
        next_offset = offset + 1;
    }
    out->used = used;
    filled->count = row - in.next_row;
    filled->base_offset = base_offset;
    filled->base_timestamp = base_timestamp;
    filled->max_timestamp = max_timestamp;
    rows->next_row = row;
    rows->next_offset = next_offset;
    return status == 0 && used - start > KW_LARGEST ? -2 : status;
}

/* Complete a batch whose records are in place behind its header, of which the constant fields are there. */
static void kw_seal(uint8_t *batch, int64_t size, const kw_filled *filled, int64_t last_offset, int64_t sequence) {
    kw_store64(batch, filled->base_offset);
    kw_store32(batch + KW_SIZE_AT, (uint32_t)(size - KW_PREFIX_SIZE));
    kw_store32(batch + KW_LAST_OFFSET_DELTA_AT, (uint32_t)(last_offset - filled->base_offset));
    kw_store64(batch + KW_BASE_TIMESTAMP_AT, filled->base_timestamp);
    kw_store64(batch + KW_MAX_TIMESTAMP_AT, filled->max_timestamp);
    if (sequence >= 0) kw_store32(batch + KW_BASE_SEQUENCE_AT, (uint32_t)sequence);
    kw_store32(batch + KW_RECORD_COUNT_AT, (uint32_t)filled->count);
    kw_store32(batch + KW_CRC_AT, kw_crc32c(0, batch + KW_CHECKED_FROM, (size_t)size - KW_CHECKED_FROM));
}
#endif
