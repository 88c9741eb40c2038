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
#endif
