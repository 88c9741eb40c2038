/** What the files of host share: buffers, the current micro-batch, the current stage.
 *
 *  Numerics as in <wsc/host.h>; operands of products are weights, activations, their gradients and
 *  softmax probabilities, and a buffer of operands is a `void *` in the model's format.
 *
 *  Exactness.  Rows (tokens) of a leaf are cut into blocks by the leaf's size alone, weight
 *  gradients into blocks by their shape alone; every product belongs to one block, so its shape
 *  does not depend on the share, and threads only choose who computes which block.
 */
#ifndef WSC_HOST_IMPL_H
#define WSC_HOST_IMPL_H
#include <wsc/host.h>
#include <wsc/num.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    HOST_BLOCK_ROWS = 256, /**< most rows of one activation product */
    HOST_QUERY_ROWS = 64,  /**< queries that share one block of attention scores */
    HOST_PAD = 16          /**< rows of scores are padded to whole vectors */
};

/** Consecutive rows (tokens) of the share. */
struct host_span {
    int64_t row, n;
};

/** What create may be told by tests; values do not depend on logits_bytes. */
struct host_limits {
    int64_t vocab_cols;   /**< most columns of one block of logits */
    int64_t logits_bytes; /**< keep all logits for the backward pass when they fit this */
};

/** Shared buffers; sizes in host_layout.c.  "kept" ones exist once per layer in training. */
enum host_buffer {
    HOST_X,         /**< kept: residual stream at a block's start, and at the head */
    HOST_MID,       /**< kept: residual stream between attention and FFN */
    HOST_NORMS,     /**< kept: mean and 1/std of each norm's rows */
    HOST_QKV,       /**< kept: operands (N, q, k and v features) */
    HOST_CTX,       /**< kept: operands (N, q features), attention before its output projection */
    HOST_SOFTMAX,   /**< kept: maximum and 1/sum of each row of scores */
    HOST_PRE,       /**< kept: (N S, F or 2F) before the nonlinearity; S networks of a token */
    HOST_NORMED,    /**< kept: operands (N, C), norm1's output where attention and FFN share it */
    HOST_ATTN_OUT,  /**< kept: (N, C), what norm1_post takes */
    HOST_FFN_OUT,   /**< kept: (N, C), what norm3_post takes */
    HOST_ROUTED,    /**< kept: (N, E) probabilities of the experts */
    HOST_CHOSEN,    /**< kept: struct host_chosen (N, S) */
    HOST_ORDER,     /**< kept: row and slot (N S) in the order of leaves and experts */
    HOST_RANGES,    /**< kept: first place of every leaf and expert */
    HOST_TABLE,     /**< positions: cosines and sines (T, rotary_dim), or sines (T, C) */
    HOST_PLACES,    /**< experts: results (N S, C), then gradients of their input */
    HOST_LOGITS,    /**< training: one block of logits or all */
    HOST_TOKENS,    /**< struct host_token per row */
    HOST_VECTORS,   /**< 16-bit: the stage's one-dimensional tensors as fp32 */
    HOST_DRES,      /**< training: gradient of the residual stream */
    HOST_DRES_OP,   /**< 16-bit training: the same as operands */
    HOST_ACT,       /**< training: operands (N S, F) after the nonlinearity */
    HOST_DPRE,      /**< training: operands (N S, F or 2F) */
    HOST_DQKV,      /**< training: operands (N, q, k and v features) */
    HOST_DCTX,      /**< training: operands (N, q features) */
    HOST_XN,        /**< training: operands (N, C), output of the norm at hand */
    HOST_DXN,       /**< training: its gradient, fp32 */
    HOST_DLOGITS,   /**< 16-bit training: one block of operands */
    HOST_DBRANCH,   /**< training: operands (N, C), gradient of a branch before dropout and norm */
    HOST_DSIDE,     /**< training: (N, C), gradient of x through the FFN of a parallel block */
    HOST_PLACES_XN, /**< training: operands (N S, C), inputs of the experts */
    HOST_PLACES_DY, /**< training: operands (N S, C), gradients of their outputs */
    HOST_DCHOSEN,   /**< training: (N, S) gradients of the chosen experts' weights */
    HOST_DROUTED,   /**< training: operands (N, E), gradient of the router's output */
    HOST_LOAD,      /**< training: doubles (samples, E), share of the tokens that an expert gets */
    HOST_N_BUFFERS
};

/** Memory of one thread. */
enum host_thread_buffer {
    HOST_OPERAND, /**< a block of rows of operands, as wide as C and F */
    HOST_WIDE,    /**< a block of rows of fp32 results */
    HOST_ROW,     /**< one fp32 row */
    HOST_ROW2,    /**< another */
    HOST_SCORE,   /**< scores of a block of queries */
    HOST_DSCORE,
    HOST_SCORE_OP, /**< 16-bit: the same as operands */
    HOST_DSCORE_OP,
    HOST_HEAD_OUT, /**< (queries, d) */
    HOST_DK,
    HOST_DV,    /**< (T, d) */
    HOST_TREE,  /**< partial sums of one gradient block, one per level */
    HOST_WORDS, /**< dropout: random numbers of one row */
    HOST_N_THREAD_BUFFERS
};

/** One row of the head: softmax statistics and loss. */
struct host_token {
    double sum; /**< of exp(logit - max) */
    double nats;
    float max, label_logit;
    int32_t best; /**< lowest column that holds max */
    bool counts;  /**< inside the loss mask */
};

/** The stage at hand. */
struct host_stage {
    int layer;
    int64_t n_elems;
    int64_t offset[MODEL_N_TENSOR_KINDS];      /**< in the stage's vector; -1 = absent */
    int64_t rows[MODEL_N_TENSOR_KINDS];        /**< first extent of the tensor */
    const void *weight[MODEL_N_TENSOR_KINDS];  /**< in the model's format; NULL = absent */
    const float *vector[MODEL_N_TENSOR_KINDS]; /**< one-dimensional tensors; NULL = absent */
    int64_t next_expert[MODEL_N_TENSOR_KINDS]; /**< elements from an expert's tensor to the next
                                                    one's, where `weight` or `vector` points */
    int64_t next_offset[MODEL_N_TENSOR_KINDS]; /**< the same in the stage's vector */
    float *grads;
};

struct host {
    const struct model *model;
    struct host_limits limits;
    int64_t max_samples, max_rows;
    bool training, keep_logits, fp32;
    int n_threads;
    int64_t vocab_block;   /**< columns of all blocks of logits but the last */
    double gradient_scale; /**< of all gradients, see host_scale_gradients */
    int64_t tree_stride;   /**< elements of one level of HOST_TREE */
    void *buffer[HOST_N_BUFFERS];
    void **thread_buffer; /**< owned, n_threads x HOST_N_THREAD_BUFFERS */
    /* the micro-batch */
    struct data_share share;
    const struct data_batch *batch;
    int64_t n_samples, n_rows, n_leaves, n_blocks;
    struct host_span *leaf, *block; /**< owned */
    struct num_nodes nodes;
    struct model_loss *loss; /**< owned, one per leaf */
    int64_t *wanted;         /**< owned, position per sample; -1 = none */
    float *wanted_logits;    /**< owned, (max_samples, V), made on first use */
    bool any_wanted;
    uint64_t dropout_seed; /**< of this step */
    bool cached;           /**< generation: leaves are the new positions of a sample, one each */
    void *cache; /**< owned, operands (L, max_rows, key and value features), made on first use */
    struct host_leaf_squares *squares; /**< owned; NULL unless leaves are measured */
    struct host_stage stage;
    int64_t vocab_at; /**< first column of the block of logits at hand */
};

/* ---- host_layout.c */

/** What host_create uses. */
extern const struct host_limits host_default_limits;

/** Bytes of every shared buffer; sums of absurd models saturate. */
void host_layout(int64_t bytes[HOST_N_BUFFERS], const struct model *model, int64_t n_samples,
                 bool training, const struct host_limits *limits);
/** Bytes of every buffer of one thread. */
void host_thread_layout(int64_t bytes[HOST_N_THREAD_BUFFERS], const struct model *model,
                        int64_t n_samples, bool training, const struct host_limits *limits);
int64_t host_vocab_block(const struct model *model, const struct host_limits *limits);
bool host_keeps_logits(const struct model *model, int64_t n_samples,
                       const struct host_limits *limits);
/** Rows of a gradient's blocks, and the most elements of any block of the model. */
int64_t host_grad_block_rows(int64_t rows, int64_t cols);
int64_t host_grad_block_max(const struct model *model);
/** host_create with limits of its own. */
enum wsc_err host_create_limited(struct host **out, const struct model *model, int64_t max_samples,
                                 bool training, const struct host_limits *limits) WSC_CHECKED;

/* ---- host_grad.c */

/** The head's part of a tied table comes first, the embedding's second. */
enum host_tied { HOST_UNTIED, HOST_TIED_HEAD, HOST_TIED_EMBED };
/** A gradient (rows, cols), or some rows of it, as the sum over leaves of what `leaf` computes. */
struct host_grad {
    enum model_tensor_kind kind;
    int64_t expert; /**< 0 where there are none */
    int64_t first_row, rows, cols;
    const void *dy; /**< operands (N, rows) with row stride ld_dy, or fp32 (see leaf) */
    const void *x;  /**< operands (N, cols) */
    int64_t ld_dy, ld_x;
    const float *stats;  /**< of a norm */
    enum host_tied tied; /**< part of a tied table */
    /** Write the gradient's rows [r0, r0 + n) of one leaf to @p dst (n, cols). */
    void (*leaf)(const struct host *k, const struct host_grad *g, const struct host_span *leaf,
                 int64_t r0, int64_t n, float *dst);
};

/** Sum every gradient of the list whose tensor is in the stage over the share's canonical nodes. */
void host_sum_grads(struct host *k, const struct host_grad *grad, int n);
/** dy^T x. */
struct host_grad host_linear_grad(enum model_tensor_kind kind, int64_t rows, int64_t cols,
                                  const void *dy, int64_t ld_dy, const void *x);
/** Column sums of operands. */
struct host_grad host_bias_grad(enum model_tensor_kind kind, int64_t n, const void *dy,
                                int64_t ld_dy);
/** Gradients of weights and bias over the rows of an expert, in the order of HOST_ORDER. */
struct host_grad host_expert_linear_grad(enum model_tensor_kind kind, int64_t expert, int64_t rows,
                                         int64_t cols, const void *dy, int64_t ld_dy,
                                         const void *x);
struct host_grad host_expert_bias_grad(enum model_tensor_kind kind, int64_t expert, int64_t n,
                                       const void *dy, int64_t ld_dy);
/** Both gradients of a norm from the gradient @p dy (N, C) of its output. */
void host_norm_grads(const struct host *k, struct host_grad out[2], enum model_tensor_kind weight,
                     const float *dy, const float *x, const float *stats);

/* ---- host_squares.c: how large the gradient of each leaf is */

void host_squares_begin(struct host *k);
void host_squares_destroy(struct host *k);
/** Room for @p n_items blocks of the gradients at hand. */
void host_squares_expect(const struct host *k, int64_t n_items);
/** Take rows [r0, r0 + n) of a gradient of leaf @p leaf (of the share), in @p rows, as block
 *  @p item. */
void host_squares_take(const struct host *k, const struct host_grad *g, int64_t leaf, int64_t r0,
                       int64_t n, const float *rows, int64_t item);
/** Add what the blocks gave to their leaves, block by block. */
void host_squares_add(const struct host *k, int64_t n_items);

/* ---- host_rows.c: operations on rows of operands and norms */

/** Run @p rows for every block of rows. */
void host_each_block(struct host *k,
                     void (*rows)(struct host *k, const struct host_span *b, int thread));
/** Statistics of a norm's rows, then its output as operands. */
void host_norm_forward(const struct host *k, const struct host_span *b,
                       enum model_tensor_kind weight, const float *x, float *stats, void *out,
                       int thread);
/** The output again, from saved statistics. */
void host_norm_again(const struct host *k, const struct host_span *b, enum model_tensor_kind weight,
                     const float *x, const float *stats, void *out, int thread);
/** Gradient of the norm's input from HOST_DXN, added to @p dx (N, C) (or written, @p first). */
void host_norm_backward(const struct host *k, const struct host_span *b,
                        enum model_tensor_kind weight, const float *x, const float *stats,
                        float *dx, bool first);
/** Gradient of one row of a norm's input, @p dx (C) overwritten, from that of its output. */
void host_norm_row_backward(const struct host *k, enum model_tensor_kind weight, float *dx,
                            const float *dy, const float *x, const float *stats);
/** Statistics and fp32 output of one row of a norm. */
void host_norm_row(const struct host *k, enum model_tensor_kind weight, float *out, const float *x,
                   float *stats);
/** out (n, cols at ld_out) = in (n, cols) + bias, as operands; overwrites @p in. */
void host_store_linear(const struct host *k, const struct host_span *b, float *in, int64_t cols,
                       const float *bias, void *out, int64_t ld_out);
/** HOST_DRES of a block as operands. */
const void *host_dres_operands(const struct host *k, const struct host_span *b);

/* ---- host_cache.c: keys and values of generated texts */

/** Room for them; nothing when it is there already. */
enum wsc_err host_cache_create(struct host *k) WSC_CHECKED;
/** Put those of a block's rows in, from HOST_QKV. */
void host_cache_rows(struct host *k, const struct host_span *b);

/* ---- host_branch.c: what attention and FFN add to the residual stream */

/** Places of dropout; also part of the random stream's number. */
enum host_place { HOST_DROP_EMBED, HOST_DROP_SCORES, HOST_DROP_ATTN, HOST_DROP_FFN };
/** A branch: after its last linear layer dropout, then a norm, then the sum with the stream. */
struct host_branch {
    enum host_place place;
    enum model_tensor_kind norm;
    enum host_buffer kept; /**< input of the norm */
    int slot;              /**< of the norm's statistics */
};
extern const struct host_branch host_attn_branch, host_ffn_branch;
/** Neither dropout nor norm: the last product adds to the stream itself. */
bool host_plain_branch(const struct host *k);
/** Where the last product of a branch that is not plain puts a block's rows. */
float *host_branch_out(const struct host *k, const struct host_branch *branch,
                       const struct host_span *b, int thread);
/** The stream after = the stream before + the branch, from the rows @p out (n, C) of that product
 *  without its bias. */
void host_add_branch(const struct host *k, const struct host_branch *branch,
                     const struct host_span *b, float *out, const float *bias, int thread);
/** Gradient of the last product's rows as operands, from HOST_DRES. */
const void *host_branch_gradient(const struct host *k, const struct host_branch *branch,
                                 const struct host_span *b, int thread);
/** The buffer that it is in, (N, C). */
const void *host_branch_gradients(const struct host *k);
/** Multiply n values by 0 or 1/(1 - rate of the place): those of row @p row (of the share) from
 *  @p first on.  Nothing without training. */
void host_drop(const struct host *k, enum host_place place, int64_t row, int64_t first, float *x,
               int64_t n, int thread);

/* ---- host_positions.c */

/** Fill HOST_TABLE. */
void host_positions(struct host *k);
/** Turn every head of the rows (n, cols) of a block by its position, or back. */
void host_rotate(const struct host *k, const struct host_span *b, float *rows, int64_t cols,
                 bool back);
/** Slope of ALiBi of query head @p h. */
float host_slope(const struct model *m, int64_t h);

/* ---- host_ffn.c: pieces of the FFN, of one network (expert 0) or of an expert */

/** Output of the norm before the FFN for a block's rows: into @p scratch, where it has one. */
const void *host_ffn_normed(const struct host *k, const struct host_span *b, void *scratch,
                            bool again, int thread);
/** What becomes of HOST_DXN: through the norm into the stream, or beside it, or it stays. */
void host_ffn_norm_backward(const struct host *k, const struct host_span *b);
/** Gradients of that norm; returns how many, 0 or 2. */
int host_ffn_norm_grads(const struct host *k, struct host_grad out[2]);
/** The first linear layers of n rows, with biases. */
void host_ffn_linear(const struct host *k, const void *xn, int64_t n, int64_t expert, float *pre);
void host_ffn_linear_back(const struct host *k, const void *dpre, int64_t n, int64_t expert,
                          float *dxn);
/** The nonlinearity of n rows as operands; the same again with the gradient. */
void host_ffn_activate(const struct host *k, const float *pre, int64_t n, void *act, int thread);
void host_ffn_activate_backward(const struct host *k, const float *pre, const float *dact,
                                int64_t n, void *act, void *dpre, int thread);
/** Gradients of the norm after a branch; returns how many, 0 or 2. */
int host_branch_norm_grads(const struct host *k, const struct host_branch *branch,
                           struct host_grad out[2]);

/* ---- host_experts.c: a mixture's router and networks */

/** Network s of the S of a row: where it stands in HOST_ORDER, and what it counts. */
struct host_chosen {
    int32_t expert;
    int64_t at;
    float weight;
};
void host_experts_ffn0(struct host *k);
void host_experts_ffn0_backward(struct host *k);
void host_experts_ffn1(struct host *k);
void host_experts_ffn1_backward(struct host *k);
/** Load-balancing loss of a leaf, times what the mean loss is divided by. */
double host_balance_loss(const struct host *k, const struct host_span *leaf);
/* ---- host_order.c */

/** First row of every expert of leaf @p leaf of the share in the order of HOST_ORDER, and the end
 * of the last one. */
int64_t *host_expert_ranges(const struct host *k, int64_t leaf);
/** Rows of @p expert in the leaf, in the order of HOST_ORDER. */
struct host_span host_expert_rows(const struct host *k, const struct host_span *leaf,
                                  int64_t expert);

/* ---- num_activation.c */

/** out (F) = the nonlinearity of one row (F, or 2 F when gated) before it. */
void host_activate(const struct model *m, float *out, const float *pre);
/** out again, and the gradient of the row from that of out. */
void host_activate_backward(const struct model *m, float *out, float *dpre, const float *dout,
                            const float *pre);

/* ---- host_block.c, host_attention.c, host_head.c */

void host_embed_forward(struct host *k);
void host_embed_backward(struct host *k);
void host_qkv_forward(struct host *k);
void host_qkv_backward(struct host *k);
void host_attn_forward(struct host *k);
void host_attn_backward(struct host *k);
void host_ffn0_forward(struct host *k);
void host_ffn0_backward(struct host *k);
void host_ffn1_forward(struct host *k);
void host_ffn1_backward(struct host *k);
void host_head_forward(struct host *k);
void host_head_backward(struct host *k);

/** Position of row @p row of the share in its text. */
static inline int64_t host_position(const struct host *k, int64_t row)
{
    return k->batch->position_ids ? k->batch->position_ids[row] : row % k->model->T;
}

/* ---- places in buffers */

static inline int64_t host_padded(int64_t n)
{
    return (n + HOST_PAD - 1) / HOST_PAD * HOST_PAD;
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
/** Copy number @p layer of a kept buffer whose rows have @p cols fp32 values. */
static inline float *host_kept(const struct host *k, enum host_buffer b, int64_t layer,
                               int64_t cols)
{
    return (float *)k->buffer[b] + (k->training ? layer : 0) * k->max_rows * cols;
}
static inline void *host_kept_operands(const struct host *k, enum host_buffer b, int64_t layer,
                                       int64_t cols)
{
    return host_at(k, k->buffer[b], (k->training ? layer : 0) * k->max_rows * cols);
}
/** Residual stream at the start of block @p layer (L: at the head). */
static inline float *host_x(const struct host *k, int64_t layer)
{
    return host_kept(k, HOST_X, layer, k->model->C);
}
/** Residual stream after attention; the same memory as host_x where nobody needs both. */
static inline float *host_mid(const struct host *k, int64_t layer)
{
    return k->buffer[HOST_MID] ? host_kept(k, HOST_MID, layer, k->model->C) : host_x(k, 0);
}
/** What the FFN's norm takes: after attention, or in a parallel block before it. */
static inline float *host_ffn_input(const struct host *k, int64_t layer)
{
    return k->model->parallel ? host_x(k, layer) : host_mid(k, layer);
}
/** Norms of a block; the two outside the blocks come after them. */
enum host_norm { HOST_NORM1, HOST_NORM1_POST, HOST_NORM3, HOST_NORM3_POST, HOST_BLOCK_NORMS };
enum { HOST_OUTER_NORMS = 2 };
/** Mean and 1/std of every row of norm @p slot of block @p layer; mean 0 of an RMSNorm. */
static inline float *host_norm_stats(const struct host *k, int64_t layer, int slot)
{
    return host_kept(k, HOST_NORMS, layer * HOST_BLOCK_NORMS + slot, 2);
}
/** Mean and 1/std of the norm at the head, and of that of the embeddings. */
static inline float *host_head_stats(const struct host *k)
{
    return host_norm_stats(k, k->model->L, 0);
}
static inline float *host_embed_stats(const struct host *k)
{
    return host_norm_stats(k, k->model->L, 1);
}
/** A matrix of an expert (0 where there are none), a vector of it. */
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
/** fp32 values as operands of a 16-bit format. */
static inline void host_narrow(const struct host *k, void *operands, const float *x, int64_t n)
{
    num_narrow(k->model->format, operands, x, n);
}
/** One row as operands. */
static inline void host_to_operands(const struct host *k, void *operands, const float *x, int64_t n)
{
    if (k->fp32)
        memcpy(operands, x, (size_t)n * sizeof *x);
    else
        host_narrow(k, operands, x, n);
}
/** Operands as fp32: themselves, or widened into scratch. */
static inline const float *host_widened(const struct host *k, const void *operands, float *scratch,
                                        int64_t n)
{
    if (k->fp32) return operands;
    num_widen(k->model->format, scratch, operands, n);
    return scratch;
}
/** Row @p row of the cached keys of layer @p layer, the values after them. */
static inline void *host_cached_row(const struct host *k, int64_t layer, int64_t row)
{
    return host_at(k, k->cache, (layer * k->max_rows + row) * 2 * model_kv_features(k->model));
}
/** The product in the model's format. */
static inline void host_product(const struct host *k, const struct num_product *p, const void *a,
                                const void *b, float *c)
{
    if (k->cached)
        num_gemm_rows(k->model->format, p, a, b, c);
    else if (k->fp32)
        num_gemm(p, a, b, c);
    else
        num_gemm_16(k->model->format, p, a, b, c);
}
/** c (n, out) = x (n, in) w^T: a linear layer with weights (out, in). */
static inline struct num_product host_linear_shape(int64_t n, int64_t in, int64_t out)
{
    return (struct num_product){
        .trans_b = true, .m = n, .n = out, .k = in, .lda = in, .ldb = in, .ldc = out};
}
/** dx (n, in) = dy (n, out) w: its gradient. */
static inline struct num_product host_linear_back_shape(int64_t n, int64_t in, int64_t out)
{
    return (struct num_product){.m = n, .n = in, .k = out, .lda = out, .ldb = in, .ldc = in};
}
#endif
