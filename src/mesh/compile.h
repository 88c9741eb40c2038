/** An operation in the form in which a thread runs it: addresses, steps and slots in one cache
 *  line instead of data structure descriptors. */
#ifndef WSC_MESH_COMPILE_H
#define WSC_MESH_COMPILE_H
#include "mesh_state.h"

#include <wsc/err.h>
#include <wsc/mesh.h>

#include <stdbool.h>
#include <stdint.h>

/* An operation of @p n elements that has been checked, as a thread runs it. */
enum wsc_err mesh_compile(struct mesh_pe *pe, const struct mesh_op *op, int64_t n,
                          struct mesh_thread *t);
/* Reuse the compiled form of an equal operation of an equal PE of the region, with arrays of one
 * dimension and other addresses and numbers. False: the operation has to be checked and compiled.
 */
bool mesh_recall(const struct mesh_pe *pe, const struct mesh_op *op, struct mesh_thread *t);
/* Keep what mesh_compile() has made of @p op. */
void mesh_remember(const struct mesh_pe *pe, const struct mesh_op *op, const struct mesh_thread *t);
void mesh_op_free(struct mesh_region *r, struct mesh_op *op);
#endif
