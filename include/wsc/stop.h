/** Asking a run to stop: SIGTERM and SIGUSR1, as schedulers send them before a time limit.  Layer
 * 0.
 *
 *  A thread of its own waits for them, and no thread that computes ever runs a signal handler:
 *  code that oneDNN generates keeps data addresses in the stack pointer, and the frame of a handler
 *  would be written over the data.
 *  Between wsc_stop_watch(true) and wsc_stop_watch(false) the first of them is remembered and a
 *  second one ends the process, as usual; outside each ends the process with the exit status of
 *  WSC_INTERRUPTED.
 */
#ifndef WSC_STOP_H
#define WSC_STOP_H
#include <wsc/err.h>

#include <stdbool.h>

/** Start to listen, once, before any other thread is started: they inherit that these signals are
 *  not theirs. */
enum wsc_err wsc_stop_start(void) WSC_CHECKED;
/** Begin or end to remember instead of ending. */
void wsc_stop_watch(bool on);
/** The signal that asked since wsc_stop_watch(true), or 0. */
int wsc_stop_asked(void);
#endif
