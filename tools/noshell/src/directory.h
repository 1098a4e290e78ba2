/*
 * The working directory's name, as a shell takes it from PWD or finds it itself.
 */
#ifndef NOSHELL_DIRECTORY_H
#define NOSHELL_DIRECTORY_H

#include <stddef.h>

/* Whether `pwd`, which may be NULL, is an absolute path of the working directory, or what noshell_directory_find would write. */
int noshell_directory_is(const char *pwd);

/* Writes "PWD=" and the directory's name. 0, or -1 when it has none that fits. */
int noshell_directory_find(char *buffer, size_t size);

#endif
