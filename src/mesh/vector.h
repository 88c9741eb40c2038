/** Elements of memory operations: all of them at once when the operation begins, or one by one
 *  where rows and rates do not say it all. */
#ifndef WSC_MESH_VECTOR_H
#define WSC_MESH_VECTOR_H
#include "mesh_state.h"

#include <wsc/mesh.h>

#include <stdint.h>

/* Compute all elements of a memory operation. */
void mesh_vector(struct mesh_pe *pe, const struct mesh_thread *t);
/* Element @p i of operand @p d: from memory, or a number. */
uint32_t mesh_load_operand(const struct mesh_pe *pe, const struct mesh_dsd *d, int64_t i,
                           char type);
void mesh_store_operand(struct mesh_pe *pe, const struct mesh_dsd *d, int64_t i, char type,
                        uint32_t value);
static inline void mesh_advance(struct mesh_thread *t)
{
    const uint16_t *by = t->step;
    if (t->row && !--t->row_left) {
        by = t->jump;
        t->row_left = t->row;
    }
    for (int i = 0; i < 3; i++)
        t->at[i] = (uint16_t)(t->at[i] + by[i]);
}
#endif
