/** Cycles of operations on rows of features that only the parts of a stage use; the others are
 *  public (<wsc/cycles_ops.h>). */
#ifndef WSC_CYCLES_ROWS_H
#define WSC_CYCLES_ROWS_H
#include <wsc/cycles_ops.h>

/** Cycles of the norm before a branch, in the pass that @p pass computes (cycles_norm(),
 *  cycles_norm_gradient()); 0 in a model with norms after the sums. */
double cycles_norm_before(const struct cycles_layout *l,
                          double (*pass)(const struct cycles_layout *l));
/** Norms of the heads of queries and of keys, and their backward; 0 without them. */
double cycles_head_norms(const struct cycles_layout *l);
double cycles_head_norms_gradient(const struct cycles_layout *l);
/** Cycles of the soft cap of @p n 32-bit numbers of a PE that are already divided by the cap: tanh,
 *  times the cap. */
double cycles_cap(const struct cycles_layout *l, double n);
/** Cycles of the nonlinearity of a router on @p features logits per token of a PE, and of its
 *  gradient. */
double cycles_router_map(const struct cycles_layout *l, enum zoo_router_map map, double features);
double cycles_router_map_gradient(const struct cycles_layout *l, enum zoo_router_map map,
                                  double features);
/** cycles_gather() of rows that are added to the features of the tokens. */
double cycles_gather_added(const struct cycles_layout *l, double rows);
/** cycles_gather_added() of a table of @p rows positions, of which each token takes the one of its
 *  place in its sequence. */
double cycles_gather_positions(const struct cycles_layout *l, double rows);
/** Gradient of a table of @p rows positions. */
double cycles_scatter_positions(const struct cycles_layout *l, double rows);
#endif
