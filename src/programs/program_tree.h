/** Reduction trees by the name of their algorithm, and the analytical model of Luczynski et al.
 *  (HPDC'24) for them. */
#ifndef WSC_PROGRAMS_TREE_H
#define WSC_PROGRAMS_TREE_H
#include "program_tree_shape.h"

#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/* A tree whose shape does not depend on the load. */
struct programs_fixed_tree {
    const char *name; /* of the algorithm */
    /* Parent of position @p i > 0; @p group: PEs of a group of two phases. */
    int (*parent)(int i, int group);
    /* Analytical model of HPDC'24 for @p n PEs and vectors of @p words. */
    double (*cycles)(double n, double words);
    bool is_candidate; /* for auto */
};

/* The table of fixed trees, *@p n rows; static. */
const struct programs_fixed_tree *programs_fixed_trees(int *n);
/* The parents of the PEs of a line for the algorithm @p algo, a fixed tree or auto; the root has
 * -1.
 */
enum wsc_err programs_tree(const char *algo, const struct programs_load *load, int *parent);
/* Analytical model of HPDC'24 in cycles; negative when it has no formula for @p algo. */
double programs_formula_reduce(const char *algo, int p, int64_t words);
double programs_formula_broadcast(int w, int h, int64_t words);
double programs_formula_ring(int p, int64_t words);
/* max(C, E/N + L) + (2 T_R + 1) D of HPDC'24: contention, energy, links, distance and depth of the
 * tree.  Control wavelets are not counted, as there. */
enum wsc_err programs_tree_formula(const struct programs_load *load, const int *parent,
                                   double *cycles);
#endif
