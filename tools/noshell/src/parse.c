/*
 * The parser: one pass over the bytes, one token at a time, as POSIX.1-2017 XCU 2.3 (token recognition), 2.2 (quoting), 2.7
 * (redirection) and 2.9.1 (simple commands) have it, with what dash and bash do where the standard leaves a choice.
 *
 * A word is finished text when it holds nothing that a later step would look at: no expansion, no pattern, no tilde at a
 * place where one means something. The first thing that is not finished text ends the parse with its reason.
 */
#include "parse.h"

#include <stdint.h>
#include <string.h>

struct reader {
    const char *at;
    const char *end;
    enum noshell_dialect dialect;
    char *out; /* where the next byte of a finished word goes */
    struct noshell_command *command;
};

/* A word as it was found. */
struct word {
    char *text;
    size_t length;
    int quoted;     /* some of it was quoted: then it is no number, name or reserved word */
    int assignment; /* it is NAME=value in a place where that assigns */
};

/* Where a word stands decides what in it is special. */
enum place { PLACE_COMMAND, PLACE_ARGUMENT, PLACE_TARGET };

size_t noshell_parse_room(size_t length) {
    /* Two bytes at least make a word ("a "), and three a redirection (">a "); each word ends with a NUL of its own. */
    size_t words = length / 2 + 3;
    return words * sizeof(char *) * 2 + words * sizeof(struct noshell_redirection) + 2 * length + 8;
}

int noshell_is_name(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i > 0 && c >= '0' && c <= '9'))
            return 0;
    }
    return length > 0;
}

static int is_digit(char c) { return c >= '0' && c <= '9'; }

/* Removes line continuations (backslash, newline), which vanish before tokens are told apart. */
static void skip_continuations(struct reader *r) {
    while (r->end - r->at >= 2 && r->at[0] == '\\' && r->at[1] == '\n')
        r->at += 2;
}

/* The next byte, or 0 at the end: the text holds no NUL. */
static char peek(struct reader *r) {
    skip_continuations(r);
    return r->at < r->end ? *r->at : 0;
}

static void skip_blanks(struct reader *r) {
    for (char c = peek(r); c == ' ' || c == '\t'; c = peek(r))
        r->at++;
}

static int ends_word(char c) {
    switch (c) {
    case 0: case ' ': case '\t': case '\n': case '&': case '|': case ';': case '(': case ')': case '<': case '>':
        return 1;
    default:
        return 0;
    }
}

/* A dollar sign is an ordinary byte only where nothing follows that it could introduce. */
static int dollar_is_plain(const struct reader *r, int in_quotes) {
    char next = r->at + 1 < r->end ? r->at[1] : 0;
    return next == ' ' || next == '\t' || next == '\n' || (in_quotes ? next == '"' : next == 0);
}

static enum noshell_reason single_quotes(struct reader *r) {
    const char *close = memchr(r->at + 1, '\'', (size_t)(r->end - r->at - 1));
    if (!close)
        return NOSHELL_UNFINISHED;
    size_t length = (size_t)(close - r->at - 1);
    memcpy(r->out, r->at + 1, length);
    r->out += length;
    r->at = close + 1;
    return NOSHELL_DIRECT;
}

static enum noshell_reason double_quotes(struct reader *r) {
    for (r->at++;; r->at++) {
        char c = peek(r);
        switch (c) {
        case 0:
            return NOSHELL_UNFINISHED;
        case '"':
            r->at++;
            return NOSHELL_DIRECT;
        case '`':
            return NOSHELL_EXPANSION;
        case '$':
            if (!dollar_is_plain(r, 1))
                return NOSHELL_EXPANSION;
            break;
        case '\\':
            if (r->at + 1 < r->end && strchr("$`\"\\", r->at[1]))
                c = *++r->at;
            break;
        default:
            break;
        }
        *r->out++ = c;
    }
}

/* Meets an unquoted `=`: the end of a name that is assigned to, where assignments may stand. */
static enum noshell_reason equals_sign(struct reader *r, struct word *word, enum place place) {
    size_t length = (size_t)(r->out - word->text);
    if (place != PLACE_COMMAND || word->quoted || word->assignment)
        return NOSHELL_DIRECT;
    if (noshell_is_name(word->text, length))
        word->assignment = 1;
    else if (r->dialect == NOSHELL_DIALECT_BASH && length > 1 && word->text[length - 1] == '+')
        return NOSHELL_ASSIGNMENT;
    return NOSHELL_DIRECT;
}

/* A tilde means a directory at the start of a word, and in assignments after `=` and `:`; bash looks at other words too. */
static int tilde_is_special(const struct reader *r, const struct word *word) {
    return r->out == word->text || r->out[-1] == '=' || r->out[-1] == ':';
}

static enum noshell_reason unquoted_byte(struct reader *r, struct word *word, enum place place) {
    char c = *r->at;
    switch (c) {
    case '\\':
        if (r->at + 1 == r->end)
            return NOSHELL_UNFINISHED;
        c = *++r->at;
        word->quoted = 1;
        break;
    case '$':
        if (!dollar_is_plain(r, 0))
            return NOSHELL_EXPANSION;
        break;
    case '`':
        return NOSHELL_EXPANSION;
    case '*': case '?': case '[':
        /* Assigned values are not patterns; but bash also accepts a[i]=v as an assignment. */
        if (!word->assignment)
            return NOSHELL_PATTERN;
        break;
    case '~':
        if (tilde_is_special(r, word))
            return NOSHELL_TILDE;
        break;
    case '{': case '}':
        if (r->dialect == NOSHELL_DIALECT_BASH)
            return NOSHELL_BRACE;
        break;
    case '=': {
        enum noshell_reason reason = equals_sign(r, word, place);
        if (reason)
            return reason;
        break;
    }
    default:
        break;
    }
    *r->out++ = c;
    r->at++;
    return NOSHELL_DIRECT;
}

/* Reads the word that begins here. */
static enum noshell_reason read_word(struct reader *r, enum place place, struct word *word) {
    memset(word, 0, sizeof *word);
    word->text = r->out;
    for (char c = peek(r); !ends_word(c); c = peek(r)) {
        enum noshell_reason reason;
        if (c == '\'' || c == '"') {
            word->quoted = 1;
            reason = c == '"' ? double_quotes(r) : single_quotes(r);
        } else {
            reason = unquoted_byte(r, word, place);
        }
        if (reason)
            return reason;
    }
    word->length = (size_t)(r->out - word->text);
    *r->out++ = 0;
    return NOSHELL_DIRECT;
}

/* Reads the operator that begins here, without its left operand. */
static enum noshell_reason read_operator(struct reader *r, struct noshell_redirection *redirection) {
    char first = *r->at++;
    char second = peek(r);
    redirection->fd = first == '>';
    redirection->operator = first == '>' ? NOSHELL_WRITE : NOSHELL_READ;
    switch (second) {
    case '<':
        return first == '<' ? NOSHELL_HERE_DOCUMENT : NOSHELL_REDIRECTION;
    case '>':
        redirection->operator = first == '>' ? NOSHELL_APPEND : NOSHELL_READWRITE;
        r->at++;
        break;
    case '&':
        redirection->operator = NOSHELL_DUPLICATE;
        r->at++;
        break;
    case '|':
        if (first == '<')
            return NOSHELL_REDIRECTION;
        r->at++;
        break;
    default:
        break;
    }
    return NOSHELL_DIRECT;
}

/* A word of digits just before a redirection is its file descriptor. Only one digit is that to every shell. */
static int is_number(struct reader *r, const struct word *word) {
    char next = peek(r);
    if (word->quoted || (next != '<' && next != '>'))
        return 0;
    for (size_t i = 0; i < word->length; i++)
        if (!is_digit(word->text[i]))
            return 0;
    return 1;
}

/* Reads an operator and its right operand; `number` is the word just before it, or NULL. */
static enum noshell_reason read_redirection(struct reader *r, const struct word *number) {
    struct noshell_redirection *redirection = &r->command->redirections[r->command->redirection_count];
    struct word target;
    enum noshell_reason reason = read_operator(r, redirection);
    if (reason)
        return reason;
    if (number)
        redirection->fd = number->text[0] - '0';
    skip_blanks(r);
    if (ends_word(peek(r)))
        return NOSHELL_REDIRECTION;
    if (peek(r) == '#')
        return NOSHELL_COMMENT;
    reason = read_word(r, PLACE_TARGET, &target);
    if (reason)
        return reason;
    /* In >1>f the second digit belongs to the second operator, and the first one lacks its operand. */
    if (is_number(r, &target))
        return NOSHELL_REDIRECTION;
    redirection->path = target.text;
    redirection->source = -1;
    if (redirection->operator == NOSHELL_DUPLICATE) {
        if (target.length != 1 || (!is_digit(target.text[0]) && target.text[0] != '-'))
            return NOSHELL_REDIRECTION;
        if (target.text[0] == '-')
            redirection->operator = NOSHELL_CLOSE;
        else
            redirection->source = target.text[0] - '0';
    }
    r->command->redirection_count++;
    return NOSHELL_DIRECT;
}

static enum noshell_reason check_name(const struct reader *r, const struct word *word) {
    if (!word->quoted && noshell_is_reserved(word->text, r->dialect))
        return NOSHELL_RESERVED_WORD;
    if (noshell_is_builtin(word->text, r->dialect))
        return NOSHELL_BUILTIN;
    return word->length == 0 ? NOSHELL_NOT_FOUND : NOSHELL_DIRECT;
}

static enum noshell_reason read_word_or_number(struct reader *r) {
    struct noshell_command *command = r->command;
    enum place place = command->word_count == 0 ? PLACE_COMMAND : PLACE_ARGUMENT;
    struct word word;
    enum noshell_reason reason = read_word(r, place, &word);
    if (reason)
        return reason;
    if (is_number(r, &word))
        return word.length == 1 ? read_redirection(r, &word) : NOSHELL_REDIRECTION;
    if (word.assignment) {
        command->assignments[command->assignment_count++] = word.text;
        return NOSHELL_DIRECT;
    }
    if (command->word_count == 0)
        reason = check_name(r, &word);
    command->words[command->word_count++] = word.text;
    return reason;
}

/* A newline ends the command. Nothing may follow it; bash treats the last command of its text in a special way, and
 * takes nothing but the very end for the end. */
static enum noshell_reason after_newline(struct reader *r) {
    r->at++;
    if (r->dialect == NOSHELL_DIALECT_DASH)
        while (r->at < r->end && strchr(" \t\n", *r->at))
            r->at++;
    return r->at < r->end ? NOSHELL_LIST : NOSHELL_DIRECT;
}

static enum noshell_reason read_token(struct reader *r) {
    switch (peek(r)) {
    case '\n':
        return after_newline(r);
    case '#':
        return NOSHELL_COMMENT;
    case '&':
        return NOSHELL_BACKGROUND;
    case '|':
        return NOSHELL_PIPELINE;
    case ';':
        return NOSHELL_LIST;
    case '(': case ')':
        return NOSHELL_SUBSHELL;
    case '<': case '>':
        return read_redirection(r, NULL);
    default:
        return read_word_or_number(r);
    }
}

/* Lays the arrays and the text out in the caller's memory. */
static void lay_out(struct reader *r, size_t length, void *memory) {
    size_t words = length / 2 + 3;
    r->command->redirections = memory;
    r->command->words = (char **)(r->command->redirections + words);
    r->command->assignments = r->command->words + words;
    r->out = (char *)(r->command->assignments + words);
}

static int has_multibyte(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] >= 0x80)
            return 1;
    return 0;
}

enum noshell_reason noshell_parse(const char *text, size_t length, enum noshell_dialect dialect, void *memory,
                                  struct noshell_command *command) {
    struct reader r = {.at = text, .end = text + length, .dialect = dialect, .command = command};
    memset(command, 0, sizeof *command);
    /* bash reads characters of the locale, dash bytes. */
    if (dialect == NOSHELL_DIALECT_BASH && has_multibyte(text, length))
        return NOSHELL_MULTIBYTE;
    lay_out(&r, length, memory);
    for (skip_blanks(&r); r.at < r.end; skip_blanks(&r)) {
        enum noshell_reason reason = read_token(&r);
        if (reason)
            return reason;
    }
    command->words[command->word_count] = NULL;
    if (command->word_count > 0)
        return NOSHELL_DIRECT;
    return command->assignment_count + command->redirection_count == 0 ? NOSHELL_EMPTY : NOSHELL_NO_COMMAND;
}
