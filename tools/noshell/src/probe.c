/*
 * The probe: a script in which shells differ, run by /bin/sh in an environment made for it, and what dash and bash answer.
 *
 * The shell is no child of this process: one between, which shares memory, waits for it and is itself waited for in a way
 * that no SIGCHLD tells of and no waitpid of the program sees.
 */
#define _GNU_SOURCE
#include "probe.h"
#include "launch.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define ANSWER_MAX 2048

/* A shell that says nothing for so long is none of those that are known. */
#define PATIENCE_MS 2000

/*
 * What is asked, line by line: which escapes echo reads; whether [[ is a word of the language; what a variable holds that
 * was not given or that the shell sets itself; which names it hands on; whether it knows a builtin of bash; and, of a last
 * command that a signal ended, whether it waited and tells of it. That command is a subshell, which may write no byte to a
 * file and then writes one to standard input.
 */
static const char script[] = "echo '\\0101-\\c'\n"
                             "echo\n"
                             "[[ a ]] 2>/dev/null; echo $?\n"
                             "echo \"${BASH_VERSION%%.*}${KSH_VERSION+ksh}${ZSH_VERSION+zsh}|$PATH|$IFS|$0|$#\"\n"
                             "export -p\n"
                             "type echo let\n"
                             "(ulimit -c 0; ulimit -f 0; echo >&0)";

static char *const words[] = {"sh", "-c", (char *)script, NULL};
static char *const variables[] = {"IFS=x", "OPTIND=7", "PPID=1", "PWD=/proc", "no.name=1", "B=2", "A=1", "A=3", NULL};

static const char dash[] = "A-\n"
                           "127\n"
                           "|/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin| \t\n|sh|0\n"
                           "export A='3'\n"
                           "export B='2'\n"
                           "export IFS=' \t\n'\n"
                           "export OPTIND='1'\n"
                           "export PPID='#'\n"
                           "export PWD='/'\n"
                           "echo is a shell builtin\n"
                           "let: not found\n"
                           "File size limit exceeded\n";

/* The PATH that bash was built with differs from system to system, and does not matter. */
static const char bash[] = "\\0101-\\c\n"
                           "\n"
                           "0\n"
                           "5|@| \t\n|sh|0\n"
                           "export A=\"3\"\n"
                           "export B=\"2\"\n"
                           "export IFS=$' \\t\\n'\n"
                           "export OLDPWD\n"
                           "export OPTIND=\"1\"\n"
                           "export PWD=\"/\"\n"
                           "export SHLVL=\"1\"\n"
                           "echo is a shell builtin\n"
                           "let is a shell builtin\n";

struct probe {
    char *between_stack; /* of the process between; the shell's child code has its own */
    struct noshell_spawn spawn;
    char *answer;
    size_t length;
    int asked; /* the answer is whole */
};

static void set_up(struct probe *probe, int file, int end) {
    struct noshell_spawn *spawn = &probe->spawn;
    spawn->path = NOSHELL_PATH_OF_SHELL;
    spawn->argv = words;
    spawn->envp = variables;
    spawn->mask = 0;
    spawn->defaults = NOSHELL_ALL_SIGNALS;
    spawn->streams[0] = file;
    spawn->streams[1] = end;
    spawn->streams[2] = end;
    spawn->directory = "/";
    spawn->close_others = 1;
}

/* Reads until the end. 1, or 0 when the shell takes too long or says too much. */
static int listen_to(struct probe *probe, int end) {
    for (;;) {
        struct pollfd wait = {.fd = end, .events = POLLIN};
        struct timespec patience = {.tv_sec = PATIENCE_MS / 1000};
        size_t room = ANSWER_MAX - probe->length;
        long count = noshell_syscall(SYS_ppoll, (long)&wait, 1, (long)&patience, 0, sizeof(noshell_signals), 0);
        if (count <= 0 || room == 0)
            return 0;
        count = noshell_call3(SYS_read, end, probe->answer + probe->length, room);
        if (count <= 0)
            return count == 0;
        probe->length += (size_t)count;
    }
}

/* The process between. Its descriptors are copies: what it opens, the program never sees. */
static int ask(void *argument) {
    struct probe *probe = argument;
    int ends[2];
    long file = noshell_call2(SYS_memfd_create, "", MFD_CLOEXEC);
    if (file < 0 || noshell_call2(SYS_pipe2, ends, O_CLOEXEC) < 0)
        return 0;
    set_up(probe, (int)file, ends[1]);
    if (noshell_spawn(&probe->spawn) != 0)
        return 0;
    noshell_call1(SYS_close, ends[1]);
    probe->asked = listen_to(probe, ends[0]);
    if (!probe->asked)
        noshell_call2(SYS_kill, probe->spawn.pid, SIGKILL);
    while (noshell_call4(SYS_wait4, probe->spawn.pid, NULL, NOSHELL_WAIT_ALL, NULL) == -EINTR)
        continue;
    noshell_call1(SYS_close, ends[0]);
    noshell_call1(SYS_close, file);
    return 0;
}

/* Runs `ask` in the process between, which makes no signal when it ends. 0 where the kernel has no clone3. */
static int run_between(struct probe *probe) {
    struct noshell_clone_arguments arguments = {
        .flags = NOSHELL_CLONE_VM | NOSHELL_CLONE_VFORK | NOSHELL_CLONE_CLEAR_SIGHAND,
        .stack = (uint64_t)(uintptr_t)probe->between_stack,
        .stack_size = NOSHELL_CHILD_STACK,
    };
    noshell_signals old;
    long pid;
    noshell_mask(SIG_SETMASK, NOSHELL_ALL_SIGNALS, &old);
    pid = noshell_clone(&arguments, ask, probe);
    if (pid > 0)
        while (noshell_call4(SYS_wait4, pid, NULL, NOSHELL_WAIT_ALL, NULL) == -EINTR)
            continue;
    noshell_mask(SIG_SETMASK, old, NULL);
    return pid > 0;
}

static const char *skip_digits(const char *text) {
    while (*text >= '0' && *text <= '9')
        text++;
    return text;
}

/* Compares; a hash sign stands for digits, an at sign for whatever comes before the next bar. */
static int matches(const char *answer, const char *pattern) {
    for (; *pattern; pattern++) {
        const char *from = answer;
        if (*pattern == '#')
            answer = skip_digits(answer);
        else if (*pattern == '@')
            answer += strcspn(answer, "|\n");
        else if (*answer == *pattern)
            answer++;
        if (answer == from)
            return 0;
    }
    return *answer == 0;
}

static enum noshell_shell judge(const char *answer) {
    if (matches(answer, dash))
        return NOSHELL_SHELL_DASH;
    return matches(answer, bash) ? NOSHELL_SHELL_BASH : NOSHELL_SHELL_UNKNOWN;
}

int noshell_probe(enum noshell_shell *shell) {
    struct noshell_scratch scratch;
    struct probe probe = {.length = 0};
    if (noshell_scratch_take(&scratch, 2 * NOSHELL_CHILD_STACK + ANSWER_MAX + 64) < 0)
        return 0;
    probe.between_stack = noshell_scratch_part(&scratch, NOSHELL_CHILD_STACK);
    probe.spawn.stack = noshell_scratch_part(&scratch, NOSHELL_CHILD_STACK);
    probe.answer = noshell_scratch_part(&scratch, ANSWER_MAX + 1);
    /* Without clone3 the shell is this process's own child for a moment. */
    if (!run_between(&probe))
        ask(&probe);
    probe.answer[probe.length] = 0;
    *shell = judge(probe.answer);
    noshell_scratch_give(&scratch);
    return probe.asked;
}
