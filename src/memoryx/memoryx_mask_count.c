// SPDX-License-Identifier: Apache-2.0
/* Numbers of elements in masks: of a part, over all shards, and compared with the schedule of the
 * params, by which virtual time is computed. memoryx_mask.c compares after masks were loaded or
 * made; memoryx_regrow.c reports the numbers of a step. */
#include "memoryx_mask_count.h"

#include "memoryx_exchange.h"

#include <wsc/log.h>
#include <wsc/mem.h>

#include <stdlib.h>
#include <string.h>

int64_t memoryx_mask_count(const struct memoryx_part *s)
{
    int64_t n = 0;
    for (int64_t w = 0; w < memoryx_mask_words(s->n); w++)
        n += __builtin_popcountll(s->mask[w]);
    return n;
}

static enum wsc_err add_counts(const struct memoryx *mx, void *ctx, struct comm_buf *const *part,
                               struct comm_buf **total)
{
    const int n = *(const int *)ctx;
    TRY(comm_buf_create(mx->net->comm, total, n * (int64_t)sizeof(int64_t)));
    int64_t *out = comm_buf_data(*total);
    memset(out, 0, (size_t)n * sizeof *out);
    for (int m = 0; m < mx->n_shards; m++)
        for (int k = 0; k < n; k++)
            out[k] += ((const int64_t *)comm_buf_data(part[m]))[k];
    return WSC_OK;
}

enum wsc_err memoryx_add_counts(struct memoryx *mx, int64_t step, int64_t *count, int n)
{
    const struct memoryx_round round = {
        .step = step, .index = MEMORYX_ROUND_SELECT, .combine = add_counts, .ctx = &n};
    struct comm_buf *own = NULL, *total = NULL;
    struct vtime ignored = {0};
    TRY(comm_buf_create(mx->net->comm, &own, n * (int64_t)sizeof *count));
    memcpy(comm_buf_data(own), count, (size_t)n * sizeof *count);
    TRY(memoryx_exchange(mx, &round, own, &total, &ignored));
    memcpy(count, comm_buf_data(total), (size_t)n * sizeof *count);
    comm_buf_unref(&total);
    return WSC_OK;
}

/* The regular pattern, and rows of another vocabulary, have a few elements more or less. */
static bool differs(int64_t kept, int64_t expected, int64_t n_elems)
{
    enum { PART = 100 };
    return llabs(kept - expected) > n_elems / PART;
}

static void warn_of_first(const struct memoryx *mx, const int64_t *kept)
{
    const struct model *model = mx->net->model;
    for (int i = 0; i < model->n_tensors; i++) {
        const int64_t expected = model_kept(model, i, mx->mask_step);
        if (!mx->part[i].mask || !differs(kept[i], expected, model->tensor[i].n_elems)) continue;
        WSC_WARNING("sparsity: the mask of %s keeps %lld of %lld weights, the schedule %lld after "
                    "%lld updates: virtual time is that of the schedule",
                    model->tensor[i].name, (long long)kept[i], (long long)model->tensor[i].n_elems,
                    (long long)expected, (long long)mx->mask_step);
        return;
    }
}

enum wsc_err memoryx_compare_masks(struct memoryx *mx)
{
    const int n = mx->net->model->n_tensors;
    int64_t *kept;
    if (!model_is_sparse(mx->net->model)) return WSC_OK;
    TRY_NEW(kept, WSC_MEM_MEMORYX, n);
    for (int i = 0; i < n; i++)
        kept[i] = mx->part[i].mask ? memoryx_mask_count(&mx->part[i]) : 0;
    const enum wsc_err rc = memoryx_add_counts(mx, 0, kept, n);
    if (!rc && mx->shard == 0) warn_of_first(mx, kept);
    wsc_free(kept);
    return rc;
}
