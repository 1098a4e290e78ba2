/*
 * The environment that a shell gives to its command: without invalid names and duplicates, with the variables that the shell sets
 * itself, with a correct PWD and the command's assignments, in the shell's order. Each shell has a file of its own for that.
 *
 * Invariant: the process's environment is only read; changed variables lie in scratch memory.
 */
#ifndef NOSHELL_ENVIRONMENT_H
#define NOSHELL_ENVIRONMENT_H

#include "parse.h"
#include "scratch.h"

#include <limits.h>
#include <string.h>

struct noshell_environment {
    char **envp;
    const char *path; /* the PATH that the command is looked for in */
    char *last;       /* bash: room for "_=" and the path that is executed, to which the last entry points; or NULL */
};

/* A variable in a shell's table. */
struct noshell_variable {
    const char *text; /* NAME=value */
    unsigned short name_length;
    unsigned char exported;
    unsigned hash; /* dash: of the name, before it is folded into a chain */
    int next;      /* dash: index of the next in the chain, or -1; bash: the bucket */
};

/* More than any shell adds to the variables that are given. */
#define NOSHELL_VARIABLES_EXTRA 16

static inline size_t noshell_environment_count(char *const *environment) {
    size_t count = 0;
    while (environment[count])
        count++;
    return count;
}

static inline size_t noshell_name_length(const char *text) {
    return (size_t)(strchrnul(text, '=') - text);
}

/* The bytes of scratch memory that either of the functions below takes. */
static inline size_t noshell_environment_room(char *const *environment, size_t assignment_count) {
    size_t count = noshell_environment_count(environment) + assignment_count + NOSHELL_VARIABLES_EXTRA + 1;
    return count * (sizeof(struct noshell_variable) + sizeof(char *)) + 2 * PATH_MAX + 256;
}

enum noshell_reason noshell_environment_of_dash(char *const *environment, const struct noshell_command *command,
                                                struct noshell_scratch *scratch, struct noshell_environment *result);
enum noshell_reason noshell_environment_of_bash(char *const *environment, const struct noshell_command *command,
                                                struct noshell_scratch *scratch, struct noshell_environment *result);

#endif
