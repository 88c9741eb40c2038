/** The host's wall clock: for progress displays and host rates, never for virtual time.  Layer 0.
 */
#ifndef WSC_CLOCK_H
#define WSC_CLOCK_H
#include <stddef.h>

/** Seconds since an arbitrary start, monotonic. */
double wsc_clock_s(void);
/** Seconds since 1970, UTC. */
double wsc_clock_epoch_s(void);
/** CPU seconds (user and system) that this process has used. */
double wsc_clock_cpu_s(void);
/** Local time as `YYYY-MM-DD HH:MM:SS,mmm`, the form of the Model Zoo's log lines. */
void wsc_clock_stamp(char *text, size_t size);
#endif
