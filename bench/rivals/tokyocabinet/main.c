// Reads and writes of Tokyo Cabinet's library, without a server: the work of the example lookup_cost of crates/kv.
//
//     tokyocabinet FOLDER [ITEMS]
//
// Prints a line per engine, "ENGINE READ_NS WRITE_NS": CPU time of this thread per operation, the best of three passes. Keys are
// first copied to a buffer, as they would come from a socket, and values to another one. The cost of the first copy is measured
// without the library and subtracted.

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tcadb.h>
#include <tcbdb.h>
#include <tchdb.h>
#include <tcutil.h>

enum { KEY = 100, VALUE = 400, OPERATIONS = 1000000, PASSES = 3, BUCKETS = 1000000 };

typedef struct {
    const char *name;
    void *database;
    bool (*read)(void *database, const char *key, char *value);
    bool (*write)(void *database, const char *key, const char *value);
} Engine;

static bool hash_read(void *database, const char *key, char *value) {
    return tchdbget3(database, key, KEY, value, VALUE) == VALUE;
}

static bool hash_write(void *database, const char *key, const char *value) {
    return tchdbput(database, key, KEY, value, VALUE);
}

static bool tree_read(void *database, const char *key, char *value) {
    int size = 0;
    const char *found = tcbdbget3(database, key, KEY, &size);
    if (found == NULL || size != VALUE) {
        return false;
    }
    memcpy(value, found, VALUE);
    return true;
}

static bool tree_write(void *database, const char *key, const char *value) {
    return tcbdbput(database, key, KEY, value, VALUE);
}

static bool memory_read(void *database, const char *key, char *value) {
    int size = 0;
    char *found = tcadbget(database, key, KEY, &size);
    bool right = found != NULL && size == VALUE;
    if (right) {
        memcpy(value, found, VALUE);
    }
    free(found);
    return right;
}

static bool memory_write(void *database, const char *key, const char *value) {
    return tcadbput(database, key, KEY, value, VALUE);
}

static void fail(const char *what) {
    fprintf(stderr, "tokyocabinet: %s\n", what);
    exit(1);
}

// Nanoseconds for which this thread has run.
static uint64_t cpu_nanoseconds(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) {
        fail("there is no CPU clock");
    }
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

typedef enum { COPY, READ, WRITE } Kind;

// Nanoseconds per operation.
static double pass(const Engine *engine, const char *keys, const uint32_t *order, Kind kind) {
    static char key[KEY];
    static char value[VALUE];
    double best = 1e18;
    for (int round = 0; round < PASSES; round++) {
        uint64_t start = cpu_nanoseconds();
        for (int at = 0; at < OPERATIONS; at++) {
            memcpy(key, keys + (size_t)order[at] * KEY, KEY);
            __asm__ volatile("" ::"r"(key) : "memory");
            if (kind == READ && !engine->read(engine->database, key, value)) {
                fail("a key is missing");
            }
            if (kind == WRITE && !engine->write(engine->database, key, value)) {
                fail("a write failed");
            }
            __asm__ volatile("" ::"r"(value) : "memory");
        }
        double each = (double)(cpu_nanoseconds() - start) / OPERATIONS;
        best = each < best ? each : best;
    }
    return best;
}

static void measure(const Engine *engine, const char *keys, uint32_t items, const uint32_t *order) {
    static char value[VALUE];
    memset(value, 'v', VALUE);
    for (uint32_t item = 0; item < items; item++) {
        if (!engine->write(engine->database, keys + (size_t)item * KEY, value)) {
            fail("the database cannot be filled");
        }
    }
    double copy = pass(engine, keys, order, COPY);
    double read = pass(engine, keys, order, READ) - copy;
    double write = pass(engine, keys, order, WRITE) - copy;
    printf("%s %.1f %.1f\n", engine->name, read, write);
    fflush(stdout);
}

int main(int count, char **arguments) {
    uint32_t items = count > 2 ? (uint32_t)strtoul(arguments[2], NULL, 10) : 10000;
    if (count < 2 || items == 0) {
        fail("usage: tokyocabinet FOLDER [ITEMS]");
    }
    char *keys = malloc((size_t)items * KEY + 1);
    uint32_t *order = malloc(OPERATIONS * sizeof *order);
    char path[4096];
    if (keys == NULL || order == NULL || strlen(arguments[1]) > sizeof path - 16) {
        fail("no memory");
    }
    for (uint32_t item = 0; item < items; item++) {
        snprintf(keys + (size_t)item * KEY, KEY + 1, "%0*u", KEY, item);
    }
    uint64_t state = 88172645463325252u;
    for (int at = 0; at < OPERATIONS; at++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order[at] = (uint32_t)(state % items);
    }
    // Servers share a database between threads, so the library's locks are on.
    TCHDB *hash = tchdbnew();
    snprintf(path, sizeof path, "%s/casket.tch", arguments[1]);
    if (!tchdbsetmutex(hash) || !tchdbtune(hash, BUCKETS, -1, -1, 0) || !tchdbopen(hash, path, HDBOWRITER | HDBOCREAT)) {
        fail("the hash database does not open");
    }
    TCBDB *tree = tcbdbnew();
    snprintf(path, sizeof path, "%s/casket.tcb", arguments[1]);
    if (!tcbdbsetmutex(tree) || !tcbdbopen(tree, path, BDBOWRITER | BDBOCREAT)) {
        fail("the tree database does not open");
    }
    TCADB *memory = tcadbnew();
    if (!tcadbopen(memory, "*")) {
        fail("the memory database does not open");
    }
    const Engine engines[] = {
        {"hash", hash, hash_read, hash_write},
        {"tree", tree, tree_read, tree_write},
        {"memory", memory, memory_read, memory_write},
    };
    for (size_t at = 0; at < sizeof engines / sizeof *engines; at++) {
        measure(&engines[at], keys, items, order);
    }
    tchdbclose(hash);
    tchdbdel(hash);
    tcbdbclose(tree);
    tcbdbdel(tree);
    tcadbclose(memory);
    tcadbdel(memory);
    free(order);
    free(keys);
    return 0;
}
