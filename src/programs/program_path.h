/** Trees on paths of PEs: routes and queues along a line or a snake of PEs, and the part of each PE
 *  in a reduction or a broadcast. */
#ifndef WSC_PROGRAMS_PATH_H
#define WSC_PROGRAMS_PATH_H
#include "program_job.h"
#include "program_tree_shape.h"

#include <wsc/err.h>

#include <stdint.h>

/* A line of PEs, each a neighbour of the one before; position 0 is the root. */
struct programs_path {
    int n;
    int queue;                  /* output queue of the messages */
    int32_t *pe;                /* owned */
    struct programs_node *node; /* borrowed, of all PEs */
};
enum wsc_err programs_path_walk(struct programs_path *l, const struct programs_job *j, int x, int y,
                                int dx, int dy, int n);
enum wsc_err programs_path_snake(struct programs_path *l, const struct programs_job *j);
/* Set routes and queues on @p l for the tree @p parent with @p colours, at least two of them;
 * l->node gets the role of each PE. */
enum wsc_err programs_path_tree(struct programs_job *j, const struct programs_path *l,
                                const int *parent, struct programs_colours colours);
/* Route a colour from PE (0, 0) over row 0 of the fabric and down all columns. */
enum wsc_err programs_spread(struct programs_job *j, int colour);
/* Issue what follows the words of a PE: the change of its switch or the control wavelet. */
enum wsc_err programs_message_end(struct mesh_pe *pe, const struct programs_node *node);
/* Issue the part of a PE in a reduction of @p n words at @p address. */
enum wsc_err programs_reduce_part(struct mesh_pe *pe, const struct programs_node *node, int address,
                                  int n);
#endif
