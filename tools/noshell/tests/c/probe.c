/*
 * The child of the tests, which prints how it was started. Its name selects what it does.
 *
 *   args a b …  the number of its arguments, and each in brackets       both      "out" and "err" on their streams
 *   vars        its environment, sorted                                  copy      standard input to standard output
 *   state PID   descriptors, signals, directory, ids; and how signals    code N    ends with N
 *               stand in process PID, if one is named                    die N     kills itself with signal N
 *                                                                        hold      lives until it is killed
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static int args(int argc, char **argv) {
    printf("%d", argc);
    for (int i = 0; i < argc; i++)
        printf("[%s]", argv[i]);
    putchar('\n');
    return 0;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Variables that the tests set differ between the compared runs. */
static int is_ours(const char *entry) {
    return strncmp(entry, "LD_PRELOAD=", 11) == 0 || strncmp(entry, "NOSHELL", 7) == 0 ||
           strncmp(entry, "ASAN_OPTIONS=", 13) == 0;
}

static int vars(void) {
    size_t count = 0;
    while (environ && environ[count])
        count++;
    if (count)
        qsort(environ, count, sizeof *environ, by_text);
    for (size_t i = 0; i < count; i++)
        if (!is_ours(environ[i]))
            printf("%s\n", environ[i]);
    return 0;
}

static void descriptors(void) {
    for (int fd = 0; fd < 1024; fd++) {
        char path[64], target[4096];
        int flags = fcntl(fd, F_GETFL);
        ssize_t length;
        if (flags < 0)
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = 0;
        /* Pipes and sockets have numbers that differ from run to run. */
        if (strncmp(target, "pipe:", 5) == 0 || strncmp(target, "socket:", 7) == 0)
            *strchr(target, ':') = 0;
        printf("fd %d %o %s\n", fd, (unsigned)flags, target);
    }
}

/* While libnoshell waits, SIGINT and SIGQUIT are not ignored alone but blocked too: that is how it tells a key from a signal
 * that the process sent itself. They are gone before it returns. */
#define WHILE_WAITING 0x6ULL

/* Waits until a process sleeps for what we do: before, it is still busy with having started us, all signals blocked. */
static void await_sleep(const char *path) {
    for (char line[512], state = 0; state != 'S';) {
        FILE *file = fopen(path, "r");
        if (!file)
            return;
        while (fgets(line, sizeof line, file))
            if (strncmp(line, "State:", 6) == 0)
                state = line[7];
        fclose(file);
    }
}

static void show_set(int own, const char *line) {
    unsigned long long set = strtoull(line + 7, NULL, 16);
    if (!own && strncmp(line, "SigBlk", 6) == 0)
        set &= ~WHILE_WAITING;
    printf("%s %.6s %016llx\n", own ? "own" : "caller's", line, set);
}

static void signals(const char *process) {
    char path[64], line[512];
    FILE *file;
    snprintf(path, sizeof path, "/proc/%s/status", process);
    if (process[0] != 's')
        await_sleep(path);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "Sig", 3) == 0 && strncmp(line, "SigQ", 4) != 0)
            show_set(process[0] == 's', line);
    if (file)
        fclose(file);
}

static int state(int argc, char **argv) {
    char directory[4096];
    struct rlimit files;
    mode_t mask = umask(0);
    umask(mask);
    descriptors();
    signals("self");
    if (argc > 1)
        signals(argv[1]);
    printf("directory %s\n", getcwd(directory, sizeof directory) ? directory : strerror(errno));
    getrlimit(RLIMIT_NOFILE, &files);
    printf("umask %o, open files %lu, nice %d\n", (unsigned)mask, (unsigned long)files.rlim_cur, getpriority(PRIO_PROCESS, 0));
    printf("users %d %d, groups %d %d\n", (int)getuid(), (int)geteuid(), (int)getgid(), (int)getegid());
    printf("leads its group: %d, its session: %d\n", getpgrp() == getpid(), getsid(0) == getpid());
    return 0;
}

static int copy(void) {
    int c;
    while ((c = getchar()) != EOF)
        putchar(c);
    return 0;
}

static int die(int signal) {
    fflush(stdout);
    kill(getpid(), signal);
    return 99;
}

static void hold(void) {
    /* A shell that is killed leaves its command alone, which then must not live for ever. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* It may have been killed before this was asked. */
    if (getppid() == 1)
        _exit(1);
    /* Whatever took it over, it is not init everywhere. */
    alarm(60);
    for (;;)
        pause();
}

static int both(void) {
    fputs("out\n", stdout);
    fflush(stdout);
    fputs("err\n", stderr);
    return 0;
}

int main(int argc, char **argv) {
    const char *name = argc > 0 ? argv[0] : "";
    name = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    if (strcmp(name, "vars") == 0)
        return vars();
    if (strcmp(name, "state") == 0)
        return state(argc, argv);
    if (strcmp(name, "copy") == 0)
        return copy();
    if (strcmp(name, "code") == 0)
        return argc > 1 ? atoi(argv[1]) : 0;
    if (strcmp(name, "die") == 0)
        return die(argc > 1 ? atoi(argv[1]) : SIGKILL);
    if (strcmp(name, "hold") == 0)
        hold();
    if (strcmp(name, "both") == 0)
        return both();
    return args(argc, argv);
}
