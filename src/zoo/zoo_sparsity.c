// SPDX-License-Identifier: Apache-2.0
/* Weight sparsity as a function of params: the entry of a tensor by its name, the steps at which a
 * mask is computed, the fraction of zeros and the number of kept weights after any step. Rounding
 * is that of cerebras.pytorch.sparse, which computes in fp32: density = 1 - s, and k =
 * trunc(density n). src/model looks up the entry of each tensor, src/memoryx computes masks. */
#include "name_patterns.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- filters --------------------------------------------------------------------------------- */

/* True when @p name contains @p part, which is in lower case, in any case. */
static bool contains(const char *name, const char *part)
{
    for (; *name; name++)
        if (!strncasecmp(name, part, strlen(part))) return true;
    return false;
}

/* The filter of an entry without patterns, `default_sparse_param_filter` of cstorch. */
bool zoo_sparsity_by_default(const char *name, int n_dims)
{
    static const char *const dense[] = {"embedding", "norm", "lm_head", "pe_helper"};
    for (size_t i = 0; i < sizeof dense / sizeof *dense; i++)
        if (contains(name, dense[i])) return false;
    return n_dims > 1;
}

bool zoo_sparsity_matches(const struct zoo_sparsity *entry, int pattern, const char *name)
{
    return zoo_patterns_match(&entry->names, pattern, name);
}

int zoo_sparsity_find(const struct zoo_sparsities *list, const char *name, int n_dims)
{
    for (int i = 0; i < list->n; i++) {
        const struct zoo_sparsity *e = &list->entry[i];
        if (!e->names.n && zoo_sparsity_by_default(name, n_dims)) return i;
        if (zoo_patterns_find(&e->names, name) >= 0) return i;
    }
    return -1;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Number of masks computed up to @p step; static masks are computed at step 0. */
int64_t zoo_sparsity_n_updates(const struct zoo_sparsity *entry, int64_t step)
{
    const struct zoo_mask_update *u = &entry->update;
    int64_t n = 0;
    if (entry->algorithm == ZOO_SPARSITY_STATIC) return step >= 0;
    if (u->freq == CONF_NULL) {
        while (n < u->n_steps && u->step[n] <= step)
            n++;
        return n;
    }
    const int64_t end = u->stop != CONF_NULL && u->stop <= step ? u->stop - 1 : step;
    return end < u->start ? 0 : (end - u->start) / u->freq + 1;
}

/* Step of mask number @p i, counted from 0. */
static int64_t step_of_update(const struct zoo_sparsity *e, int64_t i)
{
    const struct zoo_mask_update *u = &e->update;
    if (e->algorithm == ZOO_SPARSITY_STATIC) return 0;
    return u->freq == CONF_NULL ? u->step[i] : u->start + i * u->freq;
}

bool zoo_sparsity_updates(const struct zoo_sparsity *entry, int64_t step)
{
    const int64_t n = zoo_sparsity_n_updates(entry, step);
    return n && step_of_update(entry, n - 1) == step;
}

bool zoo_sparsity_needs_dense_gradient(const struct zoo_sparsity *entry, int64_t step)
{
    return entry->algorithm == ZOO_SPARSITY_RIGL && zoo_sparsity_updates(entry, step + 1);
}

/* ---- fractions ------------------------------------------------------------------------------- */

static float value_of(const struct zoo_fraction *f, int64_t step, int64_t index)
{
    const float init = (float)f->init, t = (float)step;
    const double middle = (f->minimum + f->init) / 2;
    switch (f->kind) {
    case ZOO_FRACTION_LINEAR:
        return init + t * (float)f->slope;
    case ZOO_FRACTION_EXP: {
        const float scale = (float)f->final - init;
        return (float)f->final - scale * (float)exp((double)(t * (float)f->gamma));
    }
    case ZOO_FRACTION_POWER:
        return init * (float)pow((double)(float)f->beta, (double)t);
    case ZOO_FRACTION_COSINE: {
        const float frequency = (float)(M_PI / f->half_period);
        return (float)(f->init - middle) * (float)cos((double)(t * frequency)) + (float)middle;
    }
    case ZOO_FRACTION_CYCLING:
        return (float)f->value[index % f->n_values];
    case ZOO_FRACTION_CONSTANT:
    case ZOO_N_FRACTIONS:
        break;
    }
    return init;
}

float zoo_fraction_at(const struct zoo_fraction *fraction, int64_t step, int64_t index)
{
    const float value = value_of(fraction, step, index);
    return value > 1 ? 1 : value > 0 ? value : 0;
}

float zoo_sparsity_scheduled(const struct zoo_sparsity *entry, int64_t step)
{
    return zoo_fraction_at(&entry->sparsity, step, zoo_sparsity_n_updates(entry, step - 1));
}

float zoo_sparsity_after(const struct zoo_sparsity *entry, int64_t step)
{
    const int64_t n = zoo_sparsity_n_updates(entry, step);
    return n ? zoo_sparsity_scheduled(entry, step_of_update(entry, n - 1)) : 0;
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* The result is at most @p n: fp32 may round a large n up. */
int64_t zoo_sparsity_kept(float sparsity, int64_t n)
{
    const int64_t kept = (int64_t)((1.0F - sparsity) * (float)n);
    return kept < n ? kept : n;
}

int64_t zoo_sparsity_groups(const struct zoo_sparsity *entry)
{
    if (entry->out_groups > 0) return entry->out_groups;
    return entry->in_groups > 0 ? entry->in_groups : 1;
}

int64_t zoo_sparsity_target(const struct zoo_sparsity *entry, int64_t n, int64_t step)
{
    const int64_t groups = zoo_sparsity_groups(entry);
    return groups * zoo_sparsity_kept(zoo_sparsity_after(entry, step), n / groups);
}

/* The first mask drops nothing, and does not count for a cycling drop_fraction. The number of kept
 * elements of a group need not be whole, as in cstorch. */
int64_t zoo_sparsity_dropped_to(const struct zoo_sparsity *entry, int64_t kept, int64_t step)
{
    const int64_t before = zoo_sparsity_n_updates(entry, step - 1);
    const int64_t index = before - zoo_sparsity_n_updates(entry, 0);
    const int64_t groups = zoo_sparsity_groups(entry);
    const float fraction = 1.0F - zoo_fraction_at(&entry->drop_fraction, step, index);
    const int64_t each = (int64_t)(fraction * ((float)kept / (float)groups));
    return each * groups < kept ? each * groups : kept;
}

/* Apply updates number @p first to @p end - 1 to @p kept elements: each drops to a number of
 * elements and regrows to the target, if that is more. *@p met: the target was reached. */
static int64_t apply_updates(const struct zoo_sparsity *e, int64_t n, int64_t kept, int64_t first,
                             int64_t end, bool *met)
{
    *met = false;
    for (int64_t i = first; i < end; i++) {
        const int64_t at = step_of_update(e, i);
        const int64_t target = zoo_sparsity_target(e, n, at);
        const int64_t left = zoo_sparsity_dropped_to(e, kept, at);
        kept = left > target ? left : target;
        *met = *met || kept == target;
        if (*met && e->sparsity.kind == ZOO_FRACTION_CONSTANT) break;
    }
    return kept;
}

/* Updates before the last one that reached its target do not matter. They are found from the end:
 * an update keeps no fewer of more elements, so if some updates reach a target from all n elements,
 * they reach it from the true number, and the result is that of all updates. */
static int64_t count_by_updates(const struct zoo_sparsity *e, int64_t n, int64_t step)
{
    enum { FEW = 16, FACTOR = 4 };
    const int64_t end = zoo_sparsity_n_updates(e, step), start = zoo_sparsity_n_updates(e, 0);
    const bool constant = e->sparsity.kind == ZOO_FRACTION_CONSTANT;
    bool met;
    for (int64_t last = FEW; !constant && last < end - start; last *= FACTOR) {
        const int64_t kept = apply_updates(e, n, n, end - last, end, &met);
        if (met) return kept;
    }
    return apply_updates(e, n, zoo_sparsity_target(e, n, 0), start, end, &met);
}

bool zoo_sparsity_keeps_dense(const struct zoo_sparsity *entry)
{
    return entry->sparsity.kind == ZOO_FRACTION_CONSTANT && entry->sparsity.init == 0;
}

int64_t zoo_sparsity_count(const struct zoo_sparsity *entry, int64_t n, int64_t step)
{
    const bool drops =
        entry->algorithm == ZOO_SPARSITY_SET || entry->algorithm == ZOO_SPARSITY_RIGL;
    const bool settled =
        entry->sparsity.kind == ZOO_FRACTION_CONSTANT && zoo_sparsity_updates(entry, 0);
    if (drops && !settled) return count_by_updates(entry, n, step);
    return zoo_sparsity_target(entry, n, step);
}
