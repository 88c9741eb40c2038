/** Cycles of a reduction on a tree, computed message by message; program_tree.c chooses trees by
 *  it. */
#ifndef WSC_PROGRAMS_TREE_COST_H
#define WSC_PROGRAMS_TREE_COST_H
#include "program_tree_shape.h"

#include <wsc/err.h>

#include <stdint.h>

/* Compute the cycles of the reduction on the tree from a schedule of its messages, which accounts
 * for their overlap. */
enum wsc_err programs_tree_cycles(const struct programs_load *load, const int *parent,
                                  int64_t *cycles);
#endif
