// SPDX-License-Identifier: Apache-2.0
/* Products whose matrix lies in the PEs in tiles, the layout of pr0f3ss/SpMM_Cerebras.  A PE takes
 *
 *      once + column ceil(k / w) + calls (call + element length)
 *
 * cycles.  Compressed columns: a call of length n for each non-zero.  Dense: a call of length
 * ceil(m / h) for each column of the tile and of B.  The number of non-zeros is binomial; the
 * distribution of the end of the whole product is that of the largest of all PEs, each later by the
 * way of B down to it and of its sums to the end of the row.  Called by program_spmm.c and by
 * product_laws.c of src/validation. */
#include <wsc/cycles_tiles.h>

#include <math.h>

/* CSC: fitted to the means of rows csc_32x6, csc_64x8_5, csc_48x32_20 and csc_64x8_20 of
 * benchmarks/reference/products/sparse.csv.  GEMM: a call takes 22 + 2.04 n cycles (cs2.yaml:
 * vector_loop_cycles), a column as in CSC; the rest fitted to row gemm_16x12. */
static const struct cycles_tile_law csc = {1511, 53.05, 39.2, 1.188},
                                    gemm = {5656, 53.05, 22, 2.04};

/* Cycles that one PE adds to a chain of receive, add or copy, send on a WSE-2 (docs/MESH.md). */
static const double relay = 6;

const struct cycles_tile_law *cycles_tile_law(bool dense)
{
    return dense ? &gemm : &csc;
}

/* ---- a PE ------------------------------------------------------------------------------------ */

/* Columns and rows of a tile. Fractions stand for the mean over PEs, of which the last ones hold
 * less. */
struct tile {
    double columns, rows;
};

static struct tile mean_tile(const struct cycles_tiles *t)
{
    return (struct tile){t->k / t->w, t->m / t->h};
}

static struct tile largest_tile(const struct cycles_tiles *t)
{
    return (struct tile){ceil(t->k / t->w), ceil(t->m / t->h)};
}

static double tile_cycles(const struct cycles_tiles *t, const struct tile *s, double calls)
{
    const struct cycles_tile_law *law = cycles_tile_law(t->dense);
    const double length = t->dense ? s->rows : t->n;
    return law->once + law->column * s->columns + calls * (law->call + law->element * length);
}

static double mean_calls(const struct cycles_tiles *t, const struct tile *s)
{
    return t->dense ? s->columns * t->n : s->columns * s->rows * t->density;
}

double cycles_tiles_mean(const struct cycles_tiles *t)
{
    const struct tile s = mean_tile(t);
    return tile_cycles(t, &s, mean_calls(t, &s));
}

/* ---- the number of non-zeros of a tile ------------------------------------------------------- */

/* Distribution of the number of calls: below[i] is the probability that a tile has at most `low +
 * i`. The range is twelve deviations to both sides; a longer one, for which no PE has memory, is
 * cut. */
enum { MOST_COUNTS = 2048 };
struct counts {
    double low, below[MOST_COUNTS];
    int n;
};

static void count(struct counts *c, const struct cycles_tiles *t, const struct tile *s)
{
    const double cells = floor(s->columns * s->rows), mean = mean_calls(t, s);
    const bool exact = t->dense || !(t->density < 1);
    const double deviation = exact ? 0 : sqrt(mean * (1 - t->density));
    c->low = exact ? mean : fmax(0, floor(mean - 12 * deviation - 12));
    const double high = exact ? mean : fmin(cells, ceil(mean + 12 * deviation + 12));
    c->n = (int)fmin(MOST_COUNTS, high - c->low + 1);
    double below = 0;
    for (int i = 0; i < c->n; i++) {
        const double x = c->low + i;
        const double ways = lgamma(cells + 1) - lgamma(x + 1) - lgamma(cells - x + 1);
        if (!exact) below += exp(ways + x * log(t->density) + (cells - x) * log1p(-t->density));
        c->below[i] = exact ? 1 : fmin(1, below);
    }
    c->below[c->n - 1] = 1;
}

double cycles_tiles_most(const struct cycles_tiles *t)
{
    const struct tile s = mean_tile(t);
    struct counts c;
    count(&c, t, &s);
    double largest = c.low;
    for (int i = 0; i < c.n; i++)
        largest += 1 - pow(c.below[i], t->w * t->h);
    return tile_cycles(t, &s, largest);
}

/* ---- the whole product ----------------------------------------------------------------------- */

/* Logarithm of the probability that one PE has finished @p cycles after its own beginning. */
static double log_ended(const struct cycles_tiles *t, const struct counts *c, double cycles)
{
    const struct tile s = largest_tile(t);
    const double none = tile_cycles(t, &s, 0), one = tile_cycles(t, &s, 1) - none;
    const double i = floor((cycles - none) / one - c->low + 1e-9);
    if (i < 0) return -INFINITY;
    return i >= c->n ? 0 : log(c->below[(int)i]);
}

/* Words from one row of B or C to the next: an even number, for the banks. */
static double pitch_of(const struct cycles_tiles *t)
{
    return t->dense ? t->n : 2 * ceil(t->n / 2);
}

/* Cycle in which row @p y begins: a PE forwards B before it computes; the last row does not
 * forward. */
static double begin_of(const struct cycles_tiles *t, double y)
{
    const double words = ceil(t->k / t->w) * pitch_of(t);
    return t->h > 1 ? fmin(y + 1, t->h - 1) * words + relay * y : 0;
}

/* Probability that all PEs have ended and their sums have reached the end of the row, without the
 * words of the sums. In long rows and columns only some PEs are evaluated, each for its neighbours.
 */
static double all_ended(const struct cycles_tiles *t, const struct counts *c, double cycles)
{
    enum { MOST = 32 };
    const double every_x = fmax(1, t->w / MOST), every_y = fmax(1, t->h / MOST);
    double log_all = 0;
    const double first_x = (every_x - 1) / 2, first_y = (every_y - 1) / 2;
    const int n_x = (int)ceil((t->w - first_x) / every_x),
              n_y = (int)ceil((t->h - first_y) / every_y);
    for (int iy = 0; iy < n_y; iy++)
        for (int ix = 0; ix < n_x; ix++) {
            const double x = first_x + ix * every_x, y = first_y + iy * every_y;
            log_all += every_x * every_y *
                       log_ended(t, c, cycles - begin_of(t, y) - relay * (t->w - 1 - x));
        }
    return exp(log_all);
}

double cycles_tiles_product(const struct cycles_tiles *t)
{
    enum { STEPS = 400 };
    const struct tile s = largest_tile(t);
    struct counts c;
    count(&c, t, &s);
    const double sums = t->w > 1 ? s.rows * pitch_of(t) : 0;
    const double first = tile_cycles(t, &s, c.low);
    const double last =
        tile_cycles(t, &s, c.low + c.n - 1) + begin_of(t, t->h - 1) + relay * (t->w - 1);
    const double step = (last - first) / STEPS;
    double ended = first;
    for (int i = 0; i < STEPS; i++)
        ended += step * (1 - all_ended(t, &c, first + (i + 0.5) * step));
    return ended + sums;
}
