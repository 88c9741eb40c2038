// SPDX-License-Identifier: Apache-2.0
/* Compares the analytical model with the mesh for sparse matrices: products, input gradients and
 * weight gradients on sampled fabrics, and products with tiles in the PEs, at densities of 1 to
 * 0.05. Tokens and features of a PE and turns of outputs are those of plans. `wsc validate --mesh
 * --sparse` prints the pairs; docs/MODEL.md, "Sparse weights". */
#include "kernel_shapes.h"

#include <wsc/check.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdio.h>

/* A row, forward or backward, whose matrix can be sparse. */
struct subject {
    const struct kernels_row *row;
    bool backward;
};

/* Subject number @p i; false after the last one. */
static bool subject_of(int i, struct subject *s)
{
    const struct programs_case any = {.tokens = 1, .samples = 1, .m = 1, .k = 1, .density = 0.5};
    for (int k = 0; (s->row = kernels_row_at(k)); k++) {
        if (s->row->collective ? !s->row->shapes : !s->row->sizes(&any).masked) continue;
        for (int pass = 0; pass < (s->row->gradient ? 2 : 1); pass++)
            if (i-- == 0) {
                s->backward = pass;
                return true;
            }
    }
    return false;
}

/* One of eight is dense; of the others the logarithm is evenly spread. */
static double sample_density(struct kernels_sampler *s)
{
    enum { PARTS = 1024 };
    const double least = 0.05;
    const int64_t part = kernels_pick(s, 0, PARTS - 1);
    return part % 8 ? pow(least, (double)part / PARTS) : 1;
}

/* A side of a matrix of that many features on a column, give or take. */
static int64_t sample_side(struct kernels_sampler *s, const struct programs_case *c, int most)
{
    enum { LEAST = 256 }; /* of fewer the one column that has most decides, which is chance */
    const int64_t n = c->w * kernels_pick(s, 1, most) - kernels_pick(s, 0, c->w / 2);
    return n < LEAST ? LEAST : n;
}

/* Columns and rows of a strip, 4 to 48 tokens and up to 16 features of a PE, four turns or more. */
static void sample_case(struct kernels_sampler *s, struct programs_case *c)
{
    c->w = (int)kernels_pick(s, 4, 40);
    c->h = (int)kernels_pick(s, 1, 4);
    c->samples = 1;
    c->tokens = c->h * kernels_pick(s, 4, 48);
    const int64_t in = sample_side(s, c, 16), out = sample_side(s, c, 4);
    c->m = c->backward ? in : out;
    c->k = c->backward ? out : in;
    c->format = kernels_pick(s, 0, 1) ? NUM_BF16 : NUM_FP32;
    c->density = sample_density(s);
}

/* Simulate number @p i of those that @p seed samples. */
static enum wsc_err simulate(const struct hw *hw, uint64_t seed, int i, struct kernels_pair *pair)
{
    enum { STREAM = 1 << 20 };
    struct kernels_sampler s = {seed, wsc_rng_stream(WSC_RNG_TEST, STREAM + (uint64_t)i), 0};
    struct subject what;
    int n = 0;
    while (subject_of(n, &what))
        n++;
    WSC_CHECK(n > 0, "no kernel has a sparse matrix");
    (void)subject_of(n > 0 ? i % n : 0, &what);
    struct programs_case c = kernels_small_case(hw, seed + (uint64_t)i, what.backward);
    TRY(programs_arch_of(hw, &c.arch));
    if (what.row->collective) {
        what.row->shapes->sample(&s, &c);
        c.density = sample_density(&s);
    } else {
        sample_case(&s, &c);
    }
    TRY(kernels_simulate_pair(what.row, &c, pair));
    if (what.row->collective)
        what.row->shapes->describe(&c, pair->shape, sizeof pair->shape);
    else
        (void)snprintf(pair->shape, sizeof pair->shape, "T %lld, %lld x %lld, %s, density %.3f",
                       (long long)c.tokens, (long long)c.m, (long long)c.k,
                       num_formats[c.format].word, c.density);
    return WSC_OK;
}

enum wsc_err kernels_sparse_pairs(const struct hw *hw, uint64_t seed, int n, kernels_pair_fn report,
                                  void *ctx)
{
    for (int i = 0; i < n; i++) {
        struct kernels_pair pair;
        TRY(simulate(hw, seed, i, &pair));
        TRY(report(ctx, &pair));
    }
    return WSC_OK;
}
