/* Valid code, which no warning may be shown for at any level of strictness. Only ever compiled. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct record {
    const char *name;
    unsigned small : 4;
    int number;
    double share;
};

int silent(char *b, size_t n, const struct record *record, const char *s, int width);
int inlined(char *b, size_t n, int value);

static __inline__ int helper(char *b, size_t n, int value)
{
    return snprintf(b, n, "%d", value);
}

int inlined(char *b, size_t n, int value)
{
    return helper(b, n, value) + helper(b, n, value + 1);
}

int silent(char *b, size_t n, const struct record *record, const char *s, int width)
{
    char local[64];
    int p = 0, length, result = 0, end = 0;
    unsigned char octet = (unsigned char)b[0];
    short small = (short)width;
    float single = 0.5f;
    size_t size = n;

    length = snprintf(b, n, "%s %u %d %.3f", record->name, (unsigned)record->small, record->number, record->share);
    if (length < 0 || (size_t)length >= n)
        return -1;
    snprintf(local, sizeof local, "%02x%02x", (unsigned)octet, (unsigned)octet);
    sprintf(local, "%d.%d.%d.%d", p, width & 0xff, small, octet);
    sprintf(local, "%c%c%s", 'a', octet, "z");
    if (snprintf(b, n, "%-*.*s|%*d", width, width, s, width, p) > 5)
        result++;
    snprintf(b, n, "%lu %ld %p", (unsigned long)size, (long)p, (const void *)b);
    snprintf(b, n, "%5.1f%% %g %e", record->share * 100, (double)single, record->share);
    snprintf(b, n, "%s", s);
    sprintf(b, "%s", s);
    snprintf(b, n, "nothing to format");
    snprintf(b, n, "%s: %s\r\n", s, record->name);
    (void)snprintf(b, n, "%.*s", width, s);
    result += snprintf(NULL, 0, "%d", width);
    printf("%d %s\n", width, s);
    fprintf(stderr, "%s:%d: %s\n", s, width, record->name);
    printf("%s\n", s);
    fprintf(stderr, "plain\n");
    end = result > 0 ? snprintf(b, n, "%x", (unsigned)result) : 0;
    return result + end + snprintf(local, sizeof local, "%d", snprintf(b, n, "%d", width));
}
