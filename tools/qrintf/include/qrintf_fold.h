/*
 * qrintf_fold.h: the format parser. See qrintf.h.
 *
 * It runs in the compiler's front end, so that the optimizer never sees it: each number that it finds out is an
 * enumeration constant, computed by an expression over the literal. Both compilers let such expressions call
 * __builtin_strlen, strncmp and strchr, and read a constant pointer that was initialized with a literal. Only gcc folds
 * strspn and strcspn there, and only clang reads a character there; gcc does that in the initializer of a static constant,
 * out of a static array, and such a constant then folds in turn. The literal itself is named as seldom as can be, as most of
 * what a call costs to compile is the reading of its tokens.
 *
 * A step takes one argument of the call. Where arguments are taken by `*`, a directive has several steps:
 *
 *     "id %-*.3lx;"      state  0            1 (after the width's star)     0
 *                        step       1: `*`                             2: `.3lx`
 *
 * After step k, qrintf_p<k> is the position, qrintf_s<k> the state (2: after the precision's star), qrintf_f<k> the
 * flags, qrintf_w<k> and qrintf_r<k> width and precision (QRINTF_NONE, QRINTF_STAR), qrintf_c<k> the letter (0 for a
 * star), qrintf_z<k> the size of the integer meant, qrintf_k<k> the kind of argument that is wanted, and qrintf_e<k> the
 * first error so far. The text before the directive lies in up to three pieces, as "%%" stands for its first half only:
 *
 *     [p<k-1>, x<k> + xe<k>)    and if xe<k>: [x<k> + 2, y<k> + ye<k>)    and if ye<k>: [y<k> + 2, q<k>)
 *
 * Invariant: no position is beyond the literal's terminator, whatever the format is.
 */
#ifndef QRINTF_FOLD_H
#define QRINTF_FOLD_H

#define QRINTF_NONE (-1)
#define QRINTF_STAR (-2)
#define QRINTF_NUMBER_MAX 999

/* What an argument has to be: the first of them integers, the last ones what libc may have to write after all. */
#define QRINTF_KIND_UNKNOWN 0
#define QRINTF_KIND_STAR 1
#define QRINTF_KIND_SIGNED 2
#define QRINTF_KIND_UNSIGNED 3
#define QRINTF_KIND_CHARACTER 4
#define QRINTF_KIND_STRING 5
#define QRINTF_KIND_POINTER 6
#define QRINTF_KIND_DOUBLE 7

/* The kinds that letters ask for, from '@' on. */
#define QRINTF_KINDS                                  \
    "\0\0\0\0\0\7\7\7\0\0\0\0\0\0\0\0" /* EFG */      \
    "\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0" /* X */        \
    "\0\0\0\4\2\7\7\7\0\2\0\0\0\0\0\3" /* cdefgi o */ \
    "\6\0\0\5\0\3\0\0\3\0\0\0\0\0\0\0" /* p s u x */

/* Whether the format is a literal: of those that are constant, the one that is an array. */
#define QRINTF_IS_LITERAL(f) (__builtin_constant_p(f) && __builtin_types_compatible_p(__typeof__(f), char[]))
/* The format if it is a literal, else an empty one, so that what follows is constant in any case. */
#define QRINTF_LITERAL(f) __builtin_choose_expr(qrintf_literal, f, "")
#define QRINTF_IS(i, text, length) (__builtin_strncmp(qrintf_format + (i), text, length) == 0)

#ifdef __clang__
#define QRINTF_TEXT(f)
#define QRINTF_BYTE(i) qrintf_format[i]
/* A constant from characters of the literal. */
#define QRINTF_CONSTANT(name, expression) enum { name = (expression) };
#define QRINTF_KIND_OF(letter) QRINTF_KINDS[letter]
/* The position of the next '%' or of the end. */
#define QRINTF_NEXT(i) (qrintf_length - (int)__builtin_strlen(__builtin_strchr(qrintf_format + (i), '%') ?: ""))
/* How many characters from i on are in the set; QRINTF_SPAN stops at 5, QRINTF_SPAN2 at 2. */
#define QRINTF_IN(i, set) (__builtin_memchr(set, qrintf_format[i], sizeof(set) - 1) != 0)
#define QRINTF_SPAN2(i, set) (!QRINTF_IN(i, set) ? 0 : !QRINTF_IN((i) + 1, set) ? 1 : 2)
#define QRINTF_SPAN(i, set)         \
    (!QRINTF_IN(i, set)         ? 0 \
     : !QRINTF_IN((i) + 1, set) ? 1 \
     : !QRINTF_IN((i) + 2, set) ? 2 \
     : !QRINTF_IN((i) + 3, set) ? 3 \
     : !QRINTF_IN((i) + 4, set) ? 4 \
                                : 5)
/* Whether a character is one of the n from i on. */
#define QRINTF_HAS(i, n, text) (__builtin_memchr(qrintf_format + (i), *(text), (__SIZE_TYPE__)(n)) != 0)
#else
#define QRINTF_TEXT(f) static const char qrintf_text[] = QRINTF_LITERAL(f);
#define QRINTF_BYTE(i) qrintf_text[i]
#define QRINTF_CONSTANT(name, expression) static const int name = (expression);
#define QRINTF_KIND_OF(letter) qrintf_kinds[letter]
static const char qrintf_kinds[] __attribute__((__unused__)) = QRINTF_KINDS;
#define QRINTF_NEXT(i) ((i) + (int)__builtin_strcspn(qrintf_format + (i), "%"))
#define QRINTF_SPAN(i, set) ((int)__builtin_strspn(qrintf_format + (i), set))
#define QRINTF_SPAN2 QRINTF_SPAN
#define QRINTF_HAS(i, n, text) ((int)__builtin_strcspn(qrintf_format + (i), text) < (n))
#endif

/* The number that n digits from i on are; more than QRINTF_NUMBER_MAX for all that have more than three. */
#define QRINTF_NUMBER(i, n)                                                                           \
    ((n) == 0   ? 0                                                                                   \
     : (n) == 1 ? QRINTF_BYTE(i) - '0'                                                                \
     : (n) == 2 ? QRINTF_BYTE(i) * 10 + QRINTF_BYTE((i) + 1) - '0' * 11                               \
     : (n) == 3 ? QRINTF_BYTE(i) * 100 + QRINTF_BYTE((i) + 1) * 10 + QRINTF_BYTE((i) + 2) - '0' * 111 \
                : QRINTF_NUMBER_MAX + 1)

#define QRINTF_FLAGS(i, n)                                                                                 \
    ((n) == 0 ? 0                                                                                          \
              : QRINTF_HAS(i, n, "-") * (int)QRINTF_MINUS + QRINTF_HAS(i, n, "+") * (int)QRINTF_PLUS       \
                    + QRINTF_HAS(i, n, " ") * (int)QRINTF_SPACE + QRINTF_HAS(i, n, "0") * (int)QRINTF_ZERO \
                    + QRINTF_HAS(i, n, "#") * (int)QRINTF_HASH)

/* The state before the first step. */
#define QRINTF_BEGIN(f)                                                                      \
    enum { qrintf_literal = QRINTF_IS_LITERAL(f) };                                          \
    const char *const qrintf_format = QRINTF_LITERAL(f);                                     \
    QRINTF_TEXT(f)                                                                           \
    enum {                                                                                   \
        qrintf_length = (int)__builtin_strlen(qrintf_format),                                \
        qrintf_p0 = 0, qrintf_s0 = 0, qrintf_f0 = 0, qrintf_w0 = 0, qrintf_r0 = QRINTF_NONE, \
        qrintf_e0 = qrintf_literal ? QRINTF_SPECIALIZED : QRINTF_NOT_LITERAL                 \
    };

/* The text up to the next directive, or to the end. */
#define QRINTF_GAP(j, k)                                                                    \
    qrintf_x##k = qrintf_s##j != 0 ? qrintf_p##j : QRINTF_NEXT(qrintf_p##j),                \
    qrintf_xe##k = qrintf_s##j == 0 && QRINTF_IS(qrintf_x##k, "%%", 2),                     \
    qrintf_y##k = qrintf_xe##k ? QRINTF_NEXT(qrintf_x##k + 2 * qrintf_xe##k) : qrintf_x##k, \
    qrintf_ye##k = qrintf_xe##k && QRINTF_IS(qrintf_y##k, "%%", 2),                         \
    qrintf_q##k = qrintf_ye##k ? QRINTF_NEXT(qrintf_y##k + 2 * qrintf_ye##k) : qrintf_y##k

/* Flags, width, precision and length: where each begins, and how long it is. */
#define QRINTF_FIELDS(j, k)                                                                                     \
    qrintf_fi##k = qrintf_q##k + (qrintf_s##j == 0 && qrintf_q##k < qrintf_length),                             \
    qrintf_fn##k = qrintf_s##j != 0 ? 0 : QRINTF_SPAN(qrintf_fi##k, "-+ #0"),                                   \
    qrintf_f##k = qrintf_s##j != 0 ? qrintf_f##j : QRINTF_FLAGS(qrintf_fi##k, qrintf_fn##k),                    \
    qrintf_wi##k = qrintf_fi##k + qrintf_fn##k,                                                                 \
    qrintf_ws##k = qrintf_s##j == 0 && QRINTF_IS(qrintf_wi##k, "*", 1),                                         \
    qrintf_wn##k = qrintf_s##j != 0 || qrintf_ws##k ? 0 : QRINTF_SPAN(qrintf_wi##k, "0123456789"),              \
    qrintf_di##k = qrintf_wi##k + qrintf_ws##k + qrintf_wn##k,                                                  \
    qrintf_dn##k = !qrintf_ws##k && qrintf_s##j != 2 && QRINTF_IS(qrintf_di##k, ".", 1),                        \
    qrintf_ri##k = qrintf_di##k + qrintf_dn##k, qrintf_rs##k = qrintf_dn##k && QRINTF_IS(qrintf_ri##k, "*", 1), \
    qrintf_rn##k = qrintf_dn##k && !qrintf_rs##k ? QRINTF_SPAN(qrintf_ri##k, "0123456789") : 0,                 \
    qrintf_li##k = qrintf_ri##k + qrintf_rs##k + qrintf_rn##k,                                                  \
    qrintf_s##k = qrintf_ws##k + 2 * qrintf_rs##k,                                                              \
    qrintf_lh##k = qrintf_s##k != 0 ? 0 : QRINTF_SPAN2(qrintf_li##k, "h"),                                      \
    qrintf_ll##k = qrintf_s##k != 0 ? 0 : QRINTF_SPAN2(qrintf_li##k, "l"),                                      \
    qrintf_lz##k = qrintf_s##k != 0 ? 0 : QRINTF_SPAN2(qrintf_li##k, "jzt"),                                    \
    qrintf_ln##k = qrintf_lh##k + qrintf_ll##k + qrintf_lz##k, qrintf_ci##k = qrintf_li##k + qrintf_ln##k

/* Width, precision and letter, which are read from characters; one constant, as each costs gcc a variable. */
#define QRINTF_PACKED(k)                               \
    (QRINTF_NUMBER(qrintf_wi##k, qrintf_wn##k)         \
     | QRINTF_NUMBER(qrintf_ri##k, qrintf_rn##k) << 10 \
     | (QRINTF_BYTE(qrintf_ci##k) & 0x7f) << 20        \
     | (QRINTF_BYTE(qrintf_ci##k) > '@' ? QRINTF_KIND_OF(QRINTF_BYTE(qrintf_ci##k) - '@') : 0) << 27)

/* One argument's share of the format: from step j's state to step k's. */
#define QRINTF_STEP(x, j, k)                                                                                           \
    enum { QRINTF_GAP(j, k), QRINTF_FIELDS(j, k) };                                                                    \
    QRINTF_CONSTANT(qrintf_packed##k, QRINTF_PACKED(k))                                                                \
    enum {                                                                                                             \
        qrintf_wv##k = qrintf_packed##k & 0x3ff, qrintf_rv##k = qrintf_packed##k >> 10 & 0x3ff,                        \
        qrintf_w##k = qrintf_s##j != 0 ? qrintf_w##j : qrintf_ws##k ? QRINTF_STAR : qrintf_wv##k,                      \
        qrintf_r##k = qrintf_s##j == 2 ? qrintf_r##j                                                                   \
                      : qrintf_rs##k   ? QRINTF_STAR                                                                   \
                      : qrintf_dn##k   ? qrintf_rv##k                                                                  \
                                       : QRINTF_NONE,                                                                  \
        qrintf_c##k = qrintf_s##k != 0 ? 0 : qrintf_packed##k >> 20 & 0x7f,                                            \
        qrintf_p##k = qrintf_s##k != 0 ? qrintf_li##k : qrintf_ci##k + (qrintf_c##k != 0),                             \
        qrintf_kind##k = qrintf_packed##k >> 27,                                                                       \
        qrintf_lm##k = qrintf_kind##k <= QRINTF_KIND_UNSIGNED ? 2 - (qrintf_lz##k != 0)                                \
                                                              : qrintf_kind##k == QRINTF_KIND_DOUBLE && qrintf_ll##k > 0, \
        qrintf_k##k = qrintf_s##k                    ? QRINTF_KIND_STAR                                                \
                      : qrintf_ln##k <= qrintf_lm##k ? qrintf_kind##k                                                  \
                                                     : QRINTF_KIND_UNKNOWN,                                            \
        qrintf_z##k = (int)(qrintf_lh##k   ? 3u - qrintf_lh##k                                                         \
                            : qrintf_ll##k ? (qrintf_ll##k == 1 ? sizeof(long) : 8u)                                   \
                            : qrintf_lz##k ? (QRINTF_IS(qrintf_li##k, "j", 1) ? 8u : sizeof(void *))                   \
                                           : 4u),                                                                      \
        qrintf_e##k = qrintf_e##j != 0 ? qrintf_e##j                                                                   \
                      : qrintf_fi##k >= qrintf_length                                       ? QRINTF_NOT_THAT_MANY     \
                      : qrintf_k##k == QRINTF_KIND_UNKNOWN                                  ? QRINTF_NOT_KNOWN         \
                      : qrintf_wv##k > QRINTF_NUMBER_MAX || qrintf_rv##k > QRINTF_NUMBER_MAX ? QRINTF_TOO_LONG         \
                                                                                            : QRINTF_SPECIALIZED       \
    };

/* The text behind the last directive, under the number T. */
#define QRINTF_TAIL(j)                                                                                  \
    enum {                                                                                              \
        QRINTF_GAP(j, T),                                                                               \
        qrintf_eT = qrintf_e##j != 0 ? qrintf_e##j                                                      \
                    : QRINTF_IS(qrintf_qT, "%%", 2)                         ? QRINTF_NOT_KNOWN          \
                    : qrintf_s##j != 0 || qrintf_qT != qrintf_length             ? QRINTF_NOT_THAT_MANY \
                                                                            : QRINTF_SPECIALIZED        \
    };

/* All of it, for a call with n arguments. */
#define QRINTF_PARSE(n, f) QRINTF_BEGIN(f) QRINTF_PAIRS_##n(QRINTF_STEP, 0) QRINTF_TAIL(n)

#endif
