/** An open checkpoint and the table of its datasets, sorted by name; every file of checkpoints
 * works on it. */
#ifndef WSC_STORE_CHECKPOINT_ENTRIES_H
#define WSC_STORE_CHECKPOINT_ENTRIES_H
#include "h5_info.h"

#include <wsc/err.h>
#include <wsc/store.h>

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

/** A dataset of an open checkpoint, or a value without one. */
struct store_entry {
    char *name;
    char *link;       /**< its name in the file if that is another one; else NULL */
    haddr_t address;  /**< address of the object, when read */
    bool is_constant; /**< no dataset: every element is `value` */
    bool is_number;   /**< `value` is what cstorch reads under this name */
    double value;
    enum store_type type; /**< when being written */
    struct store_info info;
    hid_t dset; /**< opened at the first use, or -1 */
    /** the entry whose second name this is; NULL: it has its own data */
    struct store_entry *alias_of;
    int64_t written; /**< elements this rank wrote */
    /** written: elements from this one on lie where the file did not have data before, so they are
     * 0 */
    int64_t fresh_from;
    /** sum of the elements that this rank wrote; finally of all elements */
    uint64_t sum;
};

struct store_file {
    hid_t file;
    char *path, *tmp; /**< tmp: NULL when reading */
    struct store_group group;
    enum wsc_err failed;        /**< first failure of a write on this rank */
    struct store_entry **entry; /**< sorted by name */
    int n_entries, room;
    int64_t version; /**< attribute `__wsc_version__` when reading; 0: none */
    int64_t end;     /**< end of the data of the last dataset, when being written */
};

struct store_entry *store_find(const struct store_file *f, const char *name);
/* Read dataset @p name, which must have one number of a float type. Not collective. */
enum wsc_err store_read_f64(struct store_file *f, const char *name, double *value) WSC_CHECKED;
/** Insert an empty entry at its sorted position; error if there is one with this name. */
enum wsc_err store_add(struct store_file *f, const char *name,
                       struct store_entry **out) WSC_CHECKED;

/** Reserve disk space (first rank) for the contents of the file, @p extra bytes and a margin. */
enum wsc_err store_reserve(struct store_file *f, int64_t extra) WSC_CHECKED;

/** Name of the entry in the file. */
static inline const char *store_link_name(const struct store_entry *e)
{
    return e->link ? e->link : e->name;
}
#endif
