// SPDX-License-Identifier: Apache-2.0
/* Clocks of the host: monotonic seconds, processor seconds, the date for log lines.  Virtual time
 * never reads them; it is in vtime. */
#include <wsc/clock.h>

#include <stdio.h>
#include <time.h>

/* A clock of the system in seconds; 0 when it cannot be read, so that a host rate is wrong but no
 * run ends for it. */
static double seconds(clockid_t which)
{
    struct timespec now;
    if (clock_gettime(which, &now)) return 0;
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double wsc_clock_s(void)
{
    return seconds(CLOCK_MONOTONIC);
}

double wsc_clock_cpu_s(void)
{
    return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

double wsc_clock_epoch_s(void)
{
    return seconds(CLOCK_REALTIME);
}

void wsc_clock_stamp(char *text, size_t size)
{
    struct timespec now = {0};
    struct tm local = {0};
    char date[32] = "";
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)localtime_r(&now.tv_sec, &local);
    (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &local);
    (void)snprintf(text, size, "%s,%03ld", date, now.tv_nsec / 1000000);
}
