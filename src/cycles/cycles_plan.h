/** The planner, opened for the tests: memory of a PE and cycles of a micro-batch, by which
 *  cycles_plan_wafer() chooses. */
#ifndef WSC_CYCLES_PLAN_H
#define WSC_CYCLES_PLAN_H
#include <wsc/cycles_ops.h>

/** Bytes of one PE: what all blocks keep, and what is live in addition at the peak of one block. */
struct cycles_plan_bytes {
    double kept, work;
};
/** Bytes of a PE for the layout @p l. @p resident: kept tensors of the current block are counted in
 *  kept and not again in work. */
struct cycles_plan_bytes cycles_plan_bytes_per_pe(const struct cycles_layout *l,
                                                  enum cycles_keep keep, bool training,
                                                  bool resident);
/** Cycles of a micro-batch of @p n_sequences with @p plan: the sum over the stages of the longest
 *  of compute, bytes in and bytes out. */
double cycles_plan_micro_batch(const struct hw *hw, const struct model *model,
                               const struct cycles_plan *plan, bool training, int64_t n_sequences,
                               const struct model_density *density);
#endif
