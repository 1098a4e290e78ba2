/* Scenarios of streams and descriptors: types, closing, what commands inherit, standard streams that are closed. */
#include "scenario.h"

#include <sys/resource.h>
#include <sys/stat.h>

static void types(void) {
    const char *types[] = {"r", "w", "re", "we", "er", "ew", "rr", "ww", "ree", "rw", "wr", "", "x", "r+", "rb", "wb", "a", "e", "rx", "R"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        FILE *stream = start("code 3", types[i]);
        if (!stream)
            continue;
        printf("closed on execve: %d, mode %o\n", fcntl(fileno(stream), F_GETFD), (unsigned)fcntl(fileno(stream), F_GETFL));
        end(stream);
    }
}

static void nothing_to_run(void) {
    run_system(NULL);
    run_both("");
    run_both(" ");
    run_both("\n");
    run_both("#");
}

static void output(void) {
    FILE *stream = start("copy", "w");
    fputs("through a pipe\n", stream);
    end(stream);
    stream = start("copy >file", "w");
    fputs("into a file\n", stream);
    end(stream);
    run_system("copy <file");
    stream = start("code 4", "w");
    end(stream);
}

static void nobody_reads(void) {
    static char block[1 << 17];
    FILE *stream;
    signal(SIGPIPE, SIG_IGN);
    stream = start("code 6", "w");
    setvbuf(stream, NULL, _IONBF, 0);
    /* The pipe breaks when the command has gone, however much of it was taken before. */
    while (fwrite(block, 1, sizeof block, stream) == sizeof block)
        continue;
    printf("errno %d\n", errno);
    end(stream);
}

static void closed_by_fclose(void) {
    FILE *stream;
    int result;
    for (int i = 0; i < 4; i++) {
        stream = start(i & 1 ? "code 3" : "code 0; code 5", i & 2 ? "w" : "r");
        errno = 77;
        result = fclose(stream);
        show("fclose", result);
        show_children();
    }
    stream = fopen("/dev/null", "r");
    errno = 77;
    result = fclose(stream);
    show("fclose of a file", result);
}

static void reaped_by_another(void) {
    const char *commands[] = {"code 3", "code 3; :"};
    for (int i = 0; i < 2; i++) {
        FILE *stream = start(commands[i], "r");
        copy_out(stream);
        waitpid(-1, NULL, 0);
        end(stream);
        stream = start(commands[i], "r");
        copy_out(stream);
        waitpid(-1, NULL, 0);
        errno = 77;
        show("fclose", fclose(stream));
    }
}

static void many_at_once(void) {
    FILE *streams[200];
    for (int i = 0; i < 200; i++) {
        char command[32];
        snprintf(command, sizeof command, i % 7 ? "code %d" : "code %d; :", i);
        streams[i] = popen(command, i % 3 ? "r" : "w");
        must(streams[i] != NULL, "popen");
    }
    for (int i = 0; i < 200; i += 2)
        printf("%d ", pclose(streams[i]));
    for (int i = 199; i > 0; i -= 2)
        printf("%d ", i % 4 == 1 ? pclose(streams[i]) : fclose(streams[i]));
    putchar('\n');
    show_children();
}

/* POSIX: streams from earlier popen calls that remain open in the parent are closed in the new child. */
static void earlier_streams(void) {
    FILE *first = start("copy", "w"), *second = start("copy", "w"), *closing = start("copy", "we");
    int fd = fcntl(fileno(second), F_DUPFD, 50);
    run_both("state");
    run_both("state; :");
    fputs("second\n", second);
    close(fd);
    end(second);
    end(closing);
    run_both("state");
    fputs("first\n", first);
    end(first);
}

/* A command that reads to the end of its input would wait for ever if another one had kept the pipe open. */
static void nobody_keeps_the_pipe(void) {
    FILE *first = start("copy", "w"), *second = start("copy", "w");
    fputs("first\n", first);
    fputs("second\n", second);
    end(first);
    end(second);
}

static void inherited(void) {
    must(dup2(1, 7) == 7 && dup2(0, 20) == 20, "dup2");
    fcntl(20, F_SETFD, FD_CLOEXEC);
    run_both("state");
    run_both("state 7>&-");
}

static void standard_streams_closed(void) {
    for (int closed = 1; closed < 8; closed++) {
        pid_t pid = fork();
        int status;
        if (pid == 0) {
            FILE *report = fdopen(fcntl(1, F_DUPFD_CLOEXEC, 30), "w"), *stream;
            char line[4096];
            for (int fd = 0; fd < 3; fd++)
                if (closed & 1 << fd)
                    close(fd);
            fprintf(report, "closed %d\n", closed);
            errno = 77;
            status = system("state >out 2>err");
            fprintf(report, "system %d %d\n", status, errno);
            status = system("state");
            fprintf(report, "system %d\n", status);
            status = system("nowhere");
            fprintf(report, "system %d\n", status);
            stream = popen("state", "r");
            while (stream && fgets(line, sizeof line, stream))
                fputs(line, report);
            fprintf(report, "popen %d\n", stream ? pclose(stream) : -errno);
            stream = popen("state 2>err >out", "w");
            fprintf(report, "popen %d\n", stream ? pclose(stream) : -errno);
            fflush(report);
            _exit(0);
        }
        waitpid(pid, &status, 0);
        printf("%d\n", status);
        fflush(stdout);
        system("copy <out");
    }
}

/* Buffered output is written once, and not early. */
static void buffers(void) {
    setvbuf(stdout, NULL, _IOFBF, 4096);
    printf("before ");
    system("args a");
    end(popen("args b", "w"));
    printf("after\n");
}

static void shared_offset(void) {
    FILE *file = fopen("file", "w+");
    fputs("one\ntwo\n", file);
    fflush(file);
    run_system("args >>file");
    must(dup2(open("file", O_RDONLY), 0) == 0, "dup2");
    run_system("/usr/bin/head -c 4");
    run_system("copy");
    run_system("copy");
}

/* Changes by the caller after popen has returned do not affect a command that does not run yet. */
static void changed_afterwards(void) {
    char variable[] = "CHANGED=no";
    FILE *script = fopen("script", "w");
    fputs("echo $0 $CHANGED\n", script);
    fclose(script);
    chmod("script", 0700);
    putenv(variable);
    for (int i = 0; i < 20; i++) {
        char direct[] = "vars", by_shell[] = "./script";
        FILE *first = popen(direct, "r");
        FILE *second;
        memcpy(variable, "CHANGED=99", 10);
        memset(direct, 'x', 4);
        copy_out(first);
        end(first);
        memcpy(variable, "CHANGED=no", 10);
        second = popen(by_shell, "r");
        memcpy(variable, "CHANGED=99", 10);
        memset(by_shell, 'x', 8);
        copy_out(second);
        end(second);
        memcpy(variable, "CHANGED=no", 10);
    }
    unsetenv("CHANGED");
}

static void exhausted_descriptors(void) {
    struct rlimit limit = {40, 40};
    int last = 0, fd;
    setrlimit(RLIMIT_NOFILE, &limit);
    while ((fd = open("/dev/null", O_RDONLY)) >= 0)
        last = fd;
    for (int left = 0; left < 4; left++) {
        FILE *stream;
        printf("%d descriptors left\n", left);
        run_system("code 3");
        /* With one descriptor left, dash starts but cannot save the one that it redirects: a documented difference. */
        if (left != 1)
            run_system("code 3 >/dev/null");
        /* A shell that cannot open its libraries says so, and of the one that is preloaded too. */
        if (left > 0)
            run_system("code 3; :");
        stream = start("code 4", "r");
        if (stream)
            end(stream);
        close(last - left);
    }
}

static void large(void) {
    FILE *stream = start("/usr/bin/head -c 3000000 /dev/zero", "r");
    size_t size = 0;
    while (getc(stream) != EOF)
        size++;
    printf("%zu\n", size);
    end(stream);
    /* The full pipe stops it. */
    stream = start("/usr/bin/head -c 3000000 /dev/zero", "r");
    getc(stream);
    end(stream);
}

static void permissions(void) {
    umask(027);
    run_both("args >made");
    run_system("/usr/bin/stat -c %a made");
    setpriority(PRIO_PROCESS, 0, 3);
    run_both("state");
    setsid();
    run_both("state");
}

static const struct scenario scenarios[] = {
    SCENARIO(types),
    SCENARIO(nothing_to_run),
    SCENARIO(output),
    SCENARIO(nobody_reads),
    SCENARIO(closed_by_fclose),
    SCENARIO(reaped_by_another),
    SCENARIO(many_at_once),
    SCENARIO(earlier_streams),
    SCENARIO(nobody_keeps_the_pipe),
    SCENARIO(inherited),
    SCENARIO(standard_streams_closed),
    SCENARIO(buffers),
    SCENARIO(shared_offset),
    SCENARIO(changed_afterwards),
    SCENARIO(exhausted_descriptors),
    SCENARIO(large),
    SCENARIO(permissions),
};

MAIN(scenarios)
