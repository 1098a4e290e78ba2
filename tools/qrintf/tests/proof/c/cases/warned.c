/* Wrong calls, one a line: every compiler must warn of each as it does without us. Only ever compiled. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>

#define FORMAT "%d %s\n"
#define LOG(...) fprintf(stderr, __VA_ARGS__)

void wrong(char *b, size_t n, int i, long l, double d, const char *s, void *p, char **q);
void wrong(char *b, size_t n, int i, long l, double d, const char *s, void *p, char **q)
{
    snprintf(b, n, "%d", l);
    snprintf(b, n, "%s", i);
    snprintf(b, n, "%d %d", i);
    snprintf(b, n, "%d", i, i);
    snprintf(b, n, "text %lu and %s", i, s);
    snprintf(b, n, "%f", i);
    snprintf(b, n, "%d", d);
    snprintf(b, n, "%s", p);
    snprintf(b, n, "%c", s);
    snprintf(b, n, "%*d", l, i);
    snprintf(b, n, "%.*s", l, s);
    snprintf(b, n, "%y", i);
    snprintf(b, n, "%", i);
    snprintf(b, n, "");
    snprintf(b, n, "%-05d", i);
    snprintf(b, n, "% +d", i);
    snprintf(b, n, FORMAT, s, i);
    snprintf(b, n, "%" PRIu64 "-%d", i, l);
    snprintf(b, n, s);
    snprintf(b, n, "a\0b%d", i);
    snprintf(b, n, "%hhd %hd %ld %lld", d, d, i, i);
    snprintf(b, n, "%zu %td %jd", i, i, i);
    snprintf(b, n, "%2$s %1$d", s, i);
    sprintf(b, "%d", l);
    sprintf(b, "%s %s", s, i);
    sprintf(b, "%c", d);
    sprintf(b, s);
    printf("%d\n", l);
    printf("%s and %d\n", s, s);
    printf(s);
    fprintf(stderr, "%d\n", l);
    fprintf(stderr, "%s\n", &i);
    fprintf(stderr, s);
    dprintf(1, "%d\n", l);
    dprintf(1, "%s", d);
    asprintf(q, "%d\n", l);
    asprintf(q, "%s", d);
    LOG("%d %s\n", s, i);
    snprintf(b,
             n,
             "%d %s",
             l,
             i);
    snprintf(b, n, "%d", undeclared_name);
    snprintf(b, "%d", i);
    snprintf(s, n, "%d", i);
}
