/** How PyTorch numbers parameters, for the names of states in checkpoints.
 *  torch.optim numbers parameters group by group, not in the order of tensors.
 */
#ifndef WSC_MEMORYX_GROUPS_H
#define WSC_MEMORYX_GROUPS_H
#include "memoryx_state.h"

/* Define the groups of parameters and the powers of beta; then write the values of the powers. */
enum wsc_err memoryx_define_groups(const struct memoryx *mx, struct store_file *file) WSC_CHECKED;
enum wsc_err memoryx_save_powers(const struct memoryx *mx, struct store_file *file) WSC_CHECKED;
/* label[i]: the number of tensor i in the names of the states in @p file. */
enum wsc_err memoryx_read_labels(struct store_file *file, const struct model *model,
                                 int64_t *label) WSC_CHECKED;
#endif
