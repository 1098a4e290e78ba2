/* Counters, NOSHELL and NOSHELL_TRACE: see statistics.h. */
#define _GNU_SOURCE
#include "statistics.h"
#include "kernel.h"
#include "noshell.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The setting in the environment at the first call. */
enum { NOT_READ, ON, OFF, TRACED };
static atomic_int mode;

/* The process that read it: a fork of it has the counts, but did not make the calls. */
static pid_t reader;

static atomic_ulong direct_count, shell_count;

/* The part of a command that a line of the trace shows. */
#define SHOWN_MAX 200

static int read_mode(void) {
    const char *off = getenv("NOSHELL");
    const char *trace = getenv("NOSHELL_TRACE");
    int found = ON;
    if (off && strcmp(off, "off") == 0)
        found = OFF;
    else if (trace && strcmp(trace, "1") == 0)
        found = TRACED;
    reader = getpid();
    atomic_store_explicit(&mode, found, memory_order_relaxed);
    return found;
}

static int current_mode(void) {
    int found = atomic_load_explicit(&mode, memory_order_relaxed);
    return found == NOT_READ ? read_mode() : found;
}

int noshell_is_off(void) {
    return current_mode() == OFF;
}

int noshell_is_traced(void) {
    return current_mode() == TRACED;
}

static char *append(char *at, const char *end, const char *text) {
    while (*text && at < end)
        *at++ = *text++;
    return at;
}

static void write_line(const char *line, const char *end) {
    noshell_call3(SYS_write, 2, line, end - line);
}

static void trace(const char *function, const char *text, enum noshell_reason reason) {
    char line[SHOWN_MAX + 128];
    char *end = line + sizeof line - 1;
    char *at = append(append(line, end, "noshell: "), end, function);
    at = append(at, end, reason ? ": shell (" : ": direct: ");
    if (reason)
        at = append(append(at, end, noshell_reason_text(reason)), end, "): ");
    /* One line a call, whatever the command holds. */
    for (size_t i = 0; text[i] && i < SHOWN_MAX && at < end; i++)
        *at++ = text[i] == '\n' ? ' ' : text[i];
    *at++ = '\n';
    write_line(line, at);
}

void noshell_count(const char *function, const char *text, enum noshell_reason reason) {
    atomic_fetch_add_explicit(reason ? &shell_count : &direct_count, 1, memory_order_relaxed);
    if (current_mode() == TRACED)
        trace(function, text, reason);
}

void noshell_uncount(enum noshell_reason reason) {
    atomic_fetch_sub_explicit(reason ? &shell_count : &direct_count, 1, memory_order_relaxed);
}

void noshell_recount(void) {
    atomic_fetch_sub_explicit(&direct_count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&shell_count, 1, memory_order_relaxed);
}

static char *append_number(char *at, const char *end, unsigned long number) {
    char digits[24];
    char *digit = digits + sizeof digits - 1;
    *digit = 0;
    do
        *--digit = (char)('0' + number % 10);
    while (number /= 10);
    return append(at, end, digit);
}

__attribute__((destructor)) static void print_totals(void) {
    char line[128];
    char *end = line + sizeof line;
    char *at = append(line, end, "noshell: total: ");
    if (atomic_load_explicit(&mode, memory_order_relaxed) != TRACED || getpid() != reader)
        return;
    at = append_number(at, end, atomic_load(&direct_count));
    at = append(at, end, " direct, ");
    at = append_number(at, end, atomic_load(&shell_count));
    at = append(at, end, " by the shell\n");
    write_line(line, at);
}

__attribute__((visibility("default"))) void noshell_statistics(struct noshell_statistics *statistics) {
    statistics->direct = atomic_load_explicit(&direct_count, memory_order_relaxed);
    statistics->shell = atomic_load_explicit(&shell_count, memory_order_relaxed);
}
