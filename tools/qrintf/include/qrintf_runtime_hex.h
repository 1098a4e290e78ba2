/*
 * qrintf_runtime_hex.h: hexadecimal digits, and the general form of every integer conversion. See qrintf_runtime.h.
 *
 * Eight digits are made at once: the nibbles of 32 bits are spread over the bytes of 64, and every byte becomes its
 * character by arithmetic within the byte.
 */
#ifndef QRINTF_RUNTIME_HEX_H
#define QRINTF_RUNTIME_HEX_H

#include "qrintf_runtime_integer.h"

/*
 * The eight hexadecimal digits of v as characters, the first one in the lowest byte. A letter lies 7 behind the character
 * that would follow '9'; small ones have the bit 0x20, which digits have anyway.
 */
QRINTF_INLINE qrintf_u64_t qrintf_hex_8(qrintf_u32_t v, int upper)
{
    qrintf_u64_t x = v, letters;
    x = (x | x << 16) & QRINTF_U64(0x0000ffff0000ffff);
    x = (x | x << 8) & QRINTF_U64(0x00ff00ff00ff00ff);
    x = (x | x << 4) & QRINTF_U64(0x0f0f0f0f0f0f0f0f);
    x = __builtin_bswap64(x);
    letters = (x + QRINTF_U64(0x0606060606060606)) >> 4 & QRINTF_U64(0x0101010101010101);
    x += QRINTF_ASCII_ZEROS + ((letters << 3) - letters);
    return x | (upper ? 0 : QRINTF_U64(0x2020202020202020));
}

/* %08x and %08X of 32 bits. */
QRINTF_INLINE char *qrintf_hex32_08(char *p, qrintf_u32_t v, int upper)
{
    qrintf_store64(p, qrintf_hex_8(v, upper));
    return p + 8;
}

/* %02x of what is below 256. */
QRINTF_INLINE char *qrintf_hex8_02(char *p, qrintf_u32_t v, int upper)
{
    qrintf_u32_t x = (v >> 4 | v << 8) & 0x0f0f;
    qrintf_u32_t letters = (x + 0x0606) >> 4 & 0x0101;
    qrintf_store16(p, x + 0x3030 + letters * (upper ? 'A' - '0' - 10u : 'a' - '0' - 10u));
    return p + 2;
}

/* 1 to 8 digits, without zeros in front. */
QRINTF_INLINE char *qrintf_hex_short(char *p, qrintf_u32_t v, int upper)
{
    unsigned int zeros = (unsigned int)__builtin_clz(v | 1) >> 2;
    return qrintf_store_any(p, qrintf_hex_8(v, upper), zeros);
}

/* %x (upper 0) and %X of 32 bits. */
#define qrintf_hex32 QRINTF_VERSIONED(qrintf_hex32)
QRINTF_RUNTIME(qrintf_hex32)
char *qrintf_hex32(char *p, qrintf_u32_t v, int upper)
{
    QRINTF_SHARE(qrintf_hex32)
    return qrintf_hex_short(p, v, upper);
}

/* %lx and its like. */
#define qrintf_hex64 QRINTF_VERSIONED(qrintf_hex64)
QRINTF_RUNTIME(qrintf_hex64)
char *qrintf_hex64(char *p, qrintf_u64_t v, int upper)
{
    QRINTF_SHARE(qrintf_hex64)
    if (v >> 32 == 0)
        return qrintf_hex_short(p, (qrintf_u32_t)v, upper);
    return qrintf_hex32_08(qrintf_hex64(p, v >> 32, upper), (qrintf_u32_t)v, upper);
}

/* The digits of a magnitude in a letter's base. */
QRINTF_INLINE char *qrintf_digits(char *p, qrintf_u64_t magnitude, unsigned int letter)
{
    switch (letter) {
    case 'x': case 'X': case 'p':
        return qrintf_hex64(p, magnitude, letter == 'X');
    case 'o':
        return qrintf_octal(p, magnitude);
    default:
        return qrintf_u64(p, magnitude);
    }
}

/* Writes the sign that %d, or glibc's %p, asks for. */
QRINTF_INLINE char *qrintf_sign(char *p, int negative, unsigned int spec)
{
    if (negative)
        *p++ = '-';
    else if (spec & QRINTF_PLUS)
        *p++ = '+';
    else if (spec & QRINTF_SPACE)
        *p++ = ' ';
    return p;
}

/* Writes what goes before the zeros and digits: at most three bytes, a sign and "0x". */
QRINTF_INLINE char *qrintf_prefix(char *p, qrintf_u64_t magnitude, int negative, unsigned int spec)
{
    unsigned int letter = QRINTF_LETTER(spec);
    if (letter == 'd' || letter == 'i' || letter == 'p')
        p = qrintf_sign(p, negative, spec);
    if (letter == 'p' || ((letter | 0x20) == 'x' && (spec & QRINTF_HASH) && magnitude != 0)) {
        qrintf_store16(p, '0' | (letter == 'X' ? 'X' << 8 : 'x' << 8));
        p += 2;
    }
    return p;
}

/* An integer with a width or a precision, or %#o; see qrintf_integer. */
#define qrintf_integer_padded QRINTF_VERSIONED(qrintf_integer_padded)
QRINTF_RUNTIME_BRIEF(qrintf_integer_padded)
char *qrintf_integer_padded(char *p, qrintf_u64_t magnitude, int negative, unsigned int spec, int width, int precision)
{
    char digits[24], prefix[3];
    int prefixed = (int)(qrintf_prefix(prefix, magnitude, negative, spec) - prefix), count = 0, zeros, pad;
    QRINTF_SHARE(qrintf_integer_padded)

    if (width < 0) {
        spec |= QRINTF_MINUS;
        width = -width;
    }
    if (magnitude != 0 || precision != 0)
        count = (int)(qrintf_digits(digits, magnitude, QRINTF_LETTER(spec)) - digits);
    zeros = precision > count ? precision - count : 0;
    pad = width - prefixed - zeros - count;
    if (pad > 0 && (spec & (QRINTF_ZERO | QRINTF_MINUS)) == QRINTF_ZERO && precision < 0) {
        zeros = pad;
        pad = 0;
    }
    /* %#o promises one zero in front: one of those that are there already, or one more. */
    if (QRINTF_LETTER(spec) == 'o' && (spec & QRINTF_HASH) && zeros == 0 && (magnitude != 0 || count == 0)) {
        zeros = 1;
        pad -= 1;
    }
    if (!(spec & QRINTF_MINUS))
        p = qrintf_repeat(p, ' ', pad);
    p = qrintf_copy(p, prefix, (qrintf_size_t)prefixed);
    p = qrintf_repeat(p, '0', zeros);
    p = qrintf_copy(p, digits, (qrintf_size_t)count);
    return spec & QRINTF_MINUS ? qrintf_repeat(p, ' ', pad) : p;
}

/*
 * Every integer conversion with any flags, width and precision, and what %p is in glibc. `negative` is 0 for all but %d
 * and %i; a negative width means QRINTF_MINUS, a negative precision none. The width is above INT_MIN.
 */
#define qrintf_integer QRINTF_VERSIONED(qrintf_integer)
QRINTF_RUNTIME_BRIEF(qrintf_integer)
char *qrintf_integer(char *p, qrintf_u64_t magnitude, int negative, unsigned int spec, int width, int precision)
{
    QRINTF_SHARE(qrintf_integer)
    if (width == 0 && precision < 0 && (spec & (0xffu | QRINTF_HASH)) != ('o' | QRINTF_HASH))
        return qrintf_digits(qrintf_prefix(p, magnitude, negative, spec), magnitude, QRINTF_LETTER(spec));
    return qrintf_integer_padded(p, magnitude, negative, spec, width, precision);
}

#endif
