// SPDX-License-Identifier: Apache-2.0
#include "host_impl.h"

#include <stddef.h>

/* A block of a weight gradient: rows enough for the product library, few enough that several
 * threads find work in one matrix, small enough that the tree's partial sums stay in the cache. */
enum { GRAD_ROWS = 96, GRAD_ROWS_MIN = 16, GRAD_VECTOR = 512, GRAD_ELEMS = 1 << 18 };

const struct host_limits kernels_host_limits = {
    .vocab_cols = 8192,
    .logits_bytes = INT64_C(512) << 20,
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

int64_t kernels_host_grad_block_rows(int64_t rows, int64_t cols)
{
    int64_t most = GRAD_VECTOR;
    if (cols > 1) most = max64(GRAD_ROWS_MIN, min64(GRAD_ROWS, GRAD_ELEMS / cols));
    int64_t n_blocks = ceil_div(rows, most);
    return n_blocks > 0 ? ceil_div(rows, n_blocks) : 1;
}

int64_t kernels_host_grad_block_max(const struct model *m)
{
    int64_t most = GRAD_VECTOR;
    for (int i = 0; i < m->n_tensors; i++) {
        const struct model_tensor *t = &m->tensor[i];
        int64_t cols = t->n_dims == 2 ? t->shape[1] : 1;
        most = max64(most, times(min64(t->shape[0], GRAD_ROWS), cols));
    }
    return most;
}

int64_t kernels_host_vocab_block(const struct model *m, const struct host_limits *limits)
{
    int64_t n_blocks = ceil_div(m->V, limits->vocab_cols);
    return min64(m->V, host_padded(ceil_div(m->V, n_blocks)));
}

bool kernels_host_keeps_logits(const struct model *m, int64_t n_samples,
                               const struct host_limits *limits)
{
    return times(times(n_samples, m->T), times(m->V, 4)) <= limits->logits_bytes;
}

/* The most elements that the one-dimensional tensors of a stage have together. */
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

static void training_layout(int64_t bytes[HOST_N_BUFFERS], const struct model *m, int64_t n,
                            const struct host_limits *limits, int64_t op)
{
    int64_t rows_c = times(n, m->C), rows_f = times(n, m->F);
    int64_t n_samples = m->T > 0 ? n / m->T : 0;
    int64_t vocab = kernels_host_vocab_block(m, limits);
    bool keep = kernels_host_keeps_logits(m, n_samples, limits);
    bytes[HOST_MID] = times(times(rows_c, 4), m->L);
    bytes[HOST_LOGITS] = times(times(n, keep ? m->V : vocab), 4);
    bytes[HOST_DRES] = bytes[HOST_DXN] = times(rows_c, 4);
    bytes[HOST_ACT] = bytes[HOST_DPRE] = times(rows_f, op);
    bytes[HOST_DQKV] = times(rows_c, 3 * op);
    bytes[HOST_DCTX] = bytes[HOST_XN] = times(rows_c, op);
    if (op == 2) {
        bytes[HOST_DRES_OP] = times(rows_c, op);
        bytes[HOST_DLOGITS] = times(times(n, vocab), op);
    }
}

void kernels_host_layout(int64_t bytes[HOST_N_BUFFERS], const struct model *m, int64_t n_samples,
                         bool training, const struct host_limits *limits)
{
    int64_t n = times(n_samples, m->T), op = num_format_bytes(m->format);
    int64_t kept = training ? m->L : 1;
    int64_t rows_c = times(n, m->C), rows_f = times(n, m->F);
    for (int i = 0; i < HOST_N_BUFFERS; i++)
        bytes[i] = 0;
    bytes[HOST_X] = times(times(rows_c, 4), training ? m->L + 1 : 1);
    bytes[HOST_NORMS] = times(times(n, 8), training ? 2 * m->L + 1 : 1);
    bytes[HOST_QKV] = times(times(rows_c, 3 * op), kept);
    bytes[HOST_CTX] = times(times(rows_c, op), kept);
    bytes[HOST_SOFTMAX] = times(times(times(n, m->H), 8), kept);
    bytes[HOST_PRE] = times(times(rows_f, 4), kept);
    bytes[HOST_TOKENS] = times(n, (int64_t)sizeof(struct host_token));
    bytes[HOST_VECTORS] = m->format == NUM_FP32 ? 0 : times(vectors_max(m), 4);
    if (training) training_layout(bytes, m, n, limits, op);
}

/* Levels of partial sums that a share of n leaves needs: its largest full subtree's. */
static int64_t tree_levels(int64_t n)
{
    int64_t levels = 0;
    while (INT64_C(1) << levels < n)
        levels++;
    return levels;
}

void kernels_host_thread_layout(int64_t bytes[HOST_N_THREAD_BUFFERS], const struct model *m,
                                int64_t n_samples, bool training, const struct host_limits *limits)
{
    int64_t rows = min64(HOST_BLOCK_ROWS, times(n_samples, m->T)), op = num_format_bytes(m->format);
    int64_t queries = min64(HOST_QUERY_ROWS, m->T), vocab = kernels_host_vocab_block(m, limits);
    int64_t wide = max64(max64(m->C, m->F), vocab);
    int64_t scores = times(queries, host_padded(m->T));
    for (int i = 0; i < HOST_N_THREAD_BUFFERS; i++)
        bytes[i] = 0;
    bytes[HOST_OPERAND] = times(times(rows, max64(m->C, m->F)), op);
    bytes[HOST_WIDE] = times(times(rows, wide), 4);
    bytes[HOST_ROW] = bytes[HOST_ROW2] = times(wide, 4);
    bytes[HOST_SCORE] = times(scores, 4);
    bytes[HOST_SCORE_OP] = op == 2 ? times(scores, op) : 0;
    bytes[HOST_HEAD_OUT] = times(times(queries, m->head_dim), 4);
    if (!training) return;
    bytes[HOST_DSCORE] = bytes[HOST_SCORE];
    bytes[HOST_DSCORE_OP] = bytes[HOST_SCORE_OP];
    bytes[HOST_DK] = bytes[HOST_DV] = times(times(m->T, m->head_dim), 4);
    bytes[HOST_TREE] = times(times(tree_levels(n_samples), kernels_host_grad_block_max(m)), 4);
}

int64_t kernels_host_act_bytes(const struct model *model, int64_t n_samples, bool training)
{
    int64_t bytes[HOST_N_BUFFERS], sum = 0;
    kernels_host_layout(bytes, model, n_samples, training, &kernels_host_limits);
    for (int i = 0; i < HOST_N_BUFFERS; i++)
        sum = plus(sum, bytes[i]);
    return sum;
}
