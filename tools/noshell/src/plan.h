/*
 * The decision: how a command is run. A plan holds all that the spawn needs.
 */
#ifndef NOSHELL_PLAN_H
#define NOSHELL_PLAN_H

#include "environment.h"
#include "parse.h"
#include "scratch.h"
#include "shell.h"
#include "launch.h"

/* MAX_ARG_STRLEN of the kernel: no shell can be given more as one argument. */
#define NOSHELL_COMMAND_MAX ((size_t)128 << 10)

struct noshell_plan {
    enum noshell_reason reason; /* NOSHELL_DIRECT, or why /bin/sh is started */
    enum noshell_shell shell;
    int waits; /* the shell would wait for the direct command and turn a death by signal n into status 128 + n, */
    int tells; /* and report it */
    struct noshell_scratch scratch;
    struct noshell_command command;
    struct noshell_environment environment;
    struct noshell_spawn spawn;
    noshell_signals held;          /* what stays blocked in the caller while the command runs, */
    noshell_signals held_directly; /* and beside it while a direct one does */
    char *shell_words[4];
    char *alternative_words[4];
    struct noshell_alternative alternative; /* only if the plan owns its inputs */
};

/* A plan either points to the caller's text and environment, or owns copies so that a child may use it after the call. */
enum noshell_inputs { NOSHELL_INPUTS_BORROWED, NOSHELL_INPUTS_COPIED };

/* Plans the command; NULL if the C library's own function must be called. The plan lies in its own scratch memory, so that a
 * caller that leaves by longjmp does not free it while a child uses it. Inputs are copied only if there is room. */
struct noshell_plan *noshell_plan_make(const char *text, enum noshell_inputs inputs);

/* Lets a direct command be started without waiting until it runs. Afterwards the child sets *used_shell to 1 if it gave the
 * command to the shell, for as long as it has not ended. 1, or 0 if this plan does not allow it. */
int noshell_plan_detach(struct noshell_plan *plan, volatile int *used_shell);

/* The reason why noshell_plan_make, or a later step, left the command to the C library's own function. */
enum noshell_reason noshell_plan_refusal(const char *text);

/* Turns a direct plan into one that starts /bin/sh. */
void noshell_plan_shell(struct noshell_plan *plan, const char *text, enum noshell_reason reason);

/* The reason for giving a direct command to the shell after this errno. */
enum noshell_reason noshell_plan_why(int error);

void noshell_plan_drop(struct noshell_plan *plan);

/* Spawns the planned command; a direct command that cannot be started goes to the shell, which reports the reason.
 * 0, or the errno of starting the shell. A spawn that is not watched can fail later: then
 * plan->spawn.error is set when the child has ended, and the caller turns to the shell itself. */
int noshell_plan_spawn(struct noshell_plan *plan, const char *text);

#endif
