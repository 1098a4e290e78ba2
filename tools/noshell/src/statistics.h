/*
 * How calls were run: counted, and traced when NOSHELL_TRACE=1 asks for it.
 */
#ifndef NOSHELL_STATISTICS_H
#define NOSHELL_STATISTICS_H

#include "parse.h"

/* Counts one call of `function`, and prints a line on it when that is wanted. Leaves errno alone. */
void noshell_count(const char *function, const char *text, enum noshell_reason reason);

/* Whether NOSHELL=off. Read once, at the first call. */
int noshell_is_off(void);

#endif
