// SPDX-License-Identifier: Apache-2.0
/* NaN and infinities at random places of the weights: the first tensor is found on any number of
 * shards; the largest and the smallest numbers are none, nor are values of the optimizer. */
#include "../../../src/memoryx/memoryx_state.h"
#include "../../support/test.h"
#include "masks_case.h"

#include <wsc/rng.h>

#include <float.h>
#include <math.h>

/* The first over all shards. */
static int first_of(const struct masks_case *m)
{
    int first = m->cluster->model->n_tensors;
    for (int s = 0; s < masks_n_shards(m); s++) {
        const int here = memoryx_first_nonfinite(m->cluster->memoryx[s]);
        if (here < first) first = here;
    }
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

static void check_value(const struct masks_case *m, int i, float value)
{
    const struct model_tensor *t = &m->cluster->model->tensor[i];
    const int64_t e = (int64_t)(wsc_rng_uniform(7, (uint64_t)i, 0) * (double)t->n_elems);
    float *x = element(m, i, e, false),
          *last = element(m, m->cluster->model->n_tensors - 1, 0, false);
    const float before = *x, before_last = *last;
    *last = NAN;
    *x = value;
    T_EQ(first_of(m), i);
    *last = before_last;
    *x = before;
}

static void check_shards(int n_shards)
{
    static const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    static const float good[] = {FLT_MAX, -FLT_MAX, FLT_TRUE_MIN, -0.0F};
    struct masks_case m;
    masks_make(&m, n_shards, "sparsity=null");
    const int n = m.cluster->model->n_tensors;
    T_EQ(first_of(&m), n);
    for (int i = 0; i < n; i++) {
        check_value(&m, i, bad[i % 4]);
        *element(&m, i, 0, false) = good[i % 4];
        *element(&m, i, 0, true) = bad[i % 4];
    }
    T_EQ(first_of(&m), n);
    masks_unmake(&m);
}

TEST(memoryx_finite, the_first_tensor_with_such_a_weight_is_found)
{
    const int shards[] = {1, 2, 5};
    for (int i = 0; i < 3; i++)
        check_shards(shards[i]);
}
