/** Elements of memory operations: all of them at once when the operation begins, or one by one
 *  where rows and rates do not say it all. */
#ifndef WSC_MESH_VECTOR_H
#define WSC_MESH_VECTOR_H
#include "mesh_state.h"

#include <wsc/mesh.h>

#include <stdint.h>

/* Compute all elements of a memory operation. */
void mesh_vector(struct mesh_pe *pe, const struct mesh_thread *t);
/* Multiply-adds one after the other: each has its number c, and its sums and vector at a fixed
 * distance in bytes from those of the one before. */
struct mesh_macs {
    const struct mesh_thread *first;
    int32_t sums_step, vectors_step;
    const uint32_t *word; /* numbers c */
    int32_t n;
    bool writes; /* the first one writes its sums */
};
/* Compute them; false, and nothing is done, where mesh_vector() has to compute each. */
bool mesh_vectors(struct mesh_pe *pe, const struct mesh_macs *m);
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
