/** Tensors of which only some weights train (model.selective_grad). memoryx_part.chosen has a bit
 *  for each element that trains. */
#ifndef WSC_MEMORYX_SELECTED_H
#define WSC_MEMORYX_SELECTED_H
#include "memoryx_state.h"

/* Choose the weights that train for the tensors whose choice is due; all shards call it.  No
 * virtual time.  WSC_NOMEM. */
enum wsc_err memoryx_choose_selected(struct memoryx *mx) WSC_CHECKED;
/* Zero the gradients of weights that do not train. */
void memoryx_select_gradients(struct memoryx *mx);
/* Call before an update (hold) and after it (release): in the update, weights that do not train and
 * their states are zeros; afterwards these weights have their values again. */
void memoryx_hold_unselected(struct memoryx *mx);
void memoryx_release_unselected(struct memoryx *mx);
#endif
