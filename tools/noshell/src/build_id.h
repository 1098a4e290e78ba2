/*
 * Recognizing a shell by its build ID, the hash that the linker stores in an executable.
 */
#ifndef NOSHELL_BUILD_ID_H
#define NOSHELL_BUILD_ID_H

#include "shell.h"

#include <sys/stat.h>

/* Reads the build ID of the file at `path` and looks it up in the list of tested binaries. NOSHELL_SHELL_UNKNOWN if the file is
 * not the one that `status` describes, has no build ID, or is not listed. Opens and closes one descriptor; does not allocate. */
enum noshell_shell noshell_build_id_find(const char *path, const struct stat *status);

#endif
