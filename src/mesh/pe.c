// SPDX-License-Identifier: Apache-2.0
#include "mesh_impl.h"

#include <string.h>

/* ---- tasks ----------------------------------------------------------------------------------- */

static bool is_read(const struct mesh_pe *pe, int queue)
{
    for (unsigned set = pe->threads; set; set &= set - 1)
        if (mesh_thread_of(pe->region, pe, __builtin_ctz(set))->in == queue) return true;
    return false;
}

struct choice {
    const struct mesh_task_entry *task;
    int id, queue; /* local task, or the input queue whose wavelet starts it */
};

static void consider(const struct mesh_pe *pe, struct choice *best, int task, int id, int queue)
{
    const struct mesh_task_entry *t = &pe->region->m->task[task];
    if (best->task && best->task->priority >= t->priority) return;
    *best = (struct choice){t, id, queue};
}

/* The control task that the wavelet at the head of @p queue asks for. */
static enum wsc_err consider_control(struct mesh_pe *pe, struct choice *best, int queue,
                                     uint64_t entry)
{
    int id = (int)(entry >> 24 & 63), task = mesh_binding_of(pe)->task[id];
    if (!task)
        return WSC_RAISE(WSC_USAGE,
                         "PE (%d, %d): nobody takes a control wavelet of colour %d: no task %d",
                         pe->x, pe->y, mesh_queue_of(pe, queue)->colour, id);
    if (!(pe->blocked >> id & 1U)) consider(pe, best, task - 1, -1, queue);
    return WSC_OK;
}

static enum wsc_err consider_queue(struct mesh_pe *pe, struct choice *best, int queue)
{
    const struct mesh_queue *q = mesh_queue_of(pe, queue);
    uint64_t entry = q->entry[q->head];
    if (mesh_entry_ready(entry) > pe->region->now) return WSC_OK;
    if (entry & MESH_CONTROL_BIT) return consider_control(pe, best, queue, entry);
    if (q->link < 0 || (unsigned)pe->data_blocked >> queue & 1U || is_read(pe, queue))
        return WSC_OK;
    consider(pe, best, q->link, -1, queue);
    return WSC_OK;
}

/* The activated, unblocked task of the highest priority; among equals local tasks by id, then
 * queues by number (an order the documentation leaves open). */
static enum wsc_err pick_task(struct mesh_pe *pe, struct choice *best)
{
    best->task = NULL;
    for (uint64_t set = pe->activated & ~pe->blocked; set; set &= set - 1) {
        int id = __builtin_ctzll(set);
        consider(pe, best, mesh_binding_of(pe)->task[id] - 1, id, -1);
    }
    for (unsigned set = pe->in_used; set; set &= set - 1)
        TRY(consider_queue(pe, best, __builtin_ctz(set)));
    return WSC_OK;
}

/* What the task issues goes to the region's list first; most of it begins at once. */
static enum wsc_err run_task(struct mesh_pe *pe, const struct choice *c)
{
    uint32_t data = 0;
    if (c->queue >= 0)
        data = mesh_take_wavelet(pe->region, pe, c->queue);
    else
        pe->activated &= ~(1ULL << c->id);
    pe->todo = pe->region->todo;
    pe->n_todo = pe->next_todo = 0;
    pe->running = true;
    enum wsc_err rc = c->task->fn(pe, data);
    pe->running = false;
    return rc;
}

/* The next thing a task has asked for; false when it cannot begin yet. */
static bool todo_step(struct mesh_pe *pe, const struct mesh_thread *t)
{
    struct mesh_region *r = pe->region;
    const uint64_t task = 1ULL << (t->left & 63);
    const uint8_t queue = (uint8_t)(1U << (t->left & 7));
    if (t->kind <= MESH_THREADS) {
        if ((unsigned)pe->threads >> t->kind & 1U) return false;
        mesh_thread_begin(r, pe, t);
        return true;
    }
    switch ((enum mesh_todo_kind)t->kind) {
    case MESH_TODO_WAIT:
        pe->waits_until = (uint32_t)(r->now + t->left);
        if (r->last < pe->waits_until) r->last = pe->waits_until;
        break;
    case MESH_TODO_JOIN:
        return !((unsigned)pe->threads >> t->left & 1U);
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
    }
    return true;
}

static bool main_is_free(const struct mesh_pe *pe)
{
    return !(pe->threads & 1U) && pe->waits_until <= pe->region->now;
}

static int todo_size(const struct mesh_pe *pe)
{
    return mesh_pool_size(pe->n_todo * (int64_t)sizeof *pe->todo);
}

/* What the running task still has to begin, as far as it can begin now. */
static void main_todo(struct mesh_pe *pe)
{
    if (pe->next_todo == pe->n_todo) return;
    while (pe->next_todo < pe->n_todo && main_is_free(pe) &&
           todo_step(pe, &pe->todo[pe->next_todo]))
        pe->next_todo++;
    if (pe->next_todo == pe->n_todo && pe->todo != pe->region->todo)
        mesh_pool_give(&pe->region->program, todo_size(pe), pe->todo);
}

/* What could not begin yet moves to memory of the PE's own. */
static enum wsc_err keep_todo(struct mesh_pe *pe)
{
    const struct mesh_thread *rest = pe->todo + pe->next_todo;
    pe->n_todo = (uint8_t)(pe->n_todo - pe->next_todo);
    pe->next_todo = 0;
    if (!pe->n_todo) return WSC_OK;
    pe->todo = mesh_pool_take(&pe->region->program, todo_size(pe));
    if (!pe->todo) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "what a task has issued");
    memcpy(pe->todo, rest, pe->n_todo * sizeof *rest);
    return WSC_OK;
}

/* The main thread: the running task goes on, or the next one is picked.  *@p busy when there may be
 * another one in the next cycle. */
static enum wsc_err main_cycle(struct mesh_pe *pe, bool *busy)
{
    struct choice c;
    main_todo(pe);
    if (pe->next_todo < pe->n_todo || !main_is_free(pe)) return WSC_OK;
    TRY(pick_task(pe, &c));
    if (!c.task) return WSC_OK;
    TRY(run_task(pe, &c));
    mesh_did(pe->region);
    main_todo(pe);
    *busy = main_is_free(pe);
    return keep_todo(pe);
}

/* ---- sleep ----------------------------------------------------------------------------------- */

/* Input queues whose wavelets matter: all while a task may be picked, else those that are read. */
static uint8_t hears(const struct mesh_region *r, const struct mesh_pe *pe)
{
    unsigned set = 0;
    if (!(pe->threads & 1U) && pe->next_todo == pe->n_todo) return UINT8_MAX;
    for (unsigned threads = pe->threads; threads; threads &= threads - 1) {
        const struct mesh_thread *t = mesh_thread_of(r, pe, __builtin_ctz(threads));
        if (t->in != MESH_NONE) set |= 1U << t->in;
    }
    return (uint8_t)set;
}

static bool wavelet_arrives(const struct mesh_region *r, const struct mesh_pe *pe)
{
    for (unsigned set = pe->in_used & pe->hears; set; set &= set - 1) {
        const struct mesh_queue *q = mesh_queue_of(pe, __builtin_ctz(set));
        if (mesh_entry_ready(q->entry[q->head]) > r->now) return true;
    }
    return false;
}

/* What was left of a memory operation that ran alone while the PE slept. */
static void settle(struct mesh_region *r, struct mesh_pe *pe)
{
    int64_t cycles = r->now - ((int64_t)pe->bulk_since - 1);
    pe->bulk_since = 0;
    if (cycles <= 0) return;
    mesh_thread_of(r, pe, pe->bulk)->work -= MESH_SLOTS * cycles;
    pe->turn = (uint8_t)((pe->bulk + 1) % (MESH_THREADS + 1));
}

/* The one memory operation runs alone from now on, or from the end of its set-up. */
static enum wsc_err sleep_in_bulk(struct mesh_region *r, struct mesh_pe *pe)
{
    const struct mesh_thread *t = mesh_thread_of(r, pe, pe->bulk);
    int64_t first = t->ready_at > r->now ? t->ready_at : r->now + 1;
    int64_t cycles = (t->work + MESH_SLOTS - 1) / MESH_SLOTS;
    pe->bulk_since = (uint32_t)(first + 1);
    return mesh_timer_add(r, first + (cycles ? cycles - 1 : 0), (int32_t)mesh_index(r, pe));
}

/* Nothing to do in the next cycle but what ends at a known one. */
static enum wsc_err sleep_until(struct mesh_region *r, struct mesh_pe *pe)
{
    const int32_t index = (int32_t)mesh_index(r, pe);
    int n_running = 0, n_memory = 0;
    if (pe->waits_until > r->now) TRY(mesh_timer_add(r, pe->waits_until, index));
    for (unsigned set = pe->threads; set; set &= set - 1) {
        int i = __builtin_ctz(set);
        const struct mesh_thread *t = mesh_thread_of(r, pe, i);
        bool is_memory = !(t->flags & MESH_FABRIC), runs = is_memory && t->ready_at <= r->now;
        n_memory += is_memory;
        n_running += runs;
        if (runs || (is_memory && !n_running)) pe->bulk = (uint8_t)i;
    }
    if (n_running > 1) mesh_pe_wake(r, index);
    if (n_running == 1 || n_memory == 1) TRY(sleep_in_bulk(r, pe));
    for (unsigned set = pe->threads; set; set &= set - 1) {
        const struct mesh_thread *t = mesh_thread_of(r, pe, __builtin_ctz(set));
        bool in_bulk = n_memory == 1 && !(t->flags & MESH_FABRIC);
        if (t->ready_at > r->now && !in_bulk) TRY(mesh_timer_add(r, t->ready_at, index));
    }
    return WSC_OK;
}

enum wsc_err mesh_pe_cycle(struct mesh_region *r, struct mesh_pe *pe)
{
    bool busy = false;
    if (pe->bulk_since) settle(r, pe);
    if (!(pe->threads & 1U)) TRY(main_cycle(pe, &busy));
    if (pe->threads && mesh_datapath_cycle(r, pe)) busy = true;
    if (pe->out_used && mesh_ramp_cycle(r, pe)) busy = true;
    pe->hears = hears(r, pe);
    if (busy || (pe->in_used && wavelet_arrives(r, pe))) {
        mesh_pe_wake(r, mesh_index(r, pe));
        return WSC_OK;
    }
    return sleep_until(r, pe);
}
