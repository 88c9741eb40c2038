// SPDX-License-Identifier: Apache-2.0
/* Observes a run: counts of every PE and router by state, the peaks of queues, and the pictures
 * made of them. The fabric calls the hooks when a watch is attached; watch_path.c keeps the
 * critical path and watch_trace.c the events. */
#include "mesh_watch.h"
#include "mesh_queue.h"
#include "mesh_state.h"
#include "watch_path.h"
#include "watch_state.h"
#include "watch_trace.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

enum { LEG_BYTES = 1 << 29, MIN_LEGS = 8, MAX_LEGS = 1 << 16 };

struct mesh_label mesh_pe_state_label(enum mesh_pe_state state)
{
    static const struct mesh_label label[] = {
        [MESH_PE_COMPUTES] = {"compute", "compute"},
        [MESH_PE_SCALAR] = {"scalar", "scalar code"},
        [MESH_PE_SETS_UP] = {"set_up", "set-up"},
        [MESH_PE_WAITS_FOR_OUT] = {"wait_for_output", "waits for output"},
        [MESH_PE_WAITS_FOR_IN] = {"wait_for_input", "waits for input"},
        [MESH_PE_IDLE] = {"idle", "idle"},
    };
    return label[state];
}

struct mesh_label mesh_part_label(enum mesh_part part)
{
    static const struct mesh_label label[] = {
        [MESH_PART_COMPUTE] = {"compute", "compute"},
        [MESH_PART_SETUP] = {"set_up", "set-up"},
        [MESH_PART_SCALAR] = {"scalar", "scalar code"},
        [MESH_PART_RAMP] = {"ramp", "ramps"},
        [MESH_PART_HOPS] = {"hops", "hops"},
        [MESH_PART_QUEUES] = {"queues", "queues"},
        [MESH_PART_EDGE] = {"edge", "edge"},
    };
    return label[part];
}

/* ---- one run --------------------------------------------------------------------------------- */

enum wsc_err mesh_watch_create(struct mesh_watch **out, const struct mesh_watch_config *config)
{
    struct mesh_watch *w;
    *out = NULL;
    TRY_NEW(w, WSC_MEM_MESH, 1);
    w->config = *config;
    w->rect = wsc_alloc(WSC_MEM_MESH, (size_t)config->n_trace, sizeof *w->rect);
    if (!w->rect) {
        wsc_free(w);
        return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "an observer");
    }
    for (int i = 0; i < config->n_trace; i++)
        w->rect[i] = config->trace[i];
    w->config.trace = w->rect;
    w->follows = config->causes || config->n_trace;
    *out = w;
    return WSC_OK;
}

/* Free the observations of the previous run; the observer and its configuration are kept. */
void mesh_watch_forget(struct mesh_watch *w)
{
    for (int64_t i = 0; w->flow && i < w->n_pes; i++)
        mesh_watch_flow_free(w->flow[i]);
    mesh_trace_free(w);
    void *const owned[] = {w->pe, w->router, w->pushed, w->origin, w->flow, w->source, w->sink};
    for (int i = 0; i < (int)(sizeof owned / sizeof *owned); i++)
        wsc_free(owned[i]);
    *w = (struct mesh_watch){.config = w->config,
                             .rect = w->rect,
                             .follows = w->follows,
                             .program = w->program,
                             .n_programs = w->n_programs};
}

void mesh_watch_destroy(struct mesh_watch **watch)
{
    struct mesh_watch *w = *watch;
    if (!w) return;
    mesh_watch_forget(w);
    wsc_free(w->rect);
    wsc_free(w);
    *watch = NULL;
}

void mesh_watch_attach(struct mesh *m, struct mesh_watch *w)
{
    m->watch = w;
}

/* Counts are always kept. Paths, and the slots that accompany wavelets, are kept only when causes
 * or traces are wanted. */
enum wsc_err mesh_watch_allocate(struct mesh_watch *w)
{
    TRY_NEW(w->pe, WSC_MEM_MESH, w->n_pes);
    TRY_NEW(w->router, WSC_MEM_MESH, w->n_pes);
    TRY_NEW(w->pushed, WSC_MEM_MESH, w->n_channels * MESH_FIFO);
    if (!w->follows) return WSC_OK;
    TRY_NEW(w->origin, WSC_MEM_MESH, w->n_channels * MESH_FIFO);
    TRY_NEW(w->flow, WSC_MEM_MESH, w->n_pes);
    TRY_NEW(w->source, WSC_MEM_MESH, w->n_sources);
    TRY_NEW(w->sink, WSC_MEM_MESH, w->n_sinks);
    return WSC_OK;
}

void mesh_watch_of(struct mesh_watch *w, int program, int n)
{
    w->program = program;
    w->n_programs = n;
}

int mesh_watch_programs(const struct mesh_watch *w, int *program)
{
    *program = w->program;
    return w->n_programs ? w->n_programs : 1;
}

enum wsc_err mesh_watch_begin(struct mesh *m)
{
    struct mesh_watch *w = m->watch;
    mesh_watch_forget(w);
    w->w = m->config.w;
    w->h = m->config.h;
    for (int q = 0; q < MESH_N_IN; q++)
        w->in_depth[q] = (uint8_t)mesh_queue_depth(m, q);
    for (int q = 0; q < MESH_N_OUT; q++)
        w->out_depth[q] = (uint8_t)mesh_queue_depth(m, MESH_N_IN + q);
    w->n_pes = m->n_pes;
    w->n_channels = m->n_channels;
    w->n_sources = m->n_sources;
    w->n_sinks = m->n_sinks;
    int64_t legs = LEG_BYTES / (int64_t)sizeof(struct mesh_watch_path) / w->n_pes;
    w->max_legs = (uint32_t)(legs < MIN_LEGS ? MIN_LEGS : legs > MAX_LEGS ? MAX_LEGS : legs);
    TRY(mesh_watch_allocate(w));
    for (int64_t i = 0; i < w->n_pes; i++)
        w->pe[i].traced = -1;
    return mesh_trace_begin(m);
}

/* Count the cycles up to @p until that are not classified yet as @p state. */
static void charge(struct mesh_watch_pe *p, enum mesh_pe_state state, int64_t until)
{
    if (until <= p->seen) return;
    p->counts.cycles[state] += (int32_t)until - p->seen;
    p->seen = (int32_t)until;
    if (state != MESH_PE_IDLE) p->active_until = p->seen;
}

/* ---- routers --------------------------------------------------------------------------------- */

/* Index of a slot of a channel. Entries from the head on belong to the router, the tail to the
 * sender. */
static int64_t slot_of(const struct mesh *m, const struct mesh_channel *ch, int slot)
{
    return (ch - m->channel) * MESH_FIFO + slot;
}

/* Update the peak of a router's queues. A wavelet that entered in this cycle counts from the next
 * one on. */
void mesh_watch_channel(struct mesh *m, int64_t now, int64_t router, const struct mesh_channel *ch)
{
    struct mesh_watch *w = m->watch;
    struct mesh_router_counts *c = &w->router[router].counts;
    int n = watch_channel_count(ch),
        newest = (watch_channel_head(ch) + n + MESH_FIFO - 1) % MESH_FIFO;
    n -= n && w->pushed[slot_of(m, ch, newest)] == (uint32_t)(now + 1);
    if (n > c->peak) c->peak = (uint8_t)n;
}

void mesh_watch_held(struct mesh *m, int64_t now, int64_t router, int colour)
{
    struct mesh_watch_router *r = &m->watch->router[router];
    if (!r->held) r->held_since = (int32_t)now;
    r->held |= 1U << colour;
}

void mesh_watch_left(struct mesh *m, int64_t now, int64_t router, int colour)
{
    struct mesh_watch_router *r = &m->watch->router[router];
    if (!(r->held >> colour & 1U)) return;
    r->held &= ~(1U << colour);
    if (!r->held) r->counts.held += (int32_t)now - r->held_since;
}

static struct mesh_watch_origin *first_of(const struct mesh *m, const struct mesh_channel *ch)
{
    return &m->watch->origin[slot_of(m, ch, watch_channel_head(ch))];
}

/* The record for the wavelet that is about to enter @p ch; notes the cycle in which it enters.
 * NULL when wavelets are not followed. */
static struct mesh_watch_origin *next_of(const struct mesh *m, int64_t now,
                                         const struct mesh_channel *ch)
{
    int64_t slot = slot_of(m, ch, watch_channel_tail(ch));
    m->watch->pushed[slot] = (uint32_t)(now + 1);
    return m->watch->follows ? &m->watch->origin[slot] : NULL;
}

/* A wavelet crosses link @p d: it takes its origin along into the slot of the next channel,
 * charged with the cycles it waited here and those of the hop. At a sink its path ends. */
void mesh_watch_side(struct mesh *m, int64_t now, int64_t router, const struct mesh_channel *ch,
                     int d)
{
    struct mesh_watch *w = m->watch;
    int32_t to = ch->to[d - 1];
    struct mesh_watch_origin out, *o = &out;
    if (to >= 0) o = next_of(m, now, &m->channel[to]);
    w->router[router].counts.used[d]++;
    if (!w->follows || !o) return;
    *o = *first_of(m, ch);
    mesh_trace_wavelet(m, now, router, WATCH_ROW_LINK + d, ch->colour,
                       ch->entry[watch_channel_head(ch)], o);
    mesh_path_extend(&o->path, MESH_PART_QUEUES, now);
    mesh_path_extend(&o->path, MESH_PART_HOPS, now + (to >= 0 ? m->hop : 1));
    if (to < 0) w->sink[MESH_OFF_FABRIC - 1 - to] = o->path;
}

/* Copy the origin of a wavelet to slot @p slot of the input queue, when it goes down the ramp. */
static void put_down(struct mesh *m, int64_t now, int64_t router, const struct mesh_channel *ch,
                     int slot)
{
    struct mesh_watch *w = m->watch;
    struct mesh_watch_flow *f = mesh_watch_flow(w, router);
    struct mesh_watch_origin *in = f ? mesh_watch_slot(w, &f->in[ch->queue], slot) : NULL;
    if (!in) return;
    *in = *first_of(m, ch);
    mesh_path_extend(&in->path, MESH_PART_QUEUES, now);
    mesh_path_extend(&in->path, MESH_PART_RAMP, now + m->ramp_down);
    mesh_trace_wavelet(m, now, router, WATCH_ROW_DOWN, ch->colour,
                       ch->entry[watch_channel_head(ch)], in);
}

void mesh_watch_down(struct mesh *m, int64_t now, int64_t router, const struct mesh_channel *ch)
{
    struct mesh_watch *w = m->watch;
    const struct mesh_queue *q = watch_in(&m->pe[router], ch->queue);
    uint8_t *peak = &w->pe[router].counts.peak_in[ch->queue];
    w->router[router].counts.used[0]++;
    if (q->n >= *peak) *peak = (uint8_t)(q->n + 1);
    if (w->follows) put_down(m, now, router, ch, watch_queue_tail(q));
}

/* A wavelet of an edge source begins a path: the time until it could enter at one wavelet a cycle
 * is that of the edge. */
void mesh_watch_enters(struct mesh *m, int64_t now, const struct mesh_source *s,
                       const struct mesh_channel *to)
{
    struct mesh_watch_origin *o = next_of(m, now, to);
    if (!o) return;
    struct mesh_watch_path *last = &m->watch->source[s - m->source];
    *o = (struct mesh_watch_origin){.path.pe = -1, .traced = -1, .event = -1};
    mesh_path_extend(&o->path, MESH_PART_EDGE, s->next - 1);
    mesh_path_extend(&o->path, MESH_PART_QUEUES, now);
    *last = o->path;
    mesh_path_extend(last, MESH_PART_EDGE, now + 1);
    mesh_path_extend(&o->path, MESH_PART_HOPS, now + m->hop);
}

/* ---- PEs ------------------------------------------------------------------------------------- */

/* The observations of the PE. */
static struct mesh_watch_pe *watched(const struct mesh_pe *pe)
{
    return &watch_mesh(pe)->watch->pe[pe->index];
}

void mesh_watch_up(struct mesh_pe *pe, int queue, const struct mesh_channel *to)
{
    struct mesh *m = watch_mesh(pe);
    const int64_t now = watch_now(pe);
    const struct mesh_queue *q = watch_out(pe, queue);
    struct mesh_watch_origin *o = next_of(m, now, to);
    struct mesh_watch_flow *f = o ? mesh_watch_flow(m->watch, pe->index) : NULL;
    if (!f || !f->out[queue]) return;
    *o = f->out[queue][q->head];
    mesh_trace_wavelet(m, now, pe->index, WATCH_ROW_UP, q->colour, q->entry[q->head], o);
    mesh_path_extend(&o->path, MESH_PART_QUEUES, now);
    mesh_path_extend(&o->path, MESH_PART_RAMP, now + m->ramp_up);
}

void mesh_watch_task(struct mesh_pe *pe, int id, int queue)
{
    watched(pe)->did |= WATCH_TASK;
    if (!watch_mesh(pe)->watch->follows) return;
    mesh_path_task(pe, queue);
    mesh_trace_task(pe, id, queue);
}

void mesh_watch_wait(struct mesh_pe *pe)
{
    if (!watch_mesh(pe)->watch->follows) return;
    mesh_path_wait(pe);
    mesh_trace_wait(pe);
}

void mesh_watch_join(struct mesh_pe *pe, int thread)
{
    if (watch_mesh(pe)->watch->follows) mesh_path_join(pe, thread);
}

void mesh_watch_op(struct mesh_pe *pe, const struct mesh_thread *op)
{
    if (!watch_mesh(pe)->watch->follows) return;
    mesh_path_op(pe, op);
    mesh_trace_op(pe, op);
}

void mesh_watch_element(struct mesh_pe *pe, int thread)
{
    const struct mesh_thread *t = watch_thread(pe, thread);
    struct mesh_watch_pe *p = watched(pe);
    p->did |= WATCH_COMPUTED;
    if (t->out != MESH_NONE && watch_out(pe, t->out)->n >= p->counts.peak_out[t->out])
        p->counts.peak_out[t->out] = (uint8_t)(watch_out(pe, t->out)->n + 1);
    if (watch_mesh(pe)->watch->follows) mesh_path_element(pe, thread);
}

void mesh_watch_arrival(struct mesh_pe *pe, int thread)
{
    if (!watch_mesh(pe)->watch->follows) return;
    mesh_path_arrival(pe, thread);
    mesh_trace_arrival(pe, thread);
}

void mesh_watch_crowded(struct mesh_pe *pe, int thread)
{
    struct mesh_watch *w = watch_mesh(pe)->watch;
    struct mesh_watch_flow *f = w->follows ? mesh_watch_flow(w, pe->index) : NULL;
    if (f) f->crowded[thread]++;
}

void mesh_watch_memory(struct mesh_pe *pe, int thread)
{
    bool scalar = mesh_is_map(watch_code(watch_thread(pe, thread)));
    watched(pe)->did |= scalar ? WATCH_SCALAR : WATCH_COMPUTED;
}

void mesh_watch_op_end(struct mesh_pe *pe, int thread, int64_t end)
{
    if (!watch_mesh(pe)->watch->follows) return;
    mesh_path_op_end(pe, thread, end);
    mesh_trace_op_end(pe, thread, end);
}

/* The cycle from which an operation has the wavelet that it needs. */
static int64_t has_input_from(const struct mesh_pe *pe, const struct mesh_thread *t)
{
    if (t->in == MESH_NONE) return 0;
    const struct mesh_queue *q = watch_in(pe, t->in);
    uint64_t entry = q->entry[q->head];
    return !q->n || entry & MESH_CONTROL_BIT ? INT64_MAX : mesh_entry_ready(entry);
}

static void lower(int64_t *until, int64_t cycle, int64_t to)
{
    if (to > cycle && to < *until) *until = to;
}

/* The state of thread @p t in @p cycle; @p until is lowered to the cycle in which this state
 * changes by itself. */
static enum mesh_pe_state thread_state(const struct mesh_pe *pe, const struct mesh_thread *t,
                                       int64_t cycle, int64_t *until)
{
    if (mesh_trigger_waits(t) && has_input_from(pe, t) == INT64_MAX) return MESH_PE_IDLE;
    lower(until, cycle, t->ready_at);
    if (t->ready_at > cycle) return MESH_PE_SETS_UP;
    if (!watch_is_fabric(t)) return mesh_is_map(watch_code(t)) ? MESH_PE_SCALAR : MESH_PE_COMPUTES;
    int64_t input = has_input_from(pe, t);
    lower(until, cycle, input);
    return input > cycle ? MESH_PE_WAITS_FOR_IN : MESH_PE_WAITS_FOR_OUT;
}

/* The state of a PE in @p cycle if it executes no element. */
static enum mesh_pe_state waiting_state(const struct mesh_pe *pe, int64_t cycle, int64_t *until)
{
    enum mesh_pe_state state = pe->waits_until > cycle ? MESH_PE_SCALAR : MESH_PE_IDLE;
    lower(until, cycle, pe->waits_until);
    for (unsigned set = pe->threads; set; set &= set - 1) {
        enum mesh_pe_state its =
            thread_state(pe, watch_thread(pe, __builtin_ctz(set)), cycle, until);
        if (its < state) state = its;
    }
    return state;
}

/* Classify the cycles up to @p until in which the PE was not visited. */
static void charge_sleep(struct mesh_watch_pe *p, const struct mesh_pe *pe, int64_t until)
{
    while (p->seen < until) {
        int64_t end = until;
        enum mesh_pe_state state = waiting_state(pe, p->seen, &end);
        charge(p, state, end);
    }
}

void mesh_watch_advance_switch(struct mesh_pe *pe)
{
    charge_sleep(watched(pe), pe, watch_now(pe));
}

void mesh_watch_cycle(struct mesh_pe *pe)
{
    struct mesh_watch_pe *p = watched(pe);
    int64_t now = watch_now(pe), end = now + 1;
    enum mesh_pe_state state = waiting_state(pe, now, &end);
    if (p->did & WATCH_SCALAR && state > MESH_PE_SCALAR) state = MESH_PE_SCALAR;
    if (p->did & WATCH_TASK && state == MESH_PE_IDLE) state = MESH_PE_SCALAR;
    if (p->did & WATCH_COMPUTED) state = MESH_PE_COMPUTES;
    charge(p, state, now + 1);
    p->did = 0;
}

/* Remove cycles that were counted after the end of the run @p end: they can only be idle or the
 * set-up of an operation without elements. */
static void uncharge(struct mesh_watch_pe *p, int64_t end)
{
    int32_t over = p->seen - (int32_t)end, idle = p->seen - p->active_until;
    if (over <= 0) return;
    if (idle > over) idle = over;
    p->counts.cycles[MESH_PE_IDLE] -= idle;
    p->counts.cycles[MESH_PE_SETS_UP] -= over - idle;
}

enum wsc_err mesh_watch_settle(struct mesh *m, int64_t cycles)
{
    struct mesh_watch *w = m->watch;
    w->cycles = cycles;
    for (int64_t i = 0; i < w->n_pes; i++) {
        if (!mesh_is_own(&m->pe[i])) continue;
        charge_sleep(&w->pe[i], &m->pe[i], w->cycles);
        uncharge(&w->pe[i], w->cycles);
    }
    return w->failed ? WSC_RAISE(WSC_NOMEM, "mesh: no memory to watch this run") : WSC_OK;
}

void mesh_watch_finish(struct mesh *m)
{
    struct mesh_watch *w = m->watch;
    if (w->follows) mesh_path_end(m);
    mesh_trace_finish(m);
    w->done = true;
}

/* ---- results --------------------------------------------------------------------------------- */

int64_t mesh_watch_cycles(const struct mesh_watch *w)
{
    return w->done ? w->cycles : -1;
}

void mesh_watch_counts(const struct mesh_watch *w, int x, int y, struct mesh_pe_counts *pe,
                       struct mesh_router_counts *router)
{
    WSC_CHECK(w->done && x >= 0 && y >= 0 && x < w->w && y < w->h, "PE (%d, %d)", x, y);
    *pe = w->pe[(int64_t)y * w->w + x].counts;
    *router = w->router[(int64_t)y * w->w + x].counts;
}

void mesh_watch_sum(const struct mesh_watch *w, int64_t cycles[static MESH_PE_STATES])
{
    WSC_CHECK(w->done, "the run has not ended");
    memset(cycles, 0, MESH_PE_STATES * sizeof *cycles);
    for (int64_t i = 0; i < w->n_pes; i++)
        for (int s = 0; s < MESH_PE_STATES; s++)
            cycles[s] += w->pe[i].counts.cycles[s];
}

const char *mesh_view_name(enum mesh_view view)
{
    static const char *const name[] = {
        "PE computes, % of cycles", "busiest output of the router, % of cycles",
        "router holds a wavelet back, % of cycles", "fullest queue at its peak, % of its depth"};
    return name[view];
}

/* The fullest queue of PE and router @p i at its peak, as a fraction of its depth. */
static double fullest(const struct mesh_watch *w, int64_t i)
{
    const struct mesh_pe_counts *c = &w->pe[i].counts;
    double share = (double)w->router[i].counts.peak / MESH_FIFO;
    for (int q = 0; q < MESH_N_IN; q++) {
        double in = (double)c->peak_in[q] / w->in_depth[q];
        if (in > share) share = in;
    }
    for (int q = 0; q < MESH_N_OUT; q++) {
        double out = (double)c->peak_out[q] / w->out_depth[q];
        if (out > share) share = out;
    }
    return share;
}

/* Cycles in which the busiest output of a router was used. */
static int32_t busiest(const struct mesh_router_counts *c)
{
    int32_t most = 0;
    for (int d = 0; d < 5; d++)
        if (c->used[d] > most) most = c->used[d];
    return most;
}

void mesh_watch_view(const struct mesh_watch *w, enum mesh_view view, float *percent)
{
    double cycles = w->cycles ? (double)w->cycles : 1;
    WSC_CHECK(w->done, "the run has not ended");
    for (int64_t i = 0; i < w->n_pes; i++) {
        const struct mesh_router_counts *r = &w->router[i].counts;
        double share = view == MESH_VIEW_COMPUTE ? w->pe[i].counts.cycles[MESH_PE_COMPUTES] / cycles
                       : view == MESH_VIEW_LINK  ? busiest(r) / cycles
                       : view == MESH_VIEW_HELD  ? r->held / cycles
                                                 : fullest(w, i);
        percent[i] = (float)(100 * share);
    }
}
