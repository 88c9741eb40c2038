/** Cycles of single operations: the equations of the analytical model for a layout of features and
 *  tokens.
 *
 *  <wsc/cycles.h> adds these cycles up to parts and stages. The mesh programs (<wsc/programs.h>)
 *  compare each equation with the simulated cycles of the operation. docs/MODEL.md derives each
 *  formula; the symbols are the names used here. Cycles are whole numbers in doubles: exact below
 *  2^53, without overflow for any size. Features per PE are those of the PE with most features,
 *  because the slowest PE determines the time.
 *
 *      struct cycles_layout l;
 *      cycles_layout_init(&l, hw, model, lanes, n_sequences);
 *      struct cycles_side in = cycles_side_of(&l, model->C);
 *      double c = cycles_product(&l, &in, (double)model->F, 1);
 *
 *  All functions are pure. Start reading at struct cycles_layout. */
#ifndef WSC_CYCLES_OPS_H
#define WSC_CYCLES_OPS_H
#include <wsc/cycles.h>

/** One side of a matrix spread over the columns of a lane: k = ceil(n / cols). */
struct cycles_side {
    double n;  /**< features */
    double k;  /**< features of the PE with most features */
    bool wide; /**< its numbers have 32 bits and are rounded when they are sent */
    /** Sums over tokens with it are not added over lanes: those of keys, which a lane has alone. */
    bool in_lane;
};

/** Placement of the features and tokens of one micro-batch on a lane, and the speed of one PE.
 *  Filled by cycles_layout_init(); counts are whole numbers in doubles. */
struct cycles_layout {
    /** Borrowed: kinds of norm, nonlinearity and attention are read from it. */
    const struct model *model;
    double cols, rows; /**< PEs of one lane; hidden features lie on x, tokens on y */
    /** Replicas of the model side by side on the wafer. */
    double lanes;
    double tokens; /**< computed tokens of a sequence */
    double cached; /**< earlier tokens of a sequence, whose keys and values are cached */
    double texts;  /**< sequences of a lane; their cached keys are spread over all its rows */
    struct cycles_tokens generated;    /**< step of generation; n_new 0: whole sequences */
    double of_stack[MODEL_MAX_STACKS]; /**< in generation: sequences of a lane, by stack */
    double t;                          /**< tokens of a PE */
    double head_t;                     /**< tokens of a PE that the head computes */
    double room; /**< 32-bit sums that fit a PE while a weight gradient is computed */
    struct cycles_side hidden, heads,
        filter;      /**< heads: features of all attention heads; a head has its own columns */
    double mac;      /**< multiply-adds per cycle, sums in 32 bits */
    double add;      /**< 32-bit additions per cycle */
    double mul;      /**< 32-bit products per cycle */
    double fast;     /**< additions and moves per cycle in the format of activations */
    double fast_mul; /**< products and maxima per cycle in the format of activations */
    double value;    /**< 32-bit words of an activation */
    /** Cycles: start of a multiply-add, of an addition, of a copy; loop overhead per operation; one
     *  exponential; one division. */
    double setup, setup_add, setup_copy, loop, exp, divide;
    /** Cycles, on the mesh: start of an operation that sends or receives; 0 on WSE-2. */
    double setup_fabric;
    double start;  /**< cycles of a multiply-add with an arriving scalar, without its elements */
    bool by_data;  /**< arriving data start that multiply-add; otherwise a loop of scalar code */
    bool on_mesh;  /**< layout and waiting times are those of the mesh programs */
    double masked; /**< fraction of the masked scores that is computed */
    double slices; /**< slices of the filter features, computed one after the other */
    double factor; /**< factor on the cycles of a stage */
    double relay;  /**< cycles of one PE in a chain of receive, add, send */
    /** Cycles from router to router, and between router and PE. */
    double hop, ramp;
    /* Attention: the PEs of one head and the queries one PE holds. */
    double head_cols;    /**< columns over which the features of a head are spread */
    double heads_per_pe; /**< heads that share a PE */
    double seqs;         /**< sequences of which a PE holds tokens */
    double seq_rows;     /**< rows over which the tokens of a sequence are spread */
    double q;            /**< tokens of one sequence in a PE */
    int stack;           /**< the model's stack to which the tokens belong */
    bool causal;         /**< a query of the stack attends only to keys up to its own position */
    bool capped;         /**< a score s of the stack becomes c tanh(s / c) */
    bool sloped;         /**< scores of the stack fall with the distance, one slope per head */
    bool relative;       /**< relative positions are added to the scores of the stack */
    double q_mean;       /**< queries of a PE that attend to a key, average over the keys */
    double qkv;          /**< features of queries, keys and values / features of queries */
    /* Sparse weights. */
    double accumulators; /**< outputs whose sums a PE holds at a time */
    double index;        /**< cycles that the index of a weight adds to its multiply-add */
    bool sampled;        /**< only the weight gradients of non-zeros are computed */
    bool has_zeros;      /**< a matrix has zero weights, which do not stream */
    const struct model_density *density; /**< borrowed; NULL: all matrices are dense and train */
};

/** Lay @p n_sequences whole sequences of @p model on the wafer of @p hw, in @p lanes replicas side
 * by side. */
void cycles_layout_init(struct cycles_layout *l, const struct hw *hw, const struct model *model,
                        int lanes, int64_t n_sequences);

/** Change the layout to that of the mesh programs: the tokens of @p n_sequences sequences are
 *  distributed round-robin over all rows, instead of a band of rows for each sequence; masked
 *  scores are skipped. */
void cycles_layout_round_robin(struct cycles_layout *l, int64_t n_sequences);

/** The layout for an expert of a mixture: the tokens that choose it, spread evenly. */
struct cycles_layout cycles_expert_layout(const struct cycles_layout *l);

/** Columns of a group that take turns to send, and number of groups that take turns: a control
 *  wavelet has eight commands, of which the first is for the router of its sender. */
enum { CYCLES_RING_GROUP = 9 };

/** Scalar cycles, each two dependent operations of two cycles (FABRICA). CYCLES_SLOPE: for a row of
 *  scores with a slope (ALiBi), the key's position converted to a number, times the slope;
 *  CYCLES_CAP_SLOPE: for an element of the derivative of a soft cap, 1 - x^2. */
enum { CYCLES_SLOPE = 4, CYCLES_CAP_SLOPE = 4 };
/** Scalar cycles. CYCLES_LABEL: code looks up a number by an index with loop, load and comparison,
 *  10 + 4 + 6 (loop back edge, load to use, taken branch: FABRICA). CYCLES_COMPARE: code compares
 *  two numbers with a load, a branch and a store. */
enum { CYCLES_LABEL = 20, CYCLES_COMPARE = 8 };
/** Scalar operations around the exponential and the division of a nonlinearity. */
enum { CYCLES_POLYNOMIAL = 8 };

/** A matrix side of @p n features on the columns of a lane. */
struct cycles_side cycles_side_of(const struct cycles_layout *l, int64_t n);
/** Cycles until vectors of @p words words per PE have entered at the north edge and reached the
 *  last row. */
double cycles_vectors_in(const struct cycles_layout *l, double words);

/** Cycles of Y = X W' with streamed weights: @p in the side of X, @p n_out the features of Y. Each
 *  weight is broadcast down its column and triggers a multiply-add over the tokens of a PE; the
 *  sums of an output are reduced along the row. @p density: fraction of non-zero weights; only
 *  these stream. 1: a dense matrix, without an index. */
double cycles_product(const struct cycles_layout *l, const struct cycles_side *in, double n_out,
                      double density);
/** Cycles of dW = dY' X, summed over the tokens, until it has left at the edge; @p in the side of
 *  X, @p out the side of Y. @p density: fraction of the results that are needed; with
 *  wafer.sparse_gradient dense all are computed. */
double cycles_weight_gradient(const struct cycles_layout *l, const struct cycles_side *in,
                              const struct cycles_side *out, double density);
/** Algorithm of a weight gradient; the fastest one by the analytical model is used. */
struct cycles_gradient_way {
    bool by_columns; /**< the input goes along the row, and dW is computed column by column */
    bool arrives;    /**< one result at a time, without blocks: each number that arrives along the
                          row starts a multiply-add */
    bool sampled;    /**< only results of non-zeros, each a sum over the tokens */
};
/** Algorithm that cycles_weight_gradient() assumes. */
struct cycles_gradient_way cycles_gradient_way(const struct cycles_layout *l,
                                               const struct cycles_side *in,
                                               const struct cycles_side *out, double density);
/** True if the gradients of keys and values are computed one at a time: each arriving score starts
 *  a multiply-add. */
bool cycles_keys_arrive(const struct cycles_layout *l);

/** A bias of @p features features per PE is streamed in and added to all tokens. */
double cycles_bias(const struct cycles_layout *l, double features);
/** Sums over the tokens of a PE, then over y, of @p vectors vectors of @p features features per PE.
 */
double cycles_bias_gradient(const struct cycles_layout *l, double features, double vectors);
/** Rounding of 32-bit numbers to the format of activations, @p features features per PE: one per
 *  cycle, on WSE-3 four (fs2h, SDK appendix "SIMD"); 0 in fp32. */
double cycles_round(const struct cycles_layout *l, double features);
/** Addition of the residual stream, @p features features per PE. */
double cycles_residual(const struct cycles_layout *l, double features);

/** Norm over the hidden features, LayerNorm or RMSNorm by the model: statistics and output. */
double cycles_norm(const struct cycles_layout *l);
/** Recomputation of a norm's output from kept statistics. */
double cycles_norm_again(const struct cycles_layout *l);
/** Gradient of a norm's input, added to the gradient of the residual stream. */
double cycles_norm_input_gradient(const struct cycles_layout *l);
/** Gradients of a norm's gain and bias. */
double cycles_norm_vector_gradient(const struct cycles_layout *l);
/** Backward pass of a norm: the gain is streamed in; gradients of input, gain and bias; the output
 *  is recomputed. Norms of diffusion transformers have neither gain nor bias; the gradient of their
 *  input starts from a scaled output. */
double cycles_norm_gradient(const struct cycles_layout *l);
/** Norm of all query heads, or, on the mesh, of the same number of key heads. */
double cycles_head_norm(const struct cycles_layout *l);
/** Gradient of the input of the norm of heads. */
double cycles_head_norm_input_gradient(const struct cycles_layout *l);
/** Gradients of the gain and the bias of the norm of heads, separate for each head. */
double cycles_head_norm_vector_gradient(const struct cycles_layout *l);
/** Cycles of scalar code for one element of activation @p f, or of its derivative, where an
 *  exponential takes @p exp cycles and a division @p divide. Derived from the operations of each
 *  (docs/MODEL.md): a comparison, a copy and a multiplication take one cycle each. */
double cycles_function(enum zoo_nonlinearity f, double exp, double divide);
/** Activation @p f, or its derivative, of @p features features per PE. */
double cycles_nonlinearity(const struct cycles_layout *l, enum zoo_nonlinearity f, double features);
/** Soft cap of @p logits logits per PE; 0 if the model has none. */
double cycles_logit_cap(const struct cycles_layout *l, double logits);
/** Gradient of the soft cap, from the kept tanh. */
double cycles_logit_cap_gradient(const struct cycles_layout *l, double logits);
/** Softmax over the row, @p features features per PE. */
double cycles_softmax(const struct cycles_layout *l, double features);
/** Gradient of a softmax over the row from its output. */
double cycles_softmax_gradient(const struct cycles_layout *l, double features);
/** Router of a mixture of experts on the mesh, after its matrix product: functions of the logits,
 *  choice of experts, weights; with @p balances also the sums of the load-balancing loss. */
double cycles_route(const struct cycles_layout *l, bool balances);
/** Gradient of cycles_route(), before the products; hash routing has none. */
double cycles_route_gradient(const struct cycles_layout *l, bool balances);
/** Gradients of the expert weights of places from @p features features per PE: sums over the row.
 *  A place is one token in the input of one expert. */
double cycles_place_weights_gradient(const struct cycles_layout *l, double features);
/** Each PE sorts its tokens by expert network. */
double cycles_sort_places(const struct cycles_layout *l);
/** Hidden features are copied from tokens to places or, with @p adds, added from places to tokens.
 */
double cycles_move_places(const struct cycles_layout *l, bool adds);
/** The expert weights are sent to their places and multiply @p features features per PE. */
double cycles_weigh_places(const struct cycles_layout *l, double features);
/** Rotary positions: rotation of pairs of features, @p features features per PE. */
double cycles_rotary(const struct cycles_layout *l, double features);
/** Table lookup: a table of @p rows rows streams past, and each token copies its row. */
double cycles_gather(const struct cycles_layout *l, double rows);
/** Gradient of a table of @p rows rows: for each row, the sum of its tokens' gradients, until it
 *  has left at the edge. */
double cycles_scatter(const struct cycles_layout *l, double rows);
/** Cross entropy over the vocabulary, @p logits logits per PE. */
double cycles_loss(const struct cycles_layout *l, double logits);
/** Gradient of the logits from the exponentials that cycles_loss() kept. */
double cycles_loss_gradient(const struct cycles_layout *l, double logits);
/** Additional cycles of that gradient with smoothed labels: one number per token is subtracted from
 *  all features. */
double cycles_even_labels_gradient(const struct cycles_layout *l, double logits);
/** Loss of a head of @p kind with @p logits outputs per PE and token. */
double cycles_loss_of(const struct cycles_layout *l, enum model_loss_kind kind, double logits);
/** Gradient of the outputs from the values that cycles_loss_of() kept. */
double cycles_loss_gradient_of(const struct cycles_layout *l, enum model_loss_kind kind,
                               double logits);
/** Causal attention, O = softmax(Q K') V, of all heads. */
double cycles_attention(const struct cycles_layout *l);
/** Gradients of Q, K and V; @p again: the scores are recomputed. */
double cycles_attention_gradient(const struct cycles_layout *l, bool again);

/** Cycles of one part of a stage in the forward pass. */
struct cycles_breakdown cycles_part_forward(const struct cycles_layout *l, enum model_part part);
/** Cycles of one part of a stage in the backward pass: input gradient, weight gradient, and the
 *  recomputation that @p keep requires. */
struct cycles_breakdown cycles_part_backward(const struct cycles_layout *l, enum model_part part,
                                             enum cycles_keep keep);
#endif
