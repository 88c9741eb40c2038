// SPDX-License-Identifier: Apache-2.0
#include <wsc/stop.h>

#include <signal.h>
#include <stddef.h>

static const int asking[] = {SIGTERM, SIGUSR1};
enum { N_ASKING = sizeof asking / sizeof *asking };

static volatile sig_atomic_t asked;
static struct sigaction before[N_ASKING];
static bool watching;

static void remember(int signal_number)
{
    asked = signal_number;
}

void wsc_stop_watch(bool on)
{
    if (on == watching) return;
    watching = on;
    /* The default comes back with the first signal, and calls that it interrupts go on. */
    struct sigaction act = {.sa_handler = remember, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    (void)sigemptyset(&act.sa_mask);
    for (int i = 0; i < N_ASKING; i++) {
        if (on)
            (void)sigaction(asking[i], &act, &before[i]);
        else
            (void)sigaction(asking[i], &before[i], NULL);
    }
    if (on) asked = 0;
}

int wsc_stop_asked(void)
{
    return (int)asked;
}
