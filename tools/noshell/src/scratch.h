/*
 * Memory for the time of one call, without malloc: system() is called by handlers of crashed programs too, and errno,
 * malloc's locks and its statistics stay as they were.
 *
 * Thread-safe. One region is kept for whoever comes first; others map their own.
 */
#ifndef NOSHELL_SCRATCH_H
#define NOSHELL_SCRATCH_H

#include <stddef.h>

struct noshell_scratch {
    char *base;
    size_t size;
    int kept;
    char *next;
};

/* Takes room for `size` bytes. 0, or -1 when there is no memory. */
int noshell_scratch_take(struct noshell_scratch *scratch, size_t size);
void noshell_scratch_give(struct noshell_scratch *scratch);

/* Whether a process whose address space is limited has room for `size` bytes more, which are not taken. */
int noshell_scratch_is_room(size_t size);

/* A part of it, 16-aligned; NULL when what was taken does not suffice. */
void *noshell_scratch_part(struct noshell_scratch *scratch, size_t size);

#endif
