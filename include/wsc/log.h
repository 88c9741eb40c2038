/** Log lines, in the Model Zoo's form `<time> INFO:  <text>`.
 *
 *  INFO goes to stdout, WARNING and ERROR to stderr; all of it to run.log when one is open.  A rank
 *  that should be silent says so once (wsc_log_quiet()).  A progress display (<wsc/out.h>)
 *  registers a hook that clears its line before a log line is printed.
 *
 *  The settings are those of the process: they are made by the main thread before others start.  A
 *  line is written at once and flushed, so a crash loses none.  Results go through <wsc/out.h> and
 *  not through the log. */
#ifndef WSC_LOG_H
#define WSC_LOG_H
#include <wsc/err.h>

#include <stdbool.h>

/** How urgent a line is, in rising order.  DEBUG is dropped unless asked for; ERROR is printed by
 *  silent ranks too. */
enum wsc_log_level { WSC_LOG_DEBUG, WSC_LOG_INFO, WSC_LOG_WARNING, WSC_LOG_ERROR };

/** Print one line (no newline at the end, at most 4095 bytes, the rest is cut) when @p level is at
 *  least the threshold.  A log file that cannot be written is reported once on stderr, and the run
 *  continues. */
void wsc_log(enum wsc_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Drop lines below @p level from now on; WSC_LOG_INFO at the start of the program. */
void wsc_log_set_level(enum wsc_log_level level);
/** Silence INFO and WARNING of this process, on all outputs: for ranks other than 0, so that a job
 *  prints each line once.  False ends it. */
void wsc_log_quiet(bool quiet);
/** Send INFO to stderr too from now on: stdout is then for results that a program reads (`--json`).
 */
void wsc_log_to_stderr(void);
/** Copy every line to the file @p path from now on, appending; an earlier log file is closed.
 *  WSC_IO when it cannot be opened; then there is no log file. */
enum wsc_err wsc_log_open(const char *path) WSC_CHECKED;
/** Close the file of wsc_log_open(); nothing happens when none is open. */
void wsc_log_close(void);
/** Call @p before_line before each line that is printed; NULL removes it.  One hook at a time: the
 *  progress line, which must leave the terminal's last line. */
void wsc_log_set_hook(void (*before_line)(void));

/** Log one line of information: a format and its values, see wsc_log(). */
#define WSC_INFO(...) wsc_log(WSC_LOG_INFO, __VA_ARGS__)
/** Log one line of warning: a format and its values, see wsc_log().  For what is accepted but may
 *  not be meant; what is refused is an error. */
#define WSC_WARNING(...) wsc_log(WSC_LOG_WARNING, __VA_ARGS__)
#endif
