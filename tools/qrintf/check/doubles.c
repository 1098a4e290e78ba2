/*
 * doubles.c: %f %F %e %E %g %G of doubles of every magnitude, with random flags, widths and precisions, against libc.
 *
 * usage: doubles COUNT [SEED]
 *
 * Half of the values are drawn where digits are hard to tell: ties, powers of ten and their neighbours, short decimals,
 * integers, multiples of powers of five. Of what the runtime promises to write itself, next to nothing may be left to libc.
 */
#include <fenv.h>
#include <float.h>
#include <math.h>

#include "check.h"

static uint64_t compared, left;

static double of_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* A few steps to one side. */
static double nudged(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return of_bits(bits + check_below(7) - 3);
}

static double power_of_ten(void)
{
    char text[16];
    snprintf(text, sizeof text, "1e%d", (int)check_below(617) - 308);
    return nudged(strtod(text, NULL));
}

static double short_decimal(void)
{
    char text[48];
    snprintf(text, sizeof text, "%" PRIu64 "e%d", check_draw() >> 12 >> check_below(50), (int)check_below(60) - 40);
    return strtod(text, NULL);
}

/* An odd number of halves of a power of ten, in binary exactly: a tie at some digit. */
static double tie(void)
{
    uint64_t v = check_draw() >> (12 + check_below(40));
    for (unsigned int fives = check_below(20); fives > 0 && v < UINT64_C(1) << 50; fives--)
        v *= 5;
    return ldexp((double)(v | 1), (int)check_below(60) - 40);
}

static double value(void)
{
    double v;
    switch (check_below(16)) {
    case 0:
        return power_of_ten();
    case 1:
    case 2:
        return short_decimal();
    case 3:
    case 4:
        return tie();
    case 5:
        return (double)(int64_t)check_any();
    case 6:
        return nudged(ldexp(1, (int)check_below(2098) - 1074));
    case 7:
        return of_bits(check_draw() >> 12 >> check_below(52)); /* subnormal */
    case 8:
    case 9:
        v = (double)(int64_t)check_draw() / 9223372036854775808.0;
        return v * pow(10, (double)check_below(24) - 4);
    default:
        return of_bits(check_draw());
    }
}

/* True if the runtime promises to write it itself. */
static int promised(double v, char letter, unsigned int flags, int precision)
{
    if (precision < 0)
        precision = 6;
    switch (letter | 0x20) {
    case 'f':
        return fabs(v) < 0x1p64 && precision <= 18;
    case 'e':
        return precision <= 16;
    default: /* with '#', powers of ten are libc's */
        return precision <= 17 && !(flags & QRINTF_HASH);
    }
}

static void expect(double v, int width, int precision)
{
    static const char letters[] = "fFeEgG";
    char format[32], text[ROOM], what[160], tail[] = "*.*f";
    unsigned int flags;
    int length;
    char *end;
    tail[3] = letters[check_below(6)];
    flags = check_format(format, tail);
    end = qrintf_double(check_out(ROOM), v, (unsigned char)tail[3] | flags, width, precision);
    if (end == NULL) {
        left += promised(v, tail[3], flags, precision);
        return;
    }
    compared++;
    length = snprintf(text, sizeof text, format, width, precision, v);
    if (!check_same(text, (size_t)length, end, 96 + (size_t)abs(width))) {
        snprintf(what, sizeof what, "%s of %a, width %d, precision %d", format, v, width, precision);
        check_fail(what, text, end);
    }
}

/* Other than C's default is left to libc: here the rounding modes, in point.c the decimal point. */
static void rounding_is_left(void)
{
#ifdef FE_UPWARD
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int i = 0; i < 3; i++) {
        fesetround(modes[i]);
        if (qrintf_double(check_out(ROOM), 0.5, 'f', 0, 0) != NULL) {
            fprintf(stderr, "a rounding mode was not noticed\n");
            exit(1);
        }
    }
    fesetround(FE_TONEAREST);
#endif
}

int main(int count, char **arguments)
{
    uint64_t texts = count > 1 ? strtoull(arguments[1], NULL, 0) : 100000;
    check_state ^= count > 2 ? strtoull(arguments[2], NULL, 0) * 0x9e3779b97f4a7c15 : 0;
    rounding_is_left();
    expect(INFINITY, 0, -1);
    for (uint64_t i = 0; i < texts; i++) {
        int width = check_below(2) ? 0 : (int)check_below(80) - 30;
        int precision = check_below(3) ? (int)check_below(19) : (int)check_below(2) - 1;
        expect(value(), width, precision);
    }
    if (compared < texts / 2 || left > texts / 1000) {
        fprintf(stderr, "only %" PRIu64 " compared, %" PRIu64 " left to libc against the promise\n", compared, left);
        return 1;
    }
    printf("%" PRIu64 " doubles: no difference; %" PRIu64 " left to libc within the domain\n", compared, left);
    return 0;
}
