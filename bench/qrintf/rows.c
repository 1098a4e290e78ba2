/* rows.c: the rows through snprintf. Built twice: by the plain compiler (SIDE=libc) and through qrintf-cc (SIDE=ours). */
#include <stdio.h>

#include "rows.h"

#define JOIN(a, b) a##_##b
#define NAME(a, b) JOIN(a, b)
#define KEEP(out) __asm__ __volatile__("" : : "r"(out) : "memory")

#define ROW_FUNCTION(name, format, fmt, ...)                                              \
    static size_t NAME(name, SIDE)(char *out, const struct input *in, size_t count)       \
    {                                                                                     \
        size_t total = 0;                                                                 \
        for (const struct input *end = in + count; in != end; in++) {                     \
            total += (size_t)snprintf(out, OUT_SIZE, format, __VA_ARGS__);                \
            KEEP(out);                                                                    \
        }                                                                                 \
        return total;                                                                     \
    }
#define ROW_ENTRY(name, format, fmt, ...) {#name, format, NAME(name, SIDE)},

ROWS(ROW_FUNCTION)
ROWS_OF_C(ROW_FUNCTION)

const struct row NAME(rows, SIDE)[] = {ROWS(ROW_ENTRY) ROWS_OF_C(ROW_ENTRY)};
const size_t NAME(count, SIDE) = sizeof NAME(rows, SIDE) / sizeof *NAME(rows, SIDE);
