// SPDX-License-Identifier: Apache-2.0
/* Log lines in the form of the Model Zoo, "date LEVEL:  text": INFO to stdout, WARNING and above to
 * stderr, all of them to the log file of a run.  A line is flushed at once, so that run.log is
 * complete up to a crash.  The hook clears the progress line (src/out/progress.c) before a line is
 * printed over it. */
#include <wsc/clock.h>
#include <wsc/log.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* State of the log; set by the main thread, read by wsc_log(). */
static struct {
    enum wsc_log_level threshold;
    bool quiet, no_stdout;
    FILE *file;
    bool warned; /* that the file cannot be written */
    void (*before_line)(void);
} sink = {.threshold = WSC_LOG_INFO};

/* On the terminal. */
static void print_line(FILE *out, const char *stamp, const char *level, const char *text)
{
    if (sink.before_line) sink.before_line();
    (void)fprintf(out, "%s %s:   %s\n", stamp, level, text);
    (void)fflush(out);
}

void wsc_log(enum wsc_log_level level, const char *fmt, ...)
{
    static const char *const name[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
    const bool shown = !sink.quiet || level >= WSC_LOG_ERROR;
    if (level < sink.threshold || (!shown && !sink.file)) return;
    char stamp[40], text[4096];
    va_list ap;
    wsc_clock_stamp(stamp, sizeof stamp);
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    FILE *out = level >= WSC_LOG_WARNING || sink.no_stdout ? stderr : stdout;
    if (shown) print_line(out, stamp, name[level], text);
    if (!sink.file) return;
    const bool written = fprintf(sink.file, "%s %s:   %s\n", stamp, name[level], text) >= 0;
    if ((!fflush(sink.file) && written) || sink.warned) return;
    sink.warned = true; /* once: a full disk stays full */
    (void)fprintf(stderr, "%s WARNING:   the log file cannot be written: %s\n", stamp,
                  strerror(errno));
}

void wsc_log_set_level(enum wsc_log_level level)
{
    sink.threshold = level;
}

void wsc_log_quiet(bool quiet)
{
    sink.quiet = quiet;
}

void wsc_log_to_stderr(void)
{
    sink.no_stdout = true;
}

void wsc_log_close(void)
{
    if (sink.file) (void)fclose(sink.file);
    sink.file = NULL;
    sink.warned = false;
}

enum wsc_err wsc_log_open(const char *path)
{
    wsc_log_close();
    sink.file = fopen(path, "a");
    if (!sink.file) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    return WSC_OK;
}

void wsc_log_set_hook(void (*before_line)(void))
{
    sink.before_line = before_line;
}
