/*
 * SIGINT and SIGQUIT while commands run: ignored from the first of them to the last, over all threads.
 */
#ifndef NOSHELL_INTERRUPTS_H
#define NOSHELL_INTERRUPTS_H

#include "kernel.h"
#include "lock.h"

/* Starts to ignore both. The signals that were not ignored before, which a child must find at their default. */
noshell_signals noshell_interrupts_ignore(void);
/* Restores what was before, when this was the last. */
void noshell_interrupts_restore(void);

/*
 * A shell would be in the same process group as its command, and Ctrl-C would end both.
 * Ignored but blocked signals wait, so whether that happened can be told afterwards: the status is what the caller would
 * have got. Both signals must be blocked in the calling thread; neither waits any longer on return.
 * bash ends by SIGINT only if its command did, and never by SIGQUIT.
 */
int noshell_interrupts_status(int status, int reported, int is_bash);

/* The same without pending signals as evidence: if a command in the foreground of a terminal dies by a keyboard signal, the terminal is
 * taken to have sent it, to the shell as well. */
int noshell_interrupts_guess(int status, int reported);

/* For fork. */
extern struct noshell_lock noshell_interrupts_lock;

#endif
