// SPDX-License-Identifier: Apache-2.0
/* Converts the state of an observer to bytes of a snapshot and back: counts of PEs and routers,
 * paths of the wavelets, threads and tasks in progress, and the events of traced PEs. mesh_watch.c,
 * watch_path.c and watch_trace.c keep this state; snapshot.c calls it. */
#include "snapshot_watch.h"
#include "mesh_watch.h"
#include "snapshot_stream.h"
#include "watch_path.h"
#include "watch_state.h"

#include <wsc/check.h>
#include <wsc/mem.h>

/* Upper limits of sizes in a file, tested before memory is allocated. */
enum { MOST_PES = 2048 * 2048, MOST_EDGES = 1 << 24 };

bool mesh_snapshot_has_watch(const struct mesh_watch *w)
{
    return w && w->pe;
}

static void sizes(struct mesh_stream *s, struct mesh_watch *w)
{
    MESH_STREAM(s, w->w);
    MESH_STREAM(s, w->h);
    MESH_STREAM(s, w->in_depth);
    MESH_STREAM(s, w->out_depth);
    MESH_STREAM(s, w->cycles);
    MESH_STREAM(s, w->done);
    MESH_STREAM(s, w->failed);
    MESH_STREAM(s, w->n_pes);
    MESH_STREAM(s, w->n_channels);
    MESH_STREAM(s, w->n_sources);
    MESH_STREAM(s, w->n_sinks);
    MESH_STREAM(s, w->max_legs);
    MESH_STREAM(s, w->end);
    MESH_STREAM(s, w->n_traced);
    MESH_STREAM(s, w->max_events);
    MESH_STREAM(s, w->trace_cut);
}

static bool sizes_hold(const struct mesh_watch *w, bool follows)
{
    const bool pes = w->n_pes > 0 && w->n_pes <= MOST_PES && w->n_pes == (int64_t)w->w * w->h;
    const bool channels = w->n_channels >= 0 && w->n_channels <= w->n_pes * MESH_COLOURS;
    const bool edges = w->n_sources >= 0 && w->n_sources <= MOST_EDGES && w->n_sinks >= 0 &&
                       w->n_sinks <= MOST_EDGES;
    return pes && channels && edges && w->follows == follows && w->n_traced >= 0 &&
           w->n_traced <= w->n_pes;
}

/* An array that exists or not; when it is read, it is allocated. */
static enum wsc_err optional(struct mesh_stream *s, void **array, int64_t n, size_t bytes)
{
    bool any = *array != NULL;
    MESH_STREAM(s, any);
    if (!any || s->damaged) return WSC_OK;
    if (mesh_stream_reads(s)) TRY_MEM(*array, wsc_alloc(WSC_MEM_MESH, (size_t)(n ? n : 1), bytes));
    mesh_stream_bytes(s, *array, n * (int64_t)bytes);
    return WSC_OK;
}

static enum wsc_err slots(struct mesh_stream *s, struct mesh_watch_origin **queue)
{
    WSC_CHECK(queue, "queues of no place");
    void *array = *queue;
    enum wsc_err rc = optional(s, &array, MESH_QUEUE, sizeof **queue);
    *queue = array;
    return rc;
}

static enum wsc_err flow(struct mesh_stream *s, const struct mesh_watch *w,
                         struct mesh_watch_flow *f)
{
    MESH_STREAM(s, f->main);
    MESH_STREAM(s, f->enabled);
    MESH_STREAM(s, f->thread);
    MESH_STREAM(s, f->crowded);
    MESH_STREAM(s, f->maps);
    MESH_STREAM(s, f->enables);
    MESH_STREAM(s, f->n_legs);
    MESH_STREAM(s, f->leg_capacity);
    for (int q = 0; q < MESH_N_IN; q++)
        TRY(slots(s, &f->in[q]));
    for (int q = 0; q < MESH_N_OUT; q++)
        TRY(slots(s, &f->out[q]));
    if (!mesh_stream_holds(s, f->leg_capacity <= w->max_legs)) f->leg_capacity = 0;
    void *leg = f->leg;
    enum wsc_err rc = optional(s, &leg, f->leg_capacity, sizeof *f->leg);
    f->leg = leg;
    return rc;
}

/* The paths at the PEs from @p first up to @p end. */
static enum wsc_err flows(struct mesh_stream *s, struct mesh_watch *w, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end && !s->damaged; i++) {
        bool any = w->flow[i] != NULL;
        MESH_STREAM(s, any);
        if (mesh_stream_reads(s)) {
            mesh_watch_flow_free(w->flow[i]);
            w->flow[i] = NULL;
        }
        if (!any || s->damaged) continue;
        if (mesh_stream_reads(s)) TRY_NEW(w->flow[i], WSC_MEM_MESH, 1);
        TRY(flow(s, w, w->flow[i]));
    }
    return WSC_OK;
}

static enum wsc_err trace(struct mesh_stream *s, const struct mesh_watch *w,
                          struct mesh_watch_trace *t)
{
    MESH_STREAM(s, t->pe);
    MESH_STREAM(s, t->n);
    MESH_STREAM(s, t->cut);
    MESH_STREAM(s, t->op);
    MESH_STREAM(s, t->task_begin);
    MESH_STREAM(s, t->task_end);
    MESH_STREAM(s, t->task);
    MESH_STREAM(s, t->task_queue);
    if (!mesh_stream_holds(s, t->n >= 0 && t->n <= w->max_events)) t->n = 0;
    if (mesh_stream_reads(s)) {
        t->capacity = t->n;
        wsc_free(t->event);
        t->event = NULL;
    }
    void *event = t->event;
    enum wsc_err rc = optional(s, &event, t->n, sizeof *t->event);
    t->event = event;
    return rc;
}

/* The events of the traced PEs from @p first up to @p end. */
static enum wsc_err traces(struct mesh_stream *s, const struct mesh_watch *w, int64_t first,
                           int64_t end)
{
    for (int64_t i = first; i < end && !s->damaged; i++)
        if (w->pe[i].traced >= 0) TRY(trace(s, w, &w->trace[w->pe[i].traced]));
    return WSC_OK;
}

enum wsc_err mesh_snapshot_watch_places(struct mesh_watch *w, struct mesh_stream *s, int64_t first,
                                        int64_t end)
{
    TRY(flows(s, w, first, end));
    return traces(s, w, first, end);
}

/* True when the traced PEs are numbered in order. */
static bool indices_hold(const struct mesh_watch *w)
{
    int32_t next = 0;
    for (int64_t i = 0; i < w->n_pes; i++)
        if (w->pe[i].traced != -1 && w->pe[i].traced != next++) return false;
    return next == w->n_traced;
}

enum wsc_err mesh_snapshot_watch_state(struct mesh_watch *w, struct mesh_stream *s)
{
    bool follows = w->follows;
    if (mesh_stream_reads(s)) mesh_watch_forget(w);
    sizes(s, w);
    MESH_STREAM(s, follows);
    if (mesh_stream_reads(s)) {
        if (!mesh_stream_holds(s, sizes_hold(w, follows))) {
            w->n_pes = w->n_traced = 0;
            return WSC_OK;
        }
        TRY(mesh_watch_allocate(w));
    }
    mesh_stream_bytes(s, w->pe, w->n_pes * (int64_t)sizeof *w->pe);
    mesh_stream_bytes(s, w->router, w->n_pes * (int64_t)sizeof *w->router);
    mesh_stream_bytes(s, w->pushed, w->n_channels * MESH_FIFO * (int64_t)sizeof *w->pushed);
    if (!w->follows) return WSC_OK;
    mesh_stream_bytes(s, w->origin, w->n_channels * MESH_FIFO * (int64_t)sizeof *w->origin);
    mesh_stream_bytes(s, w->source, w->n_sources * (int64_t)sizeof *w->source);
    mesh_stream_bytes(s, w->sink, w->n_sinks * (int64_t)sizeof *w->sink);
    if (!mesh_stream_holds(s, indices_hold(w))) {
        w->n_traced = 0;
        return WSC_OK;
    }
    if (mesh_stream_reads(s) && w->n_traced) TRY_NEW(w->trace, WSC_MEM_MESH, w->n_traced);
    return mesh_snapshot_watch_places(w, s, 0, w->n_pes);
}
