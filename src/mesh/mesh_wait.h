/** Waiting between the threads of a fabric: a thread that is early polls for a while, then sleeps.
 */
#ifndef WSC_MESH_WAIT_H
#define WSC_MESH_WAIT_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct mesh_wait {
    _Atomic int sleepers;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
};
void mesh_wait_init(struct mesh_wait *w);
void mesh_wait_fini(struct mesh_wait *w);
/* Wait until @p is_true(of), a condition on what other threads write. */
void mesh_wait_until(struct mesh_wait *w, bool (*is_true)(const void *of), const void *of);
/* Wake threads that wait for what this thread has just written. The write and the reads of
 * is_true() must be sequentially consistent, so that no wake-up is lost. */
void mesh_wake(struct mesh_wait *w);
#endif
