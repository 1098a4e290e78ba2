/* Scenarios of signals: masks, dispositions, SIGCHLD, interruption, cancellation. */
#include "scenario.h"

#include <pthread.h>
#include <time.h>

static void nothing(int signal) { (void)signal; }

static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    must(sigaction(signal, &action, NULL) == 0, "sigaction");
}

static void block(const int *signals) {
    sigset_t set;
    sigemptyset(&set);
    for (; *signals; signals++)
        sigaddset(&set, *signals);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

/* The state of the command, and of this process while the command runs. */
static void run_state(void) {
    char command[64];
    FILE *stream;
    snprintf(command, sizeof command, "state %d", (int)getpid());
    printf("system: %d\n", system(command));
    fflush(stdout);
    stream = popen(command, "r");
    copy_out(stream);
    printf("popen: %d\n", pclose(stream));
    system("state self");
    fflush(stdout);
}

static void untouched(void) { run_state(); }

static void blocked(void) {
    block((const int[]){SIGUSR1, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGPIPE, SIGRTMIN, 0});
    run_state();
    block((const int[]){SIGCHLD, 0});
    run_state();
}

static void all_blocked(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    run_state();
}

static void ignored(void) {
    for (int signal = 1; signal < 65; signal++)
        if (signal != SIGCHLD && signal != SIGALRM)
            (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    run_state();
}

static void ignored_some(void) {
    signal(SIGQUIT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    run_state();
    signal(SIGINT, SIG_IGN);
    run_state();
}

static void handled(void) {
    for (int signal = 1; signal < 32; signal++)
        if (signal != SIGKILL && signal != SIGSTOP && signal != SIGALRM)
            handle(signal, nothing, SA_RESTART | SA_ONSTACK | SA_NODEFER);
    run_state();
    run_both("die 10");
}

static void restored(void) {
    struct sigaction action;
    sigset_t mask;
    handle(SIGINT, nothing, SA_RESTART);
    signal(SIGQUIT, SIG_IGN);
    run_system("code 3");
    sigaction(SIGINT, NULL, &action);
    printf("SIGINT: %d, flags %x\n", action.sa_handler == nothing, (unsigned)action.sa_flags);
    sigaction(SIGQUIT, NULL, &action);
    printf("SIGQUIT: %d\n", action.sa_handler == SIG_IGN);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    printf("SIGCHLD blocked: %d\n", sigismember(&mask, SIGCHLD));
}

/* system() ignores SIGINT while it waits; the signal that the command sends us is lost. */
static void interrupted_by_command(void) {
    char command[64];
    handle(SIGINT, nothing, 0);
    snprintf(command, sizeof command, "/bin/kill -INT %d", (int)getpid());
    printf("%d\n", system(command));
    snprintf(command, sizeof command, "/bin/kill -QUIT %d", (int)getpid());
    printf("%d\n", system(command));
    fflush(stdout);
    signal(SIGINT, SIG_DFL);
    snprintf(command, sizeof command, "/bin/kill -INT %d", (int)getpid());
    printf("%d\n", system(command));
}

static volatile sig_atomic_t reaped, handled_count;

static void reap(int signal) {
    int saved = errno;
    (void)signal;
    handled_count = 1;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        reaped++;
    errno = saved;
}

static void count(int signal) {
    (void)signal;
    handled_count++;
}

static void reaping_handler(void) {
    FILE *stream;
    handle(SIGCHLD, reap, SA_RESTART);
    for (int i = 0; i < 5; i++)
        run_system("code 7");
    run_system("code 7; :");
    run_system("nowhere");
    printf("reaped by the handler: %d, it ran: %d\n", (int)reaped, (int)handled_count);
    stream = start("code 5", "r");
    copy_out(stream);
    /* The handler takes the command; it has to have run before the stream is closed. */
    while (!reaped)
        usleep(1000);
    end(stream);
    printf("reaped by the handler: %d\n", (int)reaped);
    show_children();
}

/* A child that cannot execute its program raises no SIGCHLD, and no waitpid finds it. */
static void failed_starts(void) {
    const char *commands[] = {"/nowhere/program", "/etc/passwd", "/nowhere/program >made", "/nowhere/program 2>&1", "/tmp 2>made"};
    run_system("code 0");
    handle(SIGCHLD, count, SA_RESTART);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        int before = handled_count;
        FILE *stream;
        run_system(commands[i]);
        printf("SIGCHLD: %d\n", (int)handled_count - before);
        before = handled_count;
        stream = start(commands[i], "r");
        copy_out(stream);
        end(stream);
        printf("SIGCHLD: %d\n", (int)handled_count - before);
    }
    handle(SIGCHLD, reap, SA_RESTART);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        run_system(commands[i]);
    signal(SIGCHLD, SIG_IGN);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        run_both(commands[i]);
    show_children();
}

static void child_ignored(void) {
    signal(SIGCHLD, SIG_IGN);
    run_system("code 3");
    run_system("args a");
    run_system("code 3; :");
    run_system("nowhere");
    run_both("args a");
    run_both("state");
    run_both("state 2>&1");
    run_both("die 9");
    run_both("die 9 2>&1");
    show_children();
}

static void child_not_waited_for(void) {
    handle(SIGCHLD, SIG_DFL, SA_NOCLDWAIT);
    run_both("code 3");
    run_both("args a; code 4");
    run_both("state");
    run_both("die 15 2>&1");
    show_children();
}

static void other_children_stay(void) {
    pid_t pid = fork();
    int status;
    if (pid == 0)
        _exit(42);
    run_both("code 3");
    run_both("code 3; :");
    printf("ours: %d", waitpid(pid, &status, 0) == pid);
    printf(" %d\n", WEXITSTATUS(status));
    show_children();
}

static void beat(void) {
    struct itimerspec often = {{0, 200000}, {0, 200000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
    must(timer_settime(timer, 0, &often, NULL) == 0, "timer_settime");
}

/* errno is not shown: whether a signal came while a function waited is chance. */
static void interrupted(void) {
    handle(SIGUSR1, nothing, 0);
    beat();
    for (int i = 0; i < 20; i++) {
        FILE *stream;
        printf("%d ", system("code 9"));
        printf("%d ", system("/bin/sleep 0.01"));
        stream = popen("/bin/sleep 0.01", "w");
        printf("%d\n", stream ? pclose(stream) : -2);
    }
    printf("%d\n", system("code 9; :"));
    show_children();
}

static void deaths(void) {
    for (int signal = 1; signal < 65; signal++) {
        char command[32];
        if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU || signal == 32 || signal == 33)
            continue;
        snprintf(command, sizeof command, "die %d", signal);
        run_both(command);
    }
    run_both("code 3");
}

static void deaths_without_stderr(void) {
    close(2);
    run_both("die 15");
    run_both("die 11 2>err");
    must(open("file", O_WRONLY | O_CREAT, 0644) == 2, "open");
    run_both("die 15");
    run_both("die 11 2>&1");
    run_both("A=b die 9 2>>file");
}

static void *call_system(void *command) {
    system(command);
    return NULL;
}

/* Waits until this process has a child that runs the program. */
static pid_t child_named(const char *name) {
    char path[64], found[64];
    for (;;) {
        FILE *children;
        pid_t pid;
        snprintf(path, sizeof path, "/proc/%d/task", (int)getpid());
        children = NULL;
        for (pid_t thread = getpid(); thread < getpid() + 64 && !children; thread++) {
            snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)getpid(), (int)thread);
            children = fopen(path, "r");
            if (children && fscanf(children, "%d", (int *)&pid) != 1) {
                fclose(children);
                children = NULL;
            }
        }
        if (!children)
            continue;
        fclose(children);
        snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
        children = fopen(path, "r");
        found[0] = 0;
        if (children) {
            if (!fgets(found, sizeof found, children))
                found[0] = 0;
            fclose(children);
        }
        if (strncmp(found, name, strlen(name)) == 0 || strncmp(found, "sh", 2) == 0)
            return pid;
    }
}

static void cancelled(void) {
    struct sigaction action;
    pthread_t thread;
    void *result;
    must(pthread_create(&thread, NULL, call_system, "hold") == 0, "pthread_create");
    child_named("hold");
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("cancelled: %d\n", result == PTHREAD_CANCELED);
    sigaction(SIGINT, NULL, &action);
    printf("SIGINT is back: %d\n", action.sa_handler == SIG_DFL);
    show_children();
    run_both("code 3");
}

static void ignored_in_two_threads(void) {
    struct sigaction action;
    pthread_t threads[2];
    handle(SIGINT, nothing, 0);
    for (int i = 0; i < 2; i++)
        must(pthread_create(&threads[i], NULL, call_system, i ? "/bin/sleep 0.05" : "/bin/sleep 0.1") == 0, "pthread_create");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    sigaction(SIGINT, NULL, &action);
    printf("SIGINT is back: %d\n", action.sa_handler == nothing);
}

static const struct scenario scenarios[] = {
    SCENARIO(untouched),
    SCENARIO(blocked),
    SCENARIO(all_blocked),
    SCENARIO(ignored),
    SCENARIO(ignored_some),
    SCENARIO(handled),
    SCENARIO(restored),
    SCENARIO(interrupted_by_command),
    SCENARIO(reaping_handler),
    SCENARIO(failed_starts),
    SCENARIO(child_ignored),
    SCENARIO(child_not_waited_for),
    SCENARIO(other_children_stay),
    SCENARIO(interrupted),
    SCENARIO(deaths),
    SCENARIO(deaths_without_stderr),
    SCENARIO(cancelled),
    SCENARIO(ignored_in_two_threads),
};

MAIN(scenarios)
