/** Values of datasets and their sums; opening a dataset inspects it first (h5.h).  Public functions
 * of checkpoint_values.c are in <wsc/store.h>. */
#ifndef WSC_STORE_CHECKPOINT_VALUES_H
#define WSC_STORE_CHECKPOINT_VALUES_H
#include "checkpoint_entries.h"

#include <wsc/err.h>

#include <stddef.h>
#include <stdint.h>

/** Sum over elements [first, first + n) of @p size bytes each; sums of ranges can be added. */
uint64_t store_sum(const void *data, size_t size, int64_t first, int64_t n);
/** Read all of @p e in its stored width and add up. */
enum wsc_err store_entry_sum(struct store_file *f, struct store_entry *e,
                             uint64_t *sum) WSC_CHECKED;
enum wsc_err store_entry_open(struct store_file *f, struct store_entry *e) WSC_CHECKED;
#endif
