/*
 * qrintf_runtime.h: the functions that calls with a constant format are turned into.
 *
 * The header is all there is: no library has to be linked. It asks for nothing but a GNU C compiler (gcc 11, clang 14 or
 * newer, gnu89 to gnu2x, C++), includes no system header, and declares what it needs of libc under names of its own.
 *
 *     qrintf_runtime_base.h       linkage, types, exact stores
 *     qrintf_runtime_integer.h    %d %i %u and the general form of every integer conversion
 *     qrintf_runtime_hex.h        %x %X %p
 *     qrintf_runtime_string.h     %s %c
 *     qrintf_runtime_scale.h      a double times a power of ten, exactly
 *     qrintf_runtime_float.h      %f %F %e %E %g %G
 *
 * Invariant: a function writes forward from `p` and returns the new end; it writes no byte at or beyond what it returns,
 * and no terminator. The caller has made sure that there is room: QRINTF_ROOM_* below say how much a number can need.
 * Invariant: the text is the one that libc's printf writes. Where a function cannot promise that, it returns a null
 * pointer, has written nothing, and the caller hands the whole call to libc.
 */
#ifndef QRINTF_RUNTIME_H
#define QRINTF_RUNTIME_H

/* A warning about functions that exist in several versions; here every copy is the same. */
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wstatic-in-inline"
#endif

#include "qrintf_runtime_base.h"
#include "qrintf_runtime_integer.h"
#include "qrintf_runtime_hex.h"
#include "qrintf_runtime_string.h"
#include "qrintf_runtime_float.h"

#ifdef __clang__
#pragma clang diagnostic pop
#endif

#endif
