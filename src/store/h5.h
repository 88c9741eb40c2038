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

/** Create an empty file @p path; an error has the message of the operating system. */
enum wsc_err store_touch(const char *path) WSC_CHECKED;

/** Call before closing a file that will not be kept: HDF5's remaining writes go to memory. After a
 *  failed write (full disk) closing would fail too, and HDF5 crashes at exit over a file that it
 *  could not close. No effect on a file written through MPI. */
void store_h5_abandon(hid_t file);

/** Take disk space for all that @p file has allocated, at least @p known bytes, and @p extra bytes
 *  more, so that a full disk is noticed here: HDF5 1.10 cannot recover when writing its own tables
 *  fails.  File systems that cannot reserve are left alone. */
enum wsc_err store_h5_reserve(hid_t file, const char *path, int64_t known,
                              int64_t extra) WSC_CHECKED;
/** Bytes for the tables and attributes that one call adds. */
enum { STORE_MARGIN = 1 << 16 };

/** Error for external or virtual storage, unknown filters, types other than numbers, ranks above
 *  STORE_MAX_DIMS, absurd sizes, and storage outside the file. */
enum wsc_err store_h5_inspect(const char *path, const char *name, hid_t dset,
                              struct store_info *info) WSC_CHECKED;
/** Open dataset @p name at the root of @p file, which must be a hard link; @p dapl or H5P_DEFAULT.
 */
enum wsc_err store_h5_dataset(hid_t *dset, hid_t file, const char *path, const char *name,
                              hid_t dapl) WSC_CHECKED;
#endif
