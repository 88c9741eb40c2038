/** Factors on the learning rate by groups of tensors.
 *  The table of tensors keeps the factor of each.
 */
#ifndef WSC_MODEL_LR_SCALE_H
#define WSC_MODEL_LR_SCALE_H
#include <wsc/zoo.h>

/* Factor on the learning rate of the tensor called @p name: the product over the groups of
 * adjust_learning_rate whose pattern it matches. */
double model_lr_scale(const struct zoo_lr_scale *scale, const char *name);
/* Index of the most special group that tensor @p name belongs to, in the order of the Model Zoo's
 * lists of groups; a tensor of no group comes last. */
int model_lr_group(const char *name);
#endif
