// SPDX-License-Identifier: Apache-2.0
/* Checks of our own mistakes (WSC_CHECK): print the place and the condition, call the hook that
 * ends the whole job (MPI_Abort, installed by comm), abort.  Errors of the world are in err.c. */
#include <wsc/check.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the job on all ranks; NULL: a process without MPI.  Written once at start-up, so read
 * without a lock. */
static void (*abort_hook)(void);

void wsc_check_set_abort(void (*hook)(void))
{
    abort_hook = hook;
}

void wsc_check_failed(const char *file, int line, const char *cond, const char *fmt, ...)
{
    va_list ap;
    (void)fprintf(stderr, "wsc: internal error at %s:%d: %s: ", file, line, cond);
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fputs("; please report this\n", stderr);
    if (abort_hook) abort_hook();
    abort();
}
