/** The state of a host: buffers, the micro-batch and the stage at hand.
 *
 *  Numerics as in <wsc/host.h>; operands of products are weights, activations, their gradients and
 *  softmax probabilities, and a buffer of operands is a `void *` in the model's format.
 *
 *  Exactness.  Rows (tokens) of a leaf are cut into blocks by the leaf's size alone, weight
 *  gradients into blocks by their shape alone; every product belongs to one block, so its shape
 *  does not depend on the share, and threads only choose who computes which block.
 */
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
    HOST_BLOCK_ROWS = 256, /**< most rows of one activation product */
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
    HOST_X,          /**< kept: residual stream at a block's start, and at the head */
    HOST_MID,        /**< kept: residual stream between attention and FFN */
    HOST_NORMS,      /**< kept: mean and 1/std of each norm's rows */
    HOST_QKV,        /**< kept: operands (N, q, k and v features) */
    HOST_RAW_Q,      /**< norms of queries, kept: (N, q features), their input */
    HOST_RAW_K,      /**< norms of keys, kept: (N, key features), their input */
    HOST_STATS_Q,    /**< kept: mean and 1/std of each row and head of queries */
    HOST_STATS_K,    /**< kept: mean and 1/std of each row and head of keys */
    HOST_DNORMED_Q,  /**< training: (N, q features), gradient of normed queries */
    HOST_DNORMED_K,  /**< training: (N, key features), gradient of normed keys */
    HOST_CTX,        /**< kept: operands (N, q features), attention before its output projection */
    HOST_SOFTMAX,    /**< kept: maximum and 1/sum of each row of scores */
    HOST_PRE,        /**< kept: (N S, F or 2F) before the nonlinearity; S networks of a token */
    HOST_NORMED,     /**< kept: operands (N, C), norm1's output where attention and FFN share it */
    HOST_ATTN_OUT,   /**< kept: (N, C), input of norm1_post */
    HOST_FFN_OUT,    /**< kept: (N, C), input of norm3_post */
    HOST_ROUTED,     /**< kept: (N, E), values that choose experts, mostly probabilities */
    HOST_WEIGHING,   /**< kept: (N, E), values that weigh experts, if different */
    HOST_CHOSEN,     /**< kept: struct host_chosen (N, S) */
    HOST_ORDER,      /**< kept: row and slot (N S) in the order of leaves and experts */
    HOST_RANGES,     /**< kept: first place of every leaf and expert */
    HOST_TABLE,      /**< positions: cosines and sines (T, rotary_dim), or sines (T, C) */
    HOST_PLACES,     /**< experts: results (N S, C), then gradients of their input */
    HOST_LOGITS,     /**< training: one block of logits or all */
    HOST_TOKENS,     /**< struct host_token per row */
    HOST_VECTORS,    /**< 16-bit: the stage's one-dimensional tensors as fp32 */
    HOST_ARRANGED,   /**< matrices of the current part as num_arrange() writes them */
    HOST_DRES,       /**< training: gradient of the residual stream */
    HOST_DRES_OP,    /**< 16-bit training: HOST_DRES as operands */
    HOST_ACT,        /**< training: operands (N S, F) after the nonlinearity */
    HOST_DPRE,       /**< training: operands (N S, F or 2F) */
    HOST_DQKV,       /**< training: operands (N, q, k and v features) */
    HOST_DCTX,       /**< training: operands (N, q features) */
    HOST_ARRANGED_X, /**< training: input of a linear layer by leaves, as num_arrange() writes it */
    HOST_XN,         /**< training: operands (N, C), output of the current norm */
    HOST_DXN,        /**< training: gradient of HOST_XN, fp32 */
    HOST_DLOGITS,    /**< 16-bit training: one block of operands */
    HOST_DBRANCH,    /**< training: operands (N, C), gradient of a branch before dropout and norm */
    HOST_DSIDE,      /**< training: (N, C), gradient of x through the FFN of a parallel block */
    HOST_PLACES_XN,  /**< training: operands (N S, C), inputs of the experts */
    HOST_PLACES_DY,  /**< training: operands (N S, C), gradients of their outputs */
    HOST_DCHOSEN,    /**< training: (N, S) gradients of the chosen experts' weights */
    HOST_DROUTED,    /**< training: operands (N, E), gradient of the router's output */
    HOST_LOAD,       /**< training: doubles (samples, E), fraction of tokens of an expert */
    HOST_HEAD_X,     /**< heads of some rows: (N, C), those rows of the last block's output */
    HOST_HEAD_IN,    /**< heads with a dense layer: operands (N, C), its input */
    HOST_HEAD_PRE,   /**< (N, C), its result before the nonlinearity */
    HOST_HEAD_ACT,   /**< (N, C), its result after the nonlinearity */
    HOST_HEAD_DACT,  /**< training: (N, C), gradient of HOST_HEAD_ACT or of the head's rows */
    HOST_HEAD_DPRE,  /**< training: operands (N, C), gradient of the dense layer's result */
    HOST_MEMORY,     /**< encoder and decoder: operands (N, C), the encoder's output */
    HOST_CROSS_MID,  /**< kept by decoder layer: the stream after attention to the encoder's output
                      */
    HOST_CROSS_Q,    /**< kept by decoder layer: operands (N, q features) */
    HOST_CROSS_KV,   /**< kept by decoder layer: operands (N, k and v features), rows of the encoder
                      */
    HOST_CROSS_CTX,  /**< kept by decoder layer: operands (N, q features) */
    HOST_CROSS_SOFTMAX,   /**< kept by decoder layer: maximum and 1/sum of each row of scores */
    HOST_CROSS_OUT,       /**< kept by decoder layer: (N, C), input of the norm after the sum */
    HOST_DMEMORY,         /**< training: (N, C), gradient of the encoder's output */
    HOST_DCROSS,          /**< training: operands (N, k and v features), rows of the encoder */
    HOST_BUCKETS,         /**< relative positions: int32, the bucket of each distance, by stack */
    HOST_RELATIVE,        /**< the table by distance instead of bucket, by stack and head */
    HOST_DRELATIVE,       /**< training: doubles, its gradient by stack, sample, head and bucket */
    HOST_ADAPTER_X,       /**< training: operands (N, ranks), s A x of each adapter */
    HOST_ADAPTER_DY,      /**< training: operands (N, ranks), s B' dy of each adapter */
    HOST_ADAPTER_LOGITS,  /**< training: (N, rank), B' dlogits of the output layer's adapter */
    HOST_ADAPTER_DROPPED, /**< training: operands (N, inputs) of adapters with dropout */
    HOST_N_BUFFERS
};

/** Buffers of one thread. */
enum host_thread_buffer {
    HOST_OPERAND, /**< a block of rows of operands, as wide as C and F */
    HOST_WIDE,    /**< a block of rows of fp32 results */
    HOST_ROW,     /**< one fp32 row */
    HOST_ROW2,    /**< another fp32 row */
    HOST_SCORE,   /**< scores of a block of queries */
    HOST_DSCORE,
    HOST_SCORE_OP, /**< 16-bit: HOST_SCORE as operands */
    HOST_DSCORE_OP,
    HOST_CAP_SLOPES, /**< training: derivatives of a soft cap below weights by distance, one row */
    HOST_HEAD_OUT,   /**< (queries, d) */
    HOST_DK,
    HOST_DV,           /**< (T, d) */
    HOST_TURNED,       /**< training: columns of a leaf's dy, transposed or copied */
    HOST_TREE,         /**< partial sums of one gradient block, one per level */
    HOST_WORDS,        /**< dropout: random numbers of one row */
    HOST_ADAPTED,      /**< narrow side of an adapter */
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
            double sum;    /**< of exp(logit - max) */
            double logits; /**< their sum, where labels are smoothed */
        };
        double log_sum[2]; /**< of spans: log of the sum of exp(logit) over the sequence; INFINITY
                                without a label */
    };
    double nats;
    double weight; /**< weight of nats in the trained loss, times that of the head */
    union {
        struct {
            float max, label_logit;
        };
        float end[2]; /**< of spans: logits of the first and of the last token of an answer */
    };
    int32_t best; /**< lowest column with the largest logit */
    bool counts;  /**< in the loss mask */
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
    bool reference;                 /**< of the reference model: no dropout, nothing is kept */
    int layer; /**< index of the block in the kept buffers, see host_end(); -1: none */
    int64_t n_elems;
    int64_t rows[MODEL_N_TENSOR_KINDS];        /**< first extent of the tensor */
    int64_t cols[MODEL_N_TENSOR_KINDS];        /**< second one; 1 of a vector */
    const void *weight[MODEL_N_TENSOR_KINDS];  /**< in the model's format; NULL = absent */
    const float *vector[MODEL_N_TENSOR_KINDS]; /**< one-dimensional tensors; NULL = absent */
    int64_t next_expert[MODEL_N_TENSOR_KINDS]; /**< elements from an expert's tensor to the next
                                                    one's, where `weight` or `vector` points */
    int view[MODEL_N_TENSOR_KINDS];            /**< of the stage, the first expert's; -1 = absent */
    int next_view[MODEL_N_TENSOR_KINDS];       /**< views from an expert to the next one */
    /** Matrices of the current part as num_arrange() writes them; NULL: not arranged. */
    const void *arranged[MODEL_N_TENSOR_KINDS];
    /** Matrices whose products leave zeros out; NULL: dense. */
    const struct num_sparse *sparse[MODEL_N_TENSOR_KINDS];
    const struct model_weights *weights; /**< of each view; NULL: no tensor has a mask */
    float *grads;
    int64_t n_grads; /**< elements of one vector of gradients */
};

/** The rows that a head takes: some rows of each leaf, leaf after leaf. */
struct host_head_rows {
    int64_t
        *row; /**< rows of the share, owned; NULL: all rows, `leaf` and `block` are the share's */
    struct host_span *leaf, *block; /**< in the order of `row`; owned unless all rows */
    int64_t n, n_blocks;
};

/** The rows of a stack: tokens of its sequences, cut into leaves and blocks. */
struct host_rows {
    const struct data_batch *batch; /**< of these tokens alone, borrowed or `own` */
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
    bool recompute; /**< training: blocks share one copy of what they keep besides their input; it
                     * is recomputed before the backward pass of each */
    int in_copy;    /**< recompute: layer whose values the copy has (host_stage.layer); -1: none */
    int n_threads;
    int64_t vocab_block;   /**< columns of all blocks of logits but the last */
    double gradient_scale; /**< factor of all gradients, see host_scale_gradients() */
    int64_t tree_stride;   /**< elements of one level of HOST_TREE */
    void *buffer[HOST_N_BUFFERS];
    void **thread_buffer; /**< owned, n_threads x HOST_N_THREAD_BUFFERS */
    /* the current micro-batch */
    struct data_share share;
    int64_t n_samples, n_leaves;
    struct host_rows of_stack[MODEL_MAX_STACKS];
    /* the current stack, see host_use_stack() */
    const struct model_stack *stack;
    int64_t T; /**< tokens of its sequences */
    const struct data_batch *batch;
    int64_t n_rows, n_blocks;
    struct host_span *leaf, *block; /**< borrowed from of_stack */
    struct num_nodes nodes;
    struct model_loss *loss; /**< owned, one per leaf */
    int64_t *wanted;         /**< owned, position per sample; -1 = none */
    float *wanted_logits;    /**< owned, (max_samples, V), allocated at the first use */
    bool any_wanted;
    uint64_t dropout_seed; /**< of this step */
    bool cached;           /**< generation: leaves are the new positions of a sample, one each */
    int64_t n_beams;       /**< generation: consecutive texts of one prompt */
    /** Owned, allocated at the first use: operands (layers of the decoder, its rows, key and value
     *  features), and (layers, rows of the encoder, features) for the encoder's output. */
    void *cache, *cross_cache;
    struct host_leaf_squares *squares; /**< owned; NULL unless leaves are measured */
    struct host_sparse *sparse;        /**< owned; NULL unless a stage had a mask */
    int64_t *first_grad; /**< owned (views): where each view's gradients start in a vector */
    int64_t *grads_left; /**< owned (views): elements of its gradient not summed yet */
    struct host_stage stage;
    bool crosses; /**< the current attention is cross attention */
    struct host_head_rows head_rows[MODEL_MAX_HEADS];
    float *token_scale;     /**< owned (max_samples), token dropout's factor; NULL: none */
    double *reference_logp; /**< owned (max_samples), of pairs: log-probabilities of the sequences
                                 under the reference model, 0 without one; NULL: no pairs */
    int head;               /**< index of the current head */
    int64_t vocab_at;       /**< first column of the current block of logits */
};
/** host_create() with given limits. */
enum wsc_err host_create_limited(struct host **out, const struct model *model, int64_t max_samples,
                                 bool training, const struct host_limits *limits) WSC_CHECKED;
#endif
