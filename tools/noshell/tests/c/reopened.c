/* Streams of popen() that freopen() was called on. glibc's own crashes then (2.36), so there is nothing to compare with. */
#include "scenario.h"

static void expect(const char *what, int good) {
    if (!good) {
        fprintf(stderr, "%s: errno %d\n", what, errno);
        exit(3);
    }
}

static void read_on(void) {
    char line[64];
    FILE *stream = popen("code 3", "r");
    expect("freopen", freopen("in", "r", stream) == stream);
    expect("fgets", fgets(line, sizeof line, stream) && strcmp(line, "from a file\n") == 0);
    expect("the command is waited for", pclose(stream) == 3 << 8);
}

static void written_on(void) {
    FILE *stream = popen("copy >out", "w");
    fputs("to the command\n", stream);
    expect("freopen", freopen("other", "w", stream) == stream);
    fputs("to the file\n", stream);
    expect("the command is waited for", pclose(stream) == 0);
    expect("both have what is theirs", system("/usr/bin/cmp -s out out.expected && /usr/bin/cmp -s other other.expected") == 0);
}

/* A stream that could not be opened again has no descriptor, and the one that it had may be another's by now. */
static void failed(void) {
    char command[64];
    FILE *stream = popen("code 0", "r");
    int fd = fileno(stream);
    expect("freopen", freopen("nowhere/at/all", "r", stream) == NULL);
    expect("open", open("in", O_RDONLY) == fd);
    snprintf(command, sizeof command, "/usr/bin/test -e /proc/self/fd/%d", fd);
    stream = popen(command, "r");
    expect("the descriptor is handed on", pclose(stream) == 0);
}

int main(void) {
    alarm(60);
    read_on();
    written_on();
    failed();
    puts("all right");
    return 0;
}
