// SPDX-License-Identifier: Apache-2.0
/* Signals that ask a run to stop, taken by a thread with sigwait(): all other threads block them,
 * so that no handler ever runs on a stack that generated code uses.  The first signal while
 * somebody watches is kept for wsc_stop_asked(); a later one ends the process as usual. */
#include <wsc/clock.h>
#include <wsc/stop.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_bool watching;
static atomic_int asked;
static sigset_t asking; /* written once, before the thread starts */

/* SIGTERM: Slurm's and PBS's time limit, kill.  SIGUSR1: `sbatch --signal`.  SIGHUP: a terminal or
 * an ssh connection that closes; under nohup it is ignored, and stays so: sigwait() would take it
 * all the same, since a signal that is blocked stays pending. */
static void choose_signals(void)
{
    struct sigaction hangup;
    (void)sigemptyset(&asking);
    (void)sigaddset(&asking, SIGTERM);
    (void)sigaddset(&asking, SIGUSR1);
    if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
        (void)sigaddset(&asking, SIGHUP);
}

/* Nobody looks at the moment: the run has not begun, or it is over.  Of the ranks the first one
 * reports; all are silent about SIGTERM, which mpirun sends to those that are left when one has
 * failed and reported. */
static _Noreturn void end_stopped(int signal_number)
{
    static const char text[] = "wsc: error: stopped by a signal outside the steps of a run\n";
    const char *rank = getenv("PMIX_RANK");
    if (!rank || (signal_number != SIGTERM && !strcmp(rank, "0")))
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(wsc_err_exit_status(WSC_INTERRUPTED));
}

/* End the process as the signal does by default: the second one means it. */
static void end_by(int signal_number)
{
    (void)signal(signal_number, SIG_DFL);
    (void)pthread_sigmask(SIG_UNBLOCK, &asking, NULL);
    (void)raise(signal_number);
}

/* One request may come as several signals: timeout(1) sends its own to the process and to its
 * group, schedulers to a job and to its steps. */
static const double same_request_s = 0.5;

/* The listening thread.  The compare-and-exchange keeps the first signal: a later one finds it
 * there and ends the process. */
static void *listen_to_signals(void *arg)
{
    double since = 0;
    int signal_number, none;
    (void)arg;
    while (!sigwait(&asking, &signal_number)) {
        if (!atomic_load(&watching)) end_stopped(signal_number);
        none = 0;
        if (atomic_compare_exchange_strong(&asked, &none, signal_number))
            since = wsc_clock_s();
        else if (wsc_clock_s() - since > same_request_s)
            end_by(signal_number);
    }
    return NULL;
}

enum wsc_err wsc_stop_start(void)
{
    pthread_t thread;
    choose_signals();
    (void)pthread_sigmask(SIG_BLOCK, &asking, NULL);
    const int why = pthread_create(&thread, NULL, listen_to_signals, NULL);
    if (why) return WSC_RAISE(WSC_NOMEM, "no thread for signals: %s", strerror(why));
    (void)pthread_detach(thread);
    return WSC_OK;
}

/* The order matters: a signal between the two stores belongs to the new watch. */
void wsc_stop_watch(bool on)
{
    if (on && !atomic_load(&watching)) atomic_store(&asked, 0);
    atomic_store(&watching, on);
}

int wsc_stop_asked(void)
{
    return atomic_load(&asked);
}

void wsc_stop_ask(void)
{
    int none = 0;
    if (atomic_load(&watching)) (void)atomic_compare_exchange_strong(&asked, &none, WSC_STOP_CALL);
}

const char *wsc_stop_name(int what)
{
    return what == WSC_STOP_CALL ? "a call" : strsignal(what);
}
