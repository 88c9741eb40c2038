// SPDX-License-Identifier: Apache-2.0
/* Gathers the one table of operations from the files that hold its rows. A new operation is one
 * row in one of them (with its functions), or a new file and its array here; it then is in `wsc
 * mesh list`, `wsc mesh NAME`, `wsc validate --mesh` and the tests.
 * docs/decisions/0017-kernel-table.md explains why parts of a model are no rows. */
#include "kernel_rows.h"

#include <stdio.h>
#include <string.h>

const struct kernels_row *kernels_row_at(int i)
{
    static const struct kernels_row *const files[] = {kernels_collective_rows, kernels_product_rows,
                                                      kernels_feature_rows, kernels_attention_rows,
                                                      kernels_vocabulary_rows};
    if (i < 0) return NULL;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++)
        for (const struct kernels_row *row = files[f]; row->name; row++)
            if (i-- == 0) return row;
    return NULL;
}

enum wsc_err kernels_row_find(const char *name, const struct kernels_row **out)
{
    char names[512] = "";
    for (int i = 0; (*out = kernels_row_at(i)); i++) {
        if (!strcmp(name, (*out)->name)) return WSC_OK;
        const size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", (*out)->name);
    }
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: no such kernel", name), "there are %s", names);
}
