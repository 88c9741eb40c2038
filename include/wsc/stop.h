/** Asking a run to stop: SIGTERM and SIGUSR1, as schedulers send them before a time limit.  Layer
 * 0.
 *
 *  Between wsc_stop_watch(true) and wsc_stop_watch(false) the first of them is remembered and a
 *  second one of its kind ends the process as usual; outside both do what they did before.
 */
#ifndef WSC_STOP_H
#define WSC_STOP_H
#include <stdbool.h>

/** Begin or end to listen.  One process-wide listener. */
void wsc_stop_watch(bool on);
/** The signal that asked, or 0. */
int wsc_stop_asked(void);
#endif
