// SPDX-License-Identifier: Apache-2.0
/* What a check of `wsc doctor` found, as text of one line, and what to do about it.  The checks of
 * doctor_host.c and doctor_jobs.c write it, cmd_doctor.c prints it. */
#include "doctor.h"

#include <stdarg.h>
#include <stdio.h>

void app_found(struct app_finding *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(f->found, sizeof f->found, fmt, ap);
    va_end(ap);
}

void app_advise(struct app_finding *f, enum app_doctor_state state, const char *fmt, ...)
{
    va_list ap;
    if (state > f->state) f->state = state;
    if (*f->action) return;
    va_start(ap, fmt);
    (void)vsnprintf(f->action, sizeof f->action, fmt, ap);
    va_end(ap);
}
