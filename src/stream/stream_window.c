// SPDX-License-Identifier: Apache-2.0
/* The prefetch window: how far MemoryX may stream ahead of the wafers' computation. Transfers
 * oldest to q of a batch are in the window if their weights fit into it. To send transfer q,
 * MemoryX waits for the credit of the newest transfer that has to leave the window before.
 * memoryx_step.c waits for these credits; wafers send them when a stage begins. */
#include <wsc/stream.h>

#include <wsc/mem.h>

static int64_t bytes_of(const struct hw *hw, const struct model *model, int stage)
{
    struct stream_amounts amounts;
    stream_amounts_of(hw, model, stage, MODEL_DENSEST, &amounts);
    return amounts.weight_bytes;
}

static enum wsc_err fill(struct stream_window *w, const struct hw *hw, const struct model *model,
                         const struct stream_pass *pass, int64_t window_bytes)
{
    struct stream_walk newest = stream_walk_of_step(model, pass, 0), oldest = newest;
    int64_t inside = 0; /* bytes of transfers oldest to newest */
    TRY_NEW(w->need, WSC_MEM_STREAM, newest.n);
    w->n_transfers = newest.n;
    (void)stream_walk_next(&oldest);
    while (stream_walk_next(&newest)) {
        inside += bytes_of(hw, model, newest.at.stage);
        while (inside > window_bytes && oldest.at.index < newest.at.index) {
            inside -= bytes_of(hw, model, oldest.at.stage);
            (void)stream_walk_next(&oldest);
        }
        w->need[newest.at.index] = oldest.at.index - 1;
    }
    return WSC_OK;
}

enum wsc_err stream_window_create(struct stream_window **out, const struct hw *hw,
                                  const struct model *model, const struct stream_pass *pass,
                                  int64_t window_bytes)
{
    TRY_NEW(*out, WSC_MEM_STREAM, 1);
    const enum wsc_err rc = fill(*out, hw, model, pass, window_bytes);
    if (rc) stream_window_destroy(out);
    return rc;
}

void stream_window_destroy(struct stream_window **w)
{
    if (!*w) return;
    wsc_free((*w)->need);
    wsc_free(*w);
    *w = NULL;
}
