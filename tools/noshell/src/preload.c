/*
 * The functions that are replaced when libnoshell.so is loaded before the C library: system, popen, pclose, fclose.
 */
#define _GNU_SOURCE
#include "noshell.h"
#include "statistics.h"
#include "system.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define REPLACEMENT __attribute__((visibility("default")))

/* The next definition after ours: the C library's, or that of another library that was loaded in between. */
static void *next(_Atomic(void *) *kept, const char *name) {
    void *function = atomic_load_explicit(kept, memory_order_relaxed);
    if (!function) {
        function = dlsym(RTLD_NEXT, name);
        if (!function)
            abort();
        atomic_store_explicit(kept, function, memory_order_relaxed);
    }
    return function;
}

static int next_system(const char *text) {
    static _Atomic(void *) kept;
    int (*function)(const char *);
    *(void **)&function = next(&kept, "system");
    return function(text);
}

REPLACEMENT int system(const char *text) {
    int status;
    if (!text || noshell_is_off())
        return next_system(text);
    if (noshell_system_run(text, &status) == 0)
        return status;
    noshell_count("system", text, NOSHELL_NO_RESOURCES);
    return next_system(text);
}
