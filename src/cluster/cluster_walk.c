// SPDX-License-Identifier: Apache-2.0
/* A dry run: the steps of a training without values, to see how long they take with faults.
 *
 * The loop is that of a training (src/job/job.c): enter a step, run to the next change of the
 * machine, go back to the newest checkpoint when memory was lost.  Virtual time does not depend on
 * values, so the dry run in one process comes to the time of the job, on any number of ranks.
 * Called by src/job/fault_costs.c. */
#include <wsc/cluster.h>

#include <wsc/check.h>

/* One on its way. */
struct walk {
    struct cluster *cluster; /* owned */
    struct cycles_plan plan;
    struct stream_batch batch;
    int64_t step;
    struct cluster_dry_run *result;
};

static enum wsc_err add_time(void *ctx, const struct memoryx_batch *batch)
{
    struct cluster_dry_run *r = ctx;
    r->time_ps += batch->time_ps + batch->pause_ps;
    return WSC_OK;
}

static enum wsc_err plan_walk(struct walk *w)
{
    return cluster_plan_batch(w->cluster, &w->cluster->params->train_input, true, &w->plan,
                              &w->batch);
}

/* The step begins; *@p goes_on is false when memory was lost: then the walk resumes at an earlier
 * step. */
static enum wsc_err enter_walk(struct walk *w, bool *goes_on)
{
    struct cluster *c = w->cluster;
    struct cluster_change change;
    TRY(cluster_faults_enter(c, w->step, &change));
    w->result->recovery_ps += change.recovery_ps;
    w->result->time_ps += change.recovery_ps;
    *goes_on = !change.memory_lost;
    if (change.replan) TRY(plan_walk(w));
    if (*goes_on) return WSC_OK;
    const int64_t saved =
        cluster_checkpoint_before(&c->params->runconfig, w->result->origin_step, w->step);
    WSC_CHECK(saved >= 0, "no checkpoint before step %lld", (long long)w->step);
    const struct cluster_loss lost = cluster_faults_lost(c, w->step, saved);
    w->result->repeated_steps += w->step - saved;
    w->step = saved;
    cluster_faults_restored(c, &lost, change.recovery_ps);
    return WSC_OK;
}

static enum wsc_err walk_steps(struct walk *w)
{
    const struct cluster_dry_run *r = w->result;
    const struct wafer_work work = {.plan = &w->plan, .seed = cluster_seed(w->cluster->params)};
    while (w->step < r->last_step) {
        bool goes_on = false;
        TRY(enter_walk(w, &goes_on));
        if (!goes_on) continue;
        const int64_t change = hw_faults_next(w->cluster->faults);
        const struct stream_pass pass = {
            .mode = STREAM_TRAIN,
            .first_step = w->step,
            .n_steps = (change < r->last_step ? change : r->last_step) - w->step,
            .batch = w->batch};
        TRY(cluster_run_pass(w->cluster, &pass, &work));
        w->step += pass.n_steps;
    }
    return WSC_OK;
}

enum wsc_err cluster_walk(const struct zoo_params *params, const struct hw_machine *cluster,
                          struct cluster_dry_run *r)
{
    const struct memoryx_hooks hooks = {.on_batch = add_time, .ctx = r};
    struct walk w = {.step = r->first_step, .result = r};
    struct comm *comm = NULL;
    r->time_ps = r->recovery_ps = r->repeated_steps = 0;
    enum wsc_err rc = comm_create(&comm, false);
    if (!rc) rc = cluster_create(&w.cluster, comm, params, cluster, false, &hooks);
    if (!rc) rc = cluster_faults_plan(w.cluster, r->last_step, r->without);
    if (!rc) hw_faults_go_on(w.cluster->faults, r->reached_step);
    if (!rc) rc = plan_walk(&w);
    if (!rc) rc = walk_steps(&w);
    cluster_destroy(&w.cluster);
    comm_destroy(&comm);
    return rc;
}
