/** HDF5 files and datasets: opening, creating, disk space, and the checks before a value is
 *  read. */
#ifndef WSC_STORE_H5_H
#define WSC_STORE_H5_H
#include "h5_info.h"

#include <wsc/err.h>

#include <hdf5.h>
#include <stdint.h>

#define STORE_TMP_SUFFIX ".tmp"
/** Open a regular HDF5 file for reading, without file locks. */
enum wsc_err store_h5_open(hid_t *file, const char *path) WSC_CHECKED;

/** Make an empty file @p path: the operating system's own words when that cannot be. */
enum wsc_err store_touch(const char *path) WSC_CHECKED;

/** Before closing a file that will not be kept: let what HDF5 still wants to write go to memory.
 *  After a failed write (disk full) closing would fail as well, and HDF5 crashes at exit over a
 *  file that it could not close.  Without effect on a file written through MPI. */
void store_h5_abandon(hid_t file);

/** Take disk space for all that @p file has allocated, at least @p known bytes, and @p extra bytes
 *  more, so that a full disk is noticed here: HDF5 1.10 cannot recover when writing its own tables
 *  fails.  File systems that cannot reserve are left alone. */
enum wsc_err store_h5_reserve(hid_t file, const char *path, int64_t known,
                              int64_t extra) WSC_CHECKED;
/** Enough for the tables and attributes that one call adds. */
enum { STORE_MARGIN = 1 << 16 };

/** Refuse external or virtual storage, foreign filters, other than numbers, ranks above
 *  STORE_MAX_DIMS, absurd sizes, and storage that is not in the file. */
enum wsc_err store_h5_inspect(const char *path, const char *name, hid_t dset,
                              struct store_info *info) WSC_CHECKED;
/** Open dataset @p name at the root of @p file, which must be a hard link; @p dapl or H5P_DEFAULT.
 */
enum wsc_err store_h5_dataset(hid_t *dset, hid_t file, const char *path, const char *name,
                              hid_t dapl) WSC_CHECKED;
#endif
