/** Memory of a fabric that is kept from program to program: arrays that grow, and blocks of a few
 *  cache lines for PEs. Nothing is given back to the system before mesh_destroy(). */
#ifndef WSC_MESH_POOL_H
#define WSC_MESH_POOL_H
#include <wsc/err.h>

#include <stdint.h>

enum { MESH_LINE = 64 }; /* bytes of a cache line */

/* Memory that grows and is kept from program to program; owned. */
struct mesh_buffer {
    void *base, *data;
    int64_t bytes;
};

/* A pool of blocks of 2^k cache lines, cut from slabs, with a free list for each size; for one
 * thread. */
enum { MESH_POOL_SIZES = 7 };
struct mesh_pool {
    struct mesh_slab *first, *current;
    int64_t used; /* bytes of the current slab */
    void *free[MESH_POOL_SIZES];
};
/* The smallest size that holds @p bytes, or MESH_POOL_SIZES. */
int mesh_pool_size(int64_t bytes);
int64_t mesh_pool_bytes(int size);
void *mesh_pool_take(struct mesh_pool *p, int size);
void mesh_pool_give(struct mesh_pool *p, int size, void *block);
/* Free all blocks; the slabs are kept. */
void mesh_pool_reset(struct mesh_pool *p);
void mesh_pool_fini(struct mesh_pool *p);
/* Make @p b hold @p bytes, undefined or zeroed; its earlier contents are lost. */
enum wsc_err mesh_buffer_take(struct mesh_buffer *b, int64_t bytes);
enum wsc_err mesh_buffer_zero(struct mesh_buffer *b, int64_t bytes);
void mesh_buffer_give(struct mesh_buffer *b);
#endif
