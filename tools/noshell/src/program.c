/* Starting a program by its arguments: see program.h. */
#define _GNU_SOURCE
#include "program.h"
#include "file.h"
#include "scratch.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The search path of execvp if PATH is not set. */
#define DEFAULT_PATH "/bin:/usr/bin"

void noshell_program_init(struct noshell_spawn *spawn) {
    memset(spawn, 0, sizeof *spawn);
    for (int i = 0; i < 3; i++)
        spawn->streams[i] = -1;
    spawn->keep_mask = 1;
    /* A pid is handed out, and what waits for it knows nothing of other exit signals. */
    spawn->exit_signal = SIGCHLD;
}

/* 0 when the path can be executed, else why not. */
static int check(const char *path) {
    struct stat status;
    long error = noshell_stat(path, &status);
    if (error < 0)
        return (int)-error;
    if (!S_ISREG(status.st_mode))
        return EACCES;
    return (int)-noshell_call3(SYS_faccessat, AT_FDCWD, path, X_OK);
}

/* Searches the directories of PATH. Skips files without permission, but reports EACCES if no other is found. */
static int search(const char *name, char *buffer, size_t size) {
    const char *path = getenv("PATH");
    size_t length = strlen(name);
    int result = ENOENT;
    if (!path)
        path = DEFAULT_PATH;
    for (;;) {
        const char *end = strchrnul(path, ':');
        size_t directory = (size_t)(end - path);
        if (directory + length + 2 <= size) {
            char *at = (char *)memcpy(buffer, path, directory) + directory;
            if (directory > 0)
                *at++ = '/';
            memcpy(at, name, length + 1);
            int error = check(buffer);
            if (error == 0)
                return 0;
            if (error == EACCES)
                result = EACCES;
        }
        if (*end == 0)
            return result;
        path = end + 1;
    }
}

/* A script without an interpreter of its own: /bin/sh PATH ARGUMENTS... */
static int start_script(struct noshell_spawn *spawn, const char *const *argv, struct noshell_scratch *scratch,
                        size_t count) {
    const char **words = noshell_scratch_part(scratch, (count + 2) * sizeof *words);
    if (!words)
        return ENOMEM;
    words[0] = argv[0];
    words[1] = spawn->path;
    for (size_t i = 1; i <= count; i++)
        words[i + 1] = argv[i];
    spawn->path = "/bin/sh";
    spawn->argv = (char *const *)words;
    return noshell_spawn(spawn);
}

static int start_found(struct noshell_spawn *spawn, const char *const *argv, struct noshell_scratch *scratch, size_t count) {
    int error = noshell_spawn(spawn);
    return error == ENOEXEC ? start_script(spawn, argv, scratch, count) : error;
}

int noshell_program_start(struct noshell_spawn *spawn, const char *file, const char *const *argv, const char *const *envp) {
    static char *const nothing[] = {NULL};
    struct noshell_scratch scratch;
    size_t count = 0;
    char *found;
    int error;
    while (argv[count])
        count++;
    if (noshell_scratch_take(&scratch, NOSHELL_CHILD_STACK + PATH_MAX + (count + 2) * sizeof *argv + 64) < 0)
        return ENOMEM;
    spawn->stack = noshell_scratch_part(&scratch, NOSHELL_CHILD_STACK);
    found = noshell_scratch_part(&scratch, PATH_MAX);
    spawn->argv = (char *const *)argv;
    spawn->envp = envp ? (char *const *)envp : environ ? environ : (char **)nothing;
    spawn->path = strchr(file, '/') ? file : found;
    error = *file == 0 ? ENOENT : spawn->path == found ? search(file, found, PATH_MAX) : 0;
    if (!error)
        error = start_found(spawn, argv, &scratch, count);
    noshell_scratch_give(&scratch);
    return error;
}
