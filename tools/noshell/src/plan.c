/* The decision how a command is run: see plan.h. */
#define _GNU_SOURCE
#include "plan.h"
#include "termination.h"
#include "search.h"
#include "statistics.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOUND_SIZE ((size_t)PATH_MAX)

/* The stack that the C library maps for its child. A caller whose address space is exhausted must get the same error. */
#define LIBRARY_STACK ((size_t)36 << 10)

static char *const no_environment[] = {NULL};

/* A shell drops set-user-ID and set-group-ID privileges. */
static int has_privileges(void) {
    uid_t user[3];
    gid_t group[3];
    return noshell_call3(SYS_getresuid, &user[0], &user[1], &user[2]) < 0 ||
           noshell_call3(SYS_getresgid, &group[0], &group[1], &group[2]) < 0 || user[0] != user[1] || group[0] != group[1];
}

/* dash handles SIGCHLD itself, and so reports the death of a command even if its caller ignores the signal. */
static int is_child_ignored(void) {
    struct sigaction action;
    return sigaction(SIGCHLD, NULL, &action) < 0 || action.sa_handler == SIG_IGN || action.sa_flags & SA_NOCLDWAIT;
}

static enum noshell_reason plan_for_dash(struct noshell_plan *plan, char *const *environment) {
    if (is_child_ignored())
        return NOSHELL_CHILD_IGNORED;
    if (!noshell_stderr_is_at_end(plan->command.redirections, plan->command.redirection_count))
        return NOSHELL_REDIRECTION;
    plan->waits = plan->tells = 1;
    return noshell_environment_of_dash(environment, &plan->command, &plan->scratch, &plan->environment);
}

static enum noshell_reason plan_for_bash(struct noshell_plan *plan, const char *text, size_t length, void *memory,
                                         char *const *environment) {
    enum noshell_reason reason = noshell_parse(text, length, NOSHELL_DIALECT_BASH, memory, &plan->command);
    if (!reason)
        reason = noshell_environment_of_bash(environment, &plan->command, &plan->scratch, &plan->environment);
    /* bash passes its signal mask on, but unblocks SIGCHLD. */
    plan->spawn.keep_mask = 1;
    plan->spawn.unmasked = NOSHELL_SIGNAL(SIGCHLD);
    /* It executes the command itself, unless there are redirections, for which it forks. */
    plan->waits = plan->command.redirection_count > 0;
    return reason;
}

/* Checks in the order of their cost: first the grammar, then system calls. */
static enum noshell_reason plan_words(struct noshell_plan *plan, const char *text, size_t length,
                                      char *const *environment) {
    void *memory = noshell_scratch_part(&plan->scratch, noshell_parse_room(length));
    enum noshell_reason reason;
    if (!memory)
        return NOSHELL_NO_RESOURCES;
    if ((reason = noshell_parse(text, length, NOSHELL_DIALECT_DASH, memory, &plan->command)))
        return reason;
    if (has_privileges())
        return NOSHELL_PRIVILEGES;
    plan->shell = noshell_shell_find();
    switch (plan->shell) {
    case NOSHELL_SHELL_DASH:
        return plan_for_dash(plan, environment);
    case NOSHELL_SHELL_BASH:
        return plan_for_bash(plan, text, length, memory, environment);
    case NOSHELL_SHELL_LATER:
        return NOSHELL_FIRST_COMMAND;
    default:
        return NOSHELL_UNKNOWN_SHELL;
    }
}

static enum noshell_reason plan_direct(struct noshell_plan *plan, const char *text, size_t length,
                                       char *const *environment) {
    char *found = noshell_scratch_part(&plan->scratch, FOUND_SIZE);
    enum noshell_reason reason = plan_words(plan, text, length, environment);
    if (reason || !found)
        return reason ? reason : NOSHELL_NO_RESOURCES;
    reason = noshell_search(plan->command.words[0], plan->environment.path, found, FOUND_SIZE, &plan->spawn.path);
    if (reason || !plan->environment.last)
        return reason;
    size_t path_length = strlen(plan->spawn.path);
    if (path_length + 3 > PATH_MAX)
        return NOSHELL_PATH;
    memcpy(plan->environment.last, "_=", 2);
    memcpy(plan->environment.last + 2, plan->spawn.path, path_length + 1);
    return NOSHELL_DIRECT;
}

/*
 * From 2.29 on glibc's system and popen start their shell by posix_spawn, which until 2.37 ignored the library's two own
 * signals in the child; a program can see that.
 */
static noshell_signals ignored_by_libc(void) {
    static _Atomic(int) minor;
    int known = atomic_load_explicit(&minor, memory_order_relaxed);
    if (known == 0) {
        const char *version = gnu_get_libc_version();
        known = strncmp(version, "2.", 2) == 0 ? atoi(version + 2) : -1;
        atomic_store_explicit(&minor, known, memory_order_relaxed);
    }
    return known >= 29 && known <= 37 ? NOSHELL_SIGNAL(32) | NOSHELL_SIGNAL(33) : 0;
}

static void init_spawn(struct noshell_spawn *spawn) {
    memset(spawn, 0, sizeof *spawn);
    /* A child that never executes its program raises no SIGCHLD; our callers wait for it with __WALL. */
    spawn->exit_signal = 0;
    spawn->ignored = ignored_by_libc();
    for (int i = 0; i < 3; i++)
        spawn->streams[i] = -1;
}

void noshell_plan_shell(struct noshell_plan *plan, const char *text, enum noshell_reason reason) {
    struct noshell_spawn *spawn = &plan->spawn;
    plan->reason = reason;
    plan->waits = plan->tells = 0;
    plan->shell_words[0] = "sh";
    plan->shell_words[1] = "-c";
    plan->shell_words[2] = (char *)text;
    plan->shell_words[3] = NULL;
    spawn->path = NOSHELL_PATH_OF_SHELL;
    spawn->argv = plan->shell_words;
    spawn->envp = environ ? environ : (char **)no_environment;
    spawn->keep_mask = 1;
    spawn->unmasked = 0;
    spawn->redirection_count = 0;
    if (spawn->alternative) {
        spawn->alternative = NULL;
        spawn->pending = NULL;
        spawn->unwatched = 0;
    }
}

enum noshell_reason noshell_plan_refusal(const char *text) {
    if (text[0] == '-' || text[0] == '+')
        return NOSHELL_OPTION;
    return strnlen(text, NOSHELL_COMMAND_MAX) >= NOSHELL_COMMAND_MAX ? NOSHELL_TOO_LONG : NOSHELL_NO_RESOURCES;
}

/* Scratch memory for a plan. Before the parse it is known of assignments that each takes two bytes. */
static size_t plan_size(size_t length, char *const *environment) {
    return sizeof(struct noshell_plan) + noshell_parse_room(length) + noshell_environment_room(environment, length / 2) + FOUND_SIZE +
           NOSHELL_CHILD_STACK + 256;
}

static struct noshell_plan *take_plan(size_t size) {
    struct noshell_scratch scratch;
    struct noshell_plan *plan;
    if (noshell_scratch_take(&scratch, size) < 0)
        return NULL;
    plan = noshell_scratch_part(&scratch, sizeof *plan);
    plan->scratch = scratch;
    return plan;
}

/* Copies the command's text and the environment into `size` bytes of the plan's memory. The copy of the environment, or NULL if
 * there is not enough room. */
static char **copy_inputs(struct noshell_plan *plan, const char *text, char *const *environment, size_t size) {
    size_t array_size = (noshell_environment_count(environment) + 1) * sizeof(char *);
    char **copies, **copy;
    char *at, *end;
    if (size <= array_size)
        return NULL;
    copy = copies = (char **)plan->scratch.next;
    at = plan->scratch.next + array_size;
    end = plan->scratch.next + size;
    plan->alternative_words[2] = at;
    at = memccpy(at, text, 0, (size_t)(end - at));
    for (; at && *environment; environment++) {
        *copy++ = at;
        at = memccpy(at, *environment, 0, (size_t)(end - at));
    }
    *copy = NULL;
    return at && noshell_scratch_part(&plan->scratch, (size_t)(at - plan->scratch.next)) ? copies : NULL;
}

static void prepare_alternative(struct noshell_plan *plan, char *const *environment) {
    plan->alternative_words[0] = "sh";
    plan->alternative_words[1] = "-c";
    plan->alternative_words[3] = NULL;
    plan->alternative = (struct noshell_alternative){NOSHELL_PATH_OF_SHELL, plan->alternative_words, environment, NULL};
}

static void init_plan(struct noshell_plan *plan) {
    plan->held = plan->held_directly = 0;
    plan->environment.last = NULL;
    plan->shell = NOSHELL_SHELL_UNKNOWN;
    plan->waits = plan->tells = 0;
    plan->alternative.path = NULL;
    init_spawn(&plan->spawn);
    plan->spawn.stack = noshell_scratch_part(&plan->scratch, NOSHELL_CHILD_STACK);
}

static void finish_direct(struct noshell_plan *plan) {
    plan->spawn.argv = plan->command.words;
    plan->spawn.envp = plan->environment.envp;
    plan->spawn.redirections = plan->command.redirections;
    plan->spawn.redirection_count = plan->command.redirection_count;
}

struct noshell_plan *noshell_plan_make(const char *text, enum noshell_inputs inputs) {
    char *const *environment = environ ? environ : (char **)no_environment;
    size_t length = strnlen(text, NOSHELL_COMMAND_MAX);
    size_t size = plan_size(length, environment);
    enum noshell_room room;
    struct noshell_plan *plan;
    if (length >= NOSHELL_COMMAND_MAX || text[0] == '-' || text[0] == '+' ||
        (room = noshell_scratch_room(LIBRARY_STACK)) == NOSHELL_ROOM_NONE || !(plan = take_plan(size)))
        return NULL;
    init_plan(plan);
    /* Where address space is limited, the shell itself may not start, and popen would have to say so. */
    if (inputs == NOSHELL_INPUTS_COPIED && room == NOSHELL_ROOM_UNLIMITED && noshell_scratch_pending(&plan->scratch)) {
        char **copies = copy_inputs(plan, text, environment, plan->scratch.size - size);
        if (copies)
            prepare_alternative(plan, environment = copies);
    }
    plan->reason = plan_direct(plan, text, length, environment);
    if (plan->reason)
        noshell_plan_shell(plan, text, plan->reason);
    else
        finish_direct(plan);
    return plan;
}

int noshell_plan_detach(struct noshell_plan *plan, volatile int *used_shell) {
    struct noshell_spawn *spawn = &plan->spawn;
    if (plan->reason || !plan->alternative.path || spawn->redirection_count > 0 || spawn->closed_count > 0 || noshell_is_traced())
        return 0;
    plan->alternative.used = used_shell;
    spawn->alternative = &plan->alternative;
    spawn->pending = noshell_scratch_pending(&plan->scratch);
    spawn->unwatched = 1;
    return 1;
}

void noshell_plan_drop(struct noshell_plan *plan) {
    struct noshell_scratch scratch = plan->scratch;
    noshell_scratch_give(&scratch);
}

enum noshell_reason noshell_plan_why(int error) {
    return error == ENOTSUP ? NOSHELL_SPECIAL_FILE : NOSHELL_NOT_EXECUTED;
}

int noshell_plan_spawn(struct noshell_plan *plan, const char *text) {
    int error;
    if (plan->reason == NOSHELL_DIRECT) {
        plan->spawn.held = plan->held | plan->held_directly;
        error = noshell_spawn(&plan->spawn);
        if (!error)
            return 0;
        noshell_plan_shell(plan, text, noshell_plan_why(error));
    }
    plan->spawn.held = plan->held;
    return noshell_spawn(&plan->spawn);
}
