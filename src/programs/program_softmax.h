/** Softmax over the features of a tile as steps of a script, and causal attention of one sequence
 *  with its gradient. */
#ifndef WSC_PROGRAMS_SOFTMAX_H
#define WSC_PROGRAMS_SOFTMAX_H
#include "program_dropout.h"
#include "program_grid.h"
#include "program_scores.h"
#include "program_vector_ops.h"

#include <wsc/err.h>

#include <stdint.h>

/** Functions for maps: exp(x - max), and the logarithm of a sum of such exponentials, plus max. */
float programs_exp_of_difference(float x, float max);
float programs_log_of_sum(float sum, float max);
/** Append the steps of a softmax over the features of a tile, in place.
 *  programs_softmax_backward(): of its gradient, which replaces dy by dx. */
void programs_softmax(struct programs_grid *g, struct programs_script *s,
                      const struct programs_tile *x, int tokens);
void programs_softmax_backward(struct programs_grid *g, struct programs_script *s,
                               const struct programs_tile *y, const struct programs_tile *dy,
                               int tokens);
/** Attention of one sequence, causal unless the grid says otherwise, and its gradient; tiles are
 *  laid out by heads. @c scores keeps the probabilities for the gradient. */
struct programs_attention {
    int sample, scores, dscores, tokens; /**< addresses; dscores for the gradient only */
    struct programs_tile q, k, v, out;
    struct programs_tile dout, dq, dk, dv;
    int64_t room; /**< words of a PE for sums of the gradients */
    bool arrives; /**< gradients value by value, with AXPYs started by arriving scores */
    float scale;
    struct programs_shaping shaping;
    struct programs_drop *drop; /**< of probabilities; NULL: none */
    int dropped;                /**< address: scratch for probabilities after dropout */
};
enum wsc_err programs_run_attention(struct programs_grid *g, const struct programs_attention *a);
enum wsc_err programs_run_attention_backward(struct programs_grid *g,
                                             const struct programs_attention *a);
#endif
