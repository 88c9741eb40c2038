/** What the files of timeline share: the graph of events, the machine that is walked. */
#ifndef WSC_TIMELINE_IMPL_H
#define WSC_TIMELINE_IMPL_H
#include <wsc/cluster.h>
#include <wsc/timeline.h>

/* ---- the graph ------------------------------------------------------------------------------- */

/* What takes the time between an event and one that it waited for. */
enum timeline_part {
    PART_NONE,      /* nothing: it only waits */
    PART_COMPUTE,   /* kernels */
    PART_STAGE,     /* start of a stage */
    PART_DRAIN,     /* from the edge of the wafer inwards */
    PART_SPILL,     /* activations to and from their servers */
    PART_INPUT,     /* samples */
    PART_WEIGHTS,   /* bytes on a link, downwards */
    PART_GRADIENTS, /* bytes on a link, upwards */
    PART_ADD,       /* addition in a SwarmX node */
    PART_LATENCY,   /* links and nodes */
    PART_UPDATE,    /* the optimizer */
    PART_N
};
extern const char *const timeline_part_name[PART_N];

/* Wait for event @p from, then let @p delay_ps pass. */
struct edge {
    int32_t from;
    int32_t part;
    int64_t delay_ps;
};
struct event {
    int64_t ps;
    int32_t cause;    /* the event that it waited for longest; -1: where the graph begins */
    int32_t part;     /* of the time in between */
    int32_t role;     /* whose event it is */
    int32_t transfer; /* of the step's plan; -1: none */
};
struct graph {
    struct event *event; /* owned */
    int32_t n, size;
    int32_t first_new; /* events before it are from the step before */
    bool keep_edges;
    struct edge *edge; /* owned; of events from first_new on, one after the other */
    int64_t n_edges, edges_size;
    int64_t *edge_end; /* owned; of event first_new + i */
    int32_t ends_size;
    enum wsc_err rc; /* the first failure; events are then no longer added */
};
/* Whose event, about what. */
struct label {
    int32_t role, transfer;
};
/* Add the event that waits for all of @p in; returns its number. */
int32_t timeline_event(struct graph *g, struct label label, const struct edge *in, int n);
/* Keep of the graph what lies after @p ps and what it waited for longest; @p live are the numbers
 * in use, rewritten. */
enum wsc_err timeline_graph_cut(struct graph *g, int64_t ps, int32_t **live,
                                int64_t n_live) WSC_CHECKED;
void timeline_graph_fini(struct graph *g);

static inline int64_t timeline_ps(const struct graph *g, int32_t event)
{
    return g->event[event].ps;
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* A parent and a child, three links between them. */
struct joint {
    int32_t parent, child; /* roles */
    int64_t rate, latency_ps, up_rate, up_latency_ps;
    int32_t down_free, up_free;   /* events */
    int32_t first, last;          /* weights at the child */
    int32_t up_first, up_last;    /* sums at the parent */
    int32_t credit;               /* at the parent */
    struct timeline_link load[2]; /* of the step: down, up */
};
/* What a viewer draws: a bar on the row of a role. */
enum slice_kind { SLICE_DOWN, SLICE_STAGE, SLICE_UP, SLICE_UPDATE };
struct slice {
    int32_t role, transfer; /* transfer -1: the update */
    int32_t kind;
    int32_t step;
    int64_t begin_ps, end_ps, bytes;
};
struct timeline {
    struct cluster *cluster; /* owned */
    struct comm *comm;       /* owned */
    struct model *by_part;   /* owned: the same model, a stage for each part of a block */
    struct cycles_plan plan;
    struct stream_batch batch;
    struct stream_window *window; /* owned */
    uint64_t seed;
    bool update_waits; /* for the norm, or for sums over whole tensors */
    int n_rounds;      /* of such sums */
    int64_t round_bytes[MEMORYX_MAX_ROUNDS];
    struct graph graph;

    int n_joints;
    struct joint *joint;   /* owned: shards and the top, then nodes 1 .., then wafers */
    int32_t *wafer_now;    /* owned, n_wafers */
    int64_t *fed;          /* owned, n_wafers: samples of the step so far */
    int32_t *ready;        /* owned, shards x stages: weights are updated */
    int32_t *arrived;      /* owned, shards x stages: gradient is complete */
    int32_t *credit;       /* owned, shards x transfers of a step */
    int32_t *updating;     /* owned, n_shards */
    int32_t *peer_free[2]; /* owned, n_shards: links to and from shard 0 */
    int32_t *scratch;      /* owned, for lists of events */
    struct edge *edges;    /* owned, for the events that wait for many */

    int32_t step_start, step_end; /* events */
    int slowest;                  /* wafer */
    int64_t step;                 /* being walked */
    bool tracing;
    struct slice *slice; /* owned */
    int64_t n_slices, slices_size;

    struct memoryx_batch *measured; /* owned: the run of the roles, by step */
    int n_measured;
};

/* step.c: walk step t->step from t->step_start. */
enum wsc_err timeline_walk_step(struct timeline *t);
/* slices.c */
void timeline_slice(struct timeline *t, const struct slice *s);
/* "layers.3 backward, micro-batch 2" */
void timeline_transfer_name(const struct timeline *t, int32_t transfer, char *text, int size);
static inline struct model_transfer timeline_transfer(const struct timeline *t, int32_t transfer)
{
    return model_transfer_at(t->cluster->model,
                             transfer % model_n_transfers(t->cluster->model, true));
}
#endif
