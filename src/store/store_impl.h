/** What the files of `store` share: HDF5 handles and errors, the group, durable renaming.  From the
 *  lowest file to the highest: each uses those above it. */
#ifndef WSC_STORE_IMPL_H
#define WSC_STORE_IMPL_H
#include <wsc/store.h>

#include <hdf5.h>

#include <stddef.h>

enum { STORE_MAX_DIMS = 3 };

/** Layout version of our checkpoints, attribute `__wsc_version__`. */
#define STORE_VERSION    1
#define STORE_ATTR_OURS  "__wsc_version__"
#define STORE_ATTR_MARK  "__SUCCESS__"
#define STORE_ATTR_SUM   "__sum__"
#define STORE_ATTR_ALL   "__digest__"
#define STORE_TMP_SUFFIX ".tmp"

/** What cstorch notes at the root: the layout's version, its own release, and after a key what
 *  the value of that key is. */
#define STORE_ATTR_LAYOUT     "__version__"
#define STORE_ATTR_CSTORCH    "__cstorch_version__"
#define STORE_META_SUFFIX     ".__metadata__"
#define STORE_LAYOUT          0.5 /* of releases 2.4 to 2.10 */
#define STORE_CSTORCH_RELEASE "2.10.0"
/** Registered number of LZ4, by which cstorch stores what has a rank. */
enum { STORE_LZ4_FILTER = 32004 };

/* h5_error.c */

/** Raise @p code with the given sentence and HDF5's innermost reason.  At once after the call that
 *  failed: the next call into HDF5, also a close, forgets the reason. */
enum wsc_err store_h5_raise(enum wsc_err code, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5), cold));
#define H5_RAISE(code, ...) store_h5_raise((code), __FILE__, __LINE__, __VA_ARGS__)

/** Silence HDF5's printer; to be called before anything else is. */
void store_h5_silence(void);

/* h5_number.c */

/** Integer attribute of @p object; *present is whether there is one. */
enum wsc_err store_h5_get_i64(hid_t object, const char *path, const char *name, int64_t *value,
                              bool *present) WSC_CHECKED;
/** Scalar attribute of @p object from @p value in memory type @p type. */
enum wsc_err store_h5_set(hid_t object, const char *path, const char *name, hid_t type,
                          const void *value) WSC_CHECKED;

/** Attribute of @p object that is a number of any type; *present is whether there is one. */
enum wsc_err store_h5_get_f64(hid_t object, const char *path, const char *name, double *value,
                              bool *present) WSC_CHECKED;
/** Attribute of rank @p n_dims (0: scalar) from @p value in memory type @p type. */
struct store_attr {
    const char *name;
    hid_t type;
    int n_dims;
    hsize_t shape[2];
    const void *value;
};
enum wsc_err store_h5_put(hid_t object, const char *path, const struct store_attr *a) WSC_CHECKED;
/** A bool, of the type by which h5py stores it. */
enum wsc_err store_h5_put_true(hid_t object, const char *path, const char *name) WSC_CHECKED;

/** Far above any configuration text; a hostile attribute cannot ask for more. */
enum { STORE_MAX_TEXT_BYTES = 64 << 20 };

/* h5_variable_text.c */

/** The text of variable length that @p attr of file @p path is, owned by the caller. */
enum wsc_err store_h5_variable_text(const char *path, hid_t attr, char **value) WSC_CHECKED;

/* h5_text.c */

/** Text attribute of @p object, of one element; owned by the caller. */
enum wsc_err store_h5_get_text(hid_t object, const char *path, const char *name,
                               char **value) WSC_CHECKED;
/** Text attribute of any length, as h5py writes and reads a str; @p in_list: the only one of a
 *  list. */
enum wsc_err store_h5_put_text(hid_t object, const char *path, const char *name, const char *value,
                               bool in_list) WSC_CHECKED;

/** What a dataset is, after it passed the checks of store_h5_inspect(). */
struct store_info {
    int n_dims;
    int64_t shape[STORE_MAX_DIMS];
    int64_t n;          /**< elements */
    H5T_class_t kind;   /**< H5T_INTEGER or H5T_FLOAT */
    char type[16];      /**< "float32", "uint16", "bfloat16" */
    bool bfloat16;      /**< stored as 16-bit integers and marked as such; kind is H5T_FLOAT */
    size_t chunk_bytes; /**< 0 when not chunked */
    int64_t chunk_rows; /**< extent of a chunk along the first dimension */
};

/* h5_lz4.c */

/** Let HDF5 read filter STORE_LZ4_FILTER. */
void store_lz4_register(void);
/** Before every read of a dataset: what its chunks must expand to. */
void store_lz4_expect(const struct store_info *info);

/* h5.c */

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

/* writer_group.c */

/** Wait for all, and fail on all when one failed. */
enum wsc_err store_group_agree(const struct store_group *g, enum wsc_err mine) WSC_CHECKED;
/** Add up @p x over the ranks, element by element, modulo 2^64. */
enum wsc_err store_group_sum(const struct store_group *g, uint64_t *x, int n) WSC_CHECKED;
/** Let @p fapl use the group's communicator. */
enum wsc_err store_group_driver(const struct store_group *g, hid_t fapl) WSC_CHECKED;

/* checkpoint_entries.c */

/** A dataset of an open checkpoint, or a value without one. */
struct store_entry {
    char *name;
    char *link;       /**< its name in the file where that is another; else NULL */
    haddr_t address;  /**< of the object, when read */
    bool is_constant; /**< no dataset: every element is `value` */
    bool is_number;   /**< `value` is what cstorch reads under this name */
    double value;
    enum store_type type; /**< when being written */
    struct store_info info;
    hid_t dset;                   /**< opened when first used, or -1 */
    struct store_entry *alias_of; /**< NULL unless a second name, without data of its own */
    int64_t written;              /**< elements this rank wrote */
    int64_t fresh_from;           /**< written: from this element on its place was never part of
                                       the file before, so it is 0 */
    uint64_t sum;                 /**< of the elements this rank wrote, in the end of all */
};

struct store_file {
    hid_t file;
    char *path, *tmp; /**< tmp NULL when reading */
    struct store_group group;
    enum wsc_err failed;        /**< first failure of a write on this rank */
    struct store_entry **entry; /**< sorted by name */
    int n_entries, room;
    int64_t end; /**< where the data of the last dataset end, when being written */
};

struct store_entry *store_find(const struct store_file *f, const char *name);
/* Read dataset @p name, which must hold one number of a float type.  Not collective. */
enum wsc_err store_read_f64(struct store_file *f, const char *name, double *value) WSC_CHECKED;
/** New empty entry in its place; fails when there is one of this name. */
enum wsc_err store_add(struct store_file *f, const char *name,
                       struct store_entry **out) WSC_CHECKED;

/** Reserve disk space (first rank) for what the file has, @p extra and a margin. */
enum wsc_err store_reserve(struct store_file *f, int64_t extra) WSC_CHECKED;

/** The name in the file. */
static inline const char *store_link_name(const struct store_entry *e)
{
    return e->link ? e->link : e->name;
}

/* checkpoint_listing.c */

/** Add all that an opened file holds. */
enum wsc_err store_list(struct store_file *f) WSC_CHECKED;

/* checkpoint_values.c */

/** Sum over elements [first, first + n) of @p size bytes: does not depend on how a range is cut. */
uint64_t store_sum(const void *data, size_t size, int64_t first, int64_t n);
/** Read all of @p e in its stored width and add up. */
enum wsc_err store_entry_sum(struct store_file *f, struct store_entry *e,
                             uint64_t *sum) WSC_CHECKED;
enum wsc_err store_entry_open(struct store_file *f, struct store_entry *e) WSC_CHECKED;
#endif
