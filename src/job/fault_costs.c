// SPDX-License-Identifier: Apache-2.0
/* What each fault cost: the run again without it, with its evaluations, from the clock with which
 * it began, and without values, as these do not change virtual time.  (With --numerics mesh the run
 * itself simulated cycles; here the analytical model gives them.) */
#include "fault_costs.h"

#include <wsc/mem.h>

static enum wsc_err walk_again(const struct job_state *s, const struct hw_machine *cluster,
                               int without, struct cluster_dry_run *r)
{
    *r = (struct cluster_dry_run){.first_step = s->run.first_step,
                                  .last_step = s->at.step,
                                  .origin_step = s->run.origin_step,
                                  .reached_step = s->at.reached_step,
                                  .end_reached_step = hw_faults_reached(s->cluster->faults),
                                  .uncounted = s->at.uncounted,
                                  .without = without,
                                  .start_ps = s->run.start_ps,
                                  .evaluations = s->run.evaluations,
                                  .evaluates_first = s->run.evaluates_first,
                                  .stops_before_last = s->at.eval_due};
    if (!r->evaluations.n_batches) r->evaluations.every = 0;
    return cluster_walk(s->job->params, cluster, r);
}

/* Only tokens that were trained on again because of this fault: another one may repeat some too. */
static void fill(const struct job_state *s, const struct cluster_dry_run *with,
                 const struct cluster_dry_run *without, struct job_fault_cost *out)
{
    const int64_t tokens_of_step = s->train.batch.batch_size * model_tokens(s->cluster->model);
    out->with_ps = with->time_ps;
    out->without_ps = without->time_ps;
    out->repeated_tokens = (with->repeated_steps - without->repeated_steps) * tokens_of_step;
}

/* Events that fall into the steps of this run; @p fault is one of the effective machine, to whose
 * list events point.  Memory is lost once, not again when its step is repeated. */
static int64_t count_events(const struct job_state *s, const struct hw_fault *fault)
{
    int n;
    int64_t count = 0;
    const struct hw_event *event = hw_faults_events(s->cluster->faults, &n);
    const int64_t reached = hw_faults_reached(s->cluster->faults);
    const bool once = hw_fault_has(fault, HW_FAULT_LOSES_MEMORY);
    for (int i = 0; i < n; i++) {
        const struct hw_event *e = &event[i];
        if (e->fault != fault || (e->first_step >= s->at.step && e->first_step > reached)) continue;
        count += once ? e->first_step > s->at.reached_step : e->end_step > s->run.first_step;
    }
    return count;
}

/* Costs of single faults do not add up: one can hide another, or meet in one step.  So
 * the machine without any is walked too. */
static enum wsc_err find_sum(const struct job_state *s, const struct cluster_dry_run *with,
                             struct job_fault_cost *all)
{
    struct hw_machine sound = *s->job->cluster; /* a shallow copy: the original owns the list */
    struct cluster_dry_run without;
    sound.faults.n = 0;
    TRY(walk_again(s, &sound, -1, &without));
    fill(s, with, &without, all);
    all->fault = "all of them";
    for (int i = 0; i < s->job->cluster->faults.n; i++)
        all->n_events += s->result.fault[i].n_events;
    return WSC_OK;
}

enum wsc_err job_find_fault_costs(struct job_state *s)
{
    const struct hw_machine *cluster = s->job->cluster;
    const struct hw_fault_list *faults = &cluster->faults;
    struct cluster_dry_run with, without;
    if (!faults->n || !job_trained_steps(s)) return WSC_OK;
    TRY_NEW(s->result.fault, WSC_MEM_RUN, faults->n + 1);
    TRY(walk_again(s, cluster, -1, &with));
    for (int i = 0; i < faults->n; i++) {
        struct job_fault_cost *f = &s->result.fault[i];
        TRY(walk_again(s, cluster, i, &without));
        fill(s, &with, &without, f);
        f->fault = faults->item[i].text;
        f->n_events = count_events(s, &s->cluster->effective.faults.item[i]);
    }
    s->result.n_faults = faults->n;
    if (faults->n == 1) return WSC_OK; /* its cost is the sum */
    TRY(find_sum(s, &with, &s->result.fault[faults->n]));
    s->result.n_faults++;
    return WSC_OK;
}
