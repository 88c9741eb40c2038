/** HDF5's filter for LZ4, with which cstorch stores tensors. It is registered once for the
 *  process, with the size that chunks must expand to. */
#ifndef WSC_STORE_H5_LZ4_H
#define WSC_STORE_H5_LZ4_H
#include "h5_info.h"

/** Registered number of LZ4, with which cstorch stores tensors of rank 1 and higher. */
enum { STORE_LZ4_FILTER = 32004 };
/** Let HDF5 read filter STORE_LZ4_FILTER. */
void store_lz4_register(void);
/** Call before every read of a dataset: sets the size to which its chunks must expand. */
void store_lz4_expect(const struct store_info *info);
#endif
