// SPDX-License-Identifier: Apache-2.0
/* Sparse training on any number of systems, shards, threads and micro-batches: losses, norms and
 * hashes of the weights are equal to the bit, and virtual time is that without values. */
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/num.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { STEPS = 8, SAMPLES = 20 };

static const char *data_dir(void)
{
    static char dir[160];
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s/sparse_runs", test_tmpdir());
    CU_ASSERT_FATAL(mkdir(dir, 0700) == 0);
    T_OK(small_data_write(dir, SAMPLES));
    return dir;
}

static const char *const sparsity[] = {
    "sparsity=0.75",
    "sparsity=[{sparsity: 0.5, init_method: topk, param_filter: '*proj_*weight'},"
    "{sparsity: 0.9, init_method: checkerboard}]",
    "sparsity={algorithm: gmp, sparsity: {type: linear, init: 0.1, slope: 0.1}, init_method: topk, "
    "update: {freq: 2}}",
    "sparsity={algorithm: set, sparsity: 0.75, update: {freq: 2, start: 3, stop: 7}}",
    "sparsity={algorithm: rigl, sparsity: [0.5, 0.8], drop_fraction: 0.4, update: {steps: [0, 2, "
    "3, 6]}}",
    "sparsity={algorithm: rigl, sparsity: 0.75, init_method: topk, balance_out_groups: 4, update: "
    "{freq: 2}}",
};
enum { N_SPARSITY = sizeof sparsity / sizeof *sparsity };

#define MICRO "train_input.micro_batch_size="

static void run(int num_csx, const char *shards, const char *micro, const char *sparse, bool values,
                struct small_result *out)
{
    const char *const sets[] = {shards, sparse, micro, "reduction_leaf=1", NULL};
    struct small_config c;
    T_OK(small_config_init(&c, num_csx, sets));
    T_OK(small_run_alone(&c, STEPS, values ? data_dir() : NULL, out));
    small_config_fini(&c);
    CU_ASSERT_EQUAL_FATAL(out->n, STEPS);
}

static void check_same(const struct small_result *a, const struct small_result *b)
{
    for (int i = 0; i < STEPS; i++) {
        T_NEAR(a->batch[i].loss, b->batch[i].loss, 0);
        T_NEAR(a->batch[i].grad_norm, b->batch[i].grad_norm, 0);
        T_EQ(a->batch[i].weights_hash, b->batch[i].weights_hash);
    }
}

TEST(sparse_runs, values_do_not_depend_on_the_machine)
{
    static const struct {
        int num_csx, threads;
        const char *shards, *micro;
    } machine[] = {{1, 1, "cluster.memoryx.shards=2", MICRO "2"},
                   {2, 1, "cluster.memoryx.shards=3", MICRO "null"},
                   {3, 2, "cluster.memoryx.shards=1", MICRO "1"},
                   {8, 2, "cluster.memoryx.shards=3", MICRO "1"}};
    for (int k = 0; k < N_SPARSITY; k++) {
        struct small_result one, other;
        run(1, "cluster.memoryx.shards=1", MICRO "1", sparsity[k], true, &one);
        for (size_t i = 0; i < sizeof machine / sizeof *machine; i++) {
            num_init(machine[i].threads);
            run(machine[i].num_csx, machine[i].shards, machine[i].micro, sparsity[k], true, &other);
            check_same(&one, &other);
        }
        num_init(1);
        CU_ASSERT(one.batch[0].weights_hash != one.batch[STEPS - 1].weights_hash);
    }
}

TEST(sparse_runs, values_change_no_time)
{
    for (int k = 0; k < N_SPARSITY; k++) {
        struct small_result with, without;
        run(3, "cluster.memoryx.shards=3", MICRO "1", sparsity[k], true, &with);
        run(3, "cluster.memoryx.shards=3", MICRO "1", sparsity[k], false, &without);
        for (int i = 0; i < STEPS; i++)
            T_EQ(with.batch[i].end.ps, without.batch[i].end.ps);
        T_EQ(with.bytes_down, without.bytes_down);
        T_EQ(with.bytes_up, without.bytes_up);
    }
}

/* Matrices of 81,920 elements: one shard packs them in two blocks of many pieces, 64 shards pack
 * parts of one piece each. */
TEST(sparse_runs, large_matrices_do_not_depend_on_the_shards)
{
    static const char *const shards[] = {"cluster.memoryx.shards=64", "cluster.memoryx.shards=1"};
    struct small_result r[2];
    for (int i = 0; i < 2; i++) {
        const char *const sets[] = {shards[i], "sparsity=0.75", "model.hidden_size=128",
                                    "model.filter_size=640", NULL};
        struct small_config c;
        T_OK(small_config_init(&c, 1, sets));
        T_OK(small_run_alone(&c, STEPS, data_dir(), &r[i]));
        small_config_fini(&c);
        CU_ASSERT_EQUAL_FATAL(r[i].n, STEPS);
    }
    check_same(&r[0], &r[1]);
    CU_ASSERT(r[0].batch[STEPS - 1].loss < r[0].batch[0].loss);
}
