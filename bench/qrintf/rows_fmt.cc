// rows_fmt.cc: the rows through {fmt}, its formats compiled too, bounded as snprintf is.
#include <fmt/compile.h>

#include "rows.h"

#define KEEP(out) __asm__ __volatile__("" : : "r"(out) : "memory")

#define ROW_FUNCTION(name, format, fmt_format, ...)                                             \
    static size_t name##_fmt(char *out, const input *in, size_t count)                          \
    {                                                                                           \
        size_t total = 0;                                                                       \
        for (const input *end = in + count; in != end; in++) {                                  \
            total += fmt::format_to_n(out, OUT_SIZE, FMT_COMPILE(fmt_format), __VA_ARGS__).size; \
            KEEP(out);                                                                          \
        }                                                                                       \
        return total;                                                                           \
    }
#define ROW_ENTRY(name, format, fmt_format, ...) {#name, fmt_format, name##_fmt},
#define NO_ENTRY(name, format, fmt_format, ...) {#name, nullptr, nullptr},

ROWS(ROW_FUNCTION)

extern const row rows_fmt[] = {ROWS(ROW_ENTRY) ROWS_OF_C(NO_ENTRY)};
