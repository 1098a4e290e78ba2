/* SIGINT and SIGQUIT while commands run: see interrupts.h. */
#define _GNU_SOURCE
#include "interrupts.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned running;
static struct sigaction interrupt, quit; /* as they were before the first */

void noshell_interrupts_lock(void) { pthread_mutex_lock(&lock); }
void noshell_interrupts_unlock(void) { pthread_mutex_unlock(&lock); }

noshell_signals noshell_interrupts_ignore(void) {
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    noshell_signals defaults = 0;
    noshell_interrupts_lock();
    if (running++ == 0) {
        sigaction(SIGINT, &ignore, &interrupt);
        sigaction(SIGQUIT, &ignore, &quit);
    }
    if (interrupt.sa_handler != SIG_IGN)
        defaults |= NOSHELL_SIGNAL(SIGINT);
    if (quit.sa_handler != SIG_IGN)
        defaults |= NOSHELL_SIGNAL(SIGQUIT);
    noshell_interrupts_unlock();
    return defaults;
}

void noshell_interrupts_restore(void) {
    noshell_interrupts_lock();
    if (--running == 0) {
        sigaction(SIGINT, &interrupt, NULL);
        sigaction(SIGQUIT, &quit, NULL);
    }
    noshell_interrupts_unlock();
}

/* Takes a waiting signal away: its si_code, or 0 when none waits. */
static int take(int signal) {
    noshell_signals set = NOSHELL_SIGNAL(signal);
    struct timespec now = {0, 0};
    siginfo_t info;
    long taken = noshell_call4(SYS_rt_sigtimedwait, &set, &info, &now, sizeof set);
    /* A terminal's signal has SI_KERNEL, another's SI_USER, which is 0 itself: tell them apart by the sign. */
    return taken != signal ? 0 : info.si_code == SI_KERNEL ? 1 : -1;
}

int noshell_interrupts_status(int status, int reported) {
    int by_interrupt = take(SIGINT);
    int by_quit = take(SIGQUIT);
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    /* From the terminal: the shell got it too. From a process: it did if it was sent to the whole group, which the death
     * of the command by the same signal suggests. */
    if (by_quit > 0 || (by_quit < 0 && signal == SIGQUIT))
        return signal == SIGQUIT ? status : SIGQUIT;
    if (by_interrupt > 0 || (by_interrupt < 0 && signal == SIGINT))
        return SIGINT;
    return reported;
}
