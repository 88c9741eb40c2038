// SPDX-License-Identifier: Apache-2.0
/* Computes the cycles of attention and its gradient in training. Keys of a sequence stream past
 * its queries, as weights do; the columns of a head keep the scores of the keys, an equal part
 * each. The mesh programs are program_scores.c and program_attention_out.c; docs/MODEL.md,
 * "Attention". */
#include <wsc/cycles_ops.h>

#include "cycles_fitted.h"
#include "cycles_keys.h"
#include "cycles_product.h"
#include "cycles_vector.h"

#include <math.h>

/** Keys that pass a PE: all keys of each sequence of which it holds tokens. */
static double keys(const struct cycles_layout *l)
{
    return l->seqs * l->tokens;
}

/** Does arriving data start the AXPYs on the mesh? */
static bool arrives_on_mesh(const struct cycles_layout *l)
{
    return l->on_mesh && l->by_data;
}

/** Cycles of one AXPY over the queries that attend to a key. On the mesh this is the mean of the
 *  cycles over the keys; in plans, the cycles for the mean number of queries. */
static double key_axpy(const struct cycles_layout *l)
{
    return arrives_on_mesh(l) ? cycles_key_axpy(l) : cycles_axpy_arrival(l, l->q_mean);
}

/** Cycles of the AXPYs of all keys: for each key, one AXPY for each feature of the PE. */
static double key_axpys(const struct cycles_layout *l)
{
    return keys(l) * l->heads.k * key_axpy(l);
}

/** Latency until the last PE begins: the first key goes up to the first row and down again, and its
 *  sum along half of the columns of the head. */
static double latency(const struct cycles_layout *l)
{
    return l->seqs * (2 * l->seq_rows * l->hop + l->head_cols * l->relay / 2);
}

/** Cycles per key and head that a PE needs to add up partial sums over the head's columns, in
 *  addition to its AXPYs. */
static double key_chain(const struct cycles_layout *l)
{
    const struct cycles_fit *fit = &cycles_fit;
    const double q = l->q_mean;
    const double ends = fmax(l->head_cols > 1 ? fit->head_ends - fit->head_fewer / l->head_cols : 0,
                             fit->head_least);
    if (l->head_cols < 2) return 0;
    if (!l->by_data)
        return fmax(0,
                    fmax(fit->loop_ends * (q - l->start), fit->loop_slope * q - fit->loop_offset));
    return fmax(0, ends * q - l->start / fit->head_hidden);
}

/** Sum over a head's features (Q K', dO V'): AXPYs, then a chain of additions over the columns of
 *  the head to the column that keeps the scores of the key. Many consecutive keys have the same
 *  column. */
static double contract_features(const struct cycles_layout *l)
{
    if (arrives_on_mesh(l) && l->head_cols > 1) return cycles_scores_of_keys(l);
    return key_axpys(l) + keys(l) * l->heads_per_pe * key_chain(l) + latency(l);
}

/** Cycles to round a row of scores to 16 bits before its use. Needed only where a head is one
 *  column, since other PEs receive rounded scores; plans leave conversions out. */
static double own_rows(const struct cycles_layout *l)
{
    const bool rounds = l->on_mesh && l->value < 1;
    const double times = l->by_data ? l->heads_per_pe : l->heads.k; /* a loop rounds for each
                                                                     * AXPY */
    return rounds ? times * cycles_convert(l, l->q_mean) : 0;
}

/** Waiting time of a PE for the row of scores of a key. With AXPYs in a loop, the first column
 *  forwards the next row in the gaps between AXPYs and after them. */
static double key_row(const struct cycles_layout *l)
{
    if (l->head_cols < 2) return own_rows(l);
    if (!l->by_data) return l->q_mean + fmax(0, l->q_mean - l->start / cycles_fit.pass_hidden);
    return l->q_mean + l->relay;
}

/** Sum over keys (P V, dS K): each PE of the head receives the row of scores of a key, then
 *  executes the AXPYs of that key. */
static double contract_keys(const struct cycles_layout *l)
{
    if (arrives_on_mesh(l) && l->head_cols > 1) return cycles_mix_of_keys(l);
    return key_axpys(l) + keys(l) * key_row(l) + latency(l);
}

/** The sent operand of a sum over queries: the rows of scores, divided among the columns of a
 *  head. */
static struct cycles_side sent_scores(const struct cycles_layout *l)
{
    return (struct cycles_side){.n = l->tokens,
                                .k = ceil(l->tokens / l->head_cols),
                                .wide = l->head_cols > 1,
                                .in_lane = true};
}

bool cycles_keys_arrive(const struct cycles_layout *l)
{
    const struct cycles_side sent = sent_scores(l);
    return cycles_outer_arrives(l, l->q, l->heads.k / l->heads_per_pe, &sent, l->head_cols);
}

/** Cycles of the sums over queries at the row that owns a key, on the mesh with AXPYs started by
 *  arriving data. The owner adds the sums from both sides and, in 16 bits, rounds the result; only
 *  then does it forward the sums of the next key. AXPYs that run at the same time take every second
 *  cycle of the datapath. A row owns consecutive keys (@c same: cycles of each). The first key of
 *  the next row also waits for the distance and for the rounding (@c next), because all AXPYs have
 *  ended by then. */
static double key_sums_end(const struct cycles_layout *l, double held)
{
    const double rows = fmin(l->seq_rows, l->tokens), sides = 2 - 2 / l->seq_rows;
    const double rounds = l->value < 1 ? cycles_convert(l, held) : 0;
    const double beside = l->value < 1 ? rounds - l->setup_copy : 0;
    const double same =
        sides * held + rounds + beside + (sides + 1) * l->setup_fabric + cycles_fit.key_same;
    const double next = l->relay + held + rounds + l->setup_fabric + cycles_fit.key_next;
    return l->seq_rows > 1 ? (l->tokens - rows) * same + rows * next : 0;
}

/** Sum over queries (P' dO, dS' Q): a weight gradient whose rows are the keys. On the mesh it takes
 *  as long as the slower one of two things: the AXPYs of a PE with the rounding of its own keys, or
 *  the additions at the owners of the keys. */
static double contract_queries(const struct cycles_layout *l)
{
    const struct cycles_side sent = sent_scores(l);
    const double held = l->heads.k / l->heads_per_pe;
    double one = cycles_outer(l, l->q, held, &sent, l->head_cols);
    if (l->on_mesh && l->value < 1 && !l->by_data && l->head_cols < 2)
        one += l->q * cycles_convert(l, l->tokens); /* a PE's own scores, query by query */
    if (l->on_mesh && cycles_keys_arrive(l)) {
        const double own = l->tokens / l->seq_rows;
        if (l->value < 1) one += own * (cycles_convert(l, held) - l->setup_copy) + l->setup_copy;
        one = fmax(one, key_sums_end(l, held));
    }
    return l->seqs * (l->heads_per_pe * one + l->relay * (l->seq_rows - 1));
}

/** Scores of the PE with most of them. In plans one of its keys is an early one, to which all
 *  queries of the PE attend. */
static struct cycles_scores busiest(const struct cycles_layout *l)
{
    if (l->on_mesh) return cycles_most_scores(l);
    const double rows = ceil(l->tokens / l->head_cols);
    const double early = l->head_cols > 1 ? (l->q - l->q_mean) / rows : 0;
    return (struct cycles_scores){rows, l->q_mean + early};
}

/** Rows of scores of all sequences and heads of a PE. */
static double score_rows(const struct cycles_layout *l, const struct cycles_scores *s)
{
    return l->seqs * s->rows * l->heads_per_pe;
}

/** Cycles between the operations on a row of scores: @p cycles in plans; the programs of the mesh
 *  have none. */
static double between(const struct cycles_layout *l, double cycles)
{
    return l->on_mesh ? 0 : cycles;
}

/** Cycles to modify a row of @p q scaled scores before the softmax, where the model has it: the
 *  soft cap; the bias key position x slope of the head (a term that depends only on the query does
 *  not change a softmax); the relative position's element of the head's table. */
static double shaping(const struct cycles_layout *l, double q)
{
    const double add = l->setup_add + q / l->add;
    const double cap =
        l->setup_copy + q * (l->exp + l->divide + CYCLES_POLYNOMIAL) + l->setup_add + q / l->mul;
    return (l->capped ? cap : 0) + (l->sloped ? CYCLES_SLOPE + add : 0) + (l->relative ? add : 0);
}

/** Cycles of the backward pass of shaping(): the derivative of the cap; for trained slopes the sum
 *  of the row times the position; for a table the gradient of each score. */
static double shaping_gradient(const struct cycles_layout *l, double q)
{
    const double add = l->setup_add + q / l->add;
    return (l->capped ? l->setup_copy + q * CYCLES_CAP_SLOPE : 0) +
           (l->model->slopes && l->sloped ? CYCLES_SLOPE + add : 0) + (l->relative ? add : 0);
}

/** Cycles of @p sums sums over the keys for each query, reduced over the columns of a head. */
static double key_sums(const struct cycles_layout *l, double sums)
{
    const double words = l->heads_per_pe * l->q;
    return l->seqs * sums * (cycles_copy(l, words) + cycles_row_sum(l, l->head_cols, words));
}

/** Softmax of the scores: scaling, subtraction of the maximum, exponentials, division by their sum.
 *  The operations on one row of scores follow each other. */
static double probabilities(const struct cycles_layout *l)
{
    const struct cycles_scores s = busiest(l);
    const double q = s.queries, words = l->heads_per_pe * l->q;
    const double row = 2 * (l->setup_add + q / l->mul) + (l->setup_copy + q * l->exp) +
                       (l->setup_add + q / l->add) + (l->setup_add + q / l->mul) + between(l, 3);
    const bool rounds = l->on_mesh && l->model->softmax_16;
    return score_rows(l, &s) * (row + shaping(l, q) + (rounds ? 2 * cycles_convert(l, q) : 0)) +
           key_sums(l, 2) + l->seqs * cycles_map(l, words, l->divide);
}

/** Cycles to set the sums of the output to 0 and, in 16 bits, to round them at the end; plans leave
 *  the rounding out. */
static double output_sums(const struct cycles_layout *l)
{
    const double n = l->heads.k * l->q;
    return l->seqs * (cycles_copy(l, n) + (l->on_mesh && l->value < 1 ? cycles_convert(l, n) : 0));
}

/** O = softmax(Q K') V. */
double cycles_attention(const struct cycles_layout *l)
{
    return contract_features(l) + probabilities(l) + contract_keys(l) + output_sums(l);
}

/** Gradient of attention (Dao et al. 2022, algorithm 4): dV, dP, dS, dQ and dK, after the scores,
 *  which are recomputed when @p again. */
double cycles_attention_gradient(const struct cycles_layout *l, bool again)
{
    const struct cycles_scores s = busiest(l);
    const double q = s.queries;
    const double row = (l->setup_add + 2 * q / l->mul) + (l->setup_add + q / l->add) +
                       (l->setup_add + q / l->mul) + (l->setup_add + 2 * q / l->add) +
                       (l->setup_add + q / l->mul) + between(l, 2);
    double sum = contract_features(l) + score_rows(l, &s) * (row + shaping_gradient(l, q)) +
                 key_sums(l, 1) + contract_keys(l) + 2 * contract_queries(l) + output_sums(l);
    if (again) sum += contract_features(l) + probabilities(l);
    return sum;
}
