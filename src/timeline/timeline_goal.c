// SPDX-License-Identifier: Apache-2.0
/* The graph of a step as a GOAL schedule.  An event becomes `calc 0`, what passes before it a
 * `calc` of its own; an event of another rank arrives as a message of one byte.  A cpu of a rank
 * does one calc at a time, which the emulated hardware does not: links are pipelined and a role
 * has several.  So each calc gets the first cpu that is idle when it starts; cpu 0 is for messages
 * and joints, which take no time. */
#include "timeline_state.h"

#include <wsc/check.h>
#include <wsc/file.h>
#include <wsc/mem.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CPUS = 256, MAX_EDGES = 4 << 20 };

/* What passes on one edge, on the rank of the event that waits. */
struct timeline_goal_calc {
    int64_t edge, begin_ps;
    int cpu;
};
struct timeline_goal_file {
    const struct timeline *t;
    FILE *file;
    int64_t begin_ps;  /* time 0 of the schedule */
    int32_t *to;       /* owned: by edge, the event that waits */
    int32_t *by_role;  /* owned: new events, by role */
    int32_t *first_of; /* owned, n_roles + 1: where a role's events begin in by_role */
    int64_t *out;      /* owned: edges that leave a role, by role */
    int64_t *first_out;
    struct timeline_goal_calc *calc; /* owned: of the rank being written */
    int *cpu;                        /* owned: by edge */
    bool *needed; /* owned: events without which some wafer's step does not end */
};

/* Event number @p i of the graph. */
static const struct timeline_event *event_of(const struct timeline_goal_file *g, int32_t i)
{
    return &g->t->graph.event[i];
}

/* An edge between roles becomes a message, if its event is in the schedule. */
static bool crosses(const struct timeline_goal_file *g, int64_t k)
{
    const int32_t to = g->to[k];
    return g->needed[to] && event_of(g, g->t->graph.edge[k].from)->role != event_of(g, to)->role;
}

/* ---- by role --------------------------------------------------------------------------------- */

/* What the end of the step and the last stage of some wafer wait for, however far back; the rest of
 * the step, such as the update, is not in the schedule, so that it ends when the step does.  The
 * step ends later than its stages where a wafer waits for the samples of the next one. */
static enum wsc_err mark_needed(struct timeline_goal_file *g)
{
    const struct timeline_graph *graph = &g->t->graph;
    int32_t *open, n = 0;
    WSC_CHECK(g->needed, "no room for marks");
    TRY_NEW(open, WSC_MEM_TIMELINE, graph->n);
    for (int w = 0; w <= g->t->n_wafer_ends; w++) {
        const int32_t end = w < g->t->n_wafer_ends ? g->t->wafer_end[w] : g->t->end;
        if (!g->needed[end]) open[n++] = end;
        g->needed[end] = true;
    }
    while (n) {
        const int32_t i = open[--n];
        if (i < graph->first_new) continue;
        const int64_t end = graph->edge_end[i - graph->first_new];
        for (int64_t k = timeline_graph_first_edge(graph, i); k < end; k++) {
            const int32_t from = graph->edge[k].from;
            if (!g->needed[from]) open[n++] = from;
            g->needed[from] = true;
        }
    }
    wsc_free(open);
    return WSC_OK;
}

/* Turn counts in first[r + 1] into starts. */
static void add_up(int64_t *first, int n)
{
    for (int r = 0; r < n; r++)
        first[r + 1] += first[r];
}

/* Counting sort of the needed events by role; by_role keeps their order. */
static enum wsc_err sort_events(struct timeline_goal_file *g, int n_roles)
{
    const struct timeline_graph *graph = &g->t->graph;
    int64_t *next;
    WSC_CHECK(g->needed, "no room for marks");
    TRY_NEW(next, WSC_MEM_TIMELINE, n_roles + 1);
    for (int32_t i = graph->first_new; i < graph->n; i++)
        next[graph->event[i].role + 1] += g->needed[i];
    add_up(next, n_roles);
    for (int r = 0; r <= n_roles; r++)
        g->first_of[r] = (int32_t)next[r];
    for (int32_t i = graph->first_new; i < graph->n; i++)
        if (g->needed[i]) g->by_role[next[graph->event[i].role]++] = i;
    wsc_free(next);
    return WSC_OK;
}

/* The event of each edge, and the edges that leave each role, in the order of their numbers. */
static enum wsc_err sort_edges(struct timeline_goal_file *g, int n_roles)
{
    const struct timeline_graph *graph = &g->t->graph;
    int64_t *next;
    TRY_NEW(next, WSC_MEM_TIMELINE, n_roles + 1);
    for (int32_t i = graph->first_new; i < graph->n; i++)
        for (int64_t k = timeline_graph_first_edge(graph, i);
             k < graph->edge_end[i - graph->first_new]; k++)
            g->to[k] = i;
    for (int64_t k = 0; k < graph->n_edges; k++)
        if (crosses(g, k)) next[graph->event[graph->edge[k].from].role + 1]++;
    add_up(next, n_roles);
    memcpy(g->first_out, next, ((size_t)n_roles + 1) * sizeof *next);
    for (int64_t k = 0; k < graph->n_edges; k++)
        if (crosses(g, k)) g->out[next[graph->event[graph->edge[k].from].role]++] = k;
    wsc_free(next);
    return WSC_OK;
}

/* ---- cpus ------------------------------------------------------------------------------------ */

static int by_begin(const void *a, const void *b)
{
    const struct timeline_goal_calc *x = a, *y = b;
    if (x->begin_ps != y->begin_ps) return x->begin_ps < y->begin_ps ? -1 : 1;
    return (x->edge > y->edge) - (x->edge < y->edge);
}

/* Calcs of a rank, in the order of their start. */
static int64_t collect(struct timeline_goal_file *g, int role)
{
    const struct timeline_graph *graph = &g->t->graph;
    int64_t n = 0;
    for (int32_t i = g->first_of[role]; i < g->first_of[role + 1]; i++) {
        const int32_t e = g->by_role[i];
        for (int64_t k = timeline_graph_first_edge(graph, e);
             k < graph->edge_end[e - graph->first_new]; k++)
            if (graph->edge[k].delay_ps)
                g->calc[n++] =
                    (struct timeline_goal_calc){k, graph->event[graph->edge[k].from].ps, 0};
    }
    qsort(g->calc, (size_t)n, sizeof *g->calc, by_begin);
    return n;
}

/* First fit: a calc takes the first cpu that is free at its start, so none waits for a cpu and
 * times stay those of the record. */
static enum wsc_err choose_cpus(struct timeline_goal_file *g, int role)
{
    int64_t free_ps[MAX_CPUS];
    int n_cpus = 2; /* messages and roots have theirs */
    const int64_t n = collect(g, role);
    for (int64_t i = 0; i < n; i++) {
        const struct timeline_goal_calc *c = &g->calc[i];
        int cpu = 2;
        while (cpu < n_cpus && free_ps[cpu] > c->begin_ps)
            cpu++;
        if (cpu == MAX_CPUS)
            return wsc_err_hint(
                WSC_RAISE(WSC_CAPACITY, "more than %d things at a time on one rank of the schedule",
                          MAX_CPUS - 2),
                "a smaller cluster.swarmx.fanout, or shorter latencies");
        if (cpu == n_cpus) n_cpus++;
        free_ps[cpu] = c->begin_ps + g->t->graph.edge[c->edge].delay_ps;
        g->cpu[c->edge] = cpu;
    }
    return WSC_OK;
}

/* ---- a rank ---------------------------------------------------------------------------------- */

/* Events of the step before: a chain, each as much later than the one before as it was. */
static enum wsc_err write_roots(struct timeline_goal_file *g, int role)
{
    const struct timeline_graph *graph = &g->t->graph;
    int64_t n = 0, at_ps = g->begin_ps;
    for (int32_t i = 0; i < graph->first_new; i++)
        if (g->needed[i] && graph->event[i].role == role)
            g->calc[n++] = (struct timeline_goal_calc){i, graph->event[i].ps, 1};
    qsort(g->calc, (size_t)n, sizeof *g->calc, by_begin);
    for (int64_t i = 0; i < n; i++) {
        const long long event = g->calc[i].edge;
        (void)fprintf(g->file, "e%lld: calc %lld cpu 1\n", event,
                      (long long)(g->calc[i].begin_ps - at_ps));
        if (i)
            (void)fprintf(g->file, "e%lld requires e%lld\n", event, (long long)g->calc[i - 1].edge);
        at_ps = g->calc[i].begin_ps;
    }
    return WSC_OK;
}

/* The message of an edge from another rank, then the time that passes on it. */
static void write_edge(struct timeline_goal_file *g, int64_t k)
{
    const struct timeline_edge *e = &g->t->graph.edge[k];
    const long long id = k, from = e->from;
    const bool far = crosses(g, k);
    if (far)
        (void)fprintf(g->file, "r%lld: recv 1b from %d tag %lld\n", id, event_of(g, e->from)->role,
                      id);
    if (!e->delay_ps) return;
    (void)fprintf(g->file, "c%lld: calc %lld cpu %d\nc%lld requires %c%lld\n", id,
                  (long long)e->delay_ps, g->cpu[k], id, far ? 'r' : 'e', far ? id : from);
}

/* An event requires all its edges: their calcs, their messages, or the events themselves. */
static void write_event(struct timeline_goal_file *g, int32_t event)
{
    const struct timeline_graph *graph = &g->t->graph;
    const int64_t first = timeline_graph_first_edge(graph, event),
                  end = graph->edge_end[event - graph->first_new];
    for (int64_t k = first; k < end; k++)
        write_edge(g, k);
    (void)fprintf(g->file, "e%d: calc 0\n", event);
    for (int64_t k = first; k < end; k++) {
        const struct timeline_edge *e = &graph->edge[k];
        char kind = 'e';
        if (crosses(g, k)) kind = 'r';
        if (e->delay_ps) kind = 'c';
        (void)fprintf(g->file, "e%d requires %c%lld\n", event, kind,
                      kind == 'e' ? (long long)e->from : (long long)k);
    }
}

/* A rank is a role: roots, events, then what it sends to others. */
static enum wsc_err write_rank(struct timeline_goal_file *g, int role)
{
    char name[48];
    TRY(choose_cpus(g, role));
    stream_role_name(g->t->machine, role, name, sizeof name);
    (void)fprintf(g->file, "\n// %s\nrank %d {\n", name, role);
    TRY(write_roots(g, role));
    for (int32_t i = g->first_of[role]; i < g->first_of[role + 1]; i++)
        write_event(g, g->by_role[i]);
    for (int64_t i = g->first_out[role]; i < g->first_out[role + 1]; i++) {
        const int64_t k = g->out[i];
        (void)fprintf(g->file, "s%lld: send 1b to %d tag %lld\ns%lld requires e%d\n", (long long)k,
                      event_of(g, g->to[k])->role, (long long)k, (long long)k,
                      g->t->graph.edge[k].from);
    }
    (void)fprintf(g->file, "}\n");
    return WSC_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Time 0 is the earliest event that is needed, which may lie before the step. */
static void find_begin(struct timeline_goal_file *g)
{
    g->begin_ps = g->t->start_ps;
    for (int32_t i = 0; i < g->t->graph.first_new; i++)
        if (g->needed[i] && event_of(g, i)->ps < g->begin_ps) g->begin_ps = event_of(g, i)->ps;
}

static void write_head(const struct timeline_goal_file *g)
{
    const struct timeline *t = g->t;
    const struct stream_topology *tree = t->machine;
    const int64_t start = t->start_ps, end = t->batch.end.ps;
    (void)fprintf(g->file,
                  "// step %lld on %d x %s: a calc of 1 is 1 ps, messages take no time "
                  "(L = o = g = G = O = 0)\n"
                  "// ranks of MemoryX: 0 .. %d, of SwarmX: %d nodes, of wafers: %d .. %d\n"
                  "// the step begins at %lld and ends with the schedule, at %lld: it takes %lld\n"
                  "num_ranks %d\n",
                  (long long)t->step + 1, t->n_wafers, t->name, tree->n_shards - 1, t->n_nodes,
                  stream_role_of_wafer(tree, 0), tree->n_roles - 1,
                  (long long)(start - g->begin_ps), (long long)(end - g->begin_ps),
                  (long long)(end - start), tree->n_roles);
}

/* Freed by timeline_goal() whatever happens. */
static enum wsc_err allocate(struct timeline_goal_file *g, int n_roles)
{
    const struct timeline_graph *graph = &g->t->graph;
    const int64_t most = graph->n_edges > graph->first_new ? graph->n_edges : graph->first_new;
    TRY_NEW(g->to, WSC_MEM_TIMELINE, graph->n_edges);
    TRY_NEW(g->by_role, WSC_MEM_TIMELINE, graph->n - graph->first_new);
    TRY_NEW(g->first_of, WSC_MEM_TIMELINE, n_roles + 1);
    TRY_NEW(g->out, WSC_MEM_TIMELINE, graph->n_edges);
    TRY_NEW(g->first_out, WSC_MEM_TIMELINE, n_roles + 1);
    TRY_NEW(g->calc, WSC_MEM_TIMELINE, most);
    TRY_NEW(g->cpu, WSC_MEM_TIMELINE, graph->n_edges);
    TRY_NEW(g->needed, WSC_MEM_TIMELINE, graph->n);
    return WSC_OK;
}

/* Write @p tmp, which messages call by the name @p path that it gets. */
static enum wsc_err write_file(struct timeline_goal_file *g, const char *tmp, const char *path)
{
    const int n_roles = g->t->machine->n_roles;
    TRY(allocate(g, n_roles));
    TRY(mark_needed(g));
    TRY(sort_events(g, n_roles));
    TRY(sort_edges(g, n_roles));
    find_begin(g);
    g->file = fopen(tmp, "w");
    if (!g->file) return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(errno));
    write_head(g);
    for (int r = 0; r < n_roles; r++)
        TRY(write_rank(g, r));
    const bool bad = ferror(g->file) != 0;
    FILE *file = g->file;
    g->file = NULL;
    if (fclose(file) || bad)
        return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(errno));
    return WSC_OK;
}

/* Written beside @p path, which then appears whole. */
static enum wsc_err write_beside(struct timeline_goal_file *g, const char *path)
{
    struct wsc_beside beside;
    TRY(wsc_beside_begin(&beside, path));
    const enum wsc_err rc = write_file(g, beside.tmp, path);
    if (g->file) (void)fclose(g->file);
    return wsc_beside_end(&beside, path, rc);
}

enum wsc_err timeline_goal(const struct timeline *t, const char *path)
{
    struct timeline_goal_file g = {.t = t};
    WSC_CHECK(t->graph.keep_edges, "no schedule was kept");
    if (t->graph.n_edges > MAX_EDGES)
        return wsc_err_hint(WSC_RAISE(WSC_CAPACITY,
                                      "a schedule of %lld dependencies is larger than %d",
                                      (long long)t->graph.n_edges, MAX_EDGES),
                            "fewer systems, fewer layers, or a larger micro_batch_size");
    const enum wsc_err rc = write_beside(&g, path);
    void *const owned[] = {g.to,        g.by_role, g.first_of, g.out,
                           g.first_out, g.calc,    g.cpu,      g.needed};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        wsc_free(owned[i]);
    return rc;
}
