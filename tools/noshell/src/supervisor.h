/*
 * A process between a command and its caller, in place of dash. If a command of popen("... 2>&1", "r") dies by a signal, dash's
 * report must reach the pipe before its end. Only a process that holds the pipe and waits for the command can write it.
 *
 * The supervisor shares the caller's memory, as the spawn's child does until execve, but for as long as the command runs. It
 * has a stack of its own, makes system calls alone, and holds no descriptors but the pipe and standard input.
 */
#ifndef NOSHELL_SUPERVISOR_H
#define NOSHELL_SUPERVISOR_H

#include "launch.h"

/* The memory of one supervisor; given back when it has been waited for. */
struct noshell_supervisor;

/* Starts the command under a supervisor, which writes to `pipe_end`. 0 and *pid, the supervisor's, whose exit status is the
 * one that dash would have had; or an errno, and nothing is left behind. */
int noshell_supervisor_start(struct noshell_spawn *spawn, int pipe_end, struct noshell_supervisor **supervisor, pid_t *pid);

void noshell_supervisor_free(struct noshell_supervisor *supervisor);

#endif
