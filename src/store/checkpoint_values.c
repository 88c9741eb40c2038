// SPDX-License-Identifier: Apache-2.0
/* Defines the datasets of a checkpoint, and writes and reads flat ranges or boxes of them, in
 * pieces below the 2^31 bytes that MPI-IO can count. Each element is added to a sum that does not
 * depend on which rank wrote it. */
#include "checkpoint_values.h"
#include "checkpoint_entries.h"
#include "h5.h"
#include "h5_error.h"
#include "h5_info.h"
#include "h5_lz4.h"
#include "writer_group.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

/* Elements per transfer: MPI-IO counts bytes in an int, so 8 bytes each must stay below 2^31. */
static const int64_t max_piece = (int64_t)1 << 25;

/* A type in memory and in the file, and its name. */
struct type_row {
    hid_t memory, file;
    size_t size;
    const char *name;
    H5T_class_t kind;
};

/* h5py's type of truth values, made once; HDF5 releases it at its end. */
static hid_t truth_type(void)
{
    static hid_t type = H5I_INVALID_HID;
    static const char *const name[] = {"FALSE", "TRUE"};
    if (type >= 0) return type;
    type = H5Tenum_create(H5T_STD_I8LE);
    for (int8_t value = 0; value < 2; value++)
        (void)H5Tenum_insert(type, name[value], &value);
    return type;
}

static struct type_row type_row(enum store_type type)
{
    switch (type) {
    case STORE_F32:
        return (struct type_row){H5T_NATIVE_FLOAT, H5T_IEEE_F32LE, 4, "float32", H5T_FLOAT};
    case STORE_F64:
        return (struct type_row){H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, 8, "float64", H5T_FLOAT};
    case STORE_I64:
        return (struct type_row){H5T_NATIVE_INT64, H5T_STD_I64LE, 8, "int64", H5T_INTEGER};
    case STORE_BOOL:
        return (struct type_row){truth_type(), truth_type(), 1, "bool", H5T_ENUM};
    }
    WSC_CHECK(false, "type %d", (int)type);
    return (struct type_row){0};
}

/* ---- checksum -------------------------------------------------------------------------------- */

/* Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators", the 64-bit mix with
 * the constants of SplitMix64. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ x >> 27) * 0x94D049BB133111EBULL;
    return x ^ x >> 31;
}

static uint64_t element_bits(const char *at, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, at, size);
    return bits;
}

uint64_t store_sum(const void *data, size_t size, int64_t first, int64_t n)
{
    static const uint64_t stride = 0x9E3779B97F4A7C15ULL; /* 2^64 / golden ratio, odd */
    const char *at = data;
    uint64_t sum = 0, place = (uint64_t)first * stride;
    for (int64_t i = 0; i < n; i++, at += size) {
        place += stride;
        sum += mix((size == 4 ? element_bits(at, 4) : element_bits(at, size)) ^ place);
    }
    return sum;
}

/* ---- transfers ------------------------------------------------------------------------------- */

/* A box of a dataset that is viewed as (rows, columns). */
struct box {
    hsize_t first[2], count[2];
    int64_t n;
};

/* The largest box at the start of the flat range [first, first + n): the rest of a row, or whole
 * rows. */
static struct box next_box(const struct store_info *info, int64_t first, int64_t n)
{
    int64_t columns = info->n_dims == 2 ? info->shape[1] : info->n;
    int64_t row = first / columns, column = first % columns;
    struct box b = {{(hsize_t)row, (hsize_t)column}, {1, 1}, 0};
    if (column == 0 && n >= columns && columns <= max_piece) {
        int64_t rows = (n < max_piece ? n : max_piece) / columns;
        b.count[0] = (hsize_t)rows;
        b.count[1] = (hsize_t)columns;
        b.n = rows * columns;
        return b;
    }
    b.n = columns - column < n ? columns - column : n;
    if (b.n > max_piece) b.n = max_piece;
    b.count[1] = (hsize_t)b.n;
    return b;
}

/* Select @p b in the dataset's space of @p n_dims dimensions. */
static herr_t select_box(hid_t space, int n_dims, const struct box *b)
{
    if (n_dims == 0) return H5Sselect_all(space);
    int skip = n_dims == 1; /* a dataset of rank 1 is one row */
    return H5Sselect_hyperslab(space, H5S_SELECT_SET, b->first + skip, NULL, b->count + skip, NULL);
}

/* A memory space with the rank of the dataset: with another rank HDF5 would copy chunked data
 * element by element. */
static hid_t memory_box(int n_dims, const struct box *b)
{
    int skip = n_dims < 2;
    return H5Screate_simple(2 - skip, b->count + skip, NULL);
}

struct transfer {
    const char *path, *name;
    hid_t dset, memory;
    const struct store_info *info;
    size_t size;
    bool widen;      /* reading: 16-bit values are widened to `size` bytes */
    void *in;        /* reading: destination */
    const void *out; /* writing: source; NULL when reading */
};

/* Widen 16-bit values, the upper halves of 32-bit floats, in place. They were read to the end of
 * the buffer, so number i ends before half i + 1 begins. */
static void widen(char *at, const struct transfer *t, int64_t n)
{
    const char *half = at + (size_t)n * (t->size - 2);
    for (int64_t i = 0; i < n; i++, half += 2, at += t->size) {
        uint16_t upper;
        float value;
        memcpy(&upper, half, sizeof upper);
        const uint32_t bits = (uint32_t)upper << 16;
        memcpy(&value, &bits, sizeof value);
        const double wide = (double)value;
        if (t->size == sizeof value)
            memcpy(at, &value, sizeof value);
        else
            memcpy(at, &wide, sizeof wide);
    }
}

/* 16-bit values are read into the end of the buffer and widened in place. */
static herr_t read_box(const struct transfer *t, hid_t mem, hid_t space, const struct box *b,
                       char *at)
{
    store_lz4_expect(t->info);
    if (!t->widen) return H5Dread(t->dset, t->memory, mem, space, H5P_DEFAULT, at);
    hid_t type = H5Dget_type(t->dset), native = H5Tget_native_type(type, H5T_DIR_ASCEND);
    herr_t bad =
        H5Dread(t->dset, native, mem, space, H5P_DEFAULT, at + (size_t)b->n * (t->size - 2));
    (void)H5Tclose(native);
    (void)H5Tclose(type);
    if (bad >= 0) widen(at, t, b->n);
    return bad;
}

/* One transfer. The error with HDF5's reason is raised before the handles are closed. */
static enum wsc_err move_box(const struct transfer *t, const struct box *b, int64_t offset)
{
    size_t at = (size_t)offset * t->size;
    hid_t space = H5Dget_space(t->dset), mem = memory_box(t->info->n_dims, b);
    herr_t bad = space < 0 || mem < 0 ? -1 : select_box(space, t->info->n_dims, b);
    enum wsc_err rc = WSC_OK;
    if (bad >= 0 && t->out)
        bad = H5Dwrite(t->dset, t->memory, mem, space, H5P_DEFAULT, (const char *)t->out + at);
    else if (bad >= 0)
        bad = read_box(t, mem, space, b, (char *)t->in + at);
    if (bad < 0)
        rc = H5_RAISE(WSC_IO, "%s: dataset %s cannot be %s", t->path, t->name,
                      t->out ? "written" : "read");
    if (mem >= 0) (void)H5Sclose(mem);
    if (space >= 0) (void)H5Sclose(space);
    return rc;
}

/* Transfer a flat range in boxes, none larger than one transfer. */
static enum wsc_err move_range(const struct transfer *t, int64_t first, int64_t n)
{
    for (int64_t done = 0; done < n;) {
        struct box b = next_box(t->info, first + done, n - done);
        TRY(move_box(t, &b, done));
        done += b.n;
    }
    return WSC_OK;
}

static enum wsc_err find(const struct store_file *f, const char *name, struct store_entry **e)
{
    *e = store_find(f, name);
    if (!*e) return WSC_RAISE(WSC_FORMAT, "%s: has no dataset %s", f->path, name);
    return WSC_OK;
}

static void check_range(const struct store_file *f, const struct store_entry *e, int64_t first,
                        int64_t n)
{
    WSC_CHECK(first >= 0 && n >= 0 && first <= e->info.n && n <= e->info.n - first,
              "%s: %s: elements [%lld, +%lld) of %lld", f->path, e->name, (long long)first,
              (long long)n, (long long)e->info.n);
}

static bool is_zero(const void *data, size_t n_bytes)
{
    const char *x = data;
    return !*x && !memcmp(x, x + 1, n_bytes - 1);
}

/* An element that stays a hole counts as written, and is in the sum. */
enum wsc_err store_write(struct store_file *f, const char *name, int64_t first, int64_t n,
                         const void *data)
{
    struct store_entry *e = NULL;
    TRY(find(f, name, &e));
    WSC_CHECK(f->tmp && !e->alias_of, "%s: %s cannot be written", f->path, name);
    check_range(f, e, first, n);
    struct type_row row = type_row(e->type);
    struct transfer t = {f->tmp, name, e->dset, row.memory, &e->info, row.size, false, NULL, data};
    /* Zeros are not written (a hole in the file): moments of a first step, masked weights. */
    const bool hole = n && first >= e->fresh_from && is_zero(data, (size_t)n * row.size);
    enum wsc_err rc = n && !hole ? move_range(&t, first, n) : WSC_OK;
    if (rc) {
        f->failed = rc;
        return wsc_err_frame(rc, __FILE__, __LINE__, "write elements");
    }
    e->written += n;
    e->sum += store_sum(data, row.size, first, n);
    return WSC_OK;
}

enum wsc_err store_entry_open(struct store_file *f, struct store_entry *e)
{
    if (e->dset >= 0) return WSC_OK;
    TRY(store_h5_dataset(&e->dset, f->file, f->path, store_link_name(e), H5P_DEFAULT));
    TRY(store_h5_inspect(f->path, e->name, e->dset, &e->info));
    if (e->info.n_dims > 2 || !e->info.n)
        return WSC_RAISE(WSC_FORMAT,
                         "%s: %s has rank %d and %lld elements, expected rank 0 to 2 "
                         "and at least one element",
                         f->path, e->name, e->info.n_dims, (long long)e->info.n);
    return WSC_OK;
}

/* Fill in the elements of a constant. */
static void fill(enum store_type type, double value, int64_t n, void *data)
{
    for (int64_t i = 0; i < n; i++) {
        if (type == STORE_F32) ((float *)data)[i] = (float)value;
        if (type == STORE_F64) ((double *)data)[i] = value;
        if (type == STORE_I64) ((int64_t *)data)[i] = (int64_t)value;
        if (type == STORE_BOOL) ((unsigned char *)data)[i] = value != 0;
    }
}

/* True for integers, and for constants of any type. */
static bool may_be_truth(const struct store_entry *e)
{
    return e->is_constant || e->info.kind == H5T_INTEGER;
}

enum wsc_err store_read(struct store_file *f, const char *name, enum store_type type, int64_t first,
                        int64_t n, void *data)
{
    struct store_entry *e = NULL;
    TRY(find(f, name, &e));
    WSC_CHECK(!f->tmp, "%s is open for writing", f->path);
    check_range(f, e, first, n);
    struct type_row row = type_row(type);
    if (e->info.kind != row.kind && !(type == STORE_BOOL && may_be_truth(e)))
        return WSC_RAISE(WSC_FORMAT, "%s: %s holds %s, expected %s", f->path, name, e->info.type,
                         row.name);
    if (e->is_constant) {
        fill(type, e->value, n, data);
        return WSC_OK;
    }
    TRY(store_entry_open(f, e));
    if (type == STORE_BOOL && e->info.kind == H5T_INTEGER) row.memory = H5T_NATIVE_UINT8;
    const bool halves = e->info.bfloat16;
    struct transfer t = {f->path,  name,   e->dset, row.memory, &e->info,
                         row.size, halves, data,    NULL};
    if (n) TRY(move_range(&t, first, n));
    return WSC_OK;
}

static enum wsc_err find_number(const struct store_file *f, const char *name,
                                const struct store_entry **number)
{
    struct store_entry *e = NULL;
    TRY(find(f, name, &e));
    *number = e;
    if (e->info.n == 1) return WSC_OK;
    return WSC_RAISE(WSC_FORMAT, "%s: %s has %lld elements, expected a number", f->path, name,
                     (long long)e->info.n);
}

/* A constant is a double in a checkpoint: it must be an integer of 64 bits before it is converted.
 */
enum wsc_err store_read_i64(struct store_file *f, const char *name, int64_t lo, int64_t hi,
                            int64_t *value)
{
    const struct store_entry *e = NULL;
    int64_t found = 0;
    TRY(find_number(f, name, &e));
    WSC_CHECK(e, "%s was found without an entry", name);
    const double end = 9223372036854775808.0; /* 2^63 */
    const bool whole = !e->is_constant || (e->value >= -end && e->value < end);
    if (!whole)
        return WSC_RAISE(WSC_FORMAT, "%s: %s is %g, expected a 64-bit integer", f->path, name,
                         e->value);
    TRY(store_read(f, name, STORE_I64, 0, 1, &found));
    if (found < lo || found > hi)
        return WSC_RAISE(WSC_FORMAT, "%s: %s is %lld, expected %lld to %lld", f->path, name,
                         (long long)found, (long long)lo, (long long)hi);
    *value = found;
    return WSC_OK;
}

enum wsc_err store_read_f64(struct store_file *f, const char *name, double *value)
{
    const struct store_entry *e = NULL;
    TRY(find_number(f, name, &e));
    return store_read(f, name, STORE_F64, 0, 1, value);
}

enum wsc_err store_read_box(struct store_file *f, const char *name, const struct store_box *box,
                            float *out)
{
    struct store_entry *e = NULL;
    TRY(find(f, name, &e));
    const struct type_row row = type_row(STORE_F32);
    /* a dataset of rank 1 is one column here; for next_box() it is one row */
    const bool flat = e->info.n_dims < 2;
    const int64_t height = flat ? e->info.n : e->info.shape[0], width = flat ? 1 : e->info.shape[1];
    WSC_CHECK(!f->tmp && box->row >= 0 && box->rows > 0 && box->rows <= height - box->row &&
                  box->column >= 0 && box->columns > 0 && box->columns <= width - box->column,
              "%s: %s: a box outside of %lld x %lld", f->path, name, (long long)height,
              (long long)width);
    if (flat) return store_read(f, name, STORE_F32, box->row, box->rows, out);
    if (e->info.kind != row.kind)
        return WSC_RAISE(WSC_FORMAT, "%s: %s holds %s, expected %s", f->path, name, e->info.type,
                         row.name);
    if (e->is_constant) {
        fill(STORE_F32, e->value, box->rows * box->columns, out);
        return WSC_OK;
    }
    TRY(store_entry_open(f, e));
    const bool halves = e->info.bfloat16;
    const struct transfer t = {f->path,  name,   e->dset, row.memory, &e->info,
                               row.size, halves, out,     NULL};
    const struct box b = {{(hsize_t)box->row, (hsize_t)box->column},
                          {(hsize_t)box->rows, (hsize_t)box->columns},
                          box->rows * box->columns};
    return move_box(&t, &b, 0);
}

/* Reads piece by piece in the stored width, so that memory does not grow with the dataset. */
enum wsc_err store_entry_sum(struct store_file *f, struct store_entry *e, uint64_t *sum)
{
    static const int64_t piece = (int64_t)1 << 18;
    hid_t type = H5Dget_type(e->dset);
    const size_t size = H5Tget_size(type);
    struct transfer t = {f->path, e->name, e->dset, type, &e->info, size, false, NULL, NULL};
    enum wsc_err rc = WSC_OK;
    *sum = 0;
    t.in = wsc_alloc_raw(WSC_MEM_STORE, (size_t)piece, t.size);
    if (!t.in) rc = wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "buffer for checking");
    for (int64_t first = 0; first < e->info.n && !rc; first += piece) {
        int64_t n = e->info.n - first < piece ? e->info.n - first : piece;
        rc = move_range(&t, first, n);
        if (!rc) *sum += store_sum(t.in, t.size, first, n);
    }
    wsc_free(t.in);
    (void)H5Tclose(type);
    return rc;
}

/* ---- names and shapes ------------------------------------------------------------------------ */

/* -1 leaves the reason on HDF5's stack: the handles are closed by the caller. */
static hid_t create_dataset(struct store_file *f, const struct store_entry *e, hid_t space,
                            hid_t plist)
{
    (void)H5Pset_layout(plist, H5D_CONTIGUOUS);
    /* Allocate space now, so that all ranks have the same addresses; no fill, because every element
     * will be written. */
    (void)H5Pset_alloc_time(plist, H5D_ALLOC_TIME_EARLY);
    (void)H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER);
    (void)H5Pset_obj_track_times(plist, false);
    hid_t type = type_row(e->type).file;
    return H5Dcreate2(f->file, e->name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
}

/* End of the file, which the MPI driver does not know. */
static haddr_t end_of_file(const struct store_file *f)
{
    hsize_t bytes;
    if (H5Fget_filesize(f->file, &bytes) >= 0) return bytes;
    (void)H5Eclear2(H5E_DEFAULT);
    return HADDR_UNDEF;
}

/* First element that lies after @p end, the former end of the file, if the data begin at @p offset.
 */
static int64_t fresh_from(const struct store_entry *e, haddr_t offset, haddr_t end)
{
    if (offset == HADDR_UNDEF || end == HADDR_UNDEF) return INT64_MAX;
    const haddr_t size = type_row(e->type).size;
    return end > offset ? (int64_t)((end - offset + size - 1) / size) : 0;
}

/* Collective: every rank creates the same dataset. Its space is reserved before values arrive. */
static enum wsc_err define_entry(struct store_file *f, struct store_entry *e)
{
    const haddr_t end = end_of_file(f);
    hsize_t dims[2] = {(hsize_t)e->info.shape[0], (hsize_t)e->info.shape[1]};
    hid_t space =
        e->info.n_dims ? H5Screate_simple(e->info.n_dims, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    enum wsc_err rc = WSC_OK;
    e->dset = create_dataset(f, e, space, plist);
    if (e->dset < 0) rc = H5_RAISE(WSC_IO, "%s: dataset %s cannot be created", f->tmp, e->name);
    (void)H5Pclose(plist);
    (void)H5Sclose(space);
    haddr_t offset = rc ? HADDR_UNDEF : H5Dget_offset(e->dset);
    if (offset != HADDR_UNDEF) f->end = (int64_t)offset + e->info.n * 8;
    e->fresh_from = fresh_from(e, offset, end);
    return rc ? rc : store_reserve(f, 0);
}

enum wsc_err store_define(struct store_file *f, const char *name, enum store_type type, int n_dims,
                          const int64_t *shape)
{
    struct store_entry *e = NULL;
    struct type_row row = type_row(type);
    struct store_info info = {.n_dims = n_dims, .n = 1, .kind = row.kind};
    WSC_CHECK(f->tmp && n_dims >= 0 && n_dims <= 2, "%s: %s: rank %d", f->path, name, n_dims);
    for (int d = 0; d < n_dims; d++) {
        info.shape[d] = shape[d];
        WSC_CHECK(shape[d] > 0 && !__builtin_mul_overflow(info.n, shape[d], &info.n) &&
                      info.n <= INT64_MAX / 8,
                  "%s: %s: extent %lld", f->path, name, (long long)shape[d]);
    }
    memcpy(info.type, row.name, strlen(row.name) + 1);
    TRY(store_add(f, name, &e));
    e->type = type;
    e->info = info;
    enum wsc_err rc = store_group_agree(&f->group, define_entry(f, e));
    if (rc) f->failed = rc;
    return rc;
}

enum wsc_err store_link(struct store_file *f, const char *name, const char *alias)
{
    struct store_entry *target = NULL, *e = NULL;
    TRY(find(f, name, &target));
    WSC_CHECK(f->tmp, "%s is open for reading", f->path);
    TRY(store_add(f, alias, &e));
    e->alias_of = target;
    e->type = target->type;
    e->info = target->info;
    if (H5Lcreate_hard(f->file, name, f->file, alias, H5P_DEFAULT, H5P_DEFAULT) < 0) {
        f->failed = H5_RAISE(WSC_IO, "%s: %s cannot be linked to %s", f->tmp, alias, name);
        return f->failed;
    }
    return WSC_OK;
}

enum wsc_err store_shape(const struct store_file *f, const char *name, int *n_dims, int64_t *shape)
{
    struct store_entry *e = NULL;
    TRY(find(f, name, &e));
    *n_dims = e->info.n_dims;
    shape[0] = e->info.shape[0];
    shape[1] = e->info.shape[1];
    return WSC_OK;
}

enum wsc_err store_visit(struct store_file *f, store_visit_fn visit, void *ctx)
{
    for (int i = 0; i < f->n_entries; i++) {
        const struct store_entry *e = f->entry[i];
        const struct store_item item = {e->name, e->info.type, e->info.n_dims, e->info.shape,
                                        e->alias_of ? e->alias_of->name : NULL};
        TRY(visit(ctx, &item));
    }
    return WSC_OK;
}
