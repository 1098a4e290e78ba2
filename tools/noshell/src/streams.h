/*
 * popen(): the table of open streams and their commands.
 *
 * Thread-safe: a command is started and its stream entered in the table under one lock, so that no command started
 * meanwhile keeps another's pipe open.
 */
#ifndef NOSHELL_STREAMS_H
#define NOSHELL_STREAMS_H

#include "lock.h"

#include <stdio.h>

/* popen(): NULL with errno when the C library fails as well. */
FILE *noshell_stream_open(const char *text, const char *type);

/* The result of closing a stream. */
enum noshell_closing { NOSHELL_NOT_OURS, NOSHELL_CLOSED };

/* Closes the stream and waits for its command, if noshell_stream_open made it; *result is what pclose() returns. A stream
 * that it did not make is left alone. */
enum noshell_closing noshell_stream_close(FILE *stream, int *result);

/* For fork. */
extern struct noshell_lock noshell_streams_lock;

#endif
