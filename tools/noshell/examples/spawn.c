/* Starts a program with a pipe to and from it, and waits at most a second.
   cc spawn.c $(pkg-config --cflags --libs noshell) */
#include <noshell.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    const char *const argv[] = {"tr", "a-z", "A-Z", NULL};
    const char text[] = "every other descriptor is closed\n";
    struct spawn_noshell_options options = {.streams = {SPAWN_NOSHELL_PIPE, SPAWN_NOSHELL_PIPE, SPAWN_NOSHELL_INHERIT}};
    struct pollfd ended;
    char answer[128];
    ssize_t length;
    int status;
    ended.fd = spawn_noshell(argv, &options);
    ended.events = POLLIN;
    if (ended.fd < 0) {
        perror(argv[0]);
        return 1;
    }
    if (write(options.fds[0], text, strlen(text)) < 0)
        perror("write");
    close(options.fds[0]);
    length = read(options.fds[1], answer, sizeof answer);
    if (length > 0)
        fwrite(answer, 1, (size_t)length, stdout);
    if (poll(&ended, 1, 1000) == 0)
        kill(options.pid, SIGKILL);
    status = wait_noshell(ended.fd);
    printf("%s exited with %d\n", argv[0], WEXITSTATUS(status));
    return 0;
}
