// SPDX-License-Identifier: Apache-2.0
/* A whole training at the rate of a steady-state step: simulates its evaluations, takes its time
 * with all interruptions from training_breaks.c.  Called by `wsc scale --tokens`, `wsc law
 * --predict` and, for rows of quantity training_time, `wsc validate`. */
#include "scaling_point.h"
#include "scaling_schedule.h"
#include "training_breaks.h"

#include <wsc/units.h>

#include <math.h>

/* The evaluations of a training of @p steps steps: batches of eval_input, as many as on the clock
 * of `wsc run --numerics none`, at the sparsity of the middle of the training. */
static enum wsc_err add_evaluations(const struct scaling_model *model,
                                    const struct hw_machine *cluster, const struct scaling_row *row,
                                    double steps, struct scaling_breaks *b)
{
    const struct zoo_params *p = model->params;
    const struct zoo_runconfig *rc = &p->runconfig;
    const double rounding = 1e-9; /* of a number of steps, which is a quotient of rates */
    const double last = ceil(steps - rounding * steps);
    const double every =
        rc->eval_fraction > 0 ? ceil(rc->eval_fraction * last) : (double)rc->eval_frequency;
    if (rc->mode != ZOO_TRAIN_AND_EVAL || !(every > 0)) return WSC_OK;
    const struct scaling_place place = {
        .num_csx = row->num_csx, .first_step = (int64_t)(steps / 2), .work = SCALING_EVALUATION};
    struct scaling_row batch;
    TRY(scaling_point_at(model, cluster, &place, &batch));
    const double n_batches = rc->eval_steps == CONF_NULL ? 1 : (double)rc->eval_steps;
    b->evaluation_s = n_batches * wsc_seconds((double)batch.step_time_ps);
    b->evaluation_interval_s = every * wsc_seconds((double)row->step_time_ps);
    return WSC_OK;
}

double scaling_restart_fraction(const struct scaling_training *training)
{
    return isinf(training->seconds) ? 1 : training->restart_s / training->seconds;
}

enum wsc_err scaling_training_at(const struct scaling_model *model,
                                 const struct hw_machine *cluster, const struct scaling_row *row,
                                 double tokens, double per_param, struct scaling_training *out)
{
    struct scaling_row mean = *row;
    const double all = per_param > 0 ? per_param * (double)row->params : tokens;
    const double step = row->tokens_per_s / row->samples_per_s * (double)row->global_batch;
    TRY(scaling_over_schedule(model, cluster, (int64_t)(all / step), &mean));
    struct scaling_breaks breaks = scaling_breaks_of(cluster, model->params, &mean);
    TRY(add_evaluations(model, cluster, &mean, all / step, &breaks));
    *out = scaling_training_of(&mean, tokens, per_param, &breaks);
    const struct zoo_model *m = &model->params->model;
    if (m->objective != ZOO_CAUSAL_LM || m->dpo.on) out->loss = NAN; /* the law is of next tokens */
    return WSC_OK;
}
