/* Loads, stores, copies and varints, without undefined behaviour on any input: every access is a memcpy inside checked
 * bounds. */
#ifndef KW_BYTES_H
#define KW_BYTES_H
#include <stdint.h>
#include <string.h>

#if defined(_MSC_VER)
#include <stdlib.h>
#define KW_SWAP16 _byteswap_ushort
#define KW_SWAP32 _byteswap_ulong
#define KW_SWAP64 _byteswap_uint64
#define KW_LIKELY(x) (x)
#define KW_INLINE static __forceinline
#else
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define KW_SWAP16(x) (x)
#define KW_SWAP32(x) (x)
#define KW_SWAP64(x) (x)
#else
#define KW_SWAP16 __builtin_bswap16
#define KW_SWAP32 __builtin_bswap32
#define KW_SWAP64 __builtin_bswap64
#endif
#define KW_LIKELY(x) __builtin_expect(!!(x), 1)
#define KW_INLINE static inline __attribute__((always_inline))
#endif

KW_INLINE int16_t kw_load16(const uint8_t *p) { uint16_t v; memcpy(&v, p, 2); return (int16_t)KW_SWAP16(v); }
KW_INLINE int32_t kw_load32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return (int32_t)KW_SWAP32(v); }
KW_INLINE uint32_t kw_loadu32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return KW_SWAP32(v); }
KW_INLINE int64_t kw_load64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return (int64_t)KW_SWAP64(v); }
KW_INLINE void kw_store16(uint8_t *p, int16_t v) { uint16_t u = KW_SWAP16((uint16_t)v); memcpy(p, &u, 2); }
KW_INLINE void kw_store32(uint8_t *p, uint32_t v) { uint32_t u = KW_SWAP32(v); memcpy(p, &u, 4); }
KW_INLINE void kw_store64(uint8_t *p, int64_t v) { uint64_t u = KW_SWAP64((uint64_t)v); memcpy(p, &u, 8); }

/* Two's complement sums and differences, defined for every input (hostile deltas may wrap). */
KW_INLINE int64_t kw_add64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
KW_INLINE int64_t kw_sub64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

/* memcpy without the call for the sizes that keys and values mostly have; overlapping tails, nothing past either end. */
KW_INLINE void kw_copy(uint8_t *to, const uint8_t *from, int64_t size) {
    if (size > 256) {
        memcpy(to, from, (size_t)size);
    } else if (size >= 32) {
        int64_t i;
        for (i = 0; i < size - 32; i += 32) memcpy(to + i, from + i, 32);
        memcpy(to + size - 32, from + size - 32, 32);
    } else if (size >= 16) {
        memcpy(to, from, 16);
        memcpy(to + size - 16, from + size - 16, 16);
    } else if (size >= 8) {
        memcpy(to, from, 8);
        memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        memcpy(to, from, 4);
        memcpy(to + size - 4, from + size - 4, 4);
    } else {
        int64_t i;
        for (i = 0; i < size; i++) to[i] = from[i];
    }
}

/* A zigzag varint at *p, at most `limit` bytes long; 0 and *p moved, or -1 (cut) or -2 (too long, or bits past the type). */
static int kw_varint_slow(const uint8_t **p, const uint8_t *end, int limit, uint64_t *out) {
    const uint8_t *q = *p;
    uint64_t value = 0;
    int i;
    for (i = 0; i < limit; i++) {
        uint8_t byte;
        if (q == end) return -1;
        byte = *q++;
        if (i == limit - 1 && byte > (limit == 5 ? 0x0f : 0x01)) return -2;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *p = q;
            *out = value;
            return 0;
        }
    }
    return -2;
}

KW_INLINE int kw_varint32(const uint8_t **p, const uint8_t *end, int32_t *out) {
    const uint8_t *q = *p;
    uint64_t value;
    int fault;
    if (KW_LIKELY(q != end && *q < 0x80)) {
        value = *q;
        *p = q + 1;
    } else if (end - q >= 2 && q[1] < 0x80) {
        value = (uint64_t)(q[0] & 0x7f) | (uint64_t)q[1] << 7;
        *p = q + 2;
    } else if ((fault = kw_varint_slow(p, end, 5, &value)) != 0) {
        return fault;
    }
    *out = (int32_t)((uint32_t)(value >> 1) ^ (0u - (uint32_t)(value & 1)));
    return 0;
}

KW_INLINE int kw_varint64(const uint8_t **p, const uint8_t *end, int64_t *out) {
    const uint8_t *q = *p;
    uint64_t value;
    int fault;
    if (KW_LIKELY(q != end && *q < 0x80)) {
        value = *q;
        *p = q + 1;
    } else if ((fault = kw_varint_slow(p, end, 10, &value)) != 0) {
        return fault;
    }
    *out = (int64_t)((value >> 1) ^ (0u - (value & 1)));
    return 0;
}

KW_INLINE uint64_t kw_zigzag(int64_t v) { return ((uint64_t)v << 1) ^ (v < 0 ? ~(uint64_t)0 : 0); }
KW_INLINE int kw_varint_size(int64_t v) {
    uint64_t u = kw_zigzag(v);
#if defined(__GNUC__)
    return ((64 - __builtin_clzll(u | 1)) * 9 + 64) >> 6; /* seven bits a byte */
#else
    int size = 1;
    while (u >= 0x80) { u >>= 7; size++; }
    return size;
#endif
}
KW_INLINE uint8_t *kw_put_varint(uint8_t *p, int64_t v) {
    uint64_t u = kw_zigzag(v);
    if (KW_LIKELY(u < 0x80)) {
        *p = (uint8_t)u;
        return p + 1;
    }
    if (u < 0x4000) {
        p[0] = (uint8_t)(u | 0x80);
        p[1] = (uint8_t)(u >> 7);
        return p + 2;
    }
    while (u >= 0x80) { *p++ = (uint8_t)(u | 0x80); u >>= 7; }
    *p++ = (uint8_t)u;
    return p;
}
#endif
