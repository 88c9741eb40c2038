/** Agreement of a group of ranks that writes one file: failures,
 *  sums, the driver of HDF5. */
#ifndef WSC_STORE_WRITER_GROUP_H
#define WSC_STORE_WRITER_GROUP_H
#include <wsc/err.h>
#include <wsc/store.h>

#include <hdf5.h>
#include <stdint.h>

/** Wait for all ranks; an error on one rank is an error on all. */
enum wsc_err store_group_agree(const struct store_group *g, enum wsc_err own) WSC_CHECKED;
/** Add up @p x over the ranks, element by element, modulo 2^64. */
enum wsc_err store_group_sum(const struct store_group *g, uint64_t *x, int n) WSC_CHECKED;
/** Let @p fapl use the group's communicator. */
enum wsc_err store_group_driver(const struct store_group *g, hid_t fapl) WSC_CHECKED;
#endif
