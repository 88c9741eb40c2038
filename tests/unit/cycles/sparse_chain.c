// SPDX-License-Identifier: Apache-2.0
/* Max-plus simulation of a chain of columns with binomial numbers of weights.  A column begins an
 * output when the one before is complete and an accumulator is free; its sums leave when they are
 * complete, those of the column before have come and those of the last output are gone; words wait
 * in the queues of the next column, a few of them, while that is not ready. */
#include "sparse_chain.h"

#include "../../support/test.h"

#include <wsc/rng.h>

#include <math.h>
#include <stdlib.h>

enum { QUEUE = 10, MOST_COLS = 1024, MOST_ACCUMULATORS = 64 };

/* Times at the columns: sums complete, first and last word of the output gone. */
struct times {
    double complete[MOST_COLS], first[MOST_COLS];
    double last[MOST_ACCUMULATORS][MOST_COLS]; /* of the output that had the accumulator before */
};

static double weights_of(const struct sparse_chain *s, uint64_t seed, uint64_t *drawn)
{
    const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, (uint64_t)s->k);
    int n = 0;
    if (!s->random) return s->k * s->density;
    for (int i = 0; i < s->k; i++)
        n += wsc_rng_uniform(seed, stream, (*drawn)++) < s->density;
    return n;
}

/* One side of the end column: from the far end @p from toward @p end, in steps of @p step. */
static void pass(const struct sparse_chain *s, struct times *t, double *last, int from, int end,
                 int step)
{
    for (int c = from; c != end; c += step) {
        if (c != from) {
            t->first[c] = fmax(t->first[c], t->first[c - step] + s->relay);
            last[c] = fmax(last[c], last[c - step] + s->relay);
        }
        last[c] = fmax(last[c], t->first[c] + s->words - 1);
    }
    if (from == end) return;
    t->first[end] = fmax(t->first[end], t->first[end - step] + s->relay);
    last[end] = fmax(fmax(last[end], last[end - step] + s->relay), t->first[end] + s->words - 1);
}

/* The last word leaves a column when the queues ahead have room for it. */
static void wait_for_queues(const struct sparse_chain *s, const struct times *t, double *last,
                            int from, int end, int step)
{
    for (int c = from; c != end; c += step)
        for (int ahead = 1; ahead * QUEUE <= s->words && c + (ahead - 1) * step != end; ahead++)
            last[c] = fmax(last[c], t->first[c + ahead * step] + s->words - 1 - ahead * QUEUE);
}

double sparse_chain_run(const struct sparse_chain *s, uint64_t seed)
{
    struct times *t = calloc(1, sizeof *t);
    const double *before = NULL;
    const int n = s->cols * s->turns;
    uint64_t drawn = 0;
    double end = 0;
    for (int o = 0; t && o < n; o++) {
        const int e = o % s->cols;
        double *last = t->last[o % s->accumulators];
        for (int c = 0; c < s->cols; c++) {
            t->complete[c] = fmax(t->complete[c], last[c] + 1) +
                             weights_of(s, seed, &drawn) * s->axpy + s->share;
            t->first[c] = fmax(t->complete[c], before ? before[c] + 1 : 0);
            last[c] = 0;
        }
        last[e] = t->first[e] + s->words - 1;
        pass(s, t, last, 0, e, 1);
        pass(s, t, last, s->cols - 1, e, -1);
        wait_for_queues(s, t, last, 0, e, 1);
        wait_for_queues(s, t, last, s->cols - 1, e, -1);
        for (int c = 0; c < s->cols; c++)
            end = fmax(end, last[c]);
        before = last;
    }
    free(t);
    return end / n;
}
