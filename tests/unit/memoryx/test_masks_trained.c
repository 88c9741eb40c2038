// SPDX-License-Identifier: Apache-2.0
/* Fifty updates of two sparse tensors with given weights, gradients and random scores, against the
 * oracle tests/fixtures/make_masks.py: after each new mask all of its elements, at the end the
 * weights.  Gradients are sums of two micro-batches; some steps have an infinite gradient inside
 * the mask and are skipped by loss scaling, others a NaN outside it, which nothing sees. */
#include "../../../src/memoryx/memoryx_mask.h"
#include "../../../src/memoryx/memoryx_update.h"
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/rng.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1024, TENSORS = 2, STEPS = 50, MOST_SHARDS = 3, GIVEN_SEED = 3 };
static const int tensor_of[TENSORS] = {4, 6};

/* One expected mask, or the weights at the end (step STEPS + 1). */
static char line[512];

/* ---- what is given --------------------------------------------------------------------------- */

static float given(uint64_t index, int64_t i, double unit)
{
    const uint64_t bits = wsc_rng_u64(GIVEN_SEED, wsc_rng_stream(WSC_RNG_TEST, index), (uint64_t)i);
    return bits >> 11 & 3 ? (float)(((double)(bits & 0x7ff) - 1024) * unit) : 0;
}

static float gradient(int64_t step, int t, int64_t i)
{
    const uint64_t use = UINT64_C(1) << 40 | (uint64_t)step << 8 | (uint64_t)t;
    return given(use, i, 0x1p-12) + given(use | 1 << 4, i, 0x1p-12);
}

/* A training of all shards of a machine. */
struct training {
    struct small_config c;
    struct comm *comm;
    struct cluster *cluster;
    struct stream_pass pass;
    int64_t counter; /* of the masks, as shard 0 has it after the step */
};

static bool is_one_of(int64_t step, const int *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i] == step) return true;
    return false;
}

/* The whole mask of tensor @p t. */
static void gather(const struct training *tr, int t, bool *mask, float *w)
{
    for (int k = 0; k < tr->cluster->net->topology->n_shards; k++) {
        const struct memoryx_part *s = &tr->cluster->memoryx[k]->part[tensor_of[t]];
        for (int64_t e = 0; e < s->n; e++)
            mask[s->first + e] = s->mask[e / MEMORYX_WORD_BITS] >> e % MEMORYX_WORD_BITS & 1;
        memcpy(w + s->first, s->w, (size_t)s->n * sizeof *w);
    }
}

static int first_of(const bool *mask, bool value)
{
    int i = 0;
    while (i < N && mask[i] != value)
        i++;
    return i;
}

static void give_gradients(const struct training *tr, int64_t step)
{
    static const int skipped[] = {7, 20, 33}, outside[] = {11, 29};
    bool mask[N];
    float w[N];
    gather(tr, 0, mask, w);
    const int inside_at = is_one_of(step, skipped, 3) ? first_of(mask, true) : N;
    const int outside_at = is_one_of(step, outside, 2) ? first_of(mask, false) : N;
    for (int k = 0; k < tr->cluster->net->topology->n_shards; k++) {
        struct memoryx *mx = tr->cluster->memoryx[k];
        for (int t = 0; t < TENSORS; t++) {
            const struct memoryx_part *s = &mx->part[tensor_of[t]];
            for (int64_t e = 0; e < s->n; e++)
                s->g[e] = t == 0 && s->first + e == inside_at    ? INFINITY
                          : t == 0 && s->first + e == outside_at ? NAN
                                                                 : gradient(step, t, s->first + e);
        }
    }
}

static enum wsc_err run_step(void *arg)
{
    struct memoryx *mx = arg;
    return memoryx_update(mx, mx->pass->first_step);
}

static void one_step(struct training *tr, int64_t step)
{
    tr->pass.first_step = step;
    give_gradients(tr, step);
    for (int k = 0; k < tr->cluster->net->topology->n_shards; k++) {
        struct memoryx *mx = tr->cluster->memoryx[k];
        mx->pass = &tr->pass;
        T_OK(comm_spawn(tr->comm, stream_role_of_shard(tr->cluster->net->topology, k), run_step, mx,
                        512 << 10, "shard"));
    }
    T_OK(comm_run(tr->comm));
    tr->counter = tr->cluster->memoryx[0]->mask_step;
}

static void begin(struct training *tr, int n_shards, const char *sparsity)
{
    const struct memoryx_hooks hooks = {0};
    char shards[40];
    (void)snprintf(shards, sizeof shards, "cluster.memoryx.shards=%d", n_shards);
    const char *const sets[] = {shards,
                                sparsity,
                                "model.mixed_precision=true",
                                "model.fp16_type=float16",
                                "optimizer.loss_scaling_factor=dynamic",
                                NULL};
    memset(tr, 0, sizeof *tr);
    T_OK(small_config_init(&tr->c, 1, sets));
    T_OK(comm_create(&tr->comm, false));
    T_OK(cluster_create(&tr->cluster, tr->comm, &tr->c.params, &tr->c.cluster, true, &hooks));
    tr->pass = (struct stream_pass){.mode = STREAM_TRAIN, .values = true, .n_steps = 1};
    for (int k = 0; k < n_shards; k++)
        for (int t = 0; t < TENSORS; t++) {
            const struct memoryx_part *s = &tr->cluster->memoryx[k]->part[tensor_of[t]];
            for (int64_t e = 0; e < s->n; e++)
                s->w[e] = given((uint64_t)t, s->first + e, 0x1p-14);
        }
    T_OK(cluster_make_masks(tr->cluster));
}

static void end(struct training *tr)
{
    cluster_destroy(&tr->cluster);
    comm_destroy(&tr->comm);
    small_config_fini(&tr->c);
}

/* ---- what is expected ------------------------------------------------------------------------ */

static bool read_line(FILE *f)
{
    return fgets(line, sizeof line, f) != NULL;
}

/* `mask STEP TENSOR HEX` of the present state. */
static void check_mask(const struct training *tr)
{
    bool mask[N] = {0};
    float w[N] = {0};
    char *at = line + strlen("mask");
    int wrong = 0;
    (void)strtol(at, &at, 10); /* the step, which the caller has read */
    const int t = (int)strtol(at, &at, 10);
    CU_ASSERT_FATAL(*at == ' ' && t >= 0 && t < TENSORS);
    gather(tr, t, mask, w);
    for (int i = 0; i < N; i++) {
        const char digit[] = {at[1 + i / 4], '\0'};
        const bool expected = strtol(digit, NULL, 16) >> i % 4 & 1;
        wrong += mask[i] != expected || (!mask[i] && w[i] != 0);
    }
    T_EQ(wrong, 0);
}

/* `w TENSOR ELEMENT VALUE` to the end of the case. */
static void check_weights(const struct training *tr, FILE *f)
{
    static bool mask[TENSORS][N];
    static float w[TENSORS][N];
    double worst = 0;
    int n = 0;
    for (int t = 0; t < TENSORS; t++)
        gather(tr, t, mask[t], w[t]);
    do {
        char *at = line + 1;
        if (*line != 'w') break;
        const long t = strtol(at, &at, 10), i = strtol(at, &at, 10);
        const double expected = strtod(at, &at);
        CU_ASSERT_FATAL(*at == '\n' && t >= 0 && t < TENSORS && i >= 0 && i < N);
        worst = fmax(worst, fabs((double)w[t][i] - expected));
        n++;
    } while (read_line(f));
    T_EQ(n, TENSORS * N / 4);
    CU_ASSERT(worst < 1e-5);
    if (!(worst < 1e-5)) (void)fprintf(stderr, "worst weight: %g\n", worst);
}

/* From `case NAME`, which is in `line`, to the next one. */
static void check_case(FILE *f, int n_shards, const char *sparsity)
{
    struct training tr;
    int64_t step = 0;
    int n_masks = 0;
    begin(&tr, n_shards, sparsity);
    CU_ASSERT_FATAL(read_line(f));
    for (; !strncmp(line, "mask", 4); n_masks++) {
        for (const int64_t at = strtol(line + 5, NULL, 10); step < at; step++)
            one_step(&tr, step);
        check_mask(&tr);
        CU_ASSERT_FATAL(read_line(f));
    }
    for (; step < STEPS; step++)
        one_step(&tr, step);
    T_EQ(tr.counter, STEPS - 3);
    check_weights(&tr, f);
    const bool is_static = !strstr(sparsity, "algorithm");
    CU_ASSERT(is_static ? n_masks == TENSORS : n_masks >= TENSORS * 5);
    end(&tr);
}

#define FILTER ", param_filter: '*layers.0*proj_[qk]*weight'}"
static const struct {
    const char *name, *sparsity;
} cases[] = {
    {"static_random", "sparsity={sparsity: 0.75" FILTER},
    {"static_topk", "sparsity={sparsity: 0.9, init_method: topk" FILTER},
    {"static_from_zeros", "sparsity={sparsity: 0.5, init_method: from_zeros" FILTER},
    {"static_checkerboard", "sparsity={sparsity: 0.75, init_method: checkerboard" FILTER},
    {"gmp", "sparsity={algorithm: gmp, sparsity: [0.1, 0.3, 0.5, 0.7, 0.8], init_method: topk, "
            "update: {freq: 8}" FILTER},
    {"gmp_linear", "sparsity={algorithm: gmp, sparsity: {type: linear, init: 0.1, slope: 0.0125}, "
                   "update: {freq: 6, stop: 40}" FILTER},
    {"set", "sparsity={algorithm: set, sparsity: 0.75, update: {freq: 7, stop: 42}" FILTER},
    {"set_cycling", "sparsity={algorithm: set, sparsity: 0.6, init_method: topk, update: {freq: "
                    "5}, drop_fraction: [0.5, 0.2, 0.1]" FILTER},
    {"rigl", "sparsity={algorithm: rigl, sparsity: 0.75, update: {freq: 9}, drop_fraction: {type: "
             "cosine, init: 0.3, half_period: 40}" FILTER},
    {"rigl_late",
     "sparsity={algorithm: rigl, sparsity: 0.6, update: {steps: [5, 10, 15, 20, 30]}" FILTER},
    {"rigl_rising",
     "sparsity={algorithm: rigl, sparsity: {type: linear, init: 0.5, slope: 0.01}, init_method: "
     "checkerboard, update: {freq: 4, stop: 30}, drop_fraction: 0.4" FILTER},
    {"rigl_from_zeros", "sparsity={algorithm: rigl, sparsity: 0.5, init_method: from_zeros, "
                        "update: {freq: 10}" FILTER},
    {"static_balanced",
     "sparsity={type: sideband, sparsity: 0.7, init_method: balanced-topk" FILTER},
    {"rigl_in_groups", "sparsity={algorithm: rigl, sparsity: 0.75, update: {freq: 9}, "
                       "balance_in_groups: 8" FILTER},
    {"rigl_out_groups", "sparsity={algorithm: rigl, sparsity: 0.7, init_method: topk, update: "
                        "{freq: 9}, balance_out_groups: 32" FILTER},
    {"rigl_uneven_groups", "sparsity={algorithm: rigl, sparsity: 0.3, init_method: from_zeros, "
                           "update: {freq: 9}, drop_fraction: 0.01, balance_in_groups: 16" FILTER},
};

static void check_cases(int n_shards)
{
    FILE *f = fopen("tests/golden/masks.txt", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    if (!f) return;
    CU_ASSERT_FATAL(read_line(f) && read_line(f));
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        CU_ASSERT_FATAL(!strncmp(line, "case ", 5));
        CU_ASSERT(!strncmp(line + 5, cases[k].name, strcspn(line + 5, "\n")));
        check_case(f, n_shards, cases[k].sparsity);
    }
    (void)fclose(f);
}

TEST(memoryx_masks_trained, masks_and_weights_are_those_of_the_oracle)
{
    for (int n_shards = 1; n_shards <= MOST_SHARDS; n_shards += 2)
        check_cases(n_shards);
}
