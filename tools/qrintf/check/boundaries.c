/*
 * boundaries.c: numbers of 64 bits where writers go wrong, against libc and against division digit by digit.
 *
 * usage: boundaries NEAR RANDOM
 *
 * NEAR numbers on both sides of every power of ten and of two and of their multiples; RANDOM ones of any magnitude.
 */
#include "check.h"

static uint64_t compared;

static int slowly(char *text, uint64_t v, unsigned int base)
{
    char digits[64];
    int count = 0;
    do
        digits[count++] = "0123456789abcdef"[v % base];
    while ((v /= base) != 0);
    for (int i = 0; i < count; i++)
        text[i] = digits[count - 1 - i];
    text[count] = 0;
    return count;
}

static void expect(const char *what, const char *text, int length, const char *end)
{
    compared++;
    if (!check_same(text, (size_t)length, end, 32))
        check_fail(what, text, end);
}

static void number(uint64_t v)
{
    char text[64];
    int length = slowly(text, v, 10);
    expect("u64", text, length, qrintf_u64(check_out(32), v));
    length = slowly(text, v, 16);
    expect("hex64", text, length, qrintf_hex64(check_out(32), v, 0));
    length = slowly(text, v, 8);
    expect("octal", text, length, qrintf_octal(check_out(32), v));
    length = snprintf(text, sizeof text, "%" PRId64, (int64_t)v);
    expect("i64", text, length, qrintf_i64(check_out(32), (int64_t)v));
    length = snprintf(text, sizeof text, "%" PRIX64, v);
    expect("HEX64", text, length, qrintf_hex64(check_out(32), v, 1));
}

static void around(uint64_t centre, unsigned int near)
{
    for (unsigned int i = 0; i <= near; i++) {
        number(centre + i);
        number(centre - i);
    }
}

int main(int count, char **arguments)
{
    unsigned int near;
    uint64_t random;
    if (count != 3) {
        fprintf(stderr, "usage: boundaries NEAR RANDOM\n");
        return 2;
    }
    near = (unsigned int)atoi(arguments[1]);
    random = strtoull(arguments[2], NULL, 0);
    for (int power = 0; power < 64; power++)
        around((uint64_t)1 << power, near);
    for (uint64_t power = 1;; power *= 10) {
        for (uint64_t factor = 1; factor < 20; factor++)
            if (factor <= UINT64_MAX / power)
                around(power * factor, near);
        if (power > UINT64_MAX / 10)
            break;
    }
    for (uint64_t i = 0; i < random; i++)
        number(check_any());
    printf("%" PRIu64 " texts of 64-bit numbers: no difference\n", compared);
    return 0;
}
