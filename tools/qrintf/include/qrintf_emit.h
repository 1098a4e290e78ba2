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

/*
 * The type that an argument has when it is passed: arrays and functions are pointers, bit-fields and small integers int.
 * A pointer other than a string may be of variably modified type, and __typeof__ would evaluate it then; any pointer does.
 * The argument stands in a __typeof__ alone: within constants, clang takes no literal of a call for one.
 */
#define QRINTF_STRINGS(yes, no) \
    char *: yes, const char *: yes, unsigned char *: yes, const unsigned char *: yes, default: no
#define QRINTF_TYPE(k, argument)                                                                                \
    typedef __typeof__(__builtin_choose_expr(                                                                   \
        __builtin_classify_type(1 ? (argument) : 0) == 5 && _Generic(1 ? (argument) : 0, QRINTF_STRINGS(0, 1)), \
        (const volatile void *)0, 1 ? (argument) : 0)) qrintf_t##k##_t;
#define QRINTF_SAMPLE(k) *(qrintf_t##k##_t *)0

/* An argument's class: QRINTF_KIND_STRING, QRINTF_KIND_DOUBLE, or 16 and what __builtin_classify_type says. */
#define QRINTF_IS_INTEGER 17
#define QRINTF_IS_POINTER 21
#define QRINTF_CLASS(k)                                                                             \
    qrintf_a##k = _Generic(QRINTF_SAMPLE(k), float: QRINTF_KIND_DOUBLE, double: QRINTF_KIND_DOUBLE, \
                           QRINTF_STRINGS(QRINTF_KIND_STRING, 16 + __builtin_classify_type(QRINTF_SAMPLE(k))))

/* True if the argument's type is the one that the directive wants; signed and unsigned are the same to libc. */
#define QRINTF_FITS(x, k)                                                                             \
    &&(qrintf_k##k <= QRINTF_KIND_CHARACTER                                                           \
           ? qrintf_a##k == QRINTF_IS_INTEGER && sizeof(qrintf_t##k##_t) == (qrintf_z##k > 4 ? 8 : 4) \
           : qrintf_a##k == qrintf_k##k                                                               \
                 || (qrintf_k##k == QRINTF_KIND_POINTER                                               \
                     && (qrintf_a##k == QRINTF_IS_POINTER || qrintf_a##k == QRINTF_KIND_STRING)))

/*
 * The room that the format alone tells, less the directive's own length: with the format's length, and that of stars'
 * arguments and strings, it is what the text needs at most. An integer of z bytes has 2 z hexadecimal digits, or takes
 * (z * 5 + 3) / 2 with its sign in decimal, and one more in octal. A double without a precision has six decimals.
 */
#define QRINTF_FIXED(x, k) +qrintf_q##k - qrintf_p##k + (qrintf_w##k > qrintf_n##k ? qrintf_w##k : (int)qrintf_n##k)
#define QRINTF_NEED(k, z, c, r, f)                                                                                          \
    k >= QRINTF_KIND_POINTER ? (k == QRINTF_KIND_DOUBLE ? QRINTF_ROOM_DOUBLE + 6 : QRINTF_ROOM_SIGN + 16) + (r > 0 ? r : 0) \
    : k >= QRINTF_KIND_CHARACTER || k < QRINTF_KIND_SIGNED                                                                  \
        ? k == QRINTF_KIND_CHARACTER                                                                                        \
        : (r > 0 ? r : 0) + ((f & (int)QRINTF_HASH) != 0 ? 2 : 0) + ((c | 32) == 'x' ? 2 * z : (z * 5 + 3) / 2 + (c == 'o'))

/*
 * The shape of an integer's directive: 1 and 2 are letters alone, of up to four bytes and of eight, 3 is "%02", 6 that of
 * eight bytes, 4 "%08" of up to four, 5 "%016". All others are 0.
 */
#define QRINTF_SHAPE(z, w, r, f)                         \
    r != QRINTF_NONE        ? 0                          \
    : f == 0                ? (w != 0 ? 0 : 1 + (z > 4)) \
    : f != (int)QRINTF_ZERO ? 0                          \
    : w == 2                ? 3 + 3 * (z > 4)            \
    : w == 16               ? 5                          \
                            : 4 * (w == 8 && z <= 4)

#define QRINTF_DECIDE(x, k)   \
    enum { QRINTF_CLASS(k) }; \
    QRINTF_DECIDE_(qrintf_n##k, qrintf_shape##k, qrintf_k##k, qrintf_z##k, qrintf_c##k, qrintf_w##k, qrintf_r##k, qrintf_f##k)
#define QRINTF_DECIDE_(need, shape, k, z, c, w, r, f) \
    enum { need = QRINTF_NEED(k, z, c, r, f), shape = QRINTF_SHAPE(z, w, r, f) };

/* True if the room depends on the arguments' values too. */
#define QRINTF_VARIES(x, k) || qrintf_k##k == QRINTF_KIND_STAR || qrintf_k##k == QRINTF_KIND_STRING

/* A width or precision; a star is what the last argument of one was. */
#define QRINTF_WIDTH(k) qrintf_w##k == QRINTF_STAR ? qrintf_width : (int)qrintf_w##k
#define QRINTF_PRECISION(k) qrintf_r##k == QRINTF_STAR ? qrintf_precision : (int)qrintf_r##k
#define QRINTF_SPEC(k) ((unsigned int)(qrintf_f##k | qrintf_c##k))

/* The argument; 0 if one of them is not what it has to be, as then all of this is dropped. Programs want casts seen. */
#define QRINTF_EITHER __builtin_choose_expr
#define QRINTF_INTEGER(k) QRINTF_EITHER(qrintf_a##k == QRINTF_IS_INTEGER, qrintf_t##k, 0)
#define QRINTF_ARGUMENT(k)                                                               \
    QRINTF_EITHER(qrintf_k##k <= QRINTF_KIND_CHARACTER, (qrintf_u64_t)QRINTF_INTEGER(k), \
                  QRINTF_EITHER(qrintf_outcome == QRINTF_SPECIALIZED, qrintf_t##k, 0))

/* Length of a string that may be null; that is libc's affair. */
QRINTF_INLINE qrintf_size_t qrintf_measure(const void *s, int precision)
{
    return s ? qrintf_length((const char *)s, precision) : QRINTF_ROOM_MAX;
}

/* Takes the argument of a width's star (state 1) or a precision's; the result is the room that a width asks for. */
QRINTF_INLINE qrintf_size_t qrintf_star(int value, int state, int *width, int *precision)
{
    if (state == 1) {
        *width = value;
        return value < 0 ? 0u - (unsigned int)value : (unsigned int)value;
    }
    *precision = value;
    return 0;
}
#define QRINTF_TAKE_STAR(k) qrintf_star((int)QRINTF_INTEGER(k), qrintf_s##k, &qrintf_width, &qrintf_precision)

/* The room that the argument's value asks for: a string's length, or what a star says. */
#define QRINTF_MEASURE(x, k)                                                                                   \
    const qrintf_size_t qrintf_l##k = QRINTF_EITHER(                                                           \
        qrintf_k##k == QRINTF_KIND_STRING,                                                                     \
        qrintf_measure(QRINTF_EITHER(qrintf_a##k == QRINTF_KIND_STRING, qrintf_t##k, 0), QRINTF_PRECISION(k)), \
        QRINTF_EITHER(qrintf_k##k == QRINTF_KIND_STAR, QRINTF_TAKE_STAR(k),                                    \
                      (qrintf_size_t)(qrintf_r##k == QRINTF_STAR && qrintf_precision > 0 ? qrintf_precision : 0)));
#define QRINTF_ADD_MEASURE(x, k) +qrintf_l##k

/*
 * The ways to write an argument, all of one shape. The integers' `v` is the argument as it was passed, `size` the bytes of
 * it that count: where that is a constant, as it always is, one of the narrowing casts is left.
 */
QRINTF_INLINE qrintf_i64_t qrintf_signed(qrintf_u64_t v, int size)
{
    return size == 8 ? (qrintf_i64_t)v : size == 4 ? (qrintf_i32_t)v : size == 2 ? (short)v : (signed char)v;
}
QRINTF_INLINE qrintf_u64_t qrintf_unsigned(qrintf_u64_t v, int size)
{
    return size == 8 ? v : size == 4 ? (qrintf_u32_t)v : size == 2 ? (unsigned short)v : (unsigned char)v;
}
#define QRINTF_WAY(name, type)                                                                                   \
    QRINTF_INLINE char *qrintf_as_##name(char *p, type v, unsigned int spec, int size, int width, int precision, \
                                         qrintf_size_t length)
#define QRINTF_UNUSED (void)spec, (void)size, (void)width, (void)precision, (void)length
#define QRINTF_INTEGER_WAY(name, narrow, call)                  \
    QRINTF_WAY(name, qrintf_u64_t)                              \
    {                                                           \
        const qrintf_##narrow##_t x = qrintf_##narrow(v, size); \
        QRINTF_UNUSED;                                          \
        return call;                                            \
    }
#define QRINTF_UPPER (QRINTF_LETTER(spec) == 'X')
typedef qrintf_i64_t qrintf_signed_t;
typedef qrintf_u64_t qrintf_unsigned_t;
QRINTF_INTEGER_WAY(i32, signed, qrintf_i32(p, (qrintf_i32_t)x))
QRINTF_INTEGER_WAY(i32_02, signed, qrintf_i32_02(p, (qrintf_i32_t)x))
QRINTF_INTEGER_WAY(i64, signed, qrintf_i64(p, x))
QRINTF_INTEGER_WAY(u32, unsigned, qrintf_u32(p, (qrintf_u32_t)x))
QRINTF_INTEGER_WAY(u32_02, unsigned, qrintf_u32_02(p, (qrintf_u32_t)x))
QRINTF_INTEGER_WAY(u64, unsigned, qrintf_u64(p, x))
QRINTF_INTEGER_WAY(hex32, unsigned, qrintf_hex32(p, (qrintf_u32_t)x, QRINTF_UPPER))
QRINTF_INTEGER_WAY(hex64, unsigned, qrintf_hex64(p, x, QRINTF_UPPER))
QRINTF_INTEGER_WAY(hex8_02, unsigned,
                   x <= 0xff ? qrintf_hex8_02(p, (qrintf_u32_t)x, QRINTF_UPPER) : qrintf_hex64(p, x, QRINTF_UPPER))
QRINTF_INTEGER_WAY(hex32_08, unsigned, qrintf_hex32_08(p, (qrintf_u32_t)x, QRINTF_UPPER))
QRINTF_INTEGER_WAY(hex64_16, unsigned,
                   qrintf_hex32_08(qrintf_hex32_08(p, (qrintf_u32_t)(x >> 32), QRINTF_UPPER), (qrintf_u32_t)x, QRINTF_UPPER))
QRINTF_INTEGER_WAY(octal, unsigned, qrintf_octal(p, x))
QRINTF_INTEGER_WAY(signed, signed,
                   qrintf_integer(p, x < 0 ? 0 - (qrintf_u64_t)x : (qrintf_u64_t)x, x < 0, spec, width, precision))
QRINTF_INTEGER_WAY(unsigned, unsigned, qrintf_integer(p, x, 0, spec, width, precision))

QRINTF_WAY(character, qrintf_u64_t)
{
    char character = (char)(unsigned char)v;
    QRINTF_UNUSED;
    if (width != 0)
        return qrintf_string_padded(p, &character, 1, spec, width);
    *p = character;
    return p + 1;
}
QRINTF_WAY(string, const void *)
{
    QRINTF_UNUSED;
    if (!__builtin_constant_p(width) || width != 0)
        return qrintf_string_padded(p, (const char *)v, length, spec, width);
    if (!__builtin_constant_p(length))
        return qrintf_string(p, (const char *)v, length);
    __builtin_memcpy(p, v, length);
    return p + length;
}
QRINTF_WAY(pointer, const volatile void *)
{
    QRINTF_UNUSED;
    return qrintf_pointer(p, v, spec, width, precision);
}
QRINTF_WAY(double, qrintf_double_t)
{
    QRINTF_UNUSED;
    return qrintf_double(p, v, spec, width, precision);
}

/* The one that fits the directive. The compiler never hears of a call of the others. */
#define QRINTF_CHOSEN(kind, shape, letter)                                                                \
    QRINTF_EITHER(                                                                                        \
        kind >= QRINTF_KIND_CHARACTER,                                                                    \
        QRINTF_EITHER(kind == QRINTF_KIND_STRING, qrintf_as_string,                                       \
                      QRINTF_EITHER(kind == QRINTF_KIND_DOUBLE, qrintf_as_double,                         \
                                    QRINTF_EITHER(kind == QRINTF_KIND_POINTER, qrintf_as_pointer,         \
                                                  qrintf_as_character))),                                 \
        QRINTF_EITHER(                                                                                    \
            kind == QRINTF_KIND_SIGNED,                                                                   \
            QRINTF_EITHER(shape == 1, qrintf_as_i32,                                                      \
                          QRINTF_EITHER(shape == 2, qrintf_as_i64,                                        \
                                        QRINTF_EITHER(shape == 3, qrintf_as_i32_02, qrintf_as_signed))),  \
            QRINTF_EITHER(                                                                                \
                shape == 0, qrintf_as_unsigned,                                                           \
                QRINTF_EITHER(                                                                            \
                    (letter | 32) == 'x',                                                                 \
                    QRINTF_EITHER(                                                                        \
                        shape < 3, QRINTF_EITHER(shape == 1, qrintf_as_hex32, qrintf_as_hex64),           \
                        QRINTF_EITHER(shape == 4, qrintf_as_hex32_08,                                     \
                                      QRINTF_EITHER(shape == 5, qrintf_as_hex64_16, qrintf_as_hex8_02))), \
                    QRINTF_EITHER(shape < 3,                                                              \
                                  QRINTF_EITHER(letter == 'o', qrintf_as_octal,                           \
                                                QRINTF_EITHER(shape == 1, qrintf_as_u32, qrintf_as_u64)), \
                                  QRINTF_EITHER(letter == 'u' && shape == 3, qrintf_as_u32_02,            \
                                                qrintf_as_unsigned))))))

/* Text of the format itself; "%%" in it is one character. */
QRINTF_INLINE char *qrintf_put_text(char *p, const char *text, int length)
{
    __builtin_memcpy(p, text, (qrintf_size_t)length);
    return p + length;
}
#define qrintf_put_percents QRINTF_VERSIONED(qrintf_put_percents)
QRINTF_RUNTIME_BRIEF(qrintf_put_percents)
char *qrintf_put_percents(char *p, const char *text, int length)
{
    const char *end = text + length;
    QRINTF_SHARE(qrintf_put_percents)
    while (text != end) {
        *p++ = *text;
        text += 1 + (*text == '%');
    }
    return p;
}
#define QRINTF_PUT_TEXT(j, k)                                                                       \
    if (qrintf_q##k > qrintf_p##j)                                                                  \
        qrintf_p = QRINTF_EITHER(qrintf_q##k == qrintf_x##k, qrintf_put_text, qrintf_put_percents)( \
            qrintf_p, qrintf_format + qrintf_p##j, qrintf_q##k - qrintf_p##j);

/* Everything that argument k stands for, with the text before it. Where libc has to write it, qrintf_p is null. */
#define QRINTF_PUT(x, j, k)                                                                                                \
    QRINTF_PUT_TEXT(j, k)                                                                                                  \
    if (qrintf_k##k == QRINTF_KIND_STAR)                                                                                   \
        (void)QRINTF_TAKE_STAR(k);                                                                                         \
    else                                                                                                                   \
        qrintf_p = QRINTF_CHOSEN(qrintf_k##k, qrintf_shape##k, qrintf_c##k)(                                               \
            qrintf_p, QRINTF_ARGUMENT(k), QRINTF_SPEC(k), qrintf_z##k, QRINTF_WIDTH(k), QRINTF_PRECISION(k), qrintf_l##k); \
    if (qrintf_k##k >= QRINTF_KIND_POINTER && !qrintf_p)                                                                   \
        goto qrintf_slow;

#endif
