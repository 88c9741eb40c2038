/** Operands of operations, as programs state them in data structure descriptors: how many
 *  elements one has. */
#ifndef WSC_MESH_OP_H
#define WSC_MESH_OP_H
#include <wsc/mesh.h>

#include <stdint.h>

static inline int64_t mesh_dsd_length(const struct mesh_dsd *d)
{
    int64_t n = 1;
    for (int i = 0; i < d->n_dims; i++)
        if (__builtin_mul_overflow(n, (int64_t)d->len[i], &n)) return INT64_MAX;
    return n;
}
#endif
