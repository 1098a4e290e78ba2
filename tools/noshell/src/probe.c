/*
 * The probe: a script in which shells differ, run by /bin/sh in an environment made for it, and what dash and bash answer.
 *
 * The shell is no child of this process: one between, which shares memory, waits for it and is itself waited for in a way
 * that no SIGCHLD tells of and no waitpid of the program sees.
 *
 * The shell writes into a file in memory, which is read when it has ended: a pipe would wake somebody for each line. Its
 * standard input is the writing end of a pipe, whose other end tells when the shell and all that it started have gone.
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
#include <sys/resource.h>
#include <sys/wait.h>

#define ANSWER_MAX 2048

/* A shell that says nothing for so long is none of those that are known. */
#define PATIENCE_MS 2000

/*
 * What is asked, line by line: which escapes echo reads; whether [[ is a word of the language; what a variable holds that
 * was not given or that the shell sets itself; which names it hands on; whether it knows a builtin of bash.
 */
static const char who_script[] = "echo '\\0101-\\c'\n"
                                 "echo\n"
                                 "[[ a ]] 2>/dev/null; echo $?\n"
                                 "echo \"${BASH_VERSION%%.*}${KSH_VERSION+ksh}${ZSH_VERSION+zsh}|$PATH|$IFS|$0|$#\"\n"
                                 "export -p\n"
                                 "type echo let";

/*
 * Of a last command that a signal ended, whether the shell waited and tells of it. The command is a subshell, which may
 * write no byte to a file and then writes one. A fork is a third of the price of all questions, and most commands are ended
 * by nobody: so this one waits until it matters.
 */
static const char death_script[] = "(ulimit -f 0; echo)";
static const char dash_death[] = "File size limit exceeded%\n";
static const char bash_death[] = "";

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
                           "let: not found\n";

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
    int is_between;      /* whether there is one */
    struct noshell_spawn spawn;
    char *words[4];
    char *answer; /* whole, and NUL at its end, if `asked` */
    int asked;
};

static void set_up(struct probe *probe, int file, int end) {
    struct noshell_spawn *spawn = &probe->spawn;
    spawn->path = NOSHELL_PATH_OF_SHELL;
    spawn->argv = probe->words;
    spawn->envp = variables;
    spawn->mask = 0;
    spawn->defaults = NOSHELL_ALL_SIGNALS;
    spawn->streams[0] = end;
    spawn->streams[1] = file;
    spawn->streams[2] = file;
    spawn->directory = "/";
    spawn->close_others = 1;
}

/* A file of a size that it keeps: a shell that says too much is told so. */
static long make_file(void) {
    long file = noshell_call2(SYS_memfd_create, "", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file >= 0 && (noshell_call2(SYS_ftruncate, file, ANSWER_MAX) < 0 ||
                      noshell_call3(SYS_fcntl, file, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)) {
        noshell_call1(SYS_close, file);
        return -1;
    }
    return file;
}

/*
 * The signal that ends the subshell dumps core. A limit of nothing would not keep the kernel from that where cores go to a
 * program, but a limit of one byte does. Only the process between may limit itself.
 */
static void forbid_core(const struct probe *probe) {
    static const struct rlimit limit = {1, 1};
    if (probe->is_between)
        noshell_call4(SYS_prlimit64, 0, RLIMIT_CORE, &limit, NULL);
}

/* 1 when the other end was closed in time. */
static int is_over(int end) {
    struct pollfd wait = {.fd = end};
    struct timespec patience = {.tv_sec = PATIENCE_MS / 1000};
    return noshell_syscall(SYS_ppoll, (long)&wait, 1, (long)&patience, 0, sizeof(noshell_signals), 0) > 0;
}

/* Waits for the shell: 1 when its end came in time. */
static int await(struct probe *probe, int end) {
    int over = is_over(end);
    if (!over)
        noshell_call2(SYS_kill, probe->spawn.pid, SIGKILL);
    while (noshell_call4(SYS_wait4, probe->spawn.pid, NULL, NOSHELL_WAIT_ALL, NULL) == -EINTR)
        continue;
    return over;
}

/* Runs the shell with its answers going to the file. 1 when it came to its end. */
static int run_shell(struct probe *probe, int file) {
    int ends[2];
    int started, over;
    if (noshell_call2(SYS_pipe2, ends, O_CLOEXEC) < 0)
        return 0;
    set_up(probe, file, ends[1]);
    started = noshell_spawn(&probe->spawn) == 0;
    noshell_call1(SYS_close, ends[1]);
    over = started && await(probe, ends[0]);
    noshell_call1(SYS_close, ends[0]);
    return over;
}

/* The process between. Its descriptors are copies: what it opens, the program never sees. */
static int ask(void *argument) {
    struct probe *probe = argument;
    long file = make_file();
    if (file < 0)
        return 0;
    forbid_core(probe);
    probe->asked = run_shell(probe, (int)file) &&
                   noshell_call4(SYS_pread64, file, probe->answer, ANSWER_MAX, 0) == ANSWER_MAX;
    noshell_call1(SYS_close, file);
    return 0;
}

/*
 * Runs `ask` in the process between, which makes no signal when it ends. Without clone3 the shell is this process's own
 * child for a moment, and handlers in this thread, which might wait for it, stay out.
 */
static void run_asking(struct probe *probe) {
    struct noshell_clone_arguments arguments = {
        .flags = NOSHELL_CLONE_VM | NOSHELL_CLONE_VFORK | NOSHELL_CLONE_CLEAR_SIGHAND,
        .stack = (uint64_t)(uintptr_t)probe->between_stack,
        .stack_size = NOSHELL_CHILD_STACK,
    };
    noshell_signals old;
    long pid;
    probe->is_between = 1;
    noshell_mask(SIG_SETMASK, NOSHELL_ALL_SIGNALS, &old);
    pid = noshell_clone(&arguments, ask, probe);
    while (pid > 0 && noshell_call4(SYS_wait4, pid, NULL, NOSHELL_WAIT_ALL, NULL) == -EINTR)
        continue;
    if (pid < 0) {
        probe->is_between = 0;
        ask(probe);
    }
    noshell_mask(SIG_SETMASK, old, NULL);
}

static const char *skip_digits(const char *text) {
    while (*text >= '0' && *text <= '9')
        text++;
    return text;
}

static const char *skip_text(const char *text, const char *skipped) {
    return strncmp(text, skipped, strlen(skipped)) == 0 ? text + strlen(skipped) : text;
}

/* Compares; a hash sign stands for digits, an at sign for whatever comes before the next bar, a percent sign for the remark
 * that there is a core, or nothing. */
static int matches(const char *answer, const char *pattern) {
    for (; *pattern; pattern++) {
        const char *from = answer;
        if (*pattern == '%') {
            answer = skip_text(answer, " (core dumped)");
            continue;
        }
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

/* Has a script answered. 1, and *scratch is to be given back; or 0. */
static int put(struct probe *probe, const char *script, struct noshell_scratch *scratch) {
    *probe = (struct probe){.words = {"sh", "-c", (char *)script, NULL}};
    if (noshell_scratch_take(scratch, 2 * NOSHELL_CHILD_STACK + ANSWER_MAX + 64) < 0)
        return 0;
    probe->between_stack = noshell_scratch_part(scratch, NOSHELL_CHILD_STACK);
    probe->spawn.stack = noshell_scratch_part(scratch, NOSHELL_CHILD_STACK);
    probe->answer = noshell_scratch_part(scratch, ANSWER_MAX + 1);
    run_asking(probe);
    probe->answer[ANSWER_MAX] = 0;
    if (!probe->asked)
        noshell_scratch_give(scratch);
    return probe->asked;
}

int noshell_probe(enum noshell_shell *shell) {
    struct noshell_scratch scratch;
    struct probe probe;
    if (!put(&probe, who_script, &scratch))
        return 0;
    *shell = judge(probe.answer);
    noshell_scratch_give(&scratch);
    return 1;
}

int noshell_probe_death(enum noshell_shell shell, int *does) {
    struct noshell_scratch scratch;
    struct probe probe;
    if (!put(&probe, death_script, &scratch))
        return 0;
    *does = matches(probe.answer, shell == NOSHELL_SHELL_DASH ? dash_death : bash_death);
    noshell_scratch_give(&scratch);
    return 1;
}
