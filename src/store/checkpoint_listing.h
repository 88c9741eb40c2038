/** Listing of an opened file: datasets, and values without one, of any version of cstorch's layout.
 */
#ifndef WSC_STORE_CHECKPOINT_LISTING_H
#define WSC_STORE_CHECKPOINT_LISTING_H
#include "checkpoint_entries.h"

#include <wsc/err.h>

/** Add all datasets and values of an opened file. */
enum wsc_err store_list(struct store_file *f) WSC_CHECKED;
#endif
