// SPDX-License-Identifier: Apache-2.0
/* The machine from step to step when parts of it fail.
 *
 * cluster_faults_plan() draws all faults of a training at its start (hw), so that every rank knows
 * them without a message.  Where a step begins, cluster_faults_enter() forms the SwarmX tree again
 * without what is lost, tunes links and wafers that are slow, and lets the shards wait for the
 * recovery.  A shard that lost its memory is restored by the caller, who has the checkpoints: job
 * with values, cluster_walk.c without. */
#include <wsc/cluster.h>

#include <wsc/check.h>
#include <wsc/mem.h>

/* ---- the machine that is left ---------------------------------------------------------------- */

/* Flags of what is lost in the present step: wafers, then SwarmX nodes. */
static enum wsc_err find_lost(const struct cluster *c, bool **lost)
{
    const struct stream_topology *m = c->machine;
    TRY_NEW(*lost, WSC_MEM_RUN, m->n_machine_wafers + m->n_machine_nodes);
    for (int w = 0; w < m->n_machine_wafers; w++)
        (*lost)[w] = hw_is_lost(&c->hw, HW_PLACE_WAFER, w);
    for (int i = 0; i < m->n_machine_nodes; i++)
        (*lost)[m->n_machine_wafers + i] = hw_is_lost(&c->hw, HW_PLACE_NODE, i);
    return WSC_OK;
}

/* The tree that is left in the present step; owned by the caller. */
static enum wsc_err tree_of_step(const struct cluster *c, struct stream_topology **out)
{
    bool *lost = NULL;
    TRY(find_lost(c, &lost));
    enum wsc_err rc =
        stream_topology_create_without(out, c->machine, lost, lost + c->machine->n_machine_wafers);
    wsc_free(lost);
    return rc;
}

/* True when both trees have the same nodes and wafers at the same positions. */
static bool same_tree(const struct stream_topology *a, const struct stream_topology *b)
{
    bool same = a->n_wafers == b->n_wafers && a->n_nodes == b->n_nodes;
    for (int i = 0; i < a->n_nodes && same; i++)
        same = a->node[i].position == b->node[i].position &&
               a->node[i].n_children == b->node[i].n_children;
    for (int w = 0; w < a->n_wafers && same; w++)
        same = a->wafer_position[w] == b->wafer_position[w];
    return same;
}

/* Every tree that there will be can be formed. */
static enum wsc_err check_trees(struct cluster *c)
{
    int n;
    const struct hw_event *event = hw_faults_events(c->faults, &n);
    enum wsc_err rc = WSC_OK;
    for (int i = 0; i < n && !rc; i++) {
        struct stream_topology *t = NULL;
        const struct hw_fault *f = event[i].fault;
        if (f->place != HW_PLACE_NODE || !hw_fault_has(f, HW_FAULT_IS_FOREVER)) continue;
        hw_faults_move(c->faults, event[i].first_step);
        rc = tree_of_step(c, &t);
        stream_topology_destroy(&t);
        if (rc) rc = wsc_err_frame(rc, __FILE__, __LINE__, event[i].fault->text);
    }
    return rc;
}

enum wsc_err cluster_faults_plan(struct cluster *c, int64_t last_step, int without)
{
    const struct stream_topology *m = c->machine;
    const struct hw_fault_scope scope = {.n_places = {[HW_PLACE_WAFER] = m->n_machine_wafers,
                                                      [HW_PLACE_NODE] = m->n_machine_nodes,
                                                      [HW_PLACE_SHARD] = m->n_shards},
                                         .seed = cluster_seed(c->params),
                                         .last_step = last_step,
                                         .without = without};
    hw_faults_destroy(&c->faults);
    c->hw.faults = NULL;
    TRY(hw_faults_create(&c->faults, &c->effective, &scope));
    c->hw.faults = c->faults;
    TRY(check_trees(c));
    hw_faults_go_on(c->faults, -1);
    return WSC_OK;
}

/* ---- a step begins --------------------------------------------------------------------------- */

/* Bytes that a lost shard reads: its part of weights and optimizer state. */
static int64_t shard_bytes(const struct cluster *c)
{
    return stream_per_shard(memoryx_state_bytes(&c->params->optimizer, c->model),
                            c->machine->n_shards);
}

static void recover(struct cluster *c, int64_t ps)
{
    for (int m = 0; m < c->machine->n_shards; m++)
        if (c->memoryx[m]) memoryx_wait(c->memoryx[m], vtime_add(memoryx_now(c->memoryx[m]), ps));
}

enum wsc_err cluster_faults_enter(struct cluster *c, int64_t step, struct cluster_change *change)
{
    struct stream_topology *t = NULL;
    const struct hw_event *event;
    *change = (struct cluster_change){0};
    hw_faults_move(c->faults, step);
    TRY(tree_of_step(c, &t));
    WSC_CHECK(t, "no tree");
    c->hw.n_csx = t->n_wafers;
    change->replan = t->n_wafers != c->net->topology->n_wafers;
    if (same_tree(t, c->net->topology)) {
        stream_topology_destroy(&t);
        stream_net_tune(c->net);
    } else {
        TRY(stream_net_form(c->net, t));
    }
    for (int i = 0; (event = hw_faults_new(c->faults, i)); i++)
        change->memory_lost |= hw_fault_has(event->fault, HW_FAULT_LOSES_MEMORY);
    change->recovery_ps = hw_recovery_ps(&c->hw, shard_bytes(c));
    if (change->recovery_ps && !change->memory_lost) recover(c, change->recovery_ps);
    return WSC_OK;
}

/* The checkpoint of an earlier step was complete before the step after it began. */
struct cluster_loss cluster_faults_lost(const struct cluster *c, int64_t step, int64_t saved_step)
{
    struct cluster_loss lost = {{0}, {0}};
    for (int m = 0; m < c->machine->n_shards; m++) {
        if (!c->memoryx[m]) continue;
        lost.at = vtime_max(lost.at, memoryx_now(c->memoryx[m]));
        if (step == saved_step) lost.saved = vtime_max(lost.saved, memoryx_updated(c->memoryx[m]));
    }
    return lost;
}

void cluster_faults_restored(struct cluster *c, const struct cluster_loss *lost,
                             int64_t recovery_ps)
{
    const struct vtime end = vtime_add(lost->at, recovery_ps);
    const struct vtime ready = vtime_add(vtime_max(lost->at, lost->saved), recovery_ps);
    for (int m = 0; m < c->machine->n_shards; m++)
        if (c->memoryx[m]) memoryx_restart(c->memoryx[m], end, ready);
}

int64_t cluster_checkpoint_before(const struct zoo_runconfig *rc, int64_t origin_step, int64_t step)
{
    const int64_t every = rc->checkpoint_steps;
    const int64_t saved = every > 0 ? step / every * every : 0;
    if (saved > origin_step) return saved;
    return origin_step > 0 || rc->save_initial_checkpoint ? origin_step : -1;
}
