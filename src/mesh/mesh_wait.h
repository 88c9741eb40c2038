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
/* Until @p is_true, of what other threads write. */
void mesh_wait_until(struct mesh_wait *w, bool (*is_true)(const void *of), const void *of);
/* Somebody may wait for what this thread has just written.  That and what is_true() reads of it
 * are sequentially consistent, so that nobody is missed. */
void mesh_wake(struct mesh_wait *w);
#endif
