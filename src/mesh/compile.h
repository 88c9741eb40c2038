/** An operation in the form in which a thread runs it: addresses, steps and slots in one cache
 *  line instead of data structure descriptors. */
#ifndef WSC_MESH_COMPILE_H
#define WSC_MESH_COMPILE_H
#include "mesh_state.h"

#include <wsc/err.h>
#include <wsc/mesh.h>

#include <stdbool.h>
#include <stdint.h>

/* Compile an operation of @p n elements, which has been checked, to the form that a thread runs. */
enum wsc_err mesh_compile(struct mesh_pe *pe, const struct mesh_op *op, int64_t n,
                          struct mesh_thread *t);
/* Reuse the compiled form of an equal operation of an equal PE of the region, with arrays of one
 * dimension and other addresses and numbers. False: the operation has to be checked and compiled.
 */
bool mesh_recall(const struct mesh_pe *pe, const struct mesh_op *op, struct mesh_thread *t);
/* Store the form that mesh_compile() has made of @p op, for mesh_recall(). */
void mesh_remember(const struct mesh_pe *pe, const struct mesh_op *op, const struct mesh_thread *t);
void mesh_op_free(struct mesh_region *r, struct mesh_op *op);
#endif
