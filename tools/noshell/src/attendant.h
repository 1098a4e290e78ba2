/*
 * A process that stands between a command and its caller where dash would: when a command of popen("... 2>&1", "r") is
 * ended by a signal, the word on that must reach the pipe before its end, and only somebody who holds the pipe and waits
 * for the command can write it.
 *
 * The attendant shares the caller's memory, as the spawn's child does until execve, but for as long as the command runs. It
 * has a stack of its own, makes system calls alone, and holds no descriptors but the pipe and standard input.
 */
#ifndef NOSHELL_ATTENDANT_H
#define NOSHELL_ATTENDANT_H

#include "launch.h"

/* The memory of one attendant; given back when it has been waited for. */
struct noshell_attendant;

/* Starts the command under an attendant, which writes to `pipe_end`. 0 and *pid, the attendant's, whose exit status is the
 * one that dash would have had; or an errno, and nothing is left behind. */
int noshell_attendant_start(struct noshell_spawn *spawn, int pipe_end, struct noshell_attendant **attendant, pid_t *pid);

void noshell_attendant_free(struct noshell_attendant *attendant);

#endif
