/*
 * Shared code of the scenario programs. A program runs the scenario that its argument names, or lists all without one. Its output is
 * compared, byte by byte, with its output when it calls the C library's own functions.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct scenario {
    const char *name;
    void (*run)(void);
};

#define SCENARIO(function) {#function, function}

__attribute__((unused)) static void must(int good, const char *what) {
    if (!good) {
        perror(what);
        exit(2);
    }
}

/* Prints what a function returned, and errno; before each call that is watched errno is set to 77. */
__attribute__((unused)) static void show(const char *what, int result) {
    int error = errno;
    printf("%s: %d errno %d\n", what, result, error);
    fflush(stdout);
}

__attribute__((unused)) static void run_system(const char *command) {
    int result;
    errno = 77;
    result = system(command);
    show(command ? command : "NULL", result);
}

__attribute__((unused)) static FILE *start(const char *command, const char *type) {
    FILE *stream;
    errno = 77;
    stream = popen(command, type);
    printf("popen %s \"%s\": %s errno %d\n", command, type, stream ? "a stream" : "NULL", errno);
    fflush(stdout);
    return stream;
}

__attribute__((unused)) static void copy_out(FILE *stream) {
    int c;
    while ((c = getc(stream)) != EOF)
        putchar(c);
    fflush(stdout);
}

__attribute__((unused)) static void end(FILE *stream) {
    int result;
    errno = 77;
    result = pclose(stream);
    show("pclose", result);
}

/* Both ways, with what the command writes on our standard output. */
__attribute__((unused)) static void run_both(const char *command) {
    FILE *stream;
    run_system(command);
    stream = start(command, "r");
    if (stream) {
        copy_out(stream);
        end(stream);
    }
}

/* Prints whether this process has a child left, running or dead. */
__attribute__((unused)) static void show_children(void) {
    int result;
    errno = 0;
    result = waitpid(-1, NULL, WNOHANG);
    show("children left", result);
}

__attribute__((unused)) static int main_of(const struct scenario *scenarios, size_t count, int argc, char **argv) {
    for (size_t i = 0; i < count; i++) {
        if (argc < 2) {
            puts(scenarios[i].name);
        } else if (strcmp(scenarios[i].name, argv[1]) == 0) {
            /* A scenario that hangs is a failure, not a nuisance. */
            alarm(60);
            scenarios[i].run();
            return 0;
        }
    }
    return argc < 2 ? 0 : 2;
}

#define MAIN(scenarios)                                                                                                     \
    int main(int argc, char **argv) { return main_of(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv); }

#endif
