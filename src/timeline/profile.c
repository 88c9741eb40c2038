// SPDX-License-Identifier: Apache-2.0
#include "timeline_impl.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Modules under the Model Zoo's names; blocks are alike and share a row. */
static const char *const part_name[] = {
    [MODEL_PART_EMBED] = "model.embedding_layer",
    [MODEL_PART_QKV] = "model.transformer_decoder.layers.*.self_attn.proj_qkv",
    [MODEL_PART_ATTN] = "model.transformer_decoder.layers.*.self_attn",
    [MODEL_PART_FFN0] = "model.transformer_decoder.layers.*.ffn.0",
    [MODEL_PART_FFN1] = "model.transformer_decoder.layers.*.ffn.1",
    [MODEL_PART_HEAD] = "model.lm_head"};
enum { N_PARTS = sizeof part_name / sizeof *part_name, MOST_ROWS = 2 * N_PARTS + 5 };

/* Where the time went: parts of the model forward and backward, and what starts a stage. */
struct shares {
    int64_t part[N_PARTS][2];
    int64_t latency;
};

/* Cycles of one part of a stage, from a model whose stages are parts. */
static int64_t part_cycles(const struct timeline *t, const struct model *by_part,
                           const struct wafer_task *task, enum model_part part)
{
    const int layer = t->cluster->model->stage[task->stage].layer;
    for (int s = 0; s < by_part->n_stages; s++)
        if (by_part->stage[s].layer == layer && by_part->stage[s].part[0] == part)
            return cycles_stage(&t->cluster->hw, by_part, &t->plan, s, task->backward,
                                task->n_samples);
    WSC_CHECK(false, "no part %d in layer %d", (int)part, layer);
    return 0;
}

/* Deal a stage's compute out over its parts by their cycles; rounding goes to the last one. */
static void add_stage(const struct timeline *t, const struct model *by_part,
                      const struct wafer_task *task, struct shares *s)
{
    const struct cluster *c = t->cluster;
    const struct model_stage *stage = &c->model->stage[task->stage];
    const struct wafer_cost cost = wafer_cost_of(&c->hw, c->model, &t->plan, task);
    double cycles[MODEL_MAX_PARTS], all = 0;
    int64_t left = cost.compute_ps;
    for (int i = 0; i < stage->n_parts; i++) {
        cycles[i] = (double)part_cycles(t, by_part, task, stage->part[i]);
        all += cycles[i];
    }
    for (int i = 0; i < stage->n_parts; i++) {
        int64_t ps = (int64_t)((double)cost.compute_ps * (all > 0 ? cycles[i] / all : 0));
        if (i == stage->n_parts - 1 || ps > left) ps = left;
        left -= ps;
        s->part[stage->part[i]][task->backward] += ps;
    }
    s->latency += cost.latency_ps;
}

/* What the slowest wafer computed. */
static void add_stages(const struct timeline *t, const struct model *by_part, struct shares *s)
{
    const int n = model_n_transfers(t->cluster->model, true);
    for (int32_t i = 0; i < t->window->n_transfers; i++) {
        const struct model_transfer what = timeline_transfer(t, i);
        int64_t first, end;
        stream_micro_shards(&t->batch, i / n, t->slowest, t->slowest + 1, &first, &end);
        const struct wafer_task task = {.wafer = t->cluster->net->topology->wafer_position[t->slowest],
                                        .step = t->step,
                                        .seed = t->seed,
                                        .stage = what.stage,
                                        .backward = what.backward,
                                        .n_samples = stream_samples(&t->batch, first, end)};
        add_stage(t, by_part, &task, s);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct timeline_module *x = a, *y = b;
    if (x->ps != y->ps) return x->ps < y->ps ? 1 : -1;
    return strcmp(x->name, y->name);
}

static int name_rows(const struct timeline *t, const struct shares *s, struct timeline_module *out)
{
    struct vtime_breakdown b;
    int64_t step_ps;
    int n = 0;
    timeline_step(t, &step_ps, &b);
    const struct {
        const char *name;
        int64_t ps;
    } other[] = {{"(stage latency)", s->latency},
                 {"(waiting for weights)", b.weights_wait_ps},
                 {"(waiting for the reduction)", b.reduce_wait_ps},
                 {"(step boundary)", b.boundary_ps},
                 {"(waiting for input)", b.input_wait_ps}};
    for (int i = 0; i < 2 * N_PARTS; i++) {
        const bool backward = i % 2;
        const int64_t ps = s->part[i / 2][backward];
        if (!ps) continue;
        (void)snprintf(out[n].name, sizeof out[n].name, "%s.%s", part_name[i / 2],
                       backward ? "bwd" : "fwd");
        out[n++].ps = ps;
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (other[i].ps) {
            (void)snprintf(out[n].name, sizeof out[n].name, "%s", other[i].name);
            out[n++].ps = other[i].ps;
        }
    qsort(out, (size_t)n, sizeof *out, by_time);
    return n;
}

enum wsc_err timeline_profile(const struct timeline *t, struct timeline_module **rows, int *n)
{
    struct shares s = {0};
    TRY_NEW(*rows, WSC_MEM_TIMELINE, MOST_ROWS);
    add_stages(t, t->by_part, &s);
    *n = name_rows(t, &s, *rows);
    return WSC_OK;
}
