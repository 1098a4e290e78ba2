/*
 * qrintf_stream.h: printf, fprintf, dprintf and asprintf. See qrintf.h, and qrintf_site.h for what becomes of a call.
 *
 * The text is written on the stack, and goes to the stream, the descriptor or a new allocation in one piece, as libc's own
 * does; so it is never mixed with what other threads print. A text that may be longer than QRINTF_STACK_MAX is libc's.
 */
#ifndef QRINTF_STREAM_H
#define QRINTF_STREAM_H

#include "qrintf_site.h"

#define QRINTF_STACK_MAX 512

extern int qrintf_libc_printf(const char *, ...) __asm__("printf");
extern int qrintf_libc_fprintf(FILE *, const char *, ...) __asm__("fprintf");
extern int qrintf_libc_dprintf(int, const char *, ...) __asm__("dprintf");
extern int qrintf_libc_asprintf(char **, const char *, ...) __asm__("asprintf");
extern qrintf_size_t qrintf_libc_fwrite(const void *, qrintf_size_t, qrintf_size_t, FILE *) __asm__("fwrite");
extern __PTRDIFF_TYPE__ qrintf_libc_write(int, const void *, qrintf_size_t) __asm__("write");
extern void *qrintf_libc_malloc(qrintf_size_t) __asm__("malloc");

/*
 * Each takes the text between `from` and `end`, and returns its length, or -1 as libc would. An empty text is libc's: it
 * fails where the target cannot be written to.
 */
QRINTF_RUNTIME(qrintf_to_stream)
int qrintf_to_stream(FILE *stream, const char *from, const char *end)
{
    qrintf_size_t length = (qrintf_size_t)(end - from);
    QRINTF_SHARE(qrintf_to_stream)
    if (length == 0)
        return qrintf_libc_fprintf(stream, "%s", "");
    return qrintf_libc_fwrite(from, 1, length, stream) == length ? (int)length : -1;
}

QRINTF_RUNTIME(qrintf_to_descriptor)
int qrintf_to_descriptor(int descriptor, const char *from, const char *end)
{
    const char *rest = from;
    QRINTF_SHARE(qrintf_to_descriptor)
    if (from == end)
        return qrintf_libc_dprintf(descriptor, "%s", "");
    while (rest < end) {
        __PTRDIFF_TYPE__ written = qrintf_libc_write(descriptor, rest, (qrintf_size_t)(end - rest));
        if (written < 0)
            return -1;
        rest += written;
    }
    return (int)(end - from);
}

QRINTF_RUNTIME(qrintf_to_allocation)
int qrintf_to_allocation(char **string, const char *from, const char *end)
{
    qrintf_size_t length = (qrintf_size_t)(end - from);
    char *copy = (char *)qrintf_libc_malloc(length + 1);
    QRINTF_SHARE(qrintf_to_allocation)
    if (copy == (char *)0)
        return -1;
    *qrintf_copy(copy, from, length) = 0;
    *string = copy;
    return (int)length;
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
        qrintf_result;                                                                                                \
    }),                                                                                                               \
        plain(target, f, __VA_ARGS__)                                                                                 \
    QRINTF_CLOSE

#define QRINTF_PRINTF_N(n, f, ...)                                                                                     \
    QRINTF_PRINT(n, "printf", QRINTF_PUTS, FILE *, stdout, qrintf_to_stream, qrintf_libc_fprintf, QRINTF_PLAIN_PRINTF, f, \
                 __VA_ARGS__)
#define QRINTF_FPRINTF_N(n, stream, f, ...)                                                                            \
    QRINTF_PRINT(n, "fprintf", QRINTF_PUTS, FILE *, stream, qrintf_to_stream, qrintf_libc_fprintf, QRINTF_PLAIN_FPRINTF, f, \
                 __VA_ARGS__)
#define QRINTF_DPRINTF_N(n, descriptor, f, ...)                                                                        \
    QRINTF_PRINT(n, "dprintf", 0, int, descriptor, qrintf_to_descriptor, qrintf_libc_dprintf, QRINTF_PLAIN_DPRINTF, f, \
                 __VA_ARGS__)
#define QRINTF_ASPRINTF_N(n, string, f, ...)                                                                           \
    QRINTF_PRINT(n, "asprintf", 0, char **, string, qrintf_to_allocation, qrintf_libc_asprintf, QRINTF_PLAIN_ASPRINTF, f, \
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

#undef printf
#undef fprintf
#define printf(...) QRINTF_DISPATCH(QRINTF_PRINTF_, QRINTF_COUNT_1(__VA_ARGS__), __VA_ARGS__)
#define fprintf(...) QRINTF_DISPATCH(QRINTF_FPRINTF_, QRINTF_COUNT_2(__VA_ARGS__), __VA_ARGS__)
/* Only where <stdio.h> declares them: elsewhere the names are the program's. */
#if defined __USE_XOPEN2K8 || !defined __GLIBC__
#undef dprintf
#define dprintf(...) QRINTF_DISPATCH(QRINTF_DPRINTF_, QRINTF_COUNT_2(__VA_ARGS__), __VA_ARGS__)
#endif
#if defined __USE_GNU || (!defined __GLIBC__ && (defined _GNU_SOURCE || defined _BSD_SOURCE))
#undef asprintf
#define asprintf(...) QRINTF_DISPATCH(QRINTF_ASPRINTF_, QRINTF_COUNT_2(__VA_ARGS__), __VA_ARGS__)
#endif

#endif
