// SPDX-License-Identifier: Apache-2.0
/* A step by hand, as a check of the rules of time that no part of the program made: one wafer, one
 * shard, stages s = 0 .. n-1, forward and then backward.  Links of 1 PB/s take no time for these
 * few bytes but round up to a picosecond or a few; the window holds all weights; samples are there.
 *
 * The first step begins at 0.  The first weights leave the shard at once and arrive a link latency
 * L later.  Each stage takes its start S and its compute c(s), and all later weights are there long
 * before they are needed, so that the stages follow each other:
 *     T(1) = L + sum over forward and backward of (S + c(s))
 * The last gradient, of stage 0, leaves at the end of the step and arrives L later.  The gradient
 * is clipped by its norm, so that no update begins before; stage 0 is the first one, after the
 * update latency U, at r parameters per second; its weights need L again:
 *     T(2) = L + U + P(0) / r + L + sum over forward and backward of (S + c(s))
 * Updates of the stages after it are done before they are needed.  All later steps equal it. */
#include "../../../src/wafer/wafer_cost.h"
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/timeline.h>

#include <string.h>

/* L, S, U in ps; r so that a parameter takes 1 ps. */
enum { LINK_PS = 1000000, START_PS = 50000000, UPDATE_PS = 3000000 };
/* Embedding of 64 tokens and 16 positions in 32 dimensions. */
enum { FIRST_PARAMS = (64 + 16) * 32 };
/* Bytes of a message at 1 PB/s, rounded up: at most 2^15 bytes, 33 ps, for each stage that waits.
 */
enum { MOST_ROUNDING_PS = 2 * 4 * 40 };

static const char *const sets[] = {"cluster.memoryx.shards=1",
                                   "cluster.memoryx.link_rate=1PB/s",
                                   "cluster.memoryx.link_latency=1us",
                                   "cluster.memoryx.update_latency=3us",
                                   "cluster.memoryx.update_rate=1000000000000 params/s",
                                   "cluster.wafer.stage_latency=50us",
                                   "cluster.wafer.backward_kernels=1",
                                   "cluster.wafer.io_rate=1PB/s",
                                   "cluster.wafer.hop_cycles=0",
                                   "cluster.stream.prefetch_window=1GB",
                                   "cluster.effects.input=off",
                                   NULL};

/* The sum of c(s), from what a stage costs on its own. */
static int64_t sum_of_computes(const struct small_config *config)
{
    const struct memoryx_hooks hooks = {0};
    struct comm *comm = NULL;
    struct cluster *c = NULL;
    struct cycles_plan plan;
    struct stream_batch batch;
    int64_t sum = 0;
    T_OK(comm_create(&comm, false));
    T_OK(cluster_create(&c, comm, &config->params, &config->cluster, false, &hooks));
    T_OK(cluster_plan_batch(c, &config->params.train_input, true, &plan, &batch));
    T_EQ(batch.n_micro, 1);
    T_EQ(c->model->n_stages, 4);
    for (int s = 0; s < c->model->n_stages; s++)
        for (int backward = 0; backward < 2; backward++) {
            const struct wafer_task task = {
                .stage = s, .backward = backward, .n_samples = SMALL_BATCH};
            sum += wafer_cost_of(&c->hw, c->model, &plan, &task).compute_ps;
        }
    cluster_destroy(&c);
    comm_destroy(&comm);
    return sum;
}

static int64_t time_of_part(const struct timeline_segment *path, int n, const char *part)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        if (!strcmp(path[i].part, part)) sum += path[i].end_ps - path[i].begin_ps;
    return sum;
}

/* Time of the step after @p finished others, checked part by part along its critical path. */
static void check_step(const struct small_config *config, int64_t finished, int64_t latency_ps,
                       int64_t update_ps, int64_t compute_ps)
{
    const struct timeline_want want = {.first_step = finished, .n_steps = 1};
    const int64_t starts_ps = INT64_C(2) * 4 * START_PS;
    struct timeline *t = NULL;
    struct timeline_segment *path;
    struct vtime_breakdown parts;
    int64_t step_ps;
    int n;
    T_OK(timeline_create(&t, &config->params, &config->cluster, &want));
    T_OK(timeline_measure(t, &config->params, &config->cluster));
    timeline_step(t, &step_ps, &parts);
    T_OK(timeline_path(t, &path, &n));
    T_EQ(time_of_part(path, n, "stage latency"), starts_ps);
    T_EQ(time_of_part(path, n, "compute"), compute_ps);
    T_EQ(time_of_part(path, n, "latency of links and nodes"), latency_ps);
    T_EQ(time_of_part(path, n, "optimizer"), update_ps);
    const int64_t by_hand = latency_ps + update_ps + starts_ps + compute_ps;
    CU_ASSERT(step_ps >= by_hand && step_ps <= by_hand + MOST_ROUNDING_PS);
    wsc_free(path);
    timeline_destroy(&t);
}

TEST(timeline, one_wafer_and_one_shard_by_hand)
{
    struct small_config config;
    T_OK(small_config_init(&config, 1, sets));
    const int64_t compute_ps = sum_of_computes(&config);
    CU_ASSERT(compute_ps > 0);
    check_step(&config, 0, LINK_PS, 0, compute_ps);
    check_step(&config, 1, INT64_C(2) * LINK_PS, UPDATE_PS + FIRST_PARAMS, compute_ps);
    check_step(&config, 5, INT64_C(2) * LINK_PS, UPDATE_PS + FIRST_PARAMS, compute_ps);
    small_config_fini(&config);
}

/* The I/O of the wafer alone takes long, 1 us a byte.  Forward, a stage ends when its weights have
 * come in; backward, when its gradients have gone out, 4 bytes for each parameter both times; the
 * head has the embedding of the 64 tokens and a norm.  Layers have 12 C^2 + 13 C parameters. */
TEST(timeline, bytes_through_the_io_of_the_wafer_by_hand)
{
    const int64_t width = 32,
                  params = FIRST_PARAMS + 2 * (12 * width * width + 13 * width) +
                           (64 * width + 2 * width),
                  byte_ps = 1000000, rounding_ps = 1000000;
    const struct timeline_want want = {.first_step = 0, .n_steps = 1};
    struct small_config config;
    struct timeline *t = NULL;
    struct timeline_segment *path;
    int n;
    T_OK(small_config_init(&config, 1, sets));
    config.cluster.wafer.io_rate_bytes_per_s = 1000000;
    config.cluster.swarmx.header_bytes = 0;
    T_OK(timeline_create(&t, &config.params, &config.cluster, &want));
    T_OK(timeline_measure(t, &config.params, &config.cluster));
    T_OK(timeline_path(t, &path, &n));
    T_NEAR((double)time_of_part(path, n, "weights into the wafer"),
           4.0 * (double)(params * byte_ps), rounding_ps);
    T_NEAR((double)time_of_part(path, n, "gradients out of the wafer"),
           4.0 * (double)(params * byte_ps), rounding_ps);
    wsc_free(path);
    timeline_destroy(&t);
    small_config_fini(&config);
}

/* At 1 TB/s a byte takes 1 ps.  Weights go down for forward and for backward, gradients of each of
 * 4 stages come up, all with 4 bytes for a parameter; the other messages up are small signals. */
TEST(timeline, links_of_one_wafer_by_hand)
{
    const int64_t width = 32, rate = INT64_C(1000000000000),
                  params = FIRST_PARAMS + 2 * (12 * width * width + 13 * width) +
                           (64 * width + 2 * width);
    const struct timeline_want want = {.first_step = 0, .n_steps = 1};
    struct small_config config;
    struct timeline *t = NULL;
    struct timeline_link *link;
    int n;
    T_OK(small_config_init(&config, 1, sets));
    config.cluster.memoryx.link_rate_bytes_per_s = rate;
    config.cluster.swarmx.header_bytes = 0;
    T_OK(timeline_create(&t, &config.params, &config.cluster, &want));
    T_OK(timeline_measure(t, &config.params, &config.cluster));
    T_OK(timeline_links(t, &link, &n));
    CU_ASSERT_FATAL(n == 2);
    for (int up = 0; up < 2; up++) {
        T_STR(link[up].from, up ? "wafer 0" : "MemoryX shard 0");
        T_STR(link[up].to, up ? "MemoryX shard 0" : "wafer 0");
        T_EQ(link[up].rate_bytes_per_s, rate);
    }
    T_EQ(link[0].n_messages, 2 * 4);
    T_EQ(link[0].bytes, 8 * params);
    T_EQ(link[0].busy_ps, link[0].bytes);
    CU_ASSERT(link[1].n_messages >= 4);
    CU_ASSERT(link[1].bytes >= 4 * params && link[1].bytes < 4 * params + 1000);
    CU_ASSERT(link[1].busy_ps >= link[1].bytes);
    wsc_free(link);
    timeline_destroy(&t);
    small_config_fini(&config);
}
