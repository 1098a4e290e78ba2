/* What only a stream shows: the order among other functions, what one write takes, lines of threads, errors midway. */
#define _GNU_SOURCE
#include "case.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static int (*volatile real_fprintf)(FILE *, const char *, ...) = fprintf;
static int (*volatile real_dprintf)(int, const char *, ...) = dprintf;
static int (*volatile real_asprintf)(char **, const char *, ...) = asprintf;

typedef int print(FILE *, int);

static int ours(FILE *file, int value)
{
    return fprintf(file, "%d:%s:%x:%.2f\n", value, "text", (unsigned)value, value / 4.0);
}

static int theirs(FILE *file, int value)
{
    return real_fprintf(file, "%d:%s:%x:%.2f\n", value, "text", (unsigned)value, value / 4.0);
}

/* The packets that a stream's writes become, each with its length, as one text. */
static size_t packets(print *call, int mode, size_t size, char *into, size_t room)
{
    int pair[2];
    FILE *file;
    size_t used = 0;
    int i, sum = 0;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0 || (file = fdopen(pair[0], "w")) == NULL)
        exit(3);
    setvbuf(file, NULL, mode, size);
    for (i = 0; i < 12; i++) {
        sum += call(file, i * 1234567);
        if (i % 3 == 0)
            fputs("puts\n", file);
        if (i % 4 == 0)
            putc('c', file);
        if (i == 7)
            fflush(file);
        sum += call(file, -i);
    }
    fclose(file);
    for (;;) {
        ssize_t got = recv(pair[1], into + used + 4, room - used - 4, 0);

        if (got <= 0)
            break;
        memcpy(into + used, &got, 4);
        used += 4 + (size_t)got;
    }
    close(pair[1]);
    memcpy(into + used, &sum, sizeof sum);
    return used + sizeof sum;
}

static void writes(void)
{
    static char one[20000], other[20000];
    static const struct { int mode; size_t size; } kinds[] = {
        {_IOFBF, 4096}, {_IOFBF, 64}, {_IOFBF, 7}, {_IOLBF, 4096}, {_IOLBF, 16}, {_IONBF, 0}};
    size_t i;

    for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t length = packets(ours, kinds[i].mode, kinds[i].size, one, sizeof one);
        size_t expected = packets(theirs, kinds[i].mode, kinds[i].size, other, sizeof other);

        check(length == expected && memcmp(one, other, length) == 0, i < 3 ? "packets, buffered" : "packets", (int)i);
    }
}

enum { THREADS = 4, LINES = 3000 };
static FILE *shared;

static void *print_lines(void *name)
{
    int i;

    for (i = 0; i < LINES; i++)
        fprintf(shared, "<%s %d %08x>\n", (const char *)name, i, (unsigned)i);
    return NULL;
}

/* Each call holds the stream's lock once, so lines never mix. */
static void threads(void)
{
    static char *names[THREADS] = {"anna", "bertha", "carla", "doris"};
    pthread_t threads[THREADS];
    char line[200], name[20];
    int i, lines = 0, number;
    unsigned hexadecimal;

    shared = tmpfile();
    setvbuf(shared, NULL, _IOFBF, 100);
    for (i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, print_lines, names[i]) == 0);
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    rewind(shared);
    while (fgets(line, sizeof line, shared) != NULL) {
        char back[200];

        lines++;
        if (sscanf(line, "<%19s %d %x>", name, &number, &hexadecimal) != 3)
            break;
        (snprintf)(back, sizeof back, "<%s %d %08x>\n", name, number, hexadecimal);
        if (strcmp(back, line) != 0)
            break;
    }
    CHECK(lines == THREADS * LINES);
    fclose(shared);
}

/* A file that takes ten bytes and no more. */
static int limited(void)
{
    char name[] = "/tmp/streams-XXXXXX";
    int fd = mkstemp(name);

    unlink(name);
    return fd;
}

static void partial(void)
{
    struct rlimit before, limit;
    int one = limited(), other = limited(), a, b, error;
    char first[40] = "", second[40] = "";

    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 10;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    errno = 0;
    a = dprintf(one, "%d %s", 12345, "more than ten");
    error = errno;
    errno = 0;
    b = real_dprintf(other, "%d %s", 12345, "more than ten");
    CHECK(a == b && error == errno);
    CHECK(pread(one, first, 40, 0) == pread(other, second, 40, 0) && memcmp(first, second, 40) == 0);
    close(one);
    close(other);
    {
        FILE *ours_file = fdopen(limited(), "w"), *theirs_file = fdopen(limited(), "w");

        setvbuf(ours_file, NULL, _IONBF, 0);
        setvbuf(theirs_file, NULL, _IONBF, 0);
        errno = 0;
        a = ours(ours_file, 123456789);
        error = errno;
        errno = 0;
        b = theirs(theirs_file, 123456789);
        CHECK(a == b && error == errno && ferror(ours_file) == ferror(theirs_file));
        fclose(ours_file);
        fclose(theirs_file);
    }
    setrlimit(RLIMIT_FSIZE, &before);
}

/* A pipe without a reader: the signal comes from either function alike. */
static volatile sig_atomic_t broken;

static void on_broken(int number)
{
    (void)number;
    broken++;
}

static void no_reader(void)
{
    int pair[2], a, b, error;

    signal(SIGPIPE, on_broken);
    CHECK(pipe(pair) == 0);
    close(pair[0]);
    errno = 0;
    a = dprintf(pair[1], "%d%s", 5, "x");
    error = errno;
    CHECK(broken == 1);
    errno = 0;
    b = real_dprintf(pair[1], "%d%s", 5, "x");
    CHECK(broken == 2 && a == b && error == errno);
    CHECK(dprintf(-1, "%d", 5) == real_dprintf(-1, "%d", 5));
    close(pair[1]);
}

static void allocated(void)
{
    char *one = NULL, *other = NULL;
    static char large[5000];
    int a, b;

    memset(large, 'l', sizeof large - 1);
    a = asprintf(&one, "%s%d", "", 5);
    b = real_asprintf(&other, "%s%d", "", 5);
    CHECK(a == b && strcmp(one, other) == 0);
    one = realloc(one, 5000);
    CHECK(one != NULL && one[0] == '5');
    free(one);
    free(other);
    a = asprintf(&one, "%s%d%5000d", large, 5, 6);
    b = real_asprintf(&other, "%s%d%5000d", large, 5, 6);
    CHECK(a == b && a == 10000 && strcmp(one, other) == 0);
    free(one);
    free(other);
    /* The destination's own variable may be an argument. */
    one = NULL;
    a = asprintf(&one, "%p", (void *)one);
    b = real_asprintf(&other, "%p", (void *)NULL);
    CHECK(a == b && strcmp(one, other) == 0);
    free(one);
    free(other);
}

static void standard_output(void)
{
    int saved = dup(1), fd;
    char name[] = "/tmp/streams-XXXXXX", text[400] = "";

    fflush(stdout);
    fd = mkstemp(name);
    unlink(name);
    dup2(fd, 1);
    printf("%d\n", 1);
    puts("2");
    printf("%s", "3\n");
    putchar('4');
    printf("%c", '\n');
    printf("5\n");
    fprintf(stdout, "%d%c", 6, 10);
    CHECK(printf("%s%d", "", 77) == 2);
    printf("%s\n", "");
    fflush(stdout);
    dup2(saved, 1);
    CHECK(pread(fd, text, sizeof text, 0) == 15);
    CHECK(strcmp(text, "1\n2\n3\n4\n5\n6\n77\n") == 0);
    close(fd);
    close(saved);
}

int main(void)
{
    writes();
    threads();
    standard_output();
    allocated();
    no_reader();
    partial();
    return failures != 0;
}
