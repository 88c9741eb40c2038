/** Addresses of rows, statistics and weights in the buffers of a host. A kept buffer has one copy
 *  for each layer in training and a single one otherwise; a copy has the rows of the whole share,
 *  one after the other. */
#ifndef WSC_HOST_BUFFERS_H
#define WSC_HOST_BUFFERS_H
#include "host_state.h"

#include <wsc/model.h>

#include <stdint.h>

static inline int64_t host_padded(int64_t n)
{
    return (n + HOST_PAD - 1) / HOST_PAD * HOST_PAD;
}
/** Number of blocks of a leaf of @p rows rows, which depends on its size alone. At least two, so
 *  that a wafer with one leaf has work for two threads, unless they would be too small for the
 *  product library. */
static inline int64_t host_leaf_blocks(int64_t rows)
{
    const int64_t n = (rows + HOST_BLOCK_ROWS - 1) / HOST_BLOCK_ROWS;
    return n == 1 && rows >= 2 * HOST_SHARED_ROWS ? 2 : n;
}
/** Largest number of keys in a tile of attention scores. */
static inline int64_t host_tile_keys(const struct host_limits *limits)
{
    return limits->keys ? limits->keys : HOST_KEYS;
}
/** Elements between rows of a tile, with sequences of @p T tokens. */
static inline int64_t host_tile_width(const struct host_limits *limits, int64_t T)
{
    const int64_t keys = host_tile_keys(limits);
    return host_padded(T < keys ? T : keys);
}
/** Element @p i of a buffer of operands. */
static inline void *host_at(const struct host *k, void *operands, int64_t i)
{
    return (char *)operands + i * (k->fp32 ? 4 : 2);
}
static inline const void *host_const_at(const struct host *k, const void *operands, int64_t i)
{
    return (const char *)operands + i * (k->fp32 ? 4 : 2);
}
static inline void *host_thread(const struct host *k, int thread, enum host_thread_buffer b)
{
    return k->thread_buffer[thread * HOST_N_THREAD_BUFFERS + (int)b];
}
/** True for buffers that every layer keeps even if blocks are recomputed: the streams from which
 *  they are recomputed, small ones, and those that the loss takes from all layers. */
static inline bool host_stays(enum host_buffer b)
{
    return b == HOST_X || b == HOST_NORMS || b == HOST_ROUTED || b == HOST_WEIGHING;
}
/** Index of the first element of copy number @p layer of a kept buffer whose rows have @p cols
 *  elements. */
static inline int64_t host_copy(const struct host *k, enum host_buffer b, int64_t layer,
                                int64_t cols)
{
    const bool each = k->training && (!k->recompute || host_stays(b));
    return (each ? layer : 0) * k->max_rows * cols;
}
/** Copy number @p layer of a kept buffer whose rows have @p cols fp32 values. */
static inline float *host_kept(const struct host *k, enum host_buffer b, int64_t layer,
                               int64_t cols)
{
    return (float *)k->buffer[b] + host_copy(k, b, layer, cols);
}
static inline void *host_kept_operands(const struct host *k, enum host_buffer b, int64_t layer,
                                       int64_t cols)
{
    return host_at(k, k->buffer[b], host_copy(k, b, layer, cols));
}
/** Index of the stream at the head in the kept buffers: one after the last block. Blocks of a
 *  second stack begin one index later, since the end of the first stack needs one. */
static inline int64_t host_end(const struct model *m)
{
    return m->L + m->n_stacks - 1;
}
/** Index of the first block of the current stack in the kept buffers. */
static inline int64_t host_start(const struct host *k)
{
    return k->stack->first + (k->stack - k->model->stack);
}
/** Residual stream at the start of block @p layer, an index of the kept buffers. */
static inline float *host_x(const struct host *k, int64_t layer)
{
    return host_kept(k, HOST_X, layer, k->model->C);
}
/** Residual stream after attention. It shares memory with host_x() where no code needs both. */
static inline float *host_mid(const struct host *k, int64_t layer)
{
    return k->buffer[HOST_MID] ? host_kept(k, HOST_MID, layer, k->model->C) : host_x(k, 0);
}
/** Index of a block among those of the decoder, from its index in the kept buffers. */
static inline int64_t host_cross_layer(const struct host *k, int64_t layer)
{
    return layer - host_start(k);
}
/** Residual stream after cross attention. It shares memory with host_mid() where no code needs
 *  both, and without cross attention. */
static inline float *host_cross_mid(const struct host *k, int64_t layer)
{
    if (!k->stack->cross || !k->buffer[HOST_CROSS_MID]) return host_mid(k, layer);
    return host_kept(k, HOST_CROSS_MID, host_cross_layer(k, layer), k->model->C);
}
/** Input of the norm before the FFN: the stream after attention or, in a parallel block, before
 *  it. */
static inline float *host_ffn_input(const struct host *k, int64_t layer)
{
    return k->model->zoo.parallel_block ? host_x(k, layer) : host_cross_mid(k, layer);
}
/** Norms of a block in HOST_NORMS; norms outside the blocks come after them. */
enum host_norm {
    HOST_NORM1,
    HOST_NORM1_POST,
    HOST_CROSS_NORM,
    HOST_CROSS_POST,
    HOST_NORM3,
    HOST_NORM3_POST,
    HOST_BLOCK_NORMS
};
enum { HOST_OUTER_NORMS = 3 };
/** Mean and 1/std of every row of norm @p slot of block @p layer; the mean of an RMSNorm is 0. */
static inline float *host_norm_stats(const struct host *k, int64_t layer, int slot)
{
    return host_kept(k, HOST_NORMS, layer * HOST_BLOCK_NORMS + slot, 2);
}
/** Mean and 1/std of the norm at the head, of that of the embeddings, and of that after a head's
 *  dense layer. */
static inline float *host_head_stats(const struct host *k)
{
    return host_norm_stats(k, host_end(k->model), 0);
}
static inline float *host_embed_stats(const struct host *k)
{
    return host_norm_stats(k, host_end(k->model), 1);
}
static inline float *host_dense_stats(const struct host *k)
{
    return host_norm_stats(k, host_end(k->model), 2);
}
/** A matrix of an expert (index 0 without experts). host_expert_vector(): a vector of an expert. */
static inline const void *host_expert_weight(const struct host *k, enum model_tensor_kind kind,
                                             int64_t expert)
{
    return host_const_at(k, k->stage.weight[kind], expert * k->stage.next_expert[kind]);
}
static inline const float *host_expert_vector(const struct host *k, enum model_tensor_kind kind,
                                              int64_t expert)
{
    const float *first = k->stage.vector[kind];
    return first ? first + expert * k->stage.next_expert[kind] : NULL;
}
#endif
