/*
 * qrintf_runtime_string.h: strings, characters and pointers. See qrintf_runtime.h.
 *
 * A null pointer: glibc's text is written here; any other libc is called to write its own.
 */
#ifndef QRINTF_RUNTIME_STRING_H
#define QRINTF_RUNTIME_STRING_H

#include "qrintf_runtime_hex.h"

#ifdef __cplusplus
extern "C" {
#endif
extern qrintf_size_t qrintf_strnlen(const char *, qrintf_size_t) __asm__("strnlen");
#ifdef __cplusplus
}
#endif

/* The length that %s or %.Ns of a string that is not null has: never a byte past `precision` is read, if that is not negative. */
QRINTF_INLINE qrintf_size_t qrintf_length(const char *s, int precision)
{
    return precision < 0 ? __builtin_strlen(s) : qrintf_strnlen(s, (qrintf_size_t)precision);
}

/* The text of a null pointer given to %s; NULL if libc has to write it. */
QRINTF_INLINE const char *qrintf_null_text(int precision)
{
#ifdef QRINTF_GLIBC
    return precision < 0 || precision >= 6 ? "(null)" : "";
#else
    (void)precision;
    return (const char *)0;
#endif
}

/* %s without width: the caller has measured `length` of it. */
#define qrintf_string(p, s, length) qrintf_copy(p, s, length)

/* %10s, %-10s; a negative width means QRINTF_MINUS. */
#define qrintf_string_padded QRINTF_VERSIONED(qrintf_string_padded)
QRINTF_RUNTIME_BRIEF(qrintf_string_padded)
char *qrintf_string_padded(char *p, const char *s, qrintf_size_t length, unsigned int spec, int width)
{
    int pad;
    QRINTF_SHARE(qrintf_string_padded)
    if (width < 0) {
        spec |= QRINTF_MINUS;
        width = -width;
    }
    pad = length < (qrintf_size_t)width ? width - (int)length : 0;
    if (spec & QRINTF_MINUS)
        return qrintf_repeat(qrintf_copy(p, s, length), ' ', pad);
    return qrintf_copy(qrintf_repeat(p, ' ', pad), s, length);
}

/* %p. NULL where libc has to write it: everywhere but in glibc. */
#define qrintf_pointer QRINTF_VERSIONED(qrintf_pointer)
QRINTF_RUNTIME_BRIEF(qrintf_pointer)
char *qrintf_pointer(char *p, const volatile void *pointer, unsigned int spec, int width, int precision)
{
    QRINTF_SHARE(qrintf_pointer)
#ifdef QRINTF_GLIBC
    if (pointer == (const volatile void *)0)
        return qrintf_string_padded(p, "(nil)", 5, spec, width);
    if (width == 0 && precision < 0 && !(spec & (QRINTF_PLUS | QRINTF_SPACE))) {
        qrintf_store16(p, '0' | 'x' << 8);
        return qrintf_hex64(p + 2, (qrintf_u64_t)(__UINTPTR_TYPE__)pointer, 0);
    }
    return qrintf_integer(p, (qrintf_u64_t)(__UINTPTR_TYPE__)pointer, 0, 'p' | (spec & ~0xffu), width, precision);
#else
    (void)p, (void)pointer, (void)spec, (void)width, (void)precision;
    return (char *)0;
#endif
}

#endif
