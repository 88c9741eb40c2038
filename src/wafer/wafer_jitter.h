/** Random variation of a wafer's compute time: by step, by stage and by system.
 *  wafer_cost.h applies it to the time of a stage.
 */
#ifndef WSC_WAFER_JITTER_H
#define WSC_WAFER_JITTER_H
#include <wsc/hw.h>

#include <stdbool.h>
#include <stdint.h>

/* The normal deviates of a pair of steps, and the pair for which they were computed. */
struct wafer_deviates {
    bool known;
    uint64_t seed;
    int64_t pair; /* step / 2 */
    double step, system;
};
/* The task whose jitter is computed. */
struct wafer_jitter_of {
    int wafer; /* position in the machine */
    uint64_t seed;
    int64_t step;
    int transfer;                /* transfer in the step; it selects the deviate of jitter_stage */
    struct wafer_deviates *kept; /* deviates of this wafer, updated; NULL: computed each time */
};
/* Relative change of the compute time, in whole millionths, so that the last bit of a logarithm
 * cannot show in a picosecond: jitter z + jitter_stage y + jitter_system x, with normal deviates
 * truncated at four: z from (seed, wafer, step / 2), y from (seed, wafer, step / 2, transfer), both
 * with the opposite sign in the other step of the pair; x from (seed, wafer), and 0 for system 0.
 * So the mean of one system over an even number of steps is that of its cycles, and what many
 * systems lose is the wait for the slowest. */
int64_t wafer_jitter_millionths(const struct hw *hw, const struct wafer_jitter_of *of);
#endif
