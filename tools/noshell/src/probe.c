/*
 * The probe: a script on which shells differ, run by /bin/sh in a fixed environment, and the answers of dash and bash.
 *
 * The shell is not a child of this process. An intermediate process, which shares memory, waits for the shell, and this process
 * waits for the intermediate one in a way that raises no SIGCHLD and is invisible to the program's waitpid.
 *
 * The shell writes to a file in memory, which is read when it has ended; a pipe would wake the reader for each line. The shell's
 * standard input is the writing end of a pipe, whose other end reports when the shell and all its children have ended.
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

/* A shell that takes longer is treated as unknown. */
#define PATIENCE_MS 2000

/*
 * Line by line: the escapes that echo interprets; whether [[ is a keyword; variables that were not given or that the shell sets
 * itself; the exported names; whether bash's builtin let exists.
 */
static const char who_script[] = "echo '\\0101-\\c'\n"
                                 "echo\n"
                                 "[[ a ]] 2>/dev/null; echo $?\n"
                                 "echo \"${BASH_VERSION%%.*}${KSH_VERSION+ksh}${ZSH_VERSION+zsh}|$PATH|$IFS|$0|$#\"\n"
                                 "export -p\n"
                                 "type echo let";

/*
 * Whether the shell waits for its last command and reports its death by a signal. The command is a subshell that exceeds its file
 * size limit. Forking it takes a third of the time of the whole probe, and few commands die by a signal, so this script runs
 * only when the answer matters.
 */
static const char termination_script[] = "(ulimit -f 0; echo)";
static const char dash_termination[] = "File size limit exceeded%\n";
static const char bash_termination[] = "";

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

/* bash's built-in PATH differs between systems and does not matter. */
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
    char *between_stack; /* of the intermediate process; the shell's child code has its own */
    int is_between;      /* whether there is an intermediate process */
    struct noshell_spawn spawn;
    char *words[4];
    char *answer; /* complete and terminated by NUL if `asked` */
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

/* A file of fixed size, so that a shell that writes too much gets an error. */
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
 * The signal that ends the subshell dumps core. Where cores are piped to a program, the kernel ignores a limit of zero but honours
 * a limit of one byte. Only the intermediate process may limit itself.
 */
static void forbid_core(const struct probe *probe) {
    static const struct rlimit limit = {1, 1};
    if (probe->is_between)
        noshell_call4(SYS_prlimit64, 0, RLIMIT_CORE, &limit, NULL);
}

/* 1 if the other end was closed in time. */
static int is_over(int end) {
    struct pollfd wait = {.fd = end};
    struct timespec patience = {.tv_sec = PATIENCE_MS / 1000};
    return noshell_syscall(SYS_ppoll, (long)&wait, 1, (long)&patience, 0, sizeof(noshell_signals), 0) > 0;
}

/* Waits for the shell: 1 if it ended in time. */
static int await(struct probe *probe, int end) {
    int over = is_over(end);
    if (!over)
        noshell_call2(SYS_kill, probe->spawn.pid, SIGKILL);
    while (noshell_call4(SYS_wait4, probe->spawn.pid, NULL, NOSHELL_WAIT_ALL, NULL) == -EINTR)
        continue;
    return over;
}

/* Runs the shell with its output in the file. 1 if it ended in time. */
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

/* The intermediate process. It has a descriptor table of its own, so the program sees none of its files. */
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
 * Runs `ask` in the intermediate process, which raises no signal when it ends. Without clone3, the shell is briefly a child of this
 * process, and this thread's handlers, which might wait for it, are blocked.
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

/* Matches an answer: # matches digits, @ matches everything up to the next bar, % matches an optional " (core dumped)". */
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

/* Runs a script. 1, and the caller gives *scratch back; or 0. */
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

int noshell_probe_termination(enum noshell_shell shell, int *does) {
    struct noshell_scratch scratch;
    struct probe probe;
    if (!put(&probe, termination_script, &scratch))
        return 0;
    *does = matches(probe.answer, shell == NOSHELL_SHELL_DASH ? dash_termination : bash_termination);
    noshell_scratch_give(&scratch);
    return 1;
}
