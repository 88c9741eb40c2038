// SPDX-License-Identifier: Apache-2.0
/* Creates and destroys a wafer, and runs its program: a pass over batches (wafer_step.c) or texts
 * (wafer_generate.c). */
#include <wsc/wafer.h>

#include "wafer_generate.h"
#include "wafer_load.h"
#include "wafer_report.h"
#include "wafer_step.h"

#include <wsc/mem.h>

#include <stdio.h>

enum wsc_err wafer_create(struct wafer **out, struct stream_net *net, struct wafer_prices *prices,
                          int position)
{
    TRY_NEW(*out, WSC_MEM_WAFER, 1);
    **out = (struct wafer){.net = net, .prices = prices, .position = position};
    return WSC_OK;
}

void wafer_destroy(struct wafer **wafer)
{
    if (!*wafer) return;
    kernels_destroy(&(*wafer)->values);
    data_batch_destroy(&(*wafer)->batch);
    kernels_destroy(&(*wafer)->parked.kernels);
    data_batch_destroy(&(*wafer)->parked.batch);
    wsc_free((*wafer)->rows);
    wsc_free((*wafer)->squares);
    wsc_free((*wafer)->classes);
    wsc_free(*wafer);
    *wafer = NULL;
}

static enum wsc_err run(void *arg)
{
    struct wafer *w = arg;
    const struct stream_pass *p = w->pass;
    if (p->mode == STREAM_GENERATE) return wafer_generate(w);
    const int64_t each = model_sequences(w->net->model), n = stream_max_samples(&p->batch) * each;
    const int64_t leaf = p->batch.micro_shard_samples * each;
    if (p->values) TRY(wafer_reserve(w, n, leaf, p->mode == STREAM_TRAIN));
    TRY(wafer_prepare_squares(w));
    TRY(wafer_prepare_classes(w));
    for (int64_t step = p->first_step; step < stream_end_step(p); step++)
        TRY(wafer_step(w, step));
    return WSC_OK;
}

enum wsc_err wafer_spawn(struct wafer *wafer, int index, const struct stream_pass *pass,
                         const struct wafer_work *work)
{
    /* Products generate code on their first call, which needs a deep stack; runs without values
     * need none. */
    enum { STACK_WITH_VALUES = 8 << 20 };
    const int role = stream_role_of_wafer(wafer->net->topology, index);
    char name[48];
    wafer->index = index;
    wafer->ports = &wafer->net->ports[role];
    wafer->pass = pass;
    wafer->work = *work;
    (void)snprintf(name, sizeof name, "wafer %d", wafer->position);
    return comm_spawn(wafer->net->comm, role, run, wafer, pass->values ? STACK_WITH_VALUES : 0,
                      name);
}
