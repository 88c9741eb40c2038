/** Attributes of HDF5 objects that are numbers, read with any type and written as h5py reads
 *  them. */
#ifndef WSC_STORE_H5_NUMBER_H
#define WSC_STORE_H5_NUMBER_H
#include <wsc/err.h>

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

/** Integer attribute of @p object; *present: it exists. */
enum wsc_err store_h5_get_i64(hid_t object, const char *path, const char *name, int64_t *value,
                              bool *present) WSC_CHECKED;
/** Write a scalar attribute of @p object: @p value of memory type @p type. */
enum wsc_err store_h5_set(hid_t object, const char *path, const char *name, hid_t type,
                          const void *value) WSC_CHECKED;

/** Attribute of @p object that is a number of any type; *present: it exists. */
enum wsc_err store_h5_get_f64(hid_t object, const char *path, const char *name, double *value,
                              bool *present) WSC_CHECKED;
/** An attribute of rank @p n_dims (0: scalar) with @p value of memory type @p type. */
struct store_attr {
    const char *name;
    hid_t type;
    int n_dims;
    hsize_t shape[2];
    const void *value;
};
enum wsc_err store_h5_put(hid_t object, const char *path, const struct store_attr *a) WSC_CHECKED;
/** Write a true bool with the type that h5py uses. */
enum wsc_err store_h5_put_true(hid_t object, const char *path, const char *name) WSC_CHECKED;
#endif
