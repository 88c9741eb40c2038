/** The model in plain double loops: the oracle of the host kernels, checked itself by finite
 *  differences. */
#ifndef WSC_TEST_HOST_REF_H
#define WSC_TEST_HOST_REF_H
#include <wsc/data.h>
#include <wsc/model.h>

struct ref_result {
    double loss_sum;
    int64_t n_tokens, n_correct;
};
/** Forward and, with @p grad (one array per tensor, added to; NULL = none), backward of sample
 *  @p sample.  @p logits (T, V) or NULL. */
void ref_sample(const struct model *model, double *const *weight, const struct data_batch *batch,
                int64_t sample, double *const *grad, double *logits, struct ref_result *out);
#endif
