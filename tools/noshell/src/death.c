/* How dash tells a death by a signal: see death.h. */
#define _GNU_SOURCE
#include "death.h"
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

static char *append(char *at, const char *text) {
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
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

int noshell_death_status(int status) {
    return WIFSIGNALED(status) ? (128 + WTERMSIG(status)) << 8 : status;
}

void noshell_death_report_to(int fd, int status) {
    char message[64];
    char *at = message;
    if (!WIFSIGNALED(status) || WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGPIPE)
        return;
    at = append_signal(at, WTERMSIG(status));
    if (WCOREDUMP(status))
        at = append(at, " (core dumped)");
    *at++ = '\n';
    noshell_call3(SYS_write, fd, message, at - message);
}

/* Where descriptor 2 leads after the redirections: one of the caller's, a file, or nowhere. */
struct place {
    int fd;           /* of the caller, or -1 */
    const char *path; /* or NULL */
};

static struct place find_stderr(const struct noshell_redirection *redirections, size_t count) {
    struct place places[10];
    for (int fd = 0; fd < 10; fd++)
        places[fd] = (struct place){fd, NULL};
    for (size_t i = 0; i < count; i++) {
        const struct noshell_redirection *r = &redirections[i];
        if (r->operator == NOSHELL_DUPLICATE)
            places[r->fd] = places[r->source];
        else if (r->operator == NOSHELL_CLOSE || r->operator == NOSHELL_READ)
            places[r->fd] = (struct place){-1, NULL};
        else
            places[r->fd] = (struct place){-1, r->path};
    }
    return places[2];
}

void noshell_death_report(int status, const struct noshell_redirection *redirections, size_t count) {
    struct place place;
    if (!WIFSIGNALED(status))
        return;
    place = find_stderr(redirections, count);
    if (place.path) {
        /* The command has written to the file, so the shell's word follows at its end. */
        long fd = noshell_call3(SYS_openat, AT_FDCWD, place.path, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (fd < 0)
            return;
        noshell_death_report_to((int)fd, status);
        noshell_call1(SYS_close, fd);
    } else if (place.fd >= 0) {
        noshell_death_report_to(place.fd, status);
    }
}
