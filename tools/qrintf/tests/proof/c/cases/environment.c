/* What the environment of floating point and the locale do to text: rounding modes, decimal commas, a thread's locale.
 *
 * The argument names a locale with a decimal comma, if there is one to test. */
#define _GNU_SOURCE
#include "case.h"

#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <stdint.h>

static const double values[] = {0.4, 0.5, 0.6, -0.4, -0.5, 1.5, 2.5, 1.0 / 3, -1.0 / 3, 0.1, 123456.789, 9.995,
                                99999.95, 1e15 / 7, 1e22 / 7, 1e-7 / 3, 0.0, -0.0, 1e300, 5e-324, 2.675, 1.005,
                                0.045, 1234567.5, 0.000099995, 9.5, 999999.5, 4503599627370497.5};

enum { VALUES = sizeof values / sizeof values[0] };

static void all(double d)
{
    SAME("%f", d);
    SAME("%.0f", d);
    SAME("%.1f %.2f %.3f %.17f", d, d, d, d);
    SAME("%e %.0e %.3e", d, d, d);
    SAME("%g %.3g %.14g %.17g", d, d, d, d);
    SAME("%10.3f|%-10.2f|%+.1f|%010.1f", d, d, d, d);
    SAME("%#.0f %#g %F %G %E", d, d, d, d, d);
    SAME("%d %f %s", 7, d, "text");
    SAME("%d %s %x %c", 1234567, "text", 255, 'c');
}

static void every(void)
{
    int i;

    for (i = 0; i < VALUES; i++)
        all(values[i]);
}

static void rounding(void)
{
    static const int modes[] = {
        FE_TONEAREST,
#ifdef FE_UPWARD
        FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO,
#endif
    };
    unsigned i;

    for (i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        CHECK(fesetround(modes[i]) == 0);
        every();
        CHECK(fegetround() == modes[i]);
    }
    fesetround(FE_TONEAREST);
}

/* Formatting leaves the flags and the mode alone where the library does. */
static void flags(void)
{
    char text[100];

    feclearexcept(FE_ALL_EXCEPT);
    snprintf(text, sizeof text, "%d %s %x", 5, "text", 6u);
    CHECK(fetestexcept(FE_ALL_EXCEPT) == 0);
}

static void check_decimal(const char *expected)
{
    char text[40];

    snprintf(text, sizeof text, "%.2f", 1.25);
    check(strcmp(text, expected) == 0, text, __LINE__);
}

static void *in_thread(void *locale)
{
    check_decimal("1.25");
    uselocale((locale_t)locale);
    check_decimal("1,25");
    every();
    uselocale(LC_GLOBAL_LOCALE);
    check_decimal("1.25");
    return NULL;
}

static void locales(const char *name)
{
    locale_t comma = newlocale(LC_NUMERIC_MASK, name, (locale_t)0);
    pthread_t thread;

    CHECK(comma != (locale_t)0);
    if (comma == (locale_t)0)
        return;
    check_decimal("1.25");
    CHECK(pthread_create(&thread, NULL, in_thread, comma) == 0);
    pthread_join(thread, NULL);
    uselocale(comma);
    check_decimal("1,25");
    every();
    uselocale(LC_GLOBAL_LOCALE);
    check_decimal("1.25");
    CHECK(setlocale(LC_NUMERIC, name) != NULL);
    check_decimal("1,25");
    every();
    rounding();
    CHECK(setlocale(LC_NUMERIC, "C") != NULL);
    check_decimal("1.25");
    CHECK(setlocale(LC_ALL, name) != NULL);
    check_decimal("1,25");
    every();
    CHECK(setlocale(LC_ALL, "POSIX") != NULL);
    check_decimal("1.25");
    freelocale(comma);
}

int main(int count, char **arguments)
{
    every();
    rounding();
    flags();
    if (count > 1)
        locales(arguments[1]);
    return failures != 0;
}
