/*
 * Everything at once, for long: threads that call system(), popen() and fork() together. Every status and every byte must be
 * right, and in the end nothing may be left: no descriptor, no thread, no child, and, of one thread, no memory.
 *
 *   threads THREADS CALLS
 */
#include "scenario.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>

/* That fclose() closes such a stream too is one of the things that are tried here. */
#pragma GCC diagnostic ignored "-Wmismatched-dealloc"

static int calls_each;

static void wrong(const char *what, int expected, int found) {
    fprintf(stderr, "%s: %d expected, %d found, errno %d\n", what, expected, found, errno);
    _exit(3);
}

static void expect(const char *what, int expected, int found) {
    if (expected != found)
        wrong(what, expected, found);
}

static void by_system(int number) {
    char command[64];
    snprintf(command, sizeof command, number % 16 ? "code %d" : "code %d; exit $?", number % 100);
    expect(command, number % 100 << 8, system(command));
}

static void by_reading(int number) {
    char command[64], line[64], expected[64];
    FILE *stream;
    snprintf(command, sizeof command, number % 16 ? "args %d" : "args %d; :", number);
    snprintf(expected, sizeof expected, "2[args][%d]\n", number);
    stream = popen(command, number % 3 ? "r" : "re");
    if (!stream || !fgets(line, sizeof line, stream) || strcmp(line, expected) != 0)
        wrong(command, 0, -1);
    /* The pipe ends with the command, unless another process has inherited it. */
    expect("end", EOF, getc(stream));
    expect(command, 0, number % 5 ? pclose(stream) : fclose(stream));
}

static void by_writing(int number) {
    FILE *stream = popen(number % 16 ? "copy >/dev/null" : "copy >/dev/null; :", "w");
    if (!stream || fprintf(stream, "%d\n", number) < 0)
        wrong("copy", 0, -1);
    expect("copy", 0, pclose(stream));
}

static void by_fork(int number) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(number % 8 ? number % 64 : system("code 5") >> 8);
    expect("waitpid", pid, waitpid(pid, &status, 0));
    expect("fork", (number % 8 ? number % 64 : 5) << 8, status);
}

static void *work(void *argument) {
    static void (*const ways[])(int) = {by_system, by_reading, by_writing, by_system, by_reading, by_fork};
    int first = (int)(size_t)argument;
    for (int i = 0; i < calls_each; i++)
        ways[(first + i) % 6](first * calls_each + i);
    return NULL;
}

/* The entries of a folder of /proc/self. */
static int entries(const char *path) {
    DIR *folder = opendir(path);
    int count = 0;
    must(folder != NULL, path);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

int main(int argc, char **argv) {
    int threads = argc > 2 ? atoi(argv[1]) : 4, descriptors, warm;
    size_t memory;
    pthread_t started[64];
    calls_each = argc > 2 ? atoi(argv[2]) / threads : 100;
    must(threads <= 64, "threads");
    work(NULL);
    warm = entries("/proc/self/task");
    descriptors = entries("/proc/self/fd");
    memory = mallinfo2().uordblks;
    if (threads == 1)
        work(NULL);
    for (int i = 0; threads > 1 && i < threads; i++)
        must(pthread_create(&started[i], NULL, work, (void *)(size_t)i) == 0, "pthread_create");
    for (int i = 0; threads > 1 && i < threads; i++)
        pthread_join(started[i], NULL);
    if (threads == 1)
        expect("memory", 0, (int)(mallinfo2().uordblks - memory));
    expect("descriptors", descriptors, entries("/proc/self/fd"));
    expect("threads", warm, entries("/proc/self/task"));
    errno = 0;
    expect("children", -1, waitpid(-1, NULL, 0));
    expect("ECHILD", ECHILD, errno);
    puts("all right");
    return 0;
}
