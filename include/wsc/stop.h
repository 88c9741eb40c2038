/** Asking a run to stop: SIGTERM and SIGUSR1, as schedulers send them before a time limit, and
 *  SIGHUP of a terminal that closes, unless it is ignored, as under nohup.
 *
 *  A thread of its own waits for them, and no thread that computes ever runs a signal handler: code
 *  that oneDNN generates keeps data addresses in the stack pointer, and the frame of a handler
 *  would be written over the data.  Between wsc_stop_watch(true) and wsc_stop_watch(false) the
 *  first of them is remembered and a second one ends the process, as usual; outside each ends the
 *  process with the exit status of WSC_INTERRUPTED.
 *
 *  A run looks at wsc_stop_asked() between steps, agrees with the other ranks, writes a checkpoint
 *  and ends (src/job/job_stop.c). */
#ifndef WSC_STOP_H
#define WSC_STOP_H
#include <wsc/err.h>

#include <stdbool.h>

/** Start to listen, once, in main(), before any other thread is started: they inherit that these
 *  signals are not theirs.  WSC_NOMEM when no thread can be made. */
enum wsc_err wsc_stop_start(void) WSC_CHECKED;
/** Begin (@p on) or end to remember a signal instead of ending the process.  Beginning forgets one
 *  of an earlier watch. */
void wsc_stop_watch(bool on);
/** The number of the first signal since wsc_stop_watch(true), or 0.  May be called from any thread;
 *  on other ranks of the job the answer may differ for a while. */
int wsc_stop_asked(void);
#endif
