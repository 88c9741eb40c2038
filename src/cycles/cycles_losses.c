// SPDX-License-Identifier: Apache-2.0
/* Computes the cycles of losses and their gradients, from the @p logits outputs that a PE has of
 * each of its tokens. The table at the end has a row for each loss. */
#include "cycles_losses.h"

#include "cycles_vector.h"

/** Cycles until @p words words of each token have left over the west edge; lanes share this
 *  edge. */
static double leave(const struct cycles_layout *l, double words)
{
    return words * l->t * (l->on_mesh ? l->lanes : 1);
}

/* ---- cross entropy over the outputs of a token ----------------------------------------------- */

/** Cross entropy per token: maximum of the logits, the label's logit, the lowest index among the
 *  largest logits, sum of the exponentials, each reduced along the row. */
double cycles_loss(const struct cycles_layout *l, double logits)
{
    const double n = logits * l->t;
    const double largest = cycles_map(l, n, CYCLES_COMPARE) + cycles_add(l, n) + cycles_mul(l, n) +
                           cycles_row_sum(l, l->cols, l->t);
    return 4 * cycles_copy(l, l->t) + cycles_mul(l, n) + cycles_row_sum(l, l->cols, l->t) +
           l->t * CYCLES_LABEL + largest + cycles_map(l, n, l->exp) + cycles_sum(l, n) +
           cycles_row_sum(l, l->cols, 2 * l->t) + cycles_map(l, l->t, l->exp) +
           cycles_op(l->setup_add, l->t, l->add) + leave(l, 2);
}

/** Uses the exponentials that cycles_loss() left in memory. */
double cycles_loss_gradient(const struct cycles_layout *l, double logits)
{
    return cycles_copy(l, l->t) + cycles_map(l, l->t, l->divide) + 2 * l->t * CYCLES_LABEL +
           cycles_mul(l, logits * l->t);
}

double cycles_even_labels_gradient(const struct cycles_layout *l, double logits)
{
    return cycles_op(l->setup_add, l->t, l->mul) + cycles_add(l, logits * l->t);
}

/* ---- answers as spans ------------------------------------------------------------------------ */

/** The softmax of a text is computed over its tokens, down the rows of the lane. The maximum, the
 *  label's logit, the first token with the largest logit and the sum of exponentials are reduced
 *  along the rows, one word each per text and logit; two words of each token leave as in
 *  cycles_loss(). */
static double spans(const struct cycles_layout *l, double logits)
{
    const double n = logits * l->t, words = logits * l->texts;
    return 4 * cycles_copy(l, words) + cycles_mul(l, n) + n * CYCLES_COMPARE +
           4 * cycles_row_sum(l, l->rows, words) + 3 * words * CYCLES_LABEL +
           cycles_map(l, n, l->exp) + cycles_sum(l, n) + cycles_map(l, words, l->exp) +
           cycles_op(l->setup_add, words, l->add) + cycles_copy(l, 2 * l->t) +
           cycles_row_sum(l, l->cols, 2 * l->t) + leave(l, 2);
}

static double spans_gradient(const struct cycles_layout *l, double logits)
{
    const double words = logits * l->texts;
    return cycles_map(l, words, l->divide) + 2 * words * CYCLES_LABEL +
           cycles_mul(l, logits * l->t);
}

/* ---- squared errors -------------------------------------------------------------------------- */

/** An output of each token and its target; two words of each token leave as in cycles_loss(). */
static double squares(const struct cycles_layout *l, double outputs)
{
    return l->t * CYCLES_LABEL + 2 * cycles_copy(l, l->t) + cycles_mul(l, outputs * l->t) +
           cycles_row_sum(l, l->cols, l->t) + leave(l, 2);
}

/** Squared error of diffusion: one mean over all outputs of all tokens. */
static double noise(const struct cycles_layout *l, double outputs)
{
    const double n = outputs * l->t;
    return cycles_add_tiles(l, n) + cycles_mul_tiles(l, n) + cycles_sum(l, n) +
           cycles_row_sum(l, l->cols, 1) + cycles_row_sum(l, l->rows, 1);
}

/** The difference was kept; the gradient multiplies it by one factor. */
static double squares_gradient(const struct cycles_layout *l, double outputs)
{
    return cycles_mul(l, outputs * l->t);
}

/* ---- by kind --------------------------------------------------------------------------------- */

typedef double (*loss_fn)(const struct cycles_layout *l, double logits);

static const struct {
    loss_fn forward, gradient;
    bool exponentials; /* the backward pass recomputes them, from recomputed logits */
} losses[] = {
    [MODEL_CROSS_ENTROPY] = {cycles_loss, cycles_loss_gradient, true},
    [MODEL_PREFERENCE] = {cycles_loss, cycles_loss_gradient, true},
    [MODEL_SPAN_ENTROPY] = {spans, spans_gradient, true},
    [MODEL_SQUARED_ERROR] = {squares, squares_gradient, false},
    [MODEL_NOISE_ERROR] = {noise, squares_gradient, false},
};

double cycles_loss_of(const struct cycles_layout *l, enum model_loss_kind kind, double logits)
{
    return losses[kind].forward(l, logits);
}

double cycles_loss_gradient_of(const struct cycles_layout *l, enum model_loss_kind kind,
                               double logits)
{
    return losses[kind].gradient(l, logits);
}

double cycles_loss_again(const struct cycles_layout *l, enum model_loss_kind kind, double logits)
{
    return losses[kind].exponentials ? cycles_map(l, logits * l->t, l->exp) : 0;
}
