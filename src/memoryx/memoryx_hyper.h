/** Hyper-parameters and scalar states of optimizers in checkpoints.
 *  torch.optim replaces its groups of parameters by those of a state dict, so a file must have
 * every value that a step reads.
 */
#ifndef WSC_MEMORYX_HYPER_H
#define WSC_MEMORYX_HYPER_H
#include "memoryx_state.h"

/* Set the hyper-parameters of group @p group, except the learning rate and the weight decay. */
enum wsc_err memoryx_set_hyper(const struct zoo_optimizer *o, struct store_file *file,
                               int group) WSC_CHECKED;
/* Set the scalar states of every trained tensor, which follow from the number of updates. */
enum wsc_err memoryx_set_scalars(const struct memoryx *mx, struct store_file *file) WSC_CHECKED;
#endif
