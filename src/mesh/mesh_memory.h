/** Memory of a PE: 48 KB are reserved by address, and exist on
 *  the host from the first touch on. */
#ifndef WSC_MESH_MEMORY_H
#define WSC_MESH_MEMORY_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdint.h>

/* Make sure that the host memory of the PE reaches up to @p end; the caller has checked the
 * range. */
enum wsc_err mesh_touch(struct mesh_pe *pe, int64_t end);
/* WSC_CAPACITY for a range outside the memory of a PE. */
enum wsc_err mesh_check_range(const struct mesh_pe *pe, int64_t first, int64_t bytes);
#endif
