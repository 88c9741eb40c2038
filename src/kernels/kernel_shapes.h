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
/** Fabric, samples and tokens of a case. */
void kernels_sample_grid(struct kernels_sampler *s, struct programs_case *c);
#endif
