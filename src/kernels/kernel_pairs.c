// SPDX-License-Identifier: Apache-2.0
/* Compares the analytical model with the mesh on operations of sampled grids and shapes: each is
 * simulated and computed by its formula. `wsc validate --mesh` prints the pairs; the rows that can
 * be sampled are those with shapes (kernel_shapes.c). */
#include "kernel_shapes.h"

#include <wsc/check.h>
#include <wsc/rng.h>

/* Collectives that can be sampled have sparse matrices: kernel_sparse.c. */
static bool is_sampled(const struct kernels_row *row)
{
    return row->shapes && !row->collective;
}

/* Row number @p i of those that can be sampled, counted round and round. */
static const struct kernels_row *sampled_row(int i)
{
    const struct kernels_row *row;
    int n = 0;
    for (int j = 0; (row = kernels_row_at(j)); j++)
        n += is_sampled(row);
    WSC_CHECK(n > 0, "no kernel can be sampled");
    for (int j = 0, k = n > 0 ? i % n : 0; (row = kernels_row_at(j)); j++)
        if (is_sampled(row) && k-- == 0) break;
    return row;
}

enum wsc_err kernels_simulate_pair(const struct kernels_row *row, struct programs_case *c,
                                   struct kernels_pair *pair)
{
    struct programs_result r;
    TRY(kernels_row_run(row, c, &r));
    *pair = (struct kernels_pair){.kernel = row->name,
                                  .pass = c->backward ? "backward" : "forward",
                                  .w = c->w,
                                  .h = c->h,
                                  .cycles = r.stats.cycles,
                                  .analytical = r.analytical,
                                  .max_error = r.max_error,
                                  .tolerance = kernels_row_tolerance(row, c)};
    return WSC_OK;
}

enum wsc_err kernels_pair_of(const struct kernels_row *row, const struct hw *hw, uint64_t seed,
                             int i, struct kernels_pair *pair)
{
    struct kernels_sampler s = {seed, wsc_rng_stream(WSC_RNG_TEST, (uint64_t)i), 0};
    struct programs_case c = kernels_small_case(hw, seed, row->gradient && i % 2);
    TRY(programs_arch_of(hw, &c.arch));
    kernels_sample_grid(&s, &c);
    row->shapes->sample(&s, &c);
    TRY(kernels_simulate_pair(row, &c, pair));
    row->shapes->describe(&c, pair->shape, sizeof pair->shape);
    return WSC_OK;
}

/* Products and weight gradients, where the time goes, come twice; the others forward and back. */
enum wsc_err kernels_pairs(const struct hw *hw, uint64_t seed, int n, kernels_pair_fn report,
                           void *ctx)
{
    for (int i = 0; i < n; i++) {
        struct kernels_pair pair;
        TRY(kernels_pair_of(sampled_row(i / 2), hw, seed, i, &pair));
        TRY(report(ctx, &pair));
    }
    return WSC_OK;
}
