/*
 * How calls were run: counted, and traced when NOSHELL_TRACE=1 asks for it.
 */
#ifndef NOSHELL_STATISTICS_H
#define NOSHELL_STATISTICS_H

#include "parse.h"

/* Counts one call of `function`, and prints a line on it when that is wanted. Leaves errno alone. */
void noshell_count(const char *function, const char *text, enum noshell_reason reason);

/* Takes a call back: it is tried again in another way. */
void noshell_uncount(enum noshell_reason reason);

/* Corrects the count of a call that was counted as direct, but whose child then became the shell. */
void noshell_recount(void);

/* Whether NOSHELL_TRACE=1. */
int noshell_is_traced(void);

/* Whether NOSHELL=off. Read once, at the first call. */
int noshell_is_off(void);

#endif
