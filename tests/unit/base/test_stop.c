// SPDX-License-Identifier: Apache-2.0
/* Signals outside the steps of a run: the process ends with status 5, and one process of a job says
 * why, unless mpirun itself ends the ranks. */
#include "../../support/test.h"

#include <wsc/stop.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: get @p signal_number as rank @p rank (NULL: no MPI), with stderr to @p out. */
static _Noreturn void get_signal(const char *rank, int signal_number, int out)
{
    enum { SECONDS = 10 };
    (void)dup2(out, STDERR_FILENO);
    (void)signal(SIGHUP, SIG_DFL); /* which nohup changes */
    if (rank)
        (void)setenv("PMIX_RANK", rank, 1);
    else
        (void)unsetenv("PMIX_RANK");
    if (!wsc_stop_start()) (void)kill(getpid(), signal_number);
    (void)sleep(SECONDS); /* the listening thread ends the process */
    _exit(1);
}

/* Exit status of the child; *@p n: bytes that it wrote. */
static int status_of(const char *rank, int signal_number, ssize_t *n)
{
    int pipe_end[2], status = 0;
    char text[256];
    *n = -1;
    if (pipe(pipe_end)) return -1;
    const pid_t child = fork();
    if (!child) get_signal(rank, signal_number, pipe_end[1]);
    (void)close(pipe_end[1]);
    *n = read(pipe_end[0], text, sizeof text);
    (void)close(pipe_end[0]);
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    if (*n > 0) CU_ASSERT(!strncmp(text, "wsc: error: stopped by a signal", 31));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(stop, a_signal_outside_the_steps_is_reported_once)
{
    static const struct {
        const char *rank;
        int signal_number;
        bool reports;
    } cases[] = {{NULL, SIGTERM, true}, {NULL, SIGUSR1, true}, {"0", SIGTERM, false},
                 {"0", SIGUSR1, true},  {"0", SIGHUP, true},   {"3", SIGUSR1, false},
                 {"3", SIGTERM, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ssize_t n;
        T_EQ(status_of(cases[i].rank, cases[i].signal_number, &n), 5);
        CU_ASSERT((n > 0) == cases[i].reports);
    }
}
