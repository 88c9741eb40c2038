/** The state of a host: buffers, the micro-batch and the current stage. A buffer of operands is a
 *  `void *` in the model's format; operands of products are weights, activations, their gradients
 *  and softmax probabilities (<wsc/host.h>). Blocks of rows (tokens) depend on the size of the leaf
 *  alone, blocks of weight gradients on their shape alone, and every product belongs to one block.
 *  So the shape of a product, and with it the bits of the result, do not depend on the share or on
 *  which thread computes a block. */
#ifndef WSC_HOST_STATE_H
#define WSC_HOST_STATE_H
#include <wsc/data.h>
#include <wsc/err.h>
#include <wsc/host.h>
#include <wsc/model.h>
#include <wsc/num.h>
#include <wsc/num_sparse.h>

#include <stdbool.h>
#include <stdint.h>

enum {
    HOST_BLOCK_ROWS = 256, /**< most rows of one product of activations */
    HOST_SHARED_ROWS = 64, /**< least rows of a block when a leaf is cut in two */
    HOST_QUERY_ROWS = 64,  /**< queries that share one tile of attention scores */
    HOST_KEYS = 512,       /**< most keys of a tile; with the queries 128 KiB of scores */
    HOST_PAD = 16          /**< rows of scores are padded to whole vectors */
};

/** Consecutive rows (tokens) of the share. */
struct host_span {
    int64_t row, n;
};

/** Limits that tests may set; values do not depend on logits_bytes. */
struct host_limits {
    int64_t keys;          /**< most keys of a tile of attention; 0: HOST_KEYS */
    int64_t vocab_cols;    /**< most columns of one block of logits */
    int64_t logits_bytes;  /**< logits that fit are kept for the backward pass */
    int64_t arranged_rows; /**< least rows of a leaf for arranged matrices; 0: those of a block */
};

/** Shared buffers; sizes in host_layout.c.  "kept" ones exist once per layer in training; with
 *  model.recompute only those of host_stays(), the others once. */
enum host_buffer {
    HOST_X,         /**< kept: residual stream at a block's start, and at the head */
    HOST_MID,       /**< kept: residual stream between attention and FFN */
    HOST_NORMS,     /**< kept: mean and 1/std of each norm's rows */
    HOST_QKV,       /**< kept: operands (N, q, k and v features) */
    HOST_RAW_Q,     /**< kept: (N, q features), input of the norms of queries */
    HOST_RAW_K,     /**< kept: (N, key features), input of the norms of keys */
    HOST_STATS_Q,   /**< kept: mean and 1/std of each row and head of queries */
    HOST_STATS_K,   /**< kept: mean and 1/std of each row and head of keys */
    HOST_DNORMED_Q, /**< training: (N, q features), gradient of normed queries */
    HOST_DNORMED_K, /**< training: (N, key features), gradient of normed keys */
    HOST_CTX,       /**< kept: operands (N, q features), attention before its output projection */
    HOST_SOFTMAX,   /**< kept: maximum and 1/sum of each row of scores */
    HOST_PRE,       /**< kept: (N S, F or 2F) before the nonlinearity; a token has S networks */
    HOST_NORMED,    /**< kept: operands (N, C), output of norm1 if attention and FFN share it */
    HOST_ATTN_OUT,  /**< kept: (N, C), input of norm1_post */
    HOST_FFN_OUT,   /**< kept: (N, C), input of norm3_post */
    HOST_ROUTED,    /**< kept: (N, E), values by which experts are chosen, mostly probabilities */
    HOST_WEIGHING,  /**< kept: (N, E), values that weigh experts, if different from HOST_ROUTED */
    HOST_CHOSEN,    /**< kept: struct host_chosen (N, S) */
    HOST_ORDER,   /**< kept: row and slot of each place (N S), in the order of leaves and experts */
    HOST_RANGES,  /**< kept: first place of every leaf and expert */
    HOST_TABLE,   /**< positions: cosines and sines (T, rotary_dim), or sines (T, C) */
    HOST_PLACES,  /**< experts: their results (N S, C), then the gradients of their inputs */
    HOST_LOGITS,  /**< training: one block of logits, or all logits */
    HOST_TOKENS,  /**< struct host_token per row */
    HOST_VECTORS, /**< 16-bit: one-dimensional tensors of the stage, as fp32 */
    HOST_ARRANGED,   /**< matrices of the current part, as num_arrange() writes them */
    HOST_DRES,       /**< training: gradient of the residual stream */
    HOST_DRES_OP,    /**< 16-bit training: HOST_DRES as operands */
    HOST_ACT,        /**< training: operands (N S, F) after the nonlinearity */
    HOST_DPRE,       /**< training: operands (N S, F or 2F) */
    HOST_DQKV,       /**< training: operands (N, q, k and v features) */
    HOST_DCTX,       /**< training: operands (N, q features) */
    HOST_ARRANGED_X, /**< training: input of a linear layer, leaf by leaf, as num_arrange() writes
                        it */
    HOST_XN,         /**< training: operands (N, C), output of the current norm */
    HOST_DXN,        /**< training: gradient of HOST_XN, fp32 */
    HOST_DLOGITS,    /**< 16-bit training: operands, gradient of one block of logits */
    HOST_DBRANCH,    /**< training: operands (N, C), gradient of a branch before dropout and norm */
    HOST_DSIDE,      /**< training: (N, C), gradient of x through the FFN of a parallel block */
    HOST_PLACES_XN,  /**< training: operands (N S, C), inputs of the experts */
    HOST_PLACES_DY,  /**< training: operands (N S, C), gradients of the results of the experts */
    HOST_DCHOSEN,    /**< training: (N, S), gradients of the weights of the chosen experts */
    HOST_DROUTED,    /**< training: operands (N, E), gradient of the router's output */
    HOST_LOAD,       /**< training: doubles (samples, E), fraction of tokens of an expert */
    HOST_HEAD_X,    /**< heads that take some rows: (N, C), these rows of the last block's output */
    HOST_HEAD_IN,   /**< heads with a dense layer: operands (N, C), input of the layer */
    HOST_HEAD_PRE,  /**< heads with a dense layer: (N, C), its result before the nonlinearity */
    HOST_HEAD_ACT,  /**< heads with a dense layer: (N, C), its result after the nonlinearity */
    HOST_HEAD_DACT, /**< training: (N, C), gradient of HOST_HEAD_ACT or of HOST_HEAD_X */
    HOST_HEAD_DPRE, /**< training: operands (N, C), gradient of the dense layer's result */
    HOST_MEMORY,    /**< encoder and decoder: operands (N, C), the encoder's output */
    HOST_CROSS_MID, /**< kept: residual stream of a decoder layer after attention to the encoder */
    HOST_CROSS_Q,   /**< kept, decoder: operands (N, q features) */
    HOST_CROSS_KV,  /**< kept, decoder: operands (N, k and v features) of the encoder's rows */
    HOST_CROSS_CTX, /**< kept, decoder: operands (N, q features) */
    HOST_CROSS_SOFTMAX, /**< kept, decoder: maximum and 1/sum of each row of scores */
    HOST_CROSS_OUT,     /**< kept, decoder: (N, C), input of the norm after the sum */
    HOST_DMEMORY,       /**< training: (N, C), gradient of the encoder's output */
    HOST_DCROSS,        /**< training: operands (N, k and v features), rows of the encoder */
    HOST_BUCKETS,    /**< relative positions: int32 (stacks, distances), bucket of each distance */
    HOST_RELATIVE,   /**< relative positions: (stacks, heads, distances), weight of each distance */
    HOST_DRELATIVE,  /**< training: doubles (stacks, samples, heads, buckets), gradients of the
                        weights */
    HOST_ADAPTER_X,  /**< training: operands (N, ranks), s A x of each adapter */
    HOST_ADAPTER_DY, /**< training: operands (N, ranks), s B' dy of each adapter */
    HOST_ADAPTER_LOGITS,  /**< training: (N, rank), B' dlogits of the output layer's adapter */
    HOST_ADAPTER_DROPPED, /**< training: operands (N, inputs) of adapters with dropout */
    HOST_N_BUFFERS
};

/** Buffers of one thread. */
enum host_thread_buffer {
    HOST_OPERAND, /**< operands: a block of rows, as wide as C and F */
    HOST_WIDE,    /**< fp32 results: a block of rows */
    HOST_ROW,     /**< one fp32 row */
    HOST_ROW2,    /**< another fp32 row */
    HOST_SCORE,   /**< scores of a block of queries */
    HOST_DSCORE,
    HOST_SCORE_OP, /**< 16-bit: HOST_SCORE as operands */
    HOST_DSCORE_OP,
    HOST_CAP_SLOPES, /**< training: derivatives of a soft cap, one row; if weights by distance are
                        added to the capped scores */
    HOST_HEAD_OUT,   /**< (queries, d) */
    HOST_DK,
    HOST_DV,           /**< (T, d) */
    HOST_TRANSPOSED,   /**< training: columns of dy of a leaf, transposed or copied */
    HOST_TREE,         /**< partial sums of one gradient block, one per level */
    HOST_WORDS,        /**< dropout: random numbers of one row */
    HOST_ADAPTED,      /**< product with the narrow matrix of an adapter, r wide */
    HOST_ADAPTED_OP,   /**< 16-bit: HOST_ADAPTED as operands */
    HOST_ADAPTED_IN,   /**< training: operands, input of an adapter with dropout */
    HOST_ADAPTED_WIDE, /**< training: gradient of HOST_ADAPTED_IN */
    HOST_ADAPTED_ROW,  /**< training: one fp32 row of an adapter's input */
    HOST_N_THREAD_BUFFERS
};

/** One row of the head: softmax statistics and loss. */
struct host_token {
    union {
        struct {
            double sum;    /**< sum of exp(logit - max) */
            double logits; /**< sum of the logits, where labels are smoothed */
        };
        double log_sum[2]; /**< answers as spans, for each end: log of the sum of exp(logit) over
                              the sequence; INFINITY without a label */
    };
    double nats;
    double weight; /**< weight of nats in the trained loss, multiplied by that of the head */
    union {
        struct {
            float max, label_logit;
        };
        float end[2]; /**< answers as spans: logits for the first and for the last token of an
                         answer */
    };
    int32_t best; /**< lowest column with the largest logit */
    bool counts;  /**< the token is in the loss mask */
};

/** Network s of the S of a row: its row in HOST_ORDER, and its weight. */
struct host_chosen {
    int32_t expert;
    int64_t at;
    float weight;
};

/** The current stage. */
struct host_stage {
    const struct model_stage *plan; /**< borrowed */
    bool reference; /**< the stage is of the reference model: no dropout, nothing is kept */
    int layer;      /**< index of the block in the kept buffers (host_end()); -1: none */
    int64_t n_elems;
    int64_t rows[MODEL_N_TENSOR_KINDS];        /**< first extent of the tensor */
    int64_t cols[MODEL_N_TENSOR_KINDS];        /**< second extent; 1 for a vector */
    const void *weight[MODEL_N_TENSOR_KINDS];  /**< tensors in the model's format; NULL: absent */
    const float *vector[MODEL_N_TENSOR_KINDS]; /**< one-dimensional tensors as fp32; NULL: absent */
    /** Elements from the tensor of an expert to that of the next one, at `weight` or `vector`. */
    int64_t next_expert[MODEL_N_TENSOR_KINDS];
    int view[MODEL_N_TENSOR_KINDS];      /**< index of the tensor's view in the stage, for the first
                                            expert; -1: absent */
    int next_view[MODEL_N_TENSOR_KINDS]; /**< number of views from an expert to the next one */
    /** Matrices of the current part as num_arrange() writes them; NULL: not arranged. */
    const void *arranged[MODEL_N_TENSOR_KINDS];
    /** Matrices whose products leave zeros out; NULL: dense. */
    const struct num_sparse *sparse[MODEL_N_TENSOR_KINDS];
    const struct model_weights *weights; /**< masks of each view; NULL: no tensor has a mask */
    float *grads;
    int64_t n_grads; /**< elements of one vector of gradients */
};

/** The rows that a head takes: some rows of each leaf, leaf after leaf. */
struct host_head_rows {
    /** Owned: rows of the share. NULL: all rows, with `leaf` and `block` of the share. */
    int64_t *row;
    struct host_span *leaf, *block; /**< in the order of `row`; owned unless all rows */
    int64_t n, n_blocks;
};

/** The rows of a stack: tokens of its sequences, cut into leaves and blocks. */
struct host_rows {
    const struct data_batch *batch; /**< batch of these tokens alone; borrowed, or `own` */
    struct data_batch *own;         /**< owned; NULL when there is one stack */
    int64_t n_rows, n_blocks;
    struct host_span *leaf, *block; /**< owned */
};

/** Data for stages with masks, created at the first use; host_sparse.c. */
struct host_sparse;

struct host {
    const struct model *model;
    struct host_limits limits;
    int64_t max_samples, max_rows;
    bool training, keep_logits, fp32;
    /** Training: blocks share one copy of their kept buffers, except for their inputs; it is
     *  recomputed before the backward pass of each block. */
    bool recompute;
    /** With `recompute`: layer whose values the copy has (host_stage.layer); -1: none. */
    int in_copy;
    int n_threads;
    int64_t vocab_block;   /**< columns of a block of logits; the last one may have fewer */
    double gradient_scale; /**< factor of all gradients (host_scale_gradients()) */
    int64_t tree_stride;   /**< elements of one level of HOST_TREE */
    void *buffer[HOST_N_BUFFERS];
    void **thread_buffer; /**< owned, n_threads x HOST_N_THREAD_BUFFERS */
    /* the current micro-batch */
    struct data_share share;
    int64_t n_samples, n_leaves;
    struct host_rows of_stack[MODEL_MAX_STACKS];
    /* the current stack, see host_use_stack() */
    const struct model_stack *stack;
    int64_t T; /**< tokens of a sequence of the stack */
    const struct data_batch *batch;
    int64_t n_rows, n_blocks;
    struct host_span *leaf, *block; /**< borrowed from of_stack */
    struct num_nodes nodes;
    struct model_loss *loss; /**< owned (leaves) */
    int64_t *wanted;         /**< owned (samples): position whose logits are wanted; -1: none */
    float *wanted_logits;    /**< owned, (max_samples, V), allocated at the first use */
    bool any_wanted;
    uint64_t dropout_seed; /**< seed of the current step */
    bool cached;           /**< generation: a leaf has the new positions of one sample */
    int64_t n_beams;       /**< generation: consecutive texts of one prompt */
    /** Owned, allocated at the first use: operands (layers of the decoder, its rows, key and value
     *  features), and (layers, rows of the encoder, features) for the encoder's output. */
    void *cache, *cross_cache;
    struct host_leaf_squares *squares; /**< owned; NULL unless leaves are measured */
    struct host_sparse *sparse;        /**< owned; NULL unless a stage had a mask */
    int64_t *first_grad; /**< owned (views): index of the first gradient of each view in a vector */
    int64_t *grads_left; /**< owned (views): elements of each gradient that are not summed yet */
    struct host_stage stage;
    bool crosses; /**< the current attention is cross attention */
    struct host_head_rows head_rows[MODEL_MAX_HEADS];
    float *token_scale; /**< owned (max_samples): factor of token dropout; NULL: no token dropout */
    double *reference_logp; /**< owned (max_samples): log-probabilities of the sequences of pairs
                               under the reference model, 0 without one; NULL: no pairs */
    int head;               /**< index of the current head */
    int64_t vocab_at;       /**< first column of the current block of logits */
};
/** host_create() with given limits. */
enum wsc_err host_create_limited(struct host **out, const struct model *model, int64_t max_samples,
                                 bool training, const struct host_limits *limits) WSC_CHECKED;
#endif
