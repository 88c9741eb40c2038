// SPDX-License-Identifier: Apache-2.0
#include "random_case.h"

#include <wsc/check.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

int64_t random_case_int(uint64_t i, uint64_t k, int64_t low, int64_t high)
{
    const uint64_t n = (uint64_t)(high - low + 1);
    return low + (int64_t)(wsc_rng_u64(2409, wsc_rng_stream(WSC_RNG_TEST, i), k) % n);
}

/* Evenly on a logarithmic scale. */
static long long scale_between(uint64_t i, uint64_t k, double low, double high)
{
    const double u = wsc_rng_uniform(2409, wsc_rng_stream(WSC_RNG_TEST, i), k);
    return (long long)llround(low * pow(high / low, u));
}

void random_case_add(struct random_case *c, const char *format, ...)
{
    va_list ap;
    WSC_CHECK(c->n < RANDOM_MAX_SETS, "more than %d sets of a random case", RANDOM_MAX_SETS);
    va_start(ap, format);
    const int n = vsnprintf(c->text[c->n++], RANDOM_SET_BYTES, format, ap);
    va_end(ap);
    WSC_CHECK(n > 0 && n < RANDOM_SET_BYTES, "a set of %d bytes", n);
}

static void draw_model(struct random_case *c, uint64_t i)
{
    const int64_t heads = (int64_t)1 << random_case_int(i, 1, 0, 3);
    const int64_t width = heads * 8 * random_case_int(i, 2, 1, 24);
    const int64_t filter = width * random_case_int(i, 3, 1, 4);
    const int64_t length = 16 * random_case_int(i, 5, 1, 20);
    const int64_t batch = c->num_csx * random_case_int(i, 8, 1, 9) + random_case_int(i, 9, 2, 5);
    random_case_add(c, "model.num_heads=%lld", (long long)heads);
    random_case_add(c, "model.hidden_size=%lld", (long long)width);
    random_case_add(c, "model.filter_size=%lld", (long long)filter);
    random_case_add(c, "model.num_hidden_layers=%lld", (long long)random_case_int(i, 4, 1, 6));
    random_case_add(c, "model.max_position_embeddings=%lld", (long long)length);
    random_case_add(c, "model.share_embedding_weights=%s",
                    random_case_int(i, 6, 0, 1) ? "true" : "false");
    random_case_add(c, "optimizer.max_gradient_norm=%lld", (long long)random_case_int(i, 7, 0, 1));
    random_case_add(c, "train_input.batch_size=%lld", (long long)batch);
    random_case_add(c, "train_input.micro_batch_size=%lld",
                    (long long)random_case_int(i, 10, 1, 6));
    random_case_add(c, "reduction_leaf=%lld", (long long)random_case_int(i, 11, 1, 3));
}

static void draw_cluster(struct random_case *c, uint64_t i)
{
    static const char *const latency[] = {"memoryx.link_latency", "memoryx.update_latency",
                                          "swarmx.link_latency",  "swarmx.latency",
                                          "swarmx.add_latency",   "wafer.stage_latency"};
    random_case_add(c, "cluster.memoryx.shards=%lld", (long long)random_case_int(i, 20, 1, 13));
    random_case_add(c, "cluster.swarmx.fanout=%lld", (long long)random_case_int(i, 21, 2, 7));
    random_case_add(c, "cluster.stream.granularity=%s",
                    random_case_int(i, 22, 0, 1) ? "block" : "matrix");
    random_case_add(c, "cluster.stream.prefetch_window=%lld B", scale_between(i, 23, 1e3, 1e9));
    random_case_add(c, "cluster.memoryx.link_rate=%lld B/s", scale_between(i, 24, 1e7, 1e12));
    random_case_add(c, "cluster.swarmx.link_rate=%lld B/s", scale_between(i, 25, 1e8, 1e13));
    random_case_add(c, "cluster.wafer.io_rate=%lld B/s", scale_between(i, 26, 1e8, 1e13));
    random_case_add(c, "cluster.memoryx.update_rate=%lld params/s",
                    scale_between(i, 27, 1e7, 1e11));
    random_case_add(c, "cluster.input.rate=%lld B/s", scale_between(i, 28, 1e6, 1e11));
    random_case_add(c, "cluster.input.worker_rate=%lld", scale_between(i, 29, 1e5, 1e9));
    random_case_add(c, "cluster.input.nodes=%lld", (long long)random_case_int(i, 30, 0, 5));
    random_case_add(c, "cluster.swarmx.header=%lld B", (long long)random_case_int(i, 31, 0, 200));
    random_case_add(c, "cluster.control.latency=%lld ps", scale_between(i, 32, 1e3, 1e10));
    for (uint64_t k = 0; k < sizeof latency / sizeof *latency; k++)
        random_case_add(c, "cluster.%s=%lld ps", latency[k],
                        random_case_int(i, 40 + k, 0, 3) ? scale_between(i, 50 + k, 1e3, 1e9)
                                                         : 0LL);
}

static void draw_faults(struct random_case *c, uint64_t i)
{
    static const char *const effect[] = {"boundary", "reduce",  "latency", "jitter",
                                         "input",    "network", "control"};
    random_case_add(c, "cluster.jitter=0.0%lld", (long long)random_case_int(i, 60, 0, 5));
    random_case_add(c, "cluster.jitter_stage=0.0%lld", (long long)random_case_int(i, 61, 0, 5));
    random_case_add(c, "cluster.jitter_system=0.0%lld", (long long)random_case_int(i, 62, 0, 5));
    for (uint64_t k = 0; k < sizeof effect / sizeof *effect; k++)
        if (!random_case_int(i, 70 + k, 0, 4))
            random_case_add(c, "cluster.effects.%s=off", effect[k]);
    const long long wafer = random_case_int(i, 80, 0, c->num_csx - 1);
    random_case_add(c, "cluster.faults+=straggler:wafer=%lld,factor=1.%lld", wafer,
                    (long long)random_case_int(i, 81, 0, 9));
    random_case_add(c, "cluster.faults+=slow_link:wafer=%lld,factor=%lld", wafer,
                    (long long)random_case_int(i, 82, 1, 5));
    if (c->num_csx > 1)
        random_case_add(c, "cluster.faults+=lost_planes:node=0,planes=%lld",
                        (long long)random_case_int(i, 83, 1, 11));
}

void random_case_draw(struct random_case *c, uint64_t i, bool faults)
{
    *c = (struct random_case){.num_csx = scale_between(i, 0, 1, 30)};
    draw_model(c, i);
    draw_cluster(c, i);
    if (faults) draw_faults(c, i);
}

enum wsc_err random_case_config(const struct random_case *c, struct small_config *config)
{
    const char *sets[RANDOM_MAX_SETS + 1];
    for (int k = 0; k < c->n; k++)
        sets[k] = c->text[k];
    sets[c->n] = NULL;
    return small_config_init(config, c->num_csx, sets);
}
