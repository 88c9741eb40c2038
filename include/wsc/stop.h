/** Stop requests: signals that ask a run to stop. SIGTERM and SIGUSR1 are sent by schedulers before
 *  a time limit, SIGHUP by a terminal that closes. An ignored SIGHUP stays ignored, as under nohup.
 *
 *  A separate thread waits for these signals, and no computing thread ever runs a signal handler:
 *  code that oneDNN generates keeps data addresses in the stack pointer, so the frame of a handler
 *  would overwrite data. Between wsc_stop_watch(true) and wsc_stop_watch(false) the first signal is
 *  remembered, and another one ends the process, as usual, if it comes more than half a second
 * later. Outside this interval every signal ends the process with the exit status of
 * WSC_INTERRUPTED.
 *
 *  A run reads wsc_stop_asked() between steps, agrees with the other ranks, writes a checkpoint and
 *  ends (src/job/job_stop.c). */
#ifndef WSC_STOP_H
#define WSC_STOP_H
#include <wsc/err.h>

#include <stdbool.h>

/** Start the waiting thread. Call it once, in main(), before any other thread is started: other
 *  threads inherit a mask that blocks these signals. WSC_NOMEM if no thread can be made. */
enum wsc_err wsc_stop_start(void) WSC_CHECKED;
/** Start (@p on) or stop to remember a signal instead of ending the process. A start forgets the
 *  signal of an earlier watch; during a watch it does nothing. */
void wsc_stop_watch(bool on);
/** What asked first since wsc_stop_watch(true): the number of a signal, WSC_STOP_CALL, or 0.  May
 *  be called from any thread; on other ranks of the job the answer may differ for a while. */
int wsc_stop_asked(void);
/** The answer of wsc_stop_asked() after wsc_stop_ask(). */
enum { WSC_STOP_CALL = 1 << 10 };
/** Ask the run that watches to stop; nothing when none watches.  May be called from any thread and
 *  from a signal handler. */
void wsc_stop_ask(void);
/** The name of what asked, for messages: "Terminated", "a call".  Valid until the next call. */
const char *wsc_stop_name(int asked);
#endif
