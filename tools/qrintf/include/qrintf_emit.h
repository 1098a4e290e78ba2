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
 * A pointer that is no string may be of variably modified type, and __typeof__ would evaluate it then; any pointer does.
 */
#define QRINTF_TYPE(k, argument)                                                                             \
    typedef __typeof__(__builtin_choose_expr(QRINTF_IS_OBJECT(1 ? (argument) : 0), (const volatile void *)0, \
                                             1 ? (argument) : 0)) qrintf_t##k##_t;
#define QRINTF_IS_OBJECT(expression) (__builtin_classify_type(expression) == 5 && !QRINTF_IS_STRING(expression))
#define QRINTF_SAMPLE(k) (*(qrintf_t##k##_t *)0)

#define QRINTF_IS_STRING(expression)                                                                                   \
    _Generic((expression), char *: 1, const char *: 1, unsigned char *: 1, const unsigned char *: 1, signed char *: 1, \
             const signed char *: 1, default: 0)

/* Whether the argument's type is the one that the directive wants; signed and unsigned are the same to libc. */
#define QRINTF_FITS(x, k)                                                                                           \
    &&(qrintf_k##k <= QRINTF_KIND_CHARACTER                                                                         \
           ? __builtin_classify_type(QRINTF_SAMPLE(k)) == 1 && sizeof(qrintf_t##k##_t) == (qrintf_z##k > 4 ? 8 : 4) \
       : qrintf_k##k == QRINTF_KIND_STRING  ? QRINTF_IS_STRING(QRINTF_SAMPLE(k))                                    \
       : qrintf_k##k == QRINTF_KIND_POINTER ? __builtin_classify_type(QRINTF_SAMPLE(k)) == 5                        \
                                            : _Generic(QRINTF_SAMPLE(k), float: 1, double: 1, default: 0))

/*
 * The room that the format alone tells, less the directive's own length: with the format's length, and that of stars'
 * arguments and strings, it is what the text needs at most. An integer of z bytes has 2 z hexadecimal digits, or takes
 * (z * 5 + 3) / 2 with its sign in decimal, and one more in octal.
 */
#define QRINTF_MORE(a, b) ((a) > (b) ? (a) : (b))
#define QRINTF_DIGITS(k) \
    ((qrintf_c##k | 0x20) == 'x' ? 2 * qrintf_z##k : (qrintf_z##k * 5 + 3) / 2 + (qrintf_c##k == 'o'))
#define QRINTF_FIXED(x, k)                                                                                             \
    +qrintf_q##k - qrintf_p##k                                                                                         \
        + QRINTF_MORE(qrintf_w##k,                                                                                     \
                      qrintf_k##k == QRINTF_KIND_DOUBLE ? (qrintf_r##k > 6 ? qrintf_r##k : 6) + QRINTF_ROOM_DOUBLE     \
                      : qrintf_k##k == QRINTF_KIND_SIGNED || qrintf_k##k == QRINTF_KIND_UNSIGNED                       \
                          ? QRINTF_MORE(qrintf_r##k + 1, QRINTF_DIGITS(k)) + (qrintf_f##k & (int)QRINTF_HASH ? 2 : 0)  \
                      : qrintf_k##k == QRINTF_KIND_POINTER ? (qrintf_r##k > 0 ? qrintf_r##k : 0) + 16 + QRINTF_ROOM_SIGN \
                                                           : qrintf_k##k == QRINTF_KIND_CHARACTER)

/* Whether the room depends on the arguments' values too. */
#define QRINTF_VARIES(x, k) || qrintf_k##k == QRINTF_KIND_STAR || qrintf_k##k == QRINTF_KIND_STRING

/* A width or precision; `star` is what the last star's argument was. */
#define QRINTF_FIELD(constant, star) ((int)(constant) == QRINTF_STAR ? (star) : (int)(constant))
#define QRINTF_WIDTH(k) QRINTF_FIELD(qrintf_w##k, qrintf_width)
#define QRINTF_PRECISION(k) QRINTF_FIELD(qrintf_r##k, qrintf_precision)
#define QRINTF_SPEC(k) ((unsigned int)(qrintf_f##k | qrintf_c##k))

/* The argument as what it has to be; 0 if it is something else, as then all of this is dropped. */
#define QRINTF_TO_STRING(k)                                                                                            \
    ((const char *)_Generic(qrintf_t##k, char *: qrintf_t##k, const char *: qrintf_t##k, unsigned char *: qrintf_t##k, \
                            const unsigned char *: qrintf_t##k, signed char *: qrintf_t##k,                            \
                            const signed char *: qrintf_t##k, default: (const char *)0))
#define QRINTF_TO_DOUBLE(k) _Generic(qrintf_t##k, float: qrintf_t##k, double: qrintf_t##k, default: 0.0)
#define QRINTF_TO_POINTER(k) \
    __builtin_choose_expr(__builtin_classify_type(qrintf_t##k) == 5, qrintf_t##k, (const void *)0)
#define QRINTF_TO_INTEGER(k) __builtin_choose_expr(__builtin_classify_type(qrintf_t##k) == 1, qrintf_t##k, 0)

/* Length of a string that may be null; that is libc's affair. */
QRINTF_INLINE qrintf_size_t qrintf_measure(const char *s, int precision)
{
    return s ? qrintf_length(s, precision) : QRINTF_ROOM_MAX;
}

/* Takes the argument of a width's star (state 1) or a precision's; the result is the room that a width asks for. */
QRINTF_INLINE qrintf_size_t qrintf_star(int state, int value, int *width, int *precision)
{
    if (state == 1) {
        *width = value;
        return value < 0 ? 0u - (unsigned int)value : (unsigned int)value;
    }
    *precision = value;
    return 0;
}
#define QRINTF_TAKE_STAR(k) qrintf_star(qrintf_s##k, (int)QRINTF_TO_INTEGER(k), &qrintf_width, &qrintf_precision)

/* The room that the argument's value asks for: a string's length, or what a star says. */
#define QRINTF_MEASURE(x, k)                                                                         \
    const qrintf_size_t qrintf_l##k = __builtin_choose_expr(                                         \
        qrintf_k##k == QRINTF_KIND_STRING, qrintf_measure(QRINTF_TO_STRING(k), QRINTF_PRECISION(k)), \
        __builtin_choose_expr(qrintf_k##k == QRINTF_KIND_STAR, QRINTF_TAKE_STAR(k),                  \
                              (qrintf_size_t)(qrintf_r##k == QRINTF_STAR && qrintf_precision > 0 ? qrintf_precision : 0)));
#define QRINTF_ADD_MEASURE(x, k) +qrintf_l##k

/*
 * The ways to write an integer, all of one shape: `v` is the argument as it was passed, `size` the bytes of it that count.
 * Where it is a constant, as it always is, one of the narrowing casts is left.
 */
QRINTF_INLINE qrintf_i64_t qrintf_signed(qrintf_u64_t v, int size)
{
    return size == 8 ? (qrintf_i64_t)v : size == 4 ? (qrintf_i32_t)v : size == 2 ? (short)v : (signed char)v;
}
QRINTF_INLINE qrintf_u64_t qrintf_unsigned(qrintf_u64_t v, int size)
{
    return size == 8 ? v : size == 4 ? (qrintf_u32_t)v : size == 2 ? (unsigned short)v : (unsigned char)v;
}
#define QRINTF_WAY(name, type, call)                                                                         \
    QRINTF_INLINE char *qrintf_as_##name(char *p, qrintf_u64_t bits, unsigned int spec, int size, int width, \
                                         int precision)                                                      \
    {                                                                                                        \
        const qrintf_##type##_t v = qrintf_##type(bits, size);                                               \
        (void)spec, (void)width, (void)precision;                                                            \
        return call;                                                                                         \
    }
#define QRINTF_UPPER (QRINTF_LETTER(spec) == 'X')
typedef qrintf_i64_t qrintf_signed_t;
typedef qrintf_u64_t qrintf_unsigned_t;
QRINTF_WAY(i32, signed, qrintf_i32(p, (qrintf_i32_t)v))
QRINTF_WAY(i32_02, signed, qrintf_i32_02(p, (qrintf_i32_t)v))
QRINTF_WAY(i64, signed, qrintf_i64(p, v))
QRINTF_WAY(signed, signed, qrintf_integer(p, v < 0 ? 0 - (qrintf_u64_t)v : (qrintf_u64_t)v, v < 0, spec, width, precision))
QRINTF_WAY(u32, unsigned, qrintf_u32(p, (qrintf_u32_t)v))
QRINTF_WAY(u32_02, unsigned, qrintf_u32_02(p, (qrintf_u32_t)v))
QRINTF_WAY(u64, unsigned, qrintf_u64(p, v))
QRINTF_WAY(hex32, unsigned, qrintf_hex32(p, (qrintf_u32_t)v, QRINTF_UPPER))
QRINTF_WAY(hex64, unsigned, qrintf_hex64(p, v, QRINTF_UPPER))
QRINTF_WAY(hex8_02, unsigned, v <= 0xff ? qrintf_hex8_02(p, (qrintf_u32_t)v, QRINTF_UPPER) : qrintf_hex64(p, v, QRINTF_UPPER))
QRINTF_WAY(hex32_08, unsigned, qrintf_hex32_08(p, (qrintf_u32_t)v, QRINTF_UPPER))
QRINTF_WAY(hex64_16, unsigned,
           qrintf_hex32_08(qrintf_hex32_08(p, (qrintf_u32_t)(v >> 32), QRINTF_UPPER), (qrintf_u32_t)v, QRINTF_UPPER))
QRINTF_WAY(octal, unsigned, qrintf_octal(p, v))
QRINTF_WAY(unsigned, unsigned, qrintf_integer(p, v, 0, spec, width, precision))

QRINTF_INLINE char *qrintf_as_character(char *p, qrintf_u64_t v, unsigned int spec, int size, int width, int precision)
{
    char character = (char)(unsigned char)v;
    (void)size, (void)precision;
    if (width != 0)
        return qrintf_string_padded(p, &character, 1, spec, width);
    *p = character;
    return p + 1;
}

/* The one that fits the directive. The compiler never hears of a call of the others. */
#define QRINTF_EITHER __builtin_choose_expr
#define QRINTF_BARE(k) (qrintf_w##k == 0 && qrintf_f##k == 0)
#define QRINTF_ZEROS(k, width) (qrintf_w##k == (width) && qrintf_f##k == (int)QRINTF_ZERO)
#define QRINTF_CHOSEN(k)                                                                                        \
    QRINTF_EITHER(                                                                                              \
        qrintf_k##k == QRINTF_KIND_CHARACTER, qrintf_as_character,                                              \
        QRINTF_EITHER(                                                                                          \
            qrintf_k##k == QRINTF_KIND_SIGNED,                                                                  \
            QRINTF_EITHER(qrintf_r##k == QRINTF_NONE && QRINTF_BARE(k),                                         \
                          QRINTF_EITHER(qrintf_z##k == 8, qrintf_as_i64, qrintf_as_i32),                        \
                          QRINTF_EITHER(qrintf_r##k == QRINTF_NONE && qrintf_z##k <= 4 && QRINTF_ZEROS(k, 2),   \
                                        qrintf_as_i32_02, qrintf_as_signed)),                                   \
            QRINTF_EITHER(                                                                                      \
                qrintf_r##k != QRINTF_NONE, qrintf_as_unsigned,                                                 \
                QRINTF_EITHER(                                                                                  \
                    (qrintf_c##k | 0x20) == 'x',                                                                \
                    QRINTF_EITHER(                                                                              \
                        QRINTF_BARE(k), QRINTF_EITHER(qrintf_z##k == 8, qrintf_as_hex64, qrintf_as_hex32),      \
                        QRINTF_EITHER(QRINTF_ZEROS(k, 2), qrintf_as_hex8_02,                                    \
                                      QRINTF_EITHER(QRINTF_ZEROS(k, 8) && qrintf_z##k <= 4, qrintf_as_hex32_08, \
                                                    QRINTF_EITHER(QRINTF_ZEROS(k, 16), qrintf_as_hex64_16,      \
                                                                  qrintf_as_unsigned)))),                       \
                    QRINTF_EITHER(                                                                              \
                        QRINTF_BARE(k),                                                                         \
                        QRINTF_EITHER(qrintf_c##k == 'o', qrintf_as_octal,                                      \
                                      QRINTF_EITHER(qrintf_z##k == 8, qrintf_as_u64, qrintf_as_u32)),           \
                        QRINTF_EITHER(qrintf_c##k == 'u' && qrintf_z##k <= 4 && QRINTF_ZEROS(k, 2),             \
                                      qrintf_as_u32_02, qrintf_as_unsigned))))))

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

/* The value of argument k; where libc has to write it, qrintf_p is null. */
#define QRINTF_VALUE(k)                                                                                                \
    QRINTF_EITHER(                                                                                                     \
        qrintf_k##k <= QRINTF_KIND_CHARACTER,                                                                          \
        QRINTF_CHOSEN(k)(qrintf_p, (qrintf_u64_t)QRINTF_TO_INTEGER(k), QRINTF_SPEC(k), qrintf_z##k, QRINTF_WIDTH(k),   \
                         QRINTF_PRECISION(k)),                                                                         \
        QRINTF_EITHER(                                                                                                 \
            qrintf_k##k == QRINTF_KIND_STRING,                                                                         \
            qrintf_put_string(qrintf_p, QRINTF_TO_STRING(k), qrintf_l##k, QRINTF_SPEC(k), QRINTF_WIDTH(k)),            \
            QRINTF_EITHER(qrintf_k##k == QRINTF_KIND_DOUBLE, qrintf_double, qrintf_pointer)(                           \
                qrintf_p, QRINTF_EITHER(qrintf_k##k == QRINTF_KIND_DOUBLE, QRINTF_TO_DOUBLE(k), QRINTF_TO_POINTER(k)), \
                QRINTF_SPEC(k), QRINTF_WIDTH(k), QRINTF_PRECISION(k))))

/* Text of the format itself. */
QRINTF_INLINE char *qrintf_put_text(char *p, const char *text, int length)
{
    __builtin_memcpy(p, text, (qrintf_size_t)length);
    return p + length;
}
#define QRINTF_PIECE(from, to) \
    if ((to) > (from))         \
        qrintf_p = qrintf_put_text(qrintf_p, qrintf_format + (from), (to) - (from));
#define QRINTF_PIECES(j, k)                                       \
    QRINTF_PIECE(qrintf_p##j, qrintf_x##k + qrintf_xe##k)         \
    if (qrintf_xe##k) {                                           \
        QRINTF_PIECE(qrintf_x##k + 2, qrintf_y##k + qrintf_ye##k) \
        if (qrintf_ye##k)                                         \
            QRINTF_PIECE(qrintf_y##k + 2, qrintf_q##k)            \
    }

/* Everything that argument k stands for, with the text before it. */
#define QRINTF_PUT(x, j, k)                              \
    QRINTF_PIECES(j, k)                                  \
    if (qrintf_k##k == QRINTF_KIND_STAR)                 \
        (void)QRINTF_TAKE_STAR(k);                       \
    else                                                 \
        qrintf_p = QRINTF_VALUE(k);                      \
    if (qrintf_k##k >= QRINTF_KIND_POINTER && !qrintf_p) \
        goto qrintf_slow;

#endif
