// SPDX-License-Identifier: Apache-2.0
/* Computes the cycles of attention in generation. Cached keys and values stay where they were
 * computed, on the rows of their text or source. One query of a new token at a time goes to all
 * rows of its text; each PE multiplies it with its own keys, and the resulting probabilities with
 * its own values; the partial results of the rows are added on the way back. In beam search keys
 * and values move between the rows of a prompt's texts. No program of the mesh does this, so the
 * formula is not compared with simulated cycles. */
#include "cycles_cached.h"

#include "cycles_layout.h"
#include "cycles_rows.h"
#include "cycles_vector.h"

#include <math.h>

/** Cached keys to which a query attends: their number, the number of rows of PEs that hold them,
 *  and the number of queries that these rows process one after the other. */
struct keys {
    double seen, rows, queries;
};

/** Place the caches of @p owners texts (or sources), each with @p seen keys and @p queries queries,
 *  on the rows of PEs. */
static struct keys keys_of(const struct cycles_layout *l, double seen, double owners,
                           double queries)
{
    return (struct keys){.seen = seen,
                         .rows = fmax(1, fmin(floor(l->rows / owners), seen)),
                         .queries = ceil(owners / l->rows) * queries};
}

/** Scores of a query with the keys of a PE, then the sums over the columns of its head. */
static double cached_scores(const struct cycles_layout *l, double held)
{
    return l->heads.k * cycles_axpy_arrival(l, held) +
           cycles_row_sum(l, l->head_cols, l->heads_per_pe * held);
}

/** Cycles to modify the scores of a PE before their softmax, where the model has it: the soft cap,
 *  the bias key position x slope of the head, the relative positions' elements of the head's
 *  table. */
static double cached_shaping(const struct cycles_layout *l, double held)
{
    const double words = l->heads_per_pe * held;
    return (l->capped ? cycles_cap(l, words) : 0) +
           (l->sloped ? l->heads_per_pe * cycles_axpy(l, held) : 0) +
           (l->relative ? cycles_sum(l, words) : 0);
}

/** Softmax over all keys of a text, which lie on @p rows rows: maximum and sum are reduced over
 *  these rows. */
static double cached_probabilities(const struct cycles_layout *l, double held, double rows)
{
    const double words = l->heads_per_pe * held;
    const double across = cycles_row_sum(l, rows, l->heads_per_pe);
    return cached_shaping(l, held) + 2 * (cycles_sum(l, words) + across) +
           2 * cycles_mul(l, words) + cycles_map(l, words, l->exp) +
           cycles_map(l, l->heads_per_pe, l->divide);
}

/** Output of attention: the values of a PE times their probabilities, added up over the rows. */
static double cached_mix(const struct cycles_layout *l, double held, double rows)
{
    return l->heads_per_pe * held * cycles_axpy(l, l->heads.k / l->heads_per_pe) +
           cycles_row_sum(l, rows, l->heads.k);
}

static double attend(const struct cycles_layout *l, const struct keys *k)
{
    const double held = ceil(k->seen / k->rows);
    const double query = k->rows * l->hop + l->heads.k + 2 * l->ramp;
    const double one = query + cached_scores(l, held) + cached_probabilities(l, held, k->rows) +
                       cached_mix(l, held, k->rows);
    return k->queries * one;
}

/** Beam search: each kept text of a prompt may continue another text than before. Cached keys and
 *  values then move between rows along the columns. Those of half of the texts cross the busiest
 *  link in each direction. */
static double exchange(const struct cycles_layout *l, const struct keys *k)
{
    const double beams = (double)l->generated.n_beams;
    const double words = l->heads.k * (l->qkv - 1) * l->value * l->cached;
    if (beams < 2 || !(l->cached > 0)) return 0;
    return ceil(l->texts / l->rows) * floor(beams / 2) * words + beams * k->rows * l->hop +
           2 * l->ramp;
}

double cycles_cached_attention(const struct cycles_layout *l)
{
    const struct keys k = keys_of(l, cycles_keys_seen(l) / l->tokens, l->texts, l->tokens);
    return attend(l, &k) + exchange(l, &k);
}

/* Scores of cross attention are only scaled: no cap, slopes or relative positions. */
double cycles_cached_cross(const struct cycles_layout *l)
{
    struct cycles_layout plain = *l;
    plain.capped = plain.sloped = plain.relative = false;
    const double beams = fmax(1, (double)l->generated.n_beams);
    const struct keys k =
        keys_of(l, (double)l->generated.n_memory, l->of_stack[l->stack - 1], beams * l->tokens);
    return attend(&plain, &k);
}
