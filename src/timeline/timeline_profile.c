// SPDX-License-Identifier: Apache-2.0
/* The profile of a step by module, as the Model Zoo's profiler prints it: what the slowest wafer
 * computed in each stage, from its record, distributed over the parts of the stage by their cycles;
 * rows for what it waited for make the rows add up to the step.  Kept by layer; equal modules of
 * all layers are added where that is asked for. */
#include "timeline_state.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Modules under the Model Zoo's names; the star is the number of the block in its stack. */
static const char *const part_name[] = {[MODEL_PART_EMBED] = "embedding_layer",
                                        [MODEL_PART_QKV] = "layers.*.self_attn.proj_qkv",
                                        [MODEL_PART_ATTN] = "layers.*.self_attn",
                                        [MODEL_PART_CROSS_QKV] = "layers.*.multihead_attn.proj_qkv",
                                        [MODEL_PART_CROSS_ATTN] = "layers.*.multihead_attn",
                                        [MODEL_PART_MEMORY] = "encoder.norm",
                                        [MODEL_PART_FFN0] = "layers.*.ffn.0",
                                        [MODEL_PART_FFN1] = "layers.*.ffn.1",
                                        [MODEL_PART_HEAD] = "lm_head"};
_Static_assert(MODEL_N_PARTS == 9, "a row for each part of a model");
enum { MOST_OTHERS = 5 };

/* Compute time of each stage of the model by parts, forward and backward. */
struct timeline_times {
    int64_t (*part)[2]; /* owned, one per stage of the model by parts */
    int64_t latency_ps; /* of starting stages */
};

/* One visit of a stage: what it computed, and how much. */
struct timeline_visit {
    struct model_transfer what;
    int64_t compute_ps;
    const struct vtime_bar *bar;
};

/* Cycles of stage @p s of the model by parts. */
static double part_cycles(const struct timeline *t, const struct cluster_record *record,
                          const struct timeline_visit *v, int s)
{
    const struct cycles_tokens tokens = {v->bar->n_new, v->bar->n_cached, v->bar->n_source,
                                         v->bar->n_memory, v->bar->n_beams};
    const int64_t n = v->bar->amount;
    struct model_density some;
    const struct model_density *d =
        model_density_at(t->by_part, s, record->updates, &some) ? &some : NULL;
    return (double)(tokens.n_new
                        ? cycles_generate(record->hw, t->by_part, record->plan, s, &tokens, n, d)
                        : cycles_stage(record->hw, t->by_part, record->plan, s, v->what.backward, n,
                                       d));
}

/* The stage of the model by parts that is part @p part of stage @p stage. */
static int stage_of_part(const struct timeline *t, const struct model_stage *stage,
                         enum model_part part)
{
    for (int i = 0; i < t->by_part->n_stages; i++) {
        const struct model_stage *s = &t->by_part->stage[i];
        if (s->layer == stage->layer && s->stack == stage->stack && s->part[0] == part) return i;
    }
    WSC_CHECK(false, "no part %d in layer %d", (int)part, stage->layer);
    return 0;
}

/* Distribute a visit over the parts of its stage; rounding goes to the last one. */
static void add_visit(const struct timeline *t, const struct cluster_record *record,
                      const struct timeline_visit *v, struct timeline_times *times)
{
    const struct model_stage *stage = &t->model->stage[v->what.stage];
    double cycles[MODEL_MAX_PARTS] = {0}, all = 0;
    int64_t left_ps = v->compute_ps;
    int s[MODEL_MAX_PARTS] = {0};
    for (int i = 0; i < stage->n_parts; i++) {
        s[i] = stage_of_part(t, stage, stage->part[i]);
        cycles[i] = part_cycles(t, record, v, s[i]);
        all += cycles[i];
    }
    for (int i = 0; i < stage->n_parts; i++) {
        int64_t ps = (int64_t)((double)v->compute_ps * (all > 0 ? cycles[i] / all : 0));
        if (i == stage->n_parts - 1 || ps > left_ps) ps = left_ps;
        left_ps -= ps;
        times->part[s[i]][v->what.backward] += ps;
    }
}

/* Each stage has one event that waits for its compute beside other things. Stages of the record
 * come in the order of its bars, so both are walked together. */
static void add_visits(const struct timeline *t, const struct cluster_record *record,
                       const struct vtime_recorder *wafer, struct timeline_times *times)
{
    const int n = timeline_n_transfers(t);
    const struct vtime_edge *in = wafer->edge;
    const struct vtime_bar *bar = wafer->bar, *end = wafer->bar + wafer->n_bars;
    for (int64_t i = 0; i < wafer->n_events; in += wafer->event[i++].n_edges) {
        const struct vtime_event *e = &wafer->event[i];
        if (in->part == VTIME_STAGE) times->latency_ps += in->delay_ps;
        if (e->n_edges < 2 || in->part != VTIME_COMPUTE) continue;
        while (bar < end && bar->kind != VTIME_BAR_STAGE)
            bar++;
        WSC_CHECK(bar < end && bar->transfer == e->transfer, "a stage without a bar");
        const struct timeline_visit v = {model_transfer_at(t->model, e->transfer % n), in->delay_ps,
                                         bar++};
        add_visit(t, record, &v, times);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int by_time(const void *a, const void *b)
{
    const struct timeline_module *x = a, *y = b;
    if (x->ps != y->ps) return x->ps < y->ps ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* The module that holds the blocks of a stack. */
static const char *blocks_name(const struct model *model, int stack)
{
    if (model->n_stacks > 1) return stack ? "decoder." : "encoder.";
    return model->stack[stack].causal || model->patch ? "transformer_decoder."
                                                      : "transformer_encoder.";
}

/* The Model Zoo's name of the part in stage @p s with the number of its block and the pass. */
static void name_module(const struct model *model, int s, bool backward, char *text, size_t size)
{
    const struct model_stage *stage = &model->stage[s];
    const char *name = part_name[stage->part[0]], *star = strchr(name, '*');
    const char *pass = backward ? "bwd" : "fwd";
    const char *of = s < model->first_policy ? "ref_model.model." : "model.";
    if (star && stage->layer >= 0)
        (void)snprintf(text, size, "%s%s%.*s%d%s.%s", of, blocks_name(model, stage->stack),
                       (int)(star - name), name,
                       stage->layer - (int)model->stack[stage->stack].first, star + 1, pass);
    else if (stage->part[0] == MODEL_PART_EMBED && model->n_stacks > 1)
        (void)snprintf(text, size, "%s%s_embeddings.%s", of, stage->stack ? "decoder" : "encoder",
                       pass);
    else
        (void)snprintf(text, size, "%s%s.%s", of, name, pass);
}

/* Rows without time are left out. */
static void add_row(struct timeline *t, const char *name, int64_t ps)
{
    if (!ps) return;
    struct timeline_module *row = &t->module[t->n_modules++];
    (void)snprintf(row->name, sizeof row->name, "%s", name);
    row->ps = ps;
}

/* Modules, then what the wafer waited for, as the breakdown of the step has it: the rows add up to
 * the step. */
static void name_rows(struct timeline *t, const struct timeline_times *times)
{
    const struct memoryx_batch *b = &t->batch;
    t->n_modules = 0;
    for (int s = 0; s < t->by_part->n_stages; s++)
        for (int backward = 0; backward < 2; backward++) {
            char name[sizeof t->module->name];
            name_module(t->by_part, s, backward, name, sizeof name);
            add_row(t, name, times->part[s][backward]);
        }
    add_row(t, "(stage latency)", times->latency_ps);
    add_row(t, "(waiting for weights)", b->breakdown.weights_wait_ps);
    add_row(t, "(waiting for the reduction)", b->breakdown.reduce_wait_ps);
    add_row(t, "(step boundary)", b->breakdown.boundary_ps);
    add_row(t, "(waiting for input)", b->breakdown.input_wait_ps);
}

enum wsc_err timeline_profile_find(struct timeline *t, const struct cluster_record *record,
                                   const struct vtime_recorder *wafer)
{
    struct timeline_times times = {0};
    const int n = t->by_part->n_stages;
    wsc_free(t->module);
    t->module = NULL;
    TRY_NEW(t->module, WSC_MEM_TIMELINE, 2 * n + MOST_OTHERS);
    TRY_NEW(times.part, WSC_MEM_TIMELINE, n);
    add_visits(t, record, wafer, &times);
    name_rows(t, &times);
    wsc_free(times.part);
    return WSC_OK;
}

/* "layers.12.ffn.0" as "layers.*.ffn.0". */
static void without_layer(const char *name, char *text, size_t size)
{
    static const char mark[] = ".layers.";
    const char *at = strstr(name, mark);
    if (!at) {
        (void)snprintf(text, size, "%s", name);
        return;
    }
    const char *number = at + sizeof mark - 1;
    (void)snprintf(text, size, "%.*s*%s", (int)(number - name), name,
                   number + strspn(number, "0123456789"));
}

/* Rows of equal modules become one, in place; @return how many are left. */
static int merge_layers(struct timeline_module *row, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        char name[sizeof row->name];
        int k = 0;
        without_layer(row[i].name, name, sizeof name);
        while (k < kept && strcmp(row[k].name, name) != 0)
            k++;
        const int64_t ps = row[i].ps + (k < kept ? row[k].ps : 0);
        kept += k == kept;
        memcpy(row[k].name, name, sizeof name);
        row[k].ps = ps;
    }
    return kept;
}

enum wsc_err timeline_profile(const struct timeline *t, bool by_layer,
                              struct timeline_module **rows, int *n)
{
    TRY_NEW(*rows, WSC_MEM_TIMELINE, t->n_modules + 1);
    memcpy(*rows, t->module, (size_t)t->n_modules * sizeof **rows);
    *n = by_layer ? t->n_modules : merge_layers(*rows, t->n_modules);
    qsort(*rows, (size_t)*n, sizeof **rows, by_time);
    return WSC_OK;
}
