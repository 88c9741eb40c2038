// SPDX-License-Identifier: Apache-2.0
/* Implements the public functions of a host (<wsc/host.h>), which computes the values of one wafer
 * on the CPU: it creates the buffers, cuts a micro-batch into leaves and blocks of rows, and
 * returns losses and logits. Next: host_stage.c, which binds weights and calls the parts of a
 * stage; host_layout.c, which computes the sizes of the buffers. */
#include "host_arranged.h"
#include "host_attention.h"
#include "host_block.h"
#include "host_buffers.h"
#include "host_cache.h"
#include "host_cross.h"
#include "host_grad_blocks.h"
#include "host_head.h"
#include "host_head_input.h"
#include "host_layout.h"
#include "host_positions.h"
#include "host_relative.h"
#include "host_sparse.h"
#include "host_squares.h"
#include "host_stacks.h"
#include "host_state.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/rng.h>

#include <stddef.h>

/* Memory is not zeroed: each buffer is written before it is read. */
static enum wsc_err allocate(void **out, int64_t bytes)
{
    if (bytes == 0) return WSC_OK;
    *out = wsc_alloc_raw(WSC_MEM_KERNELS, (size_t)bytes, 1);
    return *out ? WSC_OK : WSC_NOMEM;
}

/* Allocate the buffers of each thread. With fp32 operands, the buffers for rounded scores are the
 * scores themselves. */
static enum wsc_err allocate_threads(struct host *k)
{
    int64_t bytes[HOST_N_THREAD_BUFFERS];
    host_thread_layout(bytes, k->model, k->max_samples, k->training, &k->limits);
    TRY_NEW(k->thread_buffer, WSC_MEM_KERNELS, k->n_threads * HOST_N_THREAD_BUFFERS);
    for (int t = 0; t < k->n_threads; t++) {
        void **own = k->thread_buffer + (ptrdiff_t)t * HOST_N_THREAD_BUFFERS;
        for (int i = 0; i < HOST_N_THREAD_BUFFERS; i++)
            TRY(allocate(&own[i], bytes[i]));
        if (k->fp32) { /* operands are the fp32 rows themselves */
            own[HOST_SCORE_OP] = own[HOST_SCORE];
            own[HOST_DSCORE_OP] = own[HOST_DSCORE];
        }
    }
    return WSC_OK;
}

/* Point every guest to its owner's memory, or (@p on false) to none. */
static void share(struct host *k, bool on)
{
    for (int i = 0; i < HOST_N_SHARED && k->training; i++) {
        const struct host_shared *s = &host_shared[i];
        if (!s->fp32 || k->fp32) k->buffer[s->guest] = on ? k->buffer[s->owner] : NULL;
    }
}

static enum wsc_err allocate_all(struct host *k)
{
    const struct model *m = k->model;
    int64_t bytes[HOST_N_BUFFERS];
    host_layout(bytes, m, k->max_samples, k->training, &k->limits);
    for (int i = 0; i < HOST_N_BUFFERS; i++)
        TRY(allocate(&k->buffer[i], bytes[i]));
    share(k, true);
    int64_t n_views = 0;
    for (int s = 0; s < m->n_stages; s++)
        if (m->stage[s].n_views > n_views) n_views = m->stage[s].n_views;
    TRY_NEW(k->first_grad, WSC_MEM_KERNELS, n_views);
    TRY_NEW(k->grads_left, WSC_MEM_KERNELS, n_views);
    TRY(host_stacks_create(k));
    TRY_NEW(k->loss, WSC_MEM_KERNELS, k->max_samples);
    TRY_NEW(k->wanted, WSC_MEM_KERNELS, k->max_samples);
    if (m->mask_token >= 0) TRY_NEW(k->token_scale, WSC_MEM_KERNELS, k->max_samples + 1);
    if (m->zoo.dpo.on) TRY_NEW(k->reference_logp, WSC_MEM_KERNELS, k->max_samples + 1);
    TRY(host_head_rows_create(k));
    TRY(allocate_threads(k));
    host_positions(k);
    host_relative_create(k);
    return WSC_OK;
}

/* Sizes follow from the model, max_samples and the limits alone. A buffer that a model does not
 * need has 0 bytes and is NULL, which later code tests. */
enum wsc_err host_create_limited(struct host **out, const struct model *model, int64_t max_samples,
                                 bool training, const struct host_limits *limits)
{
    WSC_CHECK(max_samples >= 0 && limits->vocab_cols > 0, "%lld samples", (long long)max_samples);
    *out = NULL;
    int64_t max_rows;
    if (__builtin_mul_overflow(max_samples, model_longest(model), &max_rows))
        return WSC_RAISE(WSC_NOMEM, "a micro-batch of %lld sequences of %lld tokens is too large",
                         (long long)max_samples, (long long)model->T);
    struct host *k;
    TRY_NEW(k, WSC_MEM_KERNELS, 1);
    k->model = model;
    k->limits = *limits;
    k->max_samples = max_samples;
    k->max_rows = max_rows;
    k->training = training;
    k->fp32 = model->format == NUM_FP32;
    k->recompute = training && model->zoo.recompute;
    k->in_copy = -1;
    k->gradient_scale = 1;
    k->n_threads = num_threads();
    k->vocab_block = host_vocab_block(model, limits);
    k->keep_logits = training && host_keeps_logits(model, max_samples, limits);
    k->tree_stride = host_grad_block_max(model);
    enum wsc_err rc = allocate_all(k);
    if (rc) {
        host_destroy(&k);
        return wsc_err_hint(rc, training && !model->zoo.recompute
                                    ? "use model.recompute, a smaller micro_batch_size or more "
                                      "systems"
                                    : "use a smaller micro_batch_size or more systems");
    }
    *out = k;
    return WSC_OK;
}

enum wsc_err host_create(struct host **out, const struct model *model, int64_t max_samples,
                         bool training)
{
    return host_create_limited(out, model, max_samples, training, &host_default_limits);
}

static void free_thread(void **own, bool fp32)
{
    for (int i = 0; i < HOST_N_THREAD_BUFFERS; i++) {
        bool borrowed = fp32 && (i == HOST_SCORE_OP || i == HOST_DSCORE_OP);
        if (!borrowed) wsc_free(own[i]);
    }
}

void host_destroy(struct host **handle)
{
    struct host *k = *handle;
    if (!k) return;
    share(k, false);
    for (int i = 0; i < HOST_N_BUFFERS; i++)
        wsc_free(k->buffer[i]);
    for (int t = 0; k->thread_buffer && t < k->n_threads; t++)
        free_thread(k->thread_buffer + (ptrdiff_t)t * HOST_N_THREAD_BUFFERS, k->fp32);
    wsc_free(k->thread_buffer);
    host_stacks_destroy(k);
    wsc_free(k->loss);
    wsc_free(k->wanted);
    wsc_free(k->wanted_logits);
    wsc_free(k->token_scale);
    wsc_free(k->reference_logp);
    host_head_rows_destroy(k);
    wsc_free(k->cache);
    wsc_free(k->cross_cache);
    host_squares_destroy(k);
    host_sparse_destroy(k);
    wsc_free(k->first_grad);
    wsc_free(k->grads_left);
    wsc_free(k);
    *handle = NULL;
}

/* Check the types of tokens, and the labels of heads of sequences. */
static void check_sequences(const struct host *k)
{
    const struct data_batch *b = k->batch;
    for (int64_t i = 0; b->token_types && i < k->n_rows; i++)
        WSC_CHECK(!k->model->token_types ||
                      (b->token_types[i] >= 0 && b->token_types[i] < k->model->token_types),
                  "token type %d of %lld", (int)b->token_types[i],
                  (long long)k->model->token_types);
    for (int h = 0; h < k->model->n_heads; h++) {
        const struct model_head *head = &k->model->head[h];
        if (head->rows != MODEL_ROWS_FIRST) continue;
        WSC_CHECK(b->targets, "no targets of sequences");
        for (int64_t i = 0; head->loss == MODEL_CROSS_ENTROPY && i < k->n_samples; i++)
            WSC_CHECK(b->targets[i] >= 0 && b->targets[i] < (float)head->outputs,
                      "class %g of %lld", (double)b->targets[i], (long long)head->outputs);
    }
}

static void scale_tokens(struct host *k)
{
    const struct data_batch *b = k->batch;
    const int64_t T = k->T;
    for (int64_t s = 0; k->token_scale && s < k->n_samples; s++)
        k->token_scale[s] = model_token_scale(k->model, b->input_ids + s * T,
                                              b->attends ? b->attends + s * T : NULL, T);
}

/* Ids, positions and labels index tables, so a batch out of range is stopped here. */
static void check_tokens(const struct host *k)
{
    const struct data_batch *b = k->batch;
    const struct model_head *head = &k->model->head[0];
    const int64_t n_labels = head->rows == MODEL_ROWS_FIRST     ? INT32_MAX
                             : head->loss == MODEL_SPAN_ENTROPY ? ZOO_ANSWER_LABELS
                                                                : head->outputs;
    for (int64_t i = 0; i < k->n_rows; i++) {
        WSC_CHECK(b->input_ids[i] >= 0 && b->input_ids[i] < k->stack->V, "token %d of %lld",
                  (int)b->input_ids[i], (long long)k->stack->V);
        WSC_CHECK(host_position(k, i) >= 0 && host_position(k, i) < k->T, "position %lld",
                  (long long)host_position(k, i));
        WSC_CHECK(!b->mask[i] || (b->labels[i] >= 0 && b->labels[i] < n_labels), "label %d of %lld",
                  (int)b->labels[i], (long long)n_labels);
    }
    check_sequences(k);
}

/* Set leaves, blocks, canonical nodes and the step's seed of dropout; data kept from the last
 * micro-batch is invalid. */
void host_begin(struct host *k, const struct data_share *share, const struct data_batch *batch)
{
    WSC_CHECK(num_threads() <= k->n_threads, "%d threads, created for %d", num_threads(),
              k->n_threads);
    WSC_CHECK(share->leaf_samples > 0, "leaves of %lld samples", (long long)share->leaf_samples);
    k->share = *share;
    k->cached = false;
    k->in_copy = -1;
    k->dropout_seed = model_dropout_seed(k->model, share->step);
    host_stacks_cut(k, batch);
    WSC_CHECK(batch->n == k->n_samples && batch->T == k->model->T,
              "batch (%lld, %lld) for a share of %lld samples of %lld tokens", (long long)batch->n,
              (long long)batch->T, (long long)k->n_samples, (long long)k->model->T);
    for (int i = 0; i < k->model->n_stacks; i++) {
        host_use_stack(k, i);
        check_tokens(k);
    }
    host_relative_begin(k);
    scale_tokens(k);
    host_head_rows_cut(k);
    num_nodes_of_range(&k->nodes, share->first_leaf, share->end_leaf, share->n_leaves);
    if (k->squares) host_squares_begin(k);
    for (int64_t i = 0; i < k->n_samples; i++)
        k->wanted[i] = -1;
    k->any_wanted = false;
}

void host_scale_gradients(struct host *k, double scale)
{
    k->gradient_scale = scale;
}

const struct model_loss *host_losses(const struct host *k)
{
    return k->loss;
}

static enum wsc_err allocate_logits(struct host *k)
{
    if (k->wanted_logits) return WSC_OK;
    k->wanted_logits = wsc_alloc(WSC_MEM_KERNELS, (size_t)k->max_samples,
                                 (size_t)k->model->V * sizeof *k->wanted_logits);
    if (k->wanted_logits) return WSC_OK;
    return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "allocate logits");
}

/* Make each text a leaf of its new positions, with rows at sample T + position. */
static void cut_texts(struct host *k, const struct data_step *step, int64_t n)
{
    k->n_blocks = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct data_range *p = &step->positions[i];
        WSC_CHECK(p->first >= 0 && p->first <= p->end && p->end <= k->T,
                  "positions %lld to %lld of %lld", (long long)p->first, (long long)p->end,
                  (long long)k->T);
        k->leaf[i] = (struct host_span){.row = i * k->T + p->first, .n = p->end - p->first};
        host_cut_leaf(k, &k->leaf[i]);
    }
}

/* The encoder computes each source once, as a whole, in the first step of its texts. */
static void cut_sources(struct host *k, const struct data_step *step, int64_t n)
{
    k->n_blocks = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct data_range *p = &step->positions[i];
        const bool passes = i % k->n_beams == 0 && p->first == 0 && p->end > 0;
        k->leaf[i] = (struct host_span){.row = i * k->T, .n = passes ? k->T : 0};
        host_cut_leaf(k, &k->leaf[i]);
    }
}

/* Only the last new position of a text goes through the head. */
enum wsc_err host_begin_cached(struct host *k, const struct data_batch *batch,
                               const struct data_step *step)
{
    const int64_t n = batch->n;
    const int last = k->model->n_stacks - 1;
    const struct data_share share = {
        .end_leaf = n, .n_leaves = n, .leaf_samples = 1, .batch_size = n};
    WSC_CHECK(!k->training && k->model->causal, "a cache of keys for training or of an encoder");
    TRY(host_cache_create(k));
    TRY(allocate_logits(k));
    host_begin(k, &share, batch);
    k->cached = k->any_wanted = true;
    k->n_beams = step->n_beams > 1 ? step->n_beams : 1;
    host_use_stack(k, 0);
    if (last) cut_sources(k, step, n);
    host_use_stack(k, last);
    cut_texts(k, step, n);
    for (int64_t i = 0; i < n; i++)
        k->wanted[i] = k->leaf[i].n > 0 ? step->positions[i].end - 1 : -1;
    return host_cache_take(k, step, n);
}

enum wsc_err host_want_logits(struct host *k, const int64_t *position_of_sample)
{
    TRY(allocate_logits(k));
    for (int64_t i = 0; i < k->n_samples; i++) {
        int64_t t = position_of_sample[i];
        WSC_CHECK(t >= 0 && t < k->T, "logits of position %lld", (long long)t);
        k->wanted[i] = t;
    }
    k->any_wanted = true;
    return WSC_OK;
}

const float *host_logits(const struct host *k, int64_t i)
{
    WSC_CHECK(k->any_wanted && i >= 0 && i < k->n_samples, "logits of sample %lld", (long long)i);
    return k->wanted_logits + i * k->model->V;
}
