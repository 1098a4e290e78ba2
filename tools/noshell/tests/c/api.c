/* Scenarios of noshell.h. api.rs has the expected output. */
#include "scenario.h"

#include "noshell.h"
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

static void show_stream(const char *file, const char *const *argv, const char *type, int mode) {
    struct popen_noshell_pass_to_pclose pass;
    FILE *stream;
    errno = 0;
    stream = popen_noshell(file, argv, type, &pass, mode);
    if (!stream) {
        printf("NULL errno %d\n", errno);
        return;
    }
    printf("stream %d pid %d cloexec %d ", pass.fp == stream, pass.pid > 0, fcntl(fileno(stream), F_GETFD));
    if (type[0] == 'r') {
        int c;
        while ((c = getc(stream)) != EOF)
            putchar(c);
    } else {
        fputs("written\n", stream);
    }
    fflush(stdout);
    printf("status %d\n", pclose_noshell(&pass));
    fflush(stdout);
}

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

static void reading(void) {
    show_stream("args", ARGV("name", "a b", "*", "$HOME", ""), "r", 0);
    show_stream("code", ARGV("code", "7"), "r", 0);
    show_stream("die", ARGV("die", "15"), "r", 0);
    show_stream("args", ARGV("args"), "re", 0);
}

static void writing(void) {
    show_stream("copy", ARGV("copy"), "w", 0);
    show_stream("copy", ARGV("copy"), "we", 0);
}

static void errors_kept(void) { show_stream("both", ARGV("both"), "r", 0); }
static void errors_discarded(void) { show_stream("both", ARGV("both"), "r", 1); }
static void errors_joined(void) { show_stream("both", ARGV("both"), "r", 2); }

static void refused(void) {
    show_stream("args", ARGV("args"), "r", 3);
    show_stream("args", ARGV("args"), "r", -1);
    show_stream("args", ARGV("args"), "x", 0);
    show_stream("args", ARGV("args"), "", 0);
    show_stream("args", ARGV("args"), "rw", 0);
    show_stream("args", ARGV("args"), "r+", 0);
    show_children();
}

static void missing(void) {
    show_stream("nowhere", ARGV("nowhere"), "r", 0);
    show_stream("./nowhere", ARGV("nowhere"), "w", 0);
    show_stream("/dev/null", ARGV("null"), "r", 0);
    show_stream("/", ARGV("root"), "r", 0);
    show_stream("", ARGV("empty"), "r", 0);
    show_children();
}

static void running(void) {
    const char *const *lines[] = {ARGV("code", "0"), ARGV("code", "7"),   ARGV("die", "9"), ARGV("die", "15"),
                                  ARGV("nowhere"),   ARGV("./nowhere"), ARGV("/dev/null"), ARGV("args", "a b", "*", ">x")};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        int status;
        fflush(stdout);
        status = system_noshell(lines[i]);
        printf("%s %d\n", lines[i][0], status);
    }
    show_children();
}

static void too_much(void) {
    static char *argv[60];
    static char text[131000];
    memset(text, 'x', sizeof text - 1);
    for (int i = 1; i < 59; i++)
        argv[i] = text;
    argv[0] = (char *)"args";
    show_stream("args", (const char *const *)argv, "r", 0);
    show_children();
}

static void no_descriptors(void) {
    struct rlimit limit = {30, 30};
    setrlimit(RLIMIT_NOFILE, &limit);
    while (open("/dev/null", O_RDONLY) >= 0)
        continue;
    show_stream("args", ARGV("args"), "r", 0);
    show_children();
}

static void spawning(void) {
    struct spawn_noshell_options options = {0};
    struct pollfd ended;
    char buffer[64];
    ssize_t length;
    options.streams[0] = SPAWN_NOSHELL_PIPE;
    options.streams[1] = SPAWN_NOSHELL_PIPE;
    options.streams[2] = SPAWN_NOSHELL_NULL;
    ended.fd = spawn_noshell(ARGV("copy"), &options);
    printf("pidfd %d pid %d cloexec %d\n", ended.fd >= 0, options.pid > 0, fcntl(ended.fd, F_GETFD));
    ended.events = POLLIN;
    printf("ended %d\n", poll(&ended, 1, 0));
    must(write(options.fds[0], "text", 4) == 4, "write");
    close(options.fds[0]);
    length = read(options.fds[1], buffer, sizeof buffer);
    printf("%.*s\n", (int)length, buffer);
    close(options.fds[1]);
    printf("ended %d\n", poll(&ended, 1, -1));
    printf("status %d\n", wait_noshell(ended.fd));
    show_children();
}

static void spawning_elsewhere(void) {
    const char *environment[] = {"A=b", NULL};
    struct spawn_noshell_options options = {.directory = "/", .envp = environment};
    options.file = getenv("PROBE_VARS");
    fflush(stdout);
    printf("status %d\n", wait_noshell(spawn_noshell(ARGV("vars"), &options)));
    fflush(stdout);
    options.envp = NULL;
    options.file = NULL;
    printf("status %d\n", wait_noshell(spawn_noshell(ARGV("/bin/pwd"), &options)));
}

static void spawning_nothing(void) {
    struct spawn_noshell_options options = {0};
    errno = 0;
    show("nowhere", spawn_noshell(ARGV("nowhere"), NULL));
    options.directory = "/nonexistent";
    errno = 0;
    show("directory", spawn_noshell(ARGV("args"), &options));
    options.directory = NULL;
    options.streams[1] = SPAWN_NOSHELL_FD;
    options.fds[1] = 1000;
    errno = 0;
    show("descriptor", spawn_noshell(ARGV("args"), &options));
    errno = 0;
    show("no pidfd", wait_noshell(-1));
    show_children();
}

static void joined(void) {
    struct spawn_noshell_options options = {0};
    options.streams[1] = SPAWN_NOSHELL_FD;
    options.streams[2] = SPAWN_NOSHELL_JOIN;
    options.fds[1] = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    printf("status %d\n", wait_noshell(spawn_noshell(ARGV("both"), &options)));
    fflush(stdout);
    must(lseek(options.fds[1], 0, SEEK_SET) == 0 && dup2(options.fds[1], 0) == 0, "file");
    system_noshell(ARGV("copy"));
}

static const struct scenario scenarios[] = {
    SCENARIO(reading),    SCENARIO(writing), SCENARIO(errors_kept),    SCENARIO(errors_discarded), SCENARIO(errors_joined),
    SCENARIO(refused),    SCENARIO(missing), SCENARIO(running),        SCENARIO(too_much),         SCENARIO(no_descriptors),
    SCENARIO(spawning),   SCENARIO(joined),  SCENARIO(spawning_elsewhere), SCENARIO(spawning_nothing),
};

MAIN(scenarios)
