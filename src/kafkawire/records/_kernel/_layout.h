/* The bytes of a record batch, as `layout.py` has them under the same names; a test compares the two. */
#ifndef KW_LAYOUT_H
#define KW_LAYOUT_H

enum {
    KW_SIZE_AT = 8,
    KW_LEADER_EPOCH_AT = 12,
    KW_MAGIC_AT = 16,
    KW_CRC_AT = 17,
    KW_ATTRIBUTES_AT = 21,
    KW_LAST_OFFSET_DELTA_AT = 23,
    KW_BASE_TIMESTAMP_AT = 27,
    KW_MAX_TIMESTAMP_AT = 35,
    KW_PRODUCER_ID_AT = 43,
    KW_PRODUCER_EPOCH_AT = 51,
    KW_BASE_SEQUENCE_AT = 53,
    KW_RECORD_COUNT_AT = 57,
    KW_HEADER_SIZE = 61,
    KW_LEGACY_CRC_AT = 12,
    KW_LEGACY_ATTRIBUTES_AT = 17,
    KW_LEGACY_TIMESTAMP_AT = 18,
    KW_PREFIX_SIZE = 12,
    KW_PROBE_SIZE = 17,
    KW_CHECKED_FROM = 21,
    KW_LEGACY_CHECKED_FROM = 16,
    KW_CODEC = 0x07,
    KW_APPEND_TIME = 0x08,
    KW_TRANSACTIONAL = 0x10,
    KW_CONTROL = 0x20
};

/* The position of the key's length, of the byte that has the codec, and the smallest value of the size field. */
#define KW_LEGACY_KEY_AT(magic) ((magic) == 0 ? 18 : 26)
#define KW_CODEC_AT(magic) ((magic) == 2 ? 22 : 17)
#define KW_SMALLEST_LENGTH(magic) ((magic) == 2 ? 49 : (magic) == 1 ? 22 : 14)

#endif
