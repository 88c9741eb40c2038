// SPDX-License-Identifier: Apache-2.0
/* Computes what attention takes in the programs of the mesh: which PE has most scores, counted key
 * by key, and the time of a key, which the first row passes on, whose sums or scores go along the
 * columns of a head.  docs/MODEL.md, "Terms of the mesh". */
#include "cycles_keys.h"

#include "cycles_fitted.h"

#include <math.h>
#include <stdint.h>

/* ---- scores of a PE -------------------------------------------------------------------------- */

/** Number of tokens of row @p y from token @p first on; tokens go round the rows. */
static double tokens_from(const struct cycles_layout *l, double first, double y)
{
    return fmax(0, ceil((l->tokens - y) / l->rows)) - fmax(0, ceil((first - y) / l->rows));
}

/** Keys of a column, of which a query attends to @c rows; the scores of all. */
struct column {
    double keys, rows, scores;
};

static void add_key(const struct cycles_layout *l, double y, double key, struct column *c)
{
    const double queries = tokens_from(l, l->causal ? key : 0, y);
    c->keys++;
    c->rows += queries > 0;
    c->scores += queries;
}

/** End @p c when it has @p least keys. */
static void end_column(struct column *most, struct column *c, double least)
{
    if (c->keys < least) return;
    if (c->scores > most->scores) *most = *c;
    *c = (struct column){0};
}

/** The column with most scores in row @p y, if they are more than those of @p most. Keys come row
 *  by row, in a row every n-th one first, n columns of the head to a row, so that each column has
 *  early and late ones. */
static void take_row(const struct cycles_layout *l, double y, struct column *most)
{
    const double step = fmin(ceil(l->head_cols / l->rows), ceil(l->tokens / l->rows));
    struct column c = {0};
    for (double row = 0; row < l->seq_rows; row++) {
        const double held = tokens_from(l, 0, row);
        for (double first = 0; first < step; first++)
            for (double at = first; at < held; at += step) {
                add_key(l, y, at * l->rows + row, &c);
                end_column(most, &c, ceil(l->tokens / l->head_cols));
            }
    }
    end_column(most, &c, 0);
}

struct cycles_scores cycles_most_scores(const struct cycles_layout *l)
{
    struct column most = {0};
    for (double y = 0; y < l->seq_rows; y++)
        take_row(l, y, &most);
    return (struct cycles_scores){most.rows, most.scores / fmax(1, most.rows)};
}

/* ---- time of a key --------------------------------------------------------------------------- */

/** Fraction of the sequences whose operations run at half the rate because of bank conflicts.
 *  Sequences are stored without gaps, so with an odd number of tokens per PE every second
 *  sequence begins in another bank. If a head is one column, the 32-bit scores of such a sequence
 *  are in the bank of the other operand. */
static double collisions(const struct cycles_layout *l)
{
    const bool odd = fmod(l->q, 2) > 0 && l->value >= 1;
    return odd && l->head_cols < 2 ? floor(l->seqs / 2) / l->seqs : 0;
}

/** Unused fraction of the last cycle of an AXPY over the queries of a key, average over the keys. A
 *  causal mask makes each number of queries of a PE that attend to a key, 1 to q, equally frequent;
 *  without a mask all queries attend to all keys. */
static double unused(const struct cycles_layout *l)
{
    double sum = 0;
    if (!l->causal) return ceil(l->q / l->mac) - l->q / l->mac;
    for (int64_t n = 1; (double)n <= l->q; n++)
        sum += ceil((double)n / l->mac) - (double)n / l->mac;
    return sum / fmax(1, l->q);
}

double cycles_key_axpy(const struct cycles_layout *l)
{
    return fmax(l->start, cycles_fit.key_start) + (1 + collisions(l)) * l->q_mean / l->mac +
           unused(l);
}

/** Cycles of the values of a key: an AXPY for each. @p own: what the row that sends its own values
 *  adds, cycles of a value. */
static double values(const struct cycles_layout *l, double own)
{
    return l->heads.k / l->heads_per_pe * (cycles_key_axpy(l) + own / l->rows);
}

/** Time of a key whose sums go along the columns of a head. Each column adds the sums of its
 *  neighbour, the column that keeps the scores those of both sides. */
static double scores_of_key(const struct cycles_layout *l)
{
    const struct cycles_fit *fit = &cycles_fit;
    const bool pair = !(l->head_cols > 2);
    const double sums = values(l, fit->key_sent) +
                        (pair ? fit->key_pair : fit->key_ends) * l->q_mean +
                        (l->value < 1 ? fit->key_rounded : 0) - fit->key_ahead;
    const double chain = pair ? 0 : 2 * l->q_mean + fit->chain_fabric * l->setup_fabric;
    return l->heads_per_pe * fmax(sums, chain);
}

/** Latency of the sums of a sequence. The first column owns the first key and waits for the sums
 *  from the far end, meanwhile with as many keys as it has accumulators; then the last key goes to
 *  its owner. */
static double scores_latency(const struct cycles_layout *l, double key)
{
    const double cols = l->head_cols, of_column = ceil(l->tokens / cols);
    const double last = ceil(l->tokens / of_column) - 1;
    const double ahead = fmin(l->accumulators, l->tokens) - 1;
    const double first = fmax(0, (cols - 1) * l->relay - ahead * key);
    return 2 * l->seq_rows * l->hop + fmax(first + last * l->relay, (cols - 1 - last) * l->relay);
}

double cycles_scores_of_keys(const struct cycles_layout *l)
{
    const double key = scores_of_key(l);
    return l->seqs * (l->tokens * key + scores_latency(l, key));
}

/** Time of a key whose row of scores goes along the columns of a head: from its owner to the first
 *  column and from there to all. The next row comes while the values of the key arrive. */
static double mix_of_key(const struct cycles_layout *l)
{
    const struct cycles_fit *fit = &cycles_fit;
    const double row = (l->value < 1 ? fit->row_rounded : fit->row_sent) * l->q_mean;
    const double key =
        values(l, -fit->row_own) + row + fit->row_fabric * l->setup_fabric - fit->row_ahead;
    return l->heads_per_pe * fmax(key, l->q_mean);
}

double cycles_mix_of_keys(const struct cycles_layout *l)
{
    const double latency =
        (2 * l->seq_rows + cycles_fit.row_way * l->head_cols) * l->hop + l->relay;
    return l->seqs * (l->tokens * mix_of_key(l) + latency);
}
