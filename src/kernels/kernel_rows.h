/** The files that hold rows of the table: each array ends with a row without a name.
 *  kernels_table.c gathers them. */
#ifndef WSC_KERNEL_ROWS_H
#define WSC_KERNEL_ROWS_H
#include <wsc/kernels.h>

extern const struct kernels_row kernels_collective_rows[], kernels_product_rows[],
    kernels_feature_rows[], kernels_attention_rows[], kernels_vocabulary_rows[];

/** What all operations of a transformer may be off the definition: sums of a few thousand fp32
 *  terms. */
#define KERNELS_TOLERANCE 1e-4
/** What every operation of a transformer has in its row: words for the command line, the parts of a
 *  model that contain it, the shapes to sample. */
#define KERNELS_OPERATION(words, parts_of_model, family)                                           \
    .options = "--tokens --samples " words " --format", .parts = (parts_of_model),                 \
    .tolerance = KERNELS_TOLERANCE, .shapes = &(family)
/** Tokens of all samples. */
static inline int64_t kernels_tokens_of(const struct programs_case *c)
{
    return c->samples * c->tokens;
}
/** Column `bound` of the norms. */
void kernels_norm_bound(const struct programs_case *c, const struct kernels_reference *o,
                        const struct kernels_rounding *by, double *bound);
#endif
