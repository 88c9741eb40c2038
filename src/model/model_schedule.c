// SPDX-License-Identifier: Apache-2.0
/* Values of learning-rate and weight-decay schedules after t updates: the schedulers of
 * torch.optim.lr_scheduler and of cerebras.pytorch as functions of t, so that a restart needs
 * no state but t.  docs/TRAINING.md has the formulas; memoryx_rule.c asks for values. */
#include <wsc/model.h>

#include <wsc/check.h>

#include <math.h>

static const double pi = 3.14159265358979323846;

/* One scheduler of a tree at its own counter. */
struct at {
    const struct zoo_schedule *schedule;
    const struct zoo_schedule_node *node;
    int64_t t;
};

static double node_value(const struct zoo_schedule *s, int i, int64_t t);

/* t / total_iters, 1 past the end. */
static double share_done(const struct at *a)
{
    return a->t >= a->node->total_iters ? 1.0 : (double)a->t / (double)a->node->total_iters;
}

/* Between initial and end value; @p left is 1 at the start and 0 at the end. */
static double to_end(const struct zoo_schedule_node *n, double left)
{
    return n->end + (n->initial - n->end) * left;
}

static double constant(const struct at *a)
{
    return a->node->initial;
}

static double polynomial(const struct at *a)
{
    return to_end(a->node, pow(1.0 - share_done(a), a->node->power));
}

static double linear(const struct at *a)
{
    return to_end(a->node, 1.0 - share_done(a));
}

static double cosine_decay(const struct at *a)
{
    return to_end(a->node, 0.5 * (1.0 + cos(pi * share_done(a))));
}

/* initial * decay_rate^(t / total_iters), in steps when staircase. */
static double exponential(const struct at *a)
{
    const double exponent = (double)a->t / (double)a->node->total_iters;
    return a->node->initial *
           pow(a->node->decay_rate, a->node->staircase ? floor(exponent) : exponent);
}

/* initial / (1 + decay_rate x), x = t^step_exponent / total_iters. */
static double inverse_exponential_time_decay(const struct at *a)
{
    const double x = pow((double)a->t, a->node->step_exponent) / (double)a->node->total_iters;
    return a->node->initial / (1.0 + a->node->decay_rate * (a->node->staircase ? floor(x) : x));
}

/* initial * scale / sqrt(max(t, warmup_steps)). */
static double inverse_square_root_decay(const struct at *a)
{
    const int64_t t = a->t > a->node->warmup_steps ? a->t : a->node->warmup_steps;
    return a->node->initial * a->node->scale / sqrt((double)t);
}

static double step(const struct at *a)
{
    const int64_t n = a->t / a->node->step_size;
    return a->node->initial * pow(a->node->gamma, (double)n);
}

/* Milestones that lie at or before t. */
static int milestones_passed(const struct at *a)
{
    int n = 0;
    while (n < a->node->n_milestones &&
           (double)a->t >= a->schedule->value[a->node->first_milestone + n])
        n++;
    return n;
}

static double multi_step(const struct at *a)
{
    return a->node->initial * pow(a->node->gamma, milestones_passed(a));
}

static double piecewise_constant(const struct at *a)
{
    return a->schedule->value[a->node->first_value + milestones_passed(a)];
}

/* Loshchilov & Hutter 2017, eq. 5, without restarts: the cosine continues. */
static double cosine_annealing(const struct at *a)
{
    return to_end(a->node, 0.5 * (1.0 + cos(pi * (double)a->t / (double)a->node->total_iters)));
}

/* Cosine annealing with restarts: period i is t_mult^i times the first. */
static double cosine_annealing_warm_restarts(const struct at *a)
{
    int64_t t = a->t, period = a->node->total_iters;
    if (a->node->t_mult == 1) t %= period;
    while (t >= period) {
        t -= period;
        if (__builtin_mul_overflow(period, a->node->t_mult, &period)) period = INT64_MAX;
    }
    return to_end(a->node, 0.5 * (1.0 + cos(pi * (double)t / (double)period)));
}

static double multiplicative(const struct at *a)
{
    return a->node->initial * pow(a->node->coefficient, (double)a->t);
}

/* Smith 2017; the scale of later cycles by the mode. */
static double cyclic(const struct at *a)
{
    const struct zoo_schedule_node *n = a->node;
    const int64_t length = n->step_size_up + n->step_size_down;
    const int64_t cycle = a->t / length, in_cycle = a->t % length;
    double height = in_cycle <= n->step_size_up
                        ? (double)in_cycle / (double)n->step_size_up
                        : (double)(length - in_cycle) / (double)n->step_size_down;
    if (n->mode == ZOO_CYCLIC_TRIANGULAR2) height *= pow(0.5, (double)cycle);
    if (n->mode == ZOO_CYCLIC_EXP_RANGE) height *= pow(n->gamma, (double)a->t);
    return n->initial + (n->max - n->initial) * height;
}

/* From one value to another along a cosine, or a straight line. */
static double anneal(const struct zoo_schedule_node *n, double from, double to, double done)
{
    if (n->anneal_linear) return from + (to - from) * done;
    return to + (from - to) / 2.0 * (1.0 + cos(pi * done));
}

/* Smith & Topin 2018: up to max, down again, in three phases down to the initial value first. */
static double one_cycle(const struct at *a)
{
    const struct zoo_schedule_node *n = a->node;
    const double last = (double)n->total_iters - 1, top = n->pct_start * (double)n->total_iters - 1;
    const double least = n->initial / n->final_div_factor, t = fmin((double)a->t, last);
    const double back = 2 * n->pct_start * (double)n->total_iters - 2;
    if (t <= top) return anneal(n, n->initial, n->max, t / top);
    if (!n->three_phase) return anneal(n, n->max, least, (t - top) / (last - top));
    if (t <= back) return anneal(n, n->max, n->initial, (t - top) / (back - top));
    return anneal(n, n->initial, least, (t - back) / (last - back));
}

/* The part that is active counts from its milestone. */
static double sequential(const struct at *a)
{
    const int i = milestones_passed(a);
    const int64_t began = i ? (int64_t)a->schedule->value[a->node->first_milestone + i - 1] : 0;
    return node_value(a->schedule, a->node->first_child + i, a->t - began);
}

/* The product of all members, each relative to its initial value. */
static double chained(const struct at *a)
{
    const int first = a->node->first_child;
    double value = node_value(a->schedule, first, a->t);
    for (int i = first + 1; i < first + a->node->n_children; i++)
        value *= node_value(a->schedule, i, a->t) / zoo_schedule_initial(a->schedule, i);
    return value;
}

static double (*const value_of[ZOO_N_SCHEDULES])(const struct at *a) = {
    [ZOO_SCHEDULE_CONSTANT] = constant,
    [ZOO_SCHEDULE_POLYNOMIAL] = polynomial,
    [ZOO_SCHEDULE_LINEAR] = linear,
    [ZOO_SCHEDULE_COSINE_DECAY] = cosine_decay,
    [ZOO_SCHEDULE_EXPONENTIAL] = exponential,
    [ZOO_SCHEDULE_INVERSE_EXPONENTIAL_TIME_DECAY] = inverse_exponential_time_decay,
    [ZOO_SCHEDULE_INVERSE_SQUARE_ROOT_DECAY] = inverse_square_root_decay,
    [ZOO_SCHEDULE_STEP] = step,
    [ZOO_SCHEDULE_MULTI_STEP] = multi_step,
    [ZOO_SCHEDULE_PIECEWISE_CONSTANT] = piecewise_constant,
    [ZOO_SCHEDULE_COSINE_ANNEALING] = cosine_annealing,
    [ZOO_SCHEDULE_COSINE_ANNEALING_WARM_RESTARTS] = cosine_annealing_warm_restarts,
    [ZOO_SCHEDULE_MULTIPLICATIVE] = multiplicative,
    [ZOO_SCHEDULE_CYCLIC] = cyclic,
    [ZOO_SCHEDULE_ONE_CYCLE] = one_cycle,
    [ZOO_SCHEDULE_SEQUENTIAL] = sequential,
    [ZOO_SCHEDULE_CHAINED] = chained,
};

static double node_value(const struct zoo_schedule *s, int i, int64_t t)
{
    WSC_CHECK(i >= 0 && i < s->n, "scheduler %d of %d", i, s->n);
    const struct at a = {s, &s->node[i], t};
    return value_of[a.node->scheduler](&a);
}

double model_schedule_value(const struct zoo_schedule *schedule, int64_t t)
{
    WSC_CHECK(t >= 0, "value of a schedule at step %lld", (long long)t);
    return node_value(schedule, 0, t);
}
