// SPDX-License-Identifier: Apache-2.0
/* Creates, completes, opens and verifies a checkpoint, in a group of processes. To complete a file,
 * every dataset gets the sum of its elements, and the file the digest of all names, shapes and
 * sums. Then everything is flushed, the mark of success is written and flushed, and the file is
 * renamed to its final name. A crash at any point leaves the older file of that name, or a `.tmp`.
 * checkpoint_entries.c has the table of entries, checkpoint_values.c moves values,
 * checkpoint_listing.c lists the contents of a file. */
#include "checkpoint_entries.h"
#include "checkpoint_layout.h"
#include "checkpoint_listing.h"
#include "checkpoint_values.h"
#include "h5.h"
#include "h5_error.h"
#include "h5_number.h"
#include "writer_group.h"

#include <wsc/check.h>
#include <wsc/file.h>
#include <wsc/hash.h>
#include <wsc/mem.h>
#include <wsc/out.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- life ------------------------------------------------------------------------------------ */

/* A file without HDF5 handle; NULL without memory. */
static struct store_file *make(const char *path)
{
    struct store_file *f = wsc_alloc(WSC_MEM_STORE, 1, sizeof *f);
    store_h5_silence();
    if (!f) return NULL;
    f->file = H5I_INVALID_HID;
    f->group.size = 1;
    f->path = wsc_strdup(WSC_MEM_STORE, path);
    if (f->path) return f;
    wsc_free(f);
    return NULL;
}

/* Close datasets, then the file. A failure does not stop this, so that nothing stays open. */
static herr_t close_hdf5(struct store_file *f)
{
    herr_t bad = 0;
    for (int i = 0; i < f->n_entries; i++) {
        hid_t dset = f->entry[i]->dset;
        if (dset >= 0 && H5Dclose(dset) < 0) bad = -1;
        f->entry[i]->dset = H5I_INVALID_HID;
    }
    if (f->file >= 0 && H5Fclose(f->file) < 0) bad = -1;
    f->file = H5I_INVALID_HID;
    return bad;
}

/* Free the memory; HDF5's handles are closed before. */
static void release(struct store_file **file)
{
    struct store_file *f = *file;
    for (int i = 0; i < f->n_entries; i++) {
        wsc_free(f->entry[i]->name);
        wsc_free(f->entry[i]->link);
        wsc_free(f->entry[i]);
    }
    wsc_free(f->entry);
    wsc_free(f->path);
    wsc_free(f->tmp);
    wsc_free(f);
    *file = NULL;
}

const char *store_path(const struct store_file *f)
{
    return f->path;
}

/* A file that was not committed is abandoned and removed by the first rank. */
void store_close(struct store_file **file)
{
    struct store_file *f = *file;
    if (!f) return;
    if (f->tmp && f->file >= 0) store_h5_abandon(f->file);
    (void)close_hdf5(f);
    if (f->tmp && f->group.rank == 0) (void)unlink(f->tmp);
    release(file);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* On the first rank alone, because open(2) gives the better error. */
static enum wsc_err prepare(struct store_file *f)
{
    TRY_MEM(f->tmp, wsc_asprintf(WSC_MEM_STORE, "%s" STORE_TMP_SUFFIX, f->path));
    return f->group.rank ? WSC_OK : store_touch(f->tmp);
}

static enum wsc_err create_hdf5(struct store_file *f)
{
    static const double layout = STORE_LAYOUT;
    static const int64_t our_version = STORE_VERSION;
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = H5Pcreate(H5P_FILE_CREATE);
    (void)H5Pset_file_locking(fapl, false, true);
    (void)H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG);
    /* Object headers with checksums, and attributes above 64 KiB. */
    (void)H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
    (void)H5Pset_obj_track_times(fcpl, false);
    enum wsc_err rc = store_group_driver(&f->group, fapl);
    if (!rc) {
        f->file = H5Fcreate(f->tmp, H5F_ACC_TRUNC, fcpl, fapl);
        if (f->file < 0) rc = H5_RAISE(WSC_IO, "%s: cannot be created", f->tmp);
    }
    (void)H5Pclose(fcpl);
    (void)H5Pclose(fapl);
    if (!rc) rc = store_h5_set(f->file, f->tmp, STORE_ATTR_LAYOUT, H5T_NATIVE_DOUBLE, &layout);
    if (!rc) rc = store_h5_set(f->file, f->tmp, STORE_ATTR_OURS, H5T_NATIVE_INT64, &our_version);
    if (!rc) rc = store_reserve(f, 0);
    return rc;
}

enum wsc_err store_create(struct store_file **out, const char *path,
                          const struct store_group *group)
{
    struct store_file *f = make(path);
    *out = NULL;
    if (!f) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "open file");
    if (group) f->group = *group;
    enum wsc_err rc = store_group_agree(&f->group, prepare(f));
    if (!rc) rc = store_group_agree(&f->group, create_hdf5(f));
    if (rc) store_close(&f);
    *out = f;
    return rc;
}

/* Sum and number of the elements that all ranks together wrote of a dataset. */
struct total {
    uint64_t sum, written;
};
_Static_assert(sizeof(struct total) == 2 * sizeof(uint64_t), "totals are added up as integers");

static enum wsc_err check_totals(const struct store_file *f, const struct total *total)
{
    for (int i = 0; i < f->n_entries; i++) {
        const struct store_entry *e = f->entry[i];
        if (e->alias_of || e->is_constant || total[i].written == (uint64_t)e->info.n) continue;
        return WSC_RAISE(WSC_IO, "%s: %llu elements of dataset %s were written, expected %lld",
                         f->path, (unsigned long long)total[i].written, e->name,
                         (long long)e->info.n);
    }
    return WSC_OK;
}

/* The digest of all names, shapes and sums: a sum of hashes, so that a program that checks it may
 * process entries in any order. */
static uint64_t digest_of(const struct store_file *f)
{
    uint64_t digest = 0;
    for (int i = 0; i < f->n_entries; i++) {
        const struct store_entry *e = f->entry[i];
        const uint64_t sum = e->alias_of      ? e->alias_of->sum
                             : e->is_constant ? store_sum(&e->value, sizeof e->value, 0, 1)
                                              : e->sum;
        uint64_t one = wsc_hash64(e->name, strlen(e->name), sum);
        one = wsc_hash64(e->info.shape, (size_t)e->info.n_dims * sizeof *e->info.shape, one);
        digest += one;
    }
    return digest;
}

/* Every rank gets the total sums and writes equal attributes. */
static enum wsc_err write_sums(struct store_file *f, struct total *total)
{
    for (int i = 0; i < f->n_entries; i++)
        total[i] = (struct total){f->entry[i]->sum, (uint64_t)f->entry[i]->written};
    TRY(store_group_sum(&f->group, &total->sum, 2 * f->n_entries));
    TRY(check_totals(f, total));
    for (int i = 0; i < f->n_entries; i++) {
        struct store_entry *e = f->entry[i];
        if (e->is_constant) continue;
        e->sum = total[i].sum;
        const int64_t sum = (int64_t)e->sum;
        if (e->alias_of) continue;
        TRY(store_h5_set(e->dset, f->tmp, STORE_ATTR_SUM, H5T_NATIVE_INT64, &sum));
    }
    const int64_t digest = (int64_t)digest_of(f);
    return store_h5_set(f->file, f->tmp, STORE_ATTR_ALL, H5T_NATIVE_INT64, &digest);
}

static enum wsc_err flush(struct store_file *f)
{
    if (H5Fflush(f->file, H5F_SCOPE_GLOBAL) < 0)
        return H5_RAISE(WSC_IO, "%s: cannot be written to disk", f->tmp);
    return WSC_OK;
}

/* The mark is written only when everything before it is on disk. */
static enum wsc_err write_mark(struct store_file *f)
{
    TRY(flush(f));
    TRY(store_h5_put_true(f->file, f->tmp, STORE_ATTR_MARK));
    return flush(f); /* a failure can be handled here, but not in closing */
}

/* The ranks agree on each part before the next, so that no rank waits in a collective call that
 * another one has left. */
static enum wsc_err complete(struct store_file *f, struct total *total)
{
    /* 256 bytes have room for the attribute of a sum. */
    TRY(store_group_agree(&f->group, total ? f->failed : WSC_NOMEM));
    TRY(store_group_agree(&f->group, store_reserve(f, 256 * (int64_t)f->n_entries)));
    TRY(store_group_agree(&f->group, write_sums(f, total)));
    TRY(store_group_agree(&f->group, write_mark(f)));
    return WSC_OK;
}

/* The ranks finally agree on the renaming, so that all return the same. */
static enum wsc_err finish(struct store_file *f)
{
    struct total *total = wsc_alloc(WSC_MEM_STORE, (size_t)f->n_entries, sizeof *total);
    enum wsc_err rc = complete(f, total);
    wsc_free(total);
    if (rc) return wsc_err_frame(rc, __FILE__, __LINE__, "checksums and mark");
    if (close_hdf5(f) < 0) rc = H5_RAISE(WSC_IO, "%s: cannot be completed", f->tmp);
    TRY(store_group_agree(&f->group, rc));
    if (f->group.rank == 0) rc = wsc_file_publish(f->tmp, f->path);
    TRY(store_group_agree(&f->group, rc));
    return WSC_OK;
}

enum wsc_err store_commit(struct store_file **file)
{
    WSC_CHECK((*file)->tmp, "%s is open for reading", (*file)->path);
    enum wsc_err rc = finish(*file);
    if (rc)
        store_close(file);
    else
        release(file);
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Error of a file without the mark of success, by this or another program. */
static enum wsc_err incomplete(const struct store_file *f)
{
    return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: is incomplete", f->path),
                        "the run that wrote it was interrupted: use an older checkpoint");
}

/* cstorch marks a complete file since version 0.5 of its layout. */
static enum wsc_err check_layout(const struct store_file *f)
{
    double layout = 0;
    bool present = false;
    TRY(store_h5_get_f64(f->file, f->path, STORE_ATTR_LAYOUT, &layout, &present));
    if (!present) return WSC_OK;
    if (!(layout < STORE_LAYOUT + 0.01))
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT,
                                      "%s: has version %g of cstorch's layout, "
                                      "known are those up to %g",
                                      f->path, layout, STORE_LAYOUT),
                            "save it with release 2.10 or older");
    if (layout > STORE_LAYOUT - 0.01 && store_has_text(f, STORE_ATTR_CSTORCH) &&
        H5Aexists(f->file, STORE_ATTR_MARK) <= 0)
        return incomplete(f);
    return WSC_OK;
}

static enum wsc_err check_complete(struct store_file *f)
{
    bool ours = false;
    TRY(check_layout(f));
    TRY(store_h5_get_i64(f->file, f->path, STORE_ATTR_OURS, &f->version, &ours));
    if (!ours) return WSC_OK;
    if (f->version < 1 || f->version > STORE_VERSION)
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: has layout version %lld, known are 1 to %d",
                                      f->path, (long long)f->version, STORE_VERSION),
                            "it was written by another version of this program");
    return H5Aexists(f->file, STORE_ATTR_MARK) > 0 ? WSC_OK : incomplete(f);
}

int64_t store_version(const struct store_file *f)
{
    return f->version;
}

/* Another process checks the file first (store_probe), because a damaged one can end the program
 * inside HDF5. */
enum wsc_err store_open(struct store_file **out, const char *path)
{
    struct store_file *f = make(path);
    *out = NULL;
    if (!f) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "open file");
    enum wsc_err rc = store_probe(path);
    if (!rc) rc = store_h5_open(&f->file, path);
    if (!rc) rc = check_complete(f);
    if (!rc) rc = store_list(f);
    if (rc) store_close(&f);
    *out = f;
    return rc;
}

/* Compare the values with the sum that was written; files of other programs have none. */
static enum wsc_err check_sum(struct store_file *f, struct store_entry *e)
{
    int64_t expected = 0;
    bool present = false;
    if (e->is_constant || e->alias_of) return WSC_OK;
    TRY(store_entry_open(f, e));
    TRY(store_h5_get_i64(e->dset, f->path, STORE_ATTR_SUM, &expected, &present));
    TRY(store_entry_sum(f, e, &e->sum));
    if (present && e->sum != (uint64_t)expected)
        return wsc_err_hint(
            WSC_RAISE(WSC_FORMAT, "%s: the values of %s differ from those that were written",
                      f->path, e->name),
            "the file is damaged; if it was edited on purpose, remove the attribute " STORE_ATTR_SUM
            " of that dataset and " STORE_ATTR_ALL " of the file");
    return WSC_OK;
}

/* Detects correct values under a wrong name, and missing datasets. */
static enum wsc_err check_digest(const struct store_file *f)
{
    int64_t expected = 0;
    bool present = false;
    TRY(store_h5_get_i64(f->file, f->path, STORE_ATTR_ALL, &expected, &present));
    if (!present || digest_of(f) == (uint64_t)expected) return WSC_OK;
    return wsc_err_hint(
        WSC_RAISE(WSC_FORMAT, "%s: its datasets differ from those that were written", f->path),
        "the file is damaged; if it was edited on purpose, remove its "
        "attribute " STORE_ATTR_ALL);
}

/* Reads every value of the file once. */
enum wsc_err store_check(const char *path)
{
    struct store_file *f = NULL;
    enum wsc_err rc = store_open(&f, path);
    int64_t done = 0, total = 0;
    for (int i = 0; !rc && f && i < f->n_entries; i++)
        total += f->entry[i]->info.n;
    for (int i = 0; !rc && f && i < f->n_entries; i++) {
        out_progress_at("check", done, total, f->entry[i]->name);
        rc = check_sum(f, f->entry[i]);
        done += f->entry[i]->info.n;
    }
    if (!rc && f) rc = check_digest(f);
    store_close(&f);
    return rc;
}
