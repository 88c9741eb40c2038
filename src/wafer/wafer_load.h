/** Samples of a wafer.
 *  Which of them are its own, and reading them.
 */
#ifndef WSC_WAFER_LOAD_H
#define WSC_WAFER_LOAD_H
#include "wafer_state.h"

/* Have room for @p n_samples samples in leaves of @p leaf_samples, and their values; kept while it
 * is enough. */
enum wsc_err wafer_reserve(struct wafer *w, int64_t n_samples, int64_t leaf_samples, bool training);
/* Set w->micro to this wafer's share of the micro-batch that starts at @p at, and read it. */
enum wsc_err wafer_load_share(struct wafer *w, const struct stream_at *at);
#endif
