// SPDX-License-Identifier: Apache-2.0
/* Generation on one wafer: a step adds a token to every text of the wafer's share of the prompts.
 * The forward part of a step computes the positions that are new since the last step; keys and
 * values of the others are cached. Then a token is sampled from the logits (wafer_sample.c), or a
 * beam search chooses the texts that stay open (wafer_beams.c). A text that is longer than the
 * context starts over without a cache. With an encoder, the prompts are its sources, which it
 * processes in the first step, and the texts are those of the decoder. wafer.c calls. */
#include "wafer_generate.h"

#include "wafer_beams.h"
#include "wafer_load.h"
#include "wafer_report.h"
#include "wafer_sample.h"
#include "wafer_step.h"
#include "wafer_texts.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <float.h>
#include <math.h>
#include <string.h>

static void texts_fini(struct wafer_texts *g)
{
    wsc_free(g->text);
    wsc_free(g->length);
    wsc_free(g->ended);
    wsc_free(g->at);
    wsc_free(g->scratch);
    wafer_beams_destroy(&g->beams);
}

/* Prompt of text @p i, numbered over all wafers. */
static int prompt_of(const struct wafer_texts *g, int64_t i)
{
    return g->first + (int)(i / g->n_beams);
}

/* Tokens of a text before the first step: those of its prompt, or the start token of a target. */
static int64_t start_length(const struct wafer_texts *g, int64_t i)
{
    return g->pairs ? 1 : g->w->work.prompts->n_tokens[prompt_of(g, i)];
}

static const int32_t *start_of(const struct wafer_texts *g, int64_t i)
{
    const struct wafer_prompts *p = g->w->work.prompts;
    return g->pairs ? &p->start_id : p->tokens[prompt_of(g, i)];
}

static enum wsc_err allocate(struct wafer_texts *g)
{
    for (int i = 0; i < g->n; i++) {
        const int64_t length = start_length(g, i) + g->w->pass->n_steps;
        if (length > g->length_max) g->length_max = length;
    }
    TRY_NEW(g->text, WSC_MEM_WAFER, g->n * g->length_max);
    TRY_NEW(g->length, WSC_MEM_WAFER, g->n);
    TRY_NEW(g->ended, WSC_MEM_WAFER, g->n);
    TRY_NEW(g->at, WSC_MEM_WAFER, g->n);
    TRY_NEW(g->scratch, WSC_MEM_WAFER, g->w->net->model->V);
    return g->w->pass->values ? wafer_beams_create(g) : WSC_OK;
}

static enum wsc_err texts_init(struct wafer_texts *g, struct wafer *w)
{
    const struct wafer_prompts *p = w->work.prompts;
    const struct model *m = w->net->model;
    const int n_wafers = w->net->topology->n_wafers;
    *g = (struct wafer_texts){
        .w = w, .n_beams = p->n_beams, .pairs = m->n_stacks > 1, .T = m->stack[m->n_stacks - 1].T};
    g->first = (int)((int64_t)p->n * w->index / n_wafers);
    g->n_prompts = (int)((int64_t)p->n * (w->index + 1) / n_wafers) - g->first;
    g->n = g->n_prompts * g->n_beams;
    TRY(allocate(g));
    WSC_CHECK(g->text && g->length, "texts without room");
    for (int i = 0; i < g->n; i++) {
        g->length[i] = start_length(g, i);
        memcpy(g->text + i * g->length_max, start_of(g, i), (size_t)g->length[i] * sizeof *g->text);
    }
    return WSC_OK;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Number of sources to which the decoder attends, and of those that pass the encoder in this step,
 * by the longest source: all texts begin with position 0. */
static void choose_sources(const struct wafer_texts *g, struct cycles_tokens *longest)
{
    const struct wafer_prompts *p = g->w->work.prompts;
    for (int i = 0; i < g->n && g->pairs; i++) {
        const int64_t n = p->n_tokens[prompt_of(g, i)];
        if (g->ended[i]) continue;
        if (n > longest->n_memory) longest->n_memory = n;
        if (g->at[i].first == 0 && n > longest->n_source) longest->n_source = n;
    }
}

/* Choose the positions of this step: the newest tokens that fit into the model's context, after the
 * positions of the step before. If a text becomes longer than the context, all of its positions
 * move, and nothing is cached for it. */
static struct cycles_tokens choose_positions(struct wafer_texts *g)
{
    struct cycles_tokens longest = {.n_beams = g->n_beams};
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
    /* A text that starts over limits the cached positions of the others. */
    if (longest.n_cached > g->T - longest.n_new) longest.n_cached = g->T - longest.n_new;
    choose_sources(g, &longest);
    return longest;
}

/* Fill in the source of a text: the tokens of its prompt, then padding. */
static void fill_source(const struct wafer_texts *g, struct data_batch *b, int i)
{
    const struct wafer_prompts *p = g->w->work.prompts;
    const int64_t n = p->n_tokens[prompt_of(g, i)];
    memcpy(b->input_ids + i * b->T, p->tokens[prompt_of(g, i)], (size_t)n * sizeof(int32_t));
    for (int64_t t = 0; t < n; t++)
        b->attends[i * b->T + t] = 1;
}

/* One text per row. The causal mask hides the padding. */
static void fill_batch(struct wafer_texts *g)
{
    struct data_batch *b = g->w->batch;
    const size_t bytes = (size_t)(g->n * b->T) * sizeof(int32_t);
    const int64_t before = b->T - g->T;
    b->n = g->n;
    memset(b->input_ids, 0, bytes);
    memset(b->labels, 0, bytes);
    memset(b->mask, 0, bytes);
    if (g->pairs) memset(b->attends, 0, bytes);
    for (int i = 0; i < g->n; i++) {
        int64_t shown = g->at[i].end;
        memcpy(b->input_ids + i * b->T + before, g->text + i * g->length_max + g->length[i] - shown,
               (size_t)shown * sizeof(int32_t));
        if (g->pairs) fill_source(g, b, i);
    }
}

/* Load the texts as input of the stages of a step. */
static enum wsc_err load_texts(struct wafer_texts *g)
{
    struct wafer *w = g->w;
    w->micro = (struct wafer_micro){.tokens = choose_positions(g)};
    g->n_live_steps += g->n_live > 0;
    w->micro.n_own = w->micro.n_samples = g->n_live;
    if (!g->n || !w->values) return WSC_OK;
    const struct data_step step = {
        .positions = g->at, .n_beams = g->n_beams, .from = wafer_beams_from(g)};
    fill_batch(g);
    return kernels_begin_cached(w->values, w->batch, &step);
}

/* Error if a logit is NaN, which compares with nothing, or infinite: no token follows from it. */
static enum wsc_err check_logits(const struct wafer_texts *g, const float *logits, int i)
{
    for (int64_t v = 0; v < g->w->net->model->V; v++)
        if (isnan(logits[v]) || logits[v] > FLT_MAX)
            return wsc_err_hint(WSC_RAISE(WSC_NUMERIC,
                                          "prompt %d, token %lld: the logit of token %lld is %s",
                                          prompt_of(g, i), (long long)g->length[i], (long long)v,
                                          isnan(logits[v]) ? "NaN" : "infinite"),
                                "a damaged checkpoint, or a format of too small a range");
    return WSC_OK;
}

/* True when the new tokens of text @p i end with a stop sequence. */
static bool stops(const struct wafer_texts *g, int i)
{
    const int64_t before = start_length(g, i);
    const int32_t *text = g->text + i * g->length_max;
    return zoo_stops_at(g->w->work.prompts->stop, text + before, g->length[i] - before);
}

/* Append a token, unless the text has ended; all texts take part in the same number of steps. */
static enum wsc_err add_token(struct wafer_texts *g, int i)
{
    if (g->ended[i]) return WSC_OK;
    if (!g->w->values) {
        g->length[i]++;
        return WSC_OK;
    }
    const float *logits = kernels_logits(g->w->values, i);
    TRY(check_logits(g, logits, i));
    if (g->beams) return WSC_OK;
    const int64_t at = g->length[i]++;
    const int64_t token = wafer_sample_token(g, logits, g->first + i, at);
    g->text[i * g->length_max + at] = (int32_t)token;
    g->ended[i] = token == g->w->work.prompts->eos_id || stops(g, i);
    return WSC_OK;
}

/* Append one token to every text. */
static enum wsc_err generate_step(struct wafer_texts *g, int64_t step)
{
    struct wafer *w = g->w;
    struct stream_walk walk = stream_walk_of_step(w->net->model, w->pass, step);

    TRY(load_texts(g));
    while (stream_walk_next(&walk))
        TRY(wafer_forward(w, &walk.at));
    for (int i = 0; i < g->n; i++)
        TRY(add_token(g, i));
    for (int i = 0; i < g->n_prompts && g->beams; i++)
        if (!g->ended[(int64_t)i * g->n_beams]) wafer_beams_add(g, i);
    return wafer_send_times(w, step);
}

/* ---- the result ------------------------------------------------------------------------------ */

/* The resulting text of prompt @p i: the only one, or the best of the search. */
static const int32_t *result_of(struct wafer_texts *g, int i, int64_t *length, double *score)
{
    const int64_t start = g->pairs ? 1 : 0;
    const int32_t *text = g->text + (int64_t)i * g->length_max;
    *score = 0;
    *length = g->length[i];
    if (g->beams) text = wafer_beams_best(g, i, length, score);
    *length -= start;
    return text + start;
}

/* Send the length, the score and the tokens of every text (struct stream_text). */
static enum wsc_err send_texts(struct wafer_texts *g, int64_t step)
{
    struct wafer *w = g->w;
    struct stream_msg msg = {
        .kind = STREAM_MSG_TEXTS, .step = step, .span = vtime_at(w->clock.now)};
    const int64_t most = STREAM_TEXT_HEAD + g->length_max;
    int32_t *words;
    TRY_NEW(words, WSC_MEM_WAFER, g->n_prompts * most);
    int64_t n = 0;
    for (int i = 0; i < g->n_prompts; i++) {
        struct stream_text text = {.n_live_steps = g->n_live_steps};
        text.tokens = result_of(g, i, &text.n, &text.score);
        n += stream_text_put(words + n, &text);
    }
    msg.bytes = n * (int64_t)sizeof *words;
    const enum wsc_err rc = comm_buf_create(w->net->comm, &msg.payload, msg.bytes);
    if (!rc) memcpy(comm_buf_data(msg.payload), words, (size_t)msg.bytes);
    wsc_free(words);
    return rc ? rc : stream_send_up(w->ports, &msg);
}

/* Allocate the texts, and the padding of sources if there are any. */
static enum wsc_err reserve(struct wafer_texts *g)
{
    struct wafer *w = g->w;
    TRY(wafer_reserve(w, g->n, 1, false));
    if (!g->pairs || w->batch->attends) return WSC_OK;
    TRY_NEW(w->batch->attends, WSC_MEM_DATA, w->batch->n_max * w->batch->T);
    return WSC_OK;
}

static enum wsc_err write_all(struct wafer_texts *g)
{
    const struct stream_pass *p = g->w->pass;
    if (p->values) TRY(reserve(g));
    for (int64_t step = p->first_step; step < stream_end_step(p); step++)
        TRY(generate_step(g, step));
    return stream_sends_texts(p) ? send_texts(g, stream_end_step(p)) : WSC_OK;
}

enum wsc_err wafer_generate(struct wafer *w)
{
    struct wafer_texts g;
    enum wsc_err rc = texts_init(&g, w);
    if (!rc) rc = write_all(&g);
    texts_fini(&g);
    return rc;
}
