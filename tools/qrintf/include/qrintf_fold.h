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
 * first error so far. The text before the directive is [p<k-1>, q<k>); x<k> is q<k> unless there is a "%%" in it; there
 * may be two.
 *
 * Invariant: no position is beyond the literal's terminator, whatever the format is.
 */
#ifndef QRINTF_FOLD_H
#define QRINTF_FOLD_H

#define QRINTF_NONE (-1)
#define QRINTF_STAR (-2)

/* The kinds of arguments: the first of them integers, the last ones what libc may have to write after all. */
#define QRINTF_KIND_UNKNOWN 0
#define QRINTF_KIND_STAR 1
#define QRINTF_KIND_SIGNED 2
#define QRINTF_KIND_UNSIGNED 3
#define QRINTF_KIND_CHARACTER 4
#define QRINTF_KIND_STRING 5
#define QRINTF_KIND_POINTER 6
#define QRINTF_KIND_DOUBLE 7

/*
 * The meaning of the characters from '@' on: as a conversion the kind that they ask for, as a length the size of an integer,
 * with 1 added where the letter cannot be doubled. No character is both, as a conversion cannot be one of "hljzt".
 */
#ifdef __LP64__
#define QRINTF_LONG "\10"
#define QRINTF_WORD "\11"
#else
#define QRINTF_LONG "\4"
#define QRINTF_WORD "\5"
#endif
#define QRINTF_MEANINGS                                                                      \
    "\0\0\0\0\0\7\7\7\0\0\0\0\0\0\0\0"                                 /* EFG */             \
    "\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0"                                 /* X */               \
    "\0\0\0\4\2\7\7\7\2\2\11\0" QRINTF_LONG "\0\0\3"                   /* cdefg h i j l o */ \
    "\6\0\0\5" QRINTF_WORD "\3\0\0\3\0" QRINTF_WORD "\0\0\0\0\0"       /* p s t u x z */

/* True if the format is a literal: a constant that is an array. */
#define QRINTF_IS_LITERAL(f) (__builtin_constant_p(f) && __builtin_types_compatible_p(__typeof__(f), char[]))
/* The format if it is a literal, else an empty one, so that what follows is constant in any case. */
#define QRINTF_LITERAL(f) __builtin_choose_expr(qrintf_literal, f, "")
/* Whether `text`, of `length` bytes, is what stands at i. */
#define QRINTF_IS(i, text, length) !__builtin_strncmp(qrintf_format + i, text, length)

/*
 * The arguments of these are names: parentheses would be two more tokens each time.
 *
 *     QRINTF_NEXT(i)       the position of the next '%' from i on, or of the end; QRINTF_NEXT2 looks behind "%%"
 *     QRINTF_FLAGS(i) QRINTF_DIGITS(i) QRINTF_LENGTHS(i)     how many such characters stand there; clang stops at 5
 *     QRINTF_BYTE(i)       a character, within a QRINTF_CONSTANT
 */
#ifdef __clang__
static const char *const qrintf_meanings __attribute__((__unused__)) = QRINTF_MEANINGS;
/* 1 for a flag, 2 for a digit, 4 for a length, by the character's lowest seven bits. */
static const char *const qrintf_classes __attribute__((__unused__)) =
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "\1\0\0\1\0\0\0\0\0\0\0\1\0\1\0\0\3\2\2\2\2\2\2\2\2\2\0\0\0\0\0\0"
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0\0\0\4\0\4\0\4\0\0\0\0\0\0\0\4\0\0\0\0\0\4\0\0\0\0\0";
#define QRINTF_TEXT(f)
#define QRINTF_BYTE(i) qrintf_format[i]
#define QRINTF_CONSTANT(name, expression) enum { name = (expression) };
#define QRINTF_NEXT(i) qrintf_length - (int)__builtin_strlen(__builtin_strchr(qrintf_format + i, '%') ?: "")
#define QRINTF_NEXT2(i) qrintf_length - (int)__builtin_strlen(__builtin_strchr(qrintf_format + i + 2, '%') ?: "")
#define QRINTF_IN(i, class) (qrintf_classes[qrintf_format[i] & 127] & class)
#define QRINTF_SPAN(i, class)       \
    (!QRINTF_IN(i, class)       ? 0 \
     : !QRINTF_IN(i + 1, class) ? 1 \
     : !QRINTF_IN(i + 2, class) ? 2 \
     : !QRINTF_IN(i + 3, class) ? 3 \
     : !QRINTF_IN(i + 4, class) ? 4 \
                                : 5)
#define QRINTF_FLAGS(i) QRINTF_SPAN(i, 1)
#define QRINTF_DIGITS(i) QRINTF_SPAN(i, 2)
#define QRINTF_LENGTHS(i) QRINTF_SPAN(i, 4)
#else
static const char qrintf_meanings[] __attribute__((__unused__)) = QRINTF_MEANINGS;
#define QRINTF_TEXT(f) static const char qrintf_text[] = QRINTF_LITERAL(f);
#define QRINTF_BYTE(i) qrintf_text[i]
#define QRINTF_CONSTANT(name, expression) static const qrintf_u64_t name = expression;
#define QRINTF_NEXT(i) i + __builtin_strcspn(qrintf_format + i, "%")
#define QRINTF_NEXT2(i) i + 2 + __builtin_strcspn(qrintf_format + i + 2, "%")
#define QRINTF_FLAGS(i) __builtin_strspn(qrintf_format + i, "-+ #0")
#define QRINTF_DIGITS(i) __builtin_strspn(qrintf_format + i, "0123456789")
#define QRINTF_LENGTHS(i) __builtin_strspn(qrintf_format + i, "hljzt")
#endif

/* The meaning of the character at i by qrintf_meanings; 0 if it is not in there. */
#define QRINTF_MEANING(i) ((QRINTF_BYTE(i) & 192) == 64 ? qrintf_meanings[QRINTF_BYTE(i) & 63] : 0)
/* The number that up to three digits are, which end before i. */
#define QRINTF_NUMBER(i, n)                                                                       \
    (n == 0 ? 0 : QRINTF_BYTE(i - 1) - '0' + (n < 2 ? 0 : QRINTF_BYTE(i - 2) * 10 - '0' * 10)     \
                      + (n < 3 ? 0 : QRINTF_BYTE(i - 3) * 100 - '0' * 100))
/* The flag at i, less its lowest eight bits: see QRINTF_FLAG. */
#define QRINTF_FLAG_AT(i) 1 << (QRINTF_BYTE(i) & 31)

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

/* The text up to the next directive, or to the end: up to x without a "%%", if that is q. */
#define QRINTF_GAP(p, s, x, y, q)                    \
    x = s != 0 ? p : QRINTF_NEXT(p),                 \
    y = QRINTF_IS(x, "%%", 2) ? QRINTF_NEXT2(x) : x, \
    q = QRINTF_IS(y, "%%", 2) ? QRINTF_NEXT2(y) : y

/*
 * One argument's share of the format: from step j's state to step k's. Each name is made up once, as that is what costs
 * the preprocessor most.
 */
#define QRINTF_STEP(x, j, k)                                                                                             \
    QRINTF_TAKE_STEP(qrintf_p##j, qrintf_s##j, qrintf_f##j, qrintf_w##j, qrintf_r##j, qrintf_e##j, qrintf_x##k,          \
                     qrintf_y##k, qrintf_q##k, qrintf_fi##k, qrintf_fn##k, qrintf_wi##k, qrintf_ws##k, qrintf_wn##k,     \
                     qrintf_di##k, qrintf_dn##k, qrintf_ri##k, qrintf_rs##k, qrintf_rn##k, qrintf_li##k, qrintf_ln##k,   \
                     qrintf_ci##k, qrintf_packed##k, qrintf_kind##k, qrintf_m##k, qrintf_p##k, qrintf_s##k, qrintf_f##k, \
                     qrintf_w##k, qrintf_r##k, qrintf_e##k, qrintf_c##k, qrintf_z##k, qrintf_k##k)
/*
 * Of flags (f), width (w), precision (r) and length (l), i is where each begins, n how long it is, and s whether it is a
 * star; d is the point, m what the length means.
 */
#define QRINTF_TAKE_STEP(p0, s0, f0, w0, r0, e0, x, y, q, fi, fn, wi, ws, wn, di, dn, ri, rs, rn, li, ln, ci, packed, kind,    \
                         m, p, s, f, w, r, e, c, z, k)                                                                         \
    enum {                                                                                                                     \
        QRINTF_GAP(p0, s0, x, y, q),                                                                                           \
        fi = q + (s0 == 0 && q < qrintf_length),                                                                               \
        fn = QRINTF_FLAGS(fi),                                                                                                 \
        wi = fi + fn,                                                                                                          \
        ws = s0 == 0 && QRINTF_IS(wi, "*", 1),                                                                                 \
        wn = QRINTF_DIGITS(wi),                                                                                                \
        di = wi + ws + wn,                                                                                                     \
        dn = !ws && s0 < 2 && QRINTF_IS(di, ".", 1),                                                                           \
        ri = di + dn,                                                                                                          \
        rs = dn && QRINTF_IS(ri, "*", 1),                                                                                      \
        rn = dn ? QRINTF_DIGITS(ri) : 0,                                                                                       \
        li = ri + rs + rn,                                                                                                     \
        s = ws + 2 * rs,                                                                                                       \
        ln = s != 0 ? 0 : QRINTF_LENGTHS(li),                                                                                  \
        ci = li + ln                                                                                                           \
    };                                                                                                                         \
    QRINTF_CONSTANT(packed, QRINTF_PACKED(fi, fn, wi, wn, di, rn, li, ln, ci))                                                 \
    enum {                                                                                                                     \
        f = s0 != 0 ? f0 : (int)((qrintf_u64_t)packed >> 34) << 8,                                                             \
        w = s0 != 0 ? w0 : ws ? QRINTF_STAR : (int)(packed & 1023),                                                            \
        r = s0 == 2 ? r0 : rs ? QRINTF_STAR : dn ? (int)(packed >> 10 & 1023) : QRINTF_NONE,                                   \
        c = s != 0 ? 0 : packed >> 20 & 127,                                                                                   \
        p = ci + (c != 0),                                                                                                     \
        m = packed >> 30 & 15,                                                                                                 \
        z = ln < 2 ? m & 14 : (m & 1) != 0 || ln > 2 ? 0 : m == 2 ? 1 : m > 2 ? 8 : 0,                                         \
        kind = packed >> 27 & 7,                                                                                               \
        k = s != 0 ? QRINTF_KIND_STAR                                                                                          \
            : ln == 0 || (kind <= QRINTF_KIND_UNSIGNED ? z != 0 : kind == QRINTF_KIND_DOUBLE && ln < 2 && (m & 3) == 0) ? kind \
                                                                                                           : 0,                \
        e = e0 != 0                           ? e0                                                                             \
            : fi >= qrintf_length             ? QRINTF_NOT_THAT_MANY                                                           \
            : k == 0 || (s0 != 0 && di > p0)  ? QRINTF_NOT_KNOWN                                                               \
            : fn > 4 || wn > 3 || rn > 3      ? QRINTF_TOO_LONG                                                                \
                                              : QRINTF_SPECIALIZED                                                             \
    };

/* All that is read from characters; one constant, as each costs gcc a variable. */
#define QRINTF_PACKED(fi, fn, wi, wn, di, rn, li, ln, ci)                                                          \
    (qrintf_u64_t)(QRINTF_NUMBER(di, wn) | QRINTF_NUMBER(li, rn) << 10 | (QRINTF_BYTE(ci) & 127) << 20             \
                   | QRINTF_MEANING(ci) << 27)                                                                     \
        | (qrintf_u64_t)(ln == 0 ? 4 : QRINTF_MEANING(li) * (QRINTF_BYTE(li) == QRINTF_BYTE(ci - 1))) << 30        \
        | (qrintf_u64_t)(fn == 0 ? 0 : QRINTF_FLAG_AT(fi) | QRINTF_FLAG_AT(wi - 1) | QRINTF_FLAG_AT(fi + (fn > 2)) \
                                              | QRINTF_FLAG_AT(wi - 1 - (fn > 3))) << 34

/* The text behind the last directive, under the number T. */
#define QRINTF_TAIL(j)                                                                      \
    enum {                                                                                  \
        QRINTF_GAP(qrintf_p##j, qrintf_s##j, qrintf_xT, qrintf_yT, qrintf_qT),              \
        qrintf_eT = qrintf_e##j != 0                  ? qrintf_e##j                         \
                    : QRINTF_IS(qrintf_qT, "%%", 2)   ? QRINTF_NOT_KNOWN                    \
                    : qrintf_s##j != 0 || qrintf_qT != qrintf_length ? QRINTF_NOT_THAT_MANY \
                                                      : QRINTF_SPECIALIZED                  \
    };

/* All of it, for a call with n arguments. */
#define QRINTF_PARSE(n, f) QRINTF_BEGIN(f) QRINTF_PAIRS_##n(QRINTF_STEP, 0) QRINTF_TAIL(n)

#endif
