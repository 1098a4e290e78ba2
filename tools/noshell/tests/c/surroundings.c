/* Scenarios of everything around a call: environment, search path, directory, users, limits, sizes. */
#include "scenario.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

extern char **environ;

/* Runs in a child, so that what is changed stays there. */
static void apart(const char *what, void (*run)(void)) {
    pid_t pid;
    int status;
    printf("-- %s\n", what);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        run();
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    printf("-- ended with %d\n", status);
    fflush(stdout);
}

static char path_entry[8192];

/* The search path, so that children are found whatever else is in the environment. */
static char *path(void) {
    snprintf(path_entry, sizeof path_entry, "PATH=%s", getenv("PATH"));
    return path_entry;
}

#define ENVIRONMENT(...)                                                                                                    \
    do {                                                                                                                    \
        char *entries[] = {path(), __VA_ARGS__, NULL};                                                                      \
        environ = entries;                                                                                                  \
        run_both("vars");                                                                                                   \
        run_both("A=b vars");                                                                                               \
        run_both("vars; :");                                                                                                \
    } while (0)

static void duplicates(void) { ENVIRONMENT("A=1", "A=2", "B=", "A=3"); }
static void no_names(void) { ENVIRONMENT("=x", "no equals sign", "A", "1A=b", "A-B=c", "A.B=d", " A=e", "A =f", "\303\244=g", "%x=h"); }
static void odd_values(void) { ENVIRONMENT("A=\n", "B='", "C=\"$HOME\"", "D==", "E=\377\200\1", "F= ", "_=/bin/x"); }
static void shell_s_own(void) { ENVIRONMENT("IFS=x", "OPTIND=5", "PS1=p", "PS2=q", "PS4=r", "MAIL=m", "TERM=t", "HISTSIZE=7", "LINENO=8", "SHLVL=3"); }
static void bash_s_own(void) { ENVIRONMENT("BASH=/x", "BASHOPTS=extglob", "SHELLOPTS=noglob", "UID=5", "EUID=6", "RANDOM=7", "BASH_VERSION=8", "POSIXLY_CORRECT=1", "BASH_ENV=/nonexistent", "ENV=/nonexistent", "IGNOREEOF=3", "GLOBIGNORE=x", "FUNCNEST=1", "BASH_FUNC_f%%=() { :; }", "HOSTNAME=h", "OSTYPE=o", "SHELL=/s", "COLUMNS=1", "LINES=2", "COMP_WORDBREAKS=c"); }
static void exported_function(void) { ENVIRONMENT("BASH_FUNC_args%%=() { echo a function; }", "BASH_FUNC_vars%%=() {  echo another; }"); }
static void directories_of_old(void) { ENVIRONMENT("PWD=/nonexistent", "OLDPWD=/nonexistent"); }
static void relative_directory(void) { ENVIRONMENT("PWD=.", "OLDPWD=relative"); }
static void root_for_directory(void) { ENVIRONMENT("PWD=/"); }
static void odd_directory(void) { ENVIRONMENT("PWD=/./", "OLDPWD=/tmp"); }
static void home_for_old(void) { ENVIRONMENT("OLDPWD=/"); }
static void locales(void) { ENVIRONMENT("LC_ALL=C", "LANG=xx_YY.UTF-8", "LC_CTYPE=C.UTF-8"); run_both("args \303\251"); }

static void many_entries(void) {
    static char texts[3000][16];
    static char *entries[3002];
    entries[0] = path();
    for (int i = 0; i < 3000; i++) {
        snprintf(texts[i], sizeof *texts, "V%d=%d", i, i * i);
        entries[i + 1] = texts[i];
    }
    environ = entries;
    run_system("vars >all");
    run_system("/usr/bin/tail -n 3 all");
}

static void no_environment(void) {
    environ = NULL;
    run_both("/usr/bin/env");
    environ = (char *[]){NULL};
    run_both("/usr/bin/env");
    run_both("uname -s");
    clearenv();
    run_both("A=b /usr/bin/env");
}

static void environments(void) {
    apart("duplicates", duplicates);
    apart("no names", no_names);
    apart("odd values", odd_values);
    apart("the shell's own", shell_s_own);
    apart("bash's own", bash_s_own);
    apart("an exported function", exported_function);
    apart("directories of old", directories_of_old);
    apart("a relative directory", relative_directory);
    apart("/ for the directory", root_for_directory);
    apart("an odd directory", odd_directory);
    apart("an old directory that exists", home_for_old);
    apart("locales", locales);
    apart("many entries", many_entries);
    apart("none", no_environment);
}

static void right_directory(void) {
    char here[4096], link[4200];
    must(getcwd(here, sizeof here) != NULL, "getcwd");
    must(symlink(here, "link") == 0, "symlink");
    setenv("PWD", here, 1);
    run_both("vars");
    snprintf(link, sizeof link, "%s/link", here);
    setenv("PWD", link, 1);
    run_both("vars");
    run_both("state");
    snprintf(link, sizeof link, "%s/./link", here);
    setenv("PWD", link, 1);
    run_both("vars");
    setenv("PWD", "", 1);
    run_both("vars");
    unsetenv("PWD");
    run_both("vars");
}

static void vanished_directory(void) {
    must(mkdir("gone", 0755) == 0 && chdir("gone") == 0 && rmdir("../gone") == 0, "gone");
    run_both("state");
    run_both("vars");
    run_both("args >file");
    setenv("PWD", "/", 1);
    run_both("vars");
    run_both("args; :");
}

static void search(const char *value) {
    printf("PATH %s\n", value ? value : "(unset)");
    value ? setenv("PATH", value, 1) : unsetenv("PATH");
    run_both("hello a");
    run_both("uname -s");
    run_both("plain");
    run_both("sub");
    run_both("garbage x");
    run_both("lost");
}

static void write_program(const char *name, const char *text, mode_t mode) {
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, mode);
    must(fd >= 0 && write(fd, text, strlen(text)) >= 0 && fchmod(fd, mode) == 0, name);
    close(fd);
}

static void search_path(void) {
    const char *values[] = {NULL, "", ":", "/bin:", ":/bin", "/bin::/usr/bin", ".", "sub", "./sub:/bin", "/nonexistent:.:/bin",
                            "/etc/passwd:/bin", "closed:.", "first:second", "second:first", "%builtin:/bin", "/bin%func:/bin",
                            "~/x:/bin", "/bin:/bin:/bin", "//bin", "/bin/"};
    must(mkdir("sub", 0755) == 0 && mkdir("closed", 0) == 0 && mkdir("first", 0755) == 0 && mkdir("second", 0755) == 0, "mkdir");
    write_program("hello", "echo here $#\n", 0755);
    write_program("plain", "text", 0644);
    write_program("garbage", "\177ELF\2\1\1", 0755);
    write_program("lost", "#!/nonexistent\n", 0755);
    write_program("sub/hello", "#!/bin/sh\necho sub $#\n", 0755);
    write_program("first/plain", "echo never", 0644);
    write_program("second/plain", "echo second\n", 0755);
    must(mkdir("first/hello", 0755) == 0, "mkdir");
    write_program("second/hello", "echo second $#\n", 0755);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        search(values[i]);
    char *longest = malloc(20000);
    memset(longest, 'a', 19999);
    memcpy(longest + 10000, ":/bin", 5);
    longest[19999] = 0;
    longest[10005] = 0;
    setenv("PATH", longest, 1);
    run_both("uname -s");
}

/* A file that is open for writing cannot be executed. */
static void busy_program(void) {
    int fd;
    write_program("busy", "#!/bin/sh\necho busy\n", 0755);
    fd = open("busy", O_WRONLY | O_APPEND);
    run_both("./busy");
    close(fd);
    run_both("./busy");
}

static void as_nobody(void) {
    must(setgid(65534) == 0 && setuid(65534) == 0, "setuid");
    run_both("state");
    run_both("./secret");
    run_both("./closed/args");
    run_both("args >file");
    run_both("args </etc/shadow");
    run_both("./private");
}

static void with_effective_user(void) {
    must(setresgid(65534, 0, 0) == 0 && setresuid(65534, 0, 0) == 0, "setresuid");
    run_both("state");
    run_both("state; :");
}

static void with_saved_user(void) {
    must(setresuid(0, 65534, 0) == 0, "setresuid");
    run_both("state");
}

static void with_effective_group(void) {
    must(setresgid(0, 65534, 0) == 0, "setresgid");
    run_both("state");
}

static void users(void) {
    if (getuid() != 0) {
        puts("only root has other users to be");
        return;
    }
    write_program("secret", "#!/bin/sh\necho secret\n", 0700);
    write_program("private", "echo private\n", 0711);
    must(mkdir("closed", 0700) == 0, "mkdir");
    apart("nobody", as_nobody);
    apart("an effective user", with_effective_user);
    apart("a saved user", with_saved_user);
    apart("an effective group", with_effective_group);
}

static void no_processes(void) {
    struct rlimit none = {0, 0};
    must(getuid() != 0 || setuid(65534) == 0, "setuid");
    setrlimit(RLIMIT_NPROC, &none);
    run_both("args a");
    run_both("args a; :");
    run_both("args >/nonexistent/file");
}

static void no_memory(void) {
    struct rlimit little = {64 << 20, 64 << 20};
    setrlimit(RLIMIT_AS, &little);
    while (malloc(1 << 20))
        continue;
    while (malloc(1 << 12))
        continue;
    while (malloc(16))
        continue;
    errno = 77;
    int result = system("code 3");
    /* The C library fails where it finds no memory for a stack; who needs none may go on. */
    dprintf(1, "right: %d\n", result == 3 << 8 || (WEXITSTATUS(result) == 127 && errno == ENOMEM));
}

/* The library has no stack for its child then, and says so. */
static void no_address_space(void) {
    run_both("code 3");
    for (rlim_t size = 1 << 12; size <= 4 << 20; size *= 4) {
        struct rlimit little = {size, RLIM_INFINITY};
        setrlimit(RLIMIT_AS, &little);
        run_both("code 3");
        run_both("code 3; :");
    }
}

static void small_stack(void) {
    struct rlimit little = {256 << 10, 256 << 10};
    setrlimit(RLIMIT_STACK, &little);
    run_both("args a");
}

static void small_files(void) {
    struct rlimit little = {4, 4};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &little);
    run_system("args >file");
    run_system("copy <file");
}

static void limits(void) {
    apart("no processes", no_processes);
    apart("no memory", no_memory);
    apart("no address space", no_address_space);
    apart("a small stack", small_stack);
    apart("small files", small_files);
}

static void run_long(size_t size) {
    char *command = malloc(size + 1);
    int result;
    FILE *stream;
    memset(command, 'x', size);
    memcpy(command, "args a ", 7);
    strcpy(command + size - 5, " >out");
    errno = 77;
    result = system(command);
    printf("%zu: system %d errno %d\n", size, result, errno);
    fflush(stdout);
    system("/usr/bin/wc -c out");
    errno = 77;
    stream = popen(command, "w");
    printf("popen %d errno %d\n", stream ? pclose(stream) : -1, errno);
    fflush(stdout);
    free(command);
}

static void long_commands(void) {
    size_t sizes[] = {100, 4095, 4096, 32767, 65536, 131000, 131060, 131070, 131071, 131072, 131073, 131080, 131090, 131200, 200000, 2 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        run_long(sizes[i]);
}

static void many_words(void) {
    char *command = malloc(130001);
    for (int i = 0; i < 130000; i++)
        command[i] = i & 1 ? ' ' : 'a';
    memcpy(command, "args ", 5);
    strcpy(command + 129990, " >out");
    printf("%d\n", system(command));
    fflush(stdout);
    system("/usr/bin/wc -c out");
    for (int i = 5; i < 129980; i += 2)
        memcpy(command + i, ">a", 2);
    command[129981] = 0;
    printf("%d\n", system(command));
    fflush(stdout);
}

/* An environment that leaves no room for any argument. */
static void full_environment(void) {
    static char *entries[32];
    static char texts[30][131072];
    entries[0] = path();
    for (int i = 0; i < 30; i++) {
        memset(texts[i], 'x', sizeof *texts - 1);
        memcpy(texts[i], (char[]){'A' + i % 26, i > 25 ? 'A' : '_', '='}, 3);
        entries[i + 1] = texts[i];
    }
    environ = entries;
    run_both("args a");
    run_both("args a; :");
    entries[6] = NULL;
    run_both("args a");
}

static const struct scenario scenarios[] = {
    SCENARIO(environments),
    SCENARIO(right_directory),
    SCENARIO(vanished_directory),
    SCENARIO(search_path),
    SCENARIO(busy_program),
    SCENARIO(users),
    SCENARIO(limits),
    SCENARIO(long_commands),
    SCENARIO(many_words),
    SCENARIO(full_environment),
};

MAIN(scenarios)
