// SPDX-License-Identifier: Apache-2.0
/* A checkpoint whose pruned weights are NaN, as releases 1.7 to 1.9 have them, as a Hugging Face
 * folder: zeros there, all else unchanged. */
#include "../../support/test.h"
#include "hf_case.h"

#include <wsc/store.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ELEMS = 1 << 12 };

/* The tensors of one file in another one, every third of the pruned ones as NaN. */
struct nan_copy {
    struct store_file *from, *to;
    bool define;
    int64_t n_pruned, n_compared;
};

static bool is_pruned(const char *name)
{
    return strstr(name, "linear_layer.weight") != NULL;
}

static bool is_tensor(const struct store_item *item)
{
    return item->n_dims > 0 && !item->same_as && !strcmp(item->type, "float32");
}

static enum wsc_err copy_tensor(void *ctx, const struct store_item *item)
{
    static float x[MOST_ELEMS];
    struct nan_copy *c = ctx;
    int64_t n = 1;
    if (!is_tensor(item)) return WSC_OK;
    if (c->define) return store_define(c->to, item->name, STORE_F32, item->n_dims, item->shape);
    for (int d = 0; d < item->n_dims; d++)
        n *= item->shape[d];
    CU_ASSERT_FATAL(n <= MOST_ELEMS);
    TRY(store_read(c->from, item->name, STORE_F32, 0, n, x));
    for (int64_t i = 0; i < n && is_pruned(item->name); i += 3, c->n_pruned++)
        x[i] = NAN;
    return store_write(c->to, item->name, 0, n, x);
}

/* Zeros where the copy has NaN, everything else as before. */
static enum wsc_err compare_tensor(void *ctx, const struct store_item *item)
{
    static float x[MOST_ELEMS], y[MOST_ELEMS];
    struct nan_copy *c = ctx;
    int64_t n = 1, wrong = 0;
    if (!is_tensor(item)) return WSC_OK;
    c->n_compared++;
    for (int d = 0; d < item->n_dims; d++)
        n *= item->shape[d];
    TRY(store_read(c->from, item->name, STORE_F32, 0, n, x));
    TRY(store_read(c->to, item->name, STORE_F32, 0, n, y));
    for (int64_t i = 0; i < n; i++)
        wrong += y[i] != (is_pruned(item->name) && i % 3 == 0 ? 0 : x[i]);
    T_EQ(wrong, 0);
    return WSC_OK;
}

static enum wsc_err from_hf(const char *dir, const char *out, struct convert_result *r)
{
    const struct convert_job job = {.input = dir, .out = out};
    return convert_from_hf(&job, r);
}

static void add_section(const char *params)
{
    FILE *f = fopen(params, "a");
    CU_ASSERT_FATAL(f && fputs("sparsity: {type: sideband, sparsity: 0.33, init_method: random, "
                               "param_name_patterns: linear_layer.weight}\n",
                               f) >= 0);
    CU_ASSERT_FATAL(f && !fclose(f));
}

TEST(convert_sparse, weights_that_nan_marks_as_pruned_become_zeros)
{
    static const char config[] =
        "{\"model_type\": \"gpt2\", \"vocab_size\": 37, \"n_embd\": 24, \"n_layer\": 2, "
        "\"n_head\": 3, \"n_positions\": 17, \"n_inner\": 50}";
    const struct store_group alone = {.size = 1};
    struct convert_result cs, hf, again;
    struct nan_copy c = {.define = true};
    const char *pruned = hf_path("nan.mdl");
    CU_ASSERT_FATAL(hf_write_random(hf_path("nan_hf"), config, CONVERT_F32, 3));
    T_OK(from_hf(hf_path("nan_hf"), hf_path("nan_cs"), &cs));
    add_section(cs.params);
    T_OK(store_open(&c.from, cs.checkpoint));
    T_OK(store_create(&c.to, pruned, &alone));
    T_OK(store_visit(c.from, copy_tensor, &c));
    c.define = false;
    T_OK(store_visit(c.from, copy_tensor, &c));
    T_OK(store_commit(&c.to));
    CU_ASSERT(c.n_pruned > 1000);
    const struct convert_job job = {.input = pruned,
                                    .params = cs.params,
                                    .family = cs.family,
                                    .out = hf_path("nan_back"),
                                    .dtype = CONVERT_OTHER,
                                    .shard_bytes = INT64_MAX};
    T_OK(convert_to_hf(&job, &hf));
    T_OK(from_hf(job.out, hf_path("nan_again"), &again));
    T_OK(store_open(&c.to, again.checkpoint));
    T_OK(store_visit(c.from, compare_tensor, &c));
    CU_ASSERT(c.n_compared > 20);
    store_close(&c.to);
    store_close(&c.from);
}
