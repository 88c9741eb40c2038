/** State of an observer, and its access to the machine. The state of a PE or its router is written
 *  only while that PE or router is visited; the state of a wavelet is written by the sender into
 * the slot that the wavelet itself takes. */
#ifndef WSC_MESH_WATCH_STATE_H
#define WSC_MESH_WATCH_STATE_H
#include "mesh_channel.h"
#include "mesh_queue.h"
#include "mesh_state.h"
#include "region.h"

#include <wsc/mesh.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A breakdown of the time up to cycle @c at; the parts add up to it. */
struct mesh_watch_path {
    int32_t at;
    int32_t part[MESH_PARTS];
    int32_t pe;   /* PE whose legs `leg` counts; -1: the edge */
    uint32_t leg; /* number of the last wavelet for which it waited, from 1; 0: none yet */
};

/* What is recorded with a wavelet: the path to its arrival, and its last event in a trace. */
struct mesh_watch_origin {
    struct mesh_watch_path path;
    int32_t traced, event; /* traced PE and its event, or -1 */
};

/* The paths at a PE: to the current task, to what enables the next one, and to each thread. `leg`
 * is a ring of the paths of the wavelets for which the PE waited. */
struct mesh_watch_flow {
    struct mesh_watch_path main, enabled, thread[MESH_THREADS + 1];
    int32_t crowded[MESH_THREADS + 1]; /* cycles in which other threads used the datapath */
    uint16_t maps, enables; /* sets of threads: running maps; whose end lets others continue */
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
    uint8_t did;          /* state in this cycle */
    int32_t traced;       /* index in the trace, or -1 */
};

struct mesh_watch_router {
    struct mesh_router_counts counts;
    uint32_t held; /* colours whose first wavelet cannot leave */
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
    int32_t traced, from; /* previous event of the same wavelet, or -1 */
};
struct mesh_watch_trace {
    struct mesh_watch_event *event; /* owned */
    int32_t pe, n, capacity;
    int32_t cut; /* cycle of the first event that was left out, or INT32_MAX */
    struct mesh_watch_event op[MESH_THREADS + 1]; /* operations in progress */
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
    int program, n_programs; /* of an operation; n_programs 0: not stated */
    bool follows, done;
    bool failed; /* out of memory; atomic */
    int64_t n_pes, n_channels;
    struct mesh_watch_pe *pe;
    struct mesh_watch_router *router;
    uint32_t *pushed; /* for each slot of a channel: 1 + the cycle in which its wavelet entered,
                       * read only in that cycle; over a border none enters within a cycle */
    struct mesh_watch_origin *origin; /* MESH_FIFO slots for each channel */
    struct mesh_watch_flow **flow;
    struct mesh_watch_path *source, *sink; /* of the last wavelet over an edge */
    int n_sources, n_sinks;
    uint32_t max_legs; /* kept for each PE */
    struct mesh_watch_path end;
    struct mesh_watch_trace *trace; /* of each traced PE, by index */
    int n_traced;
    int32_t max_events; /* kept for each PE */
    int32_t trace_cut;  /* from this cycle on events are left out, or INT32_MAX */
};

/* Extend path @p p to the start of cycle @p until and count the additional time as @p part. */
static inline void mesh_path_extend(struct mesh_watch_path *p, enum mesh_part part, int64_t until)
{
    p->part[part] += (int32_t)until - p->at;
    p->at = (int32_t)until;
}
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
/* Slot that the next wavelet will enter. */
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
#endif
