/*
 * ipv4addr: writes many IPv4 addresses as text, and little else.
 *
 *     qrintf-cc gcc -O2 ipv4addr.c -o ipv4addr && time ./ipv4addr
 *     gcc -O2 ipv4addr.c -o ipv4addr && time ./ipv4addr
 *
 * The first argument is how many addresses to write: ten millions if there is none. They are as good as random, and the
 * sum that is printed depends on each text, so that no compiler can leave a call out.
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
    uint32_t address = 0;
    unsigned long sum = 0;
    char text[16] = "";

    for (long i = 0; i < count; i++) {
        /* A linear congruence: as random as an example needs. */
        address = address * 1664525 + 1013904223;
        int length = ipv4addr(text, sizeof text, address);
        sum += (unsigned)length + (unsigned char)text[length - 1];
    }
    printf("%ld addresses, the last one %s, sum %lu\n", count, text, sum);
    return 0;
}
