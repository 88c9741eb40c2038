// SPDX-License-Identifier: Apache-2.0
/* Virtual times of two small clusters, to the picosecond, as tests/golden/schedule_*.txt pins them.
 * They change when the model of the machine or a constant of cs2.yaml does; with
 * WSC_GOLDEN_UPDATE in the environment the files are written again: read the difference. */
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3, TEXT_BYTES = 4096 };

static void describe(const struct small_result *r, char text[TEXT_BYTES])
{
    int used = 0;
    for (int i = 0; i < r->n; i++) {
        const struct memoryx_batch *b = &r->batch[i];
        used +=
            snprintf(text + used, (size_t)(TEXT_BYTES - used),
                     "step %lld: end %lld ps, time %lld = compute %lld + weights %lld + "
                     "reduce %lld + boundary %lld\n",
                     (long long)b->step, (long long)b->end.ps, (long long)b->time_ps,
                     (long long)b->breakdown.compute_ps, (long long)b->breakdown.weights_wait_ps,
                     (long long)b->breakdown.reduce_wait_ps, (long long)b->breakdown.boundary_ps);
    }
    (void)snprintf(text + used, (size_t)(TEXT_BYTES - used), "bytes: %lld down, %lld up\n",
                   (long long)r->bytes_down, (long long)r->bytes_up);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

static void check_schedule(const char *path, const char *const *sets)
{
    struct small_config c;
    struct small_result r;
    char text[TEXT_BYTES], *expected = NULL;
    size_t n;
    T_OK(small_config_init(&c, 4, sets));
    T_OK(small_run_alone(&c, STEPS, NULL, &r));
    small_config_fini(&c);
    describe(&r, text);
    if (getenv("WSC_GOLDEN_UPDATE")) write_text(path, text);
    T_OK(conf_read_file(path, &expected, &n));
    T_STR(text, expected);
    wsc_free(expected);
}

TEST(run_golden, schedule_of_four_wafers_and_two_shards)
{
    check_schedule("tests/golden/schedule_tiny.txt",
                   (const char *const[]){"cluster.memoryx.shards=2", NULL});
    check_schedule("tests/golden/schedule_matrix.txt",
                   (const char *const[]){
                       "cluster.memoryx.shards=2", "cluster.swarmx.fanout=2",
                       "cluster.stream.granularity=matrix", "cluster.stream.prefetch_window=8 MiB",
                       "train_input.batch_size=48", "train_input.micro_batch_size=6",
                       "model.hidden_size=1024", "model.filter_size=4096", "model.num_heads=16",
                       "model.max_position_embeddings=256", NULL});
}
