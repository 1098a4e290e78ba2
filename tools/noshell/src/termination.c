/* dash's reports of deaths by signals: see termination.h. */
#define _GNU_SOURCE
#include "termination.h"
#include "file.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The C library's texts before translation: dash does not call setlocale, while this process may have. */
static const char *const texts[] = {
    [SIGHUP] = "Hangup",
    [SIGQUIT] = "Quit",
    [SIGILL] = "Illegal instruction",
    [SIGTRAP] = "Trace/breakpoint trap",
    [SIGABRT] = "Aborted",
    [SIGBUS] = "Bus error",
    [SIGFPE] = "Floating point exception",
    [SIGKILL] = "Killed",
    [SIGUSR1] = "User defined signal 1",
    [SIGSEGV] = "Segmentation fault",
    [SIGUSR2] = "User defined signal 2",
    [SIGALRM] = "Alarm clock",
    [SIGTERM] = "Terminated",
    [SIGSTKFLT] = "Stack fault",
    [SIGCHLD] = "Child exited",
    [SIGCONT] = "Continued",
    [SIGURG] = "Urgent I/O condition",
    [SIGXCPU] = "CPU time limit exceeded",
    [SIGXFSZ] = "File size limit exceeded",
    [SIGVTALRM] = "Virtual timer expired",
    [SIGPROF] = "Profiling timer expired",
    [SIGWINCH] = "Window changed",
    [SIGIO] = "I/O possible",
    [SIGPWR] = "Power failure",
    [SIGSYS] = "Bad system call",
};

/* The first two real-time signals are the C library's own. */
#define FIRST_REAL_TIME 34

/* A supervisor may call no function of another library: not even strcpy, which this loop must not become. */
static char *append(char *at, const char *text) {
    for (; *text; text++) {
        *at++ = *text;
        __asm__ volatile("");
    }
    return at;
}

static char *append_number(char *at, int number) {
    if (number >= 10)
        *at++ = (char)('0' + number / 10);
    *at++ = (char)('0' + number % 10);
    return at;
}

static char *append_signal(char *at, int signal) {
    if (signal < (int)(sizeof texts / sizeof *texts) && texts[signal])
        return append(at, texts[signal]);
    if (signal < FIRST_REAL_TIME)
        return append_number(append(at, "Unknown signal "), signal);
    return append_number(append(at, "Real-time signal "), signal - FIRST_REAL_TIME);
}

int noshell_termination_status(int status) {
    return WIFSIGNALED(status) ? (128 + WTERMSIG(status)) << 8 : status;
}

static void report_to(int fd, int status) {
    char message[64];
    char *at = append_signal(message, WTERMSIG(status));
    if (WCOREDUMP(status))
        at = append(at, " (core dumped)");
    *at++ = '\n';
    noshell_call3(SYS_write, fd, message, at - message);
}

static struct noshell_stderr after(const struct noshell_redirection *redirection, const struct noshell_stderr *places) {
    switch (redirection->operator) {
    case NOSHELL_DUPLICATE:
        return places[redirection->source];
    case NOSHELL_CLOSE: case NOSHELL_READ:
        return (struct noshell_stderr){NOSHELL_STDERR_NOWHERE, NULL};
    default:
        if (strcmp(redirection->path, "/dev/null") == 0)
            return (struct noshell_stderr){NOSHELL_STDERR_NOWHERE, NULL};
        return (struct noshell_stderr){NOSHELL_STDERR_FILE, redirection->path};
    }
}

struct noshell_stderr noshell_stderr_find(const struct noshell_redirection *redirections, size_t count, int pipe_end) {
    struct noshell_stderr places[10];
    for (int fd = 0; fd < 10; fd++)
        places[fd] = (struct noshell_stderr){fd == pipe_end ? NOSHELL_STDERR_IN_PIPE : fd, NULL};
    for (size_t i = 0; i < count; i++)
        places[redirections[i].fd] = after(&redirections[i], places);
    return places[2];
}

int noshell_stderr_is_at_end(const struct noshell_redirection *redirections, size_t count) {
    struct noshell_stderr place = noshell_stderr_find(redirections, count, -1);
    int writers = 0;
    if (place.fd != NOSHELL_STDERR_FILE)
        return 1;
    for (size_t i = 0; i < count; i++) {
        enum noshell_operator operator = redirections[i].operator;
        if (operator == NOSHELL_DUPLICATE || operator == NOSHELL_CLOSE || operator == NOSHELL_READ ||
            strcmp(redirections[i].path, place.path) != 0)
            continue;
        writers += operator == NOSHELL_READWRITE ? 2 : 1;
    }
    return writers < 2;
}

void noshell_termination_report(int status, struct noshell_stderr place) {
    if (!WIFSIGNALED(status) || WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGPIPE)
        return;
    if (place.fd == NOSHELL_STDERR_FILE) {
        /* The shell's report follows the command's own output. */
        long fd = noshell_call3(SYS_openat, AT_FDCWD, place.path, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (fd < 0)
            return;
        report_to((int)fd, status);
        noshell_call1(SYS_close, fd);
    } else if (place.fd >= 0) {
        report_to(place.fd, status);
    }
}
