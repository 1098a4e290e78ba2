/*
 * The functions that are replaced when libnoshell.so is loaded before the C library: system, popen, pclose, fclose.
 */
#define _GNU_SOURCE
#include "interrupts.h"
#include "libc.h"
#include "plan.h"
#include "scratch.h"
#include "shell.h"
#include "statistics.h"
#include "streams.h"
#include "system.h"

#include <pthread.h>
#include <stdlib.h>

#define REPLACEMENT __attribute__((visibility("default")))

/* In the order in which nested locks are taken. */
static void before_fork(void) {
    noshell_lock_before_fork(&noshell_streams_lock);
    noshell_lock_before_fork(&noshell_interrupts_lock);
    noshell_lock_before_fork(&noshell_shell_lock);
}

static void after_fork(void) {
    noshell_lock_after_fork(&noshell_shell_lock);
    noshell_lock_after_fork(&noshell_interrupts_lock);
    noshell_lock_after_fork(&noshell_streams_lock);
}

static void after_fork_in_child(void) {
    after_fork();
    noshell_scratch_after_fork();
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

REPLACEMENT int system(const char *text) {
    int status;
    if (!text || noshell_is_off())
        return noshell_libc_system(text);
    if (noshell_system_run(text, &status) == 0)
        return status;
    noshell_count("system", text, noshell_plan_refusal(text));
    return noshell_libc_system(text);
}

REPLACEMENT FILE *popen(const char *text, const char *type) {
    return noshell_is_off() ? noshell_libc_popen(text, type) : noshell_stream_open(text, type);
}

REPLACEMENT int pclose(FILE *stream) {
    int result;
    return noshell_stream_close(stream, &result) == NOSHELL_CLOSED ? result : noshell_libc_pclose(stream);
}

REPLACEMENT int fclose(FILE *stream) {
    int result;
    return noshell_stream_close(stream, &result) == NOSHELL_CLOSED ? result : noshell_libc_fclose(stream);
}
