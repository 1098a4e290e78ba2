/*
 * bash's tables of variables, as far as they reach the environment of a command.
 *
 * bash keeps variables in a hash table of 1024 buckets, newest first, and those of the command's assignments in one of four
 * buckets that comes before. A name that is none is kept aside and handed on first; `_` is the path that is executed.
 * Variables that have a life of their own in bash, or change what it does, are left to it.
 */
#define _GNU_SOURCE
#include "environment.h"
#include "directory.h"
#include "file.h"

#include <stdio.h>
#include <stdlib.h>

#define BUCKETS 1024u
#define ASSIGNMENT_BUCKETS 4u
/* A ninth would make the small table grow, and order it anew. */
#define ASSIGNMENTS_MAX 8
/* "SHLVL=" and at most three digits */
#define LEVEL_SIZE 16

/* Names that mean something to a bash that runs one command. */
static const char *const own_names[] = {
    "SHELLOPTS", "POSIXLY_CORRECT", "POSIX_PEDANTIC", "LINENO", "SECONDS", "RANDOM", "SRANDOM", "HISTCMD", "DIRSTACK",
    "PIPESTATUS", "FUNCNAME", "FUNCNEST", "GROUPS", "UID", "EUID", "PPID", "IFS", "OPTIND", "OPTERR", "PS4", "HOSTNAME",
    "HOSTTYPE", "OSTYPE", "MACHTYPE", "TMOUT", "COMP_WORDBREAKS", "EXECIGNORE", "IGNOREEOF", "ignoreeof",
};

/* Names that an assignment before a command does more with than hand on. */
static const char *const assigned_names[] = {"PATH", "PWD", "OLDPWD", "SHLVL", "_", "HOME", "TZ", "GLOBIGNORE", "CHILD_MAX"};

struct table {
    struct noshell_variable *variables; /* by bucket, and in a bucket newest first */
    int count;
    unsigned buckets;
};

static int is_among(const char *const *names, size_t count, const char *text, size_t length) {
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0)
            return 1;
    return 0;
}

static int is_own(const char *text, size_t length) {
    return (length >= 4 && memcmp(text, "BASH", 4) == 0) || (length >= 5 && memcmp(text, "EPOCH", 5) == 0) ||
           is_among(own_names, sizeof own_names / sizeof *own_names, text, length);
}

/* bash complains of a locale that is not installed; these always are. LANG it takes without a word. */
static int is_silent_locale(const char *value) {
    return *value == 0 || strcmp(value, "C") == 0 || strcmp(value, "POSIX") == 0 || strcmp(value, "C.UTF-8") == 0;
}

static int is_locale(const char *text, size_t length) {
    return length > 3 && memcmp(text, "LC_", 3) == 0;
}

/* FNV-1, 32 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
static unsigned hash_of(const char *text, size_t length) {
    unsigned hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = hash * 16777619u ^ (unsigned char)text[i];
    return hash;
}

static struct noshell_variable *find(const struct table *table, const char *text, size_t length) {
    for (int i = 0; i < table->count; i++) {
        struct noshell_variable *variable = &table->variables[i];
        if (variable->name_length == length && memcmp(variable->text, text, length) == 0)
            return variable;
    }
    return NULL;
}

/* Sets a variable; a new one comes first in its bucket. */
static void set(struct table *table, const char *text, size_t length) {
    struct noshell_variable *variable = find(table, text, length);
    int bucket = (int)(hash_of(text, length) & (table->buckets - 1));
    int at = table->count;
    if (variable) {
        variable->text = text;
        return;
    }
    while (at > 0 && table->variables[at - 1].next >= bucket) {
        table->variables[at] = table->variables[at - 1];
        at--;
    }
    table->variables[at] =
        (struct noshell_variable){.text = text, .name_length = (unsigned short)length, .exported = 1, .next = bucket};
    table->count++;
}

static const char *value_of(const struct table *table, const char *name) {
    struct noshell_variable *variable = find(table, name, strlen(name));
    return variable ? variable->text + variable->name_length + 1 : NULL;
}

/* Reads the environment; a single name that is none is handed on as it is, more would have an order of their own. */
static enum noshell_reason import(struct table *table, char *const *environment, const char **no_name) {
    for (; *environment; environment++) {
        const char *text = *environment;
        size_t length = noshell_name_length(text);
        if (text[length] == 0 || length == 0)
            continue;
        if (length > USHRT_MAX || is_own(text, length))
            return NOSHELL_ENVIRONMENT;
        if (is_locale(text, length) && !is_silent_locale(text + length + 1))
            return NOSHELL_ENVIRONMENT;
        if (noshell_is_name(text, length))
            set(table, text, length);
        else if (*no_name)
            return NOSHELL_ENVIRONMENT;
        else
            *no_name = text;
    }
    return table->count < (int)BUCKETS ? NOSHELL_DIRECT : NOSHELL_ENVIRONMENT;
}

static void remove_name(struct table *table, const char *name) {
    struct noshell_variable *variable = find(table, name, strlen(name));
    if (!variable)
        return;
    memmove(variable, variable + 1, (size_t)(&table->variables[table->count] - (variable + 1)) * sizeof *variable);
    table->count--;
}

/* A level from 0 to 998 without leading zeros is what it was again when bash becomes its command. */
static int is_level(const char *text) {
    size_t length = strspn(text, "0123456789");
    return length > 0 && length <= 3 && text[length] == 0 && (text[0] != '0' || length == 1) && strcmp(text, "999") != 0;
}

/* A bash that becomes its command takes back what it has added to SHLVL; one that waits for it does not. */
static enum noshell_reason set_level(struct table *table, int waits, char *text) {
    const char *level = value_of(table, "SHLVL");
    if (level && !is_level(level))
        return NOSHELL_ENVIRONMENT;
    snprintf(text, LEVEL_SIZE, "SHLVL=%d", (level ? atoi(level) : 0) + waits);
    set(table, text, 5);
    return NOSHELL_DIRECT;
}

static enum noshell_reason set_own(struct table *table, char *directory) {
    const char *old = value_of(table, "OLDPWD");
    struct stat status;
    if (!noshell_directory_is(value_of(table, "PWD"))) {
        if (noshell_directory_find(directory, PATH_MAX + 8) < 0)
            return NOSHELL_DIRECTORY;
        set(table, directory, 3);
    }
    if (old && (noshell_stat(old, &status) < 0 || !S_ISDIR(status.st_mode)))
        remove_name(table, "OLDPWD");
    /* A shell that is not interactive has no prompts. */
    remove_name(table, "PS1");
    remove_name(table, "PS2");
    return NOSHELL_DIRECT;
}

static enum noshell_reason assign(struct table *table, const struct noshell_command *command) {
    if (command->assignment_count > ASSIGNMENTS_MAX)
        return NOSHELL_ENVIRONMENT;
    for (size_t i = 0; i < command->assignment_count; i++) {
        const char *text = command->assignments[i];
        size_t length = noshell_name_length(text);
        if (length > USHRT_MAX || is_own(text, length) || is_locale(text, length) ||
            (length == 4 && memcmp(text, "LANG", 4) == 0) ||
            is_among(assigned_names, sizeof assigned_names / sizeof *assigned_names, text, length))
            return NOSHELL_ENVIRONMENT;
        set(table, text, length);
    }
    return NOSHELL_DIRECT;
}

/* The last variable of all, unless the environment gave `_` a place. */
static void hand_on(const struct table *assigned, const struct table *table, const char *no_name,
                    struct noshell_environment *result) {
    char **envp = result->envp;
    int placed = 0;
    if (no_name)
        *envp++ = (char *)no_name;
    for (int i = 0; i < assigned->count; i++)
        *envp++ = (char *)assigned->variables[i].text;
    for (int i = 0; i < table->count; i++) {
        const struct noshell_variable *variable = &table->variables[i];
        int is_last = variable->name_length == 1 && variable->text[0] == '_';
        if (!find(assigned, variable->text, variable->name_length))
            *envp++ = is_last ? result->last : (char *)variable->text;
        placed |= is_last;
    }
    if (!placed)
        *envp++ = result->last;
    *envp = NULL;
}

/* bash reads a tilde in PATH, and makes an empty directory "./". */
static int is_plain_path(const char *path) {
    size_t length = strlen(path);
    return length > 0 && path[0] != ':' && path[length - 1] != ':' && !strstr(path, "::") && !strchr(path, '~');
}

enum noshell_reason noshell_environment_of_bash(char *const *environment, const struct noshell_command *command,
                                                struct noshell_scratch *scratch, struct noshell_environment *result) {
    size_t count = noshell_environment_count(environment) + command->assignment_count + NOSHELL_VARIABLES_EXTRA;
    struct noshell_variable *variables = noshell_scratch_part(scratch, count * sizeof *variables);
    char *directory = noshell_scratch_part(scratch, PATH_MAX + 8);
    char *level = noshell_scratch_part(scratch, LEVEL_SIZE);
    struct table assigned = {variables, 0, ASSIGNMENT_BUCKETS};
    struct table table = {variables + command->assignment_count, 0, BUCKETS};
    const char *no_name = NULL;
    enum noshell_reason reason;
    result->envp = noshell_scratch_part(scratch, (count + 1) * sizeof(char *));
    result->last = noshell_scratch_part(scratch, PATH_MAX + 8);
    if (!variables || !directory || !level || !result->envp || !result->last)
        return NOSHELL_NO_RESOURCES;
    if ((reason = import(&table, environment, &no_name)) || (reason = set_own(&table, directory)) ||
        (reason = set_level(&table, command->redirection_count > 0, level)) || (reason = assign(&assigned, command)))
        return reason;
    result->path = value_of(&table, "PATH");
    if (!result->path || !is_plain_path(result->path))
        return NOSHELL_PATH;
    hand_on(&assigned, &table, no_name, result);
    return NOSHELL_DIRECT;
}
