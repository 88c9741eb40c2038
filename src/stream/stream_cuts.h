/** Shares that are cut at subtrees of the canonical tree. The tests of stream_cut_batch() use these
 *  declarations. */
#ifndef WSC_STREAM_CUTS_H
#define WSC_STREAM_CUTS_H
#include <wsc/stream.h>

/* Fill @p cut (n_micro n_wafers + 1) with the first micro-shard of each wafer in each micro-batch,
 * in the order of stream_micro_shards(), and the end. WSC_NOMEM. */
enum wsc_err stream_cuts_make(const struct stream_topology *t, const struct stream_batch *b,
                              int64_t *cut) WSC_CHECKED;
/* True when no edge of the tree carries more than STREAM_CUT_VECTORS vectors in a micro-batch. */
bool stream_cuts_hold(const struct stream_topology *t, const struct stream_batch *b);
#endif
