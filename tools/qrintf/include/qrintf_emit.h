/*
 * qrintf_emit.h: what becomes of one directive: whether its argument fits, how much room it needs, and the code that
 * writes it. See qrintf.h; the names with a number at their end are explained in qrintf_fold.h.
 *
 * Invariant: what a QRINTF_ROOM promises is never less than what the QRINTF_PUT of the same argument writes.
 */
#ifndef QRINTF_EMIT_H
#define QRINTF_EMIT_H

#include "qrintf_fold.h"
#include "qrintf_runtime.h"

/* No text is as long; a room this large sends the call to libc. */
#define QRINTF_ROOM_MAX 0x7ffffffeu

/* The type that an argument has when it is passed: arrays and functions are pointers, bit-fields and small integers int. */
#define QRINTF_TYPE(k, argument) typedef __typeof__(1 ? (argument) : 0) qrintf_t##k##_t;
#define QRINTF_SAMPLE(k) (*(qrintf_t##k##_t *)0)

#define QRINTF_IS_STRING(expression) \
    _Generic((expression), char *: 1, const char *: 1, unsigned char *: 1, const unsigned char *: 1, signed char *: 1, \
             const signed char *: 1, default: 0)

/* Whether the argument's type is the one that the directive wants; signed and unsigned are the same to libc. */
#define QRINTF_FITS(k)                                                                                         \
    (qrintf_k##k == QRINTF_KIND_INTEGER                                                                        \
         ? __builtin_classify_type(QRINTF_SAMPLE(k)) == 1 && sizeof(qrintf_t##k##_t) == (qrintf_z##k > 4 ? 8 : 4) \
     : qrintf_k##k <= QRINTF_KIND_CHARACTER                                                                    \
         ? __builtin_classify_type(QRINTF_SAMPLE(k)) == 1 && sizeof(qrintf_t##k##_t) == 4                       \
     : qrintf_k##k == QRINTF_KIND_STRING  ? QRINTF_IS_STRING(QRINTF_SAMPLE(k))                                 \
     : qrintf_k##k == QRINTF_KIND_POINTER ? __builtin_classify_type(QRINTF_SAMPLE(k)) == 5                     \
                                          : __builtin_types_compatible_p(qrintf_t##k##_t, double)              \
                                                || __builtin_types_compatible_p(qrintf_t##k##_t, float))

#define QRINTF_CHECK(x, k) &&QRINTF_FITS(k)

/* The room for numbers, which the format alone tells. */
#define QRINTF_MORE(a, b) ((a) > (b) ? (a) : (b))
#define QRINTF_DIGITS_MAX(letter, size)                                             \
    ((letter) == 'o'            ? ((size) * 8 + 2) / 3                              \
     : ((letter) | 0x20) == 'x' ? (size) * 2                                        \
                                : (size) * 5 / 2 + ((size) < 4))
#define QRINTF_FIXED(k)                                                                                        \
    (qrintf_k##k == QRINTF_KIND_INTEGER                                                                        \
         ? QRINTF_MORE(qrintf_w##k, QRINTF_MORE(qrintf_r##k, QRINTF_DIGITS_MAX(qrintf_c##k, qrintf_z##k))      \
                                        + (qrintf_f##k & (int)QRINTF_HASH ? QRINTF_ROOM_SIGN : 1))             \
     : qrintf_k##k == QRINTF_KIND_CHARACTER ? QRINTF_MORE(qrintf_w##k, 1)                                      \
     : qrintf_k##k == QRINTF_KIND_STRING    ? QRINTF_MORE(qrintf_w##k, 0)                                      \
     : qrintf_k##k == QRINTF_KIND_POINTER                                                                      \
         ? QRINTF_MORE(qrintf_w##k, QRINTF_MORE(qrintf_r##k, 16) + QRINTF_ROOM_SIGN)                           \
     : qrintf_k##k == QRINTF_KIND_DOUBLE ? QRINTF_MORE(qrintf_w##k, QRINTF_MORE(qrintf_r##k, 6) + QRINTF_ROOM_DOUBLE) \
                                         : 0)
#define QRINTF_ADD_FIXED(x, k) +QRINTF_FIXED(k)

/* Whether the room depends on the arguments' values too. */
#define QRINTF_VARIES(x, k) || qrintf_k##k == QRINTF_KIND_STAR || qrintf_k##k == QRINTF_KIND_STRING

/* A width or precision; `star` is what the last star's argument was. */
#define QRINTF_FIELD(constant, star) ((int)(constant) == QRINTF_STAR ? (star) : (int)(constant))

/* Length of a string that may be null; that is libc's affair. */
QRINTF_INLINE qrintf_size_t qrintf_measure(const char *s, int precision)
{
    return s ? qrintf_length(s, precision) : QRINTF_ROOM_MAX;
}

/* The argument as what it has to be; 0 if it is something else, as then this is dropped. */
#define QRINTF_TO_STRING(t)                                                                                     \
    ((const char *)_Generic((t), char *: (t), const char *: (t), unsigned char *: (t), const unsigned char *: (t), \
                            signed char *: (t), const signed char *: (t), default: (const char *)0))
#define QRINTF_TO_DOUBLE(t) _Generic((t), float: (t), double: (t), default: 0.0)
#define QRINTF_TO_POINTER(k) __builtin_choose_expr(qrintf_k##k == QRINTF_KIND_POINTER, qrintf_t##k, (const void *)0)
#define QRINTF_TO_INTEGER(k) __builtin_choose_expr(__builtin_classify_type(qrintf_t##k) == 1, qrintf_t##k, 0)

/* Adds to qrintf_room what the argument's value asks for, and keeps a string's length. */
#define QRINTF_MEASURE(x, k)                                                                                   \
    const qrintf_size_t qrintf_l##k = __builtin_choose_expr(                                                   \
        qrintf_k##k == QRINTF_KIND_STRING,                                                                     \
        qrintf_measure(QRINTF_TO_STRING(qrintf_t##k), QRINTF_FIELD(qrintf_r##k, qrintf_precision)),            \
        __builtin_choose_expr(qrintf_k##k == QRINTF_KIND_STAR,                                                 \
                              qrintf_star(qrintf_s##k == 1, (int)QRINTF_TO_INTEGER(k), &qrintf_width, &qrintf_precision), \
                              (qrintf_size_t)(qrintf_r##k == QRINTF_STAR && qrintf_precision > 0 ? qrintf_precision : 0))); \
    qrintf_room += qrintf_l##k;

/* Takes a star's argument; the result is the room that it may ask for. */
QRINTF_INLINE qrintf_size_t qrintf_star(int is_width, int value, int *width, int *precision)
{
    if (is_width) {
        *width = value;
        return value < 0 ? 0u - (unsigned int)value : (unsigned int)value;
    }
    *precision = value;
    return 0;
}

/* Writes a piece of the format itself. */
#define QRINTF_PIECE(from, to)                                                                    \
    if ((to) > (from)) {                                                                             \
        __builtin_memcpy(qrintf_p, qrintf_format + (from), (qrintf_size_t)((to) - (from)));              \
        qrintf_p += (to) - (from);                                                                   \
    }
#define QRINTF_PIECES(j, k)                                                          \
    QRINTF_PIECE(qrintf_p##j, qrintf_x##k + qrintf_xe##k)                            \
    if (qrintf_xe##k) {                                                                 \
        QRINTF_PIECE(qrintf_x##k + 2, qrintf_y##k + qrintf_ye##k)                    \
        if (qrintf_ye##k)                                                               \
            QRINTF_PIECE(qrintf_y##k + 2, qrintf_q##k)                               \
    }

/* Integers: the letter, flags, size, width and precision are constants, so one of the calls is left. */
QRINTF_INLINE char *qrintf_put_signed(char *p, qrintf_i64_t v, unsigned int spec, int size, int width, int precision)
{
    if (spec == 'd' && width == 0 && precision == QRINTF_NONE)
        return size <= 4 ? qrintf_i32(p, (qrintf_i32_t)v) : qrintf_i64(p, v);
    if (spec == ('d' | QRINTF_ZERO) && width == 2 && precision == QRINTF_NONE && size <= 4)
        return qrintf_i32_02(p, (qrintf_i32_t)v);
    return qrintf_integer(p, v < 0 ? 0u - (qrintf_u64_t)v : (qrintf_u64_t)v, v < 0, spec, width, precision);
}

QRINTF_INLINE char *qrintf_put_hex(char *p, qrintf_u64_t v, unsigned int spec, int size, int width, int precision)
{
    int upper = QRINTF_LETTER(spec) == 'X';
    unsigned int flags = spec & ~0xffu;
    if (flags == 0 && width == 0 && precision == QRINTF_NONE)
        return size <= 4 ? qrintf_hex32(p, (qrintf_u32_t)v, upper) : qrintf_hex64(p, v, upper);
    if (flags == QRINTF_ZERO && precision == QRINTF_NONE) {
        if (width == 2 && v <= 0xff)
            return qrintf_hex8_02(p, (qrintf_u32_t)v, upper);
        if (width == 8 && v <= 0xffffffff)
            return qrintf_hex32_08(p, (qrintf_u32_t)v, upper);
        if (width == 16)
            return qrintf_hex32_08(qrintf_hex32_08(p, (qrintf_u32_t)(v >> 32), upper), (qrintf_u32_t)v, upper);
    }
    return qrintf_integer(p, v, 0, spec, width, precision);
}

QRINTF_INLINE char *qrintf_put_unsigned(char *p, qrintf_u64_t v, unsigned int spec, int size, int width, int precision)
{
    if (spec == 'u' && width == 0 && precision == QRINTF_NONE)
        return size <= 4 ? qrintf_u32(p, (qrintf_u32_t)v) : qrintf_u64(p, v);
    if (spec == ('u' | QRINTF_ZERO) && width == 2 && precision == QRINTF_NONE && size <= 4)
        return qrintf_u32_02(p, (qrintf_u32_t)v);
    if (spec == 'o' && width == 0 && precision == QRINTF_NONE)
        return qrintf_octal(p, v);
    return qrintf_integer(p, v, 0, spec, width, precision);
}

QRINTF_INLINE char *qrintf_put_integer(char *p, qrintf_u64_t v, unsigned int spec, int size, int width, int precision)
{
    switch (QRINTF_LETTER(spec)) {
    case 'd':
    case 'i':
        v = size == 1   ? (qrintf_u64_t)(signed char)v
            : size == 2 ? (qrintf_u64_t)(short)v
            : size == 4 ? (qrintf_u64_t)(qrintf_i32_t)v
                        : v;
        return qrintf_put_signed(p, (qrintf_i64_t)v, (spec & ~0xffu) | 'd', size, width, precision);
    case 'x':
    case 'X':
        v = size == 8 ? v : v & ((qrintf_u64_t)1 << (size & 7) * 8) - 1;
        return qrintf_put_hex(p, v, spec, size, width, precision);
    default:
        v = size == 8 ? v : v & ((qrintf_u64_t)1 << (size & 7) * 8) - 1;
        return qrintf_put_unsigned(p, v, spec, size, width, precision);
    }
}

QRINTF_INLINE char *qrintf_put_string(char *p, const char *s, qrintf_size_t length, unsigned int spec, int width)
{
    if (__builtin_constant_p(width) && width == 0) {
        if (__builtin_constant_p(length)) {
            __builtin_memcpy(p, s, length);
            return p + length;
        }
        return qrintf_string(p, s, length);
    }
    return qrintf_string_padded(p, s, length, spec, width);
}

QRINTF_INLINE char *qrintf_put_character(char *p, int c, unsigned int spec, int width)
{
    char character = (char)c;
    if (__builtin_constant_p(width) && width == 0) {
        *p = character;
        return p + 1;
    }
    return qrintf_string_padded(p, &character, 1, spec, width);
}

#define QRINTF_SPEC(k) ((unsigned int)(qrintf_f##k | qrintf_c##k))
#define QRINTF_WIDTH(k) QRINTF_FIELD(qrintf_w##k, qrintf_width)
#define QRINTF_PRECISION(k) QRINTF_FIELD(qrintf_r##k, qrintf_precision)

/* The value of argument k; where libc has to write it, qrintf_p is null. */
#define QRINTF_VALUE(k)                                                                                        \
    __builtin_choose_expr(                                                                                     \
        qrintf_k##k == QRINTF_KIND_INTEGER,                                                                    \
        qrintf_put_integer(qrintf_p, (qrintf_u64_t)QRINTF_TO_INTEGER(k), QRINTF_SPEC(k), qrintf_z##k, QRINTF_WIDTH(k), \
                           QRINTF_PRECISION(k)),                                                               \
        __builtin_choose_expr(                                                                                 \
            qrintf_k##k == QRINTF_KIND_STRING,                                                                 \
            qrintf_put_string(qrintf_p, QRINTF_TO_STRING(qrintf_t##k), qrintf_l##k, QRINTF_SPEC(k), QRINTF_WIDTH(k)), \
            __builtin_choose_expr(                                                                             \
                qrintf_k##k == QRINTF_KIND_CHARACTER,                                                          \
                qrintf_put_character(qrintf_p, (int)QRINTF_TO_INTEGER(k), QRINTF_SPEC(k), QRINTF_WIDTH(k)),    \
                __builtin_choose_expr(                                                                         \
                    qrintf_k##k == QRINTF_KIND_DOUBLE,                                                         \
                    qrintf_double(qrintf_p, QRINTF_TO_DOUBLE(qrintf_t##k), QRINTF_SPEC(k), QRINTF_WIDTH(k),    \
                                  QRINTF_PRECISION(k)),                                                        \
                    qrintf_pointer(qrintf_p, QRINTF_TO_POINTER(k), QRINTF_SPEC(k), QRINTF_WIDTH(k),            \
                                   QRINTF_PRECISION(k))))))

/* Everything that argument k stands for, with the text before it. */
#define QRINTF_PUT(x, j, k)                                                                                  \
    QRINTF_PIECES(j, k)                                                                                   \
    if (qrintf_k##k == QRINTF_KIND_STAR) {                                                                   \
        if (qrintf_s##k == 1)                                                                                \
            qrintf_width = (int)QRINTF_TO_INTEGER(k);                                                        \
        else                                                                                                 \
            qrintf_precision = (int)QRINTF_TO_INTEGER(k);                                                    \
    } else {                                                                                                 \
        qrintf_p = QRINTF_VALUE(k);                                                                          \
        if (qrintf_k##k >= QRINTF_KIND_POINTER && !qrintf_p)                                                 \
            goto qrintf_slow;                                                                                \
    }

#endif
