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
    double k;  /**< of the PE that has most */
    bool wide; /**< of 32-bit numbers that are rounded when they are sent */
};

/** Where features and tokens of one micro-batch lie, and how fast one PE is.  Filled by
 *  cycles_layout_init(); counts are whole numbers in doubles. */
struct cycles_layout {
    /** Borrowed: kinds of norm, nonlinearity and attention are read from it. */
    const struct model *model;
    double cols, rows; /**< PEs of one lane; hidden features lie on x, tokens on y */
    /** Replicas of the model side by side. */
    double lanes;
    double tokens; /**< of a sequence */
    double cached; /**< tokens of a sequence before those, whose keys and values are kept */
    double texts;  /**< sequences of a lane, over whose rows their cached keys spread */
    struct cycles_tokens generated;    /**< step of generation; n_new 0: whole sequences */
    double of_stack[MODEL_MAX_STACKS]; /**< in generation: sequences of a lane in each stack */
    double t;                          /**< tokens of a PE */
    double head_t;                     /**< tokens of a PE that go through the head */
    double room; /**< 32-bit sums that fit a PE while a weight gradient is formed */
    struct cycles_side hidden, heads,
        filter;      /**< heads: of attention, which have columns of their own */
    double mac;      /**< multiply-adds per cycle, sums in 32 bits */
    double add;      /**< 32-bit additions per cycle */
    double mul;      /**< 32-bit products per cycle */
    double fast;     /**< additions and moves per cycle in the format of activations */
    double fast_mul; /**< products and maxima in it */
    double value;    /**< words of 32 bits of an activation */
    /** Cycles: start of a multiply-add, of an addition, of a copy; from one operation of a loop to
     *  the next; one exponential; one division. */
    double setup, setup_add, setup_copy, loop, exp, divide;
    double setup_fabric; /**< of an operation that sends or receives, on the mesh; 0 on WSE-2 */
    double start;        /**< of a multiply-add whose scalar arrives, beside its elements */
    bool by_data;        /**< arriving data start it; otherwise scalar code, in a loop */
    bool on_mesh;        /**< as the programs of the mesh do it, with what they wait for */
    double masked;       /**< of the scores that the mask hides, the fraction that is computed */
    double slices;       /**< parts of the filter features that pass one after the other */
    double factor;       /**< on the cycles of a stage */
    double relay;        /**< cycles of one PE in a chain of receive, add, send */
    /** Cycles from router to router, and between router and PE. */
    double hop, ramp;
    /* Attention: the PEs of one head and the queries one PE holds. */
    double head_cols;    /**< columns over which a head's features spread */
    double heads_per_pe; /**< heads that share a PE */
    double seqs;         /**< sequences of which a PE holds tokens */
    double seq_rows;     /**< rows over which the tokens of a sequence spread */
    double q;            /**< tokens of a PE of one sequence */
    int stack;           /**< of the model, whose tokens these are */
    bool causal;         /**< its queries see the keys up to their own place, else all */
    bool capped;         /**< its scores s become c tanh(s / c) */
    bool sloped;         /**< its scores fall with the distance, by a slope for each head */
    bool relative;       /**< relative positions are added to its scores */
    double q_mean;       /**< queries of a PE that see a key, on average over keys */
    double qkv;          /**< features of queries, keys and values for each of queries */
    /* Sparse weights. */
    double accumulators; /**< outputs whose sums a PE holds at a time */
    double index;        /**< cycles that the index of a weight adds to its multiply-add */
    bool sampled;        /**< weight gradients of the non-zeros alone */
    bool has_zeros;      /**< a matrix has weights that are zero and do not stream */
    const struct model_density *density; /**< borrowed; NULL: all matrices are dense and train */
};

/** Lay @p n_sequences whole sequences of @p model on the wafer of @p hw, in @p lanes replicas side
 * by side. */
void cycles_layout_init(struct cycles_layout *l, const struct hw *hw, const struct model *model,
                        int lanes, int64_t n_sequences);

/** Change the layout to that of the mesh programs: instead of a band of rows for each sequence, the
 *  tokens of @p n_sequences sequences are distributed round-robin over all rows; scores that the
 *  mask hides are skipped. */
void cycles_layout_round_robin(struct cycles_layout *l, int64_t n_sequences);

/** The layout for an expert of a mixture: the tokens that choose it, spread evenly. */
struct cycles_layout cycles_expert_layout(const struct cycles_layout *l);

/** Columns that collect in turns what they send, and as many such groups: a control wavelet has
 *  eight commands, the first one for its sender's own router. */
enum { CYCLES_RING_GROUP = 9 };

/** Scalar cycles of a row of scores with a slope (ALiBi): its key's position as a number, times the
 *  slope; of an element of a soft cap's derivative, 1 - x^2; two dependent operations of two cycles
 *  each (FABRICA). */
enum { CYCLES_SLOPE = 4, CYCLES_CAP_SLOPE = 4 };
/** Scalar cycles of a number that code looks up by an index: loop, load and comparison, 10 + 4 + 6
 *  (loop back edge, load to use, taken branch: FABRICA); of a comparison of two numbers: a load, a
 *  branch, a store. */
enum { CYCLES_LABEL = 20, CYCLES_COMPARE = 8 };
/** Scalar operations around the exponential and the division of a nonlinearity. */
enum { CYCLES_POLYNOMIAL = 8 };

/** A matrix side of @p n features on the columns of a lane. */
struct cycles_side cycles_side_of(const struct cycles_layout *l, int64_t n);
/** Cycles in which vectors of @p words words a PE come in from the north edge and reach the last
 *  row. */
double cycles_vectors_in(const struct cycles_layout *l, double words);

/** Cycles of Y = X W' with weights streamed in: @p in the side of X, @p n_out the features of Y.
 *  Each weight is broadcast down its column and triggers a multiply-add over the PE's tokens; the
 *  sums of an output go along the row.  @p density: fraction of the weights that are not 0, which
 *  alone stream; 1: a dense matrix, without an index. */
double cycles_product(const struct cycles_layout *l, const struct cycles_side *in, double n_out,
                      double density);
/** Cycles of dW = dY' X, summed over the tokens, which leaves at the edge; @p in the side of X, @p
 *  out that of Y.  @p density: fraction of the results that are wanted; with wafer.sparse_gradient
 *  dense all are computed. */
double cycles_weight_gradient(const struct cycles_layout *l, const struct cycles_side *in,
                              const struct cycles_side *out, double density);
/** How a weight gradient is formed: what is fastest by the model. */
struct cycles_gradient_way {
    bool by_columns; /**< the input goes along the row, and dW is built column by column */
    bool arrives;    /**< one result of what goes along the row at a time, without blocks: each
                          number that arrives starts a multiply-add */
    bool sampled;    /**< the results of non-zeros alone, a sum over the tokens for each */
};
/** The way of cycles_weight_gradient(). */
struct cycles_gradient_way cycles_gradient_way(const struct cycles_layout *l,
                                               const struct cycles_side *in,
                                               const struct cycles_side *out, double density);
/** True when the gradients of keys and values are formed one at a time: each score that arrives
 * starts a multiply-add. */
bool cycles_keys_arrive(const struct cycles_layout *l);

/** A bias of @p features features a PE comes in and is added to all tokens. */
double cycles_bias(const struct cycles_layout *l, double features);
/** Sums over the tokens, then over y, of @p vectors vectors of @p features features a PE. */
double cycles_bias_gradient(const struct cycles_layout *l, double features, double vectors);
/** Rounding of 32-bit numbers to those of the format, @p features features a PE: one a cycle, on
 *  WSE-3 four (fs2h, SDK appendix "SIMD"); 0 in fp32. */
double cycles_round(const struct cycles_layout *l, double features);
/** Addition of the residual stream, @p features features a PE. */
double cycles_residual(const struct cycles_layout *l, double features);

/** Norm over the hidden features, LayerNorm or RMSNorm as the model has it: statistics and
 *  output. */
double cycles_norm(const struct cycles_layout *l);
/** Output of a norm again, from kept statistics. */
double cycles_norm_again(const struct cycles_layout *l);
/** Gradient of a norm's input, added to the residual stream's. */
double cycles_norm_input_gradient(const struct cycles_layout *l);
/** Gradients of a norm's gain and bias. */
double cycles_norm_vector_gradient(const struct cycles_layout *l);
/** Backward of a norm: gain in, gradients of input, gain and bias, its output again.  Norms of
 *  diffusion transformers have neither gain nor bias; their input's gradient is that of an output
 *  that is scaled. */
double cycles_norm_gradient(const struct cycles_layout *l);
/** Norm of all heads of queries, or on the mesh of as many heads of keys. */
double cycles_head_norm(const struct cycles_layout *l);
/** Gradient of its input. */
double cycles_head_norm_input_gradient(const struct cycles_layout *l);
/** Gradients of its gain and bias, for each head apart. */
double cycles_head_norm_vector_gradient(const struct cycles_layout *l);
/** The model's nonlinearity of @p features features a PE, or its derivative. */
double cycles_nonlinearity(const struct cycles_layout *l, double features);
/** Soft cap of @p logits logits a PE; 0 where the model has none. */
double cycles_logit_cap(const struct cycles_layout *l, double logits);
/** Its gradient, from the tanh that was kept. */
double cycles_logit_cap_gradient(const struct cycles_layout *l, double logits);
/** Softmax over the row, @p features features a PE. */
double cycles_softmax(const struct cycles_layout *l, double features);
/** Gradient of a softmax over the row from its output. */
double cycles_softmax_gradient(const struct cycles_layout *l, double features);
/** What the router of a mixture of experts does on the mesh after its product: functions of the
 *  logits, choice, weights; with @p balances the sums of the load-balancing loss. */
double cycles_route(const struct cycles_layout *l, bool balances);
/** Its gradient, before the products; hash routing has none. */
double cycles_route_gradient(const struct cycles_layout *l, bool balances);
/** Gradients of the weights of places from @p features features a PE: sums over the row. */
double cycles_place_weights_gradient(const struct cycles_layout *l, double features);
/** Each PE sorts its tokens by network. */
double cycles_sort_places(const struct cycles_layout *l);
/** Hidden features go from tokens to their places, or places are added to their tokens. */
double cycles_move_places(const struct cycles_layout *l, bool adds);
/** The weights of places come to them and multiply @p features features a PE. */
double cycles_weigh_places(const struct cycles_layout *l, double features);
/** Rotary positions: pairs of @p features features a PE are rotated. */
double cycles_rotary(const struct cycles_layout *l, double features);
/** Each token takes its row of a table of @p rows rows that streams past. */
double cycles_gather(const struct cycles_layout *l, double rows);
/** Sums of the tokens' gradients for each of @p rows rows of a table, which leave at the edge. */
double cycles_scatter(const struct cycles_layout *l, double rows);
/** Cross entropy over the vocabulary, @p logits logits a PE. */
double cycles_loss(const struct cycles_layout *l, double logits);
/** Gradient of the logits from the exponentials that the loss left. */
double cycles_loss_gradient(const struct cycles_layout *l, double logits);
/** What that has more where labels are smoothed: a number of each token less for all features. */
double cycles_even_labels_gradient(const struct cycles_layout *l, double logits);
/** Loss of a head of @p kind with @p logits outputs a PE of each token. */
double cycles_loss_of(const struct cycles_layout *l, enum model_loss_kind kind, double logits);
/** Gradient of the outputs from what cycles_loss_of() left. */
double cycles_loss_gradient_of(const struct cycles_layout *l, enum model_loss_kind kind,
                               double logits);
/** Causal attention, O = softmax(Q K') V, of all heads. */
double cycles_attention(const struct cycles_layout *l);
/** Gradients of Q, K and V; @p again: the scores are computed again. */
double cycles_attention_gradient(const struct cycles_layout *l, bool again);

/** Cycles of one part of a stage in the forward pass. */
struct cycles_breakdown cycles_part_forward(const struct cycles_layout *l, enum model_part part);
/** Input gradient and weight gradient of one part of a stage, and what @p keep makes necessary to
 *  compute again. */
struct cycles_breakdown cycles_part_backward(const struct cycles_layout *l, enum model_part part,
                                             enum cycles_keep keep);
#endif
