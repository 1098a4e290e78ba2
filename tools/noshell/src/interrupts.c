/* SIGINT and SIGQUIT while commands run: see interrupts.h. */
#define _GNU_SOURCE
#include "interrupts.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct noshell_lock noshell_interrupts_lock = NOSHELL_LOCK_INITIALIZER;
static unsigned running;
static struct sigaction interrupt, quit; /* as they were before the first */

/* A handler that has interrupted the holder counts as well: it is done with before the holder goes on. */
noshell_signals noshell_interrupts_ignore(void) {
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    noshell_signals defaults = 0;
    int taken = noshell_lock_take(&noshell_interrupts_lock);
    if (running++ == 0) {
        sigaction(SIGINT, &ignore, &interrupt);
        sigaction(SIGQUIT, &ignore, &quit);
    }
    if (interrupt.sa_handler != SIG_IGN)
        defaults |= NOSHELL_SIGNAL(SIGINT);
    if (quit.sa_handler != SIG_IGN)
        defaults |= NOSHELL_SIGNAL(SIGQUIT);
    if (taken)
        noshell_lock_give(&noshell_interrupts_lock);
    return defaults;
}

void noshell_interrupts_restore(void) {
    int taken = noshell_lock_take(&noshell_interrupts_lock);
    if (--running == 0) {
        sigaction(SIGINT, &interrupt, NULL);
        sigaction(SIGQUIT, &quit, NULL);
    }
    if (taken)
        noshell_lock_give(&noshell_interrupts_lock);
}

/* Takes a waiting signal away: 1 when it came from the terminal, -1 when from a process, 0 when none waits. */
static int take(int signal) {
    noshell_signals set = NOSHELL_SIGNAL(signal);
    struct timespec now = {0, 0};
    siginfo_t info;
    long taken = noshell_call4(SYS_rt_sigtimedwait, &set, &info, &now, sizeof set);
    return taken != signal ? 0 : info.si_code == SI_KERNEL ? 1 : -1;
}

static int is_in_foreground(void) {
    pid_t group = -1;
    int is;
    long terminal = noshell_call3(SYS_openat, AT_FDCWD, "/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (terminal < 0)
        return 0;
    is = noshell_call3(SYS_ioctl, terminal, TIOCGPGRP, &group) == 0 && group == getpgrp();
    noshell_call1(SYS_close, terminal);
    return is;
}

int noshell_interrupts_guess(int status, int reported) {
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return (signal == SIGINT || signal == SIGQUIT) && is_in_foreground() ? status : reported;
}

int noshell_interrupts_status(int status, int reported, int is_bash) {
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    int by_interrupt, by_quit;
    noshell_signals waiting = 0;
    noshell_call2(SYS_rt_sigpending, &waiting, sizeof waiting);
    by_interrupt = waiting & NOSHELL_SIGNAL(SIGINT) ? take(SIGINT) : 0;
    by_quit = waiting & NOSHELL_SIGNAL(SIGQUIT) ? take(SIGQUIT) : 0;
    if (is_bash)
        return signal == SIGINT && by_interrupt ? status : reported;
    /* From the terminal: the shell got it too. From a process: it did if it was sent to the whole group, which the death
     * of the command by the same signal suggests. */
    if (by_quit > 0 || (by_quit < 0 && signal == SIGQUIT))
        return signal == SIGQUIT ? status : SIGQUIT;
    if (by_interrupt > 0 || (by_interrupt < 0 && signal == SIGINT))
        return SIGINT;
    if (signal != SIGINT && signal != SIGQUIT)
        return reported;
    /* Signals of a group wait only where the first thread blocks them. */
    return getpid() == noshell_call0(SYS_gettid) ? reported : noshell_interrupts_guess(status, reported);
}
