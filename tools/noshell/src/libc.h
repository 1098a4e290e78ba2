/*
 * The functions that ours stand before: the C library's, or those of another library that was loaded in between.
 */
#ifndef NOSHELL_LIBC_H
#define NOSHELL_LIBC_H

#include <stdio.h>

int noshell_libc_system(const char *text);
FILE *noshell_libc_popen(const char *text, const char *type);
int noshell_libc_pclose(FILE *stream);
int noshell_libc_fclose(FILE *stream);

#endif
