/* Finding a command in PATH: see search.h. */
#define _GNU_SOURCE
#include "search.h"
#include "file.h"

#include <string.h>
#include <unistd.h>

/* 1: may be executed; 0: look on; -1: the shell must say why not. */
static int is_command(const char *path) {
    struct stat status;
    long error = noshell_stat(path, &status);
    if (error == -ENOENT || error == -ENOTDIR)
        return 0;
    if (error < 0)
        return -1;
    if (!S_ISREG(status.st_mode))
        return 0;
    if ((status.st_mode & 0111) == 0111)
        return 1;
    return noshell_call3(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

int noshell_is_command(const char *path) {
    return is_command(path) > 0;
}

enum noshell_reason noshell_search(const char *name, const char *path, char *buffer, size_t size, const char **found) {
    size_t length = strlen(name);
    /* A shell does not check a path either. If execve fails, the shell reports the error. */
    if (memchr(name, '/', length)) {
        *found = name;
        return NOSHELL_DIRECT;
    }
    /* dash gives a percent sign a meaning: /usr/lib%func. */
    if (strchr(path, '%'))
        return NOSHELL_PATH;
    for (;;) {
        const char *end = strchrnul(path, ':');
        size_t directory = (size_t)(end - path);
        char *at = buffer;
        int verdict;
        if (directory + length + 2 > size)
            return NOSHELL_PATH;
        /* An empty directory is the working directory, and the name alone is the path. */
        if (directory > 0) {
            memcpy(buffer, path, directory);
            at = buffer + directory;
            *at++ = '/';
        }
        memcpy(at, name, length + 1);
        verdict = is_command(buffer);
        *found = buffer;
        if (verdict != 0)
            return verdict > 0 ? NOSHELL_DIRECT : NOSHELL_PATH;
        if (*end == 0)
            return NOSHELL_NOT_FOUND;
        path = end + 1;
    }
}
