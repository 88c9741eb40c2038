/** Samples of a wafer: which of them are its own, and reading them. wafer_step.c and
 *  wafer_generate.c call. */
#ifndef WSC_WAFER_LOAD_H
#define WSC_WAFER_LOAD_H
#include "wafer_state.h"

/* Reserve room for @p n_samples samples in leaves of @p leaf_samples, and for their values; it is
 * kept while it suffices. */
enum wsc_err wafer_reserve(struct wafer *w, int64_t n_samples, int64_t leaf_samples, bool training);
/* Set w->micro to this wafer's share of the micro-batch that starts at @p at, and read it. */
enum wsc_err wafer_load_share(struct wafer *w, const struct stream_at *at);
#endif
