/* Arrow columns that grow, without Python: rows are appended, then the columns are passed to Arrow.
 *
 * - Room for rows is reserved once per batch; room for bytes on demand, doubling.
 * - Memory is returned before it is passed on only if most of it is unused: shrinking a large block makes the next
 *   one of its size come from fresh pages, which costs more than reading a megabyte of batches.
 * - A validity bitmap exists only after the first null.
 * - Offsets are int32: bytes that would exceed `most` of a column are a fault, not a wrap.
 */
#ifndef KW_SINK_H
#define KW_SINK_H
#include "_arrow.h"
#include "_record.h"

#define KW_BATCH_COLUMNS 14

typedef struct {
    int wanted;
    int32_t *offsets;
    uint8_t *data, *valid;
    int64_t used, capacity, most, nulls;
} kw_binary;

typedef struct {
    int64_t rows, capacity, headers, header_capacity;
    int wants_offset, wants_timestamp, wants_type, wants_headers, wants_batch;
    int64_t *offset, *timestamp;
    int8_t *timestamp_type;
    int32_t *header_offsets;
    kw_binary key, value, header_key, header_value;
    int width[KW_BATCH_COLUMNS]; /* 0 if the column is not requested */
    void *batch[KW_BATCH_COLUMNS];
} kw_sink;

static int kw_grow(void *space, int64_t size) {
    void *old, *larger;
    memcpy(&old, space, sizeof old);
    larger = realloc(old, size > 0 ? (size_t)size : 1);
    if (larger == NULL) return -1;
    memcpy(space, &larger, sizeof larger);
    return 0;
}

/* Room for `rows` offsets, where there had been `capacity`. */
static int kw_reserve_binary(kw_binary *column, int64_t rows, int64_t capacity) {
    int fresh = column->offsets == NULL;
    if (rows <= capacity && !fresh) return 0;
    if (kw_grow(&column->offsets, 4 * (rows + 1))) return -1;
    if (fresh) column->offsets[0] = 0;
    if (column->valid != NULL) {
        int64_t before = (capacity + 7) / 8, after = (rows + 7) / 8;
        if (kw_grow(&column->valid, after)) return -1;
        memset(column->valid + before, 0xff, (size_t)(after - before));
    }
    return 0;
}

/* Room for that many more rows. */
static int kw_reserve(kw_sink *s, int64_t rows) {
    int64_t needed = s->rows + rows;
    int i;
    if (needed <= s->capacity && s->capacity > 0) return 0;
    if (needed < 2 * s->capacity) needed = 2 * s->capacity;
    if (s->wants_offset && kw_grow(&s->offset, 8 * needed)) return -1;
    if (s->wants_timestamp && kw_grow(&s->timestamp, 8 * needed)) return -1;
    if (s->wants_type && kw_grow(&s->timestamp_type, needed)) return -1;
    if (s->wants_headers) {
        int fresh = s->header_offsets == NULL;
        if (kw_grow(&s->header_offsets, 4 * (needed + 1))) return -1;
        if (fresh) s->header_offsets[0] = 0;
        if (fresh && (kw_reserve_binary(&s->header_key, 0, 0) || kw_reserve_binary(&s->header_value, 0, 0))) return -1;
    }
    for (i = 0; i < KW_BATCH_COLUMNS; i++)
        if (s->width[i] && kw_grow(&s->batch[i], s->width[i] * needed)) return -1;
    if (s->key.wanted && kw_reserve_binary(&s->key, needed, s->capacity)) return -1;
    if (s->value.wanted && kw_reserve_binary(&s->value, needed, s->capacity)) return -1;
    s->capacity = needed;
    return 0;
}

/* Room for `size` more bytes: 0, or the code of a fault. */
static int kw_widen(kw_binary *column, int64_t size) {
    int64_t needed = column->used + size;
    if (needed > column->most) return KW_OVERFLOW;
    if (needed < 2 * column->capacity) needed = 2 * column->capacity;
    if (needed < 1024) needed = 1024;
    if (needed > column->most) needed = column->most; /* so that a caller that would exceed it comes here again */
    if (kw_grow(&column->data, needed)) return KW_MEMORY;
    column->capacity = needed;
    return 0;
}

KW_INLINE int kw_put(kw_binary *column, int64_t row, int64_t capacity, const uint8_t *data, int32_t size) {
    if (data == NULL) {
        if (column->valid == NULL) {
            size_t bytes = (size_t)(capacity + 7) / 8;
            column->valid = (uint8_t *)malloc(bytes + 1);
            if (column->valid == NULL) return KW_MEMORY;
            memset(column->valid, 0xff, bytes);
        }
        column->valid[row >> 3] &= (uint8_t) ~(1u << (row & 7));
        column->nulls++;
    } else {
        if (column->used + size > column->capacity) {
            int code = kw_widen(column, size);
            if (code) return code;
        }
        kw_copy(column->data + column->used, data, size);
        column->used += size;
    }
    column->offsets[row + 1] = (int32_t)column->used;
    return 0;
}

/* How many bytes are UTF-8 as Unicode defines it (no overlong forms, no surrogates, nothing past U+10FFFF), and how many
 * after them one replacement character stands for: the longest that could have begun a character. */
static int64_t kw_utf8_bytes(const uint8_t *start, int64_t size, int64_t *bad) {
    const uint8_t *p = start, *end = start + size;
    *bad = 0;
    while (p < end) {
        const uint8_t *q = p + 1;
        uint8_t a = *p, low = 0x80, high = 0xbf;
        int more = a < 0x80 ? 0 : a < 0xc2 ? -1 : a < 0xe0 ? 1 : a < 0xf0 ? 2 : a < 0xf5 ? 3 : -1;
        if (a == 0xe0) low = 0xa0;
        if (a == 0xed) high = 0x9f;
        if (a == 0xf0) low = 0x90;
        if (a == 0xf4) high = 0x8f;
        for (; more > 0 && q < end && *q >= low && *q <= high; more--, q++) {
            low = 0x80;
            high = 0xbf;
        }
        if (more != 0) {
            *bad = q - p;
            break;
        }
        p = q;
    }
    return p - start;
}

/* A string: bytes that are not UTF-8 become U+FFFD, as Python replaces them. */
static int kw_put_text(kw_binary *column, int64_t row, int64_t capacity, const uint8_t *text, int64_t size) {
    int64_t bad, good = kw_utf8_bytes(text, size, &bad);
    int code = kw_put(column, row, capacity, text, (int32_t)good);
    while (code == 0 && bad > 0) {
        text += good + bad;
        size -= good + bad;
        good = kw_utf8_bytes(text, size, &bad);
        code = kw_put(column, row, capacity, (const uint8_t *)"\xef\xbf\xbd", 3);
        if (code == 0) code = kw_put(column, row, capacity, text, (int32_t)good);
    }
    return code;
}

static int kw_put_headers(kw_sink *s, kw_cursor *c, const kw_record *r) {
    const uint8_t *p = r->headers, *key, *value;
    int32_t key_size, value_size, i;
    int64_t needed = s->headers + r->header_count;
    int code;
    if (needed > INT32_MAX) return KW_OVERFLOW;
    if (needed <= s->header_capacity) needed = s->header_capacity;
    else if (needed < 2 * s->header_capacity) needed = 2 * s->header_capacity;
    if (kw_reserve_binary(&s->header_key, needed, s->header_capacity) ||
        kw_reserve_binary(&s->header_value, needed, s->header_capacity))
        return KW_MEMORY;
    s->header_capacity = needed;
    for (i = 0; i < r->header_count; i++) {
        if (kw_read_header(c, &p, c->at, &key, &key_size, &value, &value_size)) return c->fault.code;
        if ((code = kw_put_text(&s->header_key, s->headers, needed, key, key_size)) != 0) return code;
        if ((code = kw_put(&s->header_value, s->headers, needed, value, value_size)) != 0) return code;
        s->headers++;
    }
    return 0;
}

/* Append a record, just read from the cursor, to the wanted columns: 0, or the code of a fault. */
KW_INLINE int kw_put_row(kw_sink *s, kw_cursor *c, const kw_record *r, int8_t timestamp_type) {
    int64_t row = s->rows;
    int code;
    if (s->wants_offset) s->offset[row] = r->offset;
    if (s->wants_timestamp) s->timestamp[row] = r->timestamp;
    if (s->wants_type) s->timestamp_type[row] = timestamp_type;
    if (s->key.wanted && (code = kw_put(&s->key, row, s->capacity, r->key, r->key_size)) != 0) return code;
    if (s->value.wanted && (code = kw_put(&s->value, row, s->capacity, r->value, r->value_size)) != 0) return code;
    if (s->wants_headers) {
        if (r->header_count && (code = kw_put_headers(s, c, r)) != 0) return code;
        s->header_offsets[row + 1] = (int32_t)s->headers;
    }
    s->rows = row + 1;
    return 0;
}

/* Repeat the wanted header fields of a batch over the rows from `first` on; the order is that of a scan's columns. */
static void kw_repeat_fields(kw_sink *s, const uint8_t *b, int64_t position, int64_t size, uint8_t magic, int64_t first) {
    int two = magic == 2, i;
    int64_t stamp = magic == 1 ? kw_load64(b + KW_LEGACY_TIMESTAMP_AT) : -1, base = kw_load64(b), row;
    int64_t field[KW_BATCH_COLUMNS] = {
        position,
        size,
        magic,
        two ? kw_load16(b + KW_ATTRIBUTES_AT) : (int8_t)b[KW_LEGACY_ATTRIBUTES_AT],
        base,
        two ? kw_add64(base, kw_load32(b + KW_LAST_OFFSET_DELTA_AT)) : base,
        two ? kw_load32(b + KW_RECORD_COUNT_AT) : (b[KW_LEGACY_ATTRIBUTES_AT] & KW_CODEC) ? -1 : 1,
        two ? kw_load64(b + KW_BASE_TIMESTAMP_AT) : stamp,
        two ? kw_load64(b + KW_MAX_TIMESTAMP_AT) : stamp,
        two ? kw_load32(b + KW_LEADER_EPOCH_AT) : -1,
        two ? kw_load64(b + KW_PRODUCER_ID_AT) : -1,
        two ? kw_load16(b + KW_PRODUCER_EPOCH_AT) : -1,
        two ? kw_load32(b + KW_BASE_SEQUENCE_AT) : -1,
        two ? kw_loadu32(b + KW_CRC_AT) : kw_loadu32(b + KW_LEGACY_CRC_AT),
    };
    for (i = 0; i < KW_BATCH_COLUMNS; i++) {
        if (s->width[i] == 8)
            for (row = first; row < s->rows; row++) ((int64_t *)s->batch[i])[row] = field[i];
        else if (s->width[i] == 4)
            for (row = first; row < s->rows; row++) ((int32_t *)s->batch[i])[row] = (int32_t)field[i];
        else if (s->width[i] == 2)
            for (row = first; row < s->rows; row++) ((int16_t *)s->batch[i])[row] = (int16_t)field[i];
        else if (s->width[i] == 1)
            memset((int8_t *)s->batch[i] + first, (int)field[i], (size_t)(s->rows - first));
    }
}

KW_INLINE void kw_put_batch(kw_sink *s, const uint8_t *b, int64_t position, int64_t size, uint8_t magic, int64_t first) {
    if (s->wants_batch) kw_repeat_fields(s, b, position, size, magic, first);
}

/* Each of these moves the memory out of the sink; -1 if there is no memory, and then the sink keeps it. */
static int kw_take_plain(struct ArrowArray *array, int64_t rows, void *space) {
    if (kw_arrow_init(array, rows, 0, 2, 0)) return -1;
    memcpy(&array->buffers[1], space, sizeof(void *));
    memset(space, 0, sizeof(void *));
    return 0;
}

static int kw_take_binary(struct ArrowArray *array, int64_t rows, kw_binary *column) {
    if (kw_arrow_init(array, rows, column->nulls, 3, 0)) return -1;
    if (column->used < column->capacity / 4) kw_grow(&column->data, column->used);
    array->buffers[0] = column->valid;
    array->buffers[1] = column->offsets;
    array->buffers[2] = column->data;
    column->valid = column->data = NULL;
    column->offsets = NULL;
    return 0;
}

static int kw_take_headers(struct ArrowArray *array, kw_sink *s) {
    struct ArrowArray *entry;
    if (kw_arrow_init(array, s->rows, 0, 2, 1)) return -1;
    array->buffers[1] = s->header_offsets;
    s->header_offsets = NULL;
    entry = array->children[0];
    if (kw_arrow_init(entry, s->headers, 0, 1, 2)) return -1;
    if (kw_take_binary(entry->children[0], s->headers, &s->header_key)) return -1;
    return kw_take_binary(entry->children[1], s->headers, &s->header_value);
}

static void kw_free_binary(kw_binary *column) {
    free(column->offsets);
    free(column->data);
    free(column->valid);
}

static void kw_free_sink(kw_sink *s) {
    int i;
    free(s->offset);
    free(s->timestamp);
    free(s->timestamp_type);
    free(s->header_offsets);
    kw_free_binary(&s->key);
    kw_free_binary(&s->value);
    kw_free_binary(&s->header_key);
    kw_free_binary(&s->header_value);
    for (i = 0; i < KW_BATCH_COLUMNS; i++) free(s->batch[i]);
}
#endif
