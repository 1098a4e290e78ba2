/*
 * A lock that is safe with fork() and signal handlers.
 *
 * A fork copies locks in their current state, and the child has no thread to release those that other threads hold, so a fork takes
 * all locks first. A handler may interrupt a thread that holds a lock, and may itself fork or call system(); it must not wait for
 * the thread that it interrupted. A mutex does not reveal its holder at each instruction. This lock is one word, which names it.
 */
#ifndef NOSHELL_LOCK_H
#define NOSHELL_LOCK_H

#include "kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

/* FUTEX_WAIT and FUTEX_WAKE for one process, of linux/futex.h, which musl's compiler does not find. */
#define NOSHELL_FUTEX_WAIT 128
#define NOSHELL_FUTEX_WAKE 129

struct noshell_lock {
    _Atomic(pthread_t) holder; /* 0: free */
    atomic_uint given;         /* how often; a futex */
    atomic_int waiting;        /* threads */
    int passed;                /* forks that came by and had it already; belongs to the holder */
};

#define NOSHELL_LOCK_INITIALIZER {0, 0, 0, 0}

/* The holder: 0, and then the lock is this thread's. */
static inline pthread_t noshell_lock_try(struct noshell_lock *lock) {
    pthread_t holder = 0;
    atomic_compare_exchange_strong(&lock->holder, &holder, pthread_self());
    return holder;
}

/* Takes the lock: 1, or 0 if this thread holds it already and a handler has interrupted it. */
static inline int noshell_lock_take(struct noshell_lock *lock) {
    pthread_t holder = noshell_lock_try(lock);
    if (holder == 0 || holder == pthread_self())
        return holder == 0;
    atomic_fetch_add(&lock->waiting, 1);
    for (;;) {
        /* If the lock is released after this load, the wait returns at once. */
        unsigned given = atomic_load(&lock->given);
        if (noshell_lock_try(lock) == 0)
            break;
        noshell_call4(SYS_futex, &lock->given, NOSHELL_FUTEX_WAIT, given, NULL);
    }
    atomic_fetch_sub(&lock->waiting, 1);
    return 1;
}

static inline void noshell_lock_give(struct noshell_lock *lock) {
    atomic_store(&lock->holder, 0);
    atomic_fetch_add(&lock->given, 1);
    if (atomic_load(&lock->waiting))
        noshell_call3(SYS_futex, &lock->given, NOSHELL_FUTEX_WAKE, 1);
}

static inline void noshell_lock_before_fork(struct noshell_lock *lock) {
    if (!noshell_lock_take(lock))
        lock->passed++;
}

/* In a child the threads that waited are still counted, and woken in vain. */
static inline void noshell_lock_after_fork(struct noshell_lock *lock) {
    if (lock->passed)
        lock->passed--;
    else
        noshell_lock_give(lock);
}

#endif
