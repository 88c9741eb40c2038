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
/* The weights of a tensor in a file, from which its mask is read too. */
struct memoryx_weights {
    const char *name; /* of the dataset */
    int64_t n_rows;   /* its rows, if it has others than the params (new_vocabulary); else 0 */
    bool strict;      /* a sparse tensor without a mask is an error */
};
/* Read this shard's part of the mask of tensor @p tensor, whose weights were read from @p weights:
 * the mask in the file, in any layout, or the weights that are not NaN. If there is neither: an
 * error if weights->strict, else the mask stays due. A row that the file does not have gets the
 * mask of row (its number mod n_rows), so the density stays. Does nothing for a dense tensor. */
enum wsc_err memoryx_load_mask(struct memoryx *mx, struct store_file *file, int tensor,
                               const struct memoryx_weights *weights) WSC_CHECKED;
/* Read which weights of this shard's part of tensor @p tensor train; @p n_rows as in struct
 * memoryx_weights. All weights of new rows train. If the file does not say which weights train, the
 * choice stays due. */
enum wsc_err memoryx_load_selected(struct memoryx *mx, struct store_file *file, int tensor,
                                   int64_t n_rows) WSC_CHECKED;
/* Read the counter; 0 where the file has none. */
enum wsc_err memoryx_load_mask_step(struct memoryx *mx, struct store_file *file) WSC_CHECKED;
#endif
