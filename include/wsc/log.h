/** Log lines, in the Model Zoo's form `<time> INFO:   <text>`.  Layer 0.
 *
 *  INFO goes to stdout, WARNING and ERROR to stderr; all of it to run.log when one is open.  A
 *  rank that should be silent says so once (wsc_log_quiet).  A progress display (report) registers
 *  a hook that clears its line before a log line is printed.
 */
#ifndef WSC_LOG_H
#define WSC_LOG_H
#include <wsc/err.h>

#include <stdbool.h>

/** How urgent a line is, in rising order. */
enum wsc_log_level { WSC_LOG_DEBUG, WSC_LOG_INFO, WSC_LOG_WARNING, WSC_LOG_ERROR };

/** Print one line (no newline at the end) when @p level is at least the threshold. */
void wsc_log(enum wsc_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Lines below @p level are dropped; INFO at start. */
void wsc_log_set_level(enum wsc_log_level level);
/** Silence INFO and WARNING of this process: for ranks other than 0. */
void wsc_log_quiet(bool quiet);
/** From now on INFO goes to stderr too: stdout is for results that a program reads. */
void wsc_log_to_stderr(void);
/** Copy every line to @p path from now on, appending. */
enum wsc_err wsc_log_open(const char *path) WSC_CHECKED;
/** Close the file of wsc_log_open(); nothing happens when none is open. */
void wsc_log_close(void);
/** Called before each line that goes to a terminal; NULL removes it. */
void wsc_log_set_hook(void (*before_line)(void));

/** Log one line of information: a format and its values. */
#define WSC_INFO(...) wsc_log(WSC_LOG_INFO, __VA_ARGS__)
/** Log one line of warning: a format and its values. */
#define WSC_WARNING(...) wsc_log(WSC_LOG_WARNING, __VA_ARGS__)
#endif
