// SPDX-License-Identifier: Apache-2.0
/* Compares the analytical model with the mesh at real size: operations of plans of published models
 * on strips of the wafer, full-width (a lane's columns) or full-height, with the features and
 * tokens that a PE has in the plan. An operation too large to simulate runs at two sizes of a
 * dimension in which cycles are affine, and is extrapolated to the plan's size (docs/MESH.md, "At
 * real size"). `wsc validate --mesh --wafer` prints the cases; docs/decisions/0024-wafer-strips.md
 * has the reasons. */
#include "kernel_strips.h"

#include <wsc/kernels.h>

#include <wsc/check.h>
#include <wsc/num.h>

#include <string.h>

/* ---- plans ----------------------------------------------------------------------------------- */

enum { WAFER_COLS = 750, WAFER_ROWS = 994 };

/* Lanes of a plan, and tokens of a PE. */
struct lay {
    int lanes, tokens;
};
/* Models of configs/params with the plans that cycles_plan_wafer() makes for the CS-2 (2026-11-22),
 * and Llama-2 7B. */
struct plan {
    const char *name;
    int C, F, H, d;
    struct lay bf16, fp32;
    bool rms;
};
static const struct plan plans[KERNELS_N_PLANS] = {
    [KERNELS_BERT_BASE] = {"BERT base", 768, 3072, 12, 64, {3, 45}, {4, 33}, false},
    [KERNELS_BERT_LARGE] = {"BERT large", 1024, 4096, 16, 64, {2, 66}, {2, 66}, false},
    [KERNELS_256M] = {"GPT-3 256M", 1088, 4352, 17, 64, {4, 136}, {2, 136}, false},
    [KERNELS_590M] = {"GPT-3 590M", 1536, 6144, 12, 128, {3, 91}, {2, 91}, false},
    [KERNELS_1P3B] = {"GPT-3 1.3B", 2048, 8192, 16, 128, {2, 182}, {1, 182}, false},
    [KERNELS_2P7B] = {"GPT-3 2.7B", 2560, 10240, 32, 80, {2, 136}, {2, 68}, false},
    [KERNELS_6P7B] = {"GPT-3 6.7B", 4096, 16384, 32, 128, {2, 120}, {1, 128}, false},
    [KERNELS_GPTJ] = {"GPT-J 6B", 4096, 16384, 16, 256, {2, 124}, {1, 124}, false},
    [KERNELS_LLAMA] = {"Llama-2 7B", 4096, 11008, 32, 128, {1, 223}, {1, 112}, true},
    [KERNELS_13B] = {"GPT-3 13B", 5120, 20480, 40, 128, {1, 186}, {1, 97}, false},
    [KERNELS_20B] = {"GPT-3 20B", 6144, 24576, 64, 96, {1, 159}, {1, 81}, false},
};
/* ---- what is compared ------------------------------------------------------------------------ */

/* One operation of one plan in one format. */
struct subject {
    const struct kernels_row *row;
    const struct kernels_strip *strip;
    const struct plan *plan;
    struct lay lay;
    enum num_format format;
};

/* Plan number *@p i of a strip, or its number less those of the strip. */
static bool plan_of(const struct kernels_strip *strip, int *i, struct subject *s)
{
    const unsigned set[2] = {strip->bf16, strip->fp32};
    for (int at = 0; at < 2 * KERNELS_N_PLANS; at++) {
        const int plan = at / 2, wide = at % 2;
        if (!(set[wide] >> plan & 1) || (*i)--) continue;
        s->strip = strip;
        s->plan = &plans[plan];
        s->lay = wide ? s->plan->fp32 : s->plan->bf16;
        s->format = wide ? NUM_FP32 : NUM_BF16;
        return true;
    }
    return false;
}

/* Subject number @p i; false after the last one. */
static bool subject_of(int i, struct subject *s)
{
    for (int k = 0; (s->row = kernels_row_at(k)); k++)
        for (const struct kernels_strip *strip = s->row->strips;
             strip && (strip->bf16 || strip->fp32); strip++)
            if (plan_of(strip, &i, s)) return true;
    return false;
}

/* ---- fabrics and shapes ---------------------------------------------------------------------- */

static int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

/* Rows of a full-width strip, columns of a full-height one. */
enum { STRIP_ROWS = 2, STRIP_COLS = 8 };

/* Sums of a weight gradient that a PE of the plan has room for, from the analytical model's own
 * layout of the plan. */
static int64_t room_of(const struct subject *s, const struct hw *hw)
{
    const struct plan *p = s->plan;
    const struct model m = {.C = p->C,
                            .F = p->F,
                            .H = p->H,
                            .T = s->lay.tokens,
                            .n_heads = 1,
                            .head = {{.tokens = s->lay.tokens}},
                            .head_dim = p->d,
                            .kv_heads = p->H,
                            .causal = p > &plans[KERNELS_BERT_LARGE],
                            .gated = p->rms,
                            .format = s->format};
    struct hw_machine cluster = *hw->cluster;
    const struct hw wafer = {.cluster = &cluster};
    struct cycles_layout l;
    cluster.wafer.pe_cols = WAFER_COLS;
    cluster.wafer.pe_rows = WAFER_ROWS;
    cycles_layout_init(&l, &wafer, &m, s->lay.lanes, (int64_t)WAFER_ROWS * s->lay.lanes);
    return (int64_t)l.room;
}

/* Attention keeps the scores of all its keys: as many rows and queries as leave room for them. */
static void fit_scores(struct programs_case *c, int columns)
{
    enum { ROOM = 34 * 1024, SCORES = 4 };
    const int64_t bytes = c->format == NUM_FP32 ? 4 : 2,
                  slots = ceil_div((int)c->head_dim, columns);
    int64_t q = c->tokens / c->h;
    for (;; q -= 2) {
        const int64_t keys = ceil_div((int)(q * c->h), columns);
        const int64_t scores = keys * q * SCORES * (c->backward ? 2 : 1);
        const int64_t tiles = slots * q * (bytes * (c->backward ? 8 : 4) + (bytes == 2 ? 4 : 0));
        if (scores + tiles <= ROOM) break;
    }
    c->tokens = q * c->h;
}

/* One head on its own columns, of encoders without a mask: those of others do the same (test
 * heads_do_not_meet). */
static void shape_attention(struct programs_case *c, const struct subject *s)
{
    const int cols = WAFER_COLS / s->lay.lanes / s->plan->H;
    const int columns = cols < s->plan->d ? cols : s->plan->d;
    c->heads = 1;
    c->both_ways = s->plan <= &plans[KERNELS_BERT_LARGE];
    c->head_dim = s->plan->d;
    c->w = columns;
    fit_scores(c, columns);
}

/* Features of the operation in the plan, on @p cols columns. */
static int features_of(const struct subject *s, int cols)
{
    enum { SLICE = 8 }; /* of the vocabulary, features of a PE at a time */
    if (s->strip->side == KERNELS_LOGITS) return SLICE * cols;
    const int n = s->strip->side == KERNELS_FILTER ? s->plan->F : s->plan->C;
    return s->strip->tall ? STRIP_COLS * ceil_div(n, cols) : n;
}

/* The case with the tokens of the plan. */
static struct programs_case case_of(const struct subject *s, const struct hw *hw)
{
    enum { TABLE = 2048 };
    const struct plan *p = s->plan;
    const bool tall = s->strip->tall, sums = s->strip->how == KERNELS_TOKENS;
    const int cols = WAFER_COLS / s->lay.lanes;
    struct programs_case c = {.hw = hw,
                              .format = s->format,
                              .w = tall ? STRIP_COLS : cols,
                              .h = tall   ? WAFER_ROWS
                                   : sums ? 1
                                          : STRIP_ROWS,
                              .samples = 1,
                              .heads = p->H,
                              .head_dim = p->d,
                              .vocab = TABLE,
                              .threads = 1,
                              .seed = 1,
                              .backward = s->strip->backward};
    c.tokens = (int64_t)s->lay.tokens * c.h;
    c.features = c.k = features_of(s, cols);
    c.m = tall ? STRIP_COLS * ceil_div(p->C, cols) : p->C;
    if (s->strip->side == KERNELS_LOGITS) c.vocab = c.features;
    if (s->strip->side == KERNELS_ONE_HEAD) shape_attention(&c, s);
    if (sums || (s->strip->side == KERNELS_ONE_HEAD && c.backward)) c.room = room_of(s, hw);
    return c;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Give the dimension that is continued @p size. */
static void resize(struct programs_case *c, enum kernels_continued how, int64_t size)
{
    if (how == KERNELS_OUTPUTS) c->m = size;
    if (how == KERNELS_TOKENS) c->tokens = size * c->h;
}

static double model_of(const struct kernels_row *row, const struct programs_case *c)
{
    struct programs_layout lay;
    programs_layout_init(&lay, c);
    return row->cycles(&lay.layout, c);
}

/* Simulated cycles of @p c, and the error of its values. */
static enum wsc_err simulate(const struct kernels_row *row, const struct programs_case *c,
                             struct kernels_wafer_pair *out, double *cycles)
{
    struct programs_result r;
    TRY(kernels_row_run(row, c, &r));
    *cycles = (double)r.stats.cycles;
    out->simulated += r.stats.cycles;
    out->max_error = num_max_error(out->max_error, r.max_error);
    return WSC_OK;
}

/* Two sizes of the dimension that is continued, and the plan's. */
struct sizes {
    int64_t a, b, whole;
};

static struct sizes sizes_of(const struct subject *s, const struct programs_case *c)
{
    const int64_t turn = c->w < c->m ? c->w : c->m; /* outputs that end at one column each */
    if (s->strip->how == KERNELS_TOKENS) return (struct sizes){2, 4, s->lay.tokens};
    return s->strip->tall ? (struct sizes){STRIP_COLS, INT64_C(3) * STRIP_COLS, c->m}
                          : (struct sizes){32, 96, turn};
}

/* Are sums over tokens formed in blocks, not by arriving data? */
static bool in_blocks(const struct subject *s, const struct programs_case *c)
{
    struct programs_layout lay;
    programs_layout_init(&lay, c);
    const struct cycles_side in = cycles_side_of(&lay.layout, c->k);
    const struct cycles_side out = cycles_side_of(&lay.layout, c->m);
    if (s->strip->side == KERNELS_ONE_HEAD)
        return s->strip->backward && !cycles_keys_arrive(&lay.layout);
    return s->strip->how == KERNELS_TOKENS &&
           !cycles_gradient_way(&lay.layout, &in, &out, 1).arrives;
}

/* Is the case simulated as it is?  Also where with few tokens sums would be formed in the other
 * way. */
static bool is_whole(const struct subject *s, const struct programs_case *c)
{
    const struct sizes n = sizes_of(s, c);
    struct programs_case small[2] = {*c, *c};
    resize(&small[0], s->strip->how, n.a);
    resize(&small[1], s->strip->how, n.b);
    return s->strip->how == KERNELS_WHOLE || in_blocks(s, c) != in_blocks(s, &small[0]) ||
           in_blocks(s, c) != in_blocks(s, &small[1]);
}

static enum wsc_err run(const struct subject *s, struct programs_case *c,
                        struct kernels_wafer_pair *out)
{
    const struct kernels_row *row = s->row;
    if (is_whole(s, c)) {
        TRY(simulate(row, c, out, &out->cycles));
    } else {
        const struct sizes n = sizes_of(s, c);
        double a = 0, b = 0;
        resize(c, s->strip->how, n.a);
        TRY(simulate(row, c, out, &a));
        resize(c, s->strip->how, n.b);
        TRY(simulate(row, c, out, &b));
        resize(c, s->strip->how, n.whole);
        out->cycles = a + (b - a) * (double)(n.whole - n.a) / (double)(n.b - n.a);
    }
    out->model = model_of(row, c);
    return WSC_OK;
}

/* Blocks of values from more columns than two groups of the ring. */
static bool is_open(const struct subject *s, const struct programs_case *c)
{
    return c->w > 2 * CYCLES_RING_GROUP && in_blocks(s, c);
}

int kernels_wafer_count(void)
{
    struct subject s;
    int n = 0;
    while (subject_of(n, &s))
        n++;
    return n;
}

const char *kernels_wafer_kernel(int i)
{
    struct subject s;
    return subject_of(i, &s) ? s.row->name : NULL;
}

enum wsc_err kernels_wafer_pair(const struct hw *hw, int i, struct kernels_wafer_pair *out)
{
    static const char *const continued[] = {
        [KERNELS_WHOLE] = "", [KERNELS_OUTPUTS] = "outputs", [KERNELS_TOKENS] = "tokens"};
    struct subject s;
    WSC_CHECK(subject_of(i, &s), "wafer case %d of %d", i, kernels_wafer_count());
    struct programs_case c = case_of(&s, hw);
    TRY(programs_arch_of(hw, &c.arch));
    *out = (struct kernels_wafer_pair){.kernel = s.row->name,
                                       .pass = s.strip->backward ? "backward" : "forward",
                                       .plan = s.plan->name,
                                       .format = s.format,
                                       .lanes = s.lay.lanes,
                                       .w = c.w,
                                       .h = c.h,
                                       .continued = is_whole(&s, &c) ? "" : continued[s.strip->how],
                                       .tolerance = kernels_row_tolerance(s.row, &c)};
    out->open = is_open(&s, &c);
    TRY(run(&s, &c, out));
    s.row->shapes->describe(&c, out->shape, sizeof out->shape);
    return WSC_OK;
}
