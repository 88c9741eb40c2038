// SPDX-License-Identifier: Apache-2.0
/* A stage that is updated as soon as its gradient is complete has the bits that it has when all are
 * updated at the end, which a clipping that never clips makes MemoryX wait for. */
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <sys/stat.h>

enum { STEPS = 4, SAMPLES = 20 };

static bool same_values(const struct small_result *a, const struct small_result *b)
{
    bool same = a->n == STEPS && b->n == STEPS;
    for (int k = 0; k < STEPS && same; k++)
        same = a->batch[k].weights_hash && a->batch[k].weights_hash == b->batch[k].weights_hash &&
               a->batch[k].grad_norm == b->batch[k].grad_norm &&
               a->batch[k].learning_rate == b->batch[k].learning_rate &&
               a->batch[k].loss == b->batch[k].loss;
    return same;
}

/* A folder of its own: other tests leave samples of other lengths in the shared one. */
static const char *data_dir(void)
{
    static char dir[300];
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s/early", test_tmpdir());
    if (mkdir(dir, 0755)) return NULL;
    T_OK(small_data_write(dir, SAMPLES));
    return dir;
}

/* @p clips, optimizer and shape. */
static bool train(const char *clips, const char *const *sets, int num_csx, struct small_result *r)
{
    const char *all[6] = {clips};
    struct small_config c;
    for (int i = 0; i < 4 && sets[i]; i++)
        all[i + 1] = sets[i];
    const bool ok = small_config_init(&c, num_csx, all) == WSC_OK &&
                    small_run_alone(&c, STEPS, data_dir(), r) == WSC_OK;
    small_config_fini(&c);
    return ok;
}

TEST(memoryx_early, an_update_of_each_stage_has_the_bits_of_one_at_the_end)
{
    static const char *const sets[][4] = {
        {"cluster.memoryx.shards=1", "train_input.micro_batch_size=1", NULL},
        {"cluster.memoryx.shards=3", "model.share_embedding_weights=false", NULL},
        {"optimizer.optimizer_type=SGD", "optimizer.momentum=0.9", NULL},
        {"cluster.stream.granularity=matrix", "train_input.micro_batch_size=2", NULL}};
    CU_ASSERT_FATAL(data_dir() != NULL);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct small_result early = {0}, late = {0};
        CU_ASSERT_FATAL(train("optimizer.max_gradient_norm=null", sets[i], 3, &early));
        CU_ASSERT_FATAL(train("optimizer.max_gradient_norm=1e30", sets[i], 3, &late));
        CU_ASSERT(same_values(&early, &late));
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_MEMORYX), 0);
}
