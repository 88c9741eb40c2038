// SPDX-License-Identifier: Apache-2.0
/* A parallel loop over independent items on worker threads. One thread computes an item, with
 * library calls on that thread alone, so the number of threads changes no value. Threads start with
 * the first loop that needs them and stay. A waiting thread (a worker before the next loop, the
 * caller after its last item) polls for some ten microseconds and then sleeps: loops in quick
 * succession need no system call, and a waiting thread does not take the processor from another.
 * Threads of OpenMP spin for milliseconds instead: with another program on one of two processors, a
 * step took 24 times as long. */
#include "num_impl.h"

#include <wsc/check.h>

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { SPINS = 1000 };
/* A call packs its number and, in the lowest bits, the number of threads that take part, so that a
 * late thread reads both or neither. */
enum { TEAM_BITS = 11, TEAM_MASK = (1 << TEAM_BITS) - 1 };

static int n_workers = 1; /* set by num_init, between loops */

/* The running loop and the waiting threads. The caller writes it only while no worker takes part
 * in a loop. */
static struct {
    void (*body)(void *ctx, int64_t i, int thread);
    void *ctx;
    int64_t n;
    atomic_llong next;
    atomic_int n_busy; /* workers that have not finished their part */
    atomic_uint call;
    int n_started; /* workers, which are numbered from 1 */
    pthread_mutex_t lock;
    pthread_cond_t called, finished;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .called = PTHREAD_COND_INITIALIZER,
          .finished = PTHREAD_COND_INITIALIZER};
static _Thread_local int inside_as = -1; /* thread index in a body; -1: outside */

void num_init(int n_threads)
{
    WSC_CHECK(n_threads >= 1, "%d threads", n_threads);
    n_workers = n_threads < NUM_MAX_THREADS ? n_threads : NUM_MAX_THREADS;
    num_pin_library();
}

int num_threads(void)
{
    return n_workers;
}

/* oneDNN takes its number of threads from OpenMP; with one, the sums of a product are not divided
 * among threads. */
void num_pin_library(void)
{
    if (omp_get_max_threads() != 1) omp_set_num_threads(1);
}

/* Give way to the other hyperthread of the core. */
static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Threads take items one at a time: items differ in cost (an expert with few tokens), and no
 * result depends on which thread computes one. */
static void take_items(int thread)
{
    inside_as = thread;
    for (;;) {
        const int64_t i = atomic_fetch_add(&pool.next, 1);
        if (i >= pool.n) break;
        pool.body(pool.ctx, i, thread);
    }
    inside_as = -1;
}

/* Wait for the call after @p seen and return it. */
static unsigned wait_for_call(unsigned seen)
{
    unsigned call;
    for (int i = 0; i < SPINS; i++) {
        call = atomic_load(&pool.call);
        if (call != seen) return call;
        pause_briefly();
    }
    (void)pthread_mutex_lock(&pool.lock);
    while ((call = atomic_load(&pool.call)) == seen)
        (void)pthread_cond_wait(&pool.called, &pool.lock);
    (void)pthread_mutex_unlock(&pool.lock);
    return call;
}

/* Main function of a worker. The first call that it sees may be an earlier one, whose team does
 * not include it. */
static void *work(void *arg)
{
    const int thread = (int)(intptr_t)arg;
    unsigned seen = 0;
    for (;;) {
        seen = wait_for_call(seen);
        if (thread >= (int)(seen & TEAM_MASK)) continue;
        take_items(thread);
        if (atomic_fetch_sub(&pool.n_busy, 1) > 1) continue;
        (void)pthread_mutex_lock(&pool.lock);
        (void)pthread_cond_signal(&pool.finished);
        (void)pthread_mutex_unlock(&pool.lock);
    }
    return NULL;
}

/* After a fork the child has no workers. */
static void forget_threads(void)
{
    pool.n_started = 0;
    atomic_store(&pool.call, 0);
    (void)pthread_mutex_init(&pool.lock, NULL);
    (void)pthread_cond_init(&pool.called, NULL);
    (void)pthread_cond_init(&pool.finished, NULL);
}

/* Start one more worker; all signals are left to the main thread. */
static bool start_one(void)
{
    sigset_t all, before;
    pthread_t thread;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&thread, NULL, work, (void *)(intptr_t)(pool.n_started + 1));
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) return false;
    (void)pthread_detach(thread);
    pool.n_started++;
    return true;
}

/* Start workers for a team of @p n_team threads, the caller included; returns the size of the
 * team, smaller if the system allows no more threads. */
static int start_threads(int n_team)
{
    static bool prepared;
    if (!prepared) (void)pthread_atfork(NULL, NULL, forget_threads);
    prepared = true;
    while (pool.n_started < n_team - 1)
        if (!start_one()) return pool.n_started + 1;
    return n_team;
}

/* Wake the workers. The number of the call wraps around only long after all workers have seen
 * it. */
static void call_team(int n_team)
{
    const unsigned call = (atomic_load(&pool.call) >> TEAM_BITS) + 1;
    (void)pthread_mutex_lock(&pool.lock);
    atomic_store(&pool.call, call << TEAM_BITS | (unsigned)n_team);
    (void)pthread_cond_broadcast(&pool.called);
    (void)pthread_mutex_unlock(&pool.lock);
}

static void wait_for_team(void)
{
    for (int i = 0; i < SPINS; i++) {
        if (!atomic_load(&pool.n_busy)) return;
        pause_briefly();
    }
    (void)pthread_mutex_lock(&pool.lock);
    while (atomic_load(&pool.n_busy))
        (void)pthread_cond_wait(&pool.finished, &pool.lock);
    (void)pthread_mutex_unlock(&pool.lock);
}

void num_parallel(int64_t n, void (*body)(void *ctx, int64_t i, int thread), void *ctx)
{
    int n_team = n < n_workers ? (int)n : n_workers;
    if (inside_as >= 0) n_team = 1;
    if (n_team > 1) n_team = start_threads(n_team);
    if (n_team <= 1) {
        for (int64_t i = 0; i < n; i++)
            body(ctx, i, inside_as >= 0 ? inside_as : 0);
        return;
    }
    pool.body = body;
    pool.ctx = ctx;
    pool.n = n;
    atomic_store(&pool.next, 0);
    atomic_store(&pool.n_busy, n_team - 1);
    call_team(n_team);
    take_items(0);
    wait_for_team();
}
