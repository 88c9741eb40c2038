// SPDX-License-Identifier: Apache-2.0
#include "timeline_impl.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* Steps before the first one that is looked at: from the third on they are alike. */
enum { WARM_UP = 2 };

/* ---- the run of the roles -------------------------------------------------------------------- */

static enum wsc_err keep_batch(void *ctx, const struct memoryx_batch *batch)
{
    struct timeline *t = ctx;
    t->measured[t->n_measured++] = *batch;
    return WSC_OK;
}

static enum wsc_err measure(struct timeline *t, int64_t first, int64_t n)
{
    const struct stream_pass pass = {
        .mode = STREAM_TRAIN, .first_step = first, .n_steps = n, .batch = t->batch};
    const struct wafer_work work = {.plan = &t->plan, .seed = t->seed};
    TRY_NEW(t->measured, WSC_MEM_TIMELINE, n);
    return cluster_run_pass(t->cluster, &pass, &work);
}

/* Both ways must give the same picosecond. */
static void compare(const struct timeline *t, int i)
{
    const struct memoryx_batch *b = &t->measured[i];
    const int64_t start = timeline_ps(&t->graph, t->step_start),
                  end = timeline_ps(&t->graph, t->step_end);
    WSC_CHECK(end == b->end.ps && end - start == b->time_ps,
              "step %lld: the graph of events ends at %lld ps, the run at %lld ps",
              (long long)t->step, (long long)end, (long long)b->end.ps);
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void open_joint(struct timeline *t, int32_t parent, int32_t child, struct stream_link cable,
                       int64_t latency_ps)
{
    const int64_t rate = cable.rate_bytes_per_s;
    struct joint *j = &t->joint[t->n_joints++];
    const bool reduce = t->cluster->hw.cluster->effects.reduce;
    *j = (struct joint){.parent = parent, .child = child, .rate = rate, .latency_ps = latency_ps};
    j->up_rate = reduce ? rate : 0;
    j->up_latency_ps = reduce ? latency_ps : 0;
}

/* Nodes are numbered level by level and wafers in order, so children are neighbours. */
static void open_joints(struct timeline *t)
{
    const struct stream_topology *tree = t->cluster->net->topology;
    const struct hw *hw = &t->cluster->hw;
    const int top = tree->n_nodes ? stream_role_of_node(tree, 0) : stream_role_of_wafer(tree, 0);
    for (int m = 0; m < tree->n_shards; m++)
        open_joint(t, m, top, stream_link_below(hw, tree, -1, 0),
                   hw->cluster->memoryx.link_latency_ps);
    for (int leaf = 0; leaf < 2; leaf++)
        for (int i = 0; i < tree->n_nodes; i++) {
            const struct stream_node *n = &tree->node[i];
            for (int c = n->first_child;
                 n->leaf_switch == leaf && c < n->first_child + n->n_children; c++)
                open_joint(t, stream_role_of_node(tree, i),
                           leaf ? stream_role_of_wafer(tree, c) : stream_role_of_node(tree, c),
                           stream_link_below(hw, tree, i, c), hw->cluster->swarmx.link_latency_ps);
        }
}

static enum wsc_err allocate(struct timeline *t)
{
    const struct stream_topology *tree = t->cluster->net->topology;
    const int n_stages = t->cluster->model->n_stages, n_shards = tree->n_shards;
    const int list = (n_stages > STREAM_MAX_FANOUT ? n_stages : STREAM_MAX_FANOUT) + 2;
    TRY_NEW(t->joint, WSC_MEM_TIMELINE, n_shards + tree->n_nodes + tree->n_wafers);
    TRY_NEW(t->wafer_now, WSC_MEM_TIMELINE, tree->n_wafers);
    TRY_NEW(t->fed, WSC_MEM_TIMELINE, tree->n_wafers);
    TRY_NEW(t->ready, WSC_MEM_TIMELINE, n_shards * n_stages);
    TRY_NEW(t->arrived, WSC_MEM_TIMELINE, n_shards * n_stages);
    TRY_NEW(t->credit, WSC_MEM_TIMELINE, n_shards * t->window->n_transfers);
    TRY_NEW(t->updating, WSC_MEM_TIMELINE, n_shards);
    TRY_NEW(t->peer_free[0], WSC_MEM_TIMELINE, n_shards);
    TRY_NEW(t->peer_free[1], WSC_MEM_TIMELINE, n_shards);
    TRY_NEW(t->scratch, WSC_MEM_TIMELINE, list);
    TRY_NEW(t->edges, WSC_MEM_TIMELINE, list);
    return WSC_OK;
}

/* Keep of the past what the next step can reach. */
static enum wsc_err forget(struct timeline *t)
{
    const int n_shards = t->cluster->net->topology->n_shards;
    const int64_t n_ready = (int64_t)n_shards * t->cluster->model->n_stages;
    int32_t **live;
    int64_t n = 0;
    TRY_NEW(live, WSC_MEM_TIMELINE, 2 * (int64_t)t->n_joints + n_ready + 3 * (int64_t)n_shards + 1);
    for (int i = 0; i < t->n_joints; i++) {
        live[n++] = &t->joint[i].down_free;
        live[n++] = &t->joint[i].up_free;
        memset(t->joint[i].load, 0, sizeof t->joint[i].load);
    }
    for (int64_t i = 0; i < n_ready; i++)
        live[n++] = &t->ready[i];
    for (int m = 0; m < n_shards; m++) {
        live[n++] = &t->updating[m];
        live[n++] = &t->peer_free[0][m];
        live[n++] = &t->peer_free[1][m];
    }
    live[n++] = &t->step_start;
    enum wsc_err rc = timeline_graph_cut(&t->graph, timeline_ps(&t->graph, t->step_start), live, n);
    wsc_free(live);
    return rc;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static enum wsc_err walk(struct timeline *t, const struct timeline_job *job, int64_t first,
                         int64_t n)
{
    /* Event 0: everything is as at the start of a run. */
    (void)timeline_event(&t->graph, (struct label){0, -1}, NULL, 0);
    TRY(t->graph.rc);
    for (int64_t i = 0; i < n; i++) {
        const bool last = i == n - 1;
        if (i) t->step_start = t->step_end;
        t->step = first + i;
        t->tracing = job->trace && t->step >= job->first_step;
        t->graph.keep_edges = last && job->schedule;
        TRY(forget(t));
        TRY(timeline_walk_step(t));
        compare(t, (int)i);
    }
    return WSC_OK;
}

static enum wsc_err set_up(struct timeline *t, const struct zoo_params *params,
                           const struct timeline_job *job)
{
    const struct memoryx_hooks hooks = {keep_batch, NULL, t};
    struct cluster_change change;
    TRY(comm_create(&t->comm, false));
    TRY(cluster_create(&t->cluster, t->comm, params, job->cluster, false, &hooks));
    TRY(cluster_faults_plan(t->cluster, job->first_step + job->n_steps, -1));
    TRY(cluster_faults_enter(t->cluster, 0, &change));
    TRY(cluster_plan_batch(t->cluster, &params->train_input, true, &t->plan, &t->batch));
    const struct stream_pass pass = {.mode = STREAM_TRAIN, .batch = t->batch};
    TRY(stream_window_create(&t->window, t->cluster->model, &pass,
                             job->cluster->stream.prefetch_window_bytes));
    TRY(model_create(&t->by_part, params, HW_STREAM_MATRIX));
    t->seed = cluster_seed(params);
    t->update_waits = memoryx_update_waits(params, t->cluster->model);
    t->n_rounds = memoryx_rounds(&params->optimizer, t->cluster->model, t->round_bytes);
    TRY(allocate(t));
    open_joints(t);
    return WSC_OK;
}

static enum wsc_err make(struct timeline *t, const struct timeline_job *job)
{
    /* A shallow copy: only numbers differ, and the original owns the rest. */
    struct zoo_params params = *job->params;
    const int64_t before = job->first_step < WARM_UP ? job->first_step : WARM_UP;
    const int64_t first = job->first_step - before, n = before + job->n_steps;
    params.runconfig.num_csx = job->num_csx;
    params.train_input.batch_size = job->global_batch;
    TRY(set_up(t, &params, job));
    TRY(measure(t, first, n));
    TRY(walk(t, job, first, n));
    t->cluster->params = NULL; /* what it borrowed ends here */
    return WSC_OK;
}

enum wsc_err timeline_create(struct timeline **out, const struct timeline_job *job)
{
    WSC_CHECK(job->n_steps >= 1 && job->first_step >= 0, "%lld steps from %lld",
              (long long)job->n_steps, (long long)job->first_step);
    TRY_NEW(*out, WSC_MEM_TIMELINE, 1);
    enum wsc_err rc = make(*out, job);
    if (rc) timeline_destroy(out);
    return rc;
}

void timeline_destroy(struct timeline **t)
{
    struct timeline *a = *t;
    *t = NULL;
    if (!a) return;
    timeline_graph_fini(&a->graph);
    void *const owned[] = {a->joint,        a->wafer_now,    a->fed,     a->ready, a->arrived,
                           a->credit,       a->updating,     a->scratch, a->edges, a->slice,
                           a->peer_free[0], a->peer_free[1], a->measured};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        wsc_free(owned[i]);
    stream_window_destroy(&a->window);
    model_destroy(&a->by_part);
    cluster_destroy(&a->cluster);
    comm_destroy(&a->comm);
    wsc_free(a);
}

/* ---- results --------------------------------------------------------------------------------- */

void timeline_step(const struct timeline *t, int64_t *step_time_ps,
                   struct vtime_breakdown *breakdown)
{
    const struct memoryx_batch *b = &t->measured[t->n_measured - 1];
    *step_time_ps = b->time_ps;
    *breakdown = b->breakdown;
}

int64_t timeline_n_events(const struct timeline *t)
{
    return t->graph.n - t->graph.first_new;
}

void timeline_transfer_name(const struct timeline *t, int32_t transfer, char *text, int size)
{
    const int n = model_n_transfers(t->cluster->model, true);
    if (transfer < 0) {
        (void)snprintf(text, (size_t)size, "end of step");
        return;
    }
    const struct model_transfer what = timeline_transfer(t, transfer);
    int used = snprintf(text, (size_t)size, "%s %s", t->cluster->model->stage[what.stage].name,
                        what.backward ? "backward" : "forward");
    if (t->batch.n_micro > 1 && used > 0 && used < size)
        (void)snprintf(text + used, (size_t)(size - used), ", micro-batch %d", transfer / n);
}

/* Stretches from the end to the start; the caller turns them round. */
static enum wsc_err walk_back(const struct timeline *t, struct timeline_segment **path, int *n)
{
    const struct graph *g = &t->graph;
    const int64_t start = timeline_ps(g, t->step_start);
    int size = 0;
    for (int32_t i = t->step_end; g->event[i].ps > start; i = g->event[i].cause) {
        const struct event *e = &g->event[i];
        WSC_CHECK(e->cause >= 0, "event %d at %lld ps has no cause", i, (long long)e->ps);
        int64_t begin = g->event[e->cause].ps;
        if (begin < start) begin = start;
        if (begin == e->ps) continue;
        if (*n == size) {
            size = 2 * size + 64;
            struct timeline_segment *more =
                wsc_realloc(WSC_MEM_TIMELINE, *path, (size_t)size, sizeof *more);
            if (!more) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "keep a path");
            *path = more;
        }
        struct timeline_segment *s = &(*path)[(*n)++];
        s->part = timeline_part_name[e->part];
        s->begin_ps = begin;
        s->end_ps = e->ps;
        stream_role_name(t->cluster->net->topology, e->role, s->who, sizeof s->who);
        timeline_transfer_name(t, e->transfer, s->what, sizeof s->what);
    }
    return WSC_OK;
}

enum wsc_err timeline_path(const struct timeline *t, struct timeline_segment **path, int *n)
{
    *path = NULL;
    *n = 0;
    enum wsc_err rc = walk_back(t, path, n);
    if (rc) {
        wsc_free(*path);
        *path = NULL;
        return rc;
    }
    for (int a = 0, b = *n - 1; a < b; a++, b--) {
        const struct timeline_segment s = (*path)[a];
        (*path)[a] = (*path)[b];
        (*path)[b] = s;
    }
    return WSC_OK;
}

enum wsc_err timeline_links(const struct timeline *t, struct timeline_link **links, int *n)
{
    const struct stream_topology *tree = t->cluster->net->topology;
    TRY_NEW(*links, WSC_MEM_TIMELINE, 2 * t->n_joints);
    *n = 0;
    for (int i = 0; i < t->n_joints; i++)
        for (int up = 0; up < 2; up++) {
            const struct joint *j = &t->joint[i];
            struct timeline_link *l = &(*links)[(*n)++];
            *l = j->load[up];
            l->rate_bytes_per_s = up ? j->up_rate : j->rate;
            stream_role_name(tree, up ? j->child : j->parent, l->from, sizeof l->from);
            stream_role_name(tree, up ? j->parent : j->child, l->to, sizeof l->to);
        }
    return WSC_OK;
}
