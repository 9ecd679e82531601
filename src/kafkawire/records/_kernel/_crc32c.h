/* CRC-32C (Castagnoli) and CRC-32 (IEEE) of a buffer; `crc` is the checksum of the bytes before, 0 at the start.
 *
 * CRC-32C uses the processor's own instruction if there is one. That instruction has a latency of three cycles and a
 * throughput of one, so three lanes run side by side; the lanes' checksums are joined by carry-less multiplication with
 * x^(bits that follow the lane), whose constants are computed once at import. If that multiplication is 64 bytes wide,
 * long buffers are first folded by it into 256 bytes that have the same checksum. Everything else uses eight tables.
 */
#ifndef KW_CRC32C_H
#define KW_CRC32C_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if (defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__)))
#define KW_CRC_X86 1
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#define KW_CRC_ARM 1
#include <arm_acle.h>
#endif

#define KW_CASTAGNOLI 0x82f63b78u
#define KW_IEEE 0xedb88320u
#define KW_LANE_WORDS 340 /* three lanes of at most 2.7 KB: all in the first cache level */

static uint32_t kw_castagnoli[8][256];
static uint32_t kw_ieee[8][256];
static uint64_t kw_lane_shift[2 * KW_LANE_WORDS + 1];
static uint64_t kw_fold[2];
static int kw_crc_hardware; /* 0: tables, 1: the instruction, 2: folding as well */

static void kw_crc_table(uint32_t table[8][256], uint32_t polynomial) {
    int i, k;
    for (i = 0; i < 256; i++) {
        uint32_t crc = (uint32_t)i;
        for (k = 0; k < 8; k++) crc = (crc >> 1) ^ ((crc & 1) ? polynomial : 0);
        table[0][i] = crc;
    }
    for (i = 0; i < 256; i++)
        for (k = 1; k < 8; k++) table[k][i] = (table[k - 1][i] >> 8) ^ table[0][table[k - 1][i] & 0xff];
}

static uint32_t kw_crc_tables(uint32_t table[8][256], uint32_t crc, const uint8_t *p, size_t n) {
    crc = ~crc;
    while (n >= 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        crc = table[7][low & 0xff] ^ table[6][(low >> 8) & 0xff] ^ table[5][(low >> 16) & 0xff] ^ table[4][low >> 24] ^
              table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
        p += 8;
        n -= 8;
    }
    while (n--) crc = (crc >> 8) ^ table[0][(crc ^ *p++) & 0xff];
    return ~crc;
}

#if defined(KW_CRC_X86)
#define KW_CRC_TARGET __attribute__((target("sse4.2,pclmul")))

KW_CRC_TARGET static inline uint64_t kw_crc_word(uint64_t crc, const uint8_t *p) {
    uint64_t word;
    memcpy(&word, p, 8);
    return _mm_crc32_u64(crc, word);
}

/* The product of a lane's checksum and the shift by the bytes after it; the crc32 instruction then reduces it. */
KW_CRC_TARGET static inline uint64_t kw_crc_shifted(uint64_t crc, size_t words) {
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc),
                                           _mm_cvtsi64_si128((long long)kw_lane_shift[words]), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

/* The checksum register after at least 512 bytes, of which the rest past a multiple of 256 is left; *p and *n move on. */
__attribute__((target("sse4.2,pclmul,avx512f,vpclmulqdq"))) static uint64_t kw_crc_folded(uint64_t crc, const uint8_t **p,
                                                                                           size_t *n) {
    const __m512i by = _mm512_broadcast_i32x4(_mm_set_epi64x((long long)kw_fold[1], (long long)kw_fold[0]));
    __m512i part[4];
    uint8_t rest[256];
    int i;
    for (i = 0; i < 4; i++) part[i] = _mm512_loadu_si512(*p + 64 * i);
    part[0] = _mm512_xor_si512(part[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)(uint32_t)crc)));
    for (*p += 256, *n -= 256; *n >= 256; *p += 256, *n -= 256)
        for (i = 0; i < 4; i++)
            part[i] = _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(part[i], by, 0x00),
                                                _mm512_clmulepi64_epi128(part[i], by, 0x11),
                                                _mm512_loadu_si512(*p + 64 * i), 0x96);
    for (i = 0; i < 4; i++) _mm512_storeu_si512(rest + 64 * i, part[i]);
    crc = 0;
    for (i = 0; i < 256; i += 8) crc = kw_crc_word(crc, rest + i);
    return crc;
}

KW_CRC_TARGET static uint32_t kw_crc32c_x86(uint32_t start, const uint8_t *p, size_t n) {
    uint64_t crc = (uint32_t)~start;
    if (n >= 2048 && kw_crc_hardware == 2) crc = kw_crc_folded(crc, &p, &n);
    while (n >= 72) {
        size_t words = n / 24 < KW_LANE_WORDS ? n / 24 : KW_LANE_WORDS, i;
        const uint8_t *second = p + 8 * words, *third = p + 16 * words;
        uint64_t b = 0, c = 0, last;
        for (i = 0; i + 1 < words; i++) {
            crc = kw_crc_word(crc, p + 8 * i);
            b = kw_crc_word(b, second + 8 * i);
            c = kw_crc_word(c, third + 8 * i);
        }
        crc = kw_crc_word(crc, p + 8 * i);
        b = kw_crc_word(b, second + 8 * i);
        memcpy(&last, third + 8 * i, 8);
        crc = _mm_crc32_u64(c, last ^ kw_crc_shifted(crc, 2 * words) ^ kw_crc_shifted(b, words));
        p += 24 * words;
        n -= 24 * words;
    }
    for (; n >= 8; n -= 8, p += 8) crc = kw_crc_word(crc, p);
    if (n & 4) {
        uint32_t word;
        memcpy(&word, p, 4);
        crc = _mm_crc32_u32((uint32_t)crc, word);
        p += 4;
    }
    if (n & 2) {
        uint16_t word;
        memcpy(&word, p, 2);
        crc = _mm_crc32_u16((uint32_t)crc, word);
        p += 2;
    }
    if (n & 1) crc = _mm_crc32_u8((uint32_t)crc, *p);
    return ~(uint32_t)crc;
}

/* x^exponent modulo the polynomial, bits reflected. */
static uint32_t kw_crc_power(size_t exponent) {
    uint32_t value = 0x80000000u;
    while (exponent--) value = (value >> 1) ^ ((value & 1) ? KW_CASTAGNOLI : 0);
    return value;
}
#elif defined(KW_CRC_ARM)
static uint32_t kw_crc32c_arm(uint32_t crc, const uint8_t *p, size_t n) {
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        crc = __crc32cd(crc, word);
    }
    while (n--) crc = __crc32cb(crc, *p++);
    return ~crc;
}
#endif

static void kw_crc_init(void) {
    kw_crc_table(kw_castagnoli, KW_CASTAGNOLI);
    kw_crc_table(kw_ieee, KW_IEEE);
#if defined(KW_CRC_X86)
    size_t i;
    uint32_t power;
    int k;
    __builtin_cpu_init();
    kw_crc_hardware = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
    if (kw_crc_hardware && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq")) kw_crc_hardware = 2;
    /* Each 16 bytes move on by 2048 bits; their low half by 64 more than their high half. */
    kw_fold[0] = (uint64_t)kw_crc_power(2048 + 32) << 1;
    kw_fold[1] = (uint64_t)kw_crc_power(2048 - 32) << 1;
    /* A lane's checksum must advance by 64 * words bits; the product is one bit short and the reduction adds 32. */
    power = kw_crc_power(64 - 33);
    for (i = 1; i <= 2 * KW_LANE_WORDS; i++) {
        kw_lane_shift[i] = power;
        for (k = 0; k < 64; k++) power = (power >> 1) ^ ((power & 1) ? KW_CASTAGNOLI : 0);
    }
#elif defined(KW_CRC_ARM)
    kw_crc_hardware = 1;
#endif
}

static uint32_t kw_crc32c(uint32_t crc, const uint8_t *p, size_t n) {
#if defined(KW_CRC_X86)
    if (kw_crc_hardware) return kw_crc32c_x86(crc, p, n);
#elif defined(KW_CRC_ARM)
    return kw_crc32c_arm(crc, p, n);
#endif
    return kw_crc_tables(kw_castagnoli, crc, p, n);
}

static uint32_t kw_crc32(uint32_t crc, const uint8_t *p, size_t n) { return kw_crc_tables(kw_ieee, crc, p, n); }
#endif
