// SPDX-License-Identifier: Apache-2.0
/* Jitter of compute time: normal deviates of a system, of a pair of steps and of a stage in the
 * pair, each multiplied by its constant of the machine. They are a counter-based function of the
 * seed, so any rank computes the same numbers in any order. wafer_cost.c lengthens the time of a
 * stage by them. */
#include "wafer_jitter.h"

#include <wsc/rng.h>

#include <math.h>

/* Kind of a normal deviate of a wafer; each kind has its own stream of random numbers. */
enum jitter_kind { OF_STEP, OF_STAGE, OF_SYSTEM };

static double deviate(const struct wafer_jitter_of *of, enum jitter_kind kind, uint64_t which,
                      uint64_t counter)
{
    const double most = 4;
    const uint64_t index = (uint64_t)of->wafer | (uint64_t)kind << 12 | which << 14;
    return wsc_rng_truncated_normal(of->seed, wsc_rng_stream(WSC_RNG_JITTER, index), counter, -most,
                                    most);
}

static struct wafer_deviates deviates_of(const struct wafer_jitter_of *of)
{
    const int64_t pair = of->step / 2;
    const struct wafer_deviates *d = of->kept;
    if (d && d->known && d->pair == pair && d->seed == of->seed) return *d;
    const struct wafer_deviates new = {.known = true,
                                       .seed = of->seed,
                                       .pair = pair,
                                       .step = deviate(of, OF_STEP, 0, (uint64_t)pair),
                                       .system = deviate(of, OF_SYSTEM, 0, 0)};
    if (of->kept) *of->kept = new;
    return new;
}

/* System 0 has no system jitter, so that one system alone is as fast as its cycles say. */
int64_t wafer_jitter_millionths(const struct hw *hw, const struct wafer_jitter_of *of)
{
    const double million = 1e6, least = -0.8;
    const double step = hw_jitter(hw, of->wafer), stage = hw->cluster->jitter_stage;
    const double system = of->wafer ? hw->cluster->jitter_system : 0;
    if (!(step > 0) && !(stage > 0) && !(system > 0)) return 0;
    const struct wafer_deviates d = deviates_of(of);
    double sum = step * d.step;
    if (stage > 0) sum += stage * deviate(of, OF_STAGE, (uint64_t)of->transfer, (uint64_t)d.pair);
    if (of->step % 2) sum = -sum;
    sum += system * d.system;
    return llround(fmax(sum, least) * million);
}
