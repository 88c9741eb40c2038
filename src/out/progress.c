// SPDX-License-Identifier: Apache-2.0
/* The progress of long work, on stderr: on a terminal one line that is redrawn in place, elsewhere
 * plain lines, the first after some seconds of work (WSC_PROGRESS_SECONDS), later ones at six times
 * that.  A thread refreshes the display between two reports, so that work whose single item takes
 * minutes is not silent either.  Every command that can take long reports here, by
 * out_progress_at() or by out_progress_start() and out_progress(); docs/RUNNING.md has the table of
 * them.
 */
#include <wsc/clock.h>
#include <wsc/err.h>
#include <wsc/log.h>
#include <wsc/out.h>
#include <wsc/units.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Characters of the bar and of the line; columns of a terminal that does not report them. */
enum { BAR_WIDTH = 24, LINE_SIZE = 512, DEFAULT_COLUMNS = 80 };
/* Reports redraw a terminal's line at most so often, the thread when nothing was drawn for longer;
 * plain lines: silence before the first one, and how many times that between later ones. */
static const double redraw_s = 0.1, refresh_s = 1, usual_silence_s = 5, later_lines = 6;

/* One terminal, one line: the only state of this module, under its lock. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t begun;
    bool ticking; /* the thread exists */
    bool active, plain, drawn, held;
    char what[64], note[96];
    int64_t total, done, base; /* base: done at the first report, the rate counts from there */
    double start_s, base_s, drawn_s, hidden_s;
    bool has_base;
    double printed_s; /* of the last plain line, or the start of the first work; 0: none yet */
    int n_printed;
    double silence_s; /* before the first plain line; 0: none is printed */
} line = {.lock = PTHREAD_MUTEX_INITIALIZER, .begun = PTHREAD_COND_INITIALIZER};

static void lock(void)
{
    (void)pthread_mutex_lock(&line.lock);
}

static void unlock(void)
{
    (void)pthread_mutex_unlock(&line.lock);
}

/* Erase the line. */
static void erase(void)
{
    if (!line.drawn) return;
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    line.drawn = false;
    line.hidden_s = wsc_clock_s();
}

void out_progress_hide(void)
{
    lock();
    erase();
    unlock();
}

/* ---- the text -------------------------------------------------------------------------------- */

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

/* Seconds as h:mm:ss. */
static void write_time(char *text, size_t size, double seconds)
{
    long long s = seconds < 1e9 ? (long long)(seconds + 0.5) : 1000000000LL;
    (void)snprintf(text, size, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

/* Units a second since the first report; 0: not known yet. */
static double rate(double now)
{
    const double elapsed = now - line.base_s;
    return line.has_base && elapsed > 0 ? (double)(line.done - line.base) / elapsed : 0;
}

/* Part of the total that is done, 0 to 1. */
static double fraction(void)
{
    const double part = (double)line.done / (double)line.total;
    return part < 0 ? 0 : part > 1 ? 1 : part;
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

/* The line of a terminal: what, bar, done/total, rate since the first report, time left, note; cut
 * to the terminal, since a line that wraps cannot be erased. */
static void draw(double now)
{
    char text[LINE_SIZE], bar[BAR_WIDTH + 16] = "", total[32] = "", per[48] = "", left[48] = "";
    const double per_s = rate(now);
    if (line.total > 0) {
        add_bar(bar, fraction());
        (void)snprintf(total, sizeof total, "/%lld", (long long)line.total);
    }
    if (per_s > 0) {
        char si[32], time[32];
        out_si(si, sizeof si, per_s);
        (void)snprintf(per, sizeof per, "  %s/s", si);
        write_time(time, sizeof time, (double)(line.total - line.done) / per_s);
        if (line.total > line.done) (void)snprintf(left, sizeof left, "  ETA %s", time);
    }
    (void)snprintf(text, sizeof text, "%s %s%lld%s%s%s%s%s", line.what, bar, (long long)line.done,
                   total, per, left, *line.note ? "  " : "", line.note);
    cut(text, columns() - 1);
    (void)fprintf(stderr, "\r%s\033[K", text);
    (void)fflush(stderr);
    line.drawn = true;
    line.drawn_s = now;
}

/* A plain line: `wsc: sweep: 3 of 8, 37 %, 0:00:06 so far, 0:00:10 left (gpt3_13b)`. */
static void print_plain(double now)
{
    char so_far[32], left[64] = "", time[32], part[64] = "";
    const double per_s = rate(now);
    write_time(so_far, sizeof so_far, now - line.start_s);
    if (line.total > 0) {
        (void)snprintf(part, sizeof part, " of %lld, %d %%", (long long)line.total,
                       (int)(100.0 * fraction()));
        write_time(time, sizeof time, (double)(line.total - line.done) / per_s);
        if (per_s > 0)
            (void)snprintf(left, sizeof left, ", %s left", time);
        else
            (void)snprintf(left, sizeof left, ", time left not known yet");
    }
    (void)fprintf(stderr, "wsc: %s: %lld%s, %s so far%s%s%s%s\n", line.what, (long long)line.done,
                  part, so_far, left, *line.note ? " (" : "", line.note, *line.note ? ")" : "");
    (void)fflush(stderr);
    line.printed_s = now;
    line.n_printed++;
}

/* ---- when it is shown ------------------------------------------------------------------------ */

/* The text of WSC_PROGRESS_SECONDS as @p seconds; false when it is no such number. */
static bool parse_silence(const char *text, double *seconds)
{
    return !wsc_units_double(text, seconds) && *seconds >= 0 && isfinite(*seconds);
}

/* Silence before the first plain line, seconds; 0: no plain lines. */
static double wanted_silence_s(void)
{
    const char *text = getenv("WSC_PROGRESS_SECONDS");
    double seconds;
    return text && *text && parse_silence(text, &seconds) ? seconds : usual_silence_s;
}

enum wsc_err out_progress_check(void)
{
    const char *text = getenv("WSC_PROGRESS_SECONDS");
    double seconds;
    if (!text || !*text || parse_silence(text, &seconds)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE,
                                  "WSC_PROGRESS_SECONDS: expected seconds, at least 0, got \"%s\"",
                                  text),
                        "WSC_PROGRESS_SECONDS=5, for example; 0 turns plain lines off");
}

/* Plain lines that are due; a redrawn line is the caller's. */
static void print_when_due(double now)
{
    const double silence = line.silence_s * (line.n_printed ? later_lines : 1);
    if (silence > 0 && now - line.printed_s >= silence) print_plain(now);
}

/* Between two reports: the time runs. */
static void refresh(void)
{
    const double now = wsc_clock_s();
    if (line.plain)
        print_when_due(now);
    else if (now - line.drawn_s >= refresh_s && now - line.hidden_s >= refresh_s)
        draw(now);
}

/* The thread: once a second while something is in progress, asleep otherwise. */
static void *tick(void *unused)
{
    (void)unused;
    lock();
    for (;;) {
        struct timespec until;
        while (!line.active)
            (void)pthread_cond_wait(&line.begun, &line.lock);
        (void)timespec_get(&until, TIME_UTC);
        until.tv_sec++;
        if (pthread_cond_timedwait(&line.begun, &line.lock, &until) == ETIMEDOUT && line.active)
            refresh();
    }
    return NULL;
}

/* A process that forks has no thread in the child, which shows nothing. */
static void forget_thread(void)
{
    line.ticking = line.active = line.drawn = false;
    unlock();
}

/* Without the thread, where there can be none, reports alone show progress. */
static void start_ticking(void)
{
    sigset_t all, before;
    pthread_t thread;
    static bool prepared;
    if (!prepared) (void)pthread_atfork(lock, unlock, forget_thread);
    prepared = true;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the main thread */
    line.ticking = !pthread_create(&thread, NULL, tick, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (line.ticking) (void)pthread_detach(thread);
}

/* ---- reports --------------------------------------------------------------------------------- */

/* New work, in place of the one before. */
static void begin(const char *what, int64_t total)
{
    const char *terminal = getenv("TERM");
    erase();
    line.plain = !isatty(STDERR_FILENO) || !terminal || !*terminal || !strcmp(terminal, "dumb");
    line.active = true;
    line.held = false;
    line.total = total;
    line.done = 0;
    line.has_base = false;
    line.drawn_s = 0;
    line.note[0] = '\0';
    line.start_s = wsc_clock_s();
    line.silence_s = wanted_silence_s();
    if (!(line.printed_s > 0)) line.printed_s = line.start_s;
    (void)snprintf(line.what, sizeof line.what, "%s", what);
    wsc_log_set_hook(out_progress_hide);
    if (!line.ticking) start_ticking();
    (void)pthread_cond_signal(&line.begun);
}

/* The rate counts from the first report, so that a run that resumes at step 1000 shows its own
 * speed.  The last report is always drawn. */
static void report(int64_t done, const char *note)
{
    const double now = wsc_clock_s();
    line.done = done > 0 ? done : 0;
    (void)snprintf(line.note, sizeof line.note, "%s", note ? note : "");
    if (!line.has_base) {
        line.has_base = true;
        line.base = done;
        line.base_s = now;
    }
    if (line.plain)
        print_when_due(now);
    else if (now - line.drawn_s >= redraw_s || done == line.total)
        draw(now);
}

void out_progress_start(const char *what, int64_t total)
{
    lock();
    begin(what, total);
    if (line.plain) print_when_due(line.start_s);
    unlock();
}

void out_progress(int64_t done, const char *note)
{
    lock();
    if (line.active) report(done, note);
    unlock();
}

void out_progress_at(const char *what, int64_t done, int64_t total, const char *note)
{
    lock();
    if (line.active) {
        const bool same = line.total == total && !strncmp(line.what, what, sizeof line.what - 1);
        if (!same && !line.held) begin(what, total);
        if (!same && line.held)
            report(line.done, what);
        else
            report(done, note);
    }
    unlock();
}

void out_progress_hold(bool on)
{
    lock();
    line.held = on;
    unlock();
}

void out_progress_end(void)
{
    lock();
    if (line.active) {
        erase();
        line.active = false;
        wsc_log_set_hook(NULL);
    }
    unlock();
}
