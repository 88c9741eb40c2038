// SPDX-License-Identifier: Apache-2.0
/* Computes the sizes of all buffers of the host from the model and the number of samples: buffers
 * kept once per layer in training, buffers of one thread, and the blocks of logits. host.c
 * allocates the buffers; host_act_bytes() reports their sizes. */
#include "host_layout.h"
#include "host_adapter.h"
#include "host_arranged.h"
#include "host_buffers.h"
#include "host_grad_blocks.h"
#include "host_state.h"

#include <stddef.h>

const struct host_limits host_default_limits = {
    .vocab_cols = 8192,
    .logits_bytes = INT64_C(512) << 20,
};

/* The backward pass of a step computes the head first, then in each block the FFN before attention;
 * logits are not needed after the head, nor the FFN's buffers after the FFN. */
const struct host_shared host_shared[HOST_N_SHARED] = {
    {HOST_LOGITS, HOST_DPRE, false}, {HOST_DQKV, HOST_DPRE, false},
    {HOST_DLOGITS, HOST_ACT, false}, {HOST_DCTX, HOST_ACT, false},
    {HOST_DRES_OP, HOST_DRES, true},
};

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Products and sums of sizes that saturate at INT64_MAX, so that the size of a huge model never
 * becomes small by overflow. */
static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* The vocabulary is cut into even blocks of columns, padded to whole vectors. */
int64_t host_vocab_block(const struct model *m, const struct host_limits *limits)
{
    int64_t n_blocks = ceil_div(m->V, limits->vocab_cols);
    return min64(m->V, host_padded(ceil_div(m->V, n_blocks)));
}

bool host_keeps_logits(const struct model *m, int64_t n_samples, const struct host_limits *limits)
{
    return times(times(n_samples, model_longest(m)), times(m->V, 4)) <= limits->logits_bytes;
}

/* Largest total number of elements of the one-dimensional tensors of a stage. */
static int64_t vectors_max(const struct model *m)
{
    int64_t most = 0;
    for (int s = 0; s < m->n_stages; s++) {
        int64_t sum = 0;
        for (int i = 0; i < m->stage[s].n_views; i++) {
            const struct model_tensor *t = &m->tensor[m->stage[s].view[i].tensor];
            sum += t->n_dims == 1 ? t->n_elems : 0;
        }
        most = max64(most, sum);
    }
    return most;
}

/* Sizes from which those of buffers follow, in elements. */
struct sizes {
    int64_t rows, c, q, qkv, pre, act; /* tokens; elements of (N, C) and so on */
    int64_t places;                    /* tokens times networks of a token, with experts */
    int64_t op;                        /* bytes of an operand */
};

static struct sizes sizes_of(const struct model *m, int64_t n_samples)
{
    const int64_t n = times(n_samples, model_longest(m)), active = model_active_ffns(m);
    return (struct sizes){.rows = n,
                          .c = times(n, m->C),
                          .q = times(n, model_q_features(m)),
                          .qkv = times(n, model_qkv_features(m)),
                          .pre = times(times(n, active), model_ffn_features(m)),
                          .act = times(times(n, active), m->F),
                          .places = m->experts ? times(n, active) : 0,
                          .op = num_format_bytes(m->format)};
}

/* Buffers of the backward pass that exist once, not for each layer. */
static void training_layout(int64_t bytes[HOST_N_BUFFERS], const struct model *m,
                            const struct sizes *z, const struct host_limits *limits)
{
    int64_t n_samples = model_longest(m) > 0 ? z->rows / model_longest(m) : 0, op = z->op;
    int64_t vocab = host_vocab_block(m, limits);
    bool keep = host_keeps_logits(m, n_samples, limits);
    bytes[HOST_LOGITS] = times(times(z->rows, keep ? m->V : vocab), 4);
    bytes[HOST_ARRANGED_X] =
        times(host_arranged_rows(n_samples, model_longest(m)), host_arranged_row_bytes(m));
    bytes[HOST_DRES] = bytes[HOST_DXN] = times(z->c, 4);
    bytes[HOST_ACT] = times(z->act, op);
    bytes[HOST_DPRE] = times(z->pre, op);
    bytes[HOST_DQKV] = times(z->qkv, op);
    bytes[HOST_DCTX] = times(z->q, op);
    if (m->zoo.norm_first_sandwich || m->zoo.dropout_rate > 0)
        bytes[HOST_DBRANCH] = times(z->c, op);
    if (m->zoo.parallel_block && m->norm3) bytes[HOST_DSIDE] = times(z->c, 4);
    bytes[HOST_PLACES_XN] = bytes[HOST_PLACES_DY] = times(times(z->places, m->C), op);
    bytes[HOST_DCHOSEN] = times(z->places, 4);
    bytes[HOST_DROUTED] = times(times(z->rows, m->experts), op);
    bytes[HOST_LOAD] = times(times(n_samples, m->experts), 8);
    bytes[HOST_ADAPTER_X] = bytes[HOST_ADAPTER_DY] =
        times(times(z->rows, host_adapter_columns(m)), op);
    bytes[HOST_ADAPTER_LOGITS] = times(times(z->rows, m->adapter[MODEL_LM_HEAD_W].r), 4);
    bytes[HOST_ADAPTER_DROPPED] = times(times(z->rows, host_adapter_dropped_columns(m)), op);
    bytes[HOST_DRES_OP] = times(z->c, op);
    if (op == 2) bytes[HOST_DLOGITS] = times(times(z->rows, vocab), op);
}

/* Give owners the memory of their largest guest. */
static void share(int64_t bytes[HOST_N_BUFFERS], const struct model *m)
{
    for (int i = 0; i < HOST_N_SHARED; i++) {
        const struct host_shared *s = &host_shared[i];
        if (s->fp32 && m->format != NUM_FP32) continue;
        bytes[s->owner] = max64(bytes[s->owner], bytes[s->guest]);
        bytes[s->guest] = 0;
    }
}

/* Number of copies of a kept buffer for @p n_layers layers: one if they are recomputed or outside
 * training. */
static int64_t copies(const struct model *m, int64_t n_layers, bool training)
{
    return training && !m->zoo.recompute ? n_layers : 1;
}

/* Buffers of the norms of queries and keys. */
static void head_norm_layout(int64_t bytes[HOST_N_BUFFERS], const struct model *m,
                             const struct sizes *z, bool training)
{
    const int64_t kept = copies(m, host_end(m), training);
    const int64_t keys = times(z->rows, model_kv_features(m));
    if (!model_norms_heads(m)) return;
    bytes[HOST_RAW_Q] = times(times(z->q, 4), kept);
    bytes[HOST_RAW_K] = times(times(keys, 4), kept);
    bytes[HOST_STATS_Q] = times(times(times(z->rows, m->H), 8), kept);
    bytes[HOST_STATS_K] = times(times(times(z->rows, m->kv_heads), 8), kept);
    if (!training) return;
    bytes[HOST_DNORMED_Q] = times(z->q, 4);
    bytes[HOST_DNORMED_K] = times(keys, 4);
}

/* Buffers that exist once per layer in training: what the backward pass uses instead of
 * recomputing the forward pass. */
static void kept_layout(int64_t bytes[HOST_N_BUFFERS], const struct model *m, const struct sizes *z,
                        int64_t n_samples, bool training)
{
    const int64_t layers = training ? host_end(m) : 1, op = z->op;
    const int64_t kept = copies(m, layers, training);
    const int64_t norms = training ? HOST_BLOCK_NORMS * layers + HOST_OUTER_NORMS : 1;
    bytes[HOST_X] = times(times(z->c, 4), training ? layers + 1 : 1);
    if (training || m->zoo.parallel_block) bytes[HOST_MID] = times(times(z->c, 4), kept);
    bytes[HOST_NORMS] = times(times(z->rows, 8), norms);
    bytes[HOST_QKV] = times(times(z->qkv, op), kept);
    bytes[HOST_CTX] = times(times(z->q, op), kept);
    head_norm_layout(bytes, m, z, training);
    bytes[HOST_SOFTMAX] = times(times(times(z->rows, m->H), 8), kept);
    bytes[HOST_PRE] = times(times(z->pre, 4), kept);
    if (!m->norm3) bytes[HOST_NORMED] = times(times(z->c, op), kept);
    if (m->zoo.norm_first_sandwich || m->norm_last)
        bytes[HOST_ATTN_OUT] = bytes[HOST_FFN_OUT] = times(times(z->c, 4), kept);
    bytes[HOST_ROUTED] = times(times(times(z->rows, m->experts), 4), layers);
    if (zoo_moe_weighs_apart(&m->zoo.moe)) bytes[HOST_WEIGHING] = bytes[HOST_ROUTED];
    bytes[HOST_CHOSEN] = times(times(z->places, (int64_t)sizeof(struct host_chosen)), layers);
    bytes[HOST_ORDER] = times(times(z->places, 16), layers);
    if (m->experts)
        bytes[HOST_RANGES] = times(times(times(n_samples, model_n_ffns(m) + 1), 8), layers);
}

/* Buffers of a decoder that attends to an encoder's output, and of relative positions. Rows of
 * either stack have the size of the longer one. */
static void cross_layout(int64_t bytes[HOST_N_BUFFERS], const struct model *m,
                         const struct sizes *z, int64_t n_samples, bool training)
{
    const struct model_stack *last = &m->stack[m->n_stacks - 1];
    const int64_t kept = copies(m, last->L, training), op = z->op;
    const int64_t kv = times(times(z->rows, 2 * model_kv_features(m)), op);
    const int64_t distances = times(m->n_stacks, 2 * model_longest(m));
    if (m->buckets) {
        bytes[HOST_BUCKETS] = times(distances, 4);
        bytes[HOST_RELATIVE] = times(times(distances, m->H), 4);
        if (training)
            bytes[HOST_DRELATIVE] =
                times(times(times(m->n_stacks, n_samples), times(m->H, m->buckets)), 8);
    }
    if (!last->cross) return;
    bytes[HOST_MEMORY] = times(z->c, op);
    if (training) bytes[HOST_CROSS_MID] = times(times(z->c, 4), kept);
    bytes[HOST_CROSS_Q] = bytes[HOST_CROSS_CTX] = times(times(z->q, op), kept);
    bytes[HOST_CROSS_KV] = times(kv, kept);
    bytes[HOST_CROSS_SOFTMAX] = times(times(times(z->rows, m->H), 8), kept);
    if (m->norm_last) bytes[HOST_CROSS_OUT] = times(times(z->c, 4), kept);
    if (!training) return;
    bytes[HOST_DMEMORY] = times(z->c, 4);
    bytes[HOST_DCROSS] = kv;
}

/* Buffers of heads that take only some rows, and of their dense layers. */
static void head_layout(int64_t bytes[HOST_N_BUFFERS], const struct model *m, const struct sizes *z,
                        bool training)
{
    for (int i = 0; i < m->n_heads; i++) {
        const bool some = m->head[i].rows != MODEL_ROWS_ALL, dense = m->head[i].dense != 0;
        if (some) bytes[HOST_HEAD_X] = times(z->c, 4);
        if (some && training) bytes[HOST_HEAD_DACT] = times(z->c, 4);
        if (!dense) continue;
        bytes[HOST_HEAD_IN] = times(z->c, z->op);
        bytes[HOST_HEAD_PRE] = bytes[HOST_HEAD_ACT] = times(z->c, 4);
        if (training) bytes[HOST_HEAD_DPRE] = times(z->c, z->op);
    }
}

void host_layout(int64_t bytes[HOST_N_BUFFERS], const struct model *m, int64_t n_samples,
                 bool training, const struct host_limits *limits)
{
    const struct sizes z = sizes_of(m, n_samples);
    for (int i = 0; i < HOST_N_BUFFERS; i++)
        bytes[i] = 0;
    kept_layout(bytes, m, &z, n_samples, training);
    cross_layout(bytes, m, &z, n_samples, training);
    bytes[HOST_TOKENS] = times(times(z.rows, m->n_heads), (int64_t)sizeof(struct host_token));
    head_layout(bytes, m, &z, training);
    bytes[HOST_VECTORS] = m->format == NUM_FP32 ? 0 : times(vectors_max(m), 4);
    bytes[HOST_ARRANGED] = host_arranged_bytes(m, host_vocab_block(m, limits));
    bytes[HOST_TABLE] = times(times(model_longest(m), m->rotary_dim), 4);
    if (m->zoo.position_embedding_type == ZOO_POSITION_FIXED)
        bytes[HOST_TABLE] = times(times(model_longest(m), m->C), 4);
    bytes[HOST_PLACES] = times(times(z.places, m->C), 4);
    bytes[HOST_XN] = times(z.c, z.op);
    if (!training) return;
    training_layout(bytes, m, &z, limits);
    share(bytes, m);
}

/* Number of levels of partial sums that a share of n leaves needs. */
int64_t host_tree_levels(int64_t n)
{
    int64_t levels = 0;
    while (INT64_C(1) << levels < n)
        levels++;
    return levels;
}

void host_thread_layout(int64_t bytes[HOST_N_THREAD_BUFFERS], const struct model *m,
                        int64_t n_samples, bool training, const struct host_limits *limits)
{
    const int64_t T = model_longest(m);
    int64_t rows = min64(HOST_BLOCK_ROWS, times(n_samples, T)), op = num_format_bytes(m->format);
    int64_t queries = min64(HOST_QUERY_ROWS, T), vocab = host_vocab_block(m, limits);
    int64_t pre = model_ffn_features(m), q = model_q_features(m);
    int64_t wide = max64(max64(max64(m->C, m->experts), pre), max64(vocab, q));
    int64_t scores = times(queries, host_tile_width(limits, T));
    for (int i = 0; i < HOST_N_THREAD_BUFFERS; i++)
        bytes[i] = 0;
    bytes[HOST_OPERAND] = times(times(rows, max64(max64(m->C, m->F), q)), op);
    bytes[HOST_WIDE] = times(times(rows, wide), 4);
    bytes[HOST_ROW] = bytes[HOST_ROW2] = times(wide, 4);
    bytes[HOST_SCORE] = times(scores, 4);
    bytes[HOST_SCORE_OP] = op == 2 ? times(scores, op) : 0;
    bytes[HOST_HEAD_OUT] = times(times(queries, m->head_dim), 4);
    bytes[HOST_ADAPTED] = times(times(rows, host_adapter_rank(m)), 4);
    bytes[HOST_ADAPTED_OP] = op == 2 ? times(times(rows, host_adapter_rank(m)), op) : 0;
    if (!training) return;
    const int64_t dropped = host_adapter_dropped_width(m);
    bytes[HOST_ADAPTED_IN] = times(times(rows, dropped), op);
    bytes[HOST_ADAPTED_WIDE] = times(times(rows, dropped), 4);
    bytes[HOST_ADAPTED_ROW] = times(dropped, 4);
    bytes[HOST_WORDS] = times(max64(max64(m->C, m->F), host_tile_width(limits, T)), 4);
    bytes[HOST_WORDS] = max64(bytes[HOST_WORDS], times(dropped, 4));
    bytes[HOST_DSCORE] = bytes[HOST_SCORE];
    if (m->zoo.attention_logit_softcapping > 0)
        bytes[HOST_CAP_SLOPES] = times(host_tile_width(limits, T), 4);
    bytes[HOST_DSCORE_OP] = bytes[HOST_SCORE_OP];
    bytes[HOST_DK] = bytes[HOST_DV] = times(times(T, m->head_dim), 4);
    bytes[HOST_TRANSPOSED] = times(times(n_samples, T), host_transposed_row_bytes(m));
    bytes[HOST_TREE] = times(times(host_tree_levels(n_samples), host_grad_block_max(m)), 4);
}

int64_t host_act_bytes(const struct model *model, int64_t n_samples, bool training)
{
    int64_t bytes[HOST_N_BUFFERS], sum = 0;
    host_layout(bytes, model, n_samples, training, &host_default_limits);
    for (int i = 0; i < HOST_N_BUFFERS; i++)
        sum = plus(sum, bytes[i]);
    return sum;
}
