/** Sweeps with another sparsity of their models, for the variants of `wsc scale --sweep
 *  sparsity=...`. */
#ifndef WSC_SCALING_SPARSITY_H
#define WSC_SCALING_SPARSITY_H
#include <wsc/scaling.h>

/** scaling_run() with a constant fraction @p sparsity of zeros. */
enum wsc_err scaling_at_sparsity(const struct scaling_sweep *sweep, double sparsity,
                                 struct scaling_row **rows) WSC_CHECKED;
#endif
