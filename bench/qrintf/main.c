/*
 * main.c: times every row on every side in turn and prints CSV: row,side,round,nanoseconds for one call.
 *
 * usage: conversions ROUNDS [ROW...]
 *
 * Before a row is timed, all sides must write the same text for all inputs ({fmt} where its format means the same).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rows.h"

#define INPUTS 4096
#define PASSES 12

static struct input inputs[INPUTS];

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double time_of(const struct row *row)
{
    char out[OUT_SIZE];
    double start = now_ns();
    for (int pass = 0; pass < PASSES; pass++)
        row->write(out, inputs, INPUTS);
    return (now_ns() - start) / (PASSES * INPUTS);
}

static void verify(const struct row *peer, const struct row *row)
{
    for (size_t i = 0; i < INPUTS; i++) {
        char expected[OUT_SIZE] = "", written[OUT_SIZE] = "";
        size_t length = peer->write(expected, &inputs[i], 1);
        if (row->write(written, &inputs[i], 1) != length || memcmp(expected, written, length) != 0) {
            fprintf(stderr, "%s: libc writes '%s', the other side '%s'\n", peer->format, expected, written);
            exit(1);
        }
    }
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 9;
    inputs_fill(inputs, INPUTS);
    for (size_t i = 0; i < count_libc; i++) {
        const struct row *sides[] = {&rows_libc[i], &rows_ours[i], &rows_fmt[i]};
        static const char *const names[] = {"libc", "ours", "fmt"};
        int wanted = count <= 2;
        for (int k = 2; k < count; k++)
            wanted |= strcmp(arguments[k], sides[0]->name) == 0;
        if (!wanted)
            continue;
        verify(sides[0], sides[1]);
        if (sides[2]->format)
            verify(sides[0], sides[2]);
        for (int round = 0; round < rounds; round++)
            for (int side = 0; side < (sides[2]->format ? 3 : 2); side++)
                printf("%s,%s,%d,%.3f\n", sides[0]->name, names[side], round, time_of(sides[side]));
    }
    return 0;
}
