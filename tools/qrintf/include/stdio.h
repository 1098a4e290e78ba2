/*
 * stdio.h: stands before the system's <stdio.h> on qrintf-cc's search path, and adds qrintf to it.
 *
 * This file has no guard on purpose: the system's own header decides what a second inclusion does (some of them can be
 * asked for parts), and qrintf.h has a guard of its own.
 */
#pragma GCC system_header
#include_next <stdio.h>
#if !defined __need_FILE && !defined __need___FILE
#include "qrintf.h"
#endif
