/*
 * qrintf_runtime_scale.h: a double times a power of ten, rounded to an integer as libc rounds. See qrintf_runtime.h.
 *
 * The digits that printf shows are those of round(v * 10^k), half to even, of the exact binary value. v is m * 2^e with
 * 64 bits of m; 10^k is 2^k times a power of five, kept to 128 bits. Up to 5^27 that is exact. Beyond it the
 * product is short by less than QRINTF_SCALE_ERROR units of its last place, and never too large. So either the digits
 * are certain, or the value is a tie, which can be told exactly, or, about once in 2^60 values, libc has to say.
 * docs/guide/digits.md has the proof.
 */
#ifndef QRINTF_RUNTIME_SCALE_H
#define QRINTF_RUNTIME_SCALE_H

#include "qrintf_runtime_base.h"

#ifdef __SIZEOF_INT128__

__extension__ typedef unsigned __int128 qrintf_u128_t;

#define QRINTF_FIVES 27
#define QRINTF_COARSE_FIRST (-12)
#define QRINTF_SCALE_ERROR 4

#define qrintf_decimal QRINTF_VERSIONED(qrintf_decimal)

/* 5^b for b from 0 to 27, shifted until the highest bit is set. */
QRINTF_TABLE(qrintf_decimal, qrintf_fives) const qrintf_u64_t qrintf_fives[QRINTF_FIVES + 1] = {
    QRINTF_U64(0x8000000000000000), QRINTF_U64(0xa000000000000000), QRINTF_U64(0xc800000000000000),
    QRINTF_U64(0xfa00000000000000), QRINTF_U64(0x9c40000000000000), QRINTF_U64(0xc350000000000000),
    QRINTF_U64(0xf424000000000000), QRINTF_U64(0x9896800000000000), QRINTF_U64(0xbebc200000000000),
    QRINTF_U64(0xee6b280000000000), QRINTF_U64(0x9502f90000000000), QRINTF_U64(0xba43b74000000000),
    QRINTF_U64(0xe8d4a51000000000), QRINTF_U64(0x9184e72a00000000), QRINTF_U64(0xb5e620f480000000),
    QRINTF_U64(0xe35fa931a0000000), QRINTF_U64(0x8e1bc9bf04000000), QRINTF_U64(0xb1a2bc2ec5000000),
    QRINTF_U64(0xde0b6b3a76400000), QRINTF_U64(0x8ac7230489e80000), QRINTF_U64(0xad78ebc5ac620000),
    QRINTF_U64(0xd8d726b7177a8000), QRINTF_U64(0x878678326eac9000), QRINTF_U64(0xa968163f0a57b400),
    QRINTF_U64(0xd3c21bcecceda100), QRINTF_U64(0x84595161401484a0), QRINTF_U64(0xa56fa5b99019a5c8),
    QRINTF_U64(0xcecb8f27f4200f3a)
};

/* The first 128 bits of 5^(27 a) for a from -12 to 12, the rest cut off. */
QRINTF_TABLE(qrintf_decimal, qrintf_coarse) const qrintf_u64_t qrintf_coarse[25][2] = {
    {QRINTF_U64(0xcf42894a5dce35ea), QRINTF_U64(0x52064cac828675b9)}, /* 5^-324 */
    {QRINTF_U64(0xa76c582338ed2621), QRINTF_U64(0xaf2af2b80af6f24e)}, /* 5^-297 */
    {QRINTF_U64(0x873e4f75e2224e68), QRINTF_U64(0x5a7744a6e804a291)}, /* 5^-270 */
    {QRINTF_U64(0xda7f5bf590966848), QRINTF_U64(0xaf39a475506a899e)}, /* 5^-243 */
    {QRINTF_U64(0xb080392cc4349dec), QRINTF_U64(0xbd8d794d96aacfb3)}, /* 5^-216 */
    {QRINTF_U64(0x8e938662882af53e), QRINTF_U64(0x547eb47b7282ee9c)}, /* 5^-189 */
    {QRINTF_U64(0xe65829b3046b0afa), QRINTF_U64(0x0cb4a5a3112a5112)}, /* 5^-162 */
    {QRINTF_U64(0xba121a4650e4ddeb), QRINTF_U64(0x92f34d62616ce413)}, /* 5^-135 */
    {QRINTF_U64(0x964e858c91ba2655), QRINTF_U64(0x3a6a07f8d510f86f)}, /* 5^-108 */
    {QRINTF_U64(0xf2d56790ab41c2a2), QRINTF_U64(0xfae27299423fb9c3)}, /* 5^-81 */
    {QRINTF_U64(0xc428d05aa4751e4c), QRINTF_U64(0xaa97e14c3c26b886)}, /* 5^-54 */
    {QRINTF_U64(0x9e74d1b791e07e48), QRINTF_U64(0x775ea264cf55347d)}, /* 5^-27 */
    {QRINTF_U64(0x8000000000000000), QRINTF_U64(0x0000000000000000)}, /* 5^0 */
    {QRINTF_U64(0xcecb8f27f4200f3a), QRINTF_U64(0x0000000000000000)}, /* 5^27 */
    {QRINTF_U64(0xa70c3c40a64e6c51), QRINTF_U64(0x999090b65f67d924)}, /* 5^54 */
    {QRINTF_U64(0x86f0ac99b4e8dafd), QRINTF_U64(0x69a028bb3ded71a3)}, /* 5^81 */
    {QRINTF_U64(0xda01ee641a708de9), QRINTF_U64(0xe80e6f4820cc9495)}, /* 5^108 */
    {QRINTF_U64(0xb01ae745b101e9e4), QRINTF_U64(0x5ec05dcff72e7f8f)}, /* 5^135 */
    {QRINTF_U64(0x8e41ade9fbebc27d), QRINTF_U64(0x14588f13be847307)}, /* 5^162 */
    {QRINTF_U64(0xe5d3ef282a242e81), QRINTF_U64(0x8f1668c8a86da5fa)}, /* 5^189 */
    {QRINTF_U64(0xb9a74a0637ce2ee1), QRINTF_U64(0x6d953e2bd7173692)}, /* 5^216 */
    {QRINTF_U64(0x95f83d0a1fb69cd9), QRINTF_U64(0x4abdaf101564f98e)}, /* 5^243 */
    {QRINTF_U64(0xf24a01a73cf2dccf), QRINTF_U64(0xbc633b39673c8cec)}, /* 5^270 */
    {QRINTF_U64(0xc3b8358109e84f07), QRINTF_U64(0x0a862f80ec4700c8)}, /* 5^297 */
    {QRINTF_U64(0x9e19db92b4e31ba9), QRINTF_U64(0x6c07a2c26a8346d1)}, /* 5^324 */
};

/* The place of the highest bit of 5^k: floor(log2(5^k)), for k from -360 to 360. */
QRINTF_INLINE int qrintf_log2_five(int k)
{
    return k * 1217359 >> 19;
}

/* The power of ten that 2^e reaches: floor(log10(2^e)), for e from -1074 to 1024. */
QRINTF_INLINE int qrintf_log10_two(int e)
{
    return e * 78913 >> 18;
}

/* The scaled value: round(v * 10^(k - raised)), or raised == -1 if libc has to write it. */
typedef struct {
    qrintf_u64_t digits;
    int raised;
} qrintf_decimal_t;

/* Whether m * 2^e * 10^k is exactly q + 1/2, where it is known to be within a hair of that. */
QRINTF_INLINE int qrintf_is_tie(qrintf_u64_t m, int e, int k, qrintf_u64_t q)
{
    int zeros = __builtin_ctzll(m);
    if (e + zeros + k + 1 != 0)
        return 0;
    if (k >= 0)
        return 1;
    return -k <= QRINTF_FIVES
           && (qrintf_u128_t)(2 * q + 1) * (qrintf_fives[-k] >> (63 - qrintf_log2_five(-k))) == m >> zeros;
}

/*
 * round(m * 2^e * 10^k), and with one digit less where that is not below `limit`, unless that is 0. The highest bit of
 * m is set; k is within -320 to 345; the value is below 10^18.
 */
QRINTF_RUNTIME_BRIEF(qrintf_decimal)
qrintf_decimal_t qrintf_decimal(qrintf_u64_t m, int e, int k, qrintf_u64_t limit)
{
    const qrintf_u128_t half = (qrintf_u128_t)1 << 127;
    qrintf_decimal_t result = {0, 0};
    qrintf_u128_t product, fraction, error = 0;
    int shift, up, near_half;
    QRINTF_SHARE(qrintf_decimal)

    if ((unsigned int)k <= QRINTF_FIVES) {
        product = (qrintf_u128_t)m * qrintf_fives[k];
        shift = 63 - e - k - qrintf_log2_five(k);
    } else {
        int a = (k - QRINTF_COARSE_FIRST * 27) / 27 + QRINTF_COARSE_FIRST, b = k - a * 27;
        const qrintf_u64_t *coarse = qrintf_coarse[a - QRINTF_COARSE_FIRST];
        qrintf_u128_t five = (qrintf_u128_t)coarse[0] * qrintf_fives[b] + ((qrintf_u128_t)coarse[1] * qrintf_fives[b] >> 64);
        product = (qrintf_u128_t)m * (qrintf_u64_t)(five >> 64) + ((qrintf_u128_t)m * (qrintf_u64_t)five >> 64);
        shift = 62 - e - k - qrintf_log2_five(a * 27) - qrintf_log2_five(b);
        error = QRINTF_SCALE_ERROR;
    }
    if (shift > 130)
        return result;
    if (shift >= 128) {
        fraction = product >> (shift - 128);
    } else {
        result.digits = (qrintf_u64_t)(product >> 64) >> (shift - 64);
        fraction = product << (128 - shift);
        error <<= 128 - shift;
    }
    if (limit != 0 && result.digits >= limit) {
        unsigned int last = (unsigned int)(result.digits % 10);
        result.digits /= 10;
        result.raised = 1;
        up = last > 5 || (last == 5 && fraction != 0);
        near_half = last == 5 ? fraction == 0 : last == 4 && fraction != 0 && -fraction <= error;
    } else {
        up = fraction > half;
        near_half = fraction <= half && half - fraction <= error;
    }
    if (QRINTF_UNLIKELY(near_half)) {
        if (error != 0 && !qrintf_is_tie(m, e, k - result.raised, result.digits)) {
            result.raised = -1;
            return result;
        }
        up = (int)(result.digits & 1);
    }
    result.digits += (qrintf_u64_t)up;
    return result;
}

#endif
#endif
