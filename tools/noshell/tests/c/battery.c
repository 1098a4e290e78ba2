/*
 * Runs a list of commands by system() and by popen(), each in a directory of its own, and writes down what it saw.
 *
 *   battery COMMANDS   The file holds commands that each end with a NUL. Command N runs in the directories N.system and
 *                      N.popen below the current one; beside them appear N.system.out, N.system.err, N.popen.out and
 *                      N.popen.err. Standard output has a line a call: its number, its status and errno.
 *
 * errno is 77 before each call.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void must(int good, const char *what) {
    if (!good) {
        perror(what);
        exit(2);
    }
}

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *text;
    must(file != NULL, path);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    text = malloc(*size + 1);
    must(text && fread(text, 1, *size, file) == *size, path);
    fclose(file);
    text[*size] = 0;
    return text;
}

/* Lets a descriptor be a new file, and returns what it was. */
static int redirect(int fd, const char *path) {
    int saved = fcntl(fd, F_DUPFD_CLOEXEC, 100);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    must(saved >= 0 && file >= 0 && dup2(file, fd) >= 0, path);
    close(file);
    return saved;
}

static void restore(int fd, int saved) {
    must(dup2(saved, fd) >= 0, "dup2");
    close(saved);
}

static void enter(int number, const char *way, char *out, char *err, size_t size) {
    char directory[64];
    snprintf(directory, sizeof directory, "%d.%s", number, way);
    must(chdir(directory) == 0, directory);
    snprintf(out, size, "../%s.out", directory);
    snprintf(err, size, "../%s.err", directory);
}

static void by_system(int number, const char *command) {
    char out[80], err[80];
    int saved_out, saved_err, status, error;
    enter(number, "system", out, err, sizeof out);
    saved_out = redirect(1, out);
    saved_err = redirect(2, err);
    errno = 77;
    status = system(command);
    error = errno;
    restore(1, saved_out);
    restore(2, saved_err);
    must(chdir("..") == 0, "..");
    printf("%d system %d errno %d\n", number, status, error);
}

static void by_popen(int number, const char *command) {
    char out[80], err[80], buffer[4096];
    int saved_err, status = -2, error;
    size_t length;
    FILE *stream, *file;
    enter(number, "popen", out, err, sizeof out);
    file = fopen(out, "we");
    saved_err = redirect(2, err);
    errno = 77;
    stream = popen(command, "r");
    error = errno;
    while (stream && (length = fread(buffer, 1, sizeof buffer, stream)) > 0)
        fwrite(buffer, 1, length, file);
    if (stream)
        status = pclose(stream);
    restore(2, saved_err);
    fclose(file);
    must(chdir("..") == 0, "..");
    printf("%d popen %d errno %d\n", number, status, error);
}

int main(int argc, char **argv) {
    struct rlimit none = {0, 0};
    size_t size;
    char *commands;
    int number = 0;
    must(argc == 2, "battery COMMANDS");
    commands = read_file(argv[1], &size);
    /* A core file, where there is one, is named as the machine likes. */
    setrlimit(RLIMIT_CORE, &none);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (char *command = commands; command < commands + size; command += strlen(command) + 1) {
        by_system(number, command);
        by_popen(number, command);
        number++;
    }
    free(commands);
    return 0;
}
