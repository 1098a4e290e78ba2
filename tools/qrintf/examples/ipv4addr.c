/*
 * ipv4addr: writes many IPv4 addresses as text, and little else.
 *
 *     qrintf-cc gcc -O2 ipv4addr.c -o ipv4addr && time ./ipv4addr
 *     gcc -O2 ipv4addr.c -o ipv4addr && time ./ipv4addr
 *
 * The first argument is how many addresses to write: ten millions if there is none. Every address is another, and what
 * the last one depends on is all of the text, so that no compiler can leave a call out.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns the length of the text, as snprintf does. */
static int ipv4addr(char *text, size_t size, uint32_t address)
{
    return snprintf(text, size, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 10 * 1000 * 1000;
    uint32_t seed = 1;
    char text[16] = "";
    long written = 0;

    for (long i = 0; i < count; i++) {
        /* Network 10, and a host by a linear congruence, as random as an example needs. */
        seed = seed * 1664525 + 1013904223;
        int length = ipv4addr(text, sizeof text, (uint32_t)10 << 24 | seed >> 8);
        written += length;
        seed ^= (unsigned char)text[length - 1];
    }
    printf("%ld addresses, the last one %s, %ld bytes\n", count, text, written);
    return 0;
}
