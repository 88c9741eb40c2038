/** Gradients through a SwarmX node piece by piece, where ranks are on several hosts.
 */
#ifndef WSC_SWARMX_PIECES_H
#define WSC_SWARMX_PIECES_H
#include "swarmx_state.h"

/* True when the gradients at @p at are added while they arrive: values, dense, one parent, and
 * links that hand messages over early. */
bool swarmx_adds_pieces(const struct swarmx *sx, const struct stream_at *at);
/* swarmx_reduce_gradients() for them: the same sums, messages and times. */
enum wsc_err swarmx_reduce_pieces(struct swarmx *sx, const struct stream_at *at) WSC_CHECKED;
#endif
