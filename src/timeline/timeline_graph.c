// SPDX-License-Identifier: Apache-2.0
/* The graph of events of a step, made from the record: events are numbered program by program, so
 * that numbers do not depend on who ran what.  The edges of an event say when it happens: at the
 * maximum of the times of those that it waits for plus the delays.  Of earlier steps only what the
 * next one can reach is kept.  Read by the critical path, the schedule and the profile. */
#include "timeline_graph.h"

#include <wsc/check.h>
#include <wsc/comm.h>
#include <wsc/mem.h>

#include <stdlib.h>

enum { MOST_EVENTS = 48 << 20 };

/* ---- events of earlier steps ----------------------------------------------------------------- */

/* An event that is not of the step: by its id, or by role and time when it has none. */
struct timeline_origin {
    int64_t id, ps;
    int32_t role;
    int32_t number; /* in the graph; -1: not there yet */
};
struct timeline_origins {
    struct timeline_origin *item; /* owned */
    int64_t n, size;
};

/* By id; events before the record have id 0 and differ by role and time. */
static int compare_keys(const struct timeline_origin *x, const struct timeline_origin *y)
{
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    if (x->role != y->role) return x->role < y->role ? -1 : 1;
    return (x->ps > y->ps) - (x->ps < y->ps);
}

/* Those that the graph has come before others with the same key. */
static int by_key(const void *a, const void *b)
{
    const struct timeline_origin *x = a, *y = b;
    const int order = compare_keys(x, y);
    return order ? order : (x->number < y->number) - (x->number > y->number);
}

static enum wsc_err add_origin(struct timeline_origins *o, struct timeline_origin item)
{
    TRY_GROW(o->item, WSC_MEM_TIMELINE, o->size, o->n + 1);
    o->item[o->n++] = item;
    return WSC_OK;
}

/* Is the event one of the step that is being added? */
static bool is_new(const struct vtime_recorder *program, int n_programs, int64_t id)
{
    return id && vtime_event_program(id) < n_programs &&
           vtime_event_number(id) >= program[vtime_event_program(id)].n_before;
}

/* The key of an event that an edge comes from; one without an id is of the program itself. */
static struct timeline_origin origin_of(struct vtime from, int32_t program)
{
    const int32_t whose = from.event ? vtime_event_program(from.event) : program;
    return (struct timeline_origin){from.event, from.ps, comm_role_of_program(whose), -1};
}

/* Events that the graph has kept, and those that edges of the new step come from. */
static enum wsc_err collect_origins(const struct timeline_graph *g,
                                    const struct vtime_recorder *program, int n_programs,
                                    struct timeline_origins *o)
{
    for (int32_t i = 0; i < g->n; i++) {
        const struct timeline_event *e = &g->event[i];
        TRY(add_origin(o, (struct timeline_origin){e->id, e->ps, e->role, i}));
    }
    for (int p = 0; p < n_programs; p++)
        for (int64_t k = 0; k < program[p].n_edges; k++) {
            const struct vtime from = program[p].edge[k].from;
            if (is_new(program, n_programs, from.event)) continue;
            TRY(add_origin(o, origin_of(from, p)));
        }
    return WSC_OK;
}

/* One item for each event, sorted; returns how many are not in the graph. */
static int64_t sort_origins(struct timeline_origins *o)
{
    int64_t n = 0, unknown = 0;
    if (o->n) qsort(o->item, (size_t)o->n, sizeof *o->item, by_key);
    for (int64_t i = 0; i < o->n; i++) {
        if (n && !compare_keys(&o->item[n - 1], &o->item[i])) continue;
        unknown += o->item[i].number < 0;
        o->item[n++] = o->item[i];
    }
    o->n = n;
    return unknown;
}

static int by_key_alone(const void *a, const void *b)
{
    return compare_keys(a, b);
}

/* ---- the step -------------------------------------------------------------------------------- */

/* What numbers the events of a step. */
struct timeline_numbers {
    const struct vtime_recorder *program; /* borrowed */
    int n_programs;
    int32_t *first; /* owned, n_programs + 1 */
    struct timeline_origins origins;
};

/* Number in the graph: new ones by program and position, others by bisection. */
static int32_t number_of(const struct timeline_numbers *n, struct vtime from, int32_t program)
{
    if (is_new(n->program, n->n_programs, from.event)) {
        const int32_t whose = vtime_event_program(from.event);
        const int64_t k = vtime_event_number(from.event) - n->program[whose].n_before;
        WSC_CHECK(k < n->program[whose].n_events, "event %lld of program %d is not recorded",
                  (long long)k, (int)whose);
        return n->first[whose] + (int32_t)k;
    }
    const struct timeline_origin key = origin_of(from, program);
    WSC_CHECK(n->origins.item, "no event of an earlier step is kept");
    const struct timeline_origin *found =
        bsearch(&key, n->origins.item, (size_t)n->origins.n, sizeof key, by_key_alone);
    WSC_CHECK(found && found->number >= 0, "an event of an earlier step is lost");
    return found ? found->number : 0;
}

/* Room for the events of the step after those that are kept; origins without a number get one. */
static enum wsc_err make_room(struct timeline_graph *g, struct timeline_numbers *n, int64_t unknown,
                              int64_t n_events, int64_t n_edges)
{
    const int64_t all = g->n + unknown + n_events;
    if (all > MOST_EVENTS)
        return wsc_err_hint(WSC_RAISE(WSC_CAPACITY, "a step has more than %d events", MOST_EVENTS),
                            "fewer systems, or a larger micro_batch_size");
    struct timeline_event *event =
        wsc_realloc(WSC_MEM_TIMELINE, g->event, (size_t)all + 1, sizeof *event);
    if (!event) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "keep events");
    g->event = event;
    for (int64_t i = 0; i < n->origins.n; i++) {
        struct timeline_origin *o = &n->origins.item[i];
        if (o->number >= 0) continue;
        o->number = g->n++;
        g->event[o->number] = (struct timeline_event){
            .id = o->id, .ps = o->ps, .cause = -1, .role = o->role, .transfer = VTIME_NO_TRANSFER};
    }
    g->first_new = g->n;
    g->n_edges = 0;
    wsc_free(g->edge);
    wsc_free(g->edge_end);
    g->edge = NULL;
    g->edge_end = NULL;
    if (!g->keep_edges) return WSC_OK;
    TRY_NEW(g->edge, WSC_MEM_TIMELINE, n_edges + 1);
    TRY_NEW(g->edge_end, WSC_MEM_TIMELINE, n_events + 1);
    return WSC_OK;
}

/* An event happens at the maximum over its edges of time plus delay; the first edge that reaches
 * it is the cause, so ties are resolved by the order of the record. */
static void add_event(struct timeline_graph *g, const struct timeline_numbers *n, int32_t program,
                      const struct vtime_event *event, const struct vtime_edge *in)
{
    struct timeline_event e = {
        .cause = -1, .role = comm_role_of_program(program), .transfer = event->transfer};
    for (int i = 0; i < event->n_edges; i++) {
        const int64_t ps = vtime_add_ps(in[i].from.ps, in[i].delay_ps);
        const int32_t from = number_of(n, in[i].from, program);
        if (g->keep_edges)
            g->edge[g->n_edges++] =
                (struct timeline_edge){from, (int32_t)in[i].part, in[i].delay_ps};
        if (e.cause >= 0 && ps <= e.ps) continue;
        e.ps = ps;
        e.cause = from;
        e.part = (int32_t)in[i].part;
    }
    WSC_CHECK(e.ps == event->ps, "an event at %lld ps has edges until %lld ps",
              (long long)event->ps, (long long)e.ps);
    if (g->keep_edges) g->edge_end[g->n - g->first_new] = g->n_edges;
    g->event[g->n++] = e;
}

/* Events of a program in their order, each with its edges one after the other. */
static void add_program(struct timeline_graph *g, const struct timeline_numbers *n, int32_t p)
{
    const struct vtime_recorder *r = &n->program[p];
    int64_t edge = 0;
    for (int64_t k = 0; k < r->n_events; k++) {
        add_event(g, n, p, &r->event[k], r->edge + edge);
        g->event[g->n - 1].id = vtime_event_id(p, r->n_before + k);
        edge += r->event[k].n_edges;
    }
}

/* Numbers first, then events: edges may come from programs that are added later. */
static enum wsc_err add_all(struct timeline_graph *g, struct timeline_numbers *n)
{
    int64_t n_events = 0, n_edges = 0;
    TRY(collect_origins(g, n->program, n->n_programs, &n->origins));
    const int64_t unknown = sort_origins(&n->origins);
    for (int p = 0; p < n->n_programs; p++) {
        n_events += n->program[p].n_events;
        n_edges += n->program[p].n_edges;
    }
    TRY(make_room(g, n, unknown, n_events, n_edges));
    TRY_NEW(n->first, WSC_MEM_TIMELINE, n->n_programs + 1);
    n->first[0] = g->first_new;
    for (int p = 0; p < n->n_programs; p++)
        n->first[p + 1] = n->first[p] + (int32_t)n->program[p].n_events;
    for (int p = 0; p < n->n_programs; p++)
        add_program(g, n, p);
    return WSC_OK;
}

enum wsc_err timeline_graph_add(struct timeline_graph *g, const struct vtime_recorder *program,
                                int n_programs)
{
    struct timeline_numbers n = {.program = program, .n_programs = n_programs};
    enum wsc_err rc = add_all(g, &n);
    wsc_free(n.first);
    wsc_free(n.origins.item);
    return rc;
}

/* Ids grow with the numbers: programs follow each other, and so do the events of one. */
int32_t timeline_graph_find(const struct timeline_graph *g, int64_t id)
{
    int32_t low = g->first_new, high = g->n;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (g->event[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->n && g->event[low].id == id ? low : -1;
}

/* ---- forget the past ------------------------------------------------------------------------- */

/* New numbers of events that stay: those after @p ps and their causes. */
static void mark(const struct timeline_graph *g, int64_t ps, int32_t *number)
{
    for (int32_t i = 0; i < g->n; i++) {
        const struct timeline_event *e = &g->event[i];
        if (e->ps <= ps) continue;
        number[i] = 1;
        if (e->cause >= 0) number[e->cause] = 1;
    }
}

/* Renumber what stays; number[i] is the new number plus 1, 0 for what goes. */
static void move(struct timeline_graph *g, int64_t ps, int32_t *number)
{
    int32_t n = 0;
    for (int32_t i = 0; i < g->n; i++)
        if (number[i]) number[i] = 1 + n++;
    n = 0;
    for (int32_t i = 0; i < g->n; i++) {
        if (!number[i]) continue;
        struct timeline_event e = g->event[i];
        const bool root = e.ps <= ps || e.cause < 0;
        e.cause = root ? -1 : number[e.cause] - 1;
        g->event[n++] = e;
    }
    g->n = n;
}

/* Edges go too: they are kept for the newest step alone. */
enum wsc_err timeline_graph_cut(struct timeline_graph *g, int64_t ps)
{
    int32_t *number;
    TRY_NEW(number, WSC_MEM_TIMELINE, g->n + 1);
    mark(g, ps, number);
    move(g, ps, number);
    wsc_free(number);
    g->first_new = g->n;
    g->n_edges = 0;
    return WSC_OK;
}

void timeline_graph_fini(struct timeline_graph *g)
{
    wsc_free(g->event);
    wsc_free(g->edge);
    wsc_free(g->edge_end);
    *g = (struct timeline_graph){0};
}
