/** Operands of operations, as programs state them in data structure descriptors, their checks, and
 *  the list of the running task's requests. */
#ifndef WSC_MESH_OP_H
#define WSC_MESH_OP_H
#include "mesh_state.h"

#include <wsc/err.h>
#include <wsc/mesh.h>

#include <stdint.h>

static inline int64_t mesh_dsd_length(const struct mesh_dsd *d)
{
    int64_t n = 1;
    for (int i = 0; i < d->n_dims; i++)
        if (__builtin_mul_overflow(n, (int64_t)d->len[i], &n)) return INT64_MAX;
    return n;
}
/* Check an operation completely, before any of it is recorded; sets @p n to its number of
 * elements. */
enum wsc_err mesh_check_op(struct mesh_pe *pe, const struct mesh_op *op, int64_t *n) WSC_CHECKED;
/* Check the input queue of a colour for a data-triggered operation, and set @p queue: no data task
 * may be bound to the colour. */
enum wsc_err mesh_check_trigger(const struct mesh_pe *pe, int colour, int *queue) WSC_CHECKED;
/* Append a request that is not an operation to the list of the running task; @p entry (or NULL) is
 * set to it. */
enum wsc_err mesh_append(struct mesh_pe *pe, enum mesh_todo_kind kind, int64_t argument,
                         struct mesh_thread **entry) WSC_CHECKED;
#endif
