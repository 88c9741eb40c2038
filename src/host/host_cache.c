// SPDX-License-Identifier: Apache-2.0
/* Keeps keys and values of all positions in generation, so that a new token costs one row of every
 * product. Rows are stored at sample T + position; only those of new positions are computed. Keys
 * and values of an encoder's output are kept, too; those of the first text of each prompt serve
 * all its texts. If a beam search continues other texts, their rows are copied. */
#include "host_cache.h"
#include "host_buffers.h"
#include "host_state.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

/* The stack that generates tokens. */
static const struct model_stack *decoder(const struct model *m)
{
    return &m->stack[m->n_stacks - 1];
}

static int64_t bytes_of_token(const struct model *m)
{
    return 2 * model_kv_features(m) * num_format_bytes(m->format);
}

int64_t host_cache_bytes(const struct model *m, int64_t n_tokens)
{
    int64_t bytes;
    if (__builtin_mul_overflow(decoder(m)->L * bytes_of_token(m), n_tokens, &bytes))
        return INT64_MAX;
    return bytes;
}

/* Allocate memory for @p rows_of_text tokens of every text, if it does not exist. */
static enum wsc_err make_room(const struct host *k, void **out, int64_t rows_of_text)
{
    if (*out) return WSC_OK;
    const int64_t bytes = host_cache_bytes(k->model, k->max_samples * rows_of_text);
    *out = wsc_alloc_raw(WSC_MEM_KERNELS, (size_t)bytes, 1);
    if (*out) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_NOMEM,
                                  "no memory for the keys and values of %lld texts of "
                                  "%lld tokens",
                                  (long long)k->max_samples, (long long)rows_of_text),
                        "fewer prompts, or a shorter max_position_embeddings");
}

/* Allocated at the first use, because only generation needs it; host_destroy() frees it. */
enum wsc_err host_cache_create(struct host *k)
{
    const struct model_stack *stack = decoder(k->model);
    TRY(make_room(k, &k->cache, stack->T));
    return stack->cross ? make_room(k, &k->cross_cache, stack[-1].T) : WSC_OK;
}

void host_cache_rows(struct host *k, const struct host_span *b)
{
    const struct model *m = k->model;
    const int64_t l = k->stage.layer, q = model_q_features(m), width = model_qkv_features(m);
    const void *qkv = host_kept_operands(k, HOST_QKV, l, width);
    for (int64_t row = b->row; row < b->row + b->n; row++)
        memcpy(host_cached_row(k, host_cross_layer(k, l), row),
               host_const_at(k, qkv, row * width + q),
               (size_t)((width - q) * num_format_bytes(m->format)));
}

/* ---- beam search ----------------------------------------------------------------------------- */

/* True when every text of the prompt that begins with text @p first continues itself. */
static bool continues(const struct data_step *step, int64_t first)
{
    for (int64_t i = first; i < first + step->n_beams; i++)
        if (step->from[i] != i) return false;
    return true;
}

/* Reorder the known rows of one prompt's texts in one layer, through @p copy, because texts may
 * exchange places. */
static void take_rows(struct host *k, const struct data_step *step, int64_t layer, int64_t first,
                      char *copy)
{
    const int64_t T = decoder(k->model)->T, row_bytes = bytes_of_token(k->model);
    for (int64_t i = first; i < first + step->n_beams; i++)
        memcpy(copy + (i - first) * T * row_bytes, host_cached_row(k, layer, step->from[i] * T),
               (size_t)(step->positions[i].first * row_bytes));
    for (int64_t i = first; i < first + step->n_beams; i++)
        memcpy(host_cached_row(k, layer, i * T), copy + (i - first) * T * row_bytes,
               (size_t)(step->positions[i].first * row_bytes));
}

enum wsc_err host_cache_take(struct host *k, const struct data_step *step, int64_t n_texts)
{
    const int64_t T = decoder(k->model)->T;
    char *copy;
    if (!step->from) return WSC_OK;
    WSC_CHECK(step->n_beams > 0 && n_texts % step->n_beams == 0, "%lld texts of %lld each",
              (long long)n_texts, (long long)step->n_beams);
    TRY_NEW(copy, WSC_MEM_KERNELS, step->n_beams * T * bytes_of_token(k->model));
    for (int64_t first = 0; first < n_texts; first += step->n_beams)
        for (int64_t l = 0; l < decoder(k->model)->L && !continues(step, first); l++)
            take_rows(k, step, l, first, copy);
    wsc_free(copy);
    return WSC_OK;
}
