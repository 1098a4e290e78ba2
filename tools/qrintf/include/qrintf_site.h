/*
 * qrintf_site.h: one call of sprintf or snprintf. See qrintf.h.
 *
 * A call that is specialized becomes
 *
 *     take each argument once, and measure the strings        room = what the whole text needs at most
 *     it fits the buffer?      write it there, then a zero byte
 *     no, but it is short?     write it on the stack, then copy what fits
 *     else, or where a directive finds that libc has to do it:     libc's function, with the same arguments
 *
 * Any other call stays as it was written. libc's function is called by a name of our own in the former case, so that the
 * compiler, which has checked the format against the arguments as written, does not do so again.
 */
#ifndef QRINTF_SITE_H
#define QRINTF_SITE_H

#include "qrintf_emit.h"

/* The longest text that is written on the stack first. */
#define QRINTF_SCRATCH_MAX 256

extern int qrintf_libc_sprintf(char *, const char *, ...) __asm__("sprintf");
extern int qrintf_libc_snprintf(char *, qrintf_size_t, const char *, ...) __asm__("snprintf");

/* The known size of the buffer, as _FORTIFY_SOURCE has it; libc aborts where a call asks for more. */
#if defined __USE_FORTIFY_LEVEL && __USE_FORTIFY_LEVEL > 0
extern int qrintf_libc_sprintf_chk(char *, int, qrintf_size_t, const char *, ...) __asm__("__sprintf_chk");
extern int qrintf_libc_snprintf_chk(char *, qrintf_size_t, int, qrintf_size_t, const char *, ...) __asm__("__snprintf_chk");
#ifdef __glibc_objsize
#define QRINTF_OBJECT(d) __glibc_objsize(d)
#else
#define QRINTF_OBJECT(d) __builtin_object_size(d, __USE_FORTIFY_LEVEL > 1)
#endif
#define QRINTF_SLOW_SPRINTF(d, object, ...) qrintf_libc_sprintf_chk(d, __USE_FORTIFY_LEVEL - 1, object, __VA_ARGS__)
#define QRINTF_SLOW_SNPRINTF(d, n, object, ...) \
    qrintf_libc_snprintf_chk(d, n, __USE_FORTIFY_LEVEL - 1, object, __VA_ARGS__)
#else
#define QRINTF_OBJECT(d) ((qrintf_size_t)-1)
#define QRINTF_SLOW_SPRINTF(d, object, ...) qrintf_libc_sprintf(d, __VA_ARGS__)
#define QRINTF_SLOW_SNPRINTF(d, n, object, ...) qrintf_libc_snprintf(d, n, __VA_ARGS__)
#endif

/* The call as it was written. glibc makes its checking forms macros where the compiler is clang. */
#if defined __USE_FORTIFY_LEVEL && __USE_FORTIFY_LEVEL > 0 && defined sprintf
#define QRINTF_PLAIN_SPRINTF(d, ...) \
    __builtin___sprintf_chk(d, __USE_FORTIFY_LEVEL - 1, QRINTF_OBJECT(d), __VA_ARGS__)
#define QRINTF_PLAIN_SNPRINTF(d, n, ...) \
    __builtin___snprintf_chk(d, n, __USE_FORTIFY_LEVEL - 1, QRINTF_OBJECT(d), __VA_ARGS__)
#else
#define QRINTF_PLAIN_SPRINTF sprintf
#define QRINTF_PLAIN_SNPRINTF snprintf
#endif

/* glibc formats into buffers that claim more than INT_MAX bytes; POSIX, and musl, call that an error. */
#ifdef QRINTF_GLIBC
#define QRINTF_SIZE_FITS(n) 1
#else
#define QRINTF_SIZE_FITS(n) ((n) <= 0x7fffffff)
#endif

/* Ends a text that was written on the stack: copies what `size` bytes hold of it. */
#define qrintf_cut QRINTF_VERSIONED(qrintf_cut)
QRINTF_RUNTIME_BRIEF(qrintf_cut)
int qrintf_cut(char *to, qrintf_size_t size, const char *from, const char *end)
{
    qrintf_size_t length = (qrintf_size_t)(end - from);
    QRINTF_SHARE(qrintf_cut)
    if (size != 0)
        *qrintf_copy(to, from, length < size ? length : size - 1) = 0;
    return (int)length;
}

/* Calls whose text the compiler copies itself: "%s" alone, where the whole of it is wanted. */
#define QRINTF_COPIES (__builtin_strcmp(qrintf_format, "%s") == 0)

#define QRINTF_TAKE(k, argument) const qrintf_t##k##_t qrintf_t##k = (argument);

/* clang wants to be told that extensions are meant, even in a system's header; gcc would hush the user's warnings too. */
#ifdef __clang__
#define QRINTF_EXTENSION __extension__
#else
#define QRINTF_EXTENSION
#endif

/*
 * What a call returns. clang warns of a value that a statement does not use, but not of a function's: in preprocessed text,
 * which -save-temps compiles, it no longer knows that this is a system header's.
 */
#ifdef __clang__
QRINTF_INLINE int qrintf_returned(int result)
{
    return result;
}
#define QRINTF_RESULT qrintf_returned(qrintf_result)
#else
#define QRINTF_RESULT qrintf_result
#endif

/*
 * One call with n arguments behind the format stands between QRINTF_OPEN and QRINTF_CLOSE: the two ways it can go, with a
 * comma between them. `left` is a reason of the function's own not to touch it: one is that the name means a local variable
 * of the program, which unlike a function has not the size 1. (The ways are not arguments of a macro: the preprocessor
 * would scan them twice.)
 */
#define QRINTF_OPEN(n, function, f, left, ...)                                             \
    QRINTF_EXTENSION ({                                                                    \
        QRINTF_ZIP_##n(QRINTF_TYPE, __VA_ARGS__)                                           \
        QRINTF_PARSE(n, f)                                                                 \
        QRINTF_EACH_##n(QRINTF_DECIDE, 0)                                                  \
        enum {                                                                             \
            qrintf_fixed = qrintf_length QRINTF_EACH_##n(QRINTF_FIXED, 0),                 \
            qrintf_varies = 0 QRINTF_EACH_##n(QRINTF_VARIES, 0),                           \
            qrintf_short = !qrintf_varies && qrintf_fixed < QRINTF_SCRATCH_MAX,            \
            qrintf_outcome = qrintf_eT != 0                         ? (int)qrintf_eT       \
                             : !(1 QRINTF_EACH_##n(QRINTF_FITS, 0)) ? QRINTF_NOT_THAT_TYPE \
                             : (left)                               ? QRINTF_NOT_NEEDED    \
                                                                    : QRINTF_SPECIALIZED   \
        };                                                                                 \
        QRINTF_NOTE(function, qrintf_outcome, QRINTF_LITERAL(f))                           \
        __builtin_choose_expr(qrintf_outcome == QRINTF_SPECIALIZED,
#define QRINTF_CLOSE \
    );               \
    })

/* Takes the arguments, and finds the room that they may need. Declarations all: some programs want those to come first. */
#define QRINTF_PREPARE(n, ...)                                                             \
    QRINTF_ZIP_##n(QRINTF_TAKE, __VA_ARGS__)                                               \
    int qrintf_width = 0, qrintf_precision = QRINTF_NONE;                                  \
    QRINTF_EACH_##n(QRINTF_MEASURE, 0)                                                     \
    const qrintf_size_t qrintf_room = qrintf_fixed QRINTF_EACH_##n(QRINTF_ADD_MEASURE, 0); \
    char *qrintf_p;                                                                        \
    int qrintf_direct = 1, qrintf_result;

/* Writes the whole text from qrintf_p on; goes to qrintf_slow where libc has to. */
#define QRINTF_WRITE(n)             \
    QRINTF_PAIRS_##n(QRINTF_PUT, 0) \
    QRINTF_PUT_TEXT(n, T)           \
    (void)qrintf_width, (void)qrintf_precision, (void)qrintf_direct;

/* True if a buffer of `size` bytes holds a text with room `room` and its zero byte, and its length is an int. */
QRINTF_INLINE int qrintf_holds(qrintf_size_t size, qrintf_size_t room, int varies)
{
    return room < size && (!varies || room < QRINTF_ROOM_MAX);
}

/* Where the text goes: into the buffer of `size` bytes, or on the stack. */
#define QRINTF_PLACE(to, size)                                      \
    qrintf_direct = qrintf_holds(size, qrintf_room, qrintf_varies); \
    if (QRINTF_LIKELY(qrintf_direct))                               \
        qrintf_p = (to);                                            \
    else if (qrintf_short)                                          \
        qrintf_p = qrintf_scratch;                                  \
    else                                                            \
        goto qrintf_slow;

/* Asks again where the text went, behind the compiler's back: else it writes down all that is between twice. */
#define QRINTF_PLACED_DIRECTLY                                    \
    __extension__({                                               \
        if (qrintf_short && !__builtin_constant_p(qrintf_direct)) \
            __asm__("" : "+r"(qrintf_direct));                    \
        !qrintf_short || qrintf_direct;                           \
    })

#define QRINTF_SNPRINTF_N(n, d, size, f, ...)                                                                  \
    QRINTF_OPEN(n, "snprintf", f, sizeof snprintf != 1, __VA_ARGS__)                                            \
    ({                                                                                                         \
        __label__ qrintf_slow;                                                                                 \
        const qrintf_size_t qrintf_object = QRINTF_OBJECT(d);                                                  \
        char *const qrintf_to = (d);                                                                           \
        const qrintf_size_t qrintf_size = (size);                                                              \
        char qrintf_scratch[qrintf_short ? qrintf_fixed + 1 : 1];                                              \
        QRINTF_PREPARE(n, __VA_ARGS__)                                                                         \
        if (QRINTF_UNLIKELY(qrintf_size > qrintf_object || !QRINTF_SIZE_FITS(qrintf_size)))                    \
            goto qrintf_slow;                                                                                  \
        QRINTF_PLACE(qrintf_to, qrintf_size)                                                                   \
        QRINTF_WRITE(n)                                                                                        \
        if (QRINTF_LIKELY(QRINTF_PLACED_DIRECTLY)) {                                                           \
            *qrintf_p = 0;                                                                                     \
            qrintf_result = (int)(qrintf_p - qrintf_to);                                                       \
        } else {                                                                                               \
            qrintf_result = qrintf_cut(qrintf_to, qrintf_size, qrintf_scratch, qrintf_p);                      \
        }                                                                                                      \
        if (0) {                                                                                               \
        qrintf_slow:                                                                                           \
            qrintf_result = QRINTF_SLOW_SNPRINTF(qrintf_to, qrintf_size, qrintf_object, f, QRINTF_VALUES_##n); \
        }                                                                                                      \
        QRINTF_RESULT;                                                                                         \
    }),                                                                                                        \
        QRINTF_PLAIN_SNPRINTF(d, size, f, __VA_ARGS__)                                                         \
    QRINTF_CLOSE

#define QRINTF_SPRINTF_N(n, d, f, ...)                                                           \
    QRINTF_OPEN(n, "sprintf", f, QRINTF_COPIES || sizeof sprintf != 1, __VA_ARGS__)              \
    ({                                                                                           \
        __label__ qrintf_slow;                                                                   \
        const qrintf_size_t qrintf_object = QRINTF_OBJECT(d);                                    \
        char *const qrintf_to = (d);                                                             \
        char qrintf_scratch[qrintf_short ? qrintf_fixed + 1 : 1];                                \
        QRINTF_PREPARE(n, __VA_ARGS__)                                                           \
        QRINTF_PLACE(qrintf_to, qrintf_object)                                                   \
        QRINTF_WRITE(n)                                                                          \
        if (QRINTF_LIKELY(QRINTF_PLACED_DIRECTLY)) {                                             \
            *qrintf_p = 0;                                                                       \
            qrintf_result = (int)(qrintf_p - qrintf_to);                                         \
        } else {                                                                                 \
            if ((qrintf_size_t)(qrintf_p - qrintf_scratch) >= qrintf_object)                     \
                goto qrintf_slow;                                                                \
            qrintf_result = qrintf_cut(qrintf_to, qrintf_object, qrintf_scratch, qrintf_p);      \
        }                                                                                        \
        if (0) {                                                                                 \
        qrintf_slow:                                                                             \
            qrintf_result = QRINTF_SLOW_SPRINTF(qrintf_to, qrintf_object, f, QRINTF_VALUES_##n); \
        }                                                                                        \
        QRINTF_RESULT;                                                                           \
    }),                                                                                          \
        QRINTF_PLAIN_SPRINTF(d, f, __VA_ARGS__)                                                  \
    QRINTF_CLOSE

/* A call that is left for the number of its arguments. */
#ifdef QRINTF_REPORT
#define QRINTF_LEAVE(function, outcome, plain) QRINTF_EXTENSION ({ QRINTF_NOTE(function, outcome, "") plain; })
#else
#define QRINTF_LEAVE(function, outcome, plain) plain
#endif

#define QRINTF_SNPRINTF_0(...) QRINTF_LEAVE("snprintf", QRINTF_NOT_NEEDED, QRINTF_PLAIN_SNPRINTF(__VA_ARGS__))
#define QRINTF_SNPRINTF_MANY(...) QRINTF_LEAVE("snprintf", QRINTF_NOT_COUNTED, QRINTF_PLAIN_SNPRINTF(__VA_ARGS__))
#define QRINTF_SNPRINTF_NONE(...) snprintf(__VA_ARGS__)
#define QRINTF_SPRINTF_0(...) QRINTF_LEAVE("sprintf", QRINTF_NOT_NEEDED, QRINTF_PLAIN_SPRINTF(__VA_ARGS__))
#define QRINTF_SPRINTF_MANY(...) QRINTF_LEAVE("sprintf", QRINTF_NOT_COUNTED, QRINTF_PLAIN_SPRINTF(__VA_ARGS__))
#define QRINTF_SPRINTF_NONE(...) sprintf(__VA_ARGS__)

/* QRINTF_KEEP_name says that the compiler is to know nothing about a function: -fno-builtin-name. */
#if !defined QRINTF_KEEP_snprintf && (!defined __GLIBC__ || defined __USE_ISOC99 || defined __USE_UNIX98)
#undef snprintf
#define snprintf(...) QRINTF_DISPATCH(QRINTF_SNPRINTF_, QRINTF_COUNT_3(__VA_ARGS__), __VA_ARGS__)
#endif
#ifndef QRINTF_KEEP_sprintf
#undef sprintf
#define sprintf(...) QRINTF_DISPATCH(QRINTF_SPRINTF_, QRINTF_COUNT_2(__VA_ARGS__), __VA_ARGS__)
#endif

#endif
