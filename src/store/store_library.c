// SPDX-License-Identifier: Apache-2.0
/* Reports the abilities of the installed HDF5 library: its version, writing by several ranks, the
 * filters of compressed datasets. `wsc doctor` prints them. */
#include "h5.h"

#include <wsc/store.h>

#include <stdio.h>

void store_library(struct store_library *library)
{
    unsigned major = 0, minor = 0, release = 0;
    (void)H5get_libversion(&major, &minor, &release);
#ifdef H5_HAVE_PARALLEL
    const bool parallel = true;
#else
    const bool parallel = false;
#endif
    *library = (struct store_library){.parallel = parallel,
                                      .deflate = H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0,
                                      .checksums = H5Zfilter_avail(H5Z_FILTER_FLETCHER32) > 0};
    (void)snprintf(library->version, sizeof library->version, "%u.%u.%u", major, minor, release);
}
