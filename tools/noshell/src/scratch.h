/*
 * Memory for one call, without malloc: programs call system() even from the handlers of their crashes, and errno, malloc's locks
 * and its statistics must stay as they were.
 *
 * Thread-safe. The process keeps one region; calls that find it taken map their own.
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

/* Takes `size` bytes. 0, or -1 if memory runs out. */
int noshell_scratch_take(struct noshell_scratch *scratch, size_t size);
void noshell_scratch_give(struct noshell_scratch *scratch);

/* A word for the kernel to clear, by CLONE_CHILD_CLEARTID, when a child no longer uses this memory. While it is not 0, memory
 * that was given back is not handed out again. NULL when such memory cannot outlive the call. */
int *noshell_scratch_pending(const struct noshell_scratch *scratch);

/* In the child of a fork, which has no copy of the process that would clear the word. */
void noshell_scratch_after_fork(void);

/* The bytes that are left. */
size_t noshell_scratch_rest(const struct noshell_scratch *scratch);

/* Checks for address space for `size` more bytes without taking them. */
enum noshell_room { NOSHELL_ROOM_NONE, NOSHELL_ROOM_LIMITED, NOSHELL_ROOM_UNLIMITED };
enum noshell_room noshell_scratch_room(size_t size);

/* A part of it, 16-aligned; NULL when what was taken does not suffice. */
void *noshell_scratch_part(struct noshell_scratch *scratch, size_t size);

#endif
