// SPDX-License-Identifier: Apache-2.0
/* Cycles of causal attention and its gradient.  Keys of a sequence stream past its queries, as
 * weights do.  The columns of a head keep the scores of the keys, an equal part each (the mesh
 * programs are program_scores.c and program_attention_out.c). */
#include <wsc/cycles_ops.h>

#include "cycles_fitted.h"
#include "cycles_product.h"
#include "cycles_vector.h"

#include <math.h>

/** Key steps of a PE: every key of each sequence it holds tokens of. */
static double keys(const struct cycles_layout *l)
{
    return l->seqs * l->tokens;
}

/** Per key one AXPY for each feature of the PE. */
static double key_axpys(const struct cycles_layout *l)
{
    return keys(l) * l->heads.k * cycles_axpy_arrival(l, l->q_mean);
}

/** The first key to the first row and down again, then along half of the head's columns. */
static double latency(const struct cycles_layout *l)
{
    return l->seqs * (2 * l->seq_rows * l->hop + l->head_cols * l->relay / 2);
}

/** Sum over a head's features (Q K', dO V'): AXPYs, then the chain over the head's columns to the
 *  one that keeps the key's scores, which is the same for many keys. */
static double contract_features(const struct cycles_layout *l)
{
    const struct cycles_fit *fit = &cycles_fit;
    const double ends = fmax(l->head_cols > 1 ? fit->head_ends - fit->head_fewer / l->head_cols : 0,
                             fit->head_least);
    const double by_data = ends * l->q_mean - l->start / fit->head_hidden;
    const double in_loop = fmax(fit->loop_ends * (l->q_mean - l->start),
                                fit->loop_slope * l->q_mean - fit->loop_offset);
    const double chain = fmax(0, l->by_data ? by_data : in_loop);
    return key_axpys(l) + (l->head_cols > 1 ? keys(l) * l->heads_per_pe * chain : 0) + latency(l);
}

/** Sum over keys (P V, dS K): each PE of the head receives the row of scores, then AXPYs.  In a
 * loop of them the first column passes the next row on, in their gaps and beyond. */
static double contract_keys(const struct cycles_layout *l)
{
    const double pass =
        l->by_data ? l->relay : fmax(0, l->q_mean - l->start / cycles_fit.pass_hidden);
    const double receive = l->head_cols > 1 ? l->q_mean + pass : 0;
    return key_axpys(l) + keys(l) * receive + latency(l);
}

/** Sum over queries (P' dO, dS' Q): a weight gradient whose rows are the keys. */
static double contract_queries(const struct cycles_layout *l)
{
    const struct cycles_side sent = {l->tokens, ceil(l->tokens / l->head_cols)};
    const double held = l->heads.k / l->heads_per_pe;
    const double one = cycles_outer(l, l->q, held, &sent, l->head_cols);
    return l->seqs * (l->heads_per_pe * one + l->relay * (l->seq_rows - 1));
}

/** Rows of scores on a PE. */
static double score_rows(const struct cycles_layout *l)
{
    return l->seqs * ceil(l->tokens / l->head_cols) * l->heads_per_pe;
}

/** Queries of a row of scores on the column that has most: of its keys one is an early one, which
 *  all queries see. */
static double busiest_row(const struct cycles_layout *l)
{
    const double keys_of_column = ceil(l->tokens / l->head_cols);
    return l->q_mean + (l->head_cols > 1 ? (l->q - l->q_mean) / keys_of_column : 0);
}

/** Two sums over the keys for each query, over the columns of a head. */
static double key_sums(const struct cycles_layout *l, double sums)
{
    const double words = l->heads_per_pe * l->q;
    return l->seqs * sums * (cycles_copy(l, words) + cycles_row_sum(l, l->head_cols, words));
}

/** Scaled, less the maximum, exponentials, over their sum; the operations on one row of scores
 *  follow each other. */
static double probabilities(const struct cycles_layout *l)
{
    const double q = busiest_row(l), words = l->heads_per_pe * l->q;
    const double row = 2 * (l->setup_add + q / l->mul) + (l->setup_copy + q * l->exp) +
                       (l->setup_add + q / l->add) + (l->setup_add + q / l->mul) + 3;
    return score_rows(l) * row + key_sums(l, 2) + l->seqs * cycles_map(l, words, l->divide);
}

/** O = softmax(Q K') V. */
double cycles_attention(const struct cycles_layout *l)
{
    return contract_features(l) + probabilities(l) + contract_keys(l) +
           l->seqs * cycles_copy(l, l->heads.k * l->q);
}

/** Dao et al. 2022, algorithm 4: scores again, then dV, dP, dS, dQ, dK. */
double cycles_attention_gradient(const struct cycles_layout *l, bool again)
{
    const double q = busiest_row(l);
    const double row = (l->setup_add + 2 * q / l->mul) + (l->setup_add + q / l->add) +
                       (l->setup_add + q / l->mul) + (l->setup_add + 2 * q / l->add) +
                       (l->setup_add + q / l->mul) + 2;
    double sum = contract_features(l) + score_rows(l) * row + key_sums(l, 1) + contract_keys(l) +
                 2 * contract_queries(l) + l->seqs * cycles_copy(l, l->heads.k * l->q);
    if (again) sum += contract_features(l) + probabilities(l);
    return sum;
}
