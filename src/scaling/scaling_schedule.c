// SPDX-License-Identifier: Apache-2.0
/* The mean step of a training whose sparsity changes: steps at eight places of the run, evenly
 * spread, and what the steps before updates by gradients take longer.  `wsc scale --tokens` takes
 * whole trainings from it. */
#include "scaling_schedule.h"
#include "scaling_point.h"

enum { PLACES = 8 };

/* A step that ends with an update by gradients of entry @p e; -1: none. */
static int64_t dense_step(const struct zoo_sparsity *e, int64_t steps)
{
    if (e->algorithm != ZOO_SPARSITY_RIGL) return -1;
    for (int64_t t = SCALING_WARM_UP; t < steps; t++)
        if (zoo_sparsity_needs_dense_gradient(e, t)) return t;
    return -1;
}

/* A model whose updates by gradients are left out. */
struct without_updates {
    struct zoo_params params;
    struct zoo_sparsity entry[ZOO_MAX_SPARSITIES];
    struct scaling_model model;
};

enum { EACH_ENTRY = ZOO_MAX_SPARSITIES };

/* Fix each entry with updates by gradients, but entry @p but, at its sparsity of @p step. */
static void leave_updates_out(struct without_updates *w, const struct scaling_model *model,
                              int64_t step, int but)
{
    w->params = *model->params; /* a shallow copy */
    for (int i = 0; i < w->params.sparsity.n; i++) {
        struct zoo_sparsity *e = &w->entry[i];
        *e = model->params->sparsity.entry[i];
        if (i == but || e->algorithm != ZOO_SPARSITY_RIGL) continue;
        e->sparsity = (struct zoo_fraction){.kind = ZOO_FRACTION_CONSTANT,
                                            .init = (double)zoo_sparsity_after(e, step)};
        e->algorithm = ZOO_SPARSITY_STATIC;
    }
    w->params.sparsity.entry = w->entry;
    w->model = (struct scaling_model){model->name, &w->params};
}

/* Time and useful FLOPs of a token. */
struct cost {
    double ps, useful;
};

/* What an update of entry @p entry adds to its step and the next one, against steps without.  When
 * every step ends with one, its part of both. */
static enum wsc_err extra_of_update(const struct scaling_model *model,
                                    const struct hw_machine *cluster, int entry, int64_t step,
                                    const struct scaling_row *row, struct cost *extra)
{
    struct hw_machine even = *cluster; /* a shallow copy: steps that differ in nothing else */
    struct scaling_place place = {.num_csx = row->num_csx,
                                  .global_batch = row->global_batch,
                                  .first_step = step - SCALING_WARM_UP,
                                  .n_measured = 2};
    struct without_updates others, all;
    struct scaling_row with, usual;
    even.effects.jitter = false;
    leave_updates_out(&others, model, step, entry);
    leave_updates_out(&all, model, step, EACH_ENTRY);
    TRY(scaling_point_at(&others.model, &even, &place, &with));
    TRY(scaling_point_at(&all.model, &even, &place, &usual));
    const bool both =
        zoo_sparsity_needs_dense_gradient(&model->params->sparsity.entry[entry], step + 1);
    const double times = both ? 1 : place.n_measured;
    extra->ps = times * (double)(with.step_time_ps - usual.step_time_ps);
    extra->useful = times * (with.useful_flop_per_token - usual.useful_flop_per_token);
    return WSC_OK;
}

/* What all updates by gradients add to a step of the run, in the mean. */
static enum wsc_err extra_of_updates(const struct scaling_model *model,
                                     const struct hw_machine *cluster, int64_t steps,
                                     const struct scaling_row *row, struct cost *sum)
{
    *sum = (struct cost){0};
    for (int i = 0; i < model->params->sparsity.n; i++) {
        const struct zoo_sparsity *e = &model->params->sparsity.entry[i];
        const int64_t step = dense_step(e, steps);
        struct cost extra = {0};
        if (step < 0) continue;
        TRY(extra_of_update(model, cluster, i, step, row, &extra));
        const int64_t n = zoo_sparsity_n_updates(e, steps) - zoo_sparsity_n_updates(e, 0);
        sum->ps += extra.ps * (double)n / (double)steps;
        sum->useful += extra.useful * (double)n / (double)steps;
    }
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

/* The middle of part @p i of the run, an even number of steps: jitter comes in pairs of an even
 * step and the next one. */
static int64_t place_of(int i, int64_t steps)
{
    const int64_t middle = steps * (2 * (int64_t)i + 1) / (2 * (int64_t)PLACES);
    return middle - middle % 2;
}

enum wsc_err scaling_over_schedule(const struct scaling_model *model,
                                   const struct hw_machine *cluster, int64_t steps,
                                   struct scaling_row *row)
{
    int64_t ps = 0;
    double useful = 0;
    struct cost extra = {0};
    if (!scaling_changes_masks(&model->params->sparsity) || steps < PLACES) return WSC_OK;
    for (int i = 0; i < PLACES; i++) {
        const struct scaling_place place = {.num_csx = row->num_csx,
                                            .global_batch = row->global_batch,
                                            .first_step = place_of(i, steps)};
        struct scaling_row here;
        struct without_updates w;
        leave_updates_out(&w, model, place.first_step + SCALING_WARM_UP, EACH_ENTRY);
        TRY(scaling_point_at(&w.model, cluster, &place, &here));
        ps += here.step_time_ps / PLACES;
        useful += here.useful_flop_per_token / PLACES;
    }
    TRY(extra_of_updates(model, cluster, steps, row, &extra));
    set_step_time(row, ps + (int64_t)extra.ps, useful + extra.useful);
    return WSC_OK;
}
