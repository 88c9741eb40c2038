/** The mean step of a training whose sparsity changes.
 *
 *  whole_training.c predicts whole trainings from it. */
#ifndef WSC_SCALING_SCHEDULE_H
#define WSC_SCALING_SCHEDULE_H
#include <wsc/scaling.h>

/** Replace @p row, a point of @p model on @p cluster, by the mean over the @p steps steps of a
 *  training whose masks change, each at the time and the useful FLOPs of a simulated step that
 * keeps as many weights and has the same mask updates. The first two steps cost what the third or
 * later ones like them do. The row of a model without such a schedule does not change. Errors as
 * those of scaling_point(). */
enum wsc_err scaling_over_schedule(const struct scaling_model *model,
                                   const struct hw_machine *cluster, int64_t steps,
                                   struct scaling_row *row) WSC_CHECKED;
#endif
