// SPDX-License-Identifier: Apache-2.0
/* A whole training at the rate of a steady-state step: its time with the checkpoints that it writes
 * and the failures that it meets, its energy and FLOPs, and the loss that a published scaling law
 * expects.  The time with failures is that of Daly 2006, "A higher order estimate of the optimum
 * checkpoint interval for restart dumps", Future Generation Computer Systems 22: failures are a
 * Poisson process, and each one repeats what was done since the checkpoint before.  Called by
 * `wsc scale --tokens` and `wsc law --predict`. */
#include "scaling_schedule.h"

#include <wsc/units.h>

#include <math.h>

/* ---- checkpoints and failures ---------------------------------------------------------------- */

struct scaling_breaks scaling_breaks_of(const struct hw_machine *cluster,
                                        const struct zoo_params *params,
                                        const struct scaling_row *row)
{
    struct hw_machine c;
    hw_apply_effects(&c, cluster);
    const double rate = (double)c.checkpoint.rate_params_per_s;
    const double step_s = wsc_seconds((double)row->step_time_ps);
    return (struct scaling_breaks){
        .checkpoint_s = rate > 0 ? (double)row->params / rate : 0,
        .interval_s = (double)params->runconfig.checkpoint_steps * step_s,
        .failures_per_s = c.reliability.mtbf_hours > 0
                              ? (double)row->num_csx / (c.reliability.mtbf_hours * 3600)
                              : 0,
        .restart_s = wsc_seconds((double)c.reliability.restart_ps)};
}

/* Seconds until @p work_s seconds are done without a failure among them, when each failure begins
 * them again after a restart: (1 / rate + restart) (exp(rate work) - 1). */
static double with_failures(const struct scaling_breaks *b, double work_s)
{
    if (!(b->failures_per_s > 0)) return work_s;
    return (1 / b->failures_per_s + b->restart_s) * expm1(b->failures_per_s * work_s);
}

/* Adds what checkpoints and failures take to the seconds of the steps alone: a checkpoint ends each
 * interval, and the last step writes one too. */
static void add_breaks(struct scaling_training *t, const struct scaling_breaks *b)
{
    const double rounding = 1e-9; /* of a number of intervals, which is a quotient of rates */
    const bool saves = b->interval_s > 0;
    const double work_s = t->seconds;
    const double whole = saves ? floor(work_s / b->interval_s + rounding) : 0;
    const double rest_s = work_s - whole * b->interval_s;
    const bool has_rest = !saves || rest_s > rounding * b->interval_s;
    const double checkpoint_s = saves ? b->checkpoint_s : 0;
    t->checkpoint_s = (whole + has_rest) * checkpoint_s;
    t->seconds = (has_rest ? with_failures(b, rest_s + checkpoint_s) : 0) +
                 (whole > 0 ? whole * with_failures(b, b->interval_s + checkpoint_s) : 0);
    /* Without failures the difference is rounding, of either sign. */
    t->restart_s = b->failures_per_s > 0 ? t->seconds - work_s - t->checkpoint_s : 0;
}

/* ---- the training ---------------------------------------------------------------------------- */

/* (flop / 5.984e22)^-0.0737 + 0.5066: Dey et al. 2023, a fit to 111M .. 6.7B, documented, said to
 * be within 0.5 % at 13B. */
double scaling_published_loss(double flop)
{
    const double scale = 5.984e22, exponent = -0.0737, irreducible = 0.5066;
    return pow(flop / scale, exponent) + irreducible;
}

struct scaling_training scaling_training(const struct scaling_row *row, double tokens,
                                         double per_param, const struct scaling_breaks *breaks)
{
    struct scaling_training t = {.model = row->model,
                                 .params = row->params,
                                 .num_csx = row->num_csx,
                                 .tokens =
                                     per_param > 0 ? per_param * (double)row->params : tokens};
    const double steps_s = t.tokens / row->tokens_per_s;
    t.seconds = steps_s;
    add_breaks(&t, breaks);
    t.joules = t.tokens * row->joules_per_token * (t.seconds / steps_s);
    t.flop = row->flop_per_token * t.tokens;
    t.flop_useful = row->useful_flop_per_token * t.tokens;
    t.flop_hoffmann = row->flop_per_token_hoffmann * t.tokens;
    const bool sparse = t.flop_useful > 0 && t.flop_useful < t.flop;
    t.loss = sparse ? NAN : scaling_published_loss(t.flop_hoffmann);
    return t;
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
    const struct scaling_breaks breaks = scaling_breaks_of(cluster, model->params, &mean);
    *out = scaling_training(&mean, tokens, per_param, &breaks);
    const struct zoo_model *m = &model->params->model;
    if (m->objective != ZOO_CAUSAL_LM || m->dpo.on) out->loss = NAN; /* the law is of next tokens */
    return WSC_OK;
}
