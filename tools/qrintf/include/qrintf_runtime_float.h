/*
 * qrintf_runtime_float.h: %f %F %e %E %g %G. See qrintf_runtime.h.
 *
 * A number with an integer part of 64 bits is that integer, and its fraction times a power of ten: one multiplication.
 * Every other one is scaled to as many digits as are wanted. Only integers of 64 bits and more in %f, more than 17
 * significant digits (%e, %g) or 18 decimals (%f), and what qrintf_runtime_scale.h cannot tell are left to libc; and
 * everything, where the thread rounds otherwise than to nearest or its decimal point is none.
 */
#ifndef QRINTF_RUNTIME_FLOAT_H
#define QRINTF_RUNTIME_FLOAT_H

#include "qrintf_runtime_hex.h"
#include "qrintf_runtime_scale.h"

/* Most bytes of a double that is written here, without width and precision; those add themselves. */
#define QRINTF_ROOM_DOUBLE 32

/* Libcs whose behaviour is known: glibc, and musl, which has no macro and is what remains. */
#if defined __SIZEOF_INT128__ && __DBL_MANT_DIG__ == 53 \
    && ((defined __x86_64__ && defined __SSE2__) || (defined __aarch64__ && defined __ARM_FP)) \
    && (defined QRINTF_GLIBC \
        || (defined __linux__ && !defined __UCLIBC__ && !defined __BIONIC__ && !defined __dietlibc__ && !defined __NEWLIB__))
#define QRINTF_FLOATS 1
#endif

/* Code without floating point cannot even name a parameter so; it has no argument for it either. */
#if (defined __x86_64__ && !defined __SSE2__) || (defined __aarch64__ && !defined __ARM_FP)
typedef int qrintf_double_t;
#else
typedef double qrintf_double_t;
#endif

#ifdef QRINTF_FLOATS

#define QRINTF_SIGNIFICANT_MAX 17
#define QRINTF_DECIMALS_MAX 18

/* clang's sanitizer of that name does not know what an instruction of the assembler's writes to memory. */
#ifdef __has_feature
#if __has_feature(memory_sanitizer)
#define QRINTF_MEMORY_SANITIZER 1
#endif
#endif

#ifdef QRINTF_GLIBC
#ifdef __cplusplus
extern "C" {
#endif
extern char *qrintf_nl_langinfo(int) __asm__("nl_langinfo");
#ifdef __cplusplus
}
#endif
#define QRINTF_RADIXCHAR 0x10000
#endif

/* True if the decimal point of this thread's locale is ".", as it always is in musl. */
QRINTF_INLINE int qrintf_point_is_dot(void)
{
#ifdef QRINTF_GLIBC
    const char *point = qrintf_nl_langinfo(QRINTF_RADIXCHAR);
    return point[0] == '.' && point[1] == 0;
#else
    return 1;
#endif
}

/* True if this thread rounds to nearest, by the register that libc's printf looks at. Nothing here computes with floats. */
QRINTF_INLINE int qrintf_rounds_to_nearest(void)
{
#ifdef __x86_64__
    /* Rounding control 00 and, as musl computes with the x87, a precision of 64 bits. */
    qrintf_u16_t control;
#ifdef QRINTF_MEMORY_SANITIZER
    control = 0;
#endif
    __asm__ __volatile__("fnstcw %0" : "=m"(control));
    return (control & 0x0f00) == 0x0300;
#else
    qrintf_u64_t control;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(control));
    return (control & 0x00c00000) == 0;
#endif
}

#define qrintf_double_body QRINTF_VERSIONED(qrintf_double_body)

QRINTF_TABLE(qrintf_double_body, qrintf_tens) const qrintf_u64_t qrintf_tens[20] = {
    QRINTF_U64(1), QRINTF_U64(10), QRINTF_U64(100), QRINTF_U64(1000),
    QRINTF_U64(10000), QRINTF_U64(100000), QRINTF_U64(1000000), QRINTF_U64(10000000),
    QRINTF_U64(100000000), QRINTF_U64(1000000000), QRINTF_U64(10000000000), QRINTF_U64(100000000000),
    QRINTF_U64(1000000000000), QRINTF_U64(10000000000000), QRINTF_U64(100000000000000), QRINTF_U64(1000000000000000),
    QRINTF_U64(10000000000000000), QRINTF_U64(100000000000000000), QRINTF_U64(1000000000000000000), QRINTF_U64(10000000000000000000)
};

/* A finite double without its sign: m * 2^e, m with its highest bit set or 0. */
typedef struct {
    qrintf_u64_t m;
    int e;
} qrintf_parts_t;

QRINTF_INLINE qrintf_parts_t qrintf_parts(qrintf_u64_t bits)
{
    qrintf_parts_t parts;
    int exponent = (int)(bits >> 52 & 0x7ff), zeros;
    parts.m = bits & QRINTF_U64(0x000fffffffffffff);
    parts.e = -1074;
    if (exponent != 0) {
        parts.m |= QRINTF_U64(0x0010000000000000);
        parts.e = exponent - 1075;
    }
    zeros = __builtin_clzll(parts.m | 1);
    parts.m <<= zeros;
    parts.e -= zeros;
    return parts;
}

/* Writes the first `count` of eight digits; `strip` leaves out the zeros that they end with. */
QRINTF_INLINE char *qrintf_block(char *p, qrintf_u64_t digits, unsigned int count, int strip)
{
    if (strip) {
        if (digits == 0)
            return p;
        count = 8 - ((unsigned int)__builtin_clzll(digits) >> 3);
    }
    return qrintf_store_to_8(p, digits | QRINTF_ASCII_ZEROS, count);
}

/* Writes a number as `count` digits, 1 to 18, zeros in front included; `strip` leaves out the zeros at the end. */
#define qrintf_places QRINTF_VERSIONED(qrintf_places)
QRINTF_RUNTIME_BRIEF(qrintf_places)
char *qrintf_places(char *p, qrintf_u64_t v, unsigned int count, int strip)
{
    QRINTF_SHARE(qrintf_places)
    if (count > 8) {
        qrintf_u64_t high = v / QRINTF_TEN8;
        int ends = strip && v == high * QRINTF_TEN8;
        p = qrintf_places(p, high, count - 8, ends);
        if (ends)
            return p;
        v -= high * QRINTF_TEN8;
        count = 8;
    }
    return qrintf_block(p, qrintf_digits_8((qrintf_u32_t)v) >> (8 - count) * 8, count, strip);
}

/* integer "." and `count` decimals; the point only where something follows, or '#' asks for it. */
QRINTF_INLINE char *qrintf_pointed(char *p, qrintf_u64_t integer, qrintf_u64_t decimals, int count, int hash, int strip)
{
    p = qrintf_u64(p, integer);
    if (count == 0 || (strip && decimals == 0)) {
        if (hash)
            *p++ = '.';
        return p;
    }
    *p++ = '.';
    return qrintf_places(p, decimals, (unsigned int)count, strip);
}

/* d.ddde+xx of `count` digits. */
#define qrintf_scientific QRINTF_VERSIONED(qrintf_scientific)
QRINTF_RUNTIME_BRIEF(qrintf_scientific)
char *qrintf_scientific(char *p, qrintf_u64_t digits, int count, int exponent, unsigned int spec, int strip)
{
    /* All digits go one byte further first; then the first one moves to the front of the point. */
    char *end = qrintf_places(p + 1, digits, (unsigned int)count, strip);
    QRINTF_SHARE(qrintf_scientific)
    p[0] = p[1];
    p[1] = '.';
    if (end == p + 2 && !(spec & QRINTF_HASH))
        end = p + 1;
    *end++ = (char)('E' | (spec & 0x20));
    *end++ = exponent < 0 ? '-' : '+';
    if (exponent < 0)
        exponent = -exponent;
    if (exponent >= 100) {
        *end++ = (char)('0' + exponent / 100);
        exponent %= 100;
    }
    return qrintf_two_digits(end, (qrintf_u32_t)exponent);
}

/* The parts of a number below 2^64 around its point, rounded to `count` decimals. Returns 0 if libc has to say. */
QRINTF_INLINE int qrintf_split(qrintf_parts_t v, int count, qrintf_u64_t *integer, qrintf_u64_t *decimals)
{
    int top = v.e + 63;
    if (top >= 64)
        return 0;
    if (v.m == 0) {
        *integer = *decimals = 0;
    } else if (top < 0) {
        qrintf_decimal_t scaled = qrintf_decimal(v.m, v.e, count, 0);
        *integer = 0;
        *decimals = scaled.digits;
        if (scaled.raised < 0)
            return 0;
    } else {
        qrintf_u128_t product = (qrintf_u128_t)(v.m << top << 1) * qrintf_tens[count];
        qrintf_u64_t rest = (qrintf_u64_t)product, half = QRINTF_U64(0x8000000000000000), odd;
        *integer = v.m >> (63 - top);
        *decimals = (qrintf_u64_t)(product >> 64);
        odd = (count == 0 ? *integer : *decimals) & 1;
        *decimals += rest > half || (rest == half && odd);
    }
    if (*decimals == qrintf_tens[count]) {
        *integer += 1;
        *decimals = 0;
    }
    return 1;
}

/* The digits of a number that is not 0, rounded to `count`, and the power of ten of the first one. */
QRINTF_INLINE int qrintf_significant(qrintf_parts_t v, int count, qrintf_u64_t *digits, int *exponent)
{
    int estimate = qrintf_log10_two(v.e + 63);
    qrintf_decimal_t scaled = qrintf_decimal(v.m, v.e, count - 1 - estimate, qrintf_tens[count]);
    *digits = scaled.digits;
    *exponent = estimate + scaled.raised;
    if (scaled.digits == qrintf_tens[count]) {
        *digits = qrintf_tens[count - 1];
        *exponent += 1;
    }
    return scaled.raised >= 0;
}

/* How many digits an integer has; 0 has one. */
QRINTF_INLINE int qrintf_digit_count(qrintf_u64_t v)
{
    int guess = (64 - __builtin_clzll(v | 1)) * 1233 >> 12;
    return guess + (v >= qrintf_tens[guess]) + (v == 0);
}

/* How many digits the integer part of a number has, for %g; many if that is none of 63 bits. */
QRINTF_INLINE int qrintf_integer_digits(qrintf_parts_t v)
{
    int top = v.e + 63;
    if (v.m == 0)
        return 1;
    return top >= 0 && top < 63 ? qrintf_digit_count(v.m >> (63 - top)) : QRINTF_DECIMALS_MAX;
}

/* Stores the lowest `length` bytes of a text, 1 to 16, without a branch on most lengths. */
QRINTF_INLINE char *qrintf_store_to_16(char *p, qrintf_u128_t text, unsigned int length)
{
    char nowhere[16], *halves = length < 8 ? nowhere : p, *last = length < 8 ? nowhere + 8 : p + length - 8;
    if (QRINTF_UNLIKELY(length < 4))
        return qrintf_store_to_3(p, (qrintf_u32_t)text, length);
    qrintf_store32(p, (qrintf_u32_t)text);
    qrintf_store32(p + length - 4, (qrintf_u32_t)(text >> (length - 4) * 8));
    qrintf_store64(halves, (qrintf_u64_t)text);
    qrintf_store64(last, (qrintf_u64_t)(text >> (length - 8) % 16 * 8));
    return p + length;
}

/* The most significant digits, the least and the greatest power of two that qrintf_short takes. */
#define QRINTF_SHORT_DIGITS 8
#define QRINTF_SHORT_FIRST (-14)
#define QRINTF_SHORT_LAST 26

/*
 * %g of up to eight significant digits where its text has no exponent: the digits are scaled in one way for every
 * exponent, and the point is put between them in a register, as no branch on either would be predicted. NULL elsewhere.
 */
QRINTF_INLINE char *qrintf_short(char *p, qrintf_parts_t v, int count)
{
    const qrintf_u64_t half = QRINTF_U64(0x8000000000000000);
    qrintf_u64_t scaled, digits, rest, ascii, front;
    qrintf_u128_t product, fraction, text;
    int top = v.e + 63, shift = -v.e, length, zeros, point, end;
    if (top < QRINTF_SHORT_FIRST || top > QRINTF_SHORT_LAST)
        return (char *)0;
    /* v * 10^4 without its fraction has `length` digits, so the first digit of v is that of 10^(length - 5). */
    scaled = (qrintf_u64_t)((qrintf_u128_t)v.m * 625 >> (shift - 4));
    length = qrintf_digit_count(scaled);
    if (scaled == 0 || length > count + 4)
        return (char *)0;
    product = (qrintf_u128_t)v.m * qrintf_tens[count + 4 - length];
    digits = (qrintf_u64_t)(product >> shift);
    fraction = product << (128 - shift);
    rest = (qrintf_u64_t)(fraction >> 64);
    digits += (rest > half) | ((rest == half) & (((qrintf_u64_t)fraction != 0) | (digits & 1)));
    if (QRINTF_UNLIKELY(digits == qrintf_tens[count])) {
        digits = qrintf_tens[count - 1];
        if (++length > count + 4)
            return (char *)0;
    }
    digits = qrintf_digits_8((qrintf_u32_t)(digits * qrintf_tens[QRINTF_SHORT_DIGITS - count]));
    /* Zeros before the digits, the place of the point, and the end of the last digit that is not zero. */
    zeros = length < 5 ? 5 - length : 0;
    point = length < 5 ? 1 : length - 4;
    end = 8 - (__builtin_clzll(digits) >> 3) + zeros;
    ascii = digits | QRINTF_ASCII_ZEROS;
    text = (qrintf_u128_t)ascii << zeros * 8 | (QRINTF_ASCII_ZEROS & (((qrintf_u64_t)1 << zeros * 8) - 1));
    front = ~(qrintf_u64_t)0 >> (64 - point * 8);
    text = ((qrintf_u64_t)text & front) | (qrintf_u128_t)'.' << point * 8 | (text & ~(qrintf_u128_t)front) << 8;
    return qrintf_store_to_16(p, text, (unsigned int)(end > point ? end + 1 : point));
}

/*
 * A finite number without sign and width; the precision is given.
 *
 * With '#', what %g rounds up to a power of ten is left to libc: glibc (2.36 for one) then writes a digit less than C asks
 * for, "1.e+02" for %#.2g of 99.8.
 */
QRINTF_RUNTIME_BRIEF(qrintf_double_body)
char *qrintf_double_body(char *p, qrintf_u64_t bits, unsigned int spec, int precision)
{
    qrintf_parts_t v = qrintf_parts(bits);
    qrintf_u64_t integer, digits = 0;
    unsigned int letter = QRINTF_LETTER(spec) | 0x20;
    int hash = (spec & QRINTF_HASH) != 0, general = letter == 'g', strip = general && !hash;
    int decimals, length = 0, exponent = 0;
    QRINTF_SHARE(qrintf_double_body)

    if (precision > QRINTF_DECIMALS_MAX)
        return (char *)0;
    precision += letter == 'e' || (general && precision == 0);
    if (letter != 'f' && precision > QRINTF_SIGNIFICANT_MAX)
        return (char *)0;
    if (strip && precision <= QRINTF_SHORT_DIGITS) {
        char *end = qrintf_short(p, v, precision);
        if (QRINTF_LIKELY(end != (char *)0))
            return end;
    }
    if (general)
        length = qrintf_integer_digits(v);
    decimals = precision - length;
    if (letter != 'e' && decimals >= 0) {
        if (!qrintf_split(v, decimals, &integer, &digits))
            return (char *)0;
        if (general && integer == qrintf_tens[length]) {
            if (hash)
                return (char *)0;
            decimals--; /* the carry took one more digit */
        }
        if (decimals >= 0)
            return qrintf_pointed(p, integer, digits, decimals, hash, strip);
    }
    if (v.m != 0 && !qrintf_significant(v, precision, &digits, &exponent))
        return (char *)0;
    if (general && hash && digits == qrintf_tens[precision - 1])
        return (char *)0;
    if (!general || exponent < -4 || exponent >= precision)
        return qrintf_scientific(p, digits, precision, exponent, spec, strip);
    if (exponent == 0) {
        *p = '1';
        return p + 1;
    }
    qrintf_store16(p, '0' | '.' << 8);
    return qrintf_places(qrintf_repeat(p + 2, '0', -1 - exponent), digits, (unsigned int)precision, strip);
}

/* Moves `length` bytes of text behind padding up to `width`: spaces before the sign, or zeros behind it. */
#define qrintf_pad_number QRINTF_VERSIONED(qrintf_pad_number)
QRINTF_RUNTIME_BRIEF(qrintf_pad_number)
char *qrintf_pad_number(char *p, const char *text, int length, int signs, unsigned int spec, int width)
{
    QRINTF_SHARE(qrintf_pad_number)
    if (!(spec & QRINTF_ZERO))
        p = qrintf_repeat(p, ' ', width - length);
    p = qrintf_copy(p, text, (qrintf_size_t)signs);
    if (spec & QRINTF_ZERO)
        p = qrintf_repeat(p, '0', width - length);
    return qrintf_copy(p, text + signs, (qrintf_size_t)(length - signs));
}

#endif /* QRINTF_FLOATS */

#ifndef QRINTF_FLOATS
QRINTF_INLINE char *qrintf_double(char *p, qrintf_double_t value, unsigned int spec, int width, int precision)
{
    (void)p, (void)value, (void)spec, (void)width, (void)precision;
    return (char *)0;
}
#else

#define qrintf_double_any QRINTF_VERSIONED(qrintf_double_any)
QRINTF_RUNTIME_BRIEF(qrintf_double_any)
char *qrintf_double_any(char *p, double value, unsigned int spec, int width, int precision)
{
    char text[QRINTF_ROOM_DOUBLE + QRINTF_DECIMALS_MAX], *start, *end;
    qrintf_u64_t bits;
    QRINTF_SHARE(qrintf_double_any)

    if (!qrintf_rounds_to_nearest() || !qrintf_point_is_dot())
        return (char *)0;
    __builtin_memcpy(&bits, &value, sizeof bits);
    start = width > 0 && !(spec & QRINTF_MINUS) ? text : p;
    end = qrintf_sign(start, bits >> 63 != 0, spec);
    if ((bits >> 52 & 0x7ff) == 0x7ff) {
        const char *name = bits << 12 == 0 ? "infINF" : "nanNAN";
        end = qrintf_copy(end, name + (QRINTF_LETTER(spec) & 0x20 ? 0 : 3), 3);
        spec &= ~QRINTF_ZERO;
    } else {
        end = qrintf_double_body(end, bits, spec, precision < 0 ? 6 : precision);
        if (end == (char *)0)
            return end;
    }
    if (start == text)
        return qrintf_pad_number(p, text, (int)(end - text), text[0] < '0', spec, width);
    return width == 0 ? end : qrintf_repeat(end, ' ', (width < 0 ? -width : width) - (int)(end - p));
}

/*
 * %f %F %e %E %g %G of a double. A negative width means QRINTF_MINUS, a negative precision none. NULL if libc has to
 * write it; then nothing that matters has been written. What a constant precision leaves to libc is left at once.
 */
QRINTF_INLINE char *qrintf_double(char *p, double value, unsigned int spec, int width, int precision)
{
    if (__builtin_constant_p(precision) && precision > QRINTF_DECIMALS_MAX)
        return (char *)0;
    return qrintf_double_any(p, value, spec, width, precision);
}

#endif

#endif
