// SPDX-License-Identifier: Apache-2.0
/* A step, transfer by transfer, in the order of the plan.  Each function is the counterpart of one
 * that a role runs: weights down the tree (src/memoryx/down.c, src/swarmx/swarmx.c), a stage on a
 * wafer (src/wafer/time.c), sums up, the update (src/memoryx/update.c).  Where a role takes the
 * later of two times, an event here waits for both. */
#include "timeline_impl.h"

#include <wsc/check.h>

#include <stddef.h>

static const struct hw_machine *machine(const struct timeline *t)
{
    return t->cluster->hw.cluster;
}

static const struct stream_topology *tree(const struct timeline *t)
{
    return t->cluster->net->topology;
}

static struct edge after(int32_t from, int32_t part, int64_t delay_ps)
{
    return (struct edge){.from = from, .part = part, .delay_ps = delay_ps};
}

/* @p from, @p delay_ps later; the same event when nothing passes. */
static int32_t later(struct timeline *t, struct label label, int32_t from, int32_t part,
                     int64_t delay_ps)
{
    const struct edge e = after(from, part, delay_ps);
    return delay_ps ? timeline_event(&t->graph, label, &e, 1) : from;
}

static int32_t both(struct timeline *t, struct label label, struct edge a, struct edge b)
{
    const struct edge in[] = {a, b};
    return timeline_event(&t->graph, label, in, 2);
}

/* The event that waits for all of a list. */
static int32_t latest(struct timeline *t, struct label label, const int32_t *event, int n)
{
    if (n == 1) return event[0];
    for (int i = 0; i < n; i++)
        t->edges[i] = after(event[i], PART_NONE, 0);
    return timeline_event(&t->graph, label, t->edges, n);
}

/* ---- who hangs where ------------------------------------------------------------------------- */

static struct joint *joint_of_node(const struct timeline *t, int node)
{
    return &t->joint[tree(t)->n_shards + node - 1];
}

static struct joint *joint_of_wafer(const struct timeline *t, int wafer)
{
    const int n_nodes = tree(t)->n_nodes;
    return n_nodes ? &t->joint[tree(t)->n_shards + n_nodes - 1 + wafer] : t->joint;
}

/* Joints above a wafer: one, or all shards when it is alone. */
static int joints_above_wafer(const struct timeline *t)
{
    return tree(t)->n_nodes ? 1 : tree(t)->n_shards;
}

static struct joint *joint_above_node(const struct timeline *t, int node, int *n)
{
    *n = node ? 1 : tree(t)->n_shards;
    return node ? joint_of_node(t, node) : t->joint;
}

/* First of the joints below a node; they are neighbours. */
static struct joint *joints_below(const struct timeline *t, int node)
{
    const struct stream_node *n = &tree(t)->node[node];
    return n->leaf_switch ? joint_of_wafer(t, n->first_child) : joint_of_node(t, n->first_child);
}

/* ---- links ----------------------------------------------------------------------------------- */

/* What vtime_link_send does.  The link is free again when the last byte has left. */
struct sent {
    int32_t start, left;
};
static struct sent over_link(struct timeline *t, struct label label, const int32_t ready[2],
                             int32_t *free, struct edge transfer)
{
    struct sent s;
    s.start = both(t, label, after(ready[0], PART_NONE, 0), after(*free, PART_NONE, 0));
    transfer.from = s.start;
    s.left = both(t, label, after(ready[1], PART_NONE, 0), transfer);
    *free = s.left;
    return s;
}

static void count(struct timeline *t, struct joint *j, int up, struct sent s, int64_t bytes)
{
    struct timeline_link *load = &j->load[up];
    if (t->graph.rc) return;
    load->bytes += bytes;
    load->busy_ps += timeline_ps(&t->graph, s.left) - timeline_ps(&t->graph, s.start);
    load->n_messages++;
}

static struct sent send_down(struct timeline *t, struct joint *j, int32_t transfer,
                             const int32_t ready[2], int64_t bytes)
{
    const struct label from = {j->parent, transfer}, to = {j->child, transfer};
    const struct edge way = after(0, PART_WEIGHTS, vtime_duration_ps(bytes, j->rate));
    const struct sent s = over_link(t, from, ready, &j->down_free, way);
    j->first = later(t, to, s.start, PART_LATENCY, j->latency_ps);
    j->last = later(t, to, s.left, PART_LATENCY, j->latency_ps);
    count(t, j, 0, s, bytes);
    return s;
}

/* A bar from event @p begin to event @p end. */
static void draw(struct timeline *t, struct slice s, int32_t begin, int32_t end)
{
    if (!t->tracing || t->graph.rc) return;
    s.begin_ps = timeline_ps(&t->graph, begin);
    s.end_ps = timeline_ps(&t->graph, end);
    timeline_slice(t, &s);
}

/* Returns the event at which the last byte has left. */
static int32_t send_up(struct timeline *t, struct joint *j, int32_t transfer,
                       const int32_t ready[2], int64_t bytes)
{
    const struct label from = {j->child, transfer}, to = {j->parent, transfer};
    const struct edge way = after(0, PART_GRADIENTS, vtime_duration_ps(bytes, j->up_rate));
    const struct sent s = over_link(t, from, ready, &j->up_free, way);
    j->up_first = later(t, to, s.start, PART_LATENCY, j->up_latency_ps);
    j->up_last = later(t, to, s.left, PART_LATENCY, j->up_latency_ps);
    count(t, j, 1, s, bytes);
    if (bytes > STREAM_SIGNAL_BYTES)
        draw(t,
             (struct slice){
                 .role = j->child, .transfer = transfer, .kind = SLICE_UP, .bytes = bytes},
             s.start, s.left);
    return s.left;
}

/* ---- weights --------------------------------------------------------------------------------- */

static void send_shards(struct timeline *t, int32_t transfer)
{
    const struct model *model = t->cluster->model;
    const int n_shards = tree(t)->n_shards, stage = timeline_transfer(t, transfer).stage;
    const int64_t whole = stream_weight_bytes(model, stage);
    const int64_t bytes = stream_per_shard(whole, n_shards), need = t->window->need[transfer];
    for (int m = 0; m < n_shards; m++) {
        const struct label label = {m, transfer};
        int32_t ready = t->ready[m * model->n_stages + stage];
        if (need >= 0) {
            const int32_t credit = t->credit[m * t->window->n_transfers + need];
            ready = both(t, label, after(ready, PART_NONE, 0), after(credit, PART_NONE, 0));
        }
        const struct sent s =
            send_down(t, &t->joint[m], transfer, (const int32_t[]){ready, ready}, bytes);
        draw(t, (struct slice){.role = m, .transfer = transfer, .kind = SLICE_DOWN, .bytes = bytes},
             s.start, s.left);
    }
}

/* First and last byte of what came over @p n joints. */
static void arrive(struct timeline *t, struct label label, const struct joint *j, int n,
                   int32_t out[2])
{
    for (int i = 0; i < n; i++)
        t->scratch[i] = j[i].first;
    out[0] = latest(t, label, t->scratch, n);
    for (int i = 0; i < n; i++)
        t->scratch[i] = j[i].last;
    out[1] = latest(t, label, t->scratch, n);
}

static void broadcast(struct timeline *t, int32_t transfer)
{
    const int64_t latency = machine(t)->swarmx.latency_ps;
    const int64_t bytes =
        stream_weight_bytes(t->cluster->model, timeline_transfer(t, transfer).stage);
    for (int i = 0; i < tree(t)->n_nodes; i++) {
        const struct label label = {stream_role_of_node(tree(t), i), transfer};
        struct joint *below = joints_below(t, i);
        int32_t ready[2];
        int n;
        const struct joint *above = joint_above_node(t, i, &n);
        arrive(t, label, above, n, ready);
        ready[0] = later(t, label, ready[0], PART_LATENCY, latency);
        ready[1] = later(t, label, ready[1], PART_LATENCY, latency);
        struct sent slow = send_down(t, below, transfer, ready, bytes);
        for (int c = 1; c < tree(t)->node[i].n_children; c++) {
            const struct sent s = send_down(t, &below[c], transfer, ready, bytes);
            if (timeline_ps(&t->graph, s.left) > timeline_ps(&t->graph, slow.left)) slow = s;
        }
        /* The children's links run side by side: the slowest stands for all. */
        const int32_t role = label.role;
        draw(t,
             (struct slice){.role = role, .transfer = transfer, .kind = SLICE_DOWN, .bytes = bytes},
             slow.start, slow.left);
    }
}

/* ---- a stage --------------------------------------------------------------------------------- */

/* A stage in progress on a wafer. */
struct stage {
    struct label label;
    int wafer;
    struct wafer_cost cost;
    int32_t arrived[2]; /* weights */
    int32_t begin, start, end;
};

static int64_t samples_of(const struct timeline *t, int wafer, int64_t micro)
{
    int64_t first, end;
    stream_micro_shards(&t->batch, micro, wafer, wafer + 1, &first, &end);
    return stream_samples(&t->batch, first, end);
}

static void begin_stage(struct timeline *t, struct stage *s)
{
    const int n = model_n_transfers(t->cluster->model, true);
    const struct cluster *c = t->cluster;
    struct joint *j = joint_of_wafer(t, s->wafer);
    struct edge in[3] = {after(t->wafer_now[s->wafer], PART_NONE, 0),
                         after(s->arrived[0], PART_NONE, 0)};
    int n_in = 2;
    if (s->label.transfer % n == 0) {
        t->fed[s->wafer] += samples_of(t, s->wafer, s->label.transfer / n);
        const int64_t fed_ps = wafer_input_ps(&c->hw, c->model, t->fed[s->wafer]);
        in[n_in++] = after(t->step_start, PART_INPUT, fed_ps);
    }
    s->begin = timeline_event(&t->graph, s->label, in, n_in);
    for (int i = 0; i < joints_above_wafer(t); i++) {
        const struct label to = {j[i].parent, s->label.transfer};
        j[i].credit = later(t, to, s->begin, PART_LATENCY, j[i].latency_ps);
    }
}

static void compute_stage(struct timeline *t, struct stage *s)
{
    struct edge in[3];
    s->start = later(t, s->label, s->begin, PART_STAGE, s->cost.latency_ps);
    in[0] = after(s->start, PART_COMPUTE, s->cost.compute_ps);
    in[1] = after(s->arrived[1], PART_DRAIN, s->cost.drain_ps);
    in[2] = after(s->begin, PART_SPILL, s->cost.spill_ps);
    s->end = timeline_event(&t->graph, s->label, in, s->cost.spill_ps ? 3 : 2);
}

static void send_sums(struct timeline *t, struct stage *s, int64_t whole, bool striped)
{
    const int n = joints_above_wafer(t);
    const int64_t bytes = striped ? stream_per_shard(whole, n) : whole;
    struct joint *j = joint_of_wafer(t, s->wafer);
    const int32_t first =
        striped ? later(t, s->label, s->start, PART_COMPUTE, s->cost.first_ps) : s->end;
    const int32_t ready[2] = {first, s->end};
    int32_t *left = t->scratch;
    left[0] = s->end;
    for (int i = 0; i < n; i++)
        left[i + 1] = send_up(t, &j[i], s->label.transfer, ready, bytes);
    /* Gradients are not stored: the stage ends when they have left. */
    if (striped) s->end = latest(t, s->label, left, n + 1);
}

static void run_stage(struct timeline *t, int wafer, int32_t transfer)
{
    const struct cluster *c = t->cluster;
    const struct model_transfer what = timeline_transfer(t, transfer);
    const int n = model_n_transfers(c->model, true);
    const struct wafer_task task = {.wafer = tree(t)->wafer_position[wafer],
                                    .step = t->step,
                                    .seed = t->seed,
                                    .stage = what.stage,
                                    .backward = what.backward,
                                    .n_samples = samples_of(t, wafer, transfer / n)};
    struct stage s = {.label = {stream_role_of_wafer(tree(t), wafer), transfer},
                      .wafer = wafer,
                      .cost = wafer_cost_of(&c->hw, c->model, &t->plan, &task)};
    arrive(t, s.label, joint_of_wafer(t, wafer), joints_above_wafer(t), s.arrived);
    begin_stage(t, &s);
    compute_stage(t, &s);
    if (what.backward) send_sums(t, &s, stream_grad_bytes(c->model, what.stage), true);
    t->wafer_now[wafer] = s.end;
    draw(t, (struct slice){.role = s.label.role, .transfer = transfer, .kind = SLICE_STAGE},
         s.begin, s.end);
}

/* ---- upwards --------------------------------------------------------------------------------- */

static void pass_credits(struct timeline *t, int32_t transfer)
{
    const int n_shards = tree(t)->n_shards;
    for (int i = tree(t)->n_nodes - 1; i >= 0; i--) {
        const struct label label = {stream_role_of_node(tree(t), i), transfer};
        const int n_children = tree(t)->node[i].n_children;
        const struct joint *below = joints_below(t, i);
        int n;
        struct joint *above = joint_above_node(t, i, &n);
        for (int c = 0; c < n_children; c++)
            t->scratch[c] = below[c].credit;
        const int32_t at = latest(t, label, t->scratch, n_children);
        for (int k = 0; k < n; k++)
            above[k].credit = later(t, (struct label){above[k].parent, transfer}, at, PART_LATENCY,
                                    above[k].latency_ps);
    }
    for (int m = 0; m < n_shards; m++)
        t->credit[m * t->window->n_transfers + transfer] = t->joint[m].credit;
}

/* When a node's sum may leave: behind the slowest child, at line rate. */
static void add_children(struct timeline *t, int node, int32_t transfer, int64_t bytes,
                         int32_t ready[2])
{
    const struct label label = {stream_role_of_node(tree(t), node), transfer};
    const int n = tree(t)->node[node].n_children;
    const struct joint *below = joints_below(t, node);
    for (int c = 0; c < n; c++)
        t->scratch[c] = below[c].up_first;
    ready[0] = latest(t, label, t->scratch, n);
    for (int c = 0; c < n; c++)
        t->scratch[c] = below[c].up_last;
    ready[1] = latest(t, label, t->scratch, n);
    if (!machine(t)->effects.reduce) return;
    const int64_t line_ps =
        vtime_duration_ps(bytes, stream_rate_of_node(&t->cluster->hw, tree(t), node));
    const int64_t latency = machine(t)->swarmx.add_latency_ps;
    ready[0] = later(t, label, ready[0], PART_ADD, latency);
    ready[1] =
        both(t, label, after(ready[1], PART_ADD, latency), after(ready[0], PART_ADD, line_ps));
}

/* From what the wafers sent to what MemoryX gets. */
static void reduce(struct timeline *t, int32_t transfer, int64_t whole, bool striped)
{
    for (int i = tree(t)->n_nodes - 1; i >= 0; i--) {
        int32_t ready[2];
        int n;
        struct joint *above = joint_above_node(t, i, &n);
        const int64_t bytes = striped && !i ? stream_per_shard(whole, n) : whole;
        add_children(t, i, transfer, whole, ready);
        for (int k = 0; k < n; k++)
            (void)send_up(t, &above[k], transfer, ready, bytes);
    }
}

static void take_gradients(struct timeline *t, int stage)
{
    for (int m = 0; m < tree(t)->n_shards; m++)
        t->arrived[m * t->cluster->model->n_stages + stage] = t->joint[m].up_last;
}

/* Losses after the last forward stage, times at the end of the step: small, but they take their
 * turn on the links. */
static void send_small(struct timeline *t, int32_t transfer, int64_t bytes)
{
    for (int w = 0; w < tree(t)->n_wafers; w++) {
        struct stage s = {.label = {stream_role_of_wafer(tree(t), w), transfer},
                          .wafer = w,
                          .end = t->wafer_now[w]};
        send_sums(t, &s, bytes, false);
    }
    reduce(t, transfer, bytes, false);
}

/* ---- the update ------------------------------------------------------------------------------ */

/* Shard 0 hears of all, decides, tells: when each shard knows what all of them had at @p ready. */
static void share(struct timeline *t, int64_t bytes, const int32_t *ready, int32_t *known)
{
    const struct hw_memoryx *mx = &machine(t)->memoryx;
    const int n = tree(t)->n_shards;
    const struct edge way =
        after(0, PART_GRADIENTS, vtime_duration_ps(bytes, mx->link_rate_bytes_per_s));
    for (int m = 1; m < n; m++) {
        const struct sent s =
            over_link(t, (struct label){m, -1}, (const int32_t[]){ready[m], ready[m]},
                      &t->peer_free[0][m], way);
        t->scratch[m] = later(t, (struct label){0, -1}, s.left, PART_LATENCY, mx->link_latency_ps);
    }
    t->scratch[0] = ready[0];
    known[0] = latest(t, (struct label){0, -1}, t->scratch, n);
    for (int m = 1; m < n; m++) {
        const struct sent s =
            over_link(t, (struct label){0, -1}, (const int32_t[]){known[0], known[0]},
                      &t->peer_free[1][m], way);
        known[m] = later(t, (struct label){m, -1}, s.left, PART_LATENCY, mx->link_latency_ps);
    }
}

static void update_shard(struct timeline *t, int m, int32_t known)
{
    const struct cluster *c = t->cluster;
    const int n = c->model->n_stages;
    const int32_t *arrived = &t->arrived[(ptrdiff_t)m * n];
    int32_t *ready = &t->ready[(ptrdiff_t)m * n];
    const struct label label = {m, -1};
    for (int i = 0; i < n; i++) {
        const int stage = t->update_waits ? i : n - 1 - i;
        const int32_t gradient = t->update_waits ? known : arrived[stage];
        const int64_t ps = memoryx_update_ps(&c->hw, c->model, stage, tree(t)->n_shards);
        const int32_t start =
            both(t, label, after(t->updating[m], PART_NONE, 0),
                 after(gradient, PART_UPDATE, machine(t)->memoryx.update_latency_ps));
        t->updating[m] = ready[stage] = later(t, label, start, PART_UPDATE, ps);
    }
    if (c->model->tied)
        ready[n - 1] =
            both(t, label, after(ready[n - 1], PART_NONE, 0), after(ready[0], PART_NONE, 0));
}

static void update_at_once(struct timeline *t, int m)
{
    const int n = t->cluster->model->n_stages;
    const int32_t *arrived = &t->arrived[(ptrdiff_t)m * n];
    int32_t *ready = &t->ready[(ptrdiff_t)m * n];
    for (int s = 0; s < n; s++)
        ready[s] = arrived[s];
    if (t->cluster->model->tied)
        ready[0] = ready[n - 1] = both(t, (struct label){m, -1}, after(arrived[0], PART_NONE, 0),
                                       after(arrived[n - 1], PART_NONE, 0));
}

static void update(struct timeline *t)
{
    const int n_shards = tree(t)->n_shards, n = t->cluster->model->n_stages;
    int32_t reduced[HW_MAX_SHARDS] = {0}, known[HW_MAX_SHARDS] = {0};
    for (int m = 0; m < n_shards; m++)
        reduced[m] = latest(t, (struct label){m, -1}, &t->arrived[(ptrdiff_t)m * n], n);
    share(t, STREAM_SIGNAL_BYTES, reduced, known);
    for (int i = 0; i < t->n_rounds; i++)
        share(t, t->round_bytes[i], known, known);
    for (int m = 0; m < n_shards; m++) {
        if (machine(t)->effects.boundary)
            update_shard(t, m, known[m]);
        else
            update_at_once(t, m);
        draw(t, (struct slice){.role = m, .transfer = -1, .kind = SLICE_UPDATE}, reduced[m],
             t->updating[m]);
    }
}

/* ---- the step -------------------------------------------------------------------------------- */

static void find_slowest(struct timeline *t)
{
    t->slowest = 0;
    for (int w = 1; w < tree(t)->n_wafers && !t->graph.rc; w++)
        if (timeline_ps(&t->graph, t->wafer_now[w]) >
            timeline_ps(&t->graph, t->wafer_now[t->slowest]))
            t->slowest = w;
    t->step_end = t->wafer_now[t->slowest];
}

enum wsc_err timeline_walk_step(struct timeline *t)
{
    const struct model *model = t->cluster->model;
    const int n = model_n_transfers(model, true);
    for (int w = 0; w < tree(t)->n_wafers; w++) {
        t->wafer_now[w] = t->step_start;
        t->fed[w] = 0;
    }
    for (int32_t i = 0; i < t->window->n_transfers; i++) {
        const struct model_transfer what = timeline_transfer(t, i);
        send_shards(t, i);
        broadcast(t, i);
        for (int w = 0; w < tree(t)->n_wafers; w++)
            run_stage(t, w, i);
        pass_credits(t, i);
        if (i % n == model->n_stages - 1) send_small(t, i, STREAM_LOSS_BYTES);
        if (!what.backward) continue;
        reduce(t, i, stream_grad_bytes(model, what.stage), true);
        take_gradients(t, what.stage);
    }
    send_small(t, -1, STREAM_SIGNAL_BYTES);
    find_slowest(t);
    update(t);
    return t->graph.rc;
}
