// SPDX-License-Identifier: Apache-2.0
/* Runs the tasks of a PE. It picks the next one (activated, not blocked, by priority), calls its
 * function on the host, and then carries out its requests in order, until the list is empty. op.c
 * checks and records the requests; pe.c runs the operations. */
#include "task.h"
#include "mesh_queue.h"
#include "mesh_state.h"
#include "mesh_thread.h"
#include "pool.h"
#include "recording.h"
#include "region.h"
#include "trigger.h"
#include "watch_hooks.h"

#include <string.h>

/* ---- tasks ----------------------------------------------------------------------------------- */

/* True when an operation reads input queue @p queue, whose wavelets then start no data task. */
static bool is_read(const struct mesh_region *r, const struct mesh_pe *pe, int queue)
{
    for (unsigned set = pe->threads; set; set &= set - 1)
        if (mesh_thread_of(r, pe, __builtin_ctz(set))->in == queue) return true;
    return false;
}

/* The best task found so far; task NULL: none. */
struct choice {
    const struct mesh_task_entry *task;
    int id, queue; /* local task, or the input queue whose wavelet starts it */
};

static void consider(const struct mesh_region *r, struct choice *best, int task, int id, int queue)
{
    const struct mesh_task_entry *t = &r->m->task[task];
    if (best->task && best->task->priority >= t->priority) return;
    *best = (struct choice){t, id, queue};
}

/* Consider the control task that the wavelet at the head of @p queue requests. */
static enum wsc_err consider_control(struct mesh_region *r, struct mesh_pe *pe, struct choice *best,
                                     int queue, uint64_t entry)
{
    int id = (int)(entry >> 24 & 63), task = mesh_binding_of(pe)->task[id];
    if (!task)
        return WSC_RAISE(WSC_USAGE,
                         "PE (%d, %d): nobody takes a control wavelet of colour %d: no task %d",
                         pe->x, pe->y, mesh_queue_of(pe, queue)->colour, id);
    if (!(pe->blocked >> id & 1U)) consider(r, best, task - 1, -1, queue);
    return WSC_OK;
}

/* The task that the first wavelet of @p queue starts: a control task by the id in its payload, or
 * the data task of the colour unless that is blocked or an operation reads the queue. */
static enum wsc_err consider_queue(struct mesh_region *r, struct mesh_pe *pe, struct choice *best,
                                   int queue)
{
    const struct mesh_queue *q = mesh_queue_of(pe, queue);
    uint64_t entry = q->entry[q->head];
    if (mesh_entry_ready(entry) > r->now) return WSC_OK;
    if (entry & MESH_CONTROL_BIT && !mesh_trigger_lets_control(r, pe, queue)) return WSC_OK;
    if (entry & MESH_CONTROL_BIT) return consider_control(r, pe, best, queue, entry);
    if (q->link < 0 || (unsigned)pe->data_blocked >> queue & 1U || is_read(r, pe, queue))
        return WSC_OK;
    consider(r, best, q->link, -1, queue);
    return WSC_OK;
}

/* Choose the activated, unblocked task of the highest priority; of equal ones local tasks by id,
 * then queues by number (the documentation leaves this order open). */
static enum wsc_err pick_task(struct mesh_region *r, struct mesh_pe *pe, struct choice *best)
{
    best->task = NULL;
    for (uint64_t set = pe->activated & ~pe->blocked; set; set &= set - 1) {
        int id = __builtin_ctzll(set);
        consider(r, best, mesh_binding_of(pe)->task[id] - 1, id, -1);
    }
    for (unsigned set = pe->in_used; set; set &= set - 1)
        TRY(consider_queue(r, pe, best, __builtin_ctz(set)));
    return WSC_OK;
}

/* Call the function of the task. Its requests are first stored in the list of the region, because
 * most of them begin at once. */
static enum wsc_err run_task(struct mesh_region *r, struct mesh_pe *pe, const struct choice *c)
{
    uint32_t data = 0;
    mesh_see_task(r, pe, c->id, c->queue);
    if (c->queue >= 0) {
        mesh_trigger_stop(r, pe, c->queue);
        const bool control = mesh_queue_first(pe, c->queue) & MESH_CONTROL_BIT;
        data = mesh_take_wavelet(r, pe, c->queue);
        if (r->recording && !control) data = mesh_record_read(r, data);
    } else if (c->id >= 0) {
        pe->activated &= ~(1ULL << c->id);
    }
    pe->todo = r->todo;
    pe->n_todo = pe->next_todo = 0;
    pe->running = true;
    enum wsc_err rc = c->task->fn(pe, data);
    pe->running = false;
    return rc;
}

/* Execute the next request of a task; @p waits is set when it cannot begin yet. */
static enum wsc_err todo_step(struct mesh_region *r, struct mesh_pe *pe,
                              const struct mesh_thread *t, bool *waits)
{
    const uint64_t task = 1ULL << (t->left & 63);
    const uint8_t queue = (uint8_t)(1U << (t->left & 7));
    if (t->kind <= MESH_THREADS) {
        *waits = (unsigned)pe->threads >> t->kind & 1U;
        if (*waits) return WSC_OK;
        mesh_see_join(r, pe, t->kind);
        return mesh_thread_begin(r, pe, t);
    }
    switch ((enum mesh_todo_kind)t->kind) {
    case MESH_TODO_WAIT:
        pe->waits_until = (uint32_t)(r->now + t->left);
        if (r->last < pe->waits_until) r->last = pe->waits_until;
        mesh_see_wait(r, pe);
        break;
    case MESH_TODO_JOIN:
        *waits = (unsigned)pe->threads >> t->left & 1U;
        if (!*waits) mesh_see_join(r, pe, (int)t->left);
        break;
    case MESH_TODO_ACTIVATE:
        pe->activated |= task;
        break;
    case MESH_TODO_BLOCK:
        pe->blocked |= task;
        break;
    case MESH_TODO_UNBLOCK:
        pe->blocked &= ~task;
        break;
    case MESH_TODO_BLOCK_DATA:
        pe->data_blocked |= queue;
        break;
    case MESH_TODO_UNBLOCK_DATA:
        pe->data_blocked &= (uint8_t)~queue;
        break;
    case MESH_TODO_ARM:
        *waits = (unsigned)pe->threads >> t->left & 1U;
        if (*waits) return WSC_OK;
        mesh_see_join(r, pe, (int)t->left);
        return mesh_trigger_begin(r, pe, t);
    }
    return WSC_OK;
}

/* True when neither an operation nor scalar code runs on the main thread. */
static bool main_is_free(const struct mesh_region *r, const struct mesh_pe *pe)
{
    return !(pe->threads & 1U) && pe->waits_until <= r->now;
}

static int todo_size(const struct mesh_pe *pe)
{
    return mesh_pool_size(pe->n_todo * (int64_t)sizeof *pe->todo);
}

/* Execute the remaining requests of the running task as far as they can begin now. */
static enum wsc_err main_todo(struct mesh_region *r, struct mesh_pe *pe)
{
    bool waits = false;
    if (pe->next_todo == pe->n_todo) return WSC_OK;
    while (!waits && pe->next_todo < pe->n_todo && main_is_free(r, pe)) {
        TRY(todo_step(r, pe, &pe->todo[pe->next_todo], &waits));
        pe->next_todo = (uint8_t)(pe->next_todo + !waits);
    }
    if (pe->next_todo == pe->n_todo && pe->todo != r->todo)
        mesh_pool_give(&r->program, todo_size(pe), pe->todo);
    return WSC_OK;
}

/* Move the requests that cannot begin yet to memory of the PE. */
static enum wsc_err keep_todo(struct mesh_region *r, struct mesh_pe *pe)
{
    const struct mesh_thread *unread = pe->todo + pe->next_todo;
    pe->n_todo = (uint8_t)(pe->n_todo - pe->next_todo);
    pe->next_todo = 0;
    if (!pe->n_todo) return WSC_OK;
    pe->todo = mesh_pool_take(&r->program, todo_size(pe));
    if (!pe->todo) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "what a task has issued");
    memcpy(pe->todo, unread, pe->n_todo * sizeof *unread);
    return WSC_OK;
}

/* The running task continues; when it has ended, the next one is picked. */
enum wsc_err mesh_main_cycle(struct mesh_region *r, struct mesh_pe *pe, bool *busy)
{
    struct choice c;
    TRY(main_todo(r, pe));
    if (pe->next_todo < pe->n_todo || !main_is_free(r, pe)) return WSC_OK;
    TRY(pick_task(r, pe, &c));
    if (!c.task) return WSC_OK;
    TRY(run_task(r, pe, &c));
    mesh_did(r);
    TRY(main_todo(r, pe));
    *busy = main_is_free(r, pe);
    return keep_todo(r, pe);
}
