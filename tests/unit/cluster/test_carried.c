// SPDX-License-Identifier: Apache-2.0
/* Payloads that the links of a run with values have carried, edge by edge, against sums over the
 * stages: weights twice a step, one or two vectors of gradients. */
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <stdio.h>
#include <sys/stat.h>

enum { STEPS = 2 };

/* A folder of this suite's own samples. */
static const char *carried_dir(void)
{
    static char dir[160];
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s/carried", test_tmpdir());
    CU_ASSERT_FATAL(mkdir(dir, 0700) == 0);
    return dir;
}

/* What part @p m of @p n_shards of all stages has, in bytes of the host; all of them with one. */
static void bytes_of(const struct model *model, int m, int n_shards, int64_t *weights,
                     int64_t *gradients)
{
    *weights = *gradients = 0;
    for (int s = 0; s < model->n_stages; s++)
        for (int v = 0; v < model->stage[s].n_views; v++) {
            int64_t first, n;
            stream_part(model->tensor[model->stage[s].view[v].tensor].n_elems, m, n_shards, &first,
                        &n);
            *weights += n * 2 * 4;
            *gradients += n * 4;
        }
}

/* @p vectors: of gradients that a wafer sends for a stage; a node and the root send one. */
static void check_edges(const struct small_result *r, const struct model *model, int n_shards,
                        int first_wafer, int vectors)
{
    for (int i = 0; i < r->n_carried; i++) {
        const struct stream_carried *c = &r->carried[i];
        const bool of_shard = c->parent < n_shards;
        const int n = c->child >= first_wafer ? vectors : 1;
        int64_t weights, gradients;
        bytes_of(model, of_shard ? c->parent : 0, of_shard ? n_shards : 1, &weights, &gradients);
        T_EQ(c->weights, weights * STEPS);
        T_EQ(c->dense_weights, weights * STEPS);
        T_EQ(c->gradients, gradients * n * STEPS);
        T_EQ(c->dense_gradients, gradients * n * STEPS);
        T_EQ(c->least_gradients, gradients * STEPS);
        T_EQ(c->between_ranks, 0);
    }
}

static void check_run(int num_csx, int n_shards, int n_nodes, int vectors, const char *const *sets)
{
    struct small_config c;
    struct small_result r;
    struct model *model;
    T_OK(small_config_init(&c, num_csx, sets));
    T_OK(small_run_alone(&c, STEPS, carried_dir(), &r));
    T_OK(model_create(&model, &c.params, HW_STREAM_BLOCK));
    T_EQ(r.n_micro, 1);
    T_EQ(r.n_carried, n_shards + n_nodes - 1 + num_csx);
    check_edges(&r, model, n_shards, n_shards + n_nodes, vectors);
    model_destroy(&model);
    small_config_fini(&c);
}

/* Eight samples on four wafers: each has a subtree of two.  Six on two wafers, three on each: 0, 1
 * and 2, or 3 and 4, 5, so that each sends two vectors. */
TEST(run_carried, links_carry_the_payloads_of_the_stages)
{
    T_OK(small_data_write(carried_dir(), 20));
    check_run(4, 3, 3, 1,
              (const char *const[]){"cluster.memoryx.shards=3", "cluster.swarmx.fanout=2",
                                    "reduction_leaf=1", "train_input.batch_size=8", NULL});
    check_run(2, 1, 1, 2,
              (const char *const[]){"cluster.memoryx.shards=1", "reduction_leaf=1",
                                    "cluster.stream.shares=even", NULL});
}
