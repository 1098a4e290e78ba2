/* Memory for one call: see scratch.h. */
#define _GNU_SOURCE
#include "scratch.h"
#include "kernel.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* The size of the kept region: enough for nearly every command and environment. */
#define KEPT_SIZE ((size_t)64 << 10)

enum { FREE, TAKEN, GIVEN_WITH_CHILD };

/* The kept region. One that was given back while a child still uses it is taken again only once the word is cleared. */
static atomic_int kept_state = FREE;
static atomic_int kept_pending; /* cleared by the kernel */
static char *kept; /* belongs to the call that has taken the region */

static char *map(size_t size) {
    long address =
        noshell_syscall(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return address < 0 && address > -4096 ? NULL : (char *)address;
}

static int take_state(void) {
    int state = FREE;
    if (atomic_compare_exchange_strong(&kept_state, &state, TAKEN))
        return 1;
    if (state != GIVEN_WITH_CHILD || !atomic_compare_exchange_strong(&kept_state, &state, TAKEN))
        return 0;
    /* Only the holder can rely on the word: another call may have started another child meanwhile. */
    if (atomic_load(&kept_pending) == 0)
        return 1;
    atomic_store(&kept_state, GIVEN_WITH_CHILD);
    return 0;
}

static int take_kept(struct noshell_scratch *scratch) {
    if (!take_state())
        return 0;
    if (!kept)
        kept = map(KEPT_SIZE);
    if (!kept) {
        atomic_store(&kept_state, FREE);
        return 0;
    }
    scratch->base = kept;
    scratch->size = KEPT_SIZE;
    scratch->kept = 1;
    return 1;
}

int noshell_scratch_take(struct noshell_scratch *scratch, size_t size) {
    scratch->kept = 0;
    if (size > KEPT_SIZE || !take_kept(scratch)) {
        scratch->base = map(size);
        scratch->size = size;
    }
    scratch->next = scratch->base;
    return scratch->base ? 0 : -1;
}

void noshell_scratch_give(struct noshell_scratch *scratch) {
    if (scratch->kept)
        atomic_store(&kept_state, atomic_load(&kept_pending) ? GIVEN_WITH_CHILD : FREE);
    else
        noshell_call2(SYS_munmap, scratch->base, scratch->size);
}

int *noshell_scratch_pending(const struct noshell_scratch *scratch) {
    return scratch->kept ? (int *)&kept_pending : NULL;
}

void noshell_scratch_after_fork(void) {
    if (atomic_load(&kept_state) == GIVEN_WITH_CHILD) {
        atomic_store(&kept_pending, 0);
        atomic_store(&kept_state, FREE);
    }
}

size_t noshell_scratch_rest(const struct noshell_scratch *scratch) {
    return scratch->size - (size_t)(scratch->next - scratch->base);
}

enum noshell_room noshell_scratch_room(size_t size) {
    struct rlimit limit;
    char *room;
    if (noshell_call4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return NOSHELL_ROOM_UNLIMITED;
    room = map(size);
    if (!room)
        return NOSHELL_ROOM_NONE;
    noshell_call2(SYS_munmap, room, size);
    return NOSHELL_ROOM_LIMITED;
}

void *noshell_scratch_part(struct noshell_scratch *scratch, size_t size) {
    size_t rounded = (size + 15) & ~(size_t)15;
    char *part = scratch->next;
    if (rounded > noshell_scratch_rest(scratch))
        return NULL;
    scratch->next += rounded;
    return part;
}
