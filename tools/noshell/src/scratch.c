/* Memory for the time of one call: see scratch.h. */
#define _GNU_SOURCE
#include "scratch.h"
#include "kernel.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* What is kept: enough for nearly every command with nearly every environment. */
#define KEPT_SIZE ((size_t)64 << 10)

static atomic_flag kept_taken = ATOMIC_FLAG_INIT;
static char *kept; /* belongs to who has the flag */

static char *map(size_t size) {
    long address =
        noshell_syscall(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return address < 0 && address > -4096 ? NULL : (char *)address;
}

static int take_kept(struct noshell_scratch *scratch) {
    if (atomic_flag_test_and_set_explicit(&kept_taken, memory_order_acquire))
        return 0;
    if (!kept)
        kept = map(KEPT_SIZE);
    if (!kept) {
        atomic_flag_clear_explicit(&kept_taken, memory_order_release);
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
        atomic_flag_clear_explicit(&kept_taken, memory_order_release);
    else
        noshell_call2(SYS_munmap, scratch->base, scratch->size);
}

int noshell_scratch_is_room(size_t size) {
    struct rlimit limit;
    char *room;
    if (noshell_call4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 1;
    room = map(size);
    if (room)
        noshell_call2(SYS_munmap, room, size);
    return room != NULL;
}

void *noshell_scratch_part(struct noshell_scratch *scratch, size_t size) {
    size_t rounded = (size + 15) & ~(size_t)15;
    char *part = scratch->next;
    if (rounded > scratch->size - (size_t)(part - scratch->base))
        return NULL;
    scratch->next += rounded;
    return part;
}
