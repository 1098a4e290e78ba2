/*
 * qrintf_report.h: a note in the object file about each call, under QRINTF_REPORT. See qrintf.h.
 *
 * A note is a record in the section "qrintf_report", which holds nothing that the linker would have to relocate. Records
 * follow each other, each a multiple of four bytes long:
 *
 *     u32 magic    u32 size of the record    u32 line    u32 outcome    char function[12]    char file[]    char format[]
 *
 * The texts end with a zero byte; the format is empty if it is none of ours to read, and the function is if the record is
 * about the whole file. Code is the same with it and without.
 */
#ifndef QRINTF_REPORT_H
#define QRINTF_REPORT_H

/* The outcome of a call. */
#define QRINTF_SPECIALIZED 0
#define QRINTF_NOT_LITERAL 1   /* the format is not a string literal */
#define QRINTF_NOT_NEEDED 2    /* there is nothing to format */
#define QRINTF_NOT_COUNTED 3   /* more arguments than QRINTF_ARGUMENTS_MAX */
#define QRINTF_NOT_KNOWN 4     /* a conversion that libc is better at */
#define QRINTF_NOT_THAT_MANY 5 /* arguments and format differ in number */
#define QRINTF_NOT_THAT_TYPE 6 /* an argument is not what its directive wants */
#define QRINTF_TOO_LONG 7      /* width, precision or text */

/* The outcome of a whole file without specialized calls. */
#define QRINTF_DISABLED 8      /* QRINTF_DISABLE is defined in it */
#define QRINTF_NOT_FOR_US 9    /* the compiler, the system or the dialect is none that we know */

#define QRINTF_MAGIC 0x54465251

#ifdef QRINTF_REPORT
#define QRINTF_RECORD(name, outcome, at, f)                                                  \
    static const struct {                                                                    \
        __UINT32_TYPE__ magic, size, line, result;                                           \
        char function[12], file[sizeof __FILE__], format[sizeof(f)];                         \
    } qrintf_note __attribute__((__used__, __section__("qrintf_report"), __aligned__(4))) = { \
        QRINTF_MAGIC, sizeof qrintf_note, at, outcome, name, __FILE__, f                     \
    };
#define QRINTF_NOTE(name, outcome, f) { QRINTF_RECORD(name, outcome, __LINE__, f) }
#else
#define QRINTF_NOTE(name, outcome, f)
#endif

#endif
