/* Counts the calls of the library that a file of sites makes: linked with `--wrap` for each of these names, so that the
 * objects under test are the ones a user gets, and only the linker's resolution differs. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

unsigned long harness_library_calls;

#define FORWARD(call)                                                                                                  \
    int result;                                                                                                        \
    va_list list;                                                                                                      \
    harness_library_calls++;                                                                                           \
    va_start(list, format);                                                                                            \
    result = call;                                                                                                     \
    va_end(list);                                                                                                      \
    return result

#define WRAP(name, call, ...)                                                                                          \
    int __wrap_##name(__VA_ARGS__, ...);                                                                               \
    int __wrap_##name(__VA_ARGS__, ...)                                                                                \
    {                                                                                                                  \
        FORWARD(call);                                                                                                 \
    }

WRAP(sprintf, vsprintf(s, format, list), char *s, const char *format)
WRAP(snprintf, vsnprintf(s, n, format, list), char *s, size_t n, const char *format)
WRAP(printf, vprintf(format, list), const char *format)
WRAP(fprintf, vfprintf(f, format, list), FILE *f, const char *format)
WRAP(dprintf, vdprintf(fd, format, list), int fd, const char *format)
WRAP(asprintf, vasprintf(s, format, list), char **s, const char *format)

#ifdef __GLIBC__
int __vsprintf_chk(char *, int, size_t, const char *, va_list);
int __vsnprintf_chk(char *, size_t, int, size_t, const char *, va_list);
int __vprintf_chk(int, const char *, va_list);
int __vfprintf_chk(FILE *, int, const char *, va_list);
int __vdprintf_chk(int, int, const char *, va_list);
int __vasprintf_chk(char **, int, const char *, va_list);

WRAP(__sprintf_chk, __vsprintf_chk(s, flag, size, format, list), char *s, int flag, size_t size, const char *format)
WRAP(__snprintf_chk, __vsnprintf_chk(s, n, flag, size, format, list), char *s, size_t n, int flag, size_t size,
     const char *format)
WRAP(__printf_chk, __vprintf_chk(flag, format, list), int flag, const char *format)
WRAP(__fprintf_chk, __vfprintf_chk(f, flag, format, list), FILE *f, int flag, const char *format)
WRAP(__dprintf_chk, __vdprintf_chk(fd, flag, format, list), int fd, int flag, const char *format)
WRAP(__asprintf_chk, __vasprintf_chk(s, flag, format, list), char **s, int flag, const char *format)
#endif
