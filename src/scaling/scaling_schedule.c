// SPDX-License-Identifier: Apache-2.0
/* The mean step of a training whose sparsity changes: steps at eight places of the run, evenly
 * spread, and what the steps before updates by gradients take longer.  `wsc scale --tokens` takes
 * whole trainings from it. */
#include "scaling_schedule.h"
#include "scaling_point.h"

enum { PLACES = 8 };

static bool changes(const struct zoo_sparsities *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->entry[i].algorithm != ZOO_SPARSITY_STATIC) return true;
    return false;
}

/* A step in the second half of the run that ends with an update by gradients, of the first entry
 * that has one, and how many there are; -1: none. */
static int64_t dense_step(const struct zoo_sparsities *s, int64_t steps, int64_t *n)
{
    for (int i = 0; i < s->n; i++) {
        const struct zoo_sparsity *e = &s->entry[i];
        *n = zoo_sparsity_n_updates(e, steps) - zoo_sparsity_n_updates(e, 0);
        if (e->algorithm != ZOO_SPARSITY_RIGL || *n < 1) continue;
        for (int64_t t = SCALING_WARM_UP; t < steps; t++)
            if (zoo_sparsity_needs_dense_gradient(e, t)) return t;
    }
    return -1;
}

/* What an update by gradients adds to its step and the next one, ps: against steps without. */
static enum wsc_err extra_of_updates(const struct scaling_model *model,
                                     const struct hw_machine *cluster, int64_t step,
                                     const struct scaling_row *row, int64_t *ps)
{
    struct hw_machine even = *cluster; /* a shallow copy: steps that differ in nothing else */
    struct scaling_place place = {row->num_csx, row->global_batch, step - SCALING_WARM_UP, 2,
                                  false};
    struct zoo_params params = *model->params;
    struct zoo_sparsity fixed[ZOO_MAX_SPARSITIES];
    const struct scaling_model without = {model->name, &params};
    struct scaling_row with, usual;
    even.effects.jitter = false;
    for (int i = 0; i < params.sparsity.n; i++) {
        fixed[i] = params.sparsity.entry[i];
        fixed[i].sparsity = (struct zoo_fraction){
            .kind = ZOO_FRACTION_CONSTANT, .init = (double)zoo_sparsity_after(&fixed[i], step)};
        fixed[i].algorithm = ZOO_SPARSITY_STATIC;
    }
    params.sparsity.entry = fixed;
    TRY(scaling_point_at(model, &even, &place, &with));
    TRY(scaling_point_at(&without, &even, &place, &usual));
    *ps = place.n_measured * (with.step_time_ps - usual.step_time_ps);
    return WSC_OK;
}

/* Rates of a step that takes @p ps. */
static void set_step_time(struct scaling_row *row, int64_t ps, double useful)
{
    const double faster = (double)row->step_time_ps / (double)ps;
    row->mfu *= faster * useful / row->useful_flop_per_token;
    row->useful_flop_per_token = useful;
    row->tokens_per_s *= faster;
    row->samples_per_s *= faster;
    row->joules_per_token /= faster;
    row->step_time_ps = ps;
}

enum wsc_err scaling_over_schedule(const struct scaling_model *model,
                                   const struct hw_machine *cluster, int64_t steps,
                                   struct scaling_row *row)
{
    const struct zoo_sparsities *s = &model->params->sparsity;
    int64_t ps = 0, n_updates = 0;
    double useful = 0;
    if (!changes(s) || steps < PLACES) return WSC_OK;
    for (int i = 0; i < PLACES; i++) {
        const struct scaling_place place = {row->num_csx, row->global_batch,
                                            steps * (2 * (int64_t)i + 1) / (int64_t)(2 * PLACES), 0,
                                            false};
        struct scaling_row here;
        TRY(scaling_point_at(model, cluster, &place, &here));
        ps += here.step_time_ps / PLACES;
        useful += here.useful_flop_per_token / PLACES;
    }
    const int64_t step = dense_step(s, steps, &n_updates);
    int64_t extra = 0;
    if (step >= 0) TRY(extra_of_updates(model, cluster, step, row, &extra));
    set_step_time(row, ps + (int64_t)((double)extra * (double)n_updates / (double)steps), useful);
    return WSC_OK;
}
