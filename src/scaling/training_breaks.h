/** A training from the rate of its step and its interruptions.
 *
 *  whole_training.c fills the interruptions in and predicts trainings from them. */
#ifndef WSC_TRAINING_BREAKS_H
#define WSC_TRAINING_BREAKS_H
#include <wsc/scaling.h>

/** Interruptions of a training: checkpoints, failures and evaluations. */
struct scaling_breaks {
    double checkpoint_s;          /**< to write a checkpoint */
    double interval_s;            /**< time of steps between two checkpoints; 0: no checkpoints */
    double failures_per_s;        /**< of all systems together */
    double restart_s;             /**< from a failure to the first step after it */
    double evaluation_s;          /**< of one evaluation */
    double evaluation_interval_s; /**< time of steps between two evaluations; 0: no evaluations */
};
/** Compute checkpoints and failures of a training with @p params at the step time of @p row, from
 *  the constants `checkpoint.*` and `reliability.*` of @p cluster and their switches. */
struct scaling_breaks scaling_breaks_of(const struct hw_machine *cluster,
                                        const struct zoo_params *params,
                                        const struct scaling_row *row);
/** Predict a training at the rate of @p row on @p tokens, or on @p per_param tokens per parameter
 *  when that is not 0. The time is the expected time with random failures (Daly 2006). */
struct scaling_training scaling_training_of(const struct scaling_row *row, double tokens,
                                            double per_param, const struct scaling_breaks *breaks);
#endif
