/** Factors on the learning rate by groups of tensors.
 *  The table of tensors keeps the factor of each.
 */
#ifndef WSC_MODEL_LR_SCALE_H
#define WSC_MODEL_LR_SCALE_H
#include <wsc/zoo.h>

/** Factor on the learning rate of a tensor, and the first group with this factor in the order of
 * the Model Zoo's lists: it sorts the groups of a checkpoint. INT_MAX for a factor of 1. */
struct model_lr {
    double scale;
    int group;
};

/* Factor of the tensor called @p name: that of its group, which is the one given in
 * adjust_learning_rate, 1 included, or else muP's. Fails if two of its groups have different
 * factors other than 1. */
enum wsc_err model_lr_of(const struct zoo_params *params, const char *name,
                         struct model_lr *out) WSC_CHECKED;
#endif
