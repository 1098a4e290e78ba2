/*
 * The names that a shell does not look for in PATH: reserved words and builtins of dash 0.5 and bash 3 to 5, and the texts
 * of the reasons. A name of either shell counts for both, so that a builtin which a newer version adds is more often known.
 */
#include "parse.h"

#include <string.h>

/* Sorted, for the binary search. */
static const char *const reserved_words[] = {
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "time", "until", "while", "{", "}",
};

static const char *const builtins[] = {
    ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "chdir", "command", "compgen", "complete",
    "compopt", "continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit", "export", "false", "fc",
    "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd", "printf",
    "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "test",
    "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
};

static int contains(const char *const *list, size_t count, const char *word) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(word, list[middle]);
        if (order == 0)
            return 1;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

int noshell_is_reserved(const char *word, enum noshell_dialect dialect) {
    (void)dialect;
    return contains(reserved_words, sizeof reserved_words / sizeof *reserved_words, word);
}

int noshell_is_builtin(const char *name, enum noshell_dialect dialect) {
    /* bash takes %1 for `fg %1`. */
    if (dialect == NOSHELL_DIALECT_BASH && name[0] == '%')
        return 1;
    return contains(builtins, sizeof builtins / sizeof *builtins, name);
}

const char *noshell_reason_text(enum noshell_reason reason) {
    static const char *const texts[NOSHELL_REASON_COUNT] = {
        [NOSHELL_DIRECT] = "direct",
        [NOSHELL_EMPTY] = "empty command",
        [NOSHELL_NO_COMMAND] = "no command word",
        [NOSHELL_LIST] = "list of commands",
        [NOSHELL_PIPELINE] = "pipeline or or-list",
        [NOSHELL_BACKGROUND] = "background or and-list",
        [NOSHELL_SUBSHELL] = "subshell or function",
        [NOSHELL_COMMENT] = "comment",
        [NOSHELL_EXPANSION] = "expansion",
        [NOSHELL_PATTERN] = "pattern",
        [NOSHELL_TILDE] = "tilde",
        [NOSHELL_BRACE] = "brace",
        [NOSHELL_HERE_DOCUMENT] = "here-document",
        [NOSHELL_REDIRECTION] = "redirection of another kind",
        [NOSHELL_ASSIGNMENT] = "assignment of another kind",
        [NOSHELL_UNFINISHED] = "unfinished quoting",
        [NOSHELL_RESERVED_WORD] = "reserved word",
        [NOSHELL_BUILTIN] = "builtin",
        [NOSHELL_MULTIBYTE] = "bytes that the locale gives a meaning",
        [NOSHELL_OPTION] = "starts like an option",
        [NOSHELL_TOO_LONG] = "longer than 128 KiB",
        [NOSHELL_UNKNOWN_SHELL] = "unknown shell",
        [NOSHELL_FIRST_COMMAND] = "first command, shell not identified yet",
        [NOSHELL_PRIVILEGES] = "effective and real user or group differ",
        [NOSHELL_CHILD_IGNORED] = "SIGCHLD ignored",
        [NOSHELL_ENVIRONMENT] = "variable that the shell obeys",
        [NOSHELL_DIRECTORY] = "no working directory",
        [NOSHELL_PATH] = "PATH that the shell reads in its own way",
        [NOSHELL_NOT_FOUND] = "command not found",
        [NOSHELL_SPECIAL_FILE] = "redirection that is no plain file",
        [NOSHELL_NOT_EXECUTED] = "not executed directly",
        [NOSHELL_NO_RESOURCES] = "no memory, process or descriptor",
    };
    return reason < NOSHELL_REASON_COUNT && texts[reason] ? texts[reason] : "unknown reason";
}
