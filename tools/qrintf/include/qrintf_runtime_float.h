/*
 * qrintf_runtime_float.h: %f %F %e %E %g %G. See qrintf_runtime.h.
 */
#ifndef QRINTF_RUNTIME_FLOAT_H
#define QRINTF_RUNTIME_FLOAT_H

#include "qrintf_runtime_hex.h"

/* NULL: libc has to write it. */
QRINTF_RUNTIME(qrintf_double)
char *qrintf_double(char *p, double v, unsigned int spec, int width, int precision)
{
    QRINTF_SHARE(qrintf_double)
    (void)p, (void)v, (void)spec, (void)width, (void)precision;
    return (char *)0;
}

#endif
