// SPDX-License-Identifier: Apache-2.0
/* Reads and writes text attributes at the root of a checkpoint, such as the params of the run. All
 * ranks write the same text into the file, as HDF5 requires for attributes; a rank that could not
 * make its text takes part in the agreement, so that the others do not wait. */
#include "checkpoint_entries.h"
#include "h5_number.h"
#include "h5_text.h"
#include "writer_group.h"

#include <wsc/check.h>

#include <string.h>

enum wsc_err store_set_text(struct store_file *f, const char *name, const char *value)
{
    WSC_CHECK(f->tmp, "%s is open for reading", f->path);
    hid_t type = H5Tcopy(H5T_C_S1);
    const size_t bytes = value ? strlen(value) : 0;
    (void)H5Tset_size(type, bytes ? bytes : 1);
    (void)H5Tset_strpad(type, H5T_STR_NULLPAD);
    (void)H5Tset_cset(type, H5T_CSET_UTF8);
    enum wsc_err rc = value ? store_reserve(f, (int64_t)bytes)
                            : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, name);
    rc = store_group_agree(&f->group, rc);
    if (!rc) rc = store_group_agree(&f->group, store_h5_set(f->file, f->tmp, name, type, value));
    (void)H5Tclose(type);
    if (rc) f->failed = rc;
    return rc;
}

bool store_has_text(const struct store_file *f, const char *name)
{
    return H5Aexists(f->file, name) > 0;
}

enum wsc_err store_get_text(struct store_file *f, const char *name, char **value)
{
    *value = NULL;
    if (!store_has_text(f, name))
        return WSC_RAISE(WSC_FORMAT, "%s: has no attribute %s", f->path, name);
    return store_h5_get_text(f->file, f->path, name, value);
}
