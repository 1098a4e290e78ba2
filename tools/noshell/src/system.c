/* system(): see system.h. The steps follow POSIX.1-2017's page on system(), and glibc where it is silent. */
#define _GNU_SOURCE
#include "system.h"
#include "termination.h"
#include "interrupts.h"
#include "plan.h"
#include "statistics.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* The thread was cancelled while it waited. */
static void abandon(void *argument) {
    struct noshell_plan *plan = argument;
    noshell_call2(SYS_kill, plan->spawn.pid, SIGKILL);
    while (noshell_call4(SYS_wait4, plan->spawn.pid, NULL, NOSHELL_WAIT_ALL, NULL) == -EINTR)
        continue;
    noshell_interrupts_restore();
    noshell_mask(SIG_SETMASK, plan->spawn.old_mask, NULL);
    noshell_plan_drop(plan);
}

/* Waits: the wait status, or -1 and errno. */
static int await(struct noshell_plan *plan, int cancel_state) {
    int status = -1;
    int ignored;
    pid_t waited;
    pthread_cleanup_push(abandon, plan);
    pthread_setcancelstate(cancel_state, &ignored);
    do
        waited = waitpid(plan->spawn.pid, &status, __WALL);
    while (waited < 0 && errno == EINTR);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
    pthread_cleanup_pop(0);
    return waited == plan->spawn.pid ? status : -1;
}

/* The status that the shell would have returned, and its report of a death by a signal. */
static int as_shell(struct noshell_plan *plan, int status) {
    int is_bash = plan->shell == NOSHELL_SHELL_BASH;
    int reported = noshell_interrupts_status(status, noshell_termination_status(status), is_bash);
    if ((reported != status || WIFSIGNALED(status)) && !noshell_shell_is_sure(plan->shell))
        return status;
    if (plan->tells && WIFSIGNALED(status) && !WIFSIGNALED(reported))
        noshell_termination_report(status, noshell_stderr_find(plan->command.redirections, plan->command.redirection_count, -1));
    return reported;
}

/* Starts the command and waits for its end; signals stay blocked. 0, or the errno of the failure to run it. */
static int start_and_wait(struct noshell_plan *plan, const char *text, int cancel_state, int *status) {
    int saved = errno;
    int error = noshell_plan_spawn(plan, text);
    if (error)
        return error;
    noshell_count("system", text, plan->reason);
    errno = saved;
    *status = await(plan, cancel_state);
    if (*status != -1 && plan->waits && !plan->spawn.error)
        *status = as_shell(plan, *status);
    if (plan->spawn.error) {
        errno = saved;
        noshell_uncount(plan->reason);
    }
    return plan->spawn.error;
}

static int run(struct noshell_plan *plan, const char *text, int cancel_state, int *status) {
    int error;
    plan->held = NOSHELL_SIGNAL(SIGCHLD);
    if (plan->waits)
        plan->held_directly = NOSHELL_SIGNAL(SIGINT) | NOSHELL_SIGNAL(SIGQUIT);
    /* A trace line precedes the command's output and must know whether the command runs directly. */
    plan->spawn.unwatched = !noshell_is_traced();
    plan->spawn.defaults = noshell_interrupts_ignore();
    error = start_and_wait(plan, text, cancel_state, status);
    if (error && plan->reason == NOSHELL_DIRECT) {
        noshell_mask(SIG_SETMASK, plan->spawn.old_mask, NULL);
        noshell_plan_shell(plan, text, noshell_plan_why(error));
        error = start_and_wait(plan, text, cancel_state, status);
    }
    noshell_interrupts_restore();
    noshell_mask(SIG_SETMASK, plan->spawn.old_mask, NULL);
    return error ? -1 : 0;
}

int noshell_system_run(const char *text, int *status) {
    int saved = errno;
    int result = -1;
    int cancel_state, ignored;
    struct noshell_plan *plan;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    plan = noshell_plan_make(text, NOSHELL_INPUTS_BORROWED);
    if (plan) {
        errno = saved;
        result = run(plan, text, cancel_state, status);
        noshell_plan_drop(plan);
    }
    pthread_setcancelstate(cancel_state, &ignored);
    return result;
}
