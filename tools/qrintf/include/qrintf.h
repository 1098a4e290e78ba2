/*
 * qrintf.h: sprintf and its family, with formats that are read at compile time.
 *
 *     snprintf(buffer, size, "%08x-%zx", time, length)
 *
 * With this header the call above becomes a check for room and two calls of functions that write hexadecimal digits.
 * Same text, same return value, same effect on the buffer as libc's function; where that cannot be promised, the call
 * stays a call of libc's function.
 *
 *     qrintf_count.h      how many arguments a call has, and lists as long as that
 *     qrintf_fold.h       the format parser, which runs in the compiler's front end
 *     qrintf_emit.h       what becomes of one directive: how much room it needs, and the code that writes it
 *     qrintf_site.h       one call: sprintf, snprintf
 *     qrintf_stream.h     printf, fprintf, dprintf, asprintf
 *     qrintf_target.h     where their texts go
 *     qrintf_cxx.h        the same for C++, by overload, under QRINTF_CXX
 *     qrintf_report.h     a note in the object file about each call, if asked for
 *     qrintf_runtime.h    the functions that write
 *
 * Off without optimization, with QRINTF_DISABLE, for freestanding code, in C++ without QRINTF_CXX, and where the compiler
 * is none of gcc 11, clang 14 and newer, or the system is not Linux.
 *
 * Invariant: a user's expression is evaluated once.
 * Invariant: no system header is included but <stdio.h>, and nothing of libc is declared under libc's own name.
 */
#ifndef QRINTF_H
#define QRINTF_H

#pragma GCC system_header
#include <stdio.h>

/* Compilers that claim to be gcc but are not do not fold what gcc folds. */
#if defined __TINYC__ || defined __INTEL_COMPILER || defined __EDG__ || defined __PGI || defined __NVCOMPILER
#define QRINTF_COMPILER 0
#elif defined __clang__
#define QRINTF_COMPILER (__clang_major__ >= 14)
#elif defined __GNUC__
#define QRINTF_COMPILER (__GNUC__ >= 11)
#else
#define QRINTF_COMPILER 0
#endif

#if QRINTF_COMPILER && defined __OPTIMIZE__ && defined __linux__ && !defined QRINTF_DISABLE \
    && (!defined __STDC_HOSTED__ || __STDC_HOSTED__)
#ifndef __cplusplus
#include "qrintf_count.h"
#include "qrintf_runtime.h"
#include "qrintf_report.h"
#include "qrintf_fold.h"
#include "qrintf_emit.h"
#include "qrintf_site.h"
#include "qrintf_stream.h"
#elif defined QRINTF_CXX && __cplusplus >= 201103L
#include "qrintf_cxx.h"
#endif
#elif defined QRINTF_REPORT
#include "qrintf_report.h"
#ifdef QRINTF_DISABLE
QRINTF_RECORD("", QRINTF_DISABLED, 0, "")
#else
QRINTF_RECORD("", QRINTF_NOT_FOR_US, 0, "")
#endif
#endif

#endif
