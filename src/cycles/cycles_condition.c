// SPDX-License-Identifier: Apache-2.0
/* Computes the cycles of conditioning in diffusion transformers (Peebles and Xie 2023,
 * adaLN-Zero). Each sequence has one row of C features, the sum of the embeddings of time step and
 * class. Matrices (C, C) compute from it scale and shift of a norm's output, (1 + scale) x +
 * shift, or the gate of a branch. These rows are distributed over the rows of a lane as tokens
 * are; their results go to the rows that hold tokens of their sequence, and in the backward pass
 * sums over these tokens come back. Products are those of any matrix with fewer tokens.
 * cycles_parts.c calls; next: cycles_product.c. */
#include "cycles_condition.h"

#include "cycles_product.h"
#include "cycles_rows.h"
#include "cycles_sparse.h"
#include "cycles_vector.h"

#include <math.h>

/* The matrices that condition each part: the kind of the first one and their number; the bias of a
 * matrix is the next kind. Two matrices give scale and shift of a norm, one the gate of a
 * branch. */
static const struct {
    enum model_part part;
    enum model_tensor_kind first;
    int n;
} conditions[] = {{MODEL_PART_QKV, MODEL_SCALE1_W, 2},
                  {MODEL_PART_ATTN, MODEL_GATE1_W, 1},
                  {MODEL_PART_FFN0, MODEL_SCALE3_W, 2},
                  {MODEL_PART_FFN1, MODEL_GATE3_W, 1},
                  {MODEL_PART_HEAD, MODEL_SCALEF_W, 2}};
enum { N_CONDITIONS = sizeof conditions / sizeof *conditions };

/* Before each of its matrices a row passes through SiLU, which is the only function that the params
 * of diffusion transformers may have. */
static const enum zoo_nonlinearity function = ZOO_SILU;

bool cycles_begins_condition(enum model_tensor_kind kind)
{
    for (int i = 0; i < N_CONDITIONS; i++)
        if (conditions[i].first == kind) return true;
    return false;
}

/* Set @p kind to the kinds of the matrices that condition @p part; returns their number, 0 for
 * other models. */
static int matrices_of(const struct cycles_layout *l, enum model_part part,
                       enum model_tensor_kind kind[2])
{
    for (int i = 0; l->model->patch && i < N_CONDITIONS; i++) {
        if (conditions[i].part != part) continue;
        for (int k = 0; k < conditions[i].n; k++)
            kind[k] = (enum model_tensor_kind)((int)conditions[i].first + 2 * k);
        return conditions[i].n;
    }
    return 0;
}

/* The layout of conditioning: one row of features for each sequence instead of for each token. */
static struct cycles_layout rows_layout(const struct cycles_layout *l)
{
    struct cycles_layout s = *l;
    s.t = ceil(l->texts / l->rows);
    return s;
}

/* ---- one linear layer ------------------------------------------------------------------------ */

/* Y = X W' + b, with the features @p in of X; the result has the hidden features. */
static void linear(const struct cycles_layout *l, const struct cycles_side *in,
                   enum model_tensor_kind kind, struct cycles_breakdown *c)
{
    c->products += cycles_product(l, in, l->hidden.n, cycles_density_of(l, kind));
    c->elementwise += cycles_bias(l, l->hidden.k);
}

/* Gradients of W and b of linear(). */
static void linear_gradient(const struct cycles_layout *l, const struct cycles_side *in,
                            enum model_tensor_kind kind, struct cycles_breakdown *c)
{
    const enum model_tensor_kind bias = (enum model_tensor_kind)((int)kind + 1);
    c->products += cycles_kind_gradient(l, in, &l->hidden, kind);
    c->elementwise += cycles_kind_bias_gradient(l, l->hidden.k, bias);
}

/* ---- between the row of a sequence and its tokens -------------------------------------------- */

/* Broadcast @p vectors vectors of each sequence to all rows that hold tokens of the sequence. */
static double spread(const struct cycles_layout *l, double vectors)
{
    return vectors * l->seqs * cycles_copy(l, l->hidden.k) + l->seq_rows * l->hop + l->ramp;
}

/* Reduce @p vectors vectors of each sequence: over its tokens on a PE, then over the rows that
 * hold its tokens. */
static double collect(const struct cycles_layout *l, double vectors)
{
    const double words = vectors * l->seqs * l->hidden.k;
    return cycles_copy(l, words) + vectors * cycles_sum(l, l->hidden.k * l->t) +
           cycles_row_sum(l, l->seq_rows, words);
}

void cycles_conditions_forward(const struct cycles_layout *l, enum model_part part,
                               struct cycles_breakdown *c)
{
    enum model_tensor_kind kind[2];
    const int n = matrices_of(l, part, kind);
    const struct cycles_layout s = rows_layout(l);
    const double tokens = l->hidden.k * l->t;
    if (!n) return;
    for (int i = 0; i < n; i++) {
        c->elementwise += cycles_nonlinearity(&s, function, s.hidden.k);
        linear(&s, &s.hidden, kind[i], c);
    }
    c->elementwise += spread(l, n) + cycles_mul_tiles(l, tokens);
    if (n == 2) c->elementwise += cycles_add(&s, s.hidden.k * s.t) + cycles_add_tiles(l, tokens);
}

/* The output of the norm is not recomputed here: the gradient of the norm has done so, and also
 * multiplies by the scale. The branch of a gate was kept or recomputed earlier. */
void cycles_conditions_backward(const struct cycles_layout *l, enum model_part part,
                                struct cycles_breakdown *c)
{
    enum model_tensor_kind kind[2];
    const int n = matrices_of(l, part, kind);
    const struct cycles_layout s = rows_layout(l);
    const double tokens = l->hidden.k * l->t;
    if (!n) return;
    c->elementwise += spread(l, 1) + cycles_mul_tiles(l, tokens) + collect(l, n);
    if (n == 1) c->elementwise += cycles_mul_tiles(l, tokens); /* gradient of the branch */
    for (int i = 0; i < n; i++) {
        c->products += cycles_product(&s, &s.hidden, s.hidden.n, cycles_density_of(l, kind[i]));
        linear_gradient(&s, &s.hidden, kind[i], c);
        c->elementwise +=
            2 * cycles_nonlinearity(&s, function, s.hidden.k) + cycles_residual(&s, s.hidden.k);
    }
}

/* ---- embeddings ------------------------------------------------------------------------------ */

/* Learned positions are rows of a table that tokens look up; fixed ones are stored on the wafer. */
static bool learns_positions(const struct cycles_layout *l)
{
    return l->model->zoo.position_embedding_type == ZOO_POSITION_LEARNED;
}

static bool has_positions(const struct cycles_layout *l)
{
    return l->model->zoo.position_embedding_type != ZOO_POSITION_NONE;
}

void cycles_patches_forward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    const struct cycles_layout s = rows_layout(l);
    const struct cycles_side patch = cycles_side_of(l, l->model->patch);
    const struct cycles_side times = cycles_side_of(l, l->model->frequencies);
    const double elements = patch.k * l->t;
    /* Noise is added: a latent + b noise, with a and b of the sequence's time step. */
    c->elementwise += 2 * cycles_mul_tiles(l, elements) + cycles_add_tiles(l, elements);
    linear(l, &patch, MODEL_PATCH_W, c);
    if (learns_positions(l)) c->elementwise += cycles_gather_positions(l, l->tokens);
    if (has_positions(l)) c->elementwise += cycles_residual(l, l->hidden.k);
    linear(&s, &times, MODEL_TIME0_W, c);
    linear(&s, &s.hidden, MODEL_TIME1_W, c);
    c->elementwise += cycles_nonlinearity(&s, function, s.hidden.k) +
                      cycles_gather(&s, (double)l->model->V) + cycles_residual(&s, s.hidden.k);
}

/* The value between the two layers of the time-step embedding is recomputed. */
void cycles_patches_backward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    const struct cycles_layout s = rows_layout(l);
    const struct cycles_side patch = cycles_side_of(l, l->model->patch);
    const struct cycles_side times = cycles_side_of(l, l->model->frequencies);
    linear_gradient(l, &patch, MODEL_PATCH_W, c);
    if (learns_positions(l))
        c->elementwise += cycles_trained_of(l, MODEL_WPE) * cycles_scatter_positions(l, l->tokens);
    c->recompute += cycles_product(&s, &times, s.hidden.n, cycles_density_of(l, MODEL_TIME0_W));
    c->products += cycles_product(&s, &s.hidden, s.hidden.n, cycles_density_of(l, MODEL_TIME1_W));
    linear_gradient(&s, &s.hidden, MODEL_TIME1_W, c);
    linear_gradient(&s, &times, MODEL_TIME0_W, c);
    c->elementwise += 2 * cycles_nonlinearity(&s, function, s.hidden.k) +
                      cycles_trained_of(l, MODEL_LABEL_W) * cycles_scatter(&s, (double)l->model->V);
}

double cycles_patches_first(const struct cycles_layout *l)
{
    const struct cycles_side patch = cycles_side_of(l, l->model->patch);
    return cycles_first_rows(l, &patch, &l->hidden, cycles_gradient_density_of(l, MODEL_PATCH_W));
}
