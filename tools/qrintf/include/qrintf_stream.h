/*
 * qrintf_stream.h: printf, fprintf, dprintf and asprintf. See qrintf.h, and qrintf_site.h for what becomes of a call.
 *
 * The text is written on the stack, and goes to the stream, the descriptor or a new allocation in one piece, as libc's own
 * does; so it is never mixed with what other threads print. A text that may be longer than QRINTF_STACK_MAX is libc's.
 */
#ifndef QRINTF_STREAM_H
#define QRINTF_STREAM_H

#include "qrintf_site.h"
#include "qrintf_target.h"

#define QRINTF_STACK_MAX 512

/* The stream of printf, whatever the program makes of the names from here on. */
typedef FILE qrintf_file_t;
QRINTF_INLINE qrintf_file_t *qrintf_stdout(void)
{
    return stdout;
}

/*
 * One call that prints to `target`, of a type: `finish` takes what is written, `slow` and `plain` are libc's function
 * under our name and as it was called. Formats that the compiler turns into puts and the like are left to it.
 */
#define QRINTF_PUTS \
    (__builtin_strcmp(qrintf_format, "%s\n") == 0 || __builtin_strcmp(qrintf_format, "%c") == 0 || QRINTF_COPIES)
#define QRINTF_PRINT(n, function, left, type, target, finish, slow, plain, f, ...)                                    \
    QRINTF_OPEN(n, function, f, left, __VA_ARGS__)                                                                    \
    ({                                                                                                                \
        __label__ qrintf_slow;                                                                                        \
        type const qrintf_to = (target);                                                                              \
        char qrintf_scratch[qrintf_varies || qrintf_fixed >= QRINTF_STACK_MAX ? QRINTF_STACK_MAX : qrintf_fixed + 1]; \
        QRINTF_PREPARE(n, __VA_ARGS__)                                                                                \
        if (QRINTF_UNLIKELY(qrintf_room >= sizeof qrintf_scratch))                                                    \
            goto qrintf_slow;                                                                                         \
        qrintf_p = qrintf_scratch;                                                                                    \
        QRINTF_WRITE(n)                                                                                               \
        qrintf_result = finish(qrintf_to, qrintf_scratch, qrintf_p);                                                  \
        if (0) {                                                                                                      \
        qrintf_slow:                                                                                                  \
            qrintf_result = slow(qrintf_to, f, QRINTF_VALUES_##n);                                                    \
        }                                                                                                             \
        QRINTF_RESULT;                                                                                                \
    }),                                                                                                               \
        plain(target, f, __VA_ARGS__)                                                                                 \
    QRINTF_CLOSE

#define QRINTF_PRINTF_N(n, f, ...)                                                                                     \
    QRINTF_PRINT(n, "printf", QRINTF_PUTS || sizeof printf != 1, qrintf_file_t *, qrintf_stdout(), qrintf_to_stream, qrintf_libc_fprintf, QRINTF_PLAIN_PRINTF, f, \
                 __VA_ARGS__)
#define QRINTF_FPRINTF_N(n, stream, f, ...)                                                                            \
    QRINTF_PRINT(n, "fprintf", QRINTF_PUTS || sizeof fprintf != 1, qrintf_file_t *, stream, qrintf_to_stream, qrintf_libc_fprintf, QRINTF_PLAIN_FPRINTF, f, \
                 __VA_ARGS__)
#define QRINTF_DPRINTF_N(n, descriptor, f, ...)                                                                        \
    QRINTF_PRINT(n, "dprintf", sizeof dprintf != 1, int, descriptor, qrintf_to_descriptor, qrintf_libc_dprintf, QRINTF_PLAIN_DPRINTF, f, \
                 __VA_ARGS__)
#define QRINTF_ASPRINTF_N(n, string, f, ...)                                                                           \
    QRINTF_PRINT(n, "asprintf", sizeof asprintf != 1, char **, string, qrintf_to_allocation, qrintf_libc_asprintf, QRINTF_PLAIN_ASPRINTF, f, \
                 __VA_ARGS__)

/* The call as it was written; QRINTF_PLAIN_PRINTF has the stream that printf does not name. */
#if defined __USE_FORTIFY_LEVEL && __USE_FORTIFY_LEVEL > 0 && defined printf
#define QRINTF_PLAIN_PRINTF(stream, ...) __printf_chk(__USE_FORTIFY_LEVEL - 1, __VA_ARGS__)
#define QRINTF_PLAIN_FPRINTF(stream, ...) __fprintf_chk(stream, __USE_FORTIFY_LEVEL - 1, __VA_ARGS__)
#else
#define QRINTF_PLAIN_PRINTF(stream, ...) printf(__VA_ARGS__)
#define QRINTF_PLAIN_FPRINTF fprintf
#endif
#if defined __USE_FORTIFY_LEVEL && __USE_FORTIFY_LEVEL > 0 && defined dprintf
#define QRINTF_PLAIN_DPRINTF(descriptor, ...) __dprintf_chk(descriptor, __USE_FORTIFY_LEVEL - 1, __VA_ARGS__)
#else
#define QRINTF_PLAIN_DPRINTF dprintf
#endif
#if defined __USE_FORTIFY_LEVEL && __USE_FORTIFY_LEVEL > 0 && defined asprintf
#define QRINTF_PLAIN_ASPRINTF(string, ...) __asprintf_chk(string, __USE_FORTIFY_LEVEL - 1, __VA_ARGS__)
#else
#define QRINTF_PLAIN_ASPRINTF asprintf
#endif

#define QRINTF_PRINTF_0(...) QRINTF_LEAVE("printf", QRINTF_NOT_NEEDED, QRINTF_PLAIN_PRINTF(stdout, __VA_ARGS__))
#define QRINTF_PRINTF_MANY(...) QRINTF_LEAVE("printf", QRINTF_NOT_COUNTED, QRINTF_PLAIN_PRINTF(stdout, __VA_ARGS__))
#define QRINTF_FPRINTF_0(...) QRINTF_LEAVE("fprintf", QRINTF_NOT_NEEDED, QRINTF_PLAIN_FPRINTF(__VA_ARGS__))
#define QRINTF_FPRINTF_MANY(...) QRINTF_LEAVE("fprintf", QRINTF_NOT_COUNTED, QRINTF_PLAIN_FPRINTF(__VA_ARGS__))
#define QRINTF_FPRINTF_NONE(...) fprintf(__VA_ARGS__)
#define QRINTF_DPRINTF_0(...) QRINTF_LEAVE("dprintf", QRINTF_NOT_NEEDED, QRINTF_PLAIN_DPRINTF(__VA_ARGS__))
#define QRINTF_DPRINTF_MANY(...) QRINTF_LEAVE("dprintf", QRINTF_NOT_COUNTED, QRINTF_PLAIN_DPRINTF(__VA_ARGS__))
#define QRINTF_DPRINTF_NONE(...) dprintf(__VA_ARGS__)
#define QRINTF_ASPRINTF_0(...) QRINTF_LEAVE("asprintf", QRINTF_NOT_NEEDED, QRINTF_PLAIN_ASPRINTF(__VA_ARGS__))
#define QRINTF_ASPRINTF_MANY(...) QRINTF_LEAVE("asprintf", QRINTF_NOT_COUNTED, QRINTF_PLAIN_ASPRINTF(__VA_ARGS__))
#define QRINTF_ASPRINTF_NONE(...) asprintf(__VA_ARGS__)

#ifndef QRINTF_KEEP_printf
#undef printf
#define printf(...) QRINTF_DISPATCH(QRINTF_PRINTF_, QRINTF_COUNT_1(__VA_ARGS__), __VA_ARGS__)
#endif
#ifndef QRINTF_KEEP_fprintf
#undef fprintf
#define fprintf(...) QRINTF_DISPATCH(QRINTF_FPRINTF_, QRINTF_COUNT_2(__VA_ARGS__), __VA_ARGS__)
#endif
/* Only where <stdio.h> declares them: elsewhere the names are the program's. */
#if !defined QRINTF_KEEP_dprintf && (defined __USE_XOPEN2K8 || !defined __GLIBC__)
#undef dprintf
#define dprintf(...) QRINTF_DISPATCH(QRINTF_DPRINTF_, QRINTF_COUNT_2(__VA_ARGS__), __VA_ARGS__)
#endif
#if !defined QRINTF_KEEP_asprintf \
    && (defined __USE_GNU || (!defined __GLIBC__ && (defined _GNU_SOURCE || defined _BSD_SOURCE)))
#undef asprintf
#define asprintf(...) QRINTF_DISPATCH(QRINTF_ASPRINTF_, QRINTF_COUNT_2(__VA_ARGS__), __VA_ARGS__)
#endif

#endif
