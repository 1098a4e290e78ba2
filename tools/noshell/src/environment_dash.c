/*
 * dash's table of variables, as far as it determines a command's environment.
 *
 * dash keeps variables in 39 chains. Its own stand first in theirs, what it imports follows in the order of the
 * environment, and a command gets the exported ones chain by chain. Here the chains are made of indexes into one array.
 */
#define _GNU_SOURCE
#include "environment.h"
#include "directory.h"
#include "kernel.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define CHAINS 39

struct table {
    struct noshell_variable *variables;
    int count;
    int heads[CHAINS];
    int tails[CHAINS];
};

/* dash's own variables with their initial values, in the order of its chains. */
static const char *const own_variables[] = {
    "LINENO=", "OPTIND=1", "PS4=+ ", "PS2=> ", "PS1=$ ",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "MAILPATH", "MAIL", "IFS= \t\n",
};
#define OWN_COUNT (sizeof own_variables / sizeof *own_variables)

_Static_assert(OWN_COUNT + 2 <= NOSHELL_VARIABLES_EXTRA, "PPID and PWD may come on top");

/* A variable's name, before "=" or the end. */
struct name {
    size_t length; /* 0 if it is none */
    unsigned hash;
};

/* Reads name, length and hash in one go: each call of system comes here with the whole environment. */
static struct name read_name(const char *text) {
    unsigned hash = (unsigned)(unsigned char)text[0] << 4;
    const char *at = text;
    for (;; at++) {
        unsigned char c = (unsigned char)*at;
        if ((unsigned)(c | 32) - 'a' >= 26 && c != '_' && ((unsigned)c - '0' >= 10 || at == text))
            break;
        hash += c;
    }
    return (struct name){(size_t)(at - text), hash};
}

static struct noshell_variable *find(struct table *table, const char *text, struct name name) {
    for (int i = table->heads[name.hash % CHAINS]; i >= 0; i = table->variables[i].next) {
        struct noshell_variable *variable = &table->variables[i];
        if (variable->hash == name.hash && variable->name_length == name.length &&
            memcmp(variable->text, text, name.length) == 0)
            return variable;
    }
    return NULL;
}

static struct noshell_variable *append(struct table *table, struct name name) {
    unsigned chain = name.hash % CHAINS;
    int index = table->count++;
    int *link = table->tails[chain] >= 0 ? &table->variables[table->tails[chain]].next : &table->heads[chain];
    *link = index;
    table->tails[chain] = index;
    table->variables[index] =
        (struct noshell_variable){.name_length = (unsigned short)name.length, .hash = name.hash, .next = -1};
    return &table->variables[index];
}

/* Sets a variable, at the end of its chain if it is new. Exporting is for ever. */
static void set(struct table *table, const char *text, struct name name, int exported) {
    struct noshell_variable *variable = find(table, text, name);
    if (!variable)
        variable = append(table, name);
    variable->text = text;
    variable->exported |= (unsigned char)exported;
}

static const char *value_of(struct table *table, const char *name) {
    struct noshell_variable *variable = find(table, name, read_name(name));
    return variable && variable->text[variable->name_length] == '=' ? variable->text + variable->name_length + 1 : NULL;
}

static int is_number(const char *text) {
    size_t length = strspn(text, "0123456789");
    return length > 0 && length < 9 && text[length] == 0;
}

static enum noshell_reason import(struct table *table, char *const *environment) {
    for (; *environment; environment++) {
        const char *text = *environment;
        struct name name = read_name(text);
        if (name.length == 0 || text[name.length] != '=')
            continue;
        /* dash refuses to start if OPTIND is not a number. */
        if (name.length > USHRT_MAX || (name.length == 6 && memcmp(text, "OPTIND", 6) == 0 && !is_number(text + 7)))
            return NOSHELL_ENVIRONMENT;
        set(table, text, name, 1);
    }
    return NOSHELL_DIRECT;
}

/* Decimal digits before `end`, which is not written to. */
static char *digits(char *end, unsigned long value) {
    do
        *--end = (char)('0' + value % 10);
    while (value /= 10);
    return end;
}

/* "PPID=" and the number of the shell's parent: this process. It is handed on only if it was given. */
static enum noshell_reason set_parent(struct table *table, struct noshell_scratch *scratch) {
    char *text;
    if (!value_of(table, "PPID"))
        return NOSHELL_DIRECT;
    text = noshell_scratch_part(scratch, 32);
    if (!text)
        return NOSHELL_NO_RESOURCES;
    text[31] = 0;
    text = digits(text + 31, (unsigned long)getpid()) - 5;
    memcpy(text, "PPID=", 5);
    set(table, text, read_name(text), 0);
    return NOSHELL_DIRECT;
}

static enum noshell_reason set_own(struct table *table, struct noshell_scratch *scratch) {
    char *directory;
    set(table, "IFS= \t\n", read_name("IFS"), 0);
    set(table, "OPTIND=1", read_name("OPTIND"), 0);
    if (set_parent(table, scratch))
        return NOSHELL_NO_RESOURCES;
    if (noshell_directory_is(value_of(table, "PWD")))
        return NOSHELL_DIRECT;
    directory = noshell_scratch_part(scratch, PATH_MAX + 8);
    if (!directory)
        return NOSHELL_NO_RESOURCES;
    if (noshell_directory_find(directory, PATH_MAX + 8) < 0)
        return NOSHELL_DIRECTORY;
    set(table, directory, read_name(directory), 1);
    return NOSHELL_DIRECT;
}

static enum noshell_reason assign(struct table *table, const struct noshell_command *command) {
    for (size_t i = 0; i < command->assignment_count; i++) {
        const char *text = command->assignments[i];
        struct name name = read_name(text);
        /* These two have a life of their own in the shell. */
        if (name.length > USHRT_MAX || (name.length == 6 && (!memcmp(text, "OPTIND", 6) || !memcmp(text, "LINENO", 6))))
            return NOSHELL_ENVIRONMENT;
        set(table, text, name, 1);
    }
    return NOSHELL_DIRECT;
}

static void hand_on(const struct table *table, char **envp) {
    for (int chain = 0; chain < CHAINS; chain++)
        for (int i = table->heads[chain]; i >= 0; i = table->variables[i].next)
            if (table->variables[i].exported)
                *envp++ = (char *)table->variables[i].text;
    *envp = NULL;
}

enum noshell_reason noshell_environment_of_dash(char *const *environment, const struct noshell_command *command,
                                          struct noshell_scratch *scratch, struct noshell_environment *result) {
    size_t count = noshell_environment_count(environment) + command->assignment_count + NOSHELL_VARIABLES_EXTRA;
    struct table table = {.variables = noshell_scratch_part(scratch, count * sizeof(struct noshell_variable))};
    enum noshell_reason reason;
    result->envp = noshell_scratch_part(scratch, (count + 1) * sizeof(char *));
    if (!table.variables || !result->envp)
        return NOSHELL_NO_RESOURCES;
    for (int i = 0; i < CHAINS; i++)
        table.heads[i] = table.tails[i] = -1;
    for (size_t i = 0; i < OWN_COUNT; i++)
        set(&table, own_variables[i], read_name(own_variables[i]), 0);
    if ((reason = import(&table, environment)) || (reason = set_own(&table, scratch)) || (reason = assign(&table, command)))
        return reason;
    result->path = value_of(&table, "PATH");
    hand_on(&table, result->envp);
    return NOSHELL_DIRECT;
}
