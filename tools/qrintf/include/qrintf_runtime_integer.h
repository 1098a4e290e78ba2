/*
 * qrintf_runtime_integer.h: decimal digits, and every mixture of flags, width and precision. See qrintf_runtime.h.
 *
 * Eight digits are made at once, in the bytes of one register: a number is split into two of four digits, those into four
 * of two, those into eight of one, each step by one multiplication for all lanes. Leading zeros are then shifted out, so a
 * number's length costs no branch within a class of lengths. docs/guide/digits.md proves each constant.
 */
#ifndef QRINTF_RUNTIME_INTEGER_H
#define QRINTF_RUNTIME_INTEGER_H

#include "qrintf_runtime_base.h"

#define QRINTF_TEN8 100000000u
#define QRINTF_ASCII_ZEROS QRINTF_U64(0x3030303030303030)

/* The eight digits of a number below 10^8, zeros in front included, the first one in the lowest byte. */
QRINTF_INLINE qrintf_u64_t qrintf_digits_8(qrintf_u32_t v)
{
    qrintf_u32_t high = v / 10000;
    qrintf_u64_t fours = high | (qrintf_u64_t)(v - high * 10000) << 32;
    qrintf_u64_t hundreds = fours * 10486 >> 20 & QRINTF_U64(0x0000007f0000007f);
    qrintf_u64_t twos = hundreds + ((fours - hundreds * 100) << 16);
    qrintf_u64_t tens = twos * 103 >> 10 & QRINTF_U64(0x000f000f000f000f);
    return tens + ((twos - tens * 10) << 8);
}

/* Writes a number below 10^8 with all eight digits. */
QRINTF_INLINE char *qrintf_all_8(char *p, qrintf_u32_t v)
{
    qrintf_store64(p, qrintf_digits_8(v) | QRINTF_ASCII_ZEROS);
    return p + 8;
}

/* Writes a number below 1000. */
QRINTF_INLINE char *qrintf_below_1000(char *p, qrintf_u32_t v)
{
    qrintf_u32_t hundreds = v * 41 >> 12;
    qrintf_u32_t rest = v - hundreds * 100;
    qrintf_u32_t tens = rest * 103 >> 10;
    qrintf_u32_t text = (hundreds | tens << 8 | (rest - tens * 10) << 16) + 0x303030;
    unsigned int length = 1u + (v >= 10) + (v >= 100);
    return qrintf_store_to_3(p, text >> (3 - length) * 8, length);
}

/* Writes a number from 1000 to 10^8 - 1. */
QRINTF_INLINE char *qrintf_below_ten8(char *p, qrintf_u32_t v)
{
    qrintf_u64_t digits = qrintf_digits_8(v);
    unsigned int zeros = (unsigned int)__builtin_ctzll(digits) >> 3;
    return qrintf_store_4_to_8(p, (digits | QRINTF_ASCII_ZEROS) >> zeros * 8, 8 - zeros);
}

#define qrintf_u8 QRINTF_VERSIONED(qrintf_u8)

/* The texts of 0 to 255. */
#define QRINTF_TEN_TEXTS(front) \
    front "0", front "1", front "2", front "3", front "4", front "5", front "6", front "7", front "8", front "9"
QRINTF_TABLE(qrintf_u8, qrintf_bytes) const char qrintf_bytes[256][4] = {
    QRINTF_TEN_TEXTS(""), QRINTF_TEN_TEXTS("1"), QRINTF_TEN_TEXTS("2"), QRINTF_TEN_TEXTS("3"), QRINTF_TEN_TEXTS("4"),
    QRINTF_TEN_TEXTS("5"), QRINTF_TEN_TEXTS("6"), QRINTF_TEN_TEXTS("7"), QRINTF_TEN_TEXTS("8"), QRINTF_TEN_TEXTS("9"),
    QRINTF_TEN_TEXTS("10"), QRINTF_TEN_TEXTS("11"), QRINTF_TEN_TEXTS("12"), QRINTF_TEN_TEXTS("13"),
    QRINTF_TEN_TEXTS("14"), QRINTF_TEN_TEXTS("15"), QRINTF_TEN_TEXTS("16"), QRINTF_TEN_TEXTS("17"),
    QRINTF_TEN_TEXTS("18"), QRINTF_TEN_TEXTS("19"), QRINTF_TEN_TEXTS("20"), QRINTF_TEN_TEXTS("21"),
    QRINTF_TEN_TEXTS("22"), QRINTF_TEN_TEXTS("23"), QRINTF_TEN_TEXTS("24"),
    "250", "251", "252", "253", "254", "255"
};

/* %u of what is below 256. */
QRINTF_RUNTIME(qrintf_u8)
char *qrintf_u8(char *p, qrintf_u32_t v)
{
    const char *text = qrintf_bytes[v];
    unsigned int length = 1u + (v >= 10) + (v >= 100);
    QRINTF_SHARE(qrintf_u8)
    p[0] = text[0];
    p[length >> 1] = text[length >> 1];
    p[length - 1] = text[length - 1];
    return p + length;
}

/* %u of any number. The digits in front of the last eight are written as a number too: short code compiles quickly. */
#define qrintf_u32_any QRINTF_VERSIONED(qrintf_u32_any)
QRINTF_RUNTIME(qrintf_u32_any)
char *qrintf_u32_any(char *p, qrintf_u32_t v)
{
    qrintf_u32_t high;
    QRINTF_SHARE(qrintf_u32_any)
    if (v < 1000)
        return qrintf_below_1000(p, v);
    if (v < QRINTF_TEN8)
        return qrintf_below_ten8(p, v);
    high = v / QRINTF_TEN8;
    return qrintf_all_8(qrintf_u32_any(p, high), v - high * QRINTF_TEN8);
}

/*
 * %u, and %hhu %hu as the caller has narrowed them. Where the compiler sees that the value is below 256, as in the parts
 * of an IPv4 address and of every unsigned char, the table has its text.
 */
QRINTF_INLINE char *qrintf_u32(char *p, qrintf_u32_t v)
{
    if (__builtin_constant_p(v > 255) && v <= 255)
        return qrintf_u8(p, v);
    return qrintf_u32_any(p, v);
}

/* %d: the sign is always written, and written over where there is none. */
QRINTF_INLINE char *qrintf_i32(char *p, qrintf_i32_t v)
{
    if (__builtin_constant_p((qrintf_u32_t)v > 255) && (qrintf_u32_t)v <= 255)
        return qrintf_u8(p, (qrintf_u32_t)v);
    *p = '-';
    return qrintf_u32_any(p + (v < 0), v < 0 ? 0u - (qrintf_u32_t)v : (qrintf_u32_t)v);
}

/* %lu %llu %zu %ju. */
#define qrintf_u64 QRINTF_VERSIONED(qrintf_u64)
QRINTF_RUNTIME_BRIEF(qrintf_u64)
char *qrintf_u64(char *p, qrintf_u64_t v)
{
    qrintf_u64_t high;
    QRINTF_SHARE(qrintf_u64)
    if (v >> 32 == 0)
        return qrintf_u32_any(p, (qrintf_u32_t)v);
    high = v / QRINTF_TEN8;
    return qrintf_all_8(qrintf_u64(p, high), (qrintf_u32_t)(v - high * QRINTF_TEN8));
}

/* %ld %lld %zd %td %jd. */
QRINTF_INLINE char *qrintf_i64(char *p, qrintf_i64_t v)
{
    *p = '-';
    return qrintf_u64(p + (v < 0), v < 0 ? 0u - (qrintf_u64_t)v : (qrintf_u64_t)v);
}

/* Writes a number below 100 as two digits. */
QRINTF_INLINE char *qrintf_two_digits(char *p, qrintf_u32_t v)
{
    qrintf_u32_t tens = v * 103 >> 10;
    qrintf_store16(p, (v << 8) - tens * 2559 + 0x3030);
    return p + 2;
}

/* %02u: two digits, more where the number has more. */
QRINTF_INLINE char *qrintf_u32_02(char *p, qrintf_u32_t v)
{
    return QRINTF_LIKELY(v <= 99) ? qrintf_two_digits(p, v) : qrintf_u32_any(p, v);
}

/* %02d: of what is negative, the sign is one of the two. */
QRINTF_INLINE char *qrintf_i32_02(char *p, qrintf_i32_t v)
{
    return QRINTF_LIKELY((qrintf_u32_t)v <= 99) ? qrintf_two_digits(p, (qrintf_u32_t)v) : qrintf_i32(p, v);
}

/* %o. */
#define qrintf_octal QRINTF_VERSIONED(qrintf_octal)
QRINTF_RUNTIME_BRIEF(qrintf_octal)
char *qrintf_octal(char *p, qrintf_u64_t v)
{
    char digits[22], *first = digits + sizeof digits;
    QRINTF_SHARE(qrintf_octal)
    do {
        *--first = (char)('0' + (int)(v & 7));
        v >>= 3;
    } while (v != 0);
    return qrintf_copy(p, first, (qrintf_size_t)(digits + sizeof digits - first));
}

#endif
