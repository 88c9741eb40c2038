// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"
#include "report_case.h"

#include <wsc/log.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static void progress_body(void)
{
    out_progress_start("train", 200);
    out_progress(0, NULL);
    out_progress(50, "loss 3.21"); /* within a tenth of a second of the first: not drawn */
    WSC_WARNING("between");
    out_progress(200, "loss 2.00");
    out_progress_end();
}

/* What a pseudo-terminal's other end wrote; the kernel hands it over in pieces, after a while. */
static void drain(int master, char *seen, size_t size)
{
    enum { QUIET_MS = 200 };
    struct pollfd ready = {.fd = master, .events = POLLIN};
    size_t used = 0;
    while (used < size - 1 && poll(&ready, 1, QUIET_MS) > 0) {
        ssize_t n = read(master, seen + used, size - 1 - used);
        if (n <= 0) break;
        used += (size_t)n;
    }
    seen[used] = '\0';
}

/* Run progress_body with a pseudo-terminal of @p columns as stderr; what arrived on it. */
static const char *on_terminal(const char *term, unsigned short columns)
{
    static char seen[4096];
    char saved_term[64] = "";
    if (getenv("TERM")) (void)snprintf(saved_term, sizeof saved_term, "%s", getenv("TERM"));
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    CU_ASSERT_FATAL(master >= 0 && !grantpt(master) && !unlockpt(master));
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY), saved = dup(2);
    CU_ASSERT_FATAL(slave >= 0 && saved >= 0);
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    CU_ASSERT_EQUAL(ioctl(slave, TIOCSWINSZ, &size), 0);
    (void)setenv("TERM", term, 1);
    (void)dup2(slave, 2);
    progress_body();
    (void)dup2(saved, 2);
    if (saved_term[0])
        (void)setenv("TERM", saved_term, 1);
    else
        (void)unsetenv("TERM");
    drain(master, seen, sizeof seen);
    (void)close(slave);
    (void)close(saved);
    (void)close(master);
    return seen;
}

TEST(out_progress, draws_hides_for_log_lines_and_clears_at_the_end)
{
    const char *seen = on_terminal("xterm", 100);
    const char *first = strstr(seen, "\rtrain [........................]   0% 0/200");
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    CU_ASSERT_PTR_NULL(strstr(seen, "50/200"));
    const char *hidden = strstr(first + 1, "\r\033[K");
    const char *logged = strstr(seen, "WARNING:   between");
    const char *last = strstr(seen, "\rtrain [########################] 100% 200/200");
    CU_ASSERT_FATAL(hidden && logged && last);
    CU_ASSERT(first < hidden && hidden < logged && logged < last);
    CU_ASSERT_PTR_NOT_NULL(strstr(last, "loss 2.00"));
    CU_ASSERT(!strcmp(seen + strlen(seen) - 4, "\r\033[K"));
}

TEST(out_progress, is_cut_to_the_terminal)
{
    const char *seen = on_terminal("xterm", 20);
    CU_ASSERT_PTR_NOT_NULL(strstr(seen, "\rtrain [############\033[K"));
}

/* Plain lines: each report is one when no silence is asked for before them. */
static void plain_body(void)
{
    out_progress_start("train", 200);
    out_progress(20, "loss 3.21");
    out_progress_at("check", 5, 0, NULL);
    out_progress_end();
    out_progress(30, "nothing is in progress");
    out_progress_at("check", 6, 0, "nothing is in progress");
}

static const char *with_silence(const char *seconds, const char *(*show)(void))
{
    char before[64] = "";
    if (getenv("WSC_PROGRESS_SECONDS"))
        (void)snprintf(before, sizeof before, "%s", getenv("WSC_PROGRESS_SECONDS"));
    (void)setenv("WSC_PROGRESS_SECONDS", seconds, 1);
    const char *seen = show();
    if (before[0])
        (void)setenv("WSC_PROGRESS_SECONDS", before, 1);
    else
        (void)unsetenv("WSC_PROGRESS_SECONDS");
    return seen;
}

static const char *to_file(void)
{
    return case_capture(2, plain_body);
}

static const char *to_dumb_terminal(void)
{
    return on_terminal("dumb", 80);
}

TEST(out_progress, is_plain_lines_in_a_file)
{
    const char *seen = with_silence("1e-9", to_file);
    CU_ASSERT_PTR_NOT_NULL(strstr(seen, "wsc: train: 20 of 200, 10 %, 0:00:00 so far, "
                                        "time left not known yet (loss 3.21)\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(seen, "wsc: check: 5, 0:00:00 so far\n"));
    CU_ASSERT_PTR_NULL(strstr(seen, "nothing is in progress"));
    CU_ASSERT_PTR_NULL(strchr(seen, '\r'));
}

TEST(out_progress, is_plain_lines_on_a_dumb_terminal)
{
    const char *seen = with_silence("1e-9", to_dumb_terminal);
    CU_ASSERT_PTR_NOT_NULL(strstr(seen, "wsc: train: 50 of 200"));
    CU_ASSERT_PTR_NULL(strstr(seen, "train ["));
}

TEST(out_progress, is_silent_before_its_time)
{
    CU_ASSERT_STRING_EQUAL(with_silence("3600", to_file), "");
    CU_ASSERT_STRING_EQUAL(with_silence("0", to_file), "");
}

/* Work that does not report is shown by the thread. */
static void idle_body(void)
{
    const struct timespec while_it_works = {.tv_sec = 1, .tv_nsec = 300000000};
    out_progress_start("one long item", 3);
    (void)nanosleep(&while_it_works, NULL);
    out_progress_end();
}

static const char *idle_to_file(void)
{
    return case_capture(2, idle_body);
}

TEST(out_progress, is_shown_between_reports)
{
    CU_ASSERT_PTR_NOT_NULL(strstr(with_silence("0.1", idle_to_file),
                                  "wsc: one long item: 0 of 3, 0 %, 0:00:01 so far"));
}
