/** The model: tensors, stages, the order in which they stream, FLOPs.  Layer 2.
 *
 *  What streams and in which order is said here and nowhere else: the three roles walk the same
 *  plan.  Nothing here computes values.  Shape letters as in the literature: B batch, T sequence,
 *  C hidden, H heads, F filter, V vocabulary, L layers.
 *  Start reading at struct model.
 */
#ifndef WSC_MODEL_H
#define WSC_MODEL_H
#include <wsc/conf.h>
#include <wsc/err.h>
#include <wsc/num.h>

#include <stdbool.h>
#include <stdint.h>

/** What a tensor is for; also its place in a layer.  One row per kind in src/model/tensors.c. */
enum model_tensor_kind {
    MODEL_WTE,
    MODEL_WPE,
    MODEL_WTT,     /**< token types, of an encoder */
    MODEL_NORME_W, /**< norm after the embeddings, of an encoder */
    MODEL_NORME_B,
    MODEL_NORM1_W,
    MODEL_NORM1_B,
    MODEL_Q_W,
    MODEL_Q_B,
    MODEL_K_W,
    MODEL_K_B,
    MODEL_V_W,
    MODEL_V_B,
    MODEL_O_W,
    MODEL_O_B,
    MODEL_NORM3_W,
    MODEL_NORM3_B,
    MODEL_FFN0_W,
    MODEL_FFN0_B,
    MODEL_FFN1_W,
    MODEL_FFN1_B,
    MODEL_NORMF_W,
    MODEL_NORMF_B,
    MODEL_DENSE_W, /**< before the output layer of an encoder */
    MODEL_DENSE_B,
    MODEL_DENSE_NORM_W,
    MODEL_DENSE_NORM_B,
    MODEL_CLASS_W,
    MODEL_CLASS_B,
    MODEL_LM_HEAD_W,
    MODEL_LM_HEAD_B,
    MODEL_N_TENSOR_KINDS
};

struct model_tensor {
    enum model_tensor_kind kind;
    int layer;      /**< 0 .. L-1; -1 outside the blocks */
    char name[96];  /**< Model Zoo name, e.g. "model.lm_head.weight" */
    char alias[96]; /**< second Model Zoo name of the same tensor; "" = none */
    int n_dims;
    int64_t shape[2]; /**< row-major; linear weights are (out, in) */
    int64_t n_elems;
    bool decay;            /**< weight decay applies */
    struct conf_init init; /**< resolved: never CONF_INIT_DEFAULT */
    double lr_scale;       /**< muP; 1 otherwise */
};

/** Computation is cut into parts; a stage is what streams: one part or all parts of a block. */
enum model_part {
    MODEL_PART_EMBED, /**< wte[token] + wpe[position]; encoders: token types, norm */
    MODEL_PART_QKV,   /**< norm1, q, k, v projections */
    MODEL_PART_ATTN,  /**< attention, output projection, residual */
    MODEL_PART_FFN0,  /**< norm3, first linear, nonlinearity */
    MODEL_PART_FFN1,  /**< second linear, residual */
    MODEL_PART_HEAD   /**< final norm, logits, cross entropy; encoders: a dense layer before */
};

/** A tensor inside a stage's streamed vector. */
struct model_view {
    int tensor;     /**< index in model->tensor */
    int64_t offset; /**< elements from the start of the stage's vector */
};
enum { MODEL_MAX_VIEWS = 20, MODEL_MAX_PARTS = 4 };
struct model_stage {
    int layer; /**< -1 outside the blocks */
    int n_parts;
    enum model_part part[MODEL_MAX_PARTS]; /**< in forward order */
    int n_views;
    struct model_view view[MODEL_MAX_VIEWS];
    int64_t n_elems; /**< length of the streamed vector */
    char name[48];   /**< for traces and tables, e.g. "layers.3" */
};

struct model {
    int64_t L, C, H, F, V, T; /**< T = max sequence length (MSL) */
    int64_t head_dim;         /**< C / H */
    bool causal;              /**< a token attends to itself and those before; else to all */
    bool embed_norm;          /**< token types and a norm in the embedding */
    int64_t head_tokens;      /**< tokens of a sequence that go through the head */
    int64_t head_outputs;     /**< V, or the number of classes */
    bool head_dense;          /**< a C x C layer with a nonlinearity in the head */
    bool head_norm;           /**< a norm in the head */
    bool tied;                /**< lm_head is wte: the head stage streams wte again */
    double norm_eps;
    double qk_scale;        /**< 1/sqrt(d), or 1/d for muP */
    bool qk_scale_by_layer; /**< additionally 1/(layer + 1) */
    double embeddings_scale, logits_scale;
    enum conf_nonlinearity nonlinearity;
    enum num_format format; /**< of weights on the wire and operands of products */
    bool softmax_16;        /**< attention scores are rounded to format; else they stay fp32 */
    int n_tensors;
    struct model_tensor *tensor; /**< owned, n_tensors, in checkpoint order */
    int n_stages;
    struct model_stage *stage; /**< owned, n_stages, in forward order */
    int64_t n_params;          /**< tied tensors counted once */
    int64_t n_stage_elems_max; /**< longest stage vector */
};

/** Build tables and plan.  Errors: heads that do not divide the width, unsupported families
 *  (named, with the key), sizes beyond 8192 layers or 2^20 in one direction. */
enum wsc_err model_create(struct model **out, const struct conf_params *params,
                          enum conf_granularity granularity) WSC_CHECKED;
void model_destroy(struct model **model);

/** Index of the view of tensor kind @p kind in @p stage, or -1.  A tied head streams MODEL_WTE. */
int model_stage_find(const struct model *model, const struct model_stage *stage,
                     enum model_tensor_kind kind);

/** One transfer of weights in the order of a step: forward 0 .. n-1, then backward n-1 .. 0. */
struct model_transfer {
    int stage;
    bool backward;
};
/** Transfers of one pass over the stages: 2 n_stages for training, n_stages for evaluation. */
static inline int model_n_transfers(const struct model *m, bool training)
{
    return training ? 2 * m->n_stages : m->n_stages;
}
/** Transfer @p k of a pass. */
static inline struct model_transfer model_transfer_at(const struct model *m, int k)
{
    return k < m->n_stages ? (struct model_transfer){k, false}
                           : (struct model_transfer){2 * m->n_stages - 1 - k, true};
}

/** Training FLOPs of one token, forward and backward, without recomputation:
 *  6 (matrix weights, the head's for its share of the tokens) + 12 L T C (attention over the full
 *  square). */
double model_flop_per_token(const struct model *model);
/** Learning rate of update number @p t (0 = first) by the phases of @p optimizer. */
double model_learning_rate(const struct conf_optimizer *optimizer, int64_t t);
#endif
