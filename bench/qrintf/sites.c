/*
 * sites.c: each row as one call in one function, for the compile time and the text of a call site.
 *
 * SITES=0 has none of them, 1 every row once, 2 every row twice.
 */
#include <stdio.h>

#include "rows.h"

#define SITE(name, format, fmt, ...)                           \
    int first_##name(char *out, const struct input *in);       \
    int first_##name(char *out, const struct input *in)        \
    {                                                          \
        return snprintf(out, OUT_SIZE, format, __VA_ARGS__);   \
    }
#define SITE_AGAIN(name, format, fmt, ...)                     \
    int second_##name(char *out, const struct input *in);      \
    int second_##name(char *out, const struct input *in)       \
    {                                                          \
        return snprintf(out, OUT_SIZE, format, __VA_ARGS__);   \
    }

int sites(char *out);
int sites(char *out)
{
    return puts(out);
}

#if SITES > 0
ROWS(SITE)
ROWS_OF_C(SITE)
#endif
#if SITES > 1
ROWS(SITE_AGAIN)
ROWS_OF_C(SITE_AGAIN)
#endif
