/** A tree on a line of PEs with its colours, apart from any fabric: what each position receives,
 *  sends and lets pass.  program_path.c lays it on PEs, program_tree_cost.c computes how long it
 *  takes. */
#ifndef WSC_PROGRAMS_TREE_SHAPE_H
#define WSC_PROGRAMS_TREE_SHAPE_H
#include "program_job.h"

/* Children of position i from the far end: last[i], previous[last[i]] and so on. */
struct programs_tree_shape {
    int n;
    struct programs_colours colours;
    const int *parent;               /* borrowed */
    int *children, *last, *previous; /* owned, of each position, like all that follows */
    int16_t *colour;                 /* on which it sends, counted from colours.first; -1: none */
    uint8_t *passing;                /* set of colours of others that pass it */
    struct programs_node *node;
};
/* @p parent in pre-order; at least two colours, at most PROGRAMS_LINE_COLOURS. */
enum wsc_err programs_tree_shape_init(struct programs_tree_shape *s, int n,
                                      struct programs_colours colours, const int *parent);
void programs_tree_shape_fini(struct programs_tree_shape *s);
bool programs_node_receives(const struct programs_node *node, int colour);

/* Cycles that the reduction takes on the tree: every message in its place, nothing added up that
 * overlaps. */
enum wsc_err programs_tree_cycles(const struct programs_load *load, const int *parent,
                                  int64_t *cycles);
/* max(C, E/N + L) + (2 T_R + 1) D of HPDC'24: contention, energy, links, distance and depth of the
 * tree.  Control wavelets are not counted, as there. */
enum wsc_err programs_tree_formula(const struct programs_load *load, const int *parent,
                                   double *cycles);
#endif
