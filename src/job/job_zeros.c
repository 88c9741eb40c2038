// SPDX-License-Identifier: Apache-2.0
/* The sparse tensors whose zeros this host multiplies, by reason (host_sparse.c): with values, a
 * run with them takes the host's time of a dense one.  Virtual time is that of the emulated
 * machine, which leaves all zeros out. */
#include "job_zeros.h"

#include <wsc/host.h>
#include <wsc/log.h>

#include <string.h>

static const char *reason_of(const struct model *model, int tensor, int64_t updates)
{
    if (!model_sparsity_of(model, tensor)) return NULL;
    return host_dense_reason(model, tensor, model_kept(model, tensor, updates));
}

void job_log_zeros(const struct model *model, int64_t updates)
{
    for (int i = 0; i < model->n_tensors; i++) {
        const char *reason = reason_of(model, i, updates);
        int n = 0, first = -1;
        for (int k = 0; reason && k < model->n_tensors; k++) {
            const char *other = reason_of(model, k, updates);
            if (!other || strcmp(reason, other) != 0) continue;
            if (first < 0) first = k;
            n++;
        }
        if (reason && first == i)
            WSC_INFO("This host multiplies the zeros of %d sparse tensor%s, from %s on: %s", n,
                     wsc_plural(n), model->tensor[i].name, reason);
    }
}
