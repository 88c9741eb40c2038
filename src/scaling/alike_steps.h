/** Steps of a training whose masks change, grouped by what they cost.
 *
 *  scaling_schedule.c simulates some of the groups for the mean step of a whole training. */
#ifndef WSC_ALIKE_STEPS_H
#define WSC_ALIKE_STEPS_H
#include <wsc/err.h>
#include <wsc/zoo.h>

/** Steps that keep as many weights and compute masks of the same entries. */
struct scaling_alike {
    /** Entries of `sparsity` that compute masks at the end of these steps, and at the end of the
     *  step before each of them: bit e for entry e. */
    unsigned updates, before;
    double kept;  /**< kept fractions of the entries, weighted and added up: only to compare */
    int64_t n;    /**< number of examined steps, at least 1 */
    int64_t step; /**< the last of them: finished steps before it */
};
/** Group the steps 0 .. @p steps - 1 (at least 1) of a training with @p list. Of more than 65536
 *  steps as many are examined, evenly spread. *@p group, owned by the caller, has *@p n groups:
 * those with equal `updates` and `before` follow each other, by rising `kept`. If these were more
 * than 32 combinations, `updates` and `before` only say whether there are any (1 or 0). WSC_NOMEM.
 */
enum wsc_err scaling_alike_find(const struct zoo_sparsities *list, int64_t steps,
                                struct scaling_alike **group, int *n) WSC_CHECKED;
/** True when steps @p a and @p b compute masks of the same entries. */
bool scaling_alike_same_updates(const struct scaling_alike *a, const struct scaling_alike *b);
/** Fraction of the weights that entry @p e keeps after @p step updates, as zoo_sparsity_count(). */
double scaling_alike_kept(const struct zoo_sparsity *e, int64_t step);
#endif
