/*
 * linkage.c: one object of a program of several. Built with PART=1, 2, 3 it defines part_1, part_2, part_3, which use
 * the runtime; with PART=0 a main that calls them all.
 */
#include <stdio.h>

#include "qrintf_runtime.h"

#define JOIN(a, b) a##_##b
#define NAME(a, b) JOIN(a, b)

#ifdef __cplusplus
extern "C" {
#endif
char *part_1(char *p, unsigned int v, double d);
char *part_2(char *p, unsigned int v, double d);
char *part_3(char *p, unsigned int v, double d);
#ifdef __cplusplus
}
#endif

#if PART > 0
char *NAME(part, PART)(char *p, unsigned int v, double d)
{
    p = qrintf_u8(qrintf_i64(qrintf_i32(p, (int)v), v), v & 255);
    p = qrintf_integer(p, v, 0, 'x' | QRINTF_HASH, 12, -1);
    p = qrintf_string_padded(p, "part", 4, 0, 6);
    return qrintf_double(p, d, 'g', 0, 17);
}
#else
int main(void)
{
    char text[256], *p = part_3(part_2(part_1(text, 101, 0.1), 102, 1e300), 103, 1e-300);
    *p = 0;
    puts(text);
    return 0;
}
#endif
