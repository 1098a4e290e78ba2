/*
 * A mutex for what is shared between threads, that fork() and handlers of signals get along with.
 *
 * A fork copies locks as they are, and in the child nobody would unlock what another thread held: so a fork takes them all
 * first. A handler may run between any two instructions of a thread that holds one, and may itself fork or call system():
 * then it must not wait for the thread that it has interrupted.
 */
#ifndef NOSHELL_LOCK_H
#define NOSHELL_LOCK_H

#include <pthread.h>
#include <stdatomic.h>

struct noshell_lock {
    pthread_mutex_t mutex;
    _Atomic(pthread_t) holder; /* 0: nobody */
    int passed;                /* a fork came by that had it already; belongs to the holder */
};

#define NOSHELL_LOCK_INITIALIZER {PTHREAD_MUTEX_INITIALIZER, 0, 0}

/* Takes the lock: 1, or 0 when this thread has it, which a handler has then interrupted. */
static inline int noshell_lock_take(struct noshell_lock *lock) {
    if (atomic_load_explicit(&lock->holder, memory_order_relaxed) == pthread_self())
        return 0;
    pthread_mutex_lock(&lock->mutex);
    atomic_store_explicit(&lock->holder, pthread_self(), memory_order_relaxed);
    return 1;
}

static inline void noshell_lock_give(struct noshell_lock *lock) {
    atomic_store_explicit(&lock->holder, 0, memory_order_relaxed);
    pthread_mutex_unlock(&lock->mutex);
}

static inline void noshell_lock_before_fork(struct noshell_lock *lock) {
    if (!noshell_lock_take(lock))
        lock->passed++;
}

static inline void noshell_lock_after_fork(struct noshell_lock *lock) {
    if (lock->passed)
        lock->passed--;
    else
        noshell_lock_give(lock);
}

#endif
