/* snprintf COUNT: formats a line COUNT times. Compiled by qrintf-cc, for bench/instructions/run. */
#include <stdio.h>
#include <stdlib.h>

/* Hides from the compiler what a value is. */
#define HIDE(value) __asm__ volatile("" : "+r"(value) : : "memory")

int main(int argc, char **argv)
{
    long count = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    const char *path = "/index.html";
    for (long i = 0; i < count; i++) {
        char line[128];
        int status = 200;
        unsigned id = (unsigned)i;
        size_t bytes = 48301;
        HIDE(path);
        HIDE(status);
        HIDE(bytes);
        int length = snprintf(line, sizeof line, "%s %d %zu %08x\n", path, status, bytes, id);
        HIDE(length);
    }
    return 0;
}
