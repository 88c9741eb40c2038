// SPDX-License-Identifier: Apache-2.0
/* A dry run: a training without values, to see how long it takes with faults.
 *
 * The loop is that of a training (src/job/job_training.c): enter a step, run to the next change of
 * the machine or evaluation, go back to the newest checkpoint when memory was lost. It begins with
 * the clock of the run before.  Virtual time does not depend on
 * values, so the dry run in one process comes to the time of the job, on any number of ranks.
 * Called by src/job/fault_costs.c. */
#include <wsc/cluster.h>

#include <wsc/check.h>

/* The work of one kind of pass. */
struct part {
    struct cycles_plan plan;
    struct stream_batch batch;
};

/* One on its way. */
struct walk {
    struct cluster *cluster; /* owned */
    struct part train, eval;
    int64_t step;
    struct cluster_dry_run *result;
};

bool cluster_evaluates_after(const struct cluster_evaluations *e, int64_t step)
{
    return e->every && (step == e->last_step || (e->every > 0 && step % e->every == 0));
}

static enum wsc_err add_time(void *ctx, const struct memoryx_batch *batch)
{
    struct cluster_dry_run *r = ctx;
    r->time_ps += batch->time_ps + batch->pause_ps;
    return WSC_OK;
}

static enum wsc_err plan_part(const struct walk *w, bool training, struct part *p)
{
    const struct zoo_params *params = w->cluster->params;
    return cluster_plan_batch(w->cluster, training ? &params->train_input : &params->eval_input,
                              training, &p->plan, &p->batch);
}

static enum wsc_err plan_walk(struct walk *w)
{
    TRY(plan_part(w, true, &w->train));
    return w->result->evaluations.every ? plan_part(w, false, &w->eval) : WSC_OK;
}

static enum wsc_err walk_pass(struct walk *w, struct stream_pass *pass, const struct part *p)
{
    const struct wafer_work work = {.plan = &p->plan, .seed = cluster_seed(w->cluster->params)};
    pass->batch = p->batch;
    return cluster_run_pass(w->cluster, pass, &work);
}

/* The evaluation after the present step, on the machine of that step. */
static enum wsc_err evaluate(struct walk *w)
{
    struct stream_pass pass = {.mode = STREAM_EVAL,
                               .updates = w->step - w->result->uncounted,
                               .n_steps = w->result->evaluations.n_batches};
    return walk_pass(w, &pass, &w->eval);
}

/* The run before stopped in this evaluation. */
static enum wsc_err evaluate_first(struct walk *w)
{
    struct cluster_change change = {0};
    if (w->step > 0) TRY(cluster_faults_enter(w->cluster, w->step - 1, &change));
    if (change.replan) TRY(plan_walk(w));
    return evaluate(w);
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

/* Will the walk pass the step where it ends, to lose memory later and come back? */
static bool comes_back(const struct walk *w)
{
    int n;
    const struct hw_event *event = hw_faults_events(w->cluster->faults, &n);
    const int64_t reached = hw_faults_reached(w->cluster->faults);
    for (int i = 0; i < n; i++)
        if (hw_fault_has(event[i].fault, HW_FAULT_LOSES_MEMORY) && event[i].first_step > reached &&
            event[i].first_step <= w->result->end_reached_step)
            return true;
    return false;
}

/* Where the machine changes, an evaluation follows, or the walk ends. */
static int64_t next_stop(const struct walk *w)
{
    const struct cluster_dry_run *r = w->result;
    const int64_t every = r->evaluations.every, change = hw_faults_next(w->cluster->faults);
    int64_t stop = change < r->last_step || comes_back(w) ? change : r->last_step;
    const int64_t eval = every > 0 ? (w->step / every + 1) * every : stop;
    return eval < stop ? eval : stop;
}

/* Steps without a change of the machine, and the evaluation after them. */
static enum wsc_err walk_on(struct walk *w)
{
    const struct cluster_dry_run *r = w->result;
    const int64_t stop = next_stop(w);
    const bool evaluates = cluster_evaluates_after(&r->evaluations, stop);
    struct stream_pass pass = {.mode = STREAM_TRAIN,
                               .first_step = w->step,
                               .n_steps = stop - w->step,
                               .uncounted = r->uncounted,
                               .eval_step = evaluates ? stop : 0};
    TRY(walk_pass(w, &pass, &w->train));
    w->step = stop;
    if (!evaluates) return WSC_OK;
    if (stop == r->last_step && r->stops_before_last && !comes_back(w)) return WSC_OK;
    return evaluate(w);
}

static enum wsc_err walk_steps(struct walk *w)
{
    if (w->result->evaluates_first) TRY(evaluate_first(w));
    while (w->step < w->result->last_step || comes_back(w)) {
        bool goes_on = false;
        TRY(enter_walk(w, &goes_on));
        if (goes_on) TRY(walk_on(w));
    }
    return WSC_OK;
}

static void start_clock(struct walk *w)
{
    const int64_t *rows = w->result->start_ps;
    for (int m = 0; rows && m < w->cluster->machine->n_shards; m++)
        memoryx_set_times(w->cluster->memoryx[m], rows);
}

enum wsc_err cluster_walk(const struct zoo_params *params, const struct hw_machine *cluster,
                          struct cluster_dry_run *r)
{
    const struct memoryx_hooks hooks = {.on_batch = add_time, .ctx = r};
    struct walk w = {.step = r->first_step, .result = r};
    const int64_t reached = r->end_reached_step + 1;
    const int64_t last = reached > r->last_step ? reached : r->last_step;
    struct comm *comm = NULL;
    r->time_ps = r->recovery_ps = r->repeated_steps = 0;
    enum wsc_err rc = comm_create(&comm, false);
    if (!rc) rc = cluster_create(&w.cluster, comm, params, cluster, false, &hooks);
    if (!rc) rc = cluster_faults_plan(w.cluster, last, r->without);
    if (!rc) hw_faults_go_on(w.cluster->faults, r->reached_step);
    if (!rc) start_clock(&w);
    if (!rc) rc = plan_walk(&w);
    if (!rc) rc = walk_steps(&w);
    cluster_destroy(&w.cluster);
    comm_destroy(&comm);
    return rc;
}
