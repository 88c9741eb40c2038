// SPDX-License-Identifier: Apache-2.0
/* Cycles of attention in generation: cached keys and values stay where they were computed, on the
 * rows of their text, and the queries of new tokens come to them.  One query at a time goes to all
 * rows of its text; each PE multiplies it with its own keys, and what it gives with its own values;
 * the rows' parts are added up on the way back.  They are the operations of attention in training,
 * with the keys where there are queries there; no program of the mesh does it, so this formula is
 * not compared with simulated cycles. */
#include "cycles_cached.h"

#include "cycles_vector.h"

#include <math.h>

/** Keys that a new token sees, on average over the new tokens and the layers. */
static double keys_seen(const struct cycles_layout *l)
{
    const struct model *m = l->model;
    const double all = l->cached + (l->tokens + 1) / 2;
    const double near = fmin(all, (double)(m->window + 1 + m->sink_tokens));
    if (!m->window) return all;
    return m->zoo.sliding_window_every_other_decoder_layer ? (all + near) / 2 : near;
}

/** Rows of one text, each of which holds some of its keys. */
static double rows_of_text(const struct cycles_layout *l, double keys)
{
    return fmax(1, fmin(floor(l->rows / l->texts), keys));
}

/** Scores of a query with the keys of a PE, then the sums over the columns of its head. */
static double cached_scores(const struct cycles_layout *l, double held)
{
    return l->heads.k * cycles_axpy_arrival(l, held) +
           cycles_row_sum(l, l->head_cols, l->heads_per_pe * held);
}

/** Maximum and sum over all keys of the text, which lie on @p rows rows. */
static double cached_probabilities(const struct cycles_layout *l, double held, double rows)
{
    const double words = l->heads_per_pe * held;
    const double across = cycles_row_sum(l, rows, l->heads_per_pe);
    return 2 * (cycles_sum(l, words) + across) + 2 * cycles_mul(l, words) +
           cycles_map(l, words, l->exp) + cycles_map(l, l->heads_per_pe, l->divide);
}

/** Values of a PE times their probabilities, added up over the rows. */
static double cached_mix(const struct cycles_layout *l, double held, double rows)
{
    return l->heads_per_pe * held * cycles_axpy(l, l->heads.k / l->heads_per_pe) +
           cycles_row_sum(l, rows, l->heads.k);
}

double cycles_cached_attention(const struct cycles_layout *l)
{
    const double keys = keys_seen(l), rows = rows_of_text(l, keys), held = ceil(keys / rows);
    const double texts = ceil(l->texts / l->rows);
    const double query = rows * l->hop + l->heads.k + 2 * l->ramp;
    const double one = query + cached_scores(l, held) + cached_probabilities(l, held, rows) +
                       cached_mix(l, held, rows);
    return texts * l->tokens * one;
}
