// SPDX-License-Identifier: Apache-2.0
/* Time, energy, FLOPs and loss of a training from the rate of its steps: with the evaluations
 * between its steps, the checkpoints that it writes and the failures that it meets.  The time with
 * failures is that of Daly 2006, "A higher order estimate of the optimum checkpoint interval for
 * restart dumps", Future Generation Computer Systems 22: failures are a Poisson process, and each
 * one repeats what was done since the checkpoint before.  The loss is what a published scaling law
 * expects.  Called by whole_training.c. */
#include "training_breaks.h"

#include <wsc/units.h>

#include <math.h>

struct scaling_breaks scaling_breaks_of(const struct hw_machine *cluster,
                                        const struct zoo_params *params,
                                        const struct scaling_row *row)
{
    struct hw_machine c;
    hw_apply_effects(&c, cluster);
    const double rate = (double)c.checkpoint.rate_params_per_s;
    const double step_s = wsc_seconds((double)row->step_time_ps);
    return (struct scaling_breaks){
        .checkpoint_s = rate > 0 ? (double)(row->params + row->n_reference) / rate : 0,
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

/* Parts of @p work_s seconds by the length of an interval; a part that is shorter is the last. */
struct intervals {
    double whole;  /* number of whole intervals */
    double rest_s; /* length of the last, shorter one */
    double ends;   /* number of ends: of whole intervals, and of the work */
};

/* @p interval_s 0: one interval, the work.  Work without a whole interval is all rest, however much
 * longer the interval is. */
static struct intervals cut(double work_s, double interval_s)
{
    const double rounding = 1e-9; /* of a number of intervals, which is a quotient of rates */
    const double whole = interval_s > 0 ? floor(work_s / interval_s + rounding) : 0;
    const double rest_s = work_s - whole * interval_s;
    const bool has_rest = !(whole > 0) || rest_s > rounding * interval_s;
    return (struct intervals){whole, has_rest ? rest_s : 0, whole + has_rest};
}

/* Adds what evaluations, checkpoints and failures take to the seconds of the steps alone.  An
 * evaluation and a checkpoint end each of their intervals, and follow the last step too.
 * Evaluations are spread evenly over the work that a failure repeats. */
static void add_breaks(struct scaling_training *t, const struct scaling_breaks *b)
{
    const double steps_s = t->seconds;
    const struct intervals c = cut(steps_s, b->interval_s);
    const double checkpoint_s = b->interval_s > 0 ? b->checkpoint_s : 0;
    if (b->evaluation_interval_s > 0)
        t->eval_s = cut(steps_s, b->evaluation_interval_s).ends * b->evaluation_s;
    const double longer = (steps_s + t->eval_s) / steps_s;
    t->checkpoint_s = c.ends * checkpoint_s;
    t->seconds =
        (c.ends > c.whole ? with_failures(b, c.rest_s * longer + checkpoint_s) : 0) +
        (c.whole > 0 ? c.whole * with_failures(b, b->interval_s * longer + checkpoint_s) : 0);
    /* Without failures the difference is rounding, of either sign. */
    t->restart_s = b->failures_per_s > 0 ? t->seconds - steps_s - t->eval_s - t->checkpoint_s : 0;
}

/* (flop / 5.984e22)^-0.0737 + 0.5066: Dey et al. 2023, a fit to 111M .. 6.7B, documented, said to
 * be within 0.5 % at 13B. */
double scaling_published_loss(double flop)
{
    const double scale = 5.984e22, exponent = -0.0737, irreducible = 0.5066;
    return pow(flop / scale, exponent) + irreducible;
}

double scaling_expected_loss(double flop, double tokens_per_param)
{
    const double fewest = 10, most = 40;
    const bool known = tokens_per_param >= fewest && tokens_per_param <= most;
    return known ? scaling_published_loss(flop) : NAN;
}

struct scaling_training scaling_training_of(const struct scaling_row *row, double tokens,
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
    t.loss = sparse ? NAN : scaling_expected_loss(t.flop_hoffmann, t.tokens / (double)t.params);
    return t;
}
