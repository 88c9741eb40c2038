/** Families of operands that operations have in common: matrices, rows of features, heads, tables,
 *  logits, tiles; each samples shapes and describes them. */
#ifndef WSC_KERNEL_SHAPES_H
#define WSC_KERNEL_SHAPES_H
#include <wsc/kernels.h>

extern const struct kernels_shapes kernels_matrix_shapes, kernels_feature_shapes,
    kernels_head_shapes, kernels_attention_shapes, kernels_table_shapes, kernels_logit_shapes,
    kernels_tile_shapes;

/** Numbers that a comparison takes in turn from one stream. */
struct kernels_sampler {
    uint64_t seed, stream, n;
};
/** The next one, in [low, high]. */
int64_t kernels_pick(struct kernels_sampler *s, int64_t low, int64_t high);
/** A case with small sizes, which the shapes of a row sample again where they need others; fabric,
 *  samples, tokens and generation of the wafer are to be set.  @p hw is borrowed. */
struct programs_case kernels_small_case(const struct hw *hw, uint64_t seed, bool backward);
/** Sample fabric, samples and tokens of the case. */
void kernels_sample_grid(struct kernels_sampler *s, struct programs_case *c);
/** Simulate a case of a row into *@p pair, whose shape is left to the caller.  Errors of
 *  kernels_row_run(). */
enum wsc_err kernels_simulate_pair(const struct kernels_row *row, struct programs_case *c,
                                   struct kernels_pair *pair) WSC_CHECKED;
#endif
