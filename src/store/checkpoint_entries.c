// SPDX-License-Identifier: Apache-2.0
/* Keeps the table of the entries of an open checkpoint, sorted by name. An entry is a dataset, a
 * second name of one, or a value without a dataset. Opening fills the table from the file
 * (checkpoint_listing.c), defining adds to it (checkpoint_values.c, checkpoint_tensors.c). Names
 * are those of objects at the root of the file; they have no slash, which HDF5 would take for a
 * group. */
#include "checkpoint_entries.h"
#include "h5.h"

#include <wsc/mem.h>

#include <string.h>

/* Index of the first entry whose name is not below @p name. */
static int lower_bound(const struct store_file *f, const char *name)
{
    int lo = 0, hi = f->n_entries;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (strcmp(f->entry[mid]->name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct store_entry *store_find(const struct store_file *f, const char *name)
{
    int i = lower_bound(f, name);
    return i < f->n_entries && !strcmp(f->entry[i]->name, name) ? f->entry[i] : NULL;
}

enum wsc_err store_add(struct store_file *f, const char *name, struct store_entry **out)
{
    int at = lower_bound(f, name);
    struct store_entry *e = NULL;
    if (!*name || strchr(name, '/'))
        return WSC_RAISE(WSC_USAGE, "%s: `%s` cannot be the name of a dataset", f->path, name);
    if (store_find(f, name))
        return WSC_RAISE(WSC_USAGE, "%s: dataset %s is defined twice", f->path, name);
    TRY_GROW(f->entry, WSC_MEM_STORE, f->room, f->n_entries + 1);
    TRY_NEW(e, WSC_MEM_STORE, 1);
    e->dset = H5I_INVALID_HID;
    e->name = wsc_strdup(WSC_MEM_STORE, name);
    if (!e->name) {
        wsc_free(e);
        return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name of dataset");
    }
    for (int i = f->n_entries++; i > at; i--)
        f->entry[i] = f->entry[i - 1];
    f->entry[at] = e;
    *out = e;
    return WSC_OK;
}

bool store_has(const struct store_file *f, const char *name)
{
    return store_find(f, name) != NULL;
}

enum wsc_err store_reserve(struct store_file *f, int64_t extra)
{
    return f->group.rank ? WSC_OK : store_h5_reserve(f->file, f->tmp, f->end, extra + STORE_MARGIN);
}
