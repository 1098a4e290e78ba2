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
 * The shell that there would have been stands in the same process group as its command, and Ctrl-C would have ended both.
 * Ignored but blocked signals wait, so whether that happened can be told afterwards: the status is what the caller would
 * have got. Both signals must be blocked in the calling thread; neither waits any longer on return.
 * bash ends by SIGINT only if its command did, and never by SIGQUIT.
 */
int noshell_interrupts_status(int status, int reported, int is_bash);

/* The same where no signal can have waited: a command that a signal of the keyboard ended, in the foreground of a terminal,
 * is taken to have been ended from there, together with its shell. */
int noshell_interrupts_guess(int status, int reported);

/* For fork. */
extern struct noshell_lock noshell_interrupts_lock;

#endif
