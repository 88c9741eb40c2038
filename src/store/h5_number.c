// SPDX-License-Identifier: Apache-2.0
/* Reads and writes attributes that are numbers or arrays of numbers. h5py stores a bool as an
 * enumeration of 8 bits with the members FALSE and TRUE, and reads only such an enumeration back as
 * a bool; cstorch uses all three kinds. Texts are in h5_text.c. */
#include "h5_number.h"
#include "h5_error.h"

/* Reads the one element, of type @p type, of an attribute. */
typedef herr_t read_fn(hid_t attr, hid_t type, void *value);

static herr_t read_integer(hid_t attr, hid_t type, void *value)
{
    return H5Tget_class(type) == H5T_INTEGER ? H5Aread(attr, H5T_NATIVE_INT64, value) : -1;
}

/* HDF5 converts between numbers, but not from the enumeration that h5py makes of a bool. */
static herr_t read_number(hid_t attr, hid_t type, void *value)
{
    const H5T_class_t kind = H5Tget_class(type);
    int8_t flag = 0;
    if (kind == H5T_INTEGER || kind == H5T_FLOAT) return H5Aread(attr, H5T_NATIVE_DOUBLE, value);
    if (kind != H5T_ENUM || H5Tget_size(type) != sizeof flag) return -1;
    if (H5Aread(attr, type, &flag) < 0) return -1;
    *(double *)value = flag;
    return 0;
}

/* Read a scalar. @p kind: expected kind, for the message. */
static enum wsc_err get_scalar(hid_t object, const char *path, const char *name, read_fn *read,
                               const char *kind, void *value, bool *present)
{
    htri_t there = H5Aexists(object, name);
    *present = there > 0;
    if (there < 0) return H5_RAISE(WSC_FORMAT, "%s: its attributes are unreadable", path);
    if (!there) return WSC_OK;
    hid_t attr = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = attr < 0 ? attr : H5Aget_type(attr), space = attr < 0 ? attr : H5Aget_space(attr);
    const bool scalar = type >= 0 && space >= 0 && H5Sget_simple_extent_npoints(space) == 1;
    enum wsc_err rc = WSC_OK;
    if (!scalar || read(attr, type, value) < 0)
        rc = H5_RAISE(WSC_FORMAT, "%s: attribute %s is not %s", path, name, kind);
    if (type >= 0) (void)H5Tclose(type);
    if (space >= 0) (void)H5Sclose(space);
    if (attr >= 0) (void)H5Aclose(attr);
    return rc;
}

enum wsc_err store_h5_get_i64(hid_t object, const char *path, const char *name, int64_t *value,
                              bool *present)
{
    return get_scalar(object, path, name, read_integer, "an integer", value, present);
}

enum wsc_err store_h5_get_f64(hid_t object, const char *path, const char *name, double *value,
                              bool *present)
{
    return get_scalar(object, path, name, read_number, "a number", value, present);
}

enum wsc_err store_h5_put(hid_t object, const char *path, const struct store_attr *a)
{
    hid_t space = a->n_dims ? H5Screate_simple(a->n_dims, a->shape, NULL) : H5Screate(H5S_SCALAR);
    hid_t attr = H5Acreate2(object, a->name, a->type, space, H5P_DEFAULT, H5P_DEFAULT);
    herr_t bad = attr < 0 ? -1 : H5Awrite(attr, a->type, a->value);
    enum wsc_err rc = WSC_OK;
    if (bad < 0) rc = H5_RAISE(WSC_IO, "%s: attribute %s cannot be written", path, a->name);
    if (attr >= 0) (void)H5Aclose(attr);
    (void)H5Sclose(space);
    return rc;
}

enum wsc_err store_h5_set(hid_t object, const char *path, const char *name, hid_t type,
                          const void *value)
{
    const struct store_attr a = {name, type, 0, {0}, value};
    return store_h5_put(object, path, &a);
}

enum wsc_err store_h5_put_true(hid_t object, const char *path, const char *name)
{
    static const int8_t no = 0, yes = 1;
    hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
    (void)H5Tenum_insert(type, "FALSE", &no);
    (void)H5Tenum_insert(type, "TRUE", &yes);
    enum wsc_err rc = store_h5_set(object, path, name, type, &yes);
    (void)H5Tclose(type);
    return rc;
}
