/** Masks and their counter in a checkpoint.
 *  memoryx_checkpoint.c calls these functions beside its own for weights and states.
 */
#ifndef WSC_MEMORYX_MASK_CHECKPOINT_H
#define WSC_MEMORYX_MASK_CHECKPOINT_H
#include "memoryx_state.h"

/* Define `<tensor>_mask` for every sparse tensor, and the counters of the entries. */
enum wsc_err memoryx_define_masks(struct memoryx *mx, struct store_file *file) WSC_CHECKED;
/* Write this shard's parts of masks and counters. */
enum wsc_err memoryx_save_masks(struct memoryx *mx, struct store_file *file) WSC_CHECKED;
/* Read this shard's part of the mask of tensor @p tensor, whose weights were read from dataset @p
 * weights: the mask in the file, in any layout, or the weights that are not NaN. If there is
 * neither: an error if @p strict, else the mask stays due. Does nothing for a dense tensor. */
enum wsc_err memoryx_load_mask(struct memoryx *mx, struct store_file *file, int tensor,
                               const char *weights, bool strict) WSC_CHECKED;
/* Read which weights of this shard's part of tensor @p tensor train; if the file does not have
 * them, the choice stays due. */
enum wsc_err memoryx_load_selected(struct memoryx *mx, struct store_file *file,
                                   int tensor) WSC_CHECKED;
/* Read the counter; 0 where the file has none. */
enum wsc_err memoryx_load_mask_step(struct memoryx *mx, struct store_file *file) WSC_CHECKED;
#endif
