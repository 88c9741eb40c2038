// SPDX-License-Identifier: Apache-2.0
/* Allocates the rows of a batch: those that every sample has, and those of packed texts and of
 * encoders, when a source with such samples first fills the batch. batch_source.c calls. */
#include "batch_rows.h"

#include <wsc/check.h>
#include <wsc/mem.h>

enum wsc_err data_batch_create(struct data_batch **out, int64_t n_max, int64_t T)
{
    struct data_batch *b = NULL;
    WSC_CHECK(n_max >= 0 && T > 0, "batch of %lld x %lld", (long long)n_max, (long long)T);
    *out = NULL;
    TRY_NEW(b, WSC_MEM_DATA, 1);
    b->n_max = n_max;
    b->T = T;
    size_t row = (size_t)T * sizeof(int32_t);
    b->input_ids = wsc_alloc(WSC_MEM_DATA, (size_t)n_max, row);
    b->labels = wsc_alloc(WSC_MEM_DATA, (size_t)n_max, row);
    b->mask = wsc_alloc(WSC_MEM_DATA, (size_t)n_max, row);
    if (!b->input_ids || !b->labels || !b->mask) {
        data_batch_destroy(&b);
        return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "allocate batch");
    }
    *out = b;
    return WSC_OK;
}

/* Free the rows of VSL files; a batch that was filled from other files must not keep them. */
static void drop_spans(struct data_batch *b)
{
    wsc_free(b->attention_span);
    wsc_free(b->position_ids);
    b->attention_span = b->position_ids = NULL;
}

/* Free the rows of samples of encoders. */
static void drop_encoder_rows(struct data_batch *b)
{
    wsc_free(b->attends);
    wsc_free(b->token_types);
    wsc_free(b->targets);
    b->attends = b->token_types = NULL;
    b->targets = NULL;
}

/* Allocate the rows of encoders, at the first use. */
static enum wsc_err add_encoder_rows(struct data_batch *b)
{
    size_t row = (size_t)b->T * sizeof(int32_t);
    if (b->targets) return WSC_OK;
    TRY_MEM(b->attends, wsc_alloc(WSC_MEM_DATA, (size_t)b->n_max, row));
    TRY_MEM(b->token_types, wsc_alloc(WSC_MEM_DATA, (size_t)b->n_max, row));
    TRY_NEW(b->targets, WSC_MEM_DATA, b->n_max + 1);
    return WSC_OK;
}

/* Allocate the rows of VSL, at the first use; a batch keeps them while its source is of variable
 * length. */
static enum wsc_err add_spans(struct data_batch *b)
{
    size_t row = (size_t)b->T * sizeof(int32_t);
    if (b->position_ids) return WSC_OK;
    TRY_MEM(b->attention_span, wsc_alloc(WSC_MEM_DATA, (size_t)b->n_max, row));
    b->position_ids = wsc_alloc(WSC_MEM_DATA, (size_t)b->n_max, row);
    return b->position_ids ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "positions");
}

int64_t data_batch_counted(const struct data_batch *batch, int64_t i)
{
    int64_t n = 0;
    for (int64_t t = 0; t < batch->T; t++)
        n += batch->mask[i * batch->T + t] != 0;
    return n;
}

void data_batch_destroy(struct data_batch **batch)
{
    if (!*batch) return;
    wsc_free((*batch)->input_ids);
    wsc_free((*batch)->labels);
    wsc_free((*batch)->mask);
    drop_spans(*batch);
    drop_encoder_rows(*batch);
    wsc_free(*batch);
    *batch = NULL;
}

enum wsc_err data_batch_rows(struct data_batch *b, bool packed, bool encoder)
{
    if (!packed) drop_spans(b);
    if (!encoder) drop_encoder_rows(b);
    if (packed) TRY(add_spans(b));
    return encoder ? add_encoder_rows(b) : WSC_OK;
}
