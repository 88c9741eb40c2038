/** Log lines, in the Model Zoo's form `<time> INFO:  <text>`.
 *
 *  INFO goes to stdout, WARNING and ERROR to stderr; all lines also go to run.log if it is open.
 *  wsc_log_quiet() keeps a rank from printing. A progress display (<wsc/out.h>) registers a hook
 * that clears its line before a log line is printed.
 *
 *  The settings are global to the process; the main thread makes them before other threads start.
 *  A line is written at once and flushed, so that a crash loses no line. Results are written with
 *  <wsc/out.h>, not with the log. */
#ifndef WSC_LOG_H
#define WSC_LOG_H
#include <wsc/err.h>

#include <stdbool.h>

/** Severity of a line, in rising order. DEBUG is dropped by default; silent ranks also print ERROR.
 */
enum wsc_log_level { WSC_LOG_DEBUG, WSC_LOG_INFO, WSC_LOG_WARNING, WSC_LOG_ERROR };

/** Print one line if @p level is at least the threshold. The text has no newline at its end and at
 *  most 4095 bytes; a longer one is cut. If the log file cannot be written, this is reported once
 * on stderr, and the run continues. */
void wsc_log(enum wsc_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Drop lines below @p level from now on; WSC_LOG_INFO at the start of the program. */
void wsc_log_set_level(enum wsc_log_level level);
/** Print no INFO and WARNING of this process from now on, or end this (false); a log file gets them
 *  all the same. For ranks other than 0, so that a job prints each line once, and for the library.
 */
void wsc_log_quiet(bool quiet);
/** Send INFO to stderr too from now on: stdout is then for results that a program reads (`--json`).
 */
void wsc_log_to_stderr(void);
/** Copy every line to the file @p path from now on, appending; an earlier log file is closed.
 *  WSC_IO when it cannot be opened; then there is no log file. */
enum wsc_err wsc_log_open(const char *path) WSC_CHECKED;
/** Close the file of wsc_log_open(); nothing happens when none is open. */
void wsc_log_close(void);
/** Call @p before_line before each printed line; NULL removes it. There is one hook at a time: that
 *  of the progress display, which clears the last line of the terminal. */
void wsc_log_set_hook(void (*before_line)(void));

/** Log one line of information: a format and its values, see wsc_log(). */
#define WSC_INFO(...) wsc_log(WSC_LOG_INFO, __VA_ARGS__)
/** Log one line of warning: a format and its values, see wsc_log(). For input that is accepted but
 *  may be a mistake; refused input is an error. */
#define WSC_WARNING(...) wsc_log(WSC_LOG_WARNING, __VA_ARGS__)
#endif
