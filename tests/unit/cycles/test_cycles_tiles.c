// SPDX-License-Identifier: Apache-2.0
/* Products with tiles in the PEs: the law by hand, the largest of binomial numbers against a
 * sample of them, and the way of the blocks of B and C. */
#include "../../support/test.h"

#include <wsc/cycles_tiles.h>
#include <wsc/rng.h>

#include <math.h>

/* The same product on fabrics of its own. */
static struct cycles_tiles square(double side, double density)
{
    return (struct cycles_tiles){
        .w = side, .h = side, .m = 32 * side, .k = 16 * side, .n = 20, .density = density};
}

TEST(cycles_tiles, means_by_hand)
{
    struct cycles_tiles t = square(4, 0.25);
    T_NEAR(cycles_tiles_mean(&t), 1511 + 53.05 * 16 + 128 * (39.2 + 1.188 * 20), 1e-12);
    t.dense = true;
    T_NEAR(cycles_tiles_mean(&t), 5656 + 53.05 * 16 + 16 * 20 * (22 + 2.04 * 32), 1e-12);
    T_NEAR(cycles_tiles_most(&t), cycles_tiles_mean(&t), 1e-12);
}

/* 64 PEs of 512 places, 2000 times. */
TEST(cycles_tiles, the_slowest_pe_has_the_most_non_zeros)
{
    enum { PES = 64, CELLS = 512, ROUNDS = 400 };
    const struct cycles_tiles t = square(8, 0.1);
    double sum = 0;
    uint64_t n = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int most = 0;
        for (int pe = 0; pe < PES; pe++) {
            int kept = 0;
            for (int i = 0; i < CELLS; i++)
                kept += wsc_rng_uniform(3, wsc_rng_stream(WSC_RNG_TEST, 5), n++) < t.density;
            if (kept > most) most = kept;
        }
        sum += most;
    }
    const double call = 39.2 + 1.188 * 20;
    const double most = (cycles_tiles_most(&t) - 1511 - 53.05 * 16) / call;
    T_NEAR(most, sum / ROUNDS, 0.005);
}

/* All PEs alike: B passes 7 rows, the sums 7 columns of PEs. */
TEST(cycles_tiles, the_way_of_blocks)
{
    const struct cycles_tiles t = square(8, 1);
    const double own = cycles_tiles_mean(&t), b = 16 * 20, c = 32 * 20;
    T_NEAR(cycles_tiles_product(&t), own + 7 * b + 7 * 6 + c + 7 * 6, 0.01);
    const struct cycles_tiles one = square(1, 1);
    T_NEAR(cycles_tiles_product(&one), cycles_tiles_mean(&one), 0.01);
}

TEST(cycles_tiles, fewer_non_zeros_are_never_slower)
{
    double before = 0;
    for (int i = 1; i <= 20; i++) {
        const struct cycles_tiles t = square(8, i / 20.0);
        const double now = cycles_tiles_product(&t);
        CU_ASSERT(now > before);
        CU_ASSERT(cycles_tiles_mean(&t) <= cycles_tiles_most(&t) && cycles_tiles_most(&t) < now);
        before = now;
    }
}
