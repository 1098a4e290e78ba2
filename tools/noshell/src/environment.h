/*
 * The environment that a command finds when a shell starts it: names that are no names dropped, doubles collapsed, IFS,
 * OPTIND and PPID set anew, PWD made true, the command's assignments on top, in the order in which the shell hands it on.
 */
#ifndef NOSHELL_ENVIRONMENT_H
#define NOSHELL_ENVIRONMENT_H

#include "parse.h"
#include "scratch.h"

struct noshell_environment {
    char **envp;
    const char *path; /* the PATH that the command is looked for in */
};

/* The bytes of scratch memory that noshell_environment_build takes. */
size_t noshell_environment_room(char *const *environment, const struct noshell_command *command);

enum noshell_reason noshell_environment_build(char *const *environment, enum noshell_dialect dialect,
                                              const struct noshell_command *command, struct noshell_scratch *scratch,
                                              struct noshell_environment *result);

#endif
