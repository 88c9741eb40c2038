/** The inspected properties of a dataset: shape, type and chunks. h5.c fills them in, readers and
 *  filters rely on them. */
#ifndef WSC_STORE_H5_INFO_H
#define WSC_STORE_H5_INFO_H
#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STORE_MAX_DIMS = 3 };
/** Properties of a dataset that passed the checks of store_h5_inspect(). */
struct store_info {
    int n_dims;
    int64_t shape[STORE_MAX_DIMS];
    int64_t n;          /**< elements */
    H5T_class_t kind;   /**< H5T_INTEGER, H5T_FLOAT, or H5T_ENUM: truth values of 8 bits */
    char type[16];      /**< "float32", "uint16", "bfloat16", "bool" */
    bool bfloat16;      /**< stored as 16-bit integers and marked as such; kind is H5T_FLOAT */
    size_t chunk_bytes; /**< 0 when not chunked */
    int64_t chunk_rows; /**< extent of a chunk along the first dimension */
};
#endif
