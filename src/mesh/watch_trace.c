// SPDX-License-Identifier: Apache-2.0
/* Records the events of the traced PEs while the fabric moves: tasks, operations, wavelets, queues;
 * at most as many as the user allows. trace_write.c prints them, mesh_trace_choice() proposes PEs
 * to trace. */
#include "watch_trace.h"
#include "mesh_state.h"
#include "watch_path.h"
#include "watch_state.h"

#include <wsc/mem.h>

#include <stdlib.h>

/* Events of the traced PEs are gathered PE by PE while the mesh runs. Their total is known only at
 * the end, so each PE may keep up to BUSIEST times its fraction of the limit. */
enum { BUSIEST = 4 };

static struct mesh_watch_trace *trace_of(const struct mesh *m, int64_t pe)
{
    int32_t i = m->watch->pe[pe].traced;
    return i < 0 ? NULL : &m->watch->trace[i];
}

/* Make room for one more event of the PE, at most max_events. */
static bool grow(struct mesh_watch *w, struct mesh_watch_trace *t)
{
    if (t->n < t->capacity) return true;
    int32_t capacity = t->capacity ? 2 * t->capacity : 64;
    if (capacity > w->max_events) capacity = w->max_events;
    void *event = wsc_realloc(WSC_MEM_MESH, t->event, (size_t)capacity, sizeof *t->event);
    if (!event) {
        mesh_watch_fail(w);
        return false;
    }
    t->event = event;
    t->capacity = capacity;
    return true;
}

/* Store an event and return its number, or -1 if the trace is full. */
static int32_t add(struct mesh_watch *w, struct mesh_watch_trace *t, int64_t now,
                   const struct mesh_watch_event *e)
{
    if (t->cut <= now) return -1;
    if (t->n == w->max_events) {
        t->cut = (int32_t)now;
        return -1;
    }
    if (!grow(w, t)) return -1;
    t->event[t->n] = *e;
    return t->n++;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void mark(struct mesh_watch *w, struct mesh_rect r)
{
    for (int y = r.y; y < r.y + r.h; y++)
        for (int x = r.x; x < r.x + r.w; x++)
            w->pe[(int64_t)y * w->w + x].traced = 0;
}

enum wsc_err mesh_trace_begin(struct mesh *m)
{
    struct mesh_watch *w = m->watch;
    for (int i = 0; i < w->config.n_trace; i++) {
        TRY(mesh_check_rect(m, w->rect[i]));
        mark(w, w->rect[i]);
    }
    for (int64_t i = 0; i < w->n_pes; i++)
        if (w->pe[i].traced == 0) w->pe[i].traced = w->n_traced++;
    if (!w->n_traced) return WSC_OK;
    TRY_NEW(w->trace, WSC_MEM_MESH, w->n_traced);
    int64_t most = BUSIEST * (w->config.max_events / w->n_traced + 1);
    w->max_events = (int32_t)(most > INT32_MAX / 2 ? INT32_MAX / 2 : most);
    for (int64_t i = 0; i < w->n_pes; i++) {
        struct mesh_watch_trace *t = trace_of(m, i);
        if (t) *t = (struct mesh_watch_trace){.pe = (int32_t)i, .cut = INT32_MAX, .task = -1};
    }
    return WSC_OK;
}

/* End the running task, with its last operation or scalar code; a task takes at least one cycle. */
static void end_task(struct mesh_watch *w, struct mesh_watch_trace *t, int64_t now)
{
    if (t->task < 0) return;
    int32_t end = t->task_end > t->task_begin ? t->task_end : t->task_begin + 1;
    (void)add(w, t, now,
              &(struct mesh_watch_event){.begin = t->task_begin,
                                         .end = end,
                                         .kind = WATCH_EVENT_TASK,
                                         .row = WATCH_ROW_MAIN,
                                         .in = t->task_queue,
                                         .data = (uint32_t)t->task,
                                         .traced = -1,
                                         .from = -1});
    t->task = -1;
}

static int64_t count_until(const struct mesh_watch *w, int32_t cycle)
{
    int64_t n = 0;
    for (int i = 0; i < w->n_traced; i++)
        for (int32_t k = 0; k < w->trace[i].n; k++)
            n += w->trace[i].event[k].end <= cycle;
    return n;
}

/* Choose the cycle at which all traces end: where the first PE had no room, or earlier if the
 * events of all PEs together are too many. */
static int32_t choose_cut(const struct mesh_watch *w)
{
    int32_t cut = INT32_MAX, kept = 0;
    for (int i = 0; i < w->n_traced; i++)
        if (w->trace[i].cut < cut) cut = w->trace[i].cut;
    if (count_until(w, cut) <= w->config.max_events) return cut;
    if (cut > w->cycles) cut = (int32_t)w->cycles;
    while (cut - kept > 1) {
        int32_t middle = kept + (cut - kept) / 2;
        if (count_until(w, middle) <= w->config.max_events)
            kept = middle;
        else
            cut = middle;
    }
    return kept;
}

void mesh_trace_finish(struct mesh *m)
{
    struct mesh_watch *w = m->watch;
    for (int i = 0; i < w->n_traced; i++)
        end_task(w, &w->trace[i], w->cycles);
    w->trace_cut = choose_cut(w);
}

int64_t mesh_trace_events(const struct mesh_watch *w, int64_t *cut)
{
    *cut = w->trace_cut == INT32_MAX ? -1 : w->trace_cut;
    return count_until(w, w->trace_cut);
}

void mesh_trace_free(struct mesh_watch *w)
{
    for (int i = 0; w->trace && i < w->n_traced; i++)
        wsc_free(w->trace[i].event);
    wsc_free(w->trace);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The event is stored in @p o, so that the next event of this wavelet gets an arrow from it. */
void mesh_trace_wavelet(struct mesh *m, int64_t now, int64_t pe, int row, int colour,
                        uint64_t entry, struct mesh_watch_origin *o)
{
    struct mesh_watch_trace *t = trace_of(m, pe);
    if (!t) return;
    int32_t i = add(m->watch, t, now,
                    &(struct mesh_watch_event){.begin = (int32_t)now,
                                               .end = (int32_t)now + 1,
                                               .kind = WATCH_EVENT_WAVELET,
                                               .row = (uint8_t)row,
                                               .in = (uint8_t)colour,
                                               .control = entry & MESH_CONTROL_BIT,
                                               .data = (uint32_t)entry,
                                               .traced = o->traced,
                                               .from = o->event});
    o->traced = i < 0 ? -1 : (int32_t)(t - m->watch->trace);
    o->event = i;
}

void mesh_trace_task(struct mesh_pe *pe, int id, int queue)
{
    struct mesh_watch_trace *t = trace_of(watch_mesh(pe), pe->index);
    if (!t) return;
    end_task(watch_mesh(pe)->watch, t, watch_now(pe));
    t->task_begin = t->task_end = (int32_t)watch_now(pe);
    t->task = (int16_t)id;
    t->task_queue = MESH_NONE;
    if (queue < 0) return;
    const struct mesh_queue *q = watch_in(pe, queue);
    uint64_t entry = q->entry[q->head];
    t->task = (int16_t)(entry & MESH_CONTROL_BIT ? entry >> 24 & 63 : MESH_TASKS);
    t->task_queue = q->colour;
}

void mesh_trace_wait(struct mesh_pe *pe)
{
    struct mesh_watch_trace *t = trace_of(watch_mesh(pe), pe->index);
    if (!t) return;
    t->task_end = (int32_t)pe->waits_until;
    if (pe->waits_until == watch_now(pe)) return;
    (void)add(watch_mesh(pe)->watch, t, watch_now(pe),
              &(struct mesh_watch_event){.begin = (int32_t)watch_now(pe),
                                         .end = t->task_end,
                                         .kind = WATCH_EVENT_WAIT,
                                         .row = WATCH_ROW_MAIN,
                                         .traced = -1,
                                         .from = -1});
}

/* The colour of a queue of the PE, MESH_NONE for no queue. */
static uint8_t colour_of(const struct mesh_pe *pe, int queue)
{
    return queue == MESH_NONE || queue == MESH_NONE + MESH_N_IN
               ? MESH_NONE
               : mesh_binding_of(pe)->colour[queue];
}

void mesh_trace_op(struct mesh_pe *pe, const struct mesh_thread *op)
{
    struct mesh_watch_trace *t = trace_of(watch_mesh(pe), pe->index);
    if (!t) return;
    t->op[op->kind] = (struct mesh_watch_event){
        .begin = (int32_t)watch_now(pe),
        .kind = WATCH_EVENT_OP,
        .row = op->kind,
        .code = op->code,
        .in = colour_of(pe, op->in),
        .out = colour_of(pe, op->out == MESH_NONE ? MESH_NONE : MESH_N_IN + op->out),
        .control = op->flags & MESH_SENDS_CONTROL,
        .data = (uint32_t)watch_thread(pe, op->kind)->left,
        .traced = -1,
        .from = -1};
    if (t->task_end < watch_now(pe)) t->task_end = (int32_t)watch_now(pe);
}

void mesh_trace_arrival(struct mesh_pe *pe, int thread)
{
    struct mesh_watch_trace *t = trace_of(watch_mesh(pe), pe->index);
    if (t) t->op[thread].begin = (int32_t)watch_now(pe);
}

void mesh_trace_op_end(struct mesh_pe *pe, int thread, int64_t end)
{
    struct mesh_watch_trace *t = trace_of(watch_mesh(pe), pe->index);
    if (!t) return;
    if (thread == 0) t->task_end = (int32_t)end;
    t->op[thread].end = (int32_t)end;
    (void)add(watch_mesh(pe)->watch, t, end - 1, &t->op[thread]);
}

/* ---- what to trace --------------------------------------------------------------------------- */

/* Add PE (@p x, @p y) to the list of @p n unless it is there; @return the new length. */
static int add_once(struct mesh_rect *pe, int n, int x, int y)
{
    for (int i = 0; i < n; i++)
        if (pe[i].x == x && pe[i].y == y) return n;
    pe[n] = (struct mesh_rect){x, y, 1, 1};
    return n + 1;
}

/* The PEs to trace if the user names none: all of a small fabric, otherwise corners, centre, and
 * the neighbours of the first corner. */
int mesh_trace_choice(int w, int h, struct mesh_rect pe[static 8])
{
    const int corner[4][2] = {{0, 0}, {w - 1, 0}, {0, h - 1}, {w - 1, h - 1}};
    int n = 0;
    for (int i = 0; i < w * h && w * h <= 8; i++)
        n = add_once(pe, n, i % w, i / w);
    if (n) return n;
    for (int i = 0; i < 4; i++)
        n = add_once(pe, n, corner[i][0], corner[i][1]);
    n = add_once(pe, n, w / 2, h / 2);
    if (w > 1) n = add_once(pe, n, 1, 0);
    return h > 1 ? add_once(pe, n, 0, 1) : n;
}
