/** What the emulator shows an observer: one line at each place where something happens.
 *
 *  A hook (mesh_see_...) tests one pointer and is nothing else when nobody watches; what it means
 * is in mesh_watch.c (counts), watch_path.c (causes) and watch_trace.c (events).  What belongs to a
 * PE or its router is written in that PE's or router's turn alone; what travels with a wavelet is
 * written by the sender into the slot that the wavelet itself takes.
 */
#ifndef WSC_MESH_WATCH_STATE_H
#define WSC_MESH_WATCH_STATE_H
#include "mesh_impl.h"

/* How the time up to cycle @c at was spent: the parts add up to it. */
struct mesh_watch_path {
    int32_t at;
    int32_t part[MESH_PARTS];
    int32_t pe;   /* whose legs `leg` counts; -1: the edge */
    uint32_t leg; /* number of the last wavelet that PE waited for, from 1; 0: since cycle 0 */
};

/* What travels with a wavelet: the path to its arrival, and the last event told of it. */
struct mesh_watch_origin {
    struct mesh_watch_path path;
    int32_t traced, event; /* traced PE and its event, or -1 */
};

/* What a PE does next, and when that became possible: its tasks, what activates them, its threads.
 * legs is a ring: the wavelets it waited for, as they arrived. */
struct mesh_watch_flow {
    struct mesh_watch_path main, enabled, thread[MESH_THREADS + 1];
    int32_t crowded[MESH_THREADS + 1]; /* cycles in which others had the datapath */
    uint16_t maps, enables; /* sets of threads: MESH_MAP; others may continue at the end */
    struct mesh_watch_origin *in[MESH_N_IN], *out[MESH_N_OUT]; /* owned; MESH_QUEUE slots each */
    struct mesh_watch_path *leg;                               /* owned */
    uint32_t n_legs, leg_capacity;
};

enum { MESH_QUEUE = 16 };
enum mesh_watch_did { WATCH_COMPUTED = 1, WATCH_SCALAR = 2, WATCH_TASK = 4 };

struct mesh_watch_pe {
    struct mesh_pe_counts counts;
    int32_t seen;         /* cycles classified so far */
    int32_t active_until; /* end of the last one that was not idle */
    uint8_t did;          /* in this cycle */
    int32_t traced;       /* index in the trace, or -1 */
};

struct mesh_watch_router {
    struct mesh_router_counts counts;
    uint32_t held; /* colours with a wavelet that is held back */
    int32_t held_since;
};

enum mesh_watch_kind { WATCH_EVENT_TASK, WATCH_EVENT_OP, WATCH_EVENT_WAIT, WATCH_EVENT_WAVELET };
/* Rows of a traced PE; the links follow in the order of the directions. */
enum {
    WATCH_ROW_MAIN = 0,
    WATCH_ROW_UP = MESH_THREADS + 1,
    WATCH_ROW_DOWN,
    WATCH_ROW_LINK = WATCH_ROW_DOWN, /* + direction 1 .. 4 */
    WATCH_N_ROWS = WATCH_ROW_LINK + 5
};
struct mesh_watch_event {
    int32_t begin, end; /* cycles */
    uint8_t kind, row, code, in, out;
    bool control;
    uint32_t data;        /* payload, elements, task */
    int32_t traced, from; /* the event before it on the wavelet's way, or -1 */
};
struct mesh_watch_trace {
    struct mesh_watch_event *event; /* owned */
    int32_t pe, n, capacity;
    int32_t cut; /* cycle of the first event that was left out, or INT32_MAX */
    struct mesh_watch_event op[MESH_THREADS + 1]; /* under way */
    int32_t task_begin, task_end;
    int16_t task; /* the running task, -1: none */
    uint8_t task_queue;
};

struct mesh_watch {
    struct mesh_watch_config config;
    struct mesh_rect *rect; /* owned copy */
    int w, h;
    uint8_t in_depth[MESH_N_IN], out_depth[MESH_N_OUT];
    int64_t cycles;
    bool follows, done;
    bool failed; /* no memory; atomic */
    int64_t n_pes, n_channels;
    struct mesh_watch_pe *pe;
    struct mesh_watch_router *router;
    uint32_t *pushed; /* of a channel's slot: 1 + cycle in which its wavelet entered */
    struct mesh_watch_origin *origin; /* of a channel: MESH_FIFO slots */
    struct mesh_watch_flow **flow;
    struct mesh_watch_path *source, *sink; /* of the last wavelet over an edge */
    int n_sources, n_sinks;
    uint32_t max_legs; /* kept a PE */
    struct mesh_watch_path end;
    struct mesh_watch_trace *trace; /* of each traced PE, by index */
    int n_traced;
    int32_t max_events; /* kept of a PE */
    int32_t trace_cut;  /* from this cycle on events are left out, or INT32_MAX */
};

/* @p part of the time from the end of @p p to the start of cycle @p until. */
static inline void mesh_path_extend(struct mesh_watch_path *p, enum mesh_part part, int64_t until)
{
    p->part[part] += (int32_t)until - p->at;
    p->at = (int32_t)until;
}

/* ---- how the observer reads the machine: nothing else of it knows the layout ----------------- */

static inline struct mesh *watch_mesh(const struct mesh_pe *pe)
{
    return pe->region->m;
}
static inline int64_t watch_now(const struct mesh_pe *pe)
{
    return pe->region->now;
}
static inline const struct mesh_thread *watch_thread(const struct mesh_pe *pe, int thread)
{
    return mesh_thread_of(pe->region, pe, thread);
}
static inline bool watch_is_fabric(const struct mesh_thread *t)
{
    return t->flags & MESH_FABRIC;
}
static inline int watch_code(const struct mesh_thread *t)
{
    return t->code;
}
static inline const struct mesh_queue *watch_in(const struct mesh_pe *pe, int queue)
{
    return mesh_queue_of(pe, queue);
}
static inline const struct mesh_queue *watch_out(const struct mesh_pe *pe, int queue)
{
    return mesh_queue_of(pe, MESH_N_IN + queue);
}
/* Slot of the next wavelet that enters. */
static inline int watch_queue_tail(const struct mesh_queue *q)
{
    return (q->head + q->n) % q->depth;
}
static inline int watch_channel_head(const struct mesh_channel *ch)
{
    return (int)(atomic_load_explicit(&ch->gate, memory_order_relaxed) % MESH_FIFO);
}
static inline int watch_channel_tail(const struct mesh_channel *ch)
{
    return atomic_load_explicit(&ch->tail, memory_order_relaxed) % MESH_FIFO;
}
static inline int watch_channel_count(const struct mesh_channel *ch)
{
    return mesh_channel_count(ch, atomic_load_explicit(&ch->gate, memory_order_relaxed));
}

/* watch.c */
enum wsc_err mesh_watch_begin(struct mesh *m);
enum wsc_err mesh_watch_finish(struct mesh *m, int64_t cycles);
void mesh_watch_channel(struct mesh *m, int64_t now, int64_t router, const struct mesh_channel *ch);
void mesh_watch_held(struct mesh *m, int64_t now, int64_t router, int colour);
void mesh_watch_left(struct mesh *m, int64_t now, int64_t router, int colour);
void mesh_watch_side(struct mesh *m, int64_t now, int64_t router, const struct mesh_channel *ch,
                     int d);
void mesh_watch_down(struct mesh *m, int64_t now, int64_t router, const struct mesh_channel *ch);
void mesh_watch_enters(struct mesh *m, int64_t now, const struct mesh_source *s,
                       const struct mesh_channel *to);
void mesh_watch_up(struct mesh_pe *pe, int queue, const struct mesh_channel *to);
void mesh_watch_task(struct mesh_pe *pe, int id, int queue);
void mesh_watch_wait(struct mesh_pe *pe);
void mesh_watch_join(struct mesh_pe *pe, int thread);
void mesh_watch_op(struct mesh_pe *pe, const struct mesh_thread *op);
void mesh_watch_element(struct mesh_pe *pe, int thread);
void mesh_watch_crowded(struct mesh_pe *pe, int thread);
void mesh_watch_memory(struct mesh_pe *pe, int thread);
void mesh_watch_op_end(struct mesh_pe *pe, int thread, int64_t end);
void mesh_watch_turn(struct mesh_pe *pe);
void mesh_watch_cycle(struct mesh_pe *pe);

/* watch_path.c: the same events, as causes */
void mesh_watch_fail(struct mesh_watch *w);
struct mesh_watch_flow *mesh_watch_flow(struct mesh_watch *w, int64_t pe);
struct mesh_watch_origin *mesh_watch_slot(struct mesh_watch *w, struct mesh_watch_origin **queue,
                                          int slot);
void mesh_path_task(struct mesh_pe *pe, int queue);
void mesh_path_wait(struct mesh_pe *pe);
void mesh_path_join(struct mesh_pe *pe, int thread);
void mesh_path_op(struct mesh_pe *pe, const struct mesh_thread *op);
void mesh_path_element(struct mesh_pe *pe, int thread);
void mesh_path_op_end(struct mesh_pe *pe, int thread, int64_t end);
/* The path to the last thing that happened. */
void mesh_path_end(struct mesh *m);

/* watch_trace.c: the same events, as slices on rows */
enum wsc_err mesh_trace_begin(struct mesh *m);
void mesh_trace_finish(struct mesh *m);
void mesh_trace_free(struct mesh_watch *w);
/* A wavelet takes one cycle of a row of PE @p pe; @p o remembers it. */
void mesh_trace_wavelet(struct mesh *m, int64_t now, int64_t pe, int row, int colour,
                        uint64_t entry, struct mesh_watch_origin *o);
void mesh_trace_task(struct mesh_pe *pe, int id, int queue);
void mesh_trace_wait(struct mesh_pe *pe);
void mesh_trace_op(struct mesh_pe *pe, const struct mesh_thread *op);
void mesh_trace_op_end(struct mesh_pe *pe, int thread, int64_t end);

/* ---- hooks ----------------------------------------------------------------------------------- */

/* A router looks at a channel that holds a wavelet. */
static inline void mesh_see_channel(struct mesh *m, int64_t now, int64_t router,
                                    const struct mesh_channel *ch)
{
    if (m->watch) mesh_watch_channel(m, now, router, ch);
}
/* The first wavelet of a channel could go and is held back. */
static inline void mesh_see_held(struct mesh *m, int64_t now, int64_t router, int colour)
{
    if (m->watch) mesh_watch_held(m, now, router, colour);
}
/* It has left, over as many links as it had to. */
static inline void mesh_see_left(struct mesh *m, int64_t now, int64_t router, int colour)
{
    if (m->watch) mesh_watch_left(m, now, router, colour);
}
/* It leaves over the link @p d, before it is put into the next channel. */
static inline void mesh_see_side(struct mesh *m, int64_t now, int64_t router,
                                 const struct mesh_channel *ch, int d)
{
    if (m->watch) mesh_watch_side(m, now, router, ch, d);
}
/* It leaves down the ramp, before it is put into the input queue. */
static inline void mesh_see_down(struct mesh *m, int64_t now, int64_t router,
                                 const struct mesh_channel *ch)
{
    if (m->watch) mesh_watch_down(m, now, router, ch);
}
/* A wavelet enters over an edge, before it is put into the channel. */
static inline void mesh_see_enters(struct mesh *m, int64_t now, const struct mesh_source *s,
                                   const struct mesh_channel *to)
{
    if (m->watch) mesh_watch_enters(m, now, s, to);
}
/* The first wavelet of an output queue goes up the ramp, before it is put into the channel. */
static inline void mesh_see_up(struct mesh_pe *pe, int queue, const struct mesh_channel *to)
{
    if (watch_mesh(pe)->watch) mesh_watch_up(pe, queue, to);
}
/* A task begins: local task @p id, or that of the first wavelet of @p queue, which is still there.
 */
static inline void mesh_see_task(struct mesh_pe *pe, int id, int queue)
{
    if (watch_mesh(pe)->watch) mesh_watch_task(pe, id, queue);
}
/* Scalar code runs until pe->waits_until. */
static inline void mesh_see_wait(struct mesh_pe *pe)
{
    if (watch_mesh(pe)->watch) mesh_watch_wait(pe);
}
/* The task continues: @p thread is free. */
static inline void mesh_see_join(struct mesh_pe *pe, int thread)
{
    if (watch_mesh(pe)->watch) mesh_watch_join(pe, thread);
}
/* An operation has begun on its thread. */
static inline void mesh_see_op(struct mesh_pe *pe, const struct mesh_thread *op)
{
    if (watch_mesh(pe)->watch) mesh_watch_op(pe, op);
}
/* An element of an operation with a fabric operand is about to be carried out. */
static inline void mesh_see_element(struct mesh_pe *pe, int thread)
{
    if (watch_mesh(pe)->watch) mesh_watch_element(pe, thread);
}
/* It could be, but others have the datapath. */
static inline void mesh_see_crowded(struct mesh_pe *pe, int thread)
{
    if (watch_mesh(pe)->watch) mesh_watch_crowded(pe, thread);
}
/* A part of a memory operation is carried out. */
static inline void mesh_see_memory(struct mesh_pe *pe, int thread)
{
    if (watch_mesh(pe)->watch) mesh_watch_memory(pe, thread);
}
/* The operation on @p thread has ended in this cycle. */
static inline void mesh_see_op_end(struct mesh_pe *pe, int thread, int64_t end)
{
    if (watch_mesh(pe)->watch) mesh_watch_op_end(pe, thread, end);
}
/* A PE is visited in this cycle; nothing of it has changed yet. */
static inline void mesh_see_turn(struct mesh_pe *pe)
{
    if (watch_mesh(pe)->watch) mesh_watch_turn(pe);
}
/* Its turn in this cycle is over, whether it sleeps now or not. */
static inline void mesh_see_cycle(struct mesh_pe *pe)
{
    if (watch_mesh(pe)->watch) mesh_watch_cycle(pe);
}
#endif
