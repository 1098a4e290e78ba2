/* For programs that are one case each: the library's functions behind volatile pointers, and checks that tell the line.
 *
 * A name that no parenthesis follows is no call of a macro, so these are the library's own, whatever the header does. */
#ifndef QRINTF_PROOF_CASE_H
#define QRINTF_PROOF_CASE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int (*volatile real_sprintf)(char *, const char *, ...) __attribute__((__unused__)) = sprintf;
static int (*volatile real_snprintf)(char *, size_t, const char *, ...) __attribute__((__unused__)) = snprintf;

static int failures;

static __inline__ void check(int holds, const char *what, int line)
{
    if (!holds) {
        failures++;
        fflush(stdout);
        fputs("FAILED at line ", stderr);
        {
            char number[12];
            (sprintf)(number, "%d", line);
            fputs(number, stderr);
        }
        fputs(": ", stderr);
        fputs(what, stderr);
        fputs("\n", stderr);
    }
}

#define CHECK(condition) check((condition) != 0, #condition, __LINE__)

/* The call against the library's, for arguments without side effects. */
#define SAME(...)                                                                                                      \
    do {                                                                                                               \
        char ours_[512], theirs_[512];                                                                                 \
        int one_, other_;                                                                                              \
        memset(ours_, 0x5a, sizeof ours_);                                                                             \
        memset(theirs_, 0x5a, sizeof theirs_);                                                                         \
        one_ = snprintf(ours_, sizeof ours_, __VA_ARGS__);                                                             \
        other_ = real_snprintf(theirs_, sizeof theirs_, __VA_ARGS__);                                                  \
        check(one_ == other_ && memcmp(ours_, theirs_, sizeof ours_) == 0, #__VA_ARGS__, __LINE__);                    \
    } while (0)

#endif
