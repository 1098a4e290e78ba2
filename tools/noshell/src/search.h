/*
 * Finding a command in PATH, as dash does: the first regular file that may be executed; bash takes the same one.
 *
 * Invariant: where a shell would search on, or say anything but "here it is", the answer is a reason to ask the shell.
 */
#ifndef NOSHELL_SEARCH_H
#define NOSHELL_SEARCH_H

#include "parse.h"

/* Searches for `name` in the directories of `path`, or takes it as a path if it contains a slash. The result is put into
 * `buffer` of `size` bytes, or `name` itself is returned in *found. */
enum noshell_reason noshell_search(const char *name, const char *path, char *buffer, size_t size, const char **found);

/* Whether the path is a file that appears to be executable. */
int noshell_is_command(const char *path);

#endif
