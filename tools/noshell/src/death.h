/*
 * What dash makes of a command's end: a status of its own, and a word on standard error when a signal was the cause.
 */
#ifndef NOSHELL_DEATH_H
#define NOSHELL_DEATH_H

#include "parse.h"

/* The wait status of a dash whose command ended with `status`. */
int noshell_death_status(int status);

/* Prints what dash prints, to where the command's redirections have led standard error. */
void noshell_death_report(int status, const struct noshell_redirection *redirections, size_t count);

/* The end of a command whose redirections are no longer known: to standard error. */
void noshell_death_report_to(int fd, int status);

#endif
