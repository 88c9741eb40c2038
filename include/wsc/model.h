/** Model: describes a model as data: its tensors, its stages in the order in which they stream, and
 *  its FLOPs.
 *
 *  Only this module defines which tensors stream and in which order; the three kinds of roles use
 *  it. It computes no values and does not communicate. Every rank makes the model from the params,
 *  and it never changes. Shape letters as in the literature: B batch, T sequence, C hidden, H
 *  heads, F filter, V vocabulary, L layers.
 *
 *      TRY(model_create(&model, params, HW_STREAM_BLOCK));
 *      for (int k = 0; k < model_n_transfers(model, true); k++) {
 *          struct model_transfer t = model_transfer_at(model, k);
 *          use(&model->stage[t.stage], t.backward);
 *      }
 *      model_destroy(&model);
 *
 *  Start reading at struct model. Read next: <wsc/stream.h> for the walk over micro-batches,
 *  <wsc/cycles.h> for the cycles of a stage, <wsc/host.h> for its values. */
#ifndef WSC_MODEL_H
#define WSC_MODEL_H
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/num.h>
#include <wsc/zoo.h>

#include <stdbool.h>
#include <stdint.h>

/** Kind of a tensor: its function in the model. src/model/model_tensors.c has one row per kind with
 *  names, shapes and initial values. W: weight or gain, B: bias. */
enum model_tensor_kind {
    /** Token embeddings, (V, C). */
    MODEL_WTE,
    /** Learned positions, (T, C). */
    MODEL_WPE,
    MODEL_WTT,     /**< token types of an encoder, (token_types, C) */
    MODEL_NORME_W, /**< norm after the embeddings, (C) */
    MODEL_NORME_B,
    /** Norm before attention, (C). */
    MODEL_NORM1_W,
    MODEL_NORM1_B,
    /** Query projection, (H d, C); keys and values: (kv_heads d, C). */
    MODEL_Q_W,
    MODEL_Q_B,
    MODEL_K_W,
    MODEL_K_B,
    MODEL_V_W,
    MODEL_V_B,
    /** Output projection of attention, (C, H d). */
    MODEL_O_W,
    MODEL_O_B,
    /** Norm of the queries of a head, (d), and of its keys, where the model has them. */
    MODEL_Q_NORM_W,
    MODEL_Q_NORM_B,
    MODEL_K_NORM_W,
    MODEL_K_NORM_B,
    /** Norm after attention, before the residual sum, or with norm_last after the sum, (C). */
    MODEL_NORM1_POST_W,
    MODEL_NORM1_POST_B,
    MODEL_NORM3_W, /**< norm before the feed-forward network, (C) */
    MODEL_NORM3_B,
    MODEL_ROUTER_W, /**< (experts, C): chooses experts */
    /** First linear layer of a feed-forward network, (F, C). */
    MODEL_FFN0_W,
    MODEL_FFN0_B,
    MODEL_GLU_W, /**< gate of a gated network, a second linear layer, (F, C) */
    MODEL_GLU_B,
    /** Second linear layer, (C, F). */
    MODEL_FFN1_W,
    MODEL_FFN1_B,
    /** Norm after the feed-forward network, before or with norm_last after the sum, (C). */
    MODEL_NORM3_POST_W,
    MODEL_NORM3_POST_B,
    /** Norm before the head, (C). */
    MODEL_NORMF_W,
    MODEL_NORMF_B,
    MODEL_DENSE_W, /**< linear layer before the output layer of a masked language model, (C, C) */
    MODEL_DENSE_B,
    MODEL_DENSE_NORM_W, /**< norm after that layer, (C) */
    MODEL_DENSE_NORM_B,
    MODEL_POOL_W, /**< pooler: linear layer before the classifier of whole sequences, (C, C) */
    MODEL_POOL_B,
    /** Classifier of an encoder, (classes, C). */
    MODEL_CLASS_W,
    MODEL_CLASS_B,
    /** Output layer, (V, C); absent when tied to MODEL_WTE. */
    MODEL_LM_HEAD_W,
    MODEL_LM_HEAD_B,
    /** Relative positions, (buckets, H), or slopes of ALiBi, (H, 1), added to the scores of all
     *  layers of a stack; part of the stack's embedding stage. */
    MODEL_RELATIVE_W,
    /* of an encoder with a decoder */
    /** Attention to the encoder's output: queries from the decoder, keys and values from there. */
    MODEL_CROSS_Q_W,
    MODEL_CROSS_Q_B,
    MODEL_CROSS_K_W,
    MODEL_CROSS_K_B,
    MODEL_CROSS_V_W,
    MODEL_CROSS_V_B,
    MODEL_CROSS_O_W,
    MODEL_CROSS_O_B,
    /** Norm before the attention to the encoder's output, (C), and after the sum with it. */
    MODEL_CROSS_NORM_W,
    MODEL_CROSS_NORM_B,
    MODEL_CROSS_POST_W,
    MODEL_CROSS_POST_B,
    /** Norm of the encoder's output, (C), where a decoder follows. */
    MODEL_MEMORY_W,
    MODEL_MEMORY_B,
    /* of a diffusion transformer; its norms have scales and shifts for a sequence instead of gains
     * and biases */
    /** Embedding of patches, (C, elements of a patch). */
    MODEL_PATCH_W,
    MODEL_PATCH_B,
    MODEL_LABEL_W, /**< classes of images, (V, C) */
    /** The layers of the time step, (C, frequencies) and (C, C). These layers, scales, shifts and
     *  gates are multiplied with one row per sequence: model_is_condition(). */
    MODEL_TIME0_W,
    MODEL_TIME0_B,
    MODEL_TIME1_W,
    MODEL_TIME1_B,
    /** Scale and shift of the norm before attention, (C, C), and gate of attention's result. */
    MODEL_SCALE1_W,
    MODEL_SCALE1_B,
    MODEL_SHIFT1_W,
    MODEL_SHIFT1_B,
    MODEL_GATE1_W,
    MODEL_GATE1_B,
    /** Scale, shift and gate of the feed-forward network, (C, C). */
    MODEL_SCALE3_W,
    MODEL_SCALE3_B,
    MODEL_SHIFT3_W,
    MODEL_SHIFT3_B,
    MODEL_GATE3_W,
    MODEL_GATE3_B,
    /** Scale and shift of the norm before the output layer, (C, C). */
    MODEL_SCALEF_W,
    MODEL_SCALEF_B,
    MODEL_SHIFTF_W,
    MODEL_SHIFTF_B,
    MODEL_NOISE_W, /**< output layer, (C, elements of a patch), as in a transposed convolution */
    MODEL_NOISE_B, /**< (channels) or, without the convolution, (elements of a patch) */
    /** Kinds without adapters. */
    MODEL_N_KINDS,
    /** Low-rank adapter of a matrix of kind k: A (r, in) has kind MODEL_ADAPTER_A + k, B (out, r)
     *  kind MODEL_ADAPTER_B + k; of an embedding see model_is_table().  A matrix has one where
     * model->adapter[k].r is not 0. */
    MODEL_ADAPTER_A = MODEL_N_KINDS,
    MODEL_ADAPTER_B = 2 * MODEL_N_KINDS,
    MODEL_N_TENSOR_KINDS = 3 * MODEL_N_KINDS
};
/** The kind of the matrix to which an adapter tensor belongs; any other kind is returned unchanged.
 */
static inline enum model_tensor_kind model_base_kind(enum model_tensor_kind kind)
{
    return (enum model_tensor_kind)((int)kind % MODEL_N_KINDS);
}

/** True for tensors that are multiplied with one row per sequence instead of its tokens: time step,
 *  scales, shifts and gates of a diffusion transformer. */
static inline bool model_is_condition(enum model_tensor_kind kind)
{
    return kind >= MODEL_TIME0_W && kind <= MODEL_SHIFTF_B;
}
/** True for embeddings, (rows, C), whose adapter is transposed: row i + s (B A)' of column i, with
 * A (r, rows) and B (C, r). */
static inline bool model_is_table(enum model_tensor_kind kind)
{
    return kind == MODEL_WTE || kind == MODEL_WPE;
}

/** One tensor: kind, names, shape, initial values and training. */
struct model_tensor {
    /** Kind of the tensor. */
    enum model_tensor_kind kind;
    int layer; /**< 0 .. L-1; -1 outside the blocks */
    int stack; /**< stack of the tensor; 0 for a table that both stacks use */
    /** First stage that streams it; a shared table is streamed by a later stage too. */
    int first_stage;
    int expert;      /**< number of its expert, routed ones first, then shared ones; -1: none */
    char name[128];  /**< Model Zoo name, e.g. "model.lm_head.weight" */
    char alias[128]; /**< second Model Zoo name of the same tensor; "" = none */
    char also[128];  /**< third one; "" = none */
    /** 1 or 2. */
    int n_dims;
    int64_t shape[2]; /**< row-major; linear weights are (out, in) */
    /** Product of the dimensions. */
    int64_t n_elems;
    bool decay; /**< weight decay applies */
    /** Sorts tensors in the order in which the Model Zoo's classes register their parameters; equal
     *  numbers: in the order of the table. */
    int64_t registered;
    struct zoo_init init; /**< resolved: neither DEFAULT nor VARIANCE_SCALING */
    int64_t zero_row;     /**< the row that starts from 0 instead, that of padding; 0: none */
    /** Factor on its learning rate: groups of adjust_learning_rate times muP; 1 otherwise. */
    double lr_scale;
    int lr_group; /**< sorts factors: group of adjust_learning_rate, in the Model Zoo's order */
    /** Entries of the optimizer's tagged schedules of learning rate and of weight decay that apply
     *  to it, from 1 on; 0: the schedules for all tensors. */
    int tagged_rate, tagged_decay;
    unsigned tags; /**< its tags in optimizer.params: bit i for that of entry i; 0: none */
    /** Index of its entry in model->sparsity, the first whose filter matches; -1: dense. */
    int sparsity;
    bool selected; /**< only some of its weights train, model.selective_grad */
    bool frozen;   /**< it streams down, but has no gradient and no optimizer state */
    bool backward; /**< one of its stages has a backward pass: none below the first that trains */
    /** Belongs to the reference model of preference optimization, which is frozen. */
    bool reference;
    /** Random stream of its initial values; adapters do not change the streams of other tensors. */
    int64_t init_stream;
};

/** Part: a group of operations of a stage. A stage has one part or all parts of a block. */
enum model_part {
    MODEL_PART_EMBED,      /**< wte[token] + wpe[position], norm; encoders: token types; diffusion
                                transformers: patches, time step and class */
    MODEL_PART_QKV,        /**< norm1, q, k, v projections, rotation and norms of q and k */
    MODEL_PART_ATTN,       /**< attention, output projection, norm1_post, residual */
    MODEL_PART_CROSS_QKV,  /**< norm, queries; keys and values of the encoder's output */
    MODEL_PART_CROSS_ATTN, /**< attention to the encoder's output, output projection, residual */
    MODEL_PART_FFN0,       /**< norm3, router, first linear layers, nonlinearity */
    MODEL_PART_FFN1,       /**< second linear, norm3_post, residual */
    MODEL_PART_MEMORY,     /**< norm of the encoder's output, which stays until the backward pass */
    MODEL_PART_HEAD,       /**< the heads one after the other: struct model_head */
    MODEL_N_PARTS
};

/** A tensor inside a stage's streamed vector. */
struct model_view {
    int tensor;     /**< index in model->tensor */
    int64_t offset; /**< elements from the start of the stage's vector */
};
/** Parts of a block. */
enum { MODEL_MAX_PARTS = 6 };
/** Stage: the unit that streams, which is the embedding, a block or one of its parts, or the head.
 */
struct model_stage {
    int layer; /**< -1 outside the blocks */
    int stack; /**< stack whose tokens it computes; with MODEL_PART_MEMORY the last one */
    /** Parts of the stage, 1 to MODEL_MAX_PARTS. */
    int n_parts;
    enum model_part part[MODEL_MAX_PARTS]; /**< in forward order */
    /** Tensors that it streams. */
    int n_views;
    /** Owned by the model, n_views. The experts of a part have equal lists of views, expert by
     *  expert. */
    struct model_view *view;
    /** The views of part i are [first_view[i], first_view[i + 1]). */
    int first_view[MODEL_MAX_PARTS + 1];
    int64_t n_elems; /**< length of the streamed vector */
    int64_t n_grads; /**< length of its gradient: elements of tensors that are not frozen */
    char name[48];   /**< for traces and tables, e.g. "layers.3" */
};

/** Adapter of the matrices of one kind, the same in all layers (Hu et al. 2021): y = W x + scale B
 * A x, with dropout on the x of A. */
struct model_adapter {
    int64_t r;      /**< rank; 0: none */
    double scale;   /**< alpha / r */
    double dropout; /**< probability, in training */
};

/** Sums over pairs of preference optimization: beta times the log-ratio of policy and reference,
 *  and log-probabilities under the policy. */
struct model_rewards {
    double chosen, rejected;
    double chosen_logp, rejected_logp; /**< nats; with loss type ipo means over tokens */
};

/** Loss sums of some tokens. A wafer reports them for each micro-shard after the last forward
 *  stage. */
struct model_loss {
    double loss_sum;   /**< the trained loss: sum over heads of loss times weight of the head */
    int64_t n_tokens;  /**< rows with a label that the first head computed */
    int64_t n_correct; /**< of these rows, those whose argmax equals the label */
    double nats;       /**< loss of the first head without its weight */
    /** A count and its correct part. Second head: sequences, and those with the correct class.
     *  Preference optimization: pairs, and those whose chosen text has the greater reward. Spans:
     *  sequences with an answer, and those with both ends correct. */
    int64_t n_sequences, n_sequences_correct;
    struct model_rewards rewards; /**< of these pairs */
};

/** Tokens of one class of a token classification: by label, by prediction, and by both at once. Or
 *  sequences of one set of an evaluation (enum data_mnli_set): all, and with the right class. */
struct model_class_count {
    int64_t labels, predicted, found;
};
/** Add a token to the counts of @p n classes; a @p predicted that is no class (of logits that are
 *  NaN) is not counted. */
void model_count_class(struct model_class_count *count, int64_t n, int32_t label,
                       int32_t predicted);
/** Add a sequence to the count of its set; @p correct: its class is the most likely one. */
void model_count_sequence(struct model_class_count *set, bool correct);
/** Add the counts @p more of @p n classes to @p sum. */
void model_add_classes(struct model_class_count *sum, const struct model_class_count *more,
                       int64_t n);
/** Mean of F1 = 2 P R / (P + R) over those of the @p n classes that are not @p ignored (n); P is
 *  found / predicted and R is found / labels, 0 where nothing is predicted or labelled. NaN when
 * all are ignored. */
double model_macro_f1(const struct model_class_count *count, const bool *ignored, int64_t n);

/** Log-probabilities of the two texts of a pair, under the policy and under the reference model. */
struct model_pair {
    double chosen, rejected, reference_chosen, reference_rejected;
};
/** Log-probability of a sequence from @p nats, the sum of its tokens' cross entropies: -nats, or
 *  with loss type ipo minus their mean; 0 when no token counts. */
double model_sequence_logp(const struct zoo_dpo *dpo, double nats, int64_t n_tokens);
/** Add loss, rewards and counts of a pair to @p sum. Returns d loss / d log-probability of the
 *  chosen text; for the rejected text it has the opposite sign. */
double model_pair_add(const struct zoo_dpo *dpo, const struct model_pair *pair,
                      struct model_loss *sum);
/** d loss / d cross entropy of each of the @p n_tokens tokens of a sequence, from @p slope, d loss
 * / d log-probability. */
double model_pair_weight(const struct zoo_dpo *dpo, double slope, int64_t n_tokens);

/** Rows (tokens) of a sequence that a head uses. */
enum model_rows {
    MODEL_ROWS_ALL,
    MODEL_ROWS_LABELLED, /**< those inside the loss mask */
    MODEL_ROWS_FIRST     /**< the first token, which represents the sequence */
};
/** Loss of a head. */
enum model_loss_kind {
    MODEL_CROSS_ENTROPY, /**< of a row's label under the softmax of its outputs */
    MODEL_SQUARED_ERROR, /**< of a sequence's only output and its target */
    MODEL_SPAN_ENTROPY,  /**< of the first and the last token of an answer, each under the softmax
                              of its output over the rows of the sequence */
    MODEL_PREFERENCE,    /**< of pairs of sequences, whose cross entropies are summed first */
    MODEL_NOISE_ERROR    /**< mean of the squared errors of all outputs of all rows */
};
/** Outputs of a head with MODEL_SPAN_ENTROPY: the two ends of an answer. */
enum { MODEL_SPAN_ENDS = 2 };
/** An end of an answer. labelled: it has a label; found: the label has the largest logit; nats: its
 *  cross entropy. */
struct model_answer_end {
    bool labelled, found;
    double nats;
};
/** The answer of a sequence; @c weight: that of the head. */
struct model_answer {
    struct model_answer_end end[MODEL_SPAN_ENDS];
    double weight;
};
/** Add loss and counts of an answer to @p sum. */
void model_answer_add(const struct model_answer *a, struct model_loss *sum);
/** Most heads of a model. */
enum { MODEL_MAX_HEADS = 2 };
/** Head: the layers from the last block's output to a loss. It selects rows, then applies the
 *  layers that it has, in this order: norm, linear layer with nonlinearity, norm, output layer. A
 *  layer is given by the kind of its weight, and its bias is the next kind; 0 (MODEL_WTE): no such
 *  layer. src/model/model_heads.c has the table of heads. */
struct model_head {
    enum model_rows rows;
    int64_t tokens; /**< maximum tokens of a sequence that it computes; for virtual time */
    /** The layers before the output layer, in order; input_norm MODEL_SCALEF_W: a norm with scale
     *  and shift for a sequence. */
    enum model_tensor_kind input_norm, dense, norm;
    enum zoo_nonlinearity function; /**< after `dense` */
    double dropout;                 /**< before the output layer, training */
    enum model_tensor_kind output;  /**< MODEL_LM_HEAD_W, or MODEL_WTE's table when tied */
    int64_t outputs;                /**< classes, the vocabulary, or the elements of a patch */
    bool bias;                      /**< of the output layer */
    enum model_loss_kind loss;
    double weight;    /**< weight of its loss in the sum */
    double smoothing; /**< fraction of the uniform distribution in the labels, in training */
};

/** Stack: consecutive blocks on one sequence of tokens. Most models have one stack; an encoder with
 *  a decoder has two, the encoder first. A sample of the batch has the tokens of the first stack,
 *  then those of the second one. */
struct model_stack {
    int64_t T;             /**< tokens of a sequence */
    int64_t first, L;      /**< its blocks: first, first + 1, ..., first + L - 1 of the model's */
    int64_t V;             /**< vocabulary */
    int64_t table_rows;    /**< rows of the learned position table: T, or more */
    bool causal;           /**< a token attends to itself and those before; else to all */
    bool cross;            /**< its blocks attend to the output of the previous stack */
    double filter_dropout; /**< after the feed-forward network's nonlinearity, training */
    /** Factor of its attention scores: 1/sqrt(d), or 1/d for muP, or 1; times
     *  attention_logits_alpha. */
    double qk_scale;
};
/** Most stacks of a model. */
enum { MODEL_MAX_STACKS = 2 };

/** A model: its section of the params file, derived sizes, the table of its tensors, and its stages
 *  in forward order. Features that are off are 0 or false. Only model_create() writes the members,
 *  except that tests and programs_layout_init() make small models by hand.
 *
 *  `zoo` has the keys of the file. The other members are sizes, with the symbols of the equations,
 *  and derived features. When a member and a key of `zoo` have one meaning (nonlinearity,
 *  rotary_dim, window, pad_token), use the member. */
struct model {
    /** Section `model` after defaults and checks. Its lists `freeze`, `lora_params` and
     *  `selective_grad` are empty here: tensor[].frozen, adapter[] and tensor[].selected replace
     *  them. */
    struct zoo_model zoo;
    /** Sizes: layers, hidden, query heads, filter, vocabulary of the output, T = max sequence
     * length (MSL) in tokens; each at least 1.  L and T are those of all stacks together. */
    int64_t L, C, H, F, V, T;
    int n_stacks; /**< 1, or 2 of an encoder with a decoder */
    struct model_stack stack[MODEL_MAX_STACKS];
    int64_t buckets; /**< buckets of relative positions of each stack; 0: none */
    /** Instead of buckets each head has one trained slope of the distance. */
    bool slopes;
    int64_t head_dim;      /**< width of a head; C / H unless attention has its own width */
    int64_t kv_heads;      /**< heads of keys and values, a divisor of H: H, or fewer
                                (grouped-query), or 1 (multi-query) */
    bool causal;           /**< a token attends to itself and those before; else to all */
    int64_t rotary_dim;    /**< rotated dimensions of a head; 0 = none */
    double position_scale; /**< positions are divided by it (rotary, ALiBi) */
    int64_t window;        /**< a token attends to itself and as many before; 0 = all before */
    /** Number of first tokens that every token attends to, in addition to the window. */
    int64_t sink_tokens;
    int64_t token_types;   /**< rows of the table of token types, of an encoder; 0: none */
    bool padded_positions; /**< token t has row pad_token + 1 + t of the position table, padding
                                row pad_token */
    /** Token whose row of the token table is not trained by lookups; -1: none. */
    int64_t pad_token;
    /** Token whose embedding is 0; embeddings of other tokens are scaled by the fraction of such
     *  tokens (ESM-2, token dropout); -1: none. */
    int64_t mask_token;
    bool norm3;     /**< the feed-forward network has a norm of its own; else norm1's */
    bool norm_last; /**< instead of norms before them: norms after each residual sum */
    bool gated;     /**< F features times the nonlinearity of F others */
    enum zoo_nonlinearity nonlinearity; /**< without ZOO_GATED */
    /** Feed-forward networks among which a token chooses; 0: one network, no router. */
    int64_t experts;
    int64_t active_experts; /**< number of experts that a token chooses */
    int64_t shared_experts; /**< further experts, which compute every token */
    double load_balance;    /**< factor of the load-balancing loss, relative to that of the loss */
    bool balance_by_tokens; /**< samples are weighted by their tokens, as in the mean over tokens */
    double memory_dropout;  /**< of the encoder's output, training */
    /** Diffusion transformers. patch: elements of a patch, 0: the input is tokens; frequencies:
     *  sines and cosines of a time step; noise_biases: biases of the output layer. */
    int64_t patch, frequencies, noise_biases;
    /** Heads, the one with most work first. */
    int n_heads;
    struct model_head head[MODEL_MAX_HEADS];
    bool tied;             /**< lm_head is wte: the head stage streams wte again */
    bool shared_tokens;    /**< both stacks have one wte: the second embedding streams it again */
    double qk_norm_eps[2]; /**< added to the variance of a head's queries, of its keys */
    /** Factor on logits (muP); 1 otherwise. */
    double logits_scale;
    /** embeddings_scale multiplies the input of the norm after the embeddings, as in the class of
     *  BERT; false: it multiplies the output of this norm. */
    bool scale_first;
    uint64_t seed;          /**< of dropout */
    enum num_format format; /**< format of weights on links and of operands of products */
    bool softmax_16;        /**< attention scores are rounded to `format`; false: they are fp32 */
    /** Number of tensors of the model, tied ones counted once. */
    int n_tensors;
    struct model_tensor *tensor; /**< owned, n_tensors, in checkpoint order */
    /** Number of stages: 2 + L, or 2 + 4 L by matrix; with two stacks one or two more, and 6 per
     *  layer with cross-attention. A reference model has as many stages, which come first. */
    int n_stages;
    struct model_stage *stage; /**< owned, n_stages, in forward order */
    struct model_view *view;   /**< owned, the views of all stages */
    /** Entries of the params' `sparsity`, owned, without their patterns; NULL: none. */
    struct zoo_sparsity *sparsity;
    struct model_adapter adapter[MODEL_N_KINDS];
    /** Number of stages of the reference model, which precede it; 0: there is none. */
    int first_policy;
    int64_t n_reference;       /**< parameters of the reference model, not in n_params */
    int first_trained;         /**< lowest stage with a tensor that trains: backward ends there */
    int64_t n_trained;         /**< parameters that train */
    int64_t n_params;          /**< tied tensors counted once */
    int64_t n_stage_elems_max; /**< longest stage vector */
};

/** Weights of one tensor of a stage as they arrive on a wafer: all weights, or those inside a mask.
 */
struct model_weights {
    const void *values;   /**< in model->format: all elements, or with a mask the n_kept of it */
    const uint64_t *bits; /**< mask as in struct num_packed; NULL: none */
    int64_t n_kept;
    bool dense_gradient; /**< the gradient has all elements, despite the mask */
};
/** Number of elements of the gradient of tensor @p t that are sent. @p w describes its weights;
 *  NULL: all weights. */
static inline int64_t model_gradient_elems(const struct model_tensor *t,
                                           const struct model_weights *w)
{
    if (t->frozen) return 0;
    return w && w->bits && !w->dense_gradient ? w->n_kept : t->n_elems;
}

/** Tokens of a sequence, including sink tokens. It is the length in the input section of the mode
 *  if the file has one, because a model may allow longer sequences; otherwise, as in generation,
 *  the number of positions. */
int64_t model_sequence_length(const struct zoo_params *params);
/** Build a model from @p params, which are only read; *@p out is owned by the caller. WSC_CONFIG,
 *  naming the key: heads that do not divide the width, features that exclude each other, more than
 *  8192 layers or 2^20 in one dimension, initializers that are not distributions. WSC_NOMEM. *@p
 *  out is NULL after an error. */
enum wsc_err model_create(struct model **out, const struct zoo_params *params,
                          enum hw_granularity granularity) WSC_CHECKED;
/** Release *@p model and null it; NULL allowed. */
void model_destroy(struct model **model);

/** Features of all query heads of a token. */
static inline int64_t model_q_features(const struct model *m)
{
    return m->H * m->head_dim;
}
/** Features of all key heads of a token; value heads have as many. */
static inline int64_t model_kv_features(const struct model *m)
{
    return m->kv_heads * m->head_dim;
}
/** Features of q, k and v of a token together. */
static inline int64_t model_qkv_features(const struct model *m)
{
    return model_q_features(m) + 2 * model_kv_features(m);
}
/** Features of one feed-forward network before its nonlinearity: F, or 2 F when gated. */
static inline int64_t model_ffn_features(const struct model *m)
{
    return m->gated ? 2 * m->F : m->F;
}
/** Feed-forward networks in a block. */
static inline int64_t model_n_ffns(const struct model *m)
{
    return m->experts ? m->experts + m->shared_experts : 1;
}
/** Feed-forward networks of a block that a token goes through. */
static inline int64_t model_active_ffns(const struct model *m)
{
    return m->experts ? m->active_experts + m->shared_experts : 1;
}
/** True when a hash of the token chooses its experts: the router's matrix multiplies nothing. */
static inline bool model_hash_routed(const struct model *m)
{
    return m->experts > 0 && m->zoo.moe.routing_algorithm == ZOO_ROUTING_HASH;
}
/** Most tokens of a sequence. */
static inline int64_t model_longest(const struct model *m)
{
    return m->n_stacks > 1 && m->stack[1].T > m->stack[0].T ? m->stack[1].T : m->stack[0].T;
}
/** Row of the learned position table for a token @p id at @p position of its text. */
static inline int64_t model_position_row(const struct model *m, int64_t id, int64_t position)
{
    if (!m->padded_positions) return position;
    return id == m->pad_token ? m->pad_token : m->pad_token + 1 + position;
}
/** Factor of the rows of the token table in a sample of @p T tokens, by the token dropout of ESM-2
 *  (Lin et al. 2022). Rows of masks are 0. The factor compares the fraction of masks among tokens
 *  that are not padding (@p attends; NULL: all tokens) with the fraction of all training. */
float model_token_scale(const struct model *m, const int32_t *ids, const int32_t *attends,
                        int64_t T);
/** The head whose output layer is @p output, NULL when there is none. */
static inline const struct model_head *model_head_of(const struct model *m,
                                                     enum model_tensor_kind output)
{
    for (int i = 0; i < m->n_heads; i++)
        if (m->head[i].output == output) return &m->head[i];
    return NULL;
}
/** Sequences of T tokens in a sample: 2 in a pair of preference optimization. */
static inline int64_t model_sequences(const struct model *m)
{
    return m->zoo.dpo.on ? 2 : 1;
}
/** Tokens of a sample. */
static inline int64_t model_tokens(const struct model *m)
{
    return model_sequences(m) * m->T;
}
/** True when queries and keys have norms. */
static inline bool model_norms_heads(const struct model *m)
{
    return m->zoo.attention_qk_norm_layer != ZOO_QK_NORM_NONE;
}
/** Attention window of layer @p layer; 0 = a token attends to all before it. */
static inline int64_t model_window(const struct model *m, int64_t layer)
{
    return m->zoo.sliding_window_every_other_decoder_layer && layer % 2 ? 0 : m->window;
}

/* ---- positions ------------------------------------------------------------------------------- */

/** Radians per position of rotary pair @p pair (Su et al. 2021, eq. 34), with the model's scaling
 *  of longer sequences. */
double model_rotary_frequency(const struct model *m, int64_t pair);
/** Factor of rotary cosines and sines: that of YaRN (Peng et al. 2023) or LongRoPE (Ding et al.
 *  2024), otherwise 1. */
double model_rotary_factor(const struct model *m);
/** Element @p c < C of the fixed table's row for position @p t (Vaswani et al. 2017, 3.5). */
float model_sine(const struct model *m, int64_t t, int64_t c);
/** Bucket of relative positions, in [0, buckets), of a key @p distance positions after a query of
 *  stack number @p stack; a negative distance is before the query. In a decoder it never decreases
 *  with the distance from a key to a later query. */
int64_t model_bucket(const struct model *m, int stack, int64_t distance);
/** Slope of ALiBi of query head @p h, divided by position_scale; 0 without ALiBi, or when slopes
 *  are weights. */
float model_alibi_slope(const struct model *m, int64_t h);

/* ---- sparse weights -------------------------------------------------------------------------- */

/** The entry of `sparsity` that applies to tensor @p tensor; NULL: it is dense. */
const struct zoo_sparsity *model_sparsity_of(const struct model *model, int tensor);
/** Number of weights of tensor @p tensor that are kept after @p step updates, by
 *  zoo_sparsity_count(); a dense tensor keeps all. Virtual time uses this count, which depends only
 *  on params and step. */
int64_t model_kept(const struct model *model, int tensor, int64_t step);
/** True when the gradient of tensor @p tensor has all elements in the step after @p step updates:
 *  it is dense, or RigL computes a new mask next. */
bool model_sends_dense_gradient(const struct model *model, int tensor, int64_t step);
/** True when a tensor of the model is sparse. */
bool model_is_sparse(const struct model *model);
/** True when a tensor is sparse, or only some of its weights train. Masks are then made before the
 *  first pass, and an update examines whole gradients. */
bool model_has_masks(const struct model *model);
/** Used instead of a number of updates: the step at which a tensor keeps most weights, for which
 *  memory must be planned. */
enum { MODEL_DENSEST = -1 };
/** Number of weights that are kept, as model_kept(), but @p step may be MODEL_DENSEST. This is the
 *  smallest `sparsity` of the schedule, or its limit for a schedule without an end; all weights
 *  when training begins dense. */
int64_t model_kept_at(const struct model *model, int tensor, int64_t step);
/** True when the update that makes step @p step + 1 chooses a new mask for @p tensor. */
bool model_chooses_mask(const struct model *model, int tensor, int64_t step);
/** Fraction of non-zero elements in the matrices of a stage, by kind of tensor; the experts of a
 *  block are counted together. 1: dense. A NULL pointer means that all are dense. */
struct model_density {
    double weights[MODEL_N_KINDS];
    /** Fraction of computed gradients: that of the weights, but 1 in a step that chooses new
     *  non-zeros by their gradients. */
    double gradients[MODEL_N_KINDS];
    double trained[MODEL_N_KINDS]; /**< fraction of the elements that are not frozen */
};
/** Densities of @p stage (an embedding that is the head's matrix under both names) after @p step
 *  updates; with MODEL_DENSEST and @p stage -1 the means over all blocks, `trained` over those that
 *  run backward. False when all are 1. */
bool model_density_at(const struct model *model, int stage, int64_t step,
                      struct model_density *out);
/** Blocks of a stack of the policy below the first stage that trains: training runs them forward
 *  alone, and they keep no activations. */
int model_idle_blocks(const struct model *model, int stack);
/** The next group of adjust_learning_rate from *@p at on, which starts at 0, whose factor is given
 *  and whose tensors are all frozen, so that the factor has no effect; NULL: no more. */
const char *model_frozen_group(const struct model *model, const struct zoo_params *params, int *at);
/** The next pattern of params->sparsity that matches no tensor's name, NULL after the last; *@p at
 *  starts at 0.  Borrowed from @p params. */
const char *model_unmatched_pattern(const struct model *model, const struct zoo_params *params,
                                    int *at);

/* ---- transfers and FLOPs --------------------------------------------------------------------- */

/** One transfer of weights in the order of a step: forward 0 .. n-1, then backward from n-1 to the
 *  first stage that trains. */
struct model_transfer {
    int stage;
    bool backward;
};
/** Number of transfers of one micro-batch: n_stages for evaluation; for training twice as many,
 *  without the backward transfers of stages before the first trained one. */
static inline int model_n_transfers(const struct model *m, bool training)
{
    return training ? 2 * m->n_stages - m->first_trained : m->n_stages;
}
/** First stage of stack @p stack in forward order. */
static inline int model_first_stage(const struct model *m, int stack)
{
    int first = 0;
    while (first < m->n_stages && m->stage[first].stack != stack)
        first++;
    return first;
}
/** Transfer @p k of a pass. */
static inline struct model_transfer model_transfer_at(const struct model *m, int k)
{
    return k < m->n_stages ? (struct model_transfer){k, false}
                           : (struct model_transfer){2 * m->n_stages - 1 - k, true};
}

/** FLOPs of one token in a training step, forward and backward, without recomputation: 6 (matrix
 *  weights used for a token, those of the head for its fraction of the tokens) + 12 L T H d
 *  (attention over the full square, windows not counted). This is the count of Chowdhery et al.
 * 2022 (arXiv 2204.02311, appendix B) with matrix weights only; mfu uses it. Not @p training: a
 * forward pass, a third of it. A reference model adds its forward pass. */
double model_flop_per_token(const struct model *model, bool training);
/** Useful FLOPs of one token: the part of model_flop_per_token() for weights that are not zero
 *  after @p updates updates. In training it counts 4 for a kept weight, 2 for a computed gradient,
 *  and 12 L T H d for attention; forward alone 2 for a kept weight and 4 L T H d. */
double model_useful_flop_per_token(const struct model *model, bool training, int64_t updates);
/** FLOPs of one token as publications on compute-optimal training count them (Hoffmann et al. 2022,
 *  arXiv 2203.15556, appendix F): those of model_flop_per_token(), the input embedding as a product
 *  (6 V C) and the softmax of attention (9 L H T); not @p training: a third of both. */
double model_flop_per_token_hoffmann(const struct model *model, bool training);
/** Value of @p schedule after @p t >= 0 finished updates. It depends only on t, so a restart needs
 *  no other state; docs/TRAINING.md has the formulas. */
double model_schedule_value(const struct zoo_schedule *schedule, int64_t t);

/* ---- dropout --------------------------------------------------------------------------------- */

/** Places of dropout; also part of the random stream's number. */
enum model_drop_place {
    MODEL_DROP_EMBED,
    MODEL_DROP_SCORES,
    MODEL_DROP_ATTN,
    MODEL_DROP_FFN,
    MODEL_DROP_FILTER,       /**< after the nonlinearity of the feed-forward network */
    MODEL_DROP_TASK,         /**< before a head's output layer */
    MODEL_DROP_CROSS_SCORES, /**< attention to the encoder's output */
    MODEL_DROP_CROSS,        /**< output of the attention to the encoder's output */
    MODEL_DROP_MEMORY        /**< the encoder's output */
};
/** Dropout at a place: element e of a sample becomes 0 where word e of its stream (wsc_rng_words())
 *  is below @c below; all others are multiplied by @c factor.  Elements of hidden features are
 *  numbered (token, feature), those of attention (head of queries, query, key). */
struct model_dropout {
    uint64_t number; /**< of layer and place, or of layer and matrix */
    bool of_adapter; /**< of the input of a low-rank adapter */
    uint64_t below;  /**< 2^32 times the rate; 0: nothing is dropped */
    float factor;    /**< 1 / (1 - rate) */
};
/** Dropout in a training at @p place of @p layer (-1: none) of stack number @p stack. */
struct model_dropout model_dropout_at(const struct model *m, int stack, int64_t layer,
                                      enum model_drop_place place);
/** Dropout of the input of the adapter of matrix @p kind in @p layer (-1: outside the blocks); it
 *  does not affect other inputs. */
struct model_dropout model_adapter_dropout(const struct model *m, int64_t layer,
                                           enum model_tensor_kind kind);
/** Seed of the random numbers of a step. */
uint64_t model_dropout_seed(const struct model *m, int64_t step);
/** Random stream of dropout @p d for sample number @p sample of the global batch. */
uint64_t model_dropout_stream(const struct model_dropout *d, int64_t sample);
#endif
