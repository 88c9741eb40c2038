// SPDX-License-Identifier: Apache-2.0
/* The progress line of long work: on a terminal one line on stderr that is redrawn at most ten
 * times a second, with the time left; elsewhere nothing, because log lines report progress there.
 */
#include <wsc/clock.h>
#include <wsc/log.h>
#include <wsc/out.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Characters of the bar and of the line; columns of a terminal that does not report them. */
enum { BAR_WIDTH = 24, LINE_SIZE = 512, DEFAULT_COLUMNS = 80 };
static const double redraw_s = 0.1;

/* One terminal, one line: the only state of this module. */
static struct {
    bool active, drawn;
    char what[64];
    int64_t total, done, base; /* base: done at the first report, the rate counts from there */
    double base_s, drawn_s;
    bool has_base;
} line;

/* Erase the line; the hook of the log, so that log lines are not printed into it. */
static void hide(void)
{
    if (!line.drawn) return;
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    line.drawn = false;
}

/* Width of the terminal at present: it may be resized while a run lasts. */
static int columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 2) return DEFAULT_COLUMNS;
    return size.ws_col;
}

/* Cut at a character, not inside one. */
static void cut(char *text, int width)
{
    for (int n = 0; *text; text++) {
        bool starts = ((unsigned char)*text & 0xC0) != 0x80;
        if (starts && n++ == width) break;
    }
    *text = '\0';
}

/* Append the estimated time left as h:mm:ss. */
static void add_time_left(char *text, size_t size, double seconds)
{
    long long s = seconds < 1e9 ? (long long)(seconds + 0.5) : 1000000000LL;
    (void)snprintf(text, size, "  ETA %lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

/* `[####....]  40% ` for a fraction from 0 to 1. */
static void add_bar(char bar[static BAR_WIDTH + 16], double share)
{
    int full = (int)(share * BAR_WIDTH);
    bar[0] = '[';
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[1 + i] = i < full ? '#' : '.';
    (void)snprintf(bar + 1 + BAR_WIDTH, 15, "] %3d%% ", (int)(100.0 * share));
}

/* Compose and print the line: what, bar, done/total, rate since the first report, time left, note;
 * cut to the terminal, since a line that wraps cannot be erased. */
static void draw(double now, const char *note)
{
    char text[LINE_SIZE], bar[BAR_WIDTH + 16] = "", total[32] = "", rate[48] = "", left[48] = "";
    double elapsed = now - line.base_s;
    double per_s = elapsed > 0 ? (double)(line.done - line.base) / elapsed : 0;
    if (line.total > 0) {
        double share = (double)line.done / (double)line.total;
        add_bar(bar, share < 0 ? 0 : share > 1 ? 1 : share);
        (void)snprintf(total, sizeof total, "/%lld", (long long)line.total);
    }
    if (per_s > 0) {
        char si[32];
        out_si(si, sizeof si, per_s);
        (void)snprintf(rate, sizeof rate, "  %s/s", si);
        if (line.total > line.done)
            add_time_left(left, sizeof left, (double)(line.total - line.done) / per_s);
    }
    (void)snprintf(text, sizeof text, "%s %s%lld%s%s%s%s%s", line.what, bar, (long long)line.done,
                   total, rate, left, note && *note ? "  " : "", note ? note : "");
    cut(text, columns() - 1);
    (void)fprintf(stderr, "\r%s\033[K", text);
    (void)fflush(stderr);
    line.drawn = true;
    line.drawn_s = now;
}

void out_progress_start(const char *what, int64_t total)
{
    const char *terminal = getenv("TERM");
    out_progress_end();
    if (!isatty(STDERR_FILENO) || !terminal || !*terminal || !strcmp(terminal, "dumb")) return;
    line.active = true;
    line.total = total;
    line.done = 0;
    line.has_base = false;
    line.drawn_s = 0;
    (void)snprintf(line.what, sizeof line.what, "%s", what);
    wsc_log_set_hook(hide);
}

/* The rate counts from the first report, so that a run that resumes at step 1000 shows its own
 * speed.  The last report is always drawn. */
void out_progress(int64_t done, const char *note)
{
    if (!line.active) return;
    double now = wsc_clock_s();
    line.done = done;
    if (!line.has_base) {
        line.has_base = true;
        line.base = done;
        line.base_s = now;
    }
    if (now - line.drawn_s < redraw_s && done != line.total) return;
    draw(now, note);
}

void out_progress_end(void)
{
    if (!line.active) return;
    hide();
    line.active = false;
    wsc_log_set_hook(NULL);
}
