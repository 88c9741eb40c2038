// SPDX-License-Identifier: Apache-2.0
/* Generation on one wafer: each step adds a token to every text of the wafer's share of the
 * prompts. The forward half of a step runs over the positions that are new since the last one, with
 * keys and values of the others cached; then a token is sampled from the logits: temperature, the k
 * most likely, the nucleus of probability p (Holtzman et al. 2020).  A text that outgrows the
 * context starts over without a cache.  Called by the wafer's program in wafer.c. */
#include "wafer_generate.h"

#include "wafer_load.h"
#include "wafer_report.h"
#include "wafer_step.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/rng.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The prompts of this wafer: a contiguous share of all. */
struct writer {
    struct wafer *w;
    int first, n;
    int64_t T;
    int64_t length_max;    /* of any text at the end */
    int32_t *text;         /* owned (n, length_max) */
    int64_t *length;       /* owned (n) */
    bool *ended;           /* owned (n): by the end-of-text token */
    struct data_range *at; /* owned (n): of the step */
    int64_t n_live;        /* texts with new positions in it */
    float *scratch;        /* owned (V) */
};

static void writer_fini(struct writer *g)
{
    wsc_free(g->text);
    wsc_free(g->length);
    wsc_free(g->ended);
    wsc_free(g->at);
    wsc_free(g->scratch);
}

static enum wsc_err writer_init(struct writer *g, struct wafer *w)
{
    const struct wafer_prompts *p = w->work.prompts;
    const int n_wafers = w->net->topology->n_wafers;
    *g = (struct writer){.w = w, .T = w->net->model->T};
    g->first = (int)((int64_t)p->n * w->index / n_wafers);
    g->n = (int)((int64_t)p->n * (w->index + 1) / n_wafers) - g->first;
    for (int i = g->first; i < g->first + g->n; i++) {
        int64_t length = p->n_tokens[i] + w->pass->n_steps;
        if (length > g->length_max) g->length_max = length;
    }
    TRY_NEW(g->text, WSC_MEM_WAFER, g->n * g->length_max);
    TRY_NEW(g->length, WSC_MEM_WAFER, g->n);
    TRY_NEW(g->ended, WSC_MEM_WAFER, g->n);
    TRY_NEW(g->at, WSC_MEM_WAFER, g->n);
    TRY_NEW(g->scratch, WSC_MEM_WAFER, w->net->model->V);
    for (int i = 0; i < g->n; i++) {
        g->length[i] = p->n_tokens[g->first + i];
        memcpy(g->text + i * g->length_max, p->tokens[g->first + i],
               (size_t)g->length[i] * sizeof(int32_t));
    }
    return WSC_OK;
}

/* What the step computes: the newest tokens that fit the model's context, after those that the
 * step before went through.  Where a text outgrows the context all its positions move, and nothing
 * of them is known. */
static struct cycles_tokens choose_positions(struct writer *g)
{
    struct cycles_tokens longest = {0};
    WSC_CHECK(g->length && g->at && g->ended, "texts without room");
    g->n_live = 0;
    for (int i = 0; i < g->n; i++) {
        const int64_t shown = g->length[i] < g->T ? g->length[i] : g->T;
        const int64_t known = g->length[i] > g->T ? 0 : g->at[i].end;
        g->at[i] = (struct data_range){g->ended[i] ? shown : known, shown};
        if (g->ended[i]) continue;
        g->n_live++;
        if (shown - known > longest.n_new) longest.n_new = shown - known;
        if (known > longest.n_cached) longest.n_cached = known;
    }
    /* Beside a text that starts over. */
    if (longest.n_cached > g->T - longest.n_new) longest.n_cached = g->T - longest.n_new;
    return longest;
}

/* One text per row; causality hides the padding. */
static void fill_batch(struct writer *g)
{
    struct data_batch *b = g->w->batch;
    b->n = g->n;
    memset(b->input_ids, 0, (size_t)(g->n * g->T) * sizeof(int32_t));
    memset(b->labels, 0, (size_t)(g->n * g->T) * sizeof(int32_t));
    memset(b->mask, 0, (size_t)(g->n * g->T) * sizeof(int32_t));
    for (int i = 0; i < g->n; i++) {
        int64_t shown = g->at[i].end;
        memcpy(b->input_ids + i * g->T, g->text + i * g->length_max + g->length[i] - shown,
               (size_t)shown * sizeof(int32_t));
    }
}

/* What the stages of a step compute on. */
static enum wsc_err load_texts(struct writer *g)
{
    struct wafer *w = g->w;
    w->micro = (struct wafer_micro){.tokens = choose_positions(g)};
    w->micro.n_own = w->micro.n_samples = g->n_live;
    if (!g->n || !w->values) return WSC_OK;
    fill_batch(g);
    return kernels_begin_cached(w->values, w->batch, g->at);
}

static int64_t most_likely(const float *logits, int64_t n)
{
    int64_t best = 0;
    for (int64_t v = 1; v < n; v++)
        if (logits[v] > logits[best]) best = v;
    return best;
}

static int descending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* Logits below it are left out: the k-th largest, or the last of those that have top_p of
 * what is left together. */
static float smallest_sampled(struct writer *g, const float *logits, int64_t n)
{
    const struct wafer_prompts *p = g->w->work.prompts;
    const int64_t k = p->top_k > 0 && p->top_k < n ? p->top_k : n;
    double total = 0, sum = 0;
    int64_t last = 0;
    if (k == n && p->top_p >= 1) return -INFINITY;
    memcpy(g->scratch, logits, (size_t)n * sizeof(float));
    qsort(g->scratch, (size_t)n, sizeof(float), descending);
    const float *s = g->scratch;
    if (p->top_p >= 1) return s[k - 1];
    for (int64_t i = 0; i < k; i++)
        total += exp((double)(s[i] - s[0]) / p->temperature);
    for (; last < k - 1; last++) {
        sum += exp((double)(s[last] - s[0]) / p->temperature);
        if (sum >= p->top_p * total) break;
    }
    return s[last];
}

static int64_t sample_token(struct writer *g, const float *logits, int prompt, int64_t position)
{
    const struct wafer_prompts *p = g->w->work.prompts;
    const int64_t V = g->w->net->model->V;
    const int64_t best = most_likely(logits, V);
    if (p->temperature <= 0) return best;
    const float bound = smallest_sampled(g, logits, V);
    double total = 0;
    for (int64_t v = 0; v < V; v++)
        if (logits[v] >= bound) total += exp((double)(logits[v] - logits[best]) / p->temperature);
    double u = total * wsc_rng_uniform(p->seed, wsc_rng_stream(WSC_RNG_SAMPLE, (uint64_t)prompt),
                                       (uint64_t)position);
    for (int64_t v = 0; v < V; v++) {
        if (logits[v] < bound) continue;
        u -= exp((double)(logits[v] - logits[best]) / p->temperature);
        if (u <= 0) return v;
    }
    return best;
}

/* No token follows from a NaN, which compares with nothing, or from an infinite logit. */
static enum wsc_err check_logits(const struct writer *g, const float *logits, int i)
{
    for (int64_t v = 0; v < g->w->net->model->V; v++)
        if (isnan(logits[v]) || logits[v] > FLT_MAX)
            return wsc_err_hint(WSC_RAISE(WSC_NUMERIC,
                                          "prompt %d, token %lld: the logit of token %lld is %s",
                                          g->first + i, (long long)g->length[i], (long long)v,
                                          isnan(logits[v]) ? "NaN" : "infinite"),
                                "a damaged checkpoint, or a format of too small a range");
    return WSC_OK;
}

/* A text that has ended stays as it is; all texts go through the same number of steps. */
static enum wsc_err add_token(struct writer *g, int i)
{
    if (g->ended[i]) return WSC_OK;
    if (!g->w->values) {
        g->length[i]++;
        return WSC_OK;
    }
    const float *logits = kernels_logits(g->w->values, i);
    TRY(check_logits(g, logits, i));
    const int64_t at = g->length[i]++;
    const int64_t token = sample_token(g, logits, g->first + i, at);
    g->text[i * g->length_max + at] = (int32_t)token;
    g->ended[i] = token == g->w->work.prompts->eos_id;
    return WSC_OK;
}

/* One more token for every text. */
static enum wsc_err generate_step(struct writer *g, int64_t step)
{
    struct wafer *w = g->w;
    struct stream_walk walk = stream_walk_of_step(w->net->model, w->pass, step);

    TRY(load_texts(g));
    while (stream_walk_next(&walk))
        TRY(wafer_forward(w, &walk.at));
    for (int i = 0; i < g->n; i++)
        TRY(add_token(g, i));
    return wafer_send_times(w, step);
}

/* Every text as its length and its tokens. */
static enum wsc_err send_texts(struct writer *g, int64_t step)
{
    struct wafer *w = g->w;
    int64_t words = g->n;
    for (int i = 0; i < g->n; i++)
        words += g->length[i];
    struct stream_msg msg = {.kind = STREAM_MSG_TEXTS,
                             .step = step,
                             .span = vtime_at(w->clock.now),
                             .bytes = words * (int64_t)sizeof(int32_t)};
    TRY(comm_buf_create(w->net->comm, &msg.payload, msg.bytes));
    int32_t *out = comm_buf_data(msg.payload);
    for (int i = 0; i < g->n; i++) {
        *out++ = (int32_t)g->length[i];
        memcpy(out, g->text + i * g->length_max, (size_t)g->length[i] * sizeof(int32_t));
        out += g->length[i];
    }
    return stream_send_up(w->ports, &msg);
}

static enum wsc_err write_all(struct writer *g)
{
    const struct stream_pass *p = g->w->pass;
    if (p->values) TRY(wafer_reserve(g->w, g->n, false));
    for (int64_t step = p->first_step; step < stream_end_step(p); step++)
        TRY(generate_step(g, step));
    return stream_sends_texts(p) ? send_texts(g, stream_end_step(p)) : WSC_OK;
}

enum wsc_err wafer_generate(struct wafer *w)
{
    struct writer g;
    enum wsc_err rc = writer_init(&g, w);
    if (!rc) rc = write_all(&g);
    writer_fini(&g);
    return rc;
}
