/* What every generated file of call sites sees of the harness: areas with guards, streams, and the C library's own
 * functions behind volatile pointers, so that no compiler and no header gets at those calls.
 *
 * A site does everything twice, in the same order: `harness_ours…` and the call under test, then `harness_theirs…` and
 * the same call of the library; `harness_compare` then holds bytes, guards, result and errno against each other.
 *
 * Compiled as gnu89 to gnu2x: no declaration after a statement, no comment of C99. */
#ifndef QRINTF_PROOF_HARNESS_H
#define QRINTF_PROOF_HARNESS_H

#include <stddef.h>

/* The sites may be C++; the harness is C. */
#ifdef __cplusplus
#define _Bool bool
extern "C" {
#endif

/* What the generator promises of a site when its output fits. */
enum harness_promise {
    HARNESS_NOTHING, /* may be handed to the library */
    HARNESS_FOLDS,   /* must not call the library */
    HARNESS_FLOATS   /* may call it for values outside the exact range */
};

/* The text of `%p` is the library's own choice, so only a known library's is folded. */
#ifdef __GLIBC__
#define HARNESS_POINTERS HARNESS_FOLDS
#else
#define HARNESS_POINTERS HARNESS_NOTHING
#endif

struct harness_site {
    int number;
    const char *form;
    const char *format;
    enum harness_promise promise;
};

/* Sizes in a site's table that depend on the length of the output; all others stand for themselves. */
#define HARNESS_FITS ((size_t)-1001)
#define HARNESS_ONE_SHORT ((size_t)-1002)
#define HARNESS_TWO_SHORT ((size_t)-1003)
#define HARNESS_ONE_OVER ((size_t)-1004)
#define HARNESS_HALF ((size_t)-1005)
#define HARNESS_ROOMY ((size_t)-1006)

enum harness_stream_kind {
    HARNESS_BUFFERED,
    HARNESS_UNBUFFERED,
    HARNESS_LINES,
    HARNESS_SMALL,
    HARNESS_MEMORY,
    HARNESS_READ_ONLY,
    HARNESS_FULL,
    HARNESS_WIDE,
    HARNESS_STREAMS
};

extern int (*volatile real_sprintf)(char *, const char *, ...);
extern int (*volatile real_snprintf)(char *, size_t, const char *, ...);
extern int (*volatile real_printf)(const char *, ...);
extern int (*volatile real_fprintf)(void *, const char *, ...);
extern int (*volatile real_dprintf)(int, const char *, ...);
extern int (*volatile real_asprintf)(char **, const char *, ...);

/* Sets errno as every half finds it: what `%m` prints has to be measured with it. */
void harness_errno(void);

/* The size to pass, for an entry of the table and the length that the library reports. */
size_t harness_size(size_t entry, int length);

/* A destination of `room` writable bytes. Every second one ends at a page that must not be touched, the others have
 * guard bytes behind them; all have guard bytes before them. */
char *harness_ours(size_t room);
char *harness_theirs(size_t room);

/* The same for an object of the site's own (`size` bytes, guards inside), so that the compiler knows its size. */
void harness_ours_object(void *object, size_t size);
void harness_theirs_object(void *object, size_t size);

/* Streams and descriptors; what was written is read back by `harness_compare`. */
void *harness_ours_stream(enum harness_stream_kind kind);
void *harness_theirs_stream(enum harness_stream_kind kind);
int harness_ours_descriptor(int broken);
int harness_theirs_descriptor(int broken);
void harness_ours_stdout(void);
void harness_theirs_stdout(void);

/* What asprintf gave; freed when compared. */
void harness_ours_string(char *string, int result);
void harness_theirs_string(char *string, int result);

/* Ends one half of a call. The first also counts the calls of the library since the half began. */
void harness_ours_done(int result);
void harness_theirs_done(int result);

/* What `%n` stored: noted for both halves. */
void harness_ours_stored(long long value);
void harness_theirs_stored(long long value);

/* `fits` says that the site's promise holds for this call. */
void harness_compare(const struct harness_site *site, unsigned row, int fits);

/* `length` bytes without a terminator that end where reading faults. */
const char *harness_edge(int length);

/* Defined by the generated file: runs all its sites. */
void sites_run(void);

#ifdef __cplusplus
}
#endif

#endif
