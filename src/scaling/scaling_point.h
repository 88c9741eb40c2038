/** One point of a sweep at any step of a training, for those parts of scaling that need another one
 *  than the first. */
#ifndef WSC_SCALING_POINT_H
#define WSC_SCALING_POINT_H
#include <wsc/scaling.h>

/** What the steps of a point are. */
enum scaling_work {
    SCALING_TRAINING,  /**< training steps */
    SCALING_FORWARD,   /**< forward passes alone, over batches of train_input */
    SCALING_EVALUATION /**< forward passes alone, over batches of eval_input, between steps of a
                            training: after first_step updates */
};
/** Where a point lies. */
struct scaling_place {
    int64_t num_csx;
    int64_t global_batch; /**< SCALING_EVALUATION: not used, that of eval_input */
    int64_t first_step;   /**< finished steps before those that warm up */
    int n_measured;       /**< steps whose mean is taken; 0: as many as the machine needs */
    enum scaling_work work;
};
/** scaling_point() at @p place. */
enum wsc_err scaling_point_at(const struct scaling_model *model, const struct hw_machine *cluster,
                              const struct scaling_place *place,
                              struct scaling_row *row) WSC_CHECKED;
/** True if an entry of @p s changes its masks during a training, so that steps differ. */
bool scaling_changes_masks(const struct zoo_sparsities *s);
/** True if equal steps on @p cluster take different times: by jitter, or by lost packets. */
bool scaling_is_noisy(const struct hw_machine *cluster);
/** Steps before the measured ones. */
enum { SCALING_WARM_UP = 2 };
#endif
