/*
 * check.h: what the programs of this folder share: random numbers, a page of guard bytes, and what to say in the end.
 *
 * Each program compares the runtime's functions with an independent way to the same text: libc's snprintf, an odometer,
 * or digit by digit. It prints how many texts it compared, and fails at the first that differs.
 */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qrintf_runtime.h"

#define FILLER '\xa5'
#define FRONT 16
#define ROOM 640

static char check_area[FRONT + ROOM + FRONT];
static uint64_t check_state = 0x9e3779b97f4a7c15;

/* Where a function under test writes: filled anew, so that every stray byte shows. */
static inline char *check_out(size_t room)
{
    memset(check_area, FILLER, FRONT + room + FRONT);
    return check_area + FRONT;
}

/* Whether exactly `text` has been written since check_out(room), and `end` is behind it. */
static inline int check_same(const char *text, size_t length, const char *end, size_t room)
{
    const char *out = check_area + FRONT;
    if (end != out + length || memcmp(out, text, length) != 0)
        return 0;
    for (size_t i = 0; i < FRONT; i++)
        if (check_area[i] != FILLER)
            return 0;
    for (size_t i = length; i < room + FRONT; i++)
        if (out[i] != FILLER)
            return 0;
    return 1;
}

static inline void check_fail(const char *what, const char *expected, const char *end)
{
    const char *out = check_area + FRONT;
    fprintf(stderr, "%s: '%s' is expected, '%.*s' was written\n", what, expected, end >= out ? (int)(end - out) : 0, out);
    exit(1);
}

/* xorshift64*, as Vigna gave it. */
static inline uint64_t check_draw(void)
{
    check_state ^= check_state >> 12;
    check_state ^= check_state << 25;
    check_state ^= check_state >> 27;
    return check_state * 0x2545f4914f6cdd1d;
}

static inline unsigned int check_below(unsigned int limit)
{
    return (unsigned int)(check_draw() >> 32) % limit;
}

/* A number of any magnitude. */
static inline uint64_t check_any(void)
{
    return check_draw() >> check_below(64);
}

static const struct {
    char flag;
    unsigned int bit;
} check_flags[] = {{'-', QRINTF_MINUS}, {'+', QRINTF_PLUS}, {' ', QRINTF_SPACE}, {'0', QRINTF_ZERO}, {'#', QRINTF_HASH}};

/* Writes "%" and flags, the half of the time none, then `tail`; returns the runtime's bits for them. */
static inline unsigned int check_format(char *format, const char *tail)
{
    unsigned int bits = 0, chosen = check_below(2) ? check_below(32) : 0;
    *format++ = '%';
    for (unsigned int i = 0; i < 5; i++) {
        if (chosen >> i & 1) {
            *format++ = check_flags[i].flag;
            bits |= check_flags[i].bit;
        }
    }
    strcpy(format, tail);
    return bits;
}

#endif
