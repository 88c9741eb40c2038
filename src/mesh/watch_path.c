// SPDX-License-Identifier: Apache-2.0
/* Computes the critical path of a run while the fabric moves. Every wavelet, thread and task
 * carries the breakdown of the time up to it, and takes over that of the later of its causes. At
 * the end the last event has the whole path; no record of all events is needed. */
#include "watch_path.h"
#include "mesh_state.h"
#include "watch_state.h"

#include <wsc/check.h>
#include <wsc/mem.h>

/* Critical path, computed forward: every event stores the breakdown of the time on its longest
 * path. A new event copies the path of its latest cause (among equals that of its own PE) and adds
 * the time since then. The path of the last event is therefore known at the end of the run, without
 * a record of all events. */

void mesh_watch_fail(struct mesh_watch *w)
{
    __atomic_store_n(&w->failed, true, __ATOMIC_RELAXED);
}

struct mesh_watch_flow *mesh_watch_flow(struct mesh_watch *w, int64_t pe)
{
    if (w->flow[pe]) return w->flow[pe];
    struct mesh_watch_flow *f = wsc_alloc(WSC_MEM_MESH, 1, sizeof *f);
    if (!f) {
        mesh_watch_fail(w);
        return NULL;
    }
    f->main.pe = f->enabled.pe = (int32_t)pe;
    for (int k = 0; k <= MESH_THREADS; k++)
        f->thread[k].pe = (int32_t)pe;
    w->flow[pe] = f;
    return f;
}

void mesh_watch_flow_free(struct mesh_watch_flow *f)
{
    if (!f) return;
    for (int q = 0; q < MESH_N_IN; q++)
        wsc_free(f->in[q]);
    for (int q = 0; q < MESH_N_OUT; q++)
        wsc_free(f->out[q]);
    wsc_free(f->leg);
    wsc_free(f);
}

struct mesh_watch_origin *mesh_watch_slot(struct mesh_watch *w, struct mesh_watch_origin **queue,
                                          int slot)
{
    if (!*queue) *queue = wsc_alloc(WSC_MEM_MESH, MESH_QUEUE, sizeof **queue);
    if (!*queue) mesh_watch_fail(w);
    return *queue ? *queue + slot : NULL;
}

static struct mesh_watch_flow *flow_of(const struct mesh_pe *pe)
{
    return mesh_watch_flow(watch_mesh(pe)->watch, pe->index);
}

/* ---- wavelets that were waited for ----------------------------------------------------------- */

static bool grow_legs(struct mesh_watch *w, struct mesh_watch_flow *f)
{
    if (f->n_legs < f->leg_capacity || f->leg_capacity == w->max_legs) return true;
    uint32_t capacity = f->leg_capacity ? 2 * f->leg_capacity : 8;
    if (capacity > w->max_legs) capacity = w->max_legs;
    void *leg = wsc_realloc(WSC_MEM_MESH, f->leg, capacity, sizeof *f->leg);
    if (!leg) {
        mesh_watch_fail(w);
        return false;
    }
    f->leg = leg;
    f->leg_capacity = capacity;
    return true;
}

/* Continue the path of @p pe with that of an arrived wavelet, and store the latter as a leg. */
static struct mesh_watch_path adopt(const struct mesh_pe *pe, struct mesh_watch_flow *f,
                                    const struct mesh_watch_path *wavelet)
{
    struct mesh_watch_path p = *wavelet;
    if (!grow_legs(watch_mesh(pe)->watch, f)) return p;
    f->leg[f->n_legs % f->leg_capacity] = *wavelet;
    p.pe = pe->index;
    p.leg = ++f->n_legs;
    return p;
}

/* The path of the first wavelet of an input queue; NULL when nothing was recorded for the queue. */
static const struct mesh_watch_path *arrived(const struct mesh_pe *pe,
                                             const struct mesh_watch_flow *f, int queue)
{
    return f->in[queue] ? &f->in[queue][watch_in(pe, queue)->head].path : NULL;
}

/* True when @p a is later than @p b. Of equal ones the PE's own path wins, so that the order of
 * visits has no influence. */
static bool is_later(const struct mesh_watch_path *a, const struct mesh_watch_path *b)
{
    return a && a->at > b->at;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* A task begins after the latest of three causes: its activation, the task before it, and its
 * wavelet. */
void mesh_path_task(struct mesh_pe *pe, int queue)
{
    struct mesh_watch_flow *f = flow_of(pe);
    enum mesh_part wait = MESH_PART_SCALAR; /* after a task without requests: one task per cycle */
    if (!f) return;
    if (is_later(&f->enabled, &f->main)) f->main = f->enabled;
    const struct mesh_watch_path *wavelet = queue >= 0 ? arrived(pe, f, queue) : NULL;
    if (is_later(wavelet, &f->main)) {
        f->main = adopt(pe, f, wavelet);
        wait = MESH_PART_QUEUES;
    }
    mesh_path_extend(&f->main, wait, watch_now(pe));
}

void mesh_path_wait(struct mesh_pe *pe)
{
    struct mesh_watch_flow *f = flow_of(pe);
    if (f) mesh_path_extend(&f->main, MESH_PART_SCALAR, pe->waits_until);
}

void mesh_path_join(struct mesh_pe *pe, int thread)
{
    struct mesh_watch_flow *f = flow_of(pe);
    if (f && is_later(&f->thread[thread], &f->main)) f->main = f->thread[thread];
}

/* ---- operations ------------------------------------------------------------------------------ */

static void set_bit(uint16_t *set, int bit, bool value)
{
    *set = (uint16_t)((*set & ~(1U << bit)) | (unsigned)value << bit);
}

/* The queue that an operation reads starts data tasks again when the operation ends; so its end
 * can let others continue. */
void mesh_path_op(struct mesh_pe *pe, const struct mesh_thread *op)
{
    const int thread = op->kind;
    const bool reads = op->in != MESH_NONE;
    struct mesh_watch_flow *f = flow_of(pe);
    if (!f) return;
    mesh_path_extend(&f->main, MESH_PART_QUEUES, watch_now(pe));
    f->thread[thread] = f->main;
    f->crowded[thread] = 0;
    set_bit(&f->maps, thread, mesh_is_map(op->code));
    set_bit(&f->enables, thread, op->activate || op->unblock || reads);
    mesh_path_extend(&f->thread[thread], MESH_PART_SETUP, watch_thread(pe, thread)->ready_at);
}

/* Extend the path up to the beginning of an element: after the previous element or its wavelet,
 * then after waiting for room or for the datapath. */
static void begin_element(const struct mesh_pe *pe, struct mesh_watch_flow *f, int thread)
{
    const struct mesh_thread *t = watch_thread(pe, thread);
    struct mesh_watch_path *p = &f->thread[thread];
    const struct mesh_watch_path *wavelet = t->in == MESH_NONE ? NULL : arrived(pe, f, t->in);
    if (is_later(wavelet, p)) *p = adopt(pe, f, wavelet);
    int64_t shared = p->at + (int64_t)f->crowded[thread];
    if (f->crowded[thread])
        mesh_path_extend(p, MESH_PART_COMPUTE, shared < watch_now(pe) ? shared : watch_now(pe));
    f->crowded[thread] = 0;
    mesh_path_extend(p, MESH_PART_QUEUES, watch_now(pe));
}

/* A wavelet starts a multiply-add, at the earliest a fixed time after the last one. */
void mesh_path_arrival(struct mesh_pe *pe, int thread)
{
    const int64_t ready = watch_thread(pe, thread)->ready_at;
    struct mesh_watch_flow *f = flow_of(pe);
    if (!f) return;
    if (ready > f->thread[thread].at) mesh_path_extend(&f->thread[thread], MESH_PART_SETUP, ready);
    begin_element(pe, f, thread);
}

/* An element takes one cycle of computing after its causes. A sent element passes the path on to
 * the slot of its wavelet. */
void mesh_path_element(struct mesh_pe *pe, int thread)
{
    struct mesh_watch *w = watch_mesh(pe)->watch;
    const struct mesh_thread *t = watch_thread(pe, thread);
    struct mesh_watch_flow *f = flow_of(pe);
    if (!f) return;
    begin_element(pe, f, thread);
    mesh_path_extend(&f->thread[thread], MESH_PART_COMPUTE, watch_now(pe) + 1);
    if (t->out == MESH_NONE) return;
    const struct mesh_queue *q = watch_out(pe, t->out);
    struct mesh_watch_origin *out = mesh_watch_slot(w, &f->out[t->out], watch_queue_tail(q));
    if (out) *out = (struct mesh_watch_origin){f->thread[thread], -1, -1};
}

/* After an operation on the main thread the task continues. The end of another thread is a cause
 * of the tasks that it activates or unblocks, and of operations that wait for its queue. */
void mesh_path_op_end(struct mesh_pe *pe, int thread, int64_t end)
{
    struct mesh_watch_flow *f = flow_of(pe);
    if (!f) return;
    mesh_path_extend(&f->thread[thread],
                     (unsigned)f->maps >> thread & 1U ? MESH_PART_SCALAR : MESH_PART_COMPUTE, end);
    if (thread == 0)
        f->main = f->thread[0];
    else if ((unsigned)f->enables >> thread & 1U)
        f->enabled = f->thread[thread];
}

/* ---- the end --------------------------------------------------------------------------------- */

static void take_later(struct mesh_watch_path *best, const struct mesh_watch_path *p)
{
    if (is_later(p, best)) *best = *p;
}

void mesh_path_end(struct mesh *m)
{
    struct mesh_watch *w = m->watch;
    for (int64_t i = 0; i < w->n_pes; i++) {
        const struct mesh_watch_flow *f = w->flow[i];
        if (!f) continue;
        take_later(&w->end, &f->main);
        for (int k = 0; k <= MESH_THREADS; k++)
            take_later(&w->end, &f->thread[k]);
    }
    for (int i = 0; i < w->n_sinks; i++)
        take_later(&w->end, &w->sink[i]);
    for (int i = 0; i < w->n_sources; i++)
        take_later(&w->end, &w->source[i]);
    /* a task without requests takes one cycle */
    if (w->end.at < w->cycles) mesh_path_extend(&w->end, MESH_PART_SCALAR, w->cycles);
}

/* The path that @p p took over from a wavelet; NULL at cycle 0, and where the ring of legs was
 * overwritten. */
static const struct mesh_watch_path *before(const struct mesh_watch *w,
                                            const struct mesh_watch_path *p)
{
    if (p->pe < 0 || !p->leg) return NULL;
    const struct mesh_watch_flow *f = w->flow[p->pe];
    if (f->n_legs - p->leg >= f->leg_capacity) return NULL;
    return &f->leg[(p->leg - 1) % f->leg_capacity];
}

/* The leg from the end of @p from (NULL: cycle 0) to the end of @p to. */
static struct mesh_leg leg_between(const struct mesh_watch *w, const struct mesh_watch_path *from,
                                   const struct mesh_watch_path *to)
{
    struct mesh_leg leg = {.x = -1, .y = -1, .to = to->at};
    if (to->pe >= 0) {
        leg.x = to->pe % w->w;
        leg.y = to->pe / w->w;
    }
    if (from) leg.from = from->at;
    for (int i = 0; i < MESH_PARTS; i++)
        leg.part[i] = to->part[i] - (from ? from->part[i] : 0);
    return leg;
}

static bool is_complete(const struct mesh_watch_path *p)
{
    return p->pe < 0 || !p->leg;
}

enum wsc_err mesh_watch_critical(const struct mesh_watch *w, int max_legs, struct mesh_critical *c,
                                 struct mesh_leg **leg, int *n_legs)
{
    const struct mesh_watch_path *p = &w->end;
    WSC_CHECK(w->done && w->config.causes, "a watch without causes, or a run that has not ended");
    *c = (struct mesh_critical){.cycles = w->cycles};
    for (int i = 0; i < MESH_PARTS; i++)
        c->part[i] = w->end.part[i];
    int n = 0;
    for (; before(w, p) && n < max_legs; p = before(w, p))
        n++;
    if (n < max_legs && is_complete(p)) n++; /* the leg that begins in cycle 0 */
    *n_legs = n;
    TRY_NEW(*leg, WSC_MEM_MESH, n);
    p = &w->end;
    for (int i = n - 1; i >= 0; i--, p = before(w, p))
        (*leg)[i] = leg_between(w, before(w, p), p);
    c->complete = n && (*leg)[0].from == 0;
    return WSC_OK;
}
