/* popen(): see streams.h. */
#define _GNU_SOURCE
#include "streams.h"
#include "supervisor.h"
#include "termination.h"
#include "interrupts.h"
#include "libc.h"
#include "plan.h"
#include "search.h"
#include "statistics.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>
#include <unistd.h>

struct stream {
    FILE *file; /* its descriptor may change: freopen */
    pid_t pid;    /* 0: the C library's popen made it */
    enum noshell_shell shell;
    int shell_waits; /* the shell would have turned a death by a signal into an exit status, */
    int shell_tells; /* and reported it */
    int flags;    /* of the descriptor, while they are changed for a moment */
    struct noshell_supervisor *supervisor; /* or NULL */
    volatile int *used_shell; /* of a command that may still become the shell; or NULL */
    struct noshell_stderr place; /* where a shell would report the command's death; the path is ours */
};

struct noshell_lock noshell_streams_lock = NOSHELL_LOCK_INITIALIZER;
static struct stream *streams;
static size_t streams_size;
static int *descriptors; /* of the streams, as many as there is room for */
static _Atomic size_t stream_count;

struct mode {
    int reading;
    int close_on_execve;
};

/* 0, or -1 for what popen refuses. */
static int read_type(const char *type, struct mode *mode) {
    int reading = 0, writing = 0;
    mode->close_on_execve = 0;
    for (; *type; type++) {
        if (*type == 'r')
            reading = 1;
        else if (*type == 'w')
            writing = 1;
        else if (*type == 'e')
            mode->close_on_execve = 1;
        else
            return -1;
    }
    mode->reading = reading;
    return reading ^ writing ? 0 : -1;
}

/* Makes room for one more, so that nothing can fail once the command runs. */
static int reserve(void) {
    size_t size = streams_size ? streams_size * 2 : 16;
    struct stream *more;
    int *more_descriptors;
    if (stream_count < streams_size)
        return 0;
    more = realloc(streams, size * sizeof *more);
    if (!more)
        return -1;
    streams = more;
    more_descriptors = realloc(descriptors, size * sizeof *more_descriptors);
    if (!more_descriptors)
        return -1;
    descriptors = more_descriptors;
    streams_size = size;
    return 0;
}

static int descriptor_of(const struct stream *stream) {
    return fileno_unlocked(stream->file);
}

/* POSIX: streams from previous calls are closed in the new child. One that has the number of the child's own end has
 * been replaced by it. */
static size_t list_descriptors(int except) {
    size_t count = 0;
    for (size_t i = 0; i < stream_count; i++)
        if (descriptor_of(&streams[i]) != except)
            descriptors[count++] = descriptor_of(&streams[i]);
    return count;
}

static void enter(struct stream stream, const struct mode *mode) {
    if (!mode->close_on_execve)
        fcntl(descriptor_of(&stream), F_SETFD, 0);
    streams[stream_count] = stream;
    atomic_fetch_add_explicit(&stream_count, 1, memory_order_relaxed);
}

/* Remembers where dash would have reported a death by a signal, if there is no supervisor. */
static void keep_place(struct stream *stream, const struct noshell_stderr *place) {
    stream->shell_tells = 1;
    stream->place = *place;
    if (place->path)
        stream->place.path = strdup(place->path);
}

/* Spawns a direct command in place of dash. A supervisor reports its death if the report goes into the pipe, pclose otherwise. */
static int spawn_for_dash(struct noshell_plan *plan, const char *text, int child_fd, struct stream *stream) {
    const struct noshell_command *command = &plan->command;
    struct noshell_stderr place = noshell_stderr_find(command->redirections, command->redirection_count, child_fd);
    int error;
    if (place.fd == NOSHELL_STDERR_IN_PIPE && child_fd == STDOUT_FILENO) {
        /* A supervisor whose command cannot start would raise a SIGCHLD, so that is checked first. */
        error = !noshell_is_command(plan->spawn.path) || !noshell_shell_is_sure(NOSHELL_SHELL_DASH) ||
                noshell_supervisor_start(&plan->spawn, plan->spawn.streams[child_fd], &stream->supervisor, &stream->pid);
        if (!error)
            return 0;
        noshell_plan_shell(plan, text, NOSHELL_NOT_EXECUTED);
    }
    error = noshell_plan_spawn(plan, text);
    stream->pid = plan->spawn.pid;
    stream->shell_waits = plan->waits;
    if (!error && plan->tells)
        keep_place(stream, &place);
    return error;
}

/* Starts the command without waiting until it runs, if the plan allows that. The child tells through `used_shell`, which is
 * freed when it has ended, whether it became the shell. */
static void detach(struct noshell_plan *plan, struct stream *stream) {
    int *used_shell = malloc(sizeof *used_shell);
    if (used_shell && noshell_plan_detach(plan, used_shell)) {
        *used_shell = 0;
        stream->used_shell = used_shell;
    } else {
        free(used_shell);
    }
}

static int spawn_stream(struct noshell_plan *plan, const char *text, int child_fd, struct stream *stream) {
    int error;
    detach(plan, stream);
    if (plan->tells)
        return spawn_for_dash(plan, text, child_fd, stream);
    error = noshell_plan_spawn(plan, text);
    stream->pid = plan->spawn.pid;
    stream->shell_waits = plan->waits;
    return error;
}

/* Starts the planned command and enters its stream. 0 or -1. */
static int start(struct noshell_plan *plan, const char *text, const struct mode *mode, const int ends[2], FILE *file) {
    int child_fd = mode->reading ? STDOUT_FILENO : STDIN_FILENO;
    struct stream stream = {.file = file, .shell = plan->shell};
    int error = -1;
    plan->spawn.streams[child_fd] = ends[mode->reading];
    if (!noshell_lock_take(&noshell_streams_lock))
        return -1;
    if (reserve() == 0) {
        plan->spawn.closed_count = list_descriptors(child_fd);
        plan->spawn.closed = descriptors;
        error = spawn_stream(plan, text, child_fd, &stream);
    }
    if (!error)
        enter(stream, mode);
    else
        free((void *)stream.used_shell);
    noshell_lock_give(&noshell_streams_lock);
    return error ? -1 : 0;
}

/* A pipe and a stream on our end of it. */
static FILE *make_pipe(const struct mode *mode, int ends[2]) {
    FILE *file;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return NULL;
    file = fdopen(ends[!mode->reading], mode->reading ? "r" : "w");
    if (!file) {
        close(ends[0]);
        close(ends[1]);
    }
    return file;
}

static FILE *open_planned(struct noshell_plan *plan, const char *text, const struct mode *mode) {
    int ends[2];
    FILE *file = make_pipe(mode, ends);
    int failed;
    if (!file)
        return NULL;
    failed = start(plan, text, mode, ends, file);
    close(ends[mode->reading]);
    if (!failed)
        return file;
    noshell_libc_fclose(file);
    return NULL;
}

static FILE *open_ours(const char *text, const struct mode *mode) {
    int saved = errno;
    struct noshell_plan *plan = noshell_plan_make(text, NOSHELL_INPUTS_COPIED);
    enum noshell_reason planned;
    FILE *file;
    if (!plan)
        return NULL;
    /* A trace of what goes to the shell comes before the shell's own messages. Only the start can tell whether the rest runs
     * directly. */
    planned = plan->reason;
    if (planned)
        noshell_count("popen", text, planned);
    file = open_planned(plan, text, mode);
    if (file && !planned)
        noshell_count("popen", text, plan->reason);
    else if (!file && planned)
        noshell_uncount(planned);
    noshell_plan_drop(plan);
    errno = saved;
    return file;
}

static void hide_streams(void) {
    for (size_t i = 0; i < stream_count; i++) {
        streams[i].flags = fcntl(descriptor_of(&streams[i]), F_GETFD);
        fcntl(descriptor_of(&streams[i]), F_SETFD, FD_CLOEXEC);
    }
}

static void show_streams(void) {
    int saved = errno;
    for (size_t i = 0; i < stream_count; i++)
        fcntl(descriptor_of(&streams[i]), F_SETFD, streams[i].flags);
    errno = saved;
}

/* The C library's popen knows nothing of our streams, so they are made to vanish from its child, and its own is entered for
 * the sake of ours. */
static FILE *open_by_library(const char *text, const char *type, const struct mode *mode) {
    FILE *file = NULL;
    /* A handler that has interrupted this table's change leaves it alone. */
    if (!noshell_lock_take(&noshell_streams_lock))
        return noshell_libc_popen(text, type);
    if (reserve() == 0) {
        hide_streams();
        file = noshell_libc_popen(text, type);
        show_streams();
        if (file)
            enter((struct stream){.file = file}, mode);
    }
    noshell_lock_give(&noshell_streams_lock);
    return file;
}

FILE *noshell_stream_open(const char *text, const char *type) {
    struct mode mode;
    FILE *file;
    int cancel_state, ignored;
    if (read_type(type, &mode) < 0)
        return noshell_libc_popen(text, type);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    file = open_ours(text, &mode);
    if (!file) {
        file = open_by_library(text, type, &mode);
        noshell_count("popen", text, noshell_plan_refusal(text));
    }
    pthread_setcancelstate(cancel_state, &ignored);
    return file;
}

/* Takes the stream out of the table, so that commands which other threads start from here on do not close it by that; they
 * must lose it on execve. */
static int take_out(FILE *file, struct stream *stream) {
    int found = 0;
    if (!noshell_lock_take(&noshell_streams_lock))
        return 0;
    for (size_t i = 0; i < stream_count; i++) {
        if (streams[i].file != file)
            continue;
        *stream = streams[i];
        if (!__libc_single_threaded)
            fcntl(descriptor_of(stream), F_SETFD, FD_CLOEXEC);
        streams[i] = streams[stream_count - 1];
        atomic_fetch_sub_explicit(&stream_count, 1, memory_order_relaxed);
        found = 1;
        break;
    }
    noshell_lock_give(&noshell_streams_lock);
    return found;
}

/* A command that a signal ended on its way to its program has no exit signal. */
static int await(pid_t pid, int *status) {
    pid_t waited;
    do
        waited = waitpid(pid, status, __WALL);
    while (waited < 0 && errno == EINTR);
    return waited == pid ? 0 : -1;
}

static int close_and_wait(struct stream *stream) {
    int flushed = noshell_libc_fclose(stream->file);
    int status, reported;
    if (await(stream->pid, &status) < 0)
        return -1;
    reported = status;
    if (stream->used_shell && *stream->used_shell) {
        stream->shell_waits = 0;
        noshell_recount();
    }
    if (stream->shell_waits && WIFSIGNALED(status) && noshell_shell_is_sure(stream->shell)) {
        reported = noshell_interrupts_guess(status, noshell_termination_status(status));
        if (stream->shell_tells && !WIFSIGNALED(reported))
            noshell_termination_report(status, stream->place);
    }
    return reported ? reported : flushed;
}

static enum noshell_closing close_ours(FILE *file, int *result) {
    struct stream stream = {.file = file};
    if (!take_out(file, &stream) || stream.pid == 0)
        return NOSHELL_NOT_OURS;
    *result = close_and_wait(&stream);
    free((void *)stream.place.path);
    free((void *)stream.used_shell);
    if (stream.supervisor)
        noshell_supervisor_free(stream.supervisor);
    return NOSHELL_CLOSED;
}

enum noshell_closing noshell_stream_close(FILE *file, int *result) {
    enum noshell_closing closing;
    int cancel_state, ignored;
    /* Every fclose of the program comes here: say quickly that there is nothing to do. */
    if (atomic_load_explicit(&stream_count, memory_order_relaxed) == 0)
        return NOSHELL_NOT_OURS;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    closing = close_ours(file, result);
    pthread_setcancelstate(cancel_state, &ignored);
    return closing;
}
