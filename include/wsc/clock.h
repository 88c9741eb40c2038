/** The host's wall clock: for progress displays, host rates and time-outs, never for virtual time.
 *
 *  Virtual time (<wsc/vtime.h>) is computed from the model of the machine. A value of this clock
 *  must not influence a loss, a weight, a virtual time or a file by which two runs are compared.
 * All functions are thread-safe and cannot fail: a clock that the system cannot read gives 0. */
#ifndef WSC_CLOCK_H
#define WSC_CLOCK_H
#include <stddef.h>

/** Seconds since an arbitrary start, monotonic (CLOCK_MONOTONIC): differences are durations, even
 * if the date is changed. Processes on one host have the same start, processes on different hosts
 * do not. */
double wsc_clock_s(void);
/** Seconds since 1970, UTC (CLOCK_REALTIME), with the resolution of the system; jumps when the date
 *  is set.  For time stamps in files. */
double wsc_clock_epoch_s(void);
/** CPU seconds, user and system, that all threads of this process have used. */
double wsc_clock_cpu_s(void);
/** Write the local time as `YYYY-MM-DD HH:MM:SS,mmm`, the form of the Model Zoo's log lines: 23
 *  characters and a NUL. A smaller @p size cuts the text. */
void wsc_clock_stamp(char *text, size_t size);
#endif
