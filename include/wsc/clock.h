/** The host's wall clock: for progress displays, host rates and time-outs, never for virtual time.
 *
 *  Virtual time (<wsc/vtime.h>) is computed from the model of the machine.  A value that is read
 *  here must not reach a loss, a weight, a virtual time or a file that two runs are compared by.
 *  All functions are thread-safe and cannot fail: a clock that the system refuses to read gives 0.
 */
#ifndef WSC_CLOCK_H
#define WSC_CLOCK_H
#include <stddef.h>

/** Seconds since an arbitrary start, monotonic (CLOCK_MONOTONIC): differences are durations,
 *  whatever happens to the date.  The starts of two processes on one host are the same, those of
 *  two hosts are not. */
double wsc_clock_s(void);
/** Seconds since 1970, UTC (CLOCK_REALTIME), with the resolution of the system; jumps when the date
 *  is set.  For time stamps in files. */
double wsc_clock_epoch_s(void);
/** CPU seconds, user and system, that all threads of this process have used. */
double wsc_clock_cpu_s(void);
/** Write the local time as `YYYY-MM-DD HH:MM:SS,mmm`, the form of the Model Zoo's log lines: 23
 *  characters and a NUL; a smaller @p size cuts it. */
void wsc_clock_stamp(char *text, size_t size);
#endif
