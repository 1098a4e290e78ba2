/* Results that are errors or nearly: lengths at INT_MAX, sizes above it, widths that overflow, destinations of no bytes. */
#include "case.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>

enum { ROOM = 70000 };

static char our_room[ROOM], their_room[ROOM];
/* These hide the objects' sizes from the compiler, so that larger sizes do not abort. */
static char *volatile ours = our_room;
static char *volatile theirs = their_room;

/* Both calls, with errno and the whole destination. */
#define EQUAL(size, ...)                                                                                               \
    do {                                                                                                               \
        int one_, other_, error_;                                                                                      \
        memset(ours, 'x', ROOM);                                                                                \
        memset(theirs, 'x', ROOM);                                                                            \
        errno = 77;                                                                                                    \
        one_ = snprintf(ours, size, __VA_ARGS__);                                                                      \
        error_ = errno;                                                                                                \
        errno = 77;                                                                                                    \
        other_ = real_snprintf(theirs, size, __VA_ARGS__);                                                             \
        check(one_ == other_ && error_ == errno && memcmp(ours, theirs, ROOM) == 0, #size ", " #__VA_ARGS__,    \
              __LINE__);                                                                                               \
    } while (0)

static void widths(int one, int huge, int lowest)
{
    EQUAL(100, "%.*d", lowest, one);
    EQUAL(100, "%.*s", huge, "text");
    EQUAL(100, "%.*s", lowest, "text");
    EQUAL(100, "%2147483648d", one);
    EQUAL(100, "%99999999999999999999d", one);
    EQUAL(100, "%.2147483648d", one);
    EQUAL(100, "%1000d", one);
    EQUAL(5000, "%4096d|%-4097x|", one, one);
    EQUAL(5000, "%.4096d|%.300x|", one, one);
    EQUAL(70000, "%65536d", one);
    EQUAL(2000, "%.1074f", 5e-324);
    EQUAL(2000, "%.1100e", 1.7976931348623157e308);
    EQUAL(2000, "%.400f %g", 0.1, 0.1);
}

static void sizes(size_t zero, size_t one, size_t all, int value)
{
    EQUAL(zero, "%d", value);
    EQUAL(one, "%d", value);
    EQUAL(zero, "%s", "text");
    EQUAL(one, "%s", "text");
    EQUAL(zero, "%s%.3f", "", 1.5);
    EQUAL(one, "%s", "");
    EQUAL(all, "%d-%s", value, "rest");
    EQUAL((size_t)INT_MAX, "%d-%s", value, "rest");
    EQUAL((size_t)INT_MAX + 1, "%d-%s", value, "rest");
    EQUAL((size_t)UINT_MAX + 1, "%d-%s", value, "rest");
    EQUAL((size_t)UINT_MAX + 3, "%d-%s", value, "rest");
    CHECK(snprintf(NULL, zero, "%d-%s", value, "rest") == real_snprintf(NULL, 0, "%d-%s", value, "rest"));
    CHECK(snprintf(NULL, 0, "%*d", 4000, value) == 4000);
}

static void strings(void)
{
    static char large[66000];
    const char *volatile nothing = NULL;

    memset(large, 'l', sizeof large - 1);
    EQUAL(70000, "%s", large);
    EQUAL(70000, "<%s>", large);
    EQUAL(66000, "%s!", large);
    EQUAL(1000, "%s%d", large, 5);
    EQUAL(100, "%.50s|%.*s", large, 20, large);
    EQUAL(100, "%s|%.5s|%.6s|%10s|%-10s|", nothing, nothing, nothing, nothing, nothing);
    EQUAL(100, "%.0s|%5.0s|%.*s|", nothing, nothing, 0, nothing);
    EQUAL(100, "%p|%20p|%-20p|", (void *)nothing, (void *)nothing, (void *)nothing);
}

int main(void)
{
    volatile int one = 1, huge = INT_MAX, lowest = INT_MIN;
    volatile size_t zero = 0, single = 1, all = SIZE_MAX;

    widths(one, huge, lowest);
    sizes(zero, single, all, one);
    strings();
    return failures != 0;
}
