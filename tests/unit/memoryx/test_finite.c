// SPDX-License-Identifier: Apache-2.0
/* NaN and infinities at random places of weights and states: the first is found on any number of
 * shards, and the largest and the smallest numbers are none. */
#include "../../../src/memoryx/memoryx_state.h"
#include "../../support/test.h"
#include "masks_case.h"

#include <wsc/rng.h>

#include <float.h>
#include <math.h>
#include <string.h>

/* The first over all shards, and its name. */
static int first_of(const struct masks_case *m, char name[MEMORYX_VALUE_BYTES])
{
    const struct model *model = m->cluster->model;
    const int none = memoryx_n_values(model);
    int first = none;
    for (int s = 0; s < masks_n_shards(m); s++) {
        const int here = memoryx_first_nonfinite(m->cluster->memoryx[s]);
        if (here < first) first = here;
    }
    name[0] = '\0';
    if (first < none)
        memoryx_value_name(name, &m->cluster->memoryx[0]->config.params->optimizer, model, first);
    return first;
}

/* Element @p e of tensor @p i: its weight, or its first state. */
static float *element(const struct masks_case *m, int i, int64_t e, bool state)
{
    for (int s = 0; s < masks_n_shards(m); s++) {
        const struct memoryx_part *part = &m->cluster->memoryx[s]->part[i];
        if (e >= part->first && e < part->first + part->n)
            return (state ? part->state[0] : part->w) + (e - part->first);
    }
    CU_FAIL_FATAL("no shard has the element");
    return NULL;
}

static void check_value(const struct masks_case *m, int i, bool state, float value)
{
    const struct model_tensor *t = &m->cluster->model->tensor[i];
    const int64_t e = (int64_t)(wsc_rng_uniform(7, (uint64_t)i, state) * (double)t->n_elems);
    char name[MEMORYX_VALUE_BYTES], want[MEMORYX_VALUE_BYTES];
    float *x = element(m, i, e, state),
          *last = element(m, m->cluster->model->n_tensors - 1, 0, true);
    const float before = *x;
    *last = NAN;
    *x = value;
    (void)first_of(m, name);
    (void)snprintf(want, sizeof want, "%s%s", state ? "exp_avg of " : "", t->name);
    T_STR(name, want);
    *x = before;
    *last = 0;
}

static void check_shards(int n_shards)
{
    static const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    static const float good[] = {FLT_MAX, -FLT_MAX, FLT_TRUE_MIN, -0.0F};
    struct masks_case m;
    char name[MEMORYX_VALUE_BYTES];
    masks_make(&m, n_shards, "sparsity=null");
    const struct model *model = m.cluster->model;
    T_EQ(first_of(&m, name), memoryx_n_values(model));
    for (int i = 0; i < model->n_tensors; i++) {
        check_value(&m, i, false, bad[i % 4]);
        check_value(&m, i, true, bad[(i + 1) % 4]);
        *element(&m, i, 0, false) = good[i % 4];
    }
    T_EQ(first_of(&m, name), memoryx_n_values(model));
    masks_unmake(&m);
}

TEST(memoryx_finite, the_first_value_that_is_not_finite_is_found)
{
    const int shards[] = {1, 2, 5};
    for (int i = 0; i < 3; i++)
        check_shards(shards[i]);
}
