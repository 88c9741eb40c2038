/** The planner, opened for the tests: memory of a PE and cycles of a micro-batch, by which
 *  cycles_plan_wafer() chooses. */
#ifndef WSC_CYCLES_PLAN_H
#define WSC_CYCLES_PLAN_H
#include <wsc/cycles_ops.h>

/** Bytes of one PE: kept by all blocks, live at the peak of one block beside the kept ones. */
struct cycles_plan_bytes {
    double kept, work;
};
/** @p resident: the kept tensors of a block are counted in kept, not again in work. */
struct cycles_plan_bytes cycles_plan_bytes_per_pe(const struct cycles_layout *l,
                                                  enum cycles_keep keep, bool training,
                                                  bool resident);
/** Cycles of a micro-batch of @p n_sequences with @p plan: stage by stage the longest of compute,
 *  bytes in and bytes out. */
double cycles_plan_micro_batch(const struct hw *hw, const struct model *model,
                               const struct cycles_plan *plan, bool training, int64_t n_sequences,
                               const struct model_density *density);
#endif
