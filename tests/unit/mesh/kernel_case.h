/** Kernels on small fabrics: what the tests of threads, processes, snapshots and batches share. */
#ifndef WSC_TEST_KERNEL_CASE_H
#define WSC_TEST_KERNEL_CASE_H
#include <wsc/kernels.h>

/* A case of @p row on 5 x 6 PEs (6 x 6 where it needs a square), with sizes that divide unevenly.
 */
struct programs_case kernel_case(const struct kernels_row *row, const struct hw *hw,
                                 enum mesh_arch arch);
/* Run a kernel watched, which visits every place in every cycle, and on 1 to 4 threads without:
 * equal counts, and values within @p most of the host's. */
void kernel_same_as_watched(const char *kernel, struct programs_case c, double most);
#endif
