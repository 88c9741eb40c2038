// SPDX-License-Identifier: Apache-2.0
#include "report_case.h"

enum { N_COUNTS = 7, N_MODELS = 2 };

static struct hw_source sources[] = {{.key = "wafer.clock",
                                      .value = (char[]){"850 MHz"},
                                      .kind = "documented",
                                      .source = (char[]){"Hot Chips 31, \"slide 5\""}},
                                     {.key = "wafer.stage_latency",
                                      .value = (char[]){"20 us"},
                                      .kind = "calibrated",
                                      .source = (char[]){"fit on <1 system> & 2"}},
                                     {.key = "swarmx.fanout",
                                      .value = (char[]){"4"},
                                      .kind = "assumed",
                                      .source = (char[]){"no figure is public"}}};

static struct hw_machine cluster = {.name = (char[]){"CS-2"},
                                    .hash = 0x0123456789abcdefULL,
                                    .source = sources,
                                    .n_sources = sizeof sources / sizeof *sources,
                                    .file = (char[]){"configs/cluster/cs2.yaml"}};

static const struct validation_point points[] = {
    {.model = "GPT-3 13B",
     .num_csx = 1,
     .tokens_per_s = 24309,
     .source = "Vassilieva et al., Table V"},
    {.model = "GPT-3 13B",
     .num_csx = 16,
     .tokens_per_s = 371000,
     .source = "a talk, with a title that is far too long for any legend"},
    {.model = "GPT-3 111M",
     .num_csx = 1,
     .tokens_per_s = 1.6e6,
     .source = "Vassilieva et al., Table V"}};

/* One second of compute on any count (weak scaling), waits that grow with the logarithm. */
static struct scaling_row row_of(const char *model, int64_t params, int64_t n, double rate)
{
    struct scaling_row r = {.model = model, .params = params, .num_csx = n};
    int64_t ps = 1000000000000, level = 0;
    for (int64_t k = n; k > 1; k /= 2)
        level++;
    r.global_batch = 120 * n;
    r.micro_batch = 30;
    r.breakdown = (struct vtime_breakdown){
        ps, level * ps / 500, level * ps / (params > 1000000000 ? 150 : 25), ps / 40, ps / 1000};
    r.step_time_ps = r.breakdown.compute_ps + r.breakdown.weights_wait_ps +
                     r.breakdown.reduce_wait_ps + r.breakdown.boundary_ps +
                     r.breakdown.input_wait_ps;
    r.tokens_per_s = rate * (double)n * 1.026 * (double)ps / (double)r.step_time_ps;
    r.samples_per_s = r.tokens_per_s / 2048;
    r.speedup = r.tokens_per_s / rate;
    r.efficiency = r.speedup / (double)n;
    r.mfu = 0.25 * r.efficiency;
    r.joules_per_token = 20000.0 * (double)n / r.tokens_per_s;
    return r;
}

struct report_scaling case_scaling(void)
{
    static struct scaling_row row[N_MODELS * N_COUNTS];
    for (int i = 0; i < N_COUNTS; i++) {
        row[i] = row_of("GPT-3 13B", 12853473280, INT64_C(1) << i, 24000);
        row[N_COUNTS + i] = row_of("GPT-3 111M", 111053568, INT64_C(1) << i, 1.5e6);
    }
    return (struct report_scaling){.row = row,
                                   .n_rows = N_MODELS * N_COUNTS,
                                   .point = points,
                                   .n_points = sizeof points / sizeof *points,
                                   .scaling = "weak",
                                   .cluster = &cluster,
                                   .cluster_text = "name: CS-2 # a <b>bold</b> claim\n",
                                   .command = "wsc scale --params 'a&b.yaml'"};
}
