// SPDX-License-Identifier: Apache-2.0
/* Computes the cycles of the products. Y = X W' has streamed weights, whose partial sums are added
 * along the row. Sums over tokens (dW = dY' X, gradients of keys and values) build their results
 * block by block: values go round the row, results leave down the column. The mesh programs of
 * these products are program_product.c and program_weight_grad.c; docs/MODEL.md, "Products". */
#include "cycles_product.h"
#include "cycles_fitted.h"

#include "cycles_sparse.h"
#include "cycles_vector.h"

#include <math.h>

/* ---- products -------------------------------------------------------------------------------- */

/** Cycles between two AXPYs of a loop, in which other operations use the datapath. */
static double gap(const struct cycles_layout *l)
{
    return l->loop + l->setup;
}

/** Cycles that a PE needs to add its partial sums to one vector of @p n sums over @p cols columns.
 *  Each PE is in the chain of every vector. For one vector in @p cols it is the end of the chain
 *  and receives a second vector. */
static double chain_share(const struct cycles_layout *l, double cols, double n)
{
    const double hidden = l->start / cycles_fit.chain_hidden;
    /* With two columns each PE is the end or the start of a sum, so it adds or forwards once. */
    const bool once = l->on_mesh && l->by_data && !(cols > 2);
    return fmax(0,
                (cols > 1 && !once ? 1 + cycles_fit.chain_ends / cols : 1) * n / l->add - hidden);
}

/** The turns of a product: in each turn every column is the end of one output. The last columns own
 *  fewer outputs where the outputs do not divide evenly. */
struct turns {
    double n, ends, chain; /**< chain: latency of a sum over the row */
};

static struct turns turns_of(const struct cycles_layout *l, double n_out)
{
    const double n = ceil(n_out / l->cols), ends = ceil(n_out / n);
    return (struct turns){n, ends,
                          l->cols > 1 ? (l->cols + ends - cycles_fit.chain_short) * l->relay
                                      : l->setup_copy};
}

/** Waiting time between turns on the mesh. In a turn, outputs end at one column after the other.
 *  The first column of the next turn gets its sums from the far end of the row, where the last turn
 *  ended; meanwhile it fills its free accumulators. */
static double turn_waits(const struct cycles_layout *l, const struct turns *turns, double item)
{
    const double ahead = (l->by_data ? l->accumulators - 1 : 1) * item;
    const double hidden = l->by_data ? cycles_fit.turn_hidden : 0; /* by its own chain */
    if (!l->on_mesh || turns->n < 2) return 0;
    return (turns->n - 1 - hidden) * fmax(0, turns->chain - ahead);
}

/** True on WSE-2, which rounds one number per cycle (fs2h, SDK appendix "SIMD"). WSE-3, recognised
 *  by the set-up of its fabric operations, rounds four. */
static bool rounds_one_a_cycle(const struct cycles_layout *l)
{
    return l->value < 1 && !(l->setup_fabric > 0);
}

/** Pause of the end column of an output before it forwards the sums of the next output: the start
 * of the operation and, in 16 bits, the rounding of the output. On WSE-2 the rounding takes two
 * cycles per element next to the passing sums, and every second output waits for it. On WSE-3 an
 * output waits only for the part of the set-up of the rounding that the sums do not hide. */
static double end_pause(const struct cycles_layout *l, const struct turns *turns)
{
    const struct cycles_fit *fit = &cycles_fit;
    const double next = fmax(fit->next_end, l->setup_fabric);
    const bool pair = turns->ends <= 2;
    if (rounds_one_a_cycle(l))
        return pair ? fmax(fit->pair_pause, fit->pair_rounded * l->t - l->relay)
                    : (l->t / 2 + l->setup_copy - 1) / 2;
    if (!(l->value < 1) || pair) return next;
    return next + fmax(0, fit->round_share * (l->setup_copy - 1 - fit->round_hidden * l->t));
}

/** Additional cycles of a turn besides its outputs: the first end waits for the far end of the row,
 *  where the last turn ended. The sums of two columns do not wait. */
static double turn_start(const struct cycles_layout *l, const struct turns *turns)
{
    const struct cycles_fit *fit = &cycles_fit;
    const bool slow = rounds_one_a_cycle(l);
    if (turns->ends <= 2) return 0;
    const double way = slow ? (turns->ends - fit->way_rounded) * l->relay
                            : (turns->ends - fit->way_short) * (l->relay + fit->next_end);
    const double vector = (turns->ends - 1) * l->relay + l->t - fit->turn_short;
    return fmax(way, vector - (slow ? fit->turn_rounded : 0));
}

/** Cycles of a product on the mesh where the sums, not the weights, are the bottleneck. The end
 *  column of an output is the first one to forward the sums of the next output, so the time between
 *  two ends is one vector and one relay. */
static double product_ends(const struct cycles_layout *l, const struct turns *turns, double n_out)
{
    if (l->cols < 2) return 0;
    const double last = l->value < 1 ? cycles_convert(l, l->t) : 0;
    return n_out * (l->t + l->relay + end_pause(l, turns)) + turns->n * turn_start(l, turns) +
           last + l->rows * l->hop;
}

/** Cycles that weights add to the sums if each weight is one AXPY of one cycle. Weights then arrive
 *  one per cycle and leave no free slot of the datapath, so that sums and weights alternate. Part
 * of this is hidden if a column has many weights. A 32-bit non-zero has its index in a separate
 *  wavelet, which leaves every second slot free. */
static double crowded_ends(const struct cycles_layout *l, const struct turns *turns,
                           const struct cycles_loads *loads, double density)
{
    const double n = density * loads->n;
    if (loads->one > 1 || n < 1 || (density < 1 && !(l->value < 1))) return 0;
    const double hidden = fmin(1, n / (cycles_fit.crowd_cols * l->cols));
    return loads->outputs * n - hidden * product_ends(l, turns, loads->outputs);
}

/** Cycles of a product as programs of the mesh compute it with AXPYs started by arriving data: the
 *  slower of the AXPYs of the columns and the sums along the row. */
static double product_on_mesh(const struct cycles_layout *l, const struct cycles_loads *loads,
                              double density)
{
    const double n_out = loads->outputs;
    const struct turns turns = turns_of(l, n_out);
    const struct cycles_load load = cycles_sparse_load(l, loads, density);
    const double item = fmin(load.mean + load.spread, load.all);
    const double least = density < 1 ? 0 : loads->least;
    const double once = turns.chain + turn_waits(l, &turns, fmax(item, least)) +
                        ceil(l->t / l->add) + l->rows * l->hop;
    const double ends = fmax(product_ends(l, &turns, n_out), n_out * loads->least) +
                        n_out * cycles_fit.ends_vary * load.deviation +
                        crowded_ends(l, &turns, loads, density);
    return fmin(cycles_at_least(n_out * item + once, cycles_fit.either * n_out * load.spread, ends),
                fmax(n_out * load.all + once, ends));
}

/** Y = X W' with streamed weights: each weight is one AXPY over the tokens of a PE, and each output
 *  one addition of the partial sums of the neighbour. A link carries one 32-bit sum per cycle. The
 *  columns that hold outputs take turns as ends of outputs. */
double cycles_product(const struct cycles_layout *l, const struct cycles_side *in, double n_out,
                      double density)
{
    const struct cycles_loads loads = {.outputs = n_out,
                                       .n = in->k,
                                       .one = cycles_axpy_arrival(l, l->t),
                                       .rest = chain_share(l, l->cols, l->t),
                                       .least = l->t,
                                       .word = true};
    if (l->on_mesh && l->by_data) return product_on_mesh(l, &loads, density);
    const double item = cycles_sparse_item(l, &loads, density);
    const struct turns turns = turns_of(l, n_out);
    return n_out * item + turns.chain + turn_waits(l, &turns, item) + ceil(l->t / l->add) +
           l->rows * l->hop;
}

double cycles_product_sliced(const struct cycles_layout *l, const struct cycles_side *in,
                             double n_out, double density)
{
    const struct cycles_side part = {.n = in->n / l->slices, .k = ceil(in->k / l->slices)};
    return l->slices * cycles_product(l, &part, n_out, density);
}

double cycles_products(const struct cycles_layout *l, const struct cycles_side *in, double n_out,
                       const struct cycles_matrix *matrix, int n)
{
    double sum = 0;
    bool alike = true;
    for (int i = 1; i < n && l->density; i++)
        if (l->density->weights[matrix[i].kind] < l->density->weights[matrix[0].kind] ||
            l->density->weights[matrix[i].kind] > l->density->weights[matrix[0].kind])
            alike = false;
    if (alike) return cycles_product(l, in, n_out, cycles_density_of(l, matrix[0].kind));
    for (int i = 0; i < n; i++)
        sum += matrix[i].share * cycles_product(l, in, n_out, cycles_density_of(l, matrix[i].kind));
    return sum;
}

double cycles_mean_of(const struct cycles_layout *l, const struct cycles_matrix *matrix, int n,
                      double (*of)(const struct cycles_layout *l, enum model_tensor_kind kind))
{
    double less = 0; /* exactly 0 where all fractions are 1, whatever the shares add up to */
    for (int i = 0; i < n; i++)
        less += matrix[i].share * (1 - of(l, matrix[i].kind));
    return fmax(0, 1 - less);
}

/* ---- sums over tokens ------------------------------------------------------------------------ */

enum { GROUP = CYCLES_RING_GROUP, MOST_COLUMNS = GROUP * GROUP };

/** One block of results: the number of values that are sent along the row, the first and last
 *  column that sends them, and the words that leave the PE for each result. */
struct block {
    double words, first, last, way;
};

/** Words that leave a PE for each result: twice as many where lanes are added. Gradients of keys
 * and values stay in their lane. */
static double words_out(const struct cycles_layout *l, const struct cycles_side *sent)
{
    return sent->in_lane ? 1 : cycles_lane_words(l);
}

/** Cycles of the AXPYs of one token, along the longer one of two vectors: the sent values or the @p
 *  held features. The values of the next token are received at the same time. */
static double token_axpys(const struct cycles_layout *l, double held, const struct block *b)
{
    const double few = fmin(held, b->words), many = fmax(held, b->words);
    const double receive = fmax(0, b->words / l->fast - few * gap(l) / cycles_fit.token_gap);
    return few * cycles_axpy(l, many) + receive + cycles_fit.token_more;
}

/** Cycles until the values of one token have gone to the first column of the row and back. */
static double token_trip(const struct cycles_layout *l, double held, const struct block *b)
{
    const double levels = b->last >= GROUP ? 3 : b->last > 0 ? 2 : 1;
    /* A column reports the end of its turn between two AXPYs. */
    const double turn = b->last > b->first ? cycles_axpy(l, fmax(held, b->words)) : 0;
    return 2 * b->last * l->hop + levels * (2 * l->ramp + 1) + b->words + turn;
}

/** Cycles of one block over @p n tokens; then its sums leave the PE, one per cycle. */
static double block_cycles(const struct cycles_layout *l, double n, double held,
                           const struct block *b, double cols)
{
    const double axpys = token_axpys(l, held, b);
    const double token = cols > 1 ? fmax(axpys, token_trip(l, held, b)) : axpys - 2;
    return n * token + held * b->words * b->way;
}

/** Cycles of @p count equal blocks. The first is @p b; each further one begins @p columns columns
 *  later. All are on one side of the end of the first group, so the trip grows by a constant from
 *  block to block: an arithmetic series. */
static double equal_blocks(const struct cycles_layout *l, double n, double held,
                           const struct block *b, double columns, double count)
{
    const double axpys = token_axpys(l, held, b), trip = token_trip(l, held, b);
    const double grows = 2 * columns * l->hop;
    if (count < 1) return 0;
    const double steps = grows > 0 ? ceil((axpys - trip) / grows) : (axpys > trip ? count : 0);
    const double short_ones = fmin(count, fmax(0, steps));
    const double long_ones = count - short_ones, first = trip + short_ones * grows;
    const double tokens = short_ones * axpys + long_ones * (first + grows * (long_ones - 1) / 2);
    return n * tokens + count * held * b->words * b->way;
}

/** Number of sent values for whose results with @p held features a PE has room. */
static double most_values(const struct cycles_layout *l, double held)
{
    return fmax(1, floor(l->room / (held + 2 * l->value)));
}

/** Block number @p i: as many whole columns as fit, or an equal part of one column where a whole
 *  one does not fit (equal on average, if the column does not divide evenly). */
static struct block block_of(const struct cycles_layout *l, double held,
                             const struct cycles_side *sent, double i)
{
    const double most = most_values(l, held), parts = ceil(sent->k / most);
    const double way = words_out(l, sent);
    if (parts > 1) {
        const double at = floor(i / parts);
        return (struct block){sent->k / parts, at, at, way};
    }
    const double columns = fmin(floor(most / sent->k), MOST_COLUMNS), first = i * columns * sent->k;
    const double words = fmin(columns * sent->k, sent->n - first);
    return (struct block){words, i * columns, ceil((first + words) / sent->k) - 1, way};
}

static double blocks_of(const struct cycles_layout *l, double held, const struct cycles_side *sent)
{
    const double most = most_values(l, held), parts = ceil(sent->k / most);
    if (parts > 1) return parts * sent->n / sent->k;
    return ceil(sent->n / (fmin(floor(most / sent->k), MOST_COLUMNS) * sent->k));
}

/** Cycles per value that the first column needs, on the mesh, to forward the values of all columns.
 *  A word arrives three to four cycles after an AXPY has made room for it: during this AXPY, for
 *  some words during a later one, or between two AXPYs. It costs one cycle if it meets an AXPY
 *  without free slots. */
static double first_column_relays(const struct cycles_layout *l, double held)
{
    enum { LATE = 4, PAIR = 2 };
    const double cycles = held / l->mac, comes = LATE - 0.5;
    if (!l->on_mesh || ceil(cycles) > cycles) return 0;
    if (cycles >= LATE) return 1;
    if (cycles <= PAIR && !(l->start > 0)) return cycles_fit.value_relay_full;
    return fmod(comes, cycles + l->start) < cycles ? cycles_fit.value_relay : 0;
}

/** Cycles per sent value for rounding on the mesh. The column that owns the values rounds them from
 *  32 bits when it sends them, one per cycle on WSE-2 and four on WSE-3 (fs2h), each in a slot that
 *  no AXPY can share. The whole row waits for this column. */
static double owner_rounds(const struct cycles_layout *l)
{
    return l->on_mesh && rounds_one_a_cycle(l) ? fmax(0, 1 - l->start) : 0;
}

/** Weight gradient one sent feature at a time, without blocks: the value of each of @p n tokens
 * goes along the row and starts an AXPY over the @p held features. Their sums then leave down the
 *  column, with one addition on each PE and additions for the lanes. */
static double outer_by_data(const struct cycles_layout *l, double n, double held,
                            const struct cycles_side *sent, double cols)
{
    const double relays = fmax(first_column_relays(l, held), sent->wide ? owner_rounds(l) : 0);
    const double way = words_out(l, sent);
    const double added = fmax(0, way * held / l->add - l->start / cycles_fit.chain_hidden);
    const double item = n * fmax(1, cycles_axpy_arrival(l, held)) + (n - 1) * relays + added;
    return sent->n * fmax(item, way * held) + cols * l->hop + 2 * l->ramp;
}

/** Weight gradient in blocks, where scalar code starts each AXPY. */
static double outer_in_blocks(const struct cycles_layout *l, double n, double held,
                              const struct cycles_side *sent, double cols)
{
    const double blocks = blocks_of(l, held, sent), whole = ceil(blocks) - 1;
    const struct block last = block_of(l, held, sent, whole);
    double sum = fmin(1, blocks - whole) * block_cycles(l, n, held, &last, cols);
    if (whole < 1) return sum;
    const struct block first = block_of(l, held, sent, 0);
    const double columns = (last.first - first.first) / whole;
    if (cols < 2) return sum + whole * block_cycles(l, n, held, &first, cols);
    /* Blocks inside the first group, then those beyond it. */
    const double near =
        first.last >= GROUP
            ? 0
            : fmin(whole, columns > 0 ? ceil((GROUP - first.last) / columns) : whole);
    struct block far = first;
    far.first += near * columns;
    far.last += near * columns;
    return sum + equal_blocks(l, n, held, &first, columns, near) +
           equal_blocks(l, n, held, &far, columns, whole - near);
}

/** A copy of the layout with the rate of multiply-adds over features instead of tokens. On the mesh
 *  the stride between the features of a token is one row of tokens; in 16 bits it is a multiple of
 *  four but not of eight, so two elements are read per cycle (SDK appendix "SIMD"). */
static struct cycles_layout over_features(const struct cycles_layout *l)
{
    enum { STRIDED = 2 };
    struct cycles_layout own = *l;
    if (l->on_mesh && l->value < 1) own.mac = fmin(l->mac, STRIDED);
    return own;
}

double cycles_outer(const struct cycles_layout *l, double n, double held,
                    const struct cycles_side *sent, double cols)
{
    const struct cycles_layout own = over_features(l);
    const double blocks = outer_in_blocks(&own, n, held, sent, cols);
    return l->by_data ? fmin(blocks, outer_by_data(&own, n, held, sent, cols)) : blocks;
}

bool cycles_outer_arrives(const struct cycles_layout *l, double n, double held,
                          const struct cycles_side *sent, double cols)
{
    const struct cycles_layout own = over_features(l);
    return l->by_data &&
           outer_by_data(&own, n, held, sent, cols) <= outer_in_blocks(&own, n, held, sent, cols);
}

/** True when a weight gradient is faster with the input as the sent operand than with the
 *  output. */
static bool by_columns(const struct cycles_layout *l, const struct cycles_side *in,
                       const struct cycles_side *out)
{
    return cycles_outer(l, l->t, out->k, in, l->cols) < cycles_outer(l, l->t, in->k, out, l->cols);
}

/** Cycles of a weight gradient that computes the results of zero weights too, with the faster
 *  choice of the sent operand. */
static double all_results(const struct cycles_layout *l, const struct cycles_side *in,
                          const struct cycles_side *out)
{
    return fmin(cycles_outer(l, l->t, out->k, in, l->cols),
                cycles_outer(l, l->t, in->k, out, l->cols));
}

/** Cycles of a sampled gradient, with the faster choice of the sent operand; infinite where the
 *  weights are dense or the machine does not use it. */
static double some_results(const struct cycles_layout *l, const struct cycles_side *in,
                           const struct cycles_side *out, double density)
{
    if (!(density < 1) || !l->sampled) return INFINITY;
    return fmin(cycles_sampled_gradient(l, out->k, in, density),
                cycles_sampled_gradient(l, in->k, out, density));
}

struct cycles_gradient_way cycles_gradient_way(const struct cycles_layout *l,
                                               const struct cycles_side *in,
                                               const struct cycles_side *out, double density)
{
    const double some = some_results(l, in, out, density);
    if (some < all_results(l, in, out)) {
        const bool columns = cycles_sampled_gradient(l, out->k, in, density) <
                             cycles_sampled_gradient(l, in->k, out, density);
        return (struct cycles_gradient_way){.by_columns = columns, .sampled = true};
    }
    const bool columns = by_columns(l, in, out);
    const bool arrives =
        cycles_outer_arrives(l, l->t, columns ? out->k : in->k, columns ? in : out, l->cols);
    return (struct cycles_gradient_way){.by_columns = columns, .arrives = arrives};
}

/** Cycles that a weight gradient saves on the mesh where the last rows of a column have one token
 *  less: they are ready earlier, and no row waits for their sums. */
static double early_rows(const struct cycles_layout *l, const struct cycles_side *in,
                         const struct cycles_side *out, double density)
{
    const double late = fmod(l->tokens, l->rows);
    if (!l->on_mesh || !(late > 0) || !cycles_gradient_way(l, in, out, density).arrives) return 0;
    return l->relay * (l->rows - late);
}

double cycles_weight_gradient(const struct cycles_layout *l, const struct cycles_side *in,
                              const struct cycles_side *out, double density)
{
    return fmin(all_results(l, in, out), some_results(l, in, out, density)) +
           cycles_gradient_latency(l) - early_rows(l, in, out, density);
}

double cycles_kind_gradient(const struct cycles_layout *l, const struct cycles_side *in,
                            const struct cycles_side *out, enum model_tensor_kind kind)
{
    const double trained = cycles_trained_of(l, kind);
    if (!(trained > 0)) return 0;
    return trained * cycles_weight_gradient(l, in, out, cycles_gradient_density_of(l, kind));
}

double cycles_matrices_gradient(const struct cycles_layout *l, const struct cycles_side *in,
                                const struct cycles_side *out, const struct cycles_matrix *matrix,
                                int n)
{
    const double trained = cycles_mean_of(l, matrix, n, cycles_trained_of);
    const double density = cycles_mean_of(l, matrix, n, cycles_gradient_density_of);
    return trained > 0 ? trained * cycles_weight_gradient(l, in, out, density) : 0;
}

double cycles_kind_bias_gradient(const struct cycles_layout *l, double features,
                                 enum model_tensor_kind kind)
{
    return cycles_trained_of(l, kind) * cycles_bias_gradient(l, features, 1);
}

/** The biases that train in the largest fraction of the blocks or experts leave in as many steps;
 *  the mean fraction of all gives the vectors of one such step. */
double cycles_biases_gradient(const struct cycles_layout *l, double features,
                              const struct cycles_matrix *bias, int n)
{
    const double mean = cycles_mean_of(l, bias, n, cycles_trained_of);
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, cycles_trained_of(l, bias[i].kind));
    return most > 0 ? most * cycles_bias_gradient(l, features / n, n * mean / most) : 0;
}

double cycles_first_rows(const struct cycles_layout *l, const struct cycles_side *in,
                         const struct cycles_side *out, double density)
{
    const double some = some_results(l, in, out, density);
    if (some < all_results(l, in, out)) return some / fmax(in->n, out->n);
    const bool columns = by_columns(l, in, out);
    const struct cycles_side *held = columns ? out : in, *sent = columns ? in : out;
    if (cycles_outer_arrives(l, l->t, held->k, sent, l->cols))
        return l->t * cycles_axpy_arrival(l, held->k);
    struct block b = block_of(l, held->k, sent, 0);
    return block_cycles(l, l->t, held->k, &b, l->cols) - held->k * b.words;
}
