/*
 * tables.c: the tables and estimates that doubles rest on, against integers of any size.
 *
 * Checked: every power of five that is kept, cut off and never rounded up; the place of each one's highest bit; the
 * power of ten that is guessed from a double's exponent; the texts of 0 to 255.
 */
#include "check.h"

#define LIMBS 48 /* of 32 bits: 5^340 needs 25, 2^1100 needs 35 */

struct big {
    uint32_t limb[LIMBS]; /* the lowest first */
};

static struct big one(void)
{
    struct big b = {{1}};
    return b;
}

static void multiply(struct big *b, uint64_t factor)
{
    qrintf_u128_t carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (qrintf_u128_t)b->limb[i] * factor;
        b->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0)
        abort();
}

static struct big power(uint32_t base, int exponent)
{
    struct big b = one();
    while (exponent-- > 0)
        multiply(&b, base);
    return b;
}

/* high * 2^64 + low. */
static struct big wide(uint64_t high, uint64_t low)
{
    struct big b = {{(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)}};
    return b;
}

static void shift(struct big *b, int bits)
{
    for (; bits >= 32; bits -= 32)
        multiply(b, (uint64_t)1 << 32);
    multiply(b, (uint64_t)1 << bits);
}

static int compare(const struct big *a, const struct big *b)
{
    for (int i = LIMBS - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static void must(int true_, const char *what, int which)
{
    if (!true_) {
        fprintf(stderr, "%s is wrong at %d\n", what, which);
        exit(1);
    }
}

/* 2^log2_five(k) <= 5^k < 2^(log2_five(k) + 1). */
static void places(int k)
{
    int place = qrintf_log2_five(k), size = k < 0 ? -k : k;
    struct big five = power(5, size), below = one(), above = one();
    if (k >= 0) {
        shift(&below, place);
        shift(&above, place + 1);
        must(compare(&below, &five) <= 0 && compare(&five, &above) < 0, "qrintf_log2_five", k);
    } else { /* 2^-(place + 1) < 5^-k <= 2^-place */
        shift(&below, -place - 1);
        shift(&above, -place);
        must(compare(&below, &five) < 0 && compare(&five, &above) <= 0, "qrintf_log2_five", k);
    }
}

/* coarse <= 5^(27 a) * 2^(127 - place) < coarse + 1. */
static void coarse(int a)
{
    const uint64_t *entry = (const uint64_t *)qrintf_coarse[a - QRINTF_COARSE_FIRST];
    int k = a * 27, right = 127 - qrintf_log2_five(k);
    struct big low = wide(entry[0], entry[1]), high, five = power(5, k < 0 ? -k : k);
    must(entry[0] >> 63 == 1, "the highest bit of qrintf_coarse", a);
    high = low;
    for (int i = 0; i < LIMBS && ++high.limb[i] == 0; i++)
        continue;
    if (k < 0) {
        struct big two = one();
        shift(&two, right);
        for (int i = 0; i < -k; i++) {
            multiply(&low, 5);
            multiply(&high, 5);
        }
        must(compare(&low, &two) <= 0 && compare(&two, &high) < 0, "qrintf_coarse", a);
    } else {
        shift(&five, right > 0 ? right : 0);
        shift(&low, right < 0 ? -right : 0);
        shift(&high, right < 0 ? -right : 0);
        must(compare(&low, &five) <= 0 && compare(&five, &high) < 0, "qrintf_coarse", a);
    }
}

/* 10^guess <= 2^e < 10^(guess + 1). */
static void guesses(int e)
{
    int guess = qrintf_log10_two(e);
    struct big two = one(), below, above;
    shift(&two, e < 0 ? -e : e);
    if (e >= 0) {
        below = power(10, guess);
        above = power(10, guess + 1);
        must(compare(&below, &two) <= 0 && compare(&two, &above) < 0, "the guessed power of ten", e);
    } else { /* 10^-(guess + 1) < 2^-e <= 10^-guess */
        below = power(10, -guess - 1);
        above = power(10, -guess);
        must(compare(&below, &two) < 0 && compare(&two, &above) <= 0, "the guessed power of ten", e);
    }
}

int main(void)
{
    for (int k = -360; k <= 360; k++)
        places(k);
    for (int b = 0; b <= QRINTF_FIVES; b++) {
        struct big five = power(5, b), entry = wide(0, qrintf_fives[b]);
        shift(&five, 63 - qrintf_log2_five(b));
        must(compare(&five, &entry) == 0, "qrintf_fives", b);
    }
    for (int a = QRINTF_COARSE_FIRST; a <= -QRINTF_COARSE_FIRST; a++)
        coarse(a);
    for (int e = -1074; e <= 1024; e++)
        guesses(e);
    for (int v = 0; v < 256; v++) {
        char text[8];
        snprintf(text, sizeof text, "%d", v);
        must(strcmp(qrintf_bytes[v], text) == 0, "qrintf_bytes", v);
    }
    printf("every power of five, every guess, every byte: right\n");
    return 0;
}
