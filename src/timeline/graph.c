// SPDX-License-Identifier: Apache-2.0
#include "timeline_impl.h"

#include <wsc/check.h>
#include <wsc/mem.h>

const char *const timeline_part_name[PART_N] = {"waiting",
                                                "compute",
                                                "stage latency",
                                                "drain",
                                                "spill",
                                                "input",
                                                "weights on a link",
                                                "gradients on a link",
                                                "addition in SwarmX",
                                                "latency of links and nodes",
                                                "optimizer"};

enum { MOST_EVENTS = 48 << 20, FIRST_SIZE = 1 << 14 };

static enum wsc_err too_many(void)
{
    return wsc_err_hint(WSC_RAISE(WSC_CAPACITY, "a step has more than %d events", MOST_EVENTS),
                        "fewer systems, or a larger micro_batch_size");
}

static enum wsc_err grow_events(struct graph *g)
{
    if (g->n < g->size) return WSC_OK;
    if (g->size >= MOST_EVENTS) return too_many();
    const int32_t size = g->size ? g->size + g->size / 2 : FIRST_SIZE;
    struct event *event = wsc_realloc(WSC_MEM_TIMELINE, g->event, (size_t)size, sizeof *event);
    if (!event) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "keep an event");
    g->event = event;
    g->size = size;
    return WSC_OK;
}

static enum wsc_err grow_edges(struct graph *g, int more)
{
    if (g->n_edges + more <= g->edges_size) return WSC_OK;
    const int64_t size = (g->n_edges + more) * 2 + FIRST_SIZE;
    struct edge *edge = wsc_realloc(WSC_MEM_TIMELINE, g->edge, (size_t)size, sizeof *edge);
    if (!edge) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "keep an edge");
    g->edge = edge;
    g->edges_size = size;
    return WSC_OK;
}

static enum wsc_err grow_ends(struct graph *g)
{
    if (g->n - g->first_new < g->ends_size) return WSC_OK;
    const int32_t size = g->ends_size * 2 + FIRST_SIZE;
    int64_t *end = wsc_realloc(WSC_MEM_TIMELINE, g->edge_end, (size_t)size, sizeof *end);
    if (!end) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "keep an edge");
    g->edge_end = end;
    g->ends_size = size;
    return WSC_OK;
}

static enum wsc_err keep_edges(struct graph *g, const struct edge *in, int n)
{
    TRY(grow_edges(g, n));
    TRY(grow_ends(g));
    for (int i = 0; i < n; i++)
        g->edge[g->n_edges++] = in[i];
    g->edge_end[g->n - g->first_new] = g->n_edges;
    return WSC_OK;
}

int32_t timeline_event(struct graph *g, struct label label, const struct edge *in, int n)
{
    if (!g->rc) g->rc = grow_events(g);
    if (!g->rc && g->keep_edges) g->rc = keep_edges(g, in, n);
    if (g->rc) return 0;
    struct event e = {.ps = 0, .cause = -1, .role = label.role, .transfer = label.transfer};
    for (int i = 0; i < n; i++) {
        const int64_t ps = timeline_ps(g, in[i].from) + in[i].delay_ps;
        if (e.cause >= 0 && ps <= e.ps) continue;
        e.ps = ps;
        e.cause = in[i].from;
        e.part = in[i].part;
    }
    g->event[g->n] = e;
    return g->n++;
}

/* ---- forget the past ------------------------------------------------------------------------- */

/* New numbers of events that stay: those after @p ps, their causes, and those in use. */
static void mark(const struct graph *g, int64_t ps, int32_t *number)
{
    for (int32_t i = 0; i < g->n; i++) {
        const struct event *e = &g->event[i];
        if (e->ps <= ps) continue;
        number[i] = 1;
        if (e->cause >= 0) number[e->cause] = 1;
    }
}

static void move(struct graph *g, int64_t ps, int32_t *number)
{
    int32_t n = 0;
    for (int32_t i = 0; i < g->n; i++) {
        if (!number[i]) continue;
        struct event e = g->event[i];
        const bool root = e.ps <= ps || e.cause < 0;
        e.cause = root ? -1 : number[e.cause];
        number[i] = n;
        g->event[n++] = e;
    }
    g->n = n;
}

enum wsc_err timeline_graph_cut(struct graph *g, int64_t ps, int32_t **live, int64_t n_live)
{
    int32_t *number;
    TRY_NEW(number, WSC_MEM_TIMELINE, g->n);
    mark(g, ps, number);
    for (int64_t i = 0; i < n_live; i++)
        number[*live[i]] = 1;
    move(g, ps, number);
    for (int64_t i = 0; i < n_live; i++)
        *live[i] = number[*live[i]];
    wsc_free(number);
    g->first_new = g->n;
    g->n_edges = 0;
    return WSC_OK;
}

void timeline_graph_fini(struct graph *g)
{
    wsc_free(g->event);
    wsc_free(g->edge);
    wsc_free(g->edge_end);
    *g = (struct graph){0};
}
