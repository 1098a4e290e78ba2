/*
 * The grammar: bytes of a command in, words, assignments and redirections out, or the reason why only a shell can run it.
 *
 * Invariant: a pure function. No system call, no allocation, no global state; a fuzzer links this file and names.c alone.
 * Invariant: what is accepted means the same to the shell of the given dialect; when in doubt the answer is a reason.
 */
#ifndef NOSHELL_PARSE_H
#define NOSHELL_PARSE_H

#include <stddef.h>

/* The shells whose reading of a simple command is known. */
enum noshell_dialect { NOSHELL_DIALECT_DASH, NOSHELL_DIALECT_BASH };

/* Why a command must go to the shell; NOSHELL_DIRECT means that it need not. */
enum noshell_reason {
    NOSHELL_DIRECT = 0,
    /* told by the grammar */
    NOSHELL_EMPTY,
    NOSHELL_NO_COMMAND,
    NOSHELL_LIST,
    NOSHELL_PIPELINE,
    NOSHELL_BACKGROUND,
    NOSHELL_SUBSHELL,
    NOSHELL_COMMENT,
    NOSHELL_EXPANSION,
    NOSHELL_PATTERN,
    NOSHELL_TILDE,
    NOSHELL_BRACE,
    NOSHELL_HERE_DOCUMENT,
    NOSHELL_REDIRECTION,
    NOSHELL_ASSIGNMENT,
    NOSHELL_UNFINISHED,
    NOSHELL_RESERVED_WORD,
    NOSHELL_BUILTIN,
    NOSHELL_MULTIBYTE,
    /* told by the process, its environment or the file system */
    NOSHELL_OPTION,
    NOSHELL_TOO_LONG,
    NOSHELL_UNKNOWN_SHELL,
    NOSHELL_FIRST_COMMAND,
    NOSHELL_PRIVILEGES,
    NOSHELL_CHILD_IGNORED,
    NOSHELL_ENVIRONMENT,
    NOSHELL_DIRECTORY,
    NOSHELL_PATH,
    NOSHELL_NOT_FOUND,
    NOSHELL_SPECIAL_FILE,
    NOSHELL_NOT_EXECUTED,
    NOSHELL_NO_RESOURCES,
    NOSHELL_REASON_COUNT
};

/* A few words for people, such as "pipeline". */
const char *noshell_reason_text(enum noshell_reason reason);

enum noshell_operator {
    NOSHELL_READ,      /* n<path  */
    NOSHELL_WRITE,     /* n>path and n>|path, the same without noclobber */
    NOSHELL_APPEND,    /* n>>path */
    NOSHELL_READWRITE, /* n<>path */
    NOSHELL_DUPLICATE, /* n>&m and n<&m */
    NOSHELL_CLOSE      /* n>&- and n<&- */
};

struct noshell_redirection {
    enum noshell_operator operator;
    int fd;           /* n, 0 to 9 */
    int source;       /* m of NOSHELL_DUPLICATE */
    const char *path; /* of the other operators */
};

/* A simple command. All strings and arrays lie in the memory that was given to noshell_parse. */
struct noshell_command {
    char **words; /* ends with NULL, ready for execve; words[0] is the command's name */
    size_t word_count;
    char **assignments; /* "NAME=value" */
    size_t assignment_count;
    struct noshell_redirection *redirections;
    size_t redirection_count;
};

/* The bytes of memory that parsing `length` bytes may take. */
size_t noshell_parse_room(size_t length);

/* Reads text[0..length), which holds no NUL. `memory` has noshell_parse_room(length) bytes, aligned as by malloc. */
enum noshell_reason noshell_parse(const char *text, size_t length, enum noshell_dialect dialect, void *memory,
                                  struct noshell_command *command);

/* names.c: whether the dialect reserves the word, or runs the name itself. */
int noshell_is_reserved(const char *word, enum noshell_dialect dialect);
int noshell_is_builtin(const char *name, enum noshell_dialect dialect);
/* Whether text[0..length) is a name as assignments have it. */
int noshell_is_name(const char *text, size_t length);

#endif
