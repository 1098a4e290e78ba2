/* Reads the output of a program line by line, without a shell.    cc popen.c $(pkg-config --cflags --libs noshell) */
#include <noshell.h>
#include <stdio.h>
#include <sys/wait.h>

int main(void) {
    /* The name may hold what it likes: nothing here is quoted, and nothing is expanded. */
    const char *const argv[] = {"ls", "-l", "--", "a file; with * in its name", NULL};
    struct popen_noshell_pass_to_pclose child;
    char line[256];
    int status;
    FILE *output = popen_noshell(argv[0], argv, "r", &child, 2);
    if (!output) {
        perror(argv[0]);
        return 1;
    }
    while (fgets(line, sizeof line, output))
        printf("%s says: %s", argv[0], line);
    status = pclose_noshell(&child);
    if (WIFEXITED(status))
        printf("%s exited with %d\n", argv[0], WEXITSTATUS(status));
    return 0;
}
