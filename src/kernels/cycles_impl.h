/** Cycles: one micro-batch on a grid of processing elements, shared by cycles*.c and plan.c.
 *
 *  docs/MODEL.md derives each formula; the symbols are the names used here.  Cycles are whole
 *  numbers held in doubles: exact below 2^53, and no absurd size can overflow them.
 */
#ifndef WSC_KERNELS_CYCLES_IMPL_H
#define WSC_KERNELS_CYCLES_IMPL_H
#include <wsc/kernels.h>

/** One side of a matrix on the columns of a lane. */
struct side {
    double n; /**< features */
    double k; /**< of the PE that has most */
};

/** Where features and tokens of one micro-batch lie, and how fast one PE is. */
struct layout {
    const struct model *model;
    double cols, rows; /**< PEs of one lane; hidden features lie on x, tokens on y */
    double lanes;
    double tokens; /**< of a sequence */
    double cached; /**< tokens of a sequence before those, whose keys and values are kept */
    double texts;  /**< sequences of a lane, over whose rows their cached keys spread */
    double t;      /**< tokens of a PE */
    double head_t; /**< tokens of a PE that go through the head */
    double room;   /**< 32-bit sums that fit a PE while a weight gradient is formed */
    struct side hidden, heads, filter; /**< heads: of attention, which have columns of their own */
    double mac;                        /**< multiply-adds per cycle, sums in 32 bits */
    double add;                        /**< 32-bit additions per cycle */
    double mul;                        /**< 32-bit products per cycle */
    double fast;     /**< additions and moves per cycle in the format of activations */
    double fast_mul; /**< products and maxima in it */
    double value;    /**< words of 32 bits of an activation */
    double setup, setup_add, setup_copy, loop, exp, divide;
    double factor; /**< on the cycles of a stage */
    double relay;  /**< cycles of one PE in a chain of receive, add, send */
    double hop, ramp;
    /* Attention: the PEs of one head and the queries one PE holds. */
    double head_cols;    /**< columns over which a head's features spread */
    double heads_per_pe; /**< heads that share a PE */
    double seqs;         /**< sequences of which a PE holds tokens */
    double seq_rows;     /**< rows over which the tokens of a sequence spread */
    double q;            /**< tokens of a PE of one sequence */
    double q_mean;       /**< queries of a PE that see a key, on average over keys */
    double qkv;          /**< features of queries, keys and values for each of queries */
};

void kernels_cycles_layout(struct layout *l, const struct hw *hw, const struct model *model,
                           int lanes, int64_t n_sequences);

/** The same for a step of generation. */
void kernels_cycles_layout_tokens(struct layout *l, const struct hw *hw, const struct model *model,
                                  int lanes, int64_t n_texts, const struct kernels_tokens *tokens);
/** The same for a share of the micro-batches of @p plan: the room is that of a whole one. */
void kernels_cycles_layout_of(struct layout *l, const struct hw *hw, const struct model *model,
                              const struct kernels_plan *plan, int64_t n_sequences);
/** Instead of a band of rows each, @p n_sequences sequences are dealt over all rows, as programs of
 *  the mesh lay them out. */
void kernels_cycles_deal(struct layout *l, int64_t n_sequences);

/** What backward of a block computes again, by what is kept. */
struct keep_row {
    bool qkv, attention, output, ffn0;
    bool by_part; /**< needs no weights of another part: possible when parts stream one by one */
};
extern const struct keep_row kernels_cycles_keep[KERNELS_N_KEEPS];

struct kernels_cycles kernels_cycles_forward(const struct layout *l, enum model_part part);
/** Input gradient, weight gradient and what @p keep makes necessary to compute again. */
struct kernels_cycles kernels_cycles_backward(const struct layout *l, enum model_part part,
                                              enum kernels_keep keep);
/** From the start of the part's backward to its first gradient row, all that @p keep makes
 *  necessary for this part included. */
double kernels_cycles_first_gradient(const struct layout *l, enum model_part part,
                                     enum kernels_keep keep);
struct kernels_cycles kernels_cycles_stage(const struct layout *l, const struct model_stage *stage,
                                           enum kernels_keep keep, bool backward);
double kernels_cycles_total(const struct kernels_cycles *c);

/** Columns that collect in turns what they send, and as many such groups (pe_ring.c): a control
 *  wavelet has eight commands, the first one for its sender's own router. */
enum { KERNELS_RING_GROUP = 9 };

/* The operations: cycles_ops.c, cycles_rows.c, cycles_attention.c. */

/** Vectors of 32-bit sums over its tokens that a PE has room for beside what is live: one being
 *  built, one on its way. */
enum { KERNELS_SUM_VECTORS = 2 };
/** One operation on @p n elements at @p rate. */
double kernels_cycles_op(double setup, double n, double rate);
double kernels_cycles_add(const struct layout *l, double n);
double kernels_cycles_mul(const struct layout *l, double n);
/** The same where both operands are tiles, which lie in one bank. */
double kernels_cycles_add_tiles(const struct layout *l, double n);
double kernels_cycles_mul_tiles(const struct layout *l, double n);
/** Additions into 32-bit sums. */
double kernels_cycles_sum(const struct layout *l, double n);
double kernels_cycles_copy(const struct layout *l, double n);
/** Scalar code of @p cycles an element. */
double kernels_cycles_map(const struct layout *l, double n, double cycles);
double kernels_cycles_axpy(const struct layout *l, double n);
/** One vector per token of sums over the row, @p vectors times, and back to all. */
double kernels_cycles_row_sum(const struct layout *l, double cols, double words);
struct side kernels_cycles_side(const struct layout *l, int64_t n);
/** Vectors of @p words words a PE that come from or leave at the edge. */
double kernels_cycles_vectors_in(const struct layout *l, double words);
double kernels_cycles_vectors_out(const struct layout *l, double words);

double kernels_cycles_product(const struct layout *l, const struct side *in, double n_out);
double kernels_cycles_weight_gradient(const struct layout *l, const struct side *in,
                                      const struct side *out);
/** True when it is the input that goes along the row, and dW is built column by column. */
bool kernels_cycles_by_columns(const struct layout *l, const struct side *in,
                               const struct side *out);
/** From the start of a weight gradient to its first word at the edge. */
double kernels_cycles_first_rows(const struct layout *l, const struct side *in,
                                 const struct side *out);
/** Sums over the PE's @p n tokens of what it holds of @p held times what @p sent gives along @p
 * cols columns. */
double kernels_cycles_outer(const struct layout *l, double n, double held, const struct side *sent,
                            double cols);
/** Blocks of results that it takes. */
double kernels_cycles_blocks(const struct layout *l, double held, const struct side *sent);
double kernels_cycles_gradient_latency(const struct layout *l);

double kernels_cycles_bias(const struct layout *l, double features);
double kernels_cycles_bias_gradient(const struct layout *l, double features, double vectors);
double kernels_cycles_residual(const struct layout *l, double features);
double kernels_cycles_norm(const struct layout *l);
double kernels_cycles_norm_input_gradient(const struct layout *l);
/** Of gain and bias. */
double kernels_cycles_norm_vector_gradient(const struct layout *l);
/** The output again, from kept statistics. */
double kernels_cycles_norm_again(const struct layout *l);
/** All three. */
double kernels_cycles_norm_gradient(const struct layout *l);
double kernels_cycles_nonlinearity(const struct layout *l, double features);
double kernels_cycles_softmax(const struct layout *l, double features);
double kernels_cycles_softmax_gradient(const struct layout *l, double features);
double kernels_cycles_rotary(const struct layout *l, double features);
double kernels_cycles_gather(const struct layout *l, double rows);
double kernels_cycles_scatter(const struct layout *l, double rows);
double kernels_cycles_loss(const struct layout *l, double logits);
double kernels_cycles_loss_gradient(const struct layout *l, double logits);

double kernels_cycles_attention(const struct layout *l);
/** The same of new tokens towards cached keys and values (cycles_cached.c). */
double kernels_cycles_cached_attention(const struct layout *l);
/** @p again: the scores are computed again. */
double kernels_cycles_attention_gradient(const struct layout *l, bool again);

/** Values per token of a PE at the two peaks of a block's backward: feed-forward (h, p, act, d act,
 *  dy) and attention (x, q k v, a, da, dq dk dv, dy).  Weight gradients come when act or d act is
 *  not live, which leaves kernels_cycles_room() values per token for the sums. */
double kernels_cycles_live_ffn(const struct layout *l);
double kernels_cycles_live_attention(const struct layout *l);
double kernels_cycles_room(const struct layout *l);

/* The plan, opened for the tests. */

/** Bytes of one PE: kept by all blocks, live at the peak of one block beside the kept ones. */
struct plan_bytes {
    double kept, work;
};
/** @p resident: the kept tensors of a block are counted in kept, not again in work. */
struct plan_bytes kernels_plan_bytes_per_pe(const struct layout *l, enum kernels_keep keep,
                                            bool training, bool resident);
/** Cycles of a micro-batch of @p n_sequences with @p plan: stage by stage the longest of compute,
 *  bytes in and bytes out. */
double kernels_plan_micro_batch_cycles(const struct hw *hw, const struct model *model,
                                       const struct kernels_plan *plan, bool training,
                                       int64_t n_sequences);
#endif
