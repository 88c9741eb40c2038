// SPDX-License-Identifier: Apache-2.0
/* The mean step of a training whose masks change.  Steps that keep as many weights and compute
 * masks at the same places cost the same: one step of such a group is simulated, and counts as
 * often as it occurs.  Where the kept weights take many values, some are simulated, and a line
 * between two of them stands for those between.  `wsc scale --tokens` takes whole trainings from
 * it. */
#include "scaling_schedule.h"
#include "alike_steps.h"
#include "scaling_point.h"

#include <wsc/mem.h>

#include <math.h>

/* Halvings of the groups between two that are simulated; places of the run for jitter. */
enum { MOST_HALVINGS = 4, PLACES = 4 };

/* Error of the mean step, as a part of it, that a line between two groups may make. */
static const double most_error = 2e-4;

/* Time and useful FLOPs of a token. */
struct cost {
    double ps, useful;
};

/* A training, and the sum over its groups. */
struct training {
    const struct scaling_model *model;
    struct hw_machine even; /* a shallow copy: a machine whose equal steps take equal times */
    const struct scaling_row *row;
    struct scaling_alike *group; /* owned, n */
    int n;
    double n_steps; /* examined ones */
    struct cost sum;
};

static struct hw_machine without_noise(const struct hw_machine *cluster)
{
    struct hw_machine even = *cluster;
    even.effects.jitter = false;
    if (scaling_is_noisy(&even)) even.faults.n = 0;
    return even;
}

/* The step of a group, after those that warm up: steps 0 and 1 are taken as step 2. */
static enum wsc_err simulate(const struct training *t, int group, struct cost *out)
{
    const int64_t first = t->group[group].step - SCALING_WARM_UP;
    const struct scaling_place place = {.num_csx = t->row->num_csx,
                                        .global_batch = t->row->global_batch,
                                        .first_step = first > 0 ? first : 0,
                                        .n_measured = 1};
    struct scaling_row row;
    TRY(scaling_point_at(t->model, &t->even, &place, &row));
    *out = (struct cost){(double)row.step_time_ps, row.useful_flop_per_token};
    return WSC_OK;
}

static void add(struct training *t, int group, const struct cost *each)
{
    t->sum.ps += (double)t->group[group].n * each->ps;
    t->sum.useful += (double)t->group[group].n * each->useful;
}

/* Groups from @p lo to @p hi and what a step of these two costs. */
struct part {
    int lo, hi;
    struct cost at_lo, at_hi;
};

/* The cost of group @p i between both ends, on a line over the kept weights. */
static struct cost on_line(const struct training *t, const struct part *p, int i)
{
    const double from = t->group[p->lo].kept, to = t->group[p->hi].kept;
    const double part = (t->group[i].kept - from) / (to - from);
    return (struct cost){p->at_lo.ps + part * (p->at_hi.ps - p->at_lo.ps),
                         p->at_lo.useful + part * (p->at_hi.useful - p->at_lo.useful)};
}

/* The group between both ends whose kept weights are nearest to the middle. */
static int middle_of(const struct training *t, const struct part *p)
{
    const double middle = (t->group[p->lo].kept + t->group[p->hi].kept) / 2;
    int nearest = p->lo + 1;
    for (int i = p->lo + 2; i < p->hi; i++)
        if (fabs(t->group[i].kept - middle) < fabs(t->group[nearest].kept - middle)) nearest = i;
    return nearest;
}

/* True when the groups between the ends hardly change the mean if their steps cost @p b instead of
 * @p a. */
static bool hardly_matters(const struct training *t, const struct part *p, const struct cost *a,
                           const struct cost *b)
{
    int64_t steps = 0;
    for (int i = p->lo + 1; i < p->hi; i++)
        steps += t->group[i].n;
    const double most = most_error * t->n_steps / (double)steps;
    return fabs(a->ps - b->ps) <= most * (double)t->row->step_time_ps &&
           fabs(a->useful - b->useful) <= most * t->row->useful_flop_per_token;
}

/* Add the groups between both ends: along the line if the group in the middle is near it or @p
 * halvings are used up, else by halves. */
static enum wsc_err add_between(struct training *t, const struct part *p, int halvings)
{
    struct cost at_middle;
    if (p->hi - p->lo < 2) return WSC_OK;
    if (!halvings || hardly_matters(t, p, &p->at_lo, &p->at_hi)) {
        for (int i = p->lo + 1; i < p->hi; i++) {
            const struct cost each = on_line(t, p, i);
            add(t, i, &each);
        }
        return WSC_OK;
    }
    const int middle = middle_of(t, p);
    TRY(simulate(t, middle, &at_middle));
    add(t, middle, &at_middle);
    const struct cost line = on_line(t, p, middle);
    const int left = hardly_matters(t, p, &at_middle, &line) ? 0 : halvings - 1;
    const struct part below = {p->lo, middle, p->at_lo, at_middle};
    const struct part above = {middle, p->hi, at_middle, p->at_hi};
    TRY(add_between(t, &below, left));
    return add_between(t, &above, left);
}

/* Add the groups @p lo to @p hi, which compute masks at the same places. */
static enum wsc_err add_groups(struct training *t, int lo, int hi)
{
    struct part p = {.lo = lo, .hi = hi};
    TRY(simulate(t, lo, &p.at_lo));
    add(t, lo, &p.at_lo);
    if (hi == lo) return WSC_OK;
    TRY(simulate(t, hi, &p.at_hi));
    add(t, hi, &p.at_hi);
    return add_between(t, &p, MOST_HALVINGS);
}

static enum wsc_err add_all(struct training *t)
{
    for (int lo = 0, hi; lo < t->n; lo = hi + 1) {
        for (hi = lo; hi + 1 < t->n; hi++)
            if (!scaling_alike_same_updates(&t->group[hi + 1], &t->group[lo])) break;
        TRY(add_groups(t, lo, hi));
    }
    return WSC_OK;
}

/* The mean cost of a step on the machine without noise. */
static enum wsc_err mean_cost(struct training *t, int64_t steps, struct cost *mean)
{
    enum wsc_err rc = scaling_alike_find(&t->model->params->sparsity, steps, &t->group, &t->n);
    for (int i = 0; i < t->n; i++)
        t->n_steps += (double)t->group[i].n;
    if (!rc) rc = add_all(t);
    if (!rc) *mean = (struct cost){t->sum.ps / t->n_steps, t->sum.useful / t->n_steps};
    wsc_free(t->group);
    return rc;
}

/* A model whose masks stay as they are after some step. */
struct frozen {
    struct zoo_params params;
    struct zoo_sparsity entry[ZOO_MAX_SPARSITIES];
    struct scaling_model model;
};

static void freeze(struct frozen *f, const struct scaling_model *model, int64_t step)
{
    f->params = *model->params; /* a shallow copy */
    for (int i = 0; i < f->params.sparsity.n; i++) {
        const struct zoo_sparsity *e = &model->params->sparsity.entry[i];
        f->entry[i] = *e;
        if (e->algorithm == ZOO_SPARSITY_STATIC) continue;
        f->entry[i].sparsity = (struct zoo_fraction){.kind = ZOO_FRACTION_CONSTANT,
                                                     .init = 1 - scaling_alike_kept(e, step)};
        f->entry[i].algorithm = ZOO_SPARSITY_STATIC;
    }
    f->params.sparsity.entry = f->entry;
    f->model = (struct scaling_model){model->name, &f->params};
}

/* The middle of part @p i of the run, an even number of steps: jitter comes in pairs of an even
 * step and the next one. */
static int64_t place_of(int i, int64_t steps)
{
    const int64_t middle = steps * (2 * (int64_t)i + 1) / (2 * (int64_t)PLACES);
    return middle - middle % 2;
}

/* How many times longer jitter and lost packets make the steps, by means of pairs of equal steps at
 * a few places of the run. */
static enum wsc_err noise_of(const struct training *t, const struct hw_machine *cluster,
                             int64_t steps, double *longer)
{
    double with = 0, without = 0;
    *longer = 1;
    if (!scaling_is_noisy(cluster)) return WSC_OK;
    for (int i = 0; i < PLACES; i++) {
        const struct scaling_place place = {.num_csx = t->row->num_csx,
                                            .global_batch = t->row->global_batch,
                                            .first_step = place_of(i, steps)};
        struct scaling_row noisy, even;
        struct frozen f;
        freeze(&f, t->model, place.first_step);
        TRY(scaling_point_at(&f.model, cluster, &place, &noisy));
        TRY(scaling_point_at(&f.model, &t->even, &place, &even));
        with += (double)noisy.step_time_ps;
        without += (double)even.step_time_ps;
    }
    *longer = with / without;
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
    struct training t = {.model = model, .even = without_noise(cluster), .row = row};
    struct cost mean;
    double longer;
    if (!scaling_changes_masks(&model->params->sparsity) || steps < 1) return WSC_OK;
    TRY(mean_cost(&t, steps, &mean));
    TRY(noise_of(&t, cluster, steps, &longer));
    set_step_time(row, llround(longer * mean.ps), mean.useful);
    return WSC_OK;
}
