// SPDX-License-Identifier: Apache-2.0
/* Reads and writes text attributes of fixed length, as h5py does; h5_variable_text.c reads those of
 * variable length. */
#include "h5_text.h"
#include "h5_error.h"
#include "h5_number.h"
#include "h5_variable_text.h"

#include <wsc/mem.h>

#include <string.h>

/* Read a text of fixed length into a block of its size plus a NUL. */
static enum wsc_err read_fixed(const char *path, hid_t attr, hid_t type, char **value)
{
    size_t bytes = H5Tget_size(type);
    if (bytes > STORE_MAX_TEXT_BYTES)
        return WSC_RAISE(WSC_FORMAT, "%s: a text of %zu bytes is too long", path, bytes);
    char *text;
    TRY_MEM(text, wsc_alloc(WSC_MEM_STORE, bytes + 1, 1));
    if (H5Aread(attr, type, text) < 0) {
        wsc_free(text);
        return H5_RAISE(WSC_FORMAT, "%s: a text cannot be read", path);
    }
    *value = text;
    return WSC_OK;
}

static enum wsc_err read_text(hid_t attr, const char *path, const char *name, char **value)
{
    enum wsc_err rc;
    hid_t type = H5Aget_type(attr), space = H5Aget_space(attr);
    bool text = type >= 0 && space >= 0 && H5Tget_class(type) == H5T_STRING &&
                H5Sget_simple_extent_npoints(space) == 1;
    if (!text)
        rc = H5_RAISE(WSC_FORMAT, "%s: attribute %s is not a text", path, name);
    else if (H5Tis_variable_str(type) > 0)
        rc = store_h5_variable_text(path, attr, value);
    else
        rc = read_fixed(path, attr, type, value);
    if (space >= 0) (void)H5Sclose(space);
    if (type >= 0) (void)H5Tclose(type);
    return rc;
}

enum wsc_err store_h5_get_text(hid_t object, const char *path, const char *name, char **value)
{
    *value = NULL;
    hid_t attr = H5Aopen(object, name, H5P_DEFAULT);
    if (attr < 0) return H5_RAISE(WSC_FORMAT, "%s: attribute %s is unreadable", path, name);
    enum wsc_err rc = read_text(attr, path, name, value);
    (void)H5Aclose(attr);
    return rc;
}

enum wsc_err store_h5_put_text(hid_t object, const char *path, const char *name, const char *value,
                               bool in_list)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, H5T_VARIABLE);
    (void)H5Tset_cset(type, H5T_CSET_UTF8);
    const struct store_attr a = {name, type, in_list, {1}, (const void *)&value};
    enum wsc_err rc = store_h5_put(object, path, &a);
    (void)H5Tclose(type);
    return rc;
}
