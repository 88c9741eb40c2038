/** Attributes of HDF5 objects that are texts, of fixed or variable length; checkpoints keep their
 *  descriptions in them. */
#ifndef WSC_STORE_H5_TEXT_H
#define WSC_STORE_H5_TEXT_H
#include <wsc/err.h>

#include <hdf5.h>
#include <stdbool.h>

/** Text attribute of @p object, of one element; owned by the caller. */
enum wsc_err store_h5_get_text(hid_t object, const char *path, const char *name,
                               char **value) WSC_CHECKED;
/** Text attribute of any length, as h5py writes and reads a str; @p in_list: the only one of a
 *  list. */
enum wsc_err store_h5_put_text(hid_t object, const char *path, const char *name, const char *value,
                               bool in_list) WSC_CHECKED;
#endif
