/* The functions that ours stand before: see libc.h. */
#define _GNU_SOURCE
#include "libc.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

static void *next(_Atomic(void *) *kept, const char *name) {
    void *function = atomic_load_explicit(kept, memory_order_relaxed);
    if (!function) {
        function = dlsym(RTLD_NEXT, name);
        /* Every C library has these four. */
        if (!function)
            abort();
        atomic_store_explicit(kept, function, memory_order_relaxed);
    }
    return function;
}

int noshell_libc_system(const char *text) {
    static _Atomic(void *) kept;
    int (*function)(const char *);
    *(void **)&function = next(&kept, "system");
    return function(text);
}

FILE *noshell_libc_popen(const char *text, const char *type) {
    static _Atomic(void *) kept;
    FILE *(*function)(const char *, const char *);
    *(void **)&function = next(&kept, "popen");
    return function(text, type);
}

int noshell_libc_pclose(FILE *stream) {
    static _Atomic(void *) kept;
    int (*function)(FILE *);
    *(void **)&function = next(&kept, "pclose");
    return function(stream);
}

int noshell_libc_fclose(FILE *stream) {
    static _Atomic(void *) kept;
    int (*function)(FILE *);
    *(void **)&function = next(&kept, "fclose");
    return function(stream);
}
