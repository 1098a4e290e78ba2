/*
 * qrintf_target.h: where a text goes that was written on the stack: a stream, a descriptor, a new allocation. See qrintf.h.
 *
 * Each function takes the text between `from` and `end`, and returns its length, or -1 as libc would. An empty text is
 * libc's: it fails where the target cannot be written to.
 */
#ifndef QRINTF_TARGET_H
#define QRINTF_TARGET_H

#include "qrintf_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif
extern int qrintf_libc_printf(const char *, ...) __asm__("printf");
extern int qrintf_libc_fprintf(FILE *, const char *, ...) __asm__("fprintf");
extern int qrintf_libc_dprintf(int, const char *, ...) __asm__("dprintf");
extern int qrintf_libc_asprintf(char **, const char *, ...) __asm__("asprintf");
extern qrintf_size_t qrintf_libc_fwrite(const void *, qrintf_size_t, qrintf_size_t, FILE *) __asm__("fwrite");
extern __PTRDIFF_TYPE__ qrintf_libc_write(int, const void *, qrintf_size_t) __asm__("write");
extern void *qrintf_libc_malloc(qrintf_size_t) __asm__("malloc");
#ifdef __cplusplus
}
#endif

#define qrintf_to_stream QRINTF_VERSIONED(qrintf_to_stream)
QRINTF_RUNTIME_BRIEF(qrintf_to_stream)
int qrintf_to_stream(FILE *stream, const char *from, const char *end)
{
    qrintf_size_t length = (qrintf_size_t)(end - from);
    QRINTF_SHARE(qrintf_to_stream)
    if (length == 0)
        return qrintf_libc_fprintf(stream, "%s", "");
    return qrintf_libc_fwrite(from, 1, length, stream) == length ? (int)length : -1;
}

#define qrintf_to_descriptor QRINTF_VERSIONED(qrintf_to_descriptor)
QRINTF_RUNTIME_BRIEF(qrintf_to_descriptor)
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

#define qrintf_to_allocation QRINTF_VERSIONED(qrintf_to_allocation)
QRINTF_RUNTIME_BRIEF(qrintf_to_allocation)
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

#endif
