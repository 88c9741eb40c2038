/** Tensors of which only some weights train (model.selective_grad).
 *  A part of such a tensor has a bit for each element that trains, memoryx_part.chosen.
 */
#ifndef WSC_MEMORYX_SELECTED_H
#define WSC_MEMORYX_SELECTED_H
#include "memoryx_state.h"

/* Choose the weights that train for the tensors whose choice is due; all shards call it.  No
 * virtual time.  WSC_NOMEM. */
enum wsc_err memoryx_choose_selected(struct memoryx *mx) WSC_CHECKED;
/* Zero the gradients of weights that do not train. */
void memoryx_select_gradients(struct memoryx *mx);
/* Around an update: weights that do not train, and their states, are zeros in it; afterwards these
 * weights have their values again. */
void memoryx_hold_unselected(struct memoryx *mx);
void memoryx_release_unselected(struct memoryx *mx);
#endif
