/* The harness behind `harness.h`: areas with guards, streams whose bytes are read back, the comparison and its count.
 * Compiled by the plain compiler, never through the header under test. */
#define _GNU_SOURCE
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

int __real_sprintf(char *, const char *, ...);
int __real_snprintf(char *, size_t, const char *, ...);
int __real_printf(const char *, ...);
int __real_fprintf(void *, const char *, ...);
int __real_dprintf(int, const char *, ...);
int __real_asprintf(char **, const char *, ...);

int (*volatile real_sprintf)(char *, const char *, ...) = __real_sprintf;
int (*volatile real_snprintf)(char *, size_t, const char *, ...) = __real_snprintf;
int (*volatile real_printf)(const char *, ...) = __real_printf;
int (*volatile real_fprintf)(void *, const char *, ...) = __real_fprintf;
int (*volatile real_dprintf)(int, const char *, ...) = __real_dprintf;
int (*volatile real_asprintf)(char **, const char *, ...) = __real_asprintf;

extern unsigned long harness_library_calls;

enum { AREA = 1 << 18, EDGE = 1 << 16, GUARD = 64, FILL = 0xA5, REPORTS_MAX = 20, FAILS_WITH = 4242 };

/* How the bytes of a half are found again. */
enum place { IN_AREA, IN_OBJECT, IN_STREAM, IN_DESCRIPTOR, IN_STDOUT, IN_STRING };

struct half {
    char *area; /* AREA writable bytes, followed by a page without access */
    char *destination;
    size_t room;
    int fd; /* the file behind streams and descriptors */
    FILE *streams[HARNESS_STREAMS];
    char *memory; /* of an open_memstream, or of asprintf */
    size_t memory_length;
    int broken_fd;

    enum place place;
    enum harness_stream_kind kind;
    int result;
    int error;
    int stream_error;
    long long stored;
    const char *bytes;
    size_t length;
    char *back; /* what was read back from a file */
};

static struct half ours, theirs;
static char *edge_end;
static unsigned turn;
static int stdout_saved = -1;
static unsigned long library_before, library_calls;
static struct {
    unsigned long calls, specialized, promised, unkept, floats, floats_kept, mismatches;
} count;

static void die(const char *what)
{
    perror(what);
    exit(3);
}

static char *map_before_a_guard(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *base = mmap(NULL, size + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (base == MAP_FAILED || mprotect(base, page, PROT_NONE) != 0 || mprotect(base + page + size, page, PROT_NONE) != 0)
        die("mmap");
    return base + page;
}

static void open_half(struct half *half)
{
    half->area = map_before_a_guard(AREA);
    half->back = malloc(AREA);
    half->fd = memfd_create("harness", 0);
    if (half->fd < 0 || half->back == NULL)
        die("memfd_create");
    half->broken_fd = open("/dev/null", O_RDONLY);
}

/* Streams share the half's file; they are opened when first asked for, so that each keeps its state from call to call
 * as a program's streams do. */
static FILE *stream_of(struct half *half, enum harness_stream_kind kind)
{
    FILE *stream = half->streams[kind];

    if (kind == HARNESS_MEMORY) {
        stream = open_memstream(&half->memory, &half->memory_length);
    } else if (stream == NULL && kind == HARNESS_FULL) {
        stream = fopen("/dev/full", "w");
        setvbuf(stream, NULL, _IOFBF, 16);
    } else if (stream == NULL && kind == HARNESS_READ_ONLY) {
        stream = fopen("/dev/null", "r");
    } else if (stream == NULL) {
        stream = fdopen(dup(half->fd), "w");
    }
    if (stream == NULL)
        die("fopen");
    if (half->streams[kind] == NULL) {
        if (kind == HARNESS_UNBUFFERED)
            setvbuf(stream, NULL, _IONBF, 0);
        if (kind == HARNESS_LINES)
            setvbuf(stream, NULL, _IOLBF, 64);
        if (kind == HARNESS_SMALL)
            setvbuf(stream, NULL, _IOFBF, 16);
        if (kind == HARNESS_WIDE)
            fwide(stream, 1);
    }
    half->streams[kind] = stream;
    return stream;
}

static void begin(struct half *half, enum place place)
{
    half->place = place;
    half->stored = 0;
    half->stream_error = 0;
    if (place == IN_STREAM || place == IN_DESCRIPTOR || place == IN_STDOUT) {
        if (lseek(half->fd, 0, SEEK_SET) != 0 || ftruncate(half->fd, 0) != 0)
            die("ftruncate");
    }
}

void harness_errno(void)
{
    errno = FAILS_WITH;
}

/* The last thing before a call. */
static void start(void)
{
    library_before = harness_library_calls;
    harness_errno();
}

static void finish(struct half *half, int result)
{
    half->error = errno;
    library_calls = harness_library_calls - library_before;
    half->result = result;
}

static char *area_of(struct half *half, size_t room)
{
    char *p;
    char *from;
    char *to;

    if (room > AREA - 4 * GUARD) {
        fprintf(stderr, "harness: %zu bytes are more than the area has\n", room);
        exit(3);
    }
    p = turn % 2 == 0 ? half->area + AREA - room : half->area + GUARD + turn % 9;
    begin(half, IN_AREA);
    half->destination = p;
    half->room = room;
    from = p - GUARD;
    to = turn % 2 == 0 ? half->area + AREA : p + room + GUARD;
    memset(from, FILL, (size_t)(to - from));
    half->bytes = from;
    half->length = (size_t)(to - from);
    return p;
}

char *harness_ours(size_t room)
{
    char *p = area_of(&ours, room);

    start();
    return p;
}

char *harness_theirs(size_t room)
{
    char *p = area_of(&theirs, room);

    start();
    return p;
}

static void object_of(struct half *half, void *object, size_t size)
{
    begin(half, IN_OBJECT);
    memset(object, FILL, size);
    half->bytes = object;
    half->length = size;
}

void harness_ours_object(void *object, size_t size)
{
    object_of(&ours, object, size);
    start();
}

void harness_theirs_object(void *object, size_t size)
{
    object_of(&theirs, object, size);
    start();
}

static void *stream_half(struct half *half, enum harness_stream_kind kind)
{
    begin(half, IN_STREAM);
    half->kind = kind;
    return stream_of(half, kind);
}

void *harness_ours_stream(enum harness_stream_kind kind)
{
    void *stream = stream_half(&ours, kind);

    start();
    return stream;
}

void *harness_theirs_stream(enum harness_stream_kind kind)
{
    void *stream = stream_half(&theirs, kind);

    start();
    return stream;
}

int harness_ours_descriptor(int broken)
{
    begin(&ours, IN_DESCRIPTOR);
    start();
    return broken ? ours.broken_fd : ours.fd;
}

int harness_theirs_descriptor(int broken)
{
    begin(&theirs, IN_DESCRIPTOR);
    start();
    return broken ? theirs.broken_fd : theirs.fd;
}

static void stdout_half(struct half *half)
{
    begin(half, IN_STDOUT);
    fflush(stdout);
    if (stdout_saved < 0)
        stdout_saved = dup(1);
    dup2(half->fd, 1);
}

void harness_ours_stdout(void)
{
    stdout_half(&ours);
    start();
}

void harness_theirs_stdout(void)
{
    stdout_half(&theirs);
    start();
}

static void string_half(struct half *half, char *string, int result)
{
    int error = errno;

    begin(half, IN_STRING);
    half->memory = result < 0 ? NULL : string;
    errno = error;
}

void harness_ours_string(char *string, int result)
{
    string_half(&ours, string, result);
}

void harness_theirs_string(char *string, int result)
{
    string_half(&theirs, string, result);
}

void harness_ours_stored(long long value)
{
    ours.stored = value;
}

void harness_theirs_stored(long long value)
{
    theirs.stored = value;
}

static void read_back(struct half *half)
{
    ssize_t length = pread(half->fd, half->back, AREA, 0);

    half->bytes = half->back;
    half->length = length < 0 ? 0 : (size_t)length;
}

static void collect_stream(struct half *half)
{
    FILE *stream = half->streams[half->kind];

    half->stream_error = ferror(stream) != 0;
    if (half->kind == HARNESS_FULL) {
        /* What stays in the buffer is taken along to the next call, as in a program that goes on after a full disk. */
        clearerr(stream);
        half->length = 0;
        return;
    }
    if (fflush(stream) != 0 && half->kind != HARNESS_READ_ONLY)
        half->stream_error |= 2;
    clearerr(stream);
    if (half->kind == HARNESS_MEMORY) {
        fclose(stream);
        half->streams[half->kind] = NULL;
        half->length = half->memory_length > AREA ? AREA : half->memory_length;
        memcpy(half->back, half->memory, half->length);
        half->bytes = half->back;
        free(half->memory);
        return;
    }
    read_back(half);
}

static void done(struct half *half, int result)
{
    finish(half, result);
    switch (half->place) {
    case IN_AREA:
    case IN_OBJECT:
        break;
    case IN_STREAM:
        collect_stream(half);
        break;
    case IN_STDOUT:
        half->stream_error = ferror(stdout) != 0;
        fflush(stdout);
        dup2(stdout_saved, 1);
        read_back(half);
        break;
    case IN_DESCRIPTOR:
        read_back(half);
        break;
    case IN_STRING:
        half->length = half->memory != NULL ? (size_t)result + 1 : 0;
        if (half->length > AREA)
            half->length = AREA;
        if (half->memory != NULL)
            memcpy(half->back, half->memory, half->length);
        free(half->memory);
        half->bytes = half->back;
        break;
    }
}

void harness_ours_done(int result)
{
    unsigned long calls;

    done(&ours, result);
    calls = library_calls;
    library_before = harness_library_calls;
    count.specialized += calls == 0;
    library_calls = calls;
}

void harness_theirs_done(int result)
{
    unsigned long calls = library_calls;

    done(&theirs, result);
    library_calls = calls;
}

static void show(const char *who, const struct half *half)
{
    size_t i, from = 0, to = half->length;

    fprintf(stderr, "    %s: result %d, errno %d, stream error %d, stored %lld, %zu bytes \"", who, half->result,
            half->error, half->stream_error, half->stored, half->length);
    if (half->place == IN_AREA && half->length >= GUARD)
        from = GUARD - 2;
    if (to > from + 400)
        to = from + 400;
    for (i = from; i < to; i++) {
        unsigned char c = (unsigned char)half->bytes[i];

        if (c >= 32 && c < 127 && c != '\\')
            fputc(c, stderr);
        else
            fprintf(stderr, "\\x%02x", c);
    }
    fprintf(stderr, "\"%s\n", to < half->length ? "..." : "");
}

/* Independent of the library: nothing before the destination, and nothing after the terminator. */
static int guards_stand(const struct half *half)
{
    size_t i, after;

    if (half->place != IN_AREA)
        return 1;
    for (i = 0; i < GUARD; i++)
        if ((unsigned char)half->bytes[i] != FILL)
            return 0;
    if (half->result < 0)
        return 1;
    after = GUARD + ((size_t)half->result < half->room ? (size_t)half->result + 1 : half->room);
    for (i = after; i < half->length; i++)
        if ((unsigned char)half->bytes[i] != FILL)
            return 0;
    return 1;
}

static int equal(void)
{
    return ours.result == theirs.result && ours.error == theirs.error && ours.stream_error == theirs.stream_error &&
           ours.stored == theirs.stored && ours.length == theirs.length &&
           (ours.length == 0 || memcmp(ours.bytes, theirs.bytes, ours.length) == 0) && guards_stand(&ours);
}

void harness_compare(const struct harness_site *site, unsigned row, int fits)
{
    count.calls++;
    turn++;
    if (fits && site->promise == HARNESS_FOLDS) {
        count.promised++;
        if (library_calls != 0) {
            if (count.unkept++ < REPORTS_MAX)
                fprintf(stderr, "  LIBRARY CALLED: site %d (%s), row %u, format %s\n", site->number, site->form, row,
                        site->format);
        }
    }
    if (fits && site->promise == HARNESS_FLOATS) {
        count.floats++;
        count.floats_kept += library_calls != 0;
    }
    if (equal())
        return;
    if (count.mismatches++ < REPORTS_MAX) {
        fprintf(stderr, "  MISMATCH: site %d (%s), row %u, format %s\n", site->number, site->form, row, site->format);
        show("ours  ", &ours);
        show("theirs", &theirs);
        if (!guards_stand(&ours))
            fprintf(stderr, "    ours touched bytes outside of its output\n");
    }
}

size_t harness_size(size_t entry, int length)
{
    size_t whole = length < 0 ? 0 : (size_t)length;

    switch (entry) {
    case HARNESS_FITS:
        return whole + 1;
    case HARNESS_ONE_SHORT:
        return whole;
    case HARNESS_TWO_SHORT:
        return whole > 0 ? whole - 1 : 0;
    case HARNESS_ONE_OVER:
        return whole + 2;
    case HARNESS_HALF:
        return whole / 2;
    case HARNESS_ROOMY:
        return whole + 1000;
    default:
        return entry;
    }
}

const char *harness_edge(int length)
{
    return edge_end - (length < 0 ? 0 : length);
}

/* The same bytes for every caller, as a call may have several such strings. */
static char *lay_edge(void)
{
    char *p = map_before_a_guard(EDGE);
    size_t i;

    for (i = 0; i < EDGE; i++)
        p[i] = (char)('a' + i % 26);
    return p + EDGE;
}

int main(void)
{
    open_half(&ours);
    open_half(&theirs);
    edge_end = lay_edge();
    sites_run();
    printf("calls %lu specialized %lu promised %lu unkept %lu floats %lu floats_kept %lu mismatches %lu\n", count.calls,
           count.specialized, count.promised, count.unkept, count.floats, count.floats_kept, count.mismatches);
    return count.mismatches != 0;
}
