/* The working directory's name: see directory.h. */
#define _GNU_SOURCE
#include "directory.h"
#include "file.h"

#include <string.h>

/* Names up to this length are compared at the price of one call. */
#define SHORT_NAME 512

/* A name that the kernel gives itself is what a shell would set anyway, wherever it leads. */
static int is_given_name(const char *pwd) {
    char name[SHORT_NAME];
    return noshell_call2(SYS_getcwd, name, sizeof name) > 0 && strcmp(name, pwd) == 0;
}

static int is_same_directory(const char *pwd) {
    struct stat named, here;
    return noshell_stat(pwd, &named) == 0 && noshell_stat(".", &here) == 0 && named.st_dev == here.st_dev &&
           named.st_ino == here.st_ino;
}

int noshell_directory_is(const char *pwd) {
    return pwd && *pwd == '/' && (is_given_name(pwd) || is_same_directory(pwd));
}

int noshell_directory_find(char *buffer, size_t size) {
    long length;
    memcpy(buffer, "PWD=", 4);
    length = noshell_call2(SYS_getcwd, buffer + 4, size - 4);
    /* A directory that cannot be reached from here is told as "(unreachable)/...", which is for the shell to judge. */
    return length > 0 && buffer[4] == '/' ? 0 : -1;
}
