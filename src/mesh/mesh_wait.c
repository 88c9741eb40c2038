// SPDX-License-Identifier: Apache-2.0
/* Waits for another thread of the fabric. The work of the other thread takes microseconds, so a
 * waiting thread polls for longer than that. On a host with fewer processors than threads polling
 * would keep the others from working, so there the thread sleeps. team.c, mesh_wave.c and
 * mesh_flow_run.c call it. */
#include "mesh_wait.h"

enum { POLLS = 4000 };

void mesh_wait_init(struct mesh_wait *w)
{
    w->sleepers = 0;
    (void)pthread_mutex_init(&w->mutex, NULL);
    (void)pthread_cond_init(&w->cond, NULL);
}

void mesh_wait_fini(struct mesh_wait *w)
{
    (void)pthread_cond_destroy(&w->cond);
    (void)pthread_mutex_destroy(&w->mutex);
}

/* A short pause between two polls. */
static inline void pause_processor(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Sleep until the condition holds. A sleeper increments the counter before it tests the condition,
 * and mesh_wake() reads the counter after the other thread has written: so one of the two sees the
 * other. */
static void sleep_until(struct mesh_wait *w, bool (*is_true)(const void *of), const void *of)
{
    (void)pthread_mutex_lock(&w->mutex);
    w->sleepers++;
    while (!is_true(of))
        (void)pthread_cond_wait(&w->cond, &w->mutex);
    w->sleepers--;
    (void)pthread_mutex_unlock(&w->mutex);
}

void mesh_wait_until(struct mesh_wait *w, bool (*is_true)(const void *of), const void *of)
{
    for (int i = 0; i < POLLS; i++) {
        if (is_true(of)) return;
        pause_processor();
    }
    sleep_until(w, is_true, of);
}

void mesh_wake(struct mesh_wait *w)
{
    if (!w->sleepers) return;
    (void)pthread_mutex_lock(&w->mutex);
    (void)pthread_cond_broadcast(&w->cond);
    (void)pthread_mutex_unlock(&w->mutex);
}
