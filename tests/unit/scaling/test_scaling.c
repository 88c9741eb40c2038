// SPDX-License-Identifier: Apache-2.0
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/scaling.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct small_config config;

static void set_up(void)
{
    static const char *const sets[] = {"model.hidden_size=256", "model.filter_size=1024",
                                       "train_input.batch_size=6", NULL};
    T_OK(small_config_init(&config, 1, sets));
}

static void tear_down(void)
{
    small_config_fini(&config);
    T_EQ(wsc_mem_in_use(WSC_MEM_SCALING), 0);
}

static struct scaling_sweep sweep_of(const struct scaling_model *model, const int64_t *counts,
                                     int n_counts)
{
    return (struct scaling_sweep){.model = model,
                                  .n_models = 1,
                                  .num_csx = counts,
                                  .n_counts = n_counts,
                                  .cluster = &config.cluster};
}

/* Every row is a run of that cluster: its third step, nothing fitted. */
static void check_row(const struct scaling_row *row)
{
    struct small_config c = config; /* only numbers differ */
    struct small_result r;
    c.params.runconfig.num_csx = row->num_csx;
    c.params.train_input.batch_size = row->global_batch;
    T_OK(small_run_alone(&c, 3, NULL, &r));
    const struct memoryx_batch *b = &r.batch[2];
    T_EQ(row->step_time_ps, b->time_ps);
    T_EQ(row->breakdown.compute_ps, b->breakdown.compute_ps);
    T_EQ(row->breakdown.weights_wait_ps, b->breakdown.weights_wait_ps);
    T_EQ(row->breakdown.reduce_wait_ps, b->breakdown.reduce_wait_ps);
    T_EQ(row->breakdown.boundary_ps, b->breakdown.boundary_ps);
    const double per_s = (double)row->global_batch / ((double)b->time_ps * 1e-12);
    T_NEAR(row->samples_per_s, per_s, 1e-12);
    T_NEAR(row->tokens_per_s, per_s * SMALL_T, 1e-12);
}

TEST(scaling, weak_scaling_grows_the_batch_with_the_systems)
{
    static const int64_t counts[] = {1, 2, 3, 8};
    struct scaling_row *row = NULL;
    set_up();
    const struct scaling_model model = {"small", &config.params};
    const struct scaling_sweep sweep = sweep_of(&model, counts, 4);
    T_OK(scaling_run(&sweep, &row));
    for (int i = 0; i < 4; i++) {
        T_EQ(row[i].num_csx, counts[i]);
        T_EQ(row[i].global_batch, 6 * counts[i]);
        T_STR(row[i].model, "small");
        check_row(&row[i]);
        T_NEAR(row[i].speedup, row[i].tokens_per_s / row[0].tokens_per_s, 1e-12);
        T_NEAR(row[i].efficiency, row[i].speedup / (double)counts[i], 1e-12);
        CU_ASSERT(row[i].efficiency <= 1 + 1e-12); /* more systems only add waiting */
    }
    T_NEAR(row[0].speedup, 1, 1e-15);
    wsc_free(row);
    tear_down();
}

/* The fraction of the peak is useful FLOPs a second over those of all systems. */
static void check_flops(const struct scaling_row *row)
{
    const double peak =
        (double)config.cluster.wafer.peak_flop_per_s * (double)row->num_csx / row->tokens_per_s;
    CU_ASSERT(row->mfu > 0 && row->mfu < 1);
    T_NEAR(row->mfu * peak / row->useful_flop_per_token, 1, 1e-12);
    T_NEAR(row->useful_flop_per_token / row->flop_per_token, 1, 1e-12); /* dense weights */
    CU_ASSERT(row->flop_per_token_hoffmann > row->flop_per_token);
}

/* A forward pass takes 2 of the 6 FLOPs of a weight and token. */
TEST(scaling, an_evaluation_takes_a_third_of_the_flops)
{
    struct scaling_row train, eval;
    set_up();
    const struct scaling_model model = {"small", &config.params};
    T_OK(scaling_point(&model, &config.cluster, 2, 12, &train));
    T_OK(scaling_evaluation(&model, &config.cluster, 2, 12, &eval));
    check_flops(&train);
    check_flops(&eval);
    T_NEAR(3 * eval.flop_per_token / train.flop_per_token, 1, 1e-12);
    T_NEAR(3 * eval.flop_per_token_hoffmann / train.flop_per_token_hoffmann, 1, 1e-12);
    CU_ASSERT(eval.step_time_ps < train.step_time_ps);
    tear_down();
}

/* The lower ones of @p n_blocks blocks, and the embeddings, do not train. */
#define FROZEN(blocks) "model.freeze=[embedding, \"layers\\\\.(" blocks ")\\\\.\"]"

static void row_of(const char *const *sets, struct scaling_row *row)
{
    T_OK(small_config_init(&config, 1, sets));
    const struct scaling_model model = {"small", &config.params};
    T_OK(scaling_point(&model, &config.cluster, 1, config.params.train_input.batch_size, row));
    small_config_fini(&config);
}

/* Two gradients a weight, and attention twice, are not computed in a block below all that trains;
 * one a weight where a block alone is frozen. */
TEST(scaling, flops_of_frozen_blocks)
{
    static const char untied[] = "model.share_embedding_weights=false";
    const double C = 32, F = 128, T = 16, matrices = 4 * C * C + 2 * C * F;
    struct scaling_row whole, below, above;
    row_of((const char *const[]){untied, NULL}, &whole);
    row_of((const char *const[]){untied, FROZEN("0"), NULL}, &below);
    row_of((const char *const[]){untied, "model.freeze=[\"layers\\\\.1\\\\.\"]", NULL}, &above);
    T_NEAR(whole.useful_flop_per_token, whole.flop_per_token, 0);
    T_NEAR(below.useful_flop_per_token, whole.flop_per_token - 4 * matrices - 2 * 4 * T * C, 1e-12);
    T_NEAR(above.useful_flop_per_token, whole.flop_per_token - 2 * matrices, 1e-12);
    /* The output layer alone: no block runs backward. */
    row_of((const char *const[]){untied, FROZEN("0|1"), NULL}, &below);
    T_NEAR(below.useful_flop_per_token, whole.flop_per_token - 2 * (4 * matrices + 2 * 4 * T * C),
           1e-12);
}

/* Blocks without a backward pass keep nothing, so that nothing is spilled for them. */
TEST(scaling, more_bandwidth_is_never_slower_with_frozen_blocks)
{
    static const char *const rate[] = {
        "cluster.activation.rate=20GB/s", "cluster.activation.rate=60GB/s",
        "cluster.activation.rate=150GB/s", "cluster.activation.rate=400GB/s"};
    int64_t last = INT64_MAX;
    for (int i = 0; i < 4; i++) {
        struct scaling_row row;
        const char *const sets[] = {"model.hidden_size=5120",
                                    "model.filter_size=20480",
                                    "model.num_heads=40",
                                    "model.num_hidden_layers=40",
                                    "model.max_position_embeddings=2048",
                                    "model.vocab_size=50257",
                                    "model.mixed_precision=true",
                                    "train_input.batch_size=90",
                                    "model.share_embedding_weights=false",
                                    FROZEN("[0-9]|[12][0-9]|3[0-8]"),
                                    rate[i],
                                    NULL};
        row_of(sets, &row);
        CU_ASSERT(row.step_time_ps <= last);
        last = row.step_time_ps;
    }
}

TEST(scaling, strong_scaling_keeps_the_batch)
{
    static const int64_t counts[] = {1, 2, 6};
    struct scaling_row *row = NULL;
    set_up();
    const struct scaling_model model = {"small", &config.params};
    struct scaling_sweep sweep = sweep_of(&model, counts, 3);
    sweep.strong = true;
    T_OK(scaling_run(&sweep, &row));
    for (int i = 0; i < 3; i++) {
        T_EQ(row[i].global_batch, 6);
        check_row(&row[i]);
    }
    wsc_free(row);
    tear_down();
}

/* speedup counts from the smallest system, wherever it stands in the list. */
TEST(scaling, the_smallest_count_is_the_base)
{
    static const int64_t counts[] = {4, 2, 8};
    struct scaling_row *row = NULL;
    set_up();
    const struct scaling_model model = {"small", &config.params};
    struct scaling_sweep sweep = sweep_of(&model, counts, 3);
    sweep.batch_per_csx = 3;
    T_OK(scaling_run(&sweep, &row));
    T_EQ(row[0].global_batch, 12);
    T_NEAR(row[1].speedup, 2, 1e-12);
    T_NEAR(row[1].efficiency, 1, 1e-12);
    T_NEAR(row[0].speedup, 2 * row[0].tokens_per_s / row[1].tokens_per_s, 1e-12);
    wsc_free(row);
    tear_down();
}

static void count_calls(void *ctx, const char *part, int done, int total, const char *what)
{
    int *n_calls = ctx;
    T_STR(part, "sweep");
    CU_ASSERT(done == *n_calls && total == 4 && what && *what);
    (*n_calls)++;
}

TEST(scaling, models_follow_each_other_and_progress_is_told)
{
    static const int64_t counts[] = {1, 3};
    struct scaling_row *row = NULL;
    int n_calls = 0;
    set_up();
    const struct scaling_model model[] = {{"first", &config.params}, {"second", &config.params}};
    struct scaling_sweep sweep = sweep_of(model, counts, 2);
    sweep.n_models = 2;
    sweep.progress = count_calls;
    sweep.progress_ctx = &n_calls;
    T_OK(scaling_run(&sweep, &row));
    T_EQ(n_calls, 4);
    T_STR(row[1].model, "first");
    T_STR(row[2].model, "second");
    T_EQ(row[1].step_time_ps, row[3].step_time_ps);
    wsc_free(row);
    tear_down();
}

TEST(scaling, a_model_that_does_not_fit_ends_the_sweep)
{
    static const int64_t counts[] = {1, 2};
    struct scaling_row *row = NULL;
    set_up();
    config.cluster.memoryx.capacity_bytes = 1000;
    const struct scaling_model model = {"small", &config.params};
    const struct scaling_sweep sweep = sweep_of(&model, counts, 2);
    T_EQ(scaling_run(&sweep, &row), WSC_CAPACITY);
    CU_ASSERT_PTR_NULL(row);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "MemoryX"));
    tear_down();
}

/* ---- items on threads ------------------------------------------------------------------------ */

/* What the items of one call have seen. */
struct items_seen {
    atomic_int running, most, alone_beside;
    int shown, last_done;
    int error_from; /* items from this one on fail; -1: none */
    bool meets;     /* the first item waits until another one runs beside it */
};

static bool every_fifth(void *ctx, int i)
{
    (void)ctx;
    return i % 5 == 4;
}

static void count_shown(void *ctx, int done, int i)
{
    struct items_seen *seen = ctx;
    CU_ASSERT(done == seen->shown && i >= 0 && i < 40);
    seen->shown++;
}

static enum wsc_err square(void *ctx, int i, void *item)
{
    struct items_seen *seen = ctx;
    const int64_t value = (int64_t)i * i;
    const int running = atomic_fetch_add(&seen->running, 1) + 1;
    if (running > atomic_load(&seen->most)) atomic_store(&seen->most, running);
    for (int k = 0; k < 10000 && i == 0 && seen->meets && atomic_load(&seen->most) < 2; k++)
        (void)usleep(1000);
    if (every_fifth(NULL, i) && running > 1) atomic_fetch_add(&seen->alone_beside, 1);
    atomic_fetch_sub(&seen->running, 1);
    memcpy(item, &value, sizeof value);
    if (seen->error_from < 0 || i < seen->error_from) return WSC_OK;
    return WSC_RAISE(WSC_CAPACITY, "item %d is too large", i);
}

/* @return what OMP_NUM_THREADS was, for reset_threads() */
static char *set_threads(const char *n)
{
    const char *before = getenv("OMP_NUM_THREADS");
    char *copy = before ? strdup(before) : NULL;
    (void)setenv("OMP_NUM_THREADS", n, 1);
    return copy;
}

static void reset_threads(char *before)
{
    if (before)
        (void)setenv("OMP_NUM_THREADS", before, 1);
    else
        (void)unsetenv("OMP_NUM_THREADS");
    free(before);
}

static enum wsc_err square_all(const char *n_threads, struct items_seen *seen, int64_t item[40])
{
    const struct scaling_items items = {.item = item,
                                        .bytes = sizeof *item,
                                        .n = 40,
                                        .compute = square,
                                        .alone = every_fifth,
                                        .progress = count_shown,
                                        .ctx = seen};
    char *before = set_threads(n_threads);
    enum wsc_err rc = scaling_share(NULL, &items);
    reset_threads(before);
    return rc;
}

/* Each item once, those that are alone beside no other one; of several errors the first item's. */
TEST(scaling, threads_share_the_items_of_a_rank)
{
    static const char *const n_threads[] = {"1", "2", "7", "100"};
    for (int k = 0; k < 4; k++) {
        struct items_seen seen = {.error_from = -1, .meets = k > 0};
        int64_t item[40] = {0};
        T_OK(square_all(n_threads[k], &seen, item));
        T_EQ(seen.shown, 40);
        T_EQ(seen.alone_beside, 0);
        CU_ASSERT(seen.most <= (k ? 40 : 1));
        if (k) CU_ASSERT(seen.most > 1);
        for (int i = 0; i < 40; i++)
            T_EQ(item[i], (int64_t)i * i);
        struct items_seen failing = {.error_from = 13};
        T_EQ(square_all(n_threads[k], &failing, item), WSC_CAPACITY);
        T_STR(wsc_err_message(), "item 13 is too large");
        struct items_seen alone = {.error_from = 39};
        T_EQ(square_all(n_threads[k], &alone, item), WSC_CAPACITY);
        T_STR(wsc_err_message(), "item 39 is too large");
    }
}

/* All points of sweeps with jitter, on one thread and on several. */
TEST(scaling, points_are_the_same_on_any_number_of_threads)
{
    static const int64_t counts[] = {1, 2, 3, 5, 8};
    static const char *const n_threads[] = {"1", "2", "5"};
    struct scaling_row *expected = NULL;
    set_up();
    config.cluster.jitter = 0.02;
    const struct scaling_model model = {"small", &config.params};
    const struct scaling_sweep sweep = sweep_of(&model, counts, 5);
    for (int k = 0; k < 3; k++) {
        struct scaling_row *row = NULL;
        char *before = set_threads(n_threads[k]);
        T_OK(scaling_run(&sweep, &row));
        reset_threads(before);
        for (int i = 0; i < 5 && expected; i++) {
            T_EQ(row[i].step_time_ps, expected[i].step_time_ps);
            T_EQ(row[i].breakdown.compute_ps, expected[i].breakdown.compute_ps);
            T_EQ(row[i].breakdown.reduce_wait_ps, expected[i].breakdown.reduce_wait_ps);
            T_NEAR(row[i].speedup, expected[i].speedup, 0);
            T_NEAR(row[i].mfu, expected[i].mfu, 0);
        }
        if (expected)
            wsc_free(row);
        else
            expected = row;
    }
    wsc_free(expected);
    tear_down();
}
