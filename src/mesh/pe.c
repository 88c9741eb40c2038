// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

void mesh_pe_wake(struct mesh *m, struct mesh_pe *pe)
{
    if (pe->listed == m->now + 1) return;
    pe->listed = m->now + 1;
    m->next_pes.item[m->next_pes.n++] = pe->index;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static bool is_read(const struct mesh_pe *pe, int queue)
{
    for (unsigned set = pe->threads; set; set &= set - 1)
        if (pe->thread[__builtin_ctz(set)].in == queue) return true;
    return false;
}

struct choice {
    const struct mesh_task_entry *task;
    int id, queue; /* local task, or the input queue whose wavelet starts it */
};

static void consider(const struct mesh *m, struct choice *best, int task, int id, int queue)
{
    const struct mesh_task_entry *t = &m->task[task];
    if (best->task && best->task->priority >= t->priority) return;
    *best = (struct choice){t, id, queue};
}

/* The control task that the wavelet at the head of @p queue asks for. */
static enum wsc_err consider_control(struct mesh_pe *pe, struct choice *best, int queue,
                                     uint64_t entry)
{
    int id = (int)(entry >> 24 & 63);
    if (!pe->task[id])
        return WSC_RAISE(WSC_USAGE,
                         "PE (%d, %d): nobody takes a control wavelet of colour %d: no task %d",
                         pe->x, pe->y, pe->in[queue].colour, id);
    if (!(pe->blocked >> id & 1U)) consider(pe->m, best, pe->task[id] - 1, -1, queue);
    return WSC_OK;
}

static enum wsc_err consider_queue(struct mesh_pe *pe, struct choice *best, int queue)
{
    struct mesh_queue *q = &pe->in[queue];
    uint64_t entry = q->entry[q->head];
    if (mesh_entry_ready(entry) > pe->m->now) return WSC_OK;
    if (entry & MESH_CONTROL_BIT) return consider_control(pe, best, queue, entry);
    if (q->task == MESH_NONE || (unsigned)pe->data_blocked >> queue & 1U || is_read(pe, queue))
        return WSC_OK;
    consider(pe->m, best, q->task, -1, queue);
    return WSC_OK;
}

/* The activated, unblocked task of the highest priority; among equals local tasks by id, then
 * queues by number (an order the documentation leaves open). */
static enum wsc_err pick_task(struct mesh_pe *pe, struct choice *best)
{
    best->task = NULL;
    for (uint64_t set = pe->activated & ~pe->blocked; set; set &= set - 1) {
        int id = __builtin_ctzll(set);
        consider(pe->m, best, pe->task[id] - 1, id, -1);
    }
    for (unsigned set = pe->in_used; set; set &= set - 1)
        TRY(consider_queue(pe, best, __builtin_ctz(set)));
    return WSC_OK;
}

static uint32_t take_wavelet(struct mesh_pe *pe, int queue)
{
    struct mesh_queue *q = &pe->in[queue];
    uint32_t data = (uint32_t)q->entry[q->head];
    bool was_full = q->n == q->depth;
    q->head = (uint8_t)((q->head + 1) % MESH_QUEUE);
    if (!--q->n) pe->in_used &= (uint16_t) ~(1U << queue);
    if (was_full) mesh_router_wake(pe->m, pe->index);
    return data;
}

static enum wsc_err run_task(struct mesh_pe *pe, const struct choice *c)
{
    uint32_t data = 0;
    mesh_see_task(pe, c->id, c->queue);
    if (c->queue >= 0)
        data = take_wavelet(pe, c->queue);
    else
        pe->activated &= ~(1ULL << c->id);
    pe->n_todo = pe->next_todo = 0;
    pe->running = true;
    enum wsc_err rc = c->task->fn(pe, data);
    pe->running = false;
    return rc;
}

static enum wsc_err begin_op(struct mesh_pe *pe, const struct mesh_op *op, bool *waits)
{
    *waits = (unsigned)pe->threads >> op->thread & 1U;
    if (*waits) return WSC_OK;
    mesh_see_join(pe, op->thread);
    TRY(mesh_thread_begin(pe, op->thread, op));
    mesh_see_op(pe, op);
    return WSC_OK;
}

/* The next thing a task has asked for; *@p waits when it cannot begin yet. */
static enum wsc_err todo_step(struct mesh_pe *pe, bool *waits)
{
    const struct mesh_todo *t = &pe->todo[pe->next_todo];
    switch ((enum mesh_todo_kind)t->kind) {
    case MESH_TODO_OP:
        TRY(begin_op(pe, &t->op, waits));
        break;
    case MESH_TODO_WAIT:
        pe->waits_until = pe->m->now + t->arg;
        if (pe->m->last < pe->waits_until) pe->m->last = pe->waits_until;
        mesh_see_wait(pe);
        break;
    case MESH_TODO_JOIN:
        *waits = (unsigned)pe->threads >> t->arg & 1U;
        if (!*waits) mesh_see_join(pe, (int)t->arg);
        break;
    case MESH_TODO_ACTIVATE:
        pe->activated |= 1ULL << t->arg;
        break;
    case MESH_TODO_BLOCK:
        pe->blocked |= 1ULL << t->arg;
        break;
    case MESH_TODO_UNBLOCK:
        pe->blocked &= ~(1ULL << t->arg);
        break;
    case MESH_TODO_BLOCK_DATA:
        pe->data_blocked |= (uint16_t)(1U << t->arg);
        break;
    case MESH_TODO_UNBLOCK_DATA:
        pe->data_blocked &= (uint16_t) ~(1U << t->arg);
        break;
    }
    if (!*waits) pe->next_todo++;
    return WSC_OK;
}

static bool main_is_free(const struct mesh_pe *pe)
{
    return !(pe->threads & 1U) && pe->waits_until <= pe->m->now;
}

/* What the running task still has to begin, as far as it can begin now. */
static enum wsc_err main_todo(struct mesh_pe *pe, bool *busy)
{
    bool waits = false;
    while (!waits && pe->next_todo < pe->n_todo && main_is_free(pe)) {
        TRY(todo_step(pe, &waits));
        *busy |= !waits;
    }
    return WSC_OK;
}

/* The main thread: the running task goes on, or the next one is picked. */
static enum wsc_err main_cycle(struct mesh_pe *pe, bool *busy)
{
    struct choice c;
    TRY(main_todo(pe, busy));
    if (pe->next_todo < pe->n_todo || !main_is_free(pe)) return WSC_OK;
    TRY(pick_task(pe, &c));
    if (!c.task) return WSC_OK;
    TRY(run_task(pe, &c));
    *busy = true;
    mesh_did(pe->m);
    return main_todo(pe, busy);
}

/* ---- the datapath ---------------------------------------------------------------------------- */

static void finish(struct mesh_pe *pe, int thread)
{
    struct mesh_thread *t = &pe->thread[thread];
    mesh_see_op_end(pe, thread);
    t->state = MESH_IDLE;
    t->in = t->out = MESH_NONE;
    pe->threads &= (uint16_t) ~(1U << thread);
    if (t->op.activate) pe->activated |= 1ULL << (t->op.activate - 1);
    if (t->op.unblock) pe->blocked &= ~(1ULL << (t->op.unblock - 1));
}

static bool can_go(const struct mesh_pe *pe, const struct mesh_thread *t)
{
    if (t->in != MESH_NONE) {
        const struct mesh_queue *q = &pe->in[t->in];
        uint64_t entry = q->entry[q->head];
        if (!q->n || entry & MESH_CONTROL_BIT || mesh_entry_ready(entry) > pe->m->now) return false;
    }
    return t->out == MESH_NONE || pe->out[t->out].n < pe->out[t->out].depth;
}

static enum wsc_err step_fabric(struct mesh_pe *pe, int thread, int *slots, bool *busy)
{
    struct mesh_thread *t = &pe->thread[thread];
    if (t->left) {
        if (!can_go(pe, t)) return WSC_OK;
        *busy = true; /* also when the datapath is taken: it will be free */
        if (*slots < t->cost) {
            mesh_see_crowded(pe, thread);
            return WSC_OK;
        }
        mesh_see_element(pe, thread);
        TRY(mesh_element(pe, t));
        *slots -= t->cost;
        t->done++;
        t->left--;
        pe->turn = (uint8_t)((thread + 1) % (MESH_THREADS + 1));
        mesh_did(pe->m);
    }
    *busy = true;
    if (!t->left) finish(pe, thread);
    return WSC_OK;
}

static void step_memory(struct mesh_pe *pe, int thread, int *slots, bool *busy)
{
    struct mesh_thread *t = &pe->thread[thread];
    int64_t part = t->work < *slots ? t->work : *slots;
    t->work -= part;
    *slots -= (int)part;
    mesh_did(pe->m);
    if (part) {
        pe->turn = (uint8_t)((thread + 1) % (MESH_THREADS + 1));
        mesh_see_memory(pe, thread);
    }
    if (t->work) return;
    finish(pe, thread);
    *busy = true;
}

static enum wsc_err step_thread(struct mesh_pe *pe, int thread, int *slots, bool *busy)
{
    struct mesh_thread *t = &pe->thread[thread];
    if (t->ready_at > pe->m->now) return WSC_OK;
    t->state = MESH_RUNNING;
    if (t->fabric) return step_fabric(pe, thread, slots, busy);
    step_memory(pe, thread, slots, busy);
    return WSC_OK;
}

/* Threads take turns; each moves at most one wavelet, memory operations use what is left. */
static enum wsc_err datapath_cycle(struct mesh_pe *pe, bool *busy)
{
    int slots = MESH_SLOTS;
    unsigned before = (1U << pe->turn) - 1U, threads = pe->threads;
    unsigned set = threads & ~before, rest = threads & before;
    for (int half = 0; half < 2; half++, set = rest)
        for (; set; set &= set - 1)
            TRY(step_thread(pe, __builtin_ctz(set), &slots, busy));
    return WSC_OK;
}

/* One wavelet goes up the ramp; output queues take turns. */
static void ramp_cycle(struct mesh_pe *pe, bool *busy)
{
    struct mesh *m = pe->m;
    for (int i = 0; i < MESH_N_OUT; i++) {
        int k = (pe->out_turn + i) % MESH_N_OUT;
        struct mesh_queue *q = &pe->out[k];
        if (!q->n) continue;
        uint64_t entry = q->entry[q->head];
        struct mesh_channel *ch = mesh_channel_of(m, pe->index, q->colour);
        bool early = mesh_entry_ready(entry) > m->now;
        *busy |= early;
        if (early || !mesh_channel_open(m, ch, MESH_RAMP)) continue;
        mesh_see_up(pe, k, ch);
        mesh_channel_push(
            m, pe->index, ch,
            mesh_entry((uint32_t)entry, m->now + m->ramp_up, entry & MESH_CONTROL_BIT));
        q->head = (uint8_t)((q->head + 1) % MESH_QUEUE);
        if (!--q->n) pe->out_used &= (uint16_t) ~(1U << k);
        pe->out_turn = (uint8_t)((k + 1) % MESH_N_OUT);
        m->stats.wavelets += !(entry & MESH_CONTROL_BIT && (uint32_t)entry & MESH_TURN);
        *busy = true;
        return;
    }
}

/* ---- sleep ----------------------------------------------------------------------------------- */

static bool wavelet_arrives(const struct mesh_pe *pe)
{
    for (unsigned set = pe->in_used; set; set &= set - 1) {
        const struct mesh_queue *q = &pe->in[__builtin_ctz(set)];
        if (mesh_entry_ready(q->entry[q->head]) > pe->m->now) return true;
    }
    return false;
}

/* What was left of a memory operation that ran alone while the PE slept. */
static void settle(struct mesh_pe *pe)
{
    if (pe->bulk_since < 0) return;
    pe->thread[pe->bulk].work -= MESH_SLOTS * (pe->m->now - pe->bulk_since);
    pe->bulk_since = -1;
}

/* Nothing to do in the next cycle but what ends at a known one. */
static enum wsc_err sleep_until(struct mesh_pe *pe)
{
    struct mesh *m = pe->m;
    int n_memory = 0;
    if (pe->waits_until > m->now) TRY(mesh_timer_add(m, pe->waits_until, pe->index));
    for (unsigned set = pe->threads; set; set &= set - 1) {
        int i = __builtin_ctz(set);
        const struct mesh_thread *t = &pe->thread[i];
        if (t->ready_at > m->now) TRY(mesh_timer_add(m, t->ready_at, pe->index));
        if (t->fabric || t->ready_at > m->now) continue;
        n_memory++;
        pe->bulk = (uint8_t)i;
    }
    if (n_memory > 1) mesh_pe_wake(m, pe);
    if (n_memory != 1) return WSC_OK;
    pe->bulk_since = m->now + 1;
    int64_t cycles = (pe->thread[pe->bulk].work + MESH_SLOTS - 1) / MESH_SLOTS;
    return mesh_timer_add(m, m->now + cycles, pe->index);
}

static enum wsc_err pe_cycle(struct mesh *m, struct mesh_pe *pe)
{
    bool busy = false;
    enum wsc_err rc = WSC_OK;
    mesh_see_turn(pe);
    settle(pe);
    TRY(main_cycle(pe, &busy));
    if (pe->threads) TRY(datapath_cycle(pe, &busy));
    if (pe->out_used) ramp_cycle(pe, &busy);
    if (busy || (pe->in_used && wavelet_arrives(pe)))
        mesh_pe_wake(m, pe);
    else
        rc = sleep_until(pe);
    mesh_see_cycle(pe);
    return rc;
}

enum wsc_err mesh_pes_cycle(struct mesh *m)
{
    const int32_t *item = m->pes.item;
    for (int i = 0; i < m->pes.n; i++) {
        if (i + MESH_AHEAD < m->pes.n) {
            const struct mesh_pe *next = &m->pe[item[i + MESH_AHEAD]];
            __builtin_prefetch(next);
            __builtin_prefetch((const char *)next + 64);
            __builtin_prefetch(&next->thread[0]);
            __builtin_prefetch((const char *)&next->thread[0] + 64);
            __builtin_prefetch((const char *)&next->thread[0] + 128);
        }
        TRY(pe_cycle(m, &m->pe[item[i]]));
    }
    return WSC_OK;
}
