/** The mean step of a training whose sparsity changes.
 *
 *  whole_training.c predicts whole trainings from it. */
#ifndef WSC_SCALING_SCHEDULE_H
#define WSC_SCALING_SCHEDULE_H
#include <wsc/scaling.h>

/** Replace @p row, a point of @p model on @p cluster, by the mean over a training of @p steps steps
 *  whose sparsity changes: the mean of eight positions in the schedule, with the cost of mask
 *  updates by gradients added. The row of a model without such a schedule does not change. Errors
 *  as those of scaling_point(). */
enum wsc_err scaling_over_schedule(const struct scaling_model *model,
                                   const struct hw_machine *cluster, int64_t steps,
                                   struct scaling_row *row) WSC_CHECKED;
#endif
