/*
 * One thread that calls popen(), pclose(), fclose() and system() while a timer's handler forks, as handlers may: neither
 * ever waits for the other.
 *
 *   handlers CALLS
 */
#include "scenario.h"

#include <sys/time.h>

/* That fclose() closes such a stream too is one of the things that are tried here. */
#pragma GCC diagnostic ignored "-Wmismatched-dealloc"

static volatile sig_atomic_t forks;

static void fork_in_between(int signal) {
    int saved = errno;
    pid_t pid = fork();
    (void)signal;
    if (pid == 0)
        _exit(0);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    forks++;
    errno = saved;
}

static void wrong(const char *what, int found) {
    fprintf(stderr, "%s: %d, errno %d\n", what, found, errno);
    _exit(3);
}

static void call(int number) {
    char command[64];
    int status;
    FILE *stream;
    snprintf(command, sizeof command, number % 16 ? "code %d" : "code %d; exit $?", number % 100);
    stream = popen(command, "r");
    if (!stream)
        wrong("popen", 0);
    status = number % 2 ? pclose(stream) : fclose(stream);
    if (status != number % 100 << 8)
        wrong(command, status);
    status = system(command);
    if (status != number % 100 << 8)
        wrong(command, status);
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = fork_in_between, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    int calls = argc > 1 ? atoi(argv[1]) : 100;
    /* fclose of a stream that is none of popen's goes the same way. */
    FILE *open = popen("copy >/dev/null", "w");
    must(open != NULL, "popen");
    sigaction(SIGALRM, &action, NULL);
    must(setitimer(ITIMER_REAL, &often, NULL) == 0, "setitimer");
    for (int i = 0; i < calls; i++) {
        FILE *file = fopen("/dev/null", "r");
        call(i);
        if (!file || fclose(file) != 0)
            wrong("fclose", -1);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    if (pclose(open) != 0 || !forks)
        wrong("forks", (int)forks);
    puts("all right");
    return 0;
}
