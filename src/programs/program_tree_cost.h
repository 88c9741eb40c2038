/** Cycles of a reduction on a tree, computed message by message; program_tree.c chooses trees by
 *  it. */
#ifndef WSC_PROGRAMS_TREE_COST_H
#define WSC_PROGRAMS_TREE_COST_H
#include "program_tree_shape.h"

#include <wsc/err.h>

#include <stdint.h>

/* Cycles that the reduction takes on the tree: every message in its place, nothing added up that
 * overlaps. */
enum wsc_err programs_tree_cycles(const struct programs_load *load, const int *parent,
                                  int64_t *cycles);
#endif
