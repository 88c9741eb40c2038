/** Arrays that never change, each kept once in this process however many objects have it.
 *
 *  Layers and wafers whose recordings are alike share their lists so. */
#ifndef WSC_MESH_INTERN_H
#define WSC_MESH_INTERN_H
#include <stddef.h>

/* The kept array with the @p size bytes of @p bytes, of which the first call keeps a copy. Release
 * it as often as it was interned. NULL: no memory. Any thread may call both functions. */
const void *mesh_intern(const void *bytes, size_t size);
/* NULL is allowed. */
void mesh_intern_release(const void *bytes);
#endif
