// SPDX-License-Identifier: Apache-2.0
/* Payloads of stages with sparse tensors: weights as masks and non-zeros, gradients as non-zeros.
 * The weights of a stage contain their masks, so no role needs another source for them. Gradients
 * contain counts alone, because both ends of a link know the mask in a step; all wafers have equal
 * masks, so their vectors are added element by element along the canonical tree. The part of a
 * shard begins at a whole block of 1024 elements, so its bits are whole words of the tensor's mask.
 * Called by memoryx_send.c and memoryx_take.c, stream_parts.c, swarmx_pieces.c, swarmx_reduce.c,
 * wafer_pieces.c, wafer_stage.c.
 */
#include "stream_packed.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/num_sparse.h>

#include <string.h>

enum { WORD_BITS = 64, WORD_BYTES = 8, HEAD_ALIGNMENT = 64 };

/* Header of a view in a payload. */
struct stream_packed_head {
    int64_t n_kept; /* non-zeros of the part; -1: all elements are sent */
    int64_t dense_gradient;
};

bool stream_is_packed(const struct model *model, int stage)
{
    const struct model_stage *st = &model->stage[stage];
    for (int v = 0; v < st->n_views; v++)
        if (model_sparsity_of(model, st->view[v].tensor)) return true;
    return false;
}

/* A tied table is streamed twice and gathered by rows, so it is always dense. */
bool stream_packs_tensor(const struct model *model, int tensor, int64_t n_kept)
{
    const struct model_tensor *t = &model->tensor[tensor];
    const int64_t bytes = num_format_bytes(model->format);
    if ((model->tied || model->shared_tokens) && t->kind == MODEL_WTE) return false;
    return n_kept * bytes + (t->n_elems + WORD_BYTES - 1) / WORD_BYTES < t->n_elems * bytes;
}

static int64_t aligned(int64_t bytes, int64_t to)
{
    return (bytes + to - 1) / to * to;
}

static int64_t words_of(int64_t n_elems)
{
    return (n_elems + WORD_BITS - 1) / WORD_BITS;
}

static const struct model_tensor *tensor_of(const struct model *model, int stage, int v)
{
    return &model->tensor[model->stage[stage].view[v].tensor];
}

static int64_t part_elems(const struct model *model, int stage, int v, struct stream_part_of of)
{
    int64_t first, n;
    stream_part(tensor_of(model, stage, v)->n_elems, of.m, of.n_shards, &first, &n);
    return n;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Set where the data of a view of @p n elements are, @p at bytes after the start. Returns the end
 * of the data. */
static int64_t place_view(const struct model *model, const char *payload, int64_t at, int64_t n,
                          struct model_weights *w)
{
    const int64_t bytes = num_format_bytes(model->format);
    const int64_t mask_bytes = w->bits ? words_of(n) * WORD_BYTES : 0;
    if (payload) {
        if (w->bits) w->bits = (const uint64_t *)(const void *)(payload + at);
        w->values = payload + at + mask_bytes;
    }
    return aligned(at + mask_bytes + (w->bits ? w->n_kept : n) * bytes, WORD_BYTES);
}

int64_t stream_packed_layout(const struct model *model, int stage, struct stream_part_of of,
                             struct model_weights *w, void *payload)
{
    const int n_views = model->stage[stage].n_views;
    struct stream_packed_head *head = payload;
    int64_t at = n_views * (int64_t)sizeof *head;
    for (int v = 0; v < n_views; v++) {
        if (head)
            head[v] = (struct stream_packed_head){.n_kept = w[v].bits ? w[v].n_kept : -1,
                                                  .dense_gradient = w[v].dense_gradient};
        at = place_view(model, payload, at, part_elems(model, stage, v, of), &w[v]);
    }
    return at;
}

void stream_packed_open(const struct model *model, int stage, struct stream_part_of of,
                        const void *payload, struct model_weights *w)
{
    static const uint64_t some;
    const int n_views = model->stage[stage].n_views;
    const struct stream_packed_head *head = payload;
    int64_t at = n_views * (int64_t)sizeof *head;
    for (int v = 0; v < n_views; v++) {
        const bool packed = head[v].n_kept >= 0;
        w[v] = (struct model_weights){.bits = packed ? &some : NULL,
                                      .n_kept = packed ? head[v].n_kept : 0,
                                      .dense_gradient = head[v].dense_gradient != 0};
        at = place_view(model, payload, at, part_elems(model, stage, v, of), &w[v]);
    }
}

/* Add the counts of a part to those of the whole stage: all parts of a tensor are either packed or
 * dense. */
static void add_counts(struct model_weights *whole, const struct model_weights *part, int n_views)
{
    for (int v = 0; v < n_views; v++) {
        WSC_CHECK(!whole[v].bits == !part[v].bits, "shards disagree how view %d travels", v);
        whole[v].n_kept += part[v].n_kept;
    }
}

/* Copy the view of @p n_elems elements that is @p part, part of.m; *@p kept: number of non-zeros of
 * the parts before it. */
static void copy_view(const struct model *model, int64_t n_elems, struct stream_part_of of,
                      const struct model_weights *part, const struct model_weights *whole,
                      int64_t *kept)
{
    const int64_t bytes = num_format_bytes(model->format);
    char *values = (char *)(uintptr_t)whole->values, *bits = (char *)(uintptr_t)whole->bits;
    int64_t first, n;
    stream_part(n_elems, of.m, of.n_shards, &first, &n);
    if (!part->bits) {
        if (n) memcpy(values + first * bytes, part->values, (size_t)(n * bytes));
        return;
    }
    if (n)
        memcpy(bits + first / WORD_BITS * WORD_BYTES, part->bits, (size_t)words_of(n) * WORD_BYTES);
    if (part->n_kept) memcpy(values + *kept * bytes, part->values, (size_t)(part->n_kept * bytes));
    *kept += part->n_kept;
}

enum wsc_err stream_packed_join(struct comm *comm, const struct model *model, int stage,
                                struct comm_buf *const *part, int n_shards, struct comm_buf **whole)
{
    const int n_views = model->stage[stage].n_views;
    const struct stream_part_of all = {0, 1};
    struct model_weights *w;
    enum wsc_err rc;
    TRY_NEW(w, WSC_MEM_STREAM, 2 * (int64_t)n_views);
    struct model_weights *of_part = w + n_views;
    stream_packed_open(model, stage, (struct stream_part_of){0, n_shards}, comm_buf_data(part[0]),
                       w);
    for (int m = 1; m < n_shards; m++) {
        const struct stream_part_of of = {m, n_shards};
        stream_packed_open(model, stage, of, comm_buf_data(part[m]), of_part);
        add_counts(w, of_part, n_views);
    }
    rc = comm_buf_create(comm, whole, stream_packed_layout(model, stage, all, w, NULL));
    if (!rc) (void)stream_packed_layout(model, stage, all, w, comm_buf_data(*whole));
    for (int v = 0; v < n_views && !rc; v++) {
        int64_t kept = 0;
        for (int m = 0; m < n_shards; m++) {
            const struct stream_part_of of = {m, n_shards};
            stream_packed_open(model, stage, of, comm_buf_data(part[m]), of_part);
            copy_view(model, tensor_of(model, stage, v)->n_elems, of, &of_part[v], &w[v], &kept);
        }
    }
    wsc_free(w);
    return rc;
}

/* ---- gradients ------------------------------------------------------------------------------- */

int64_t stream_packed_grad_head(const struct model *model, int stage, int n_shards)
{
    const int64_t n = (int64_t)model->stage[stage].n_views * n_shards;
    return aligned(n * (int64_t)sizeof(int64_t), HEAD_ALIGNMENT);
}

int64_t stream_packed_grad_count(const void *payload, int n_shards, int v, int m)
{
    return ((const int64_t *)payload)[v * n_shards + m];
}

void stream_packed_grad_start(const struct model *model, int stage, int n_shards,
                              const struct model_weights *w, void *payload)
{
    int64_t *count = payload;
    memset(payload, 0, (size_t)stream_packed_grad_head(model, stage, n_shards));
    for (int v = 0; v < model->stage[stage].n_views; v++)
        for (int m = 0; m < n_shards; m++) {
            int64_t first, n;
            stream_part(model_gradient_elems(tensor_of(model, stage, v), NULL), m, n_shards, &first,
                        &n);
            count[v * n_shards + m] =
                n && w[v].bits && !w[v].dense_gradient ? num_packed_count(w[v].bits, first, n) : n;
        }
}

int64_t stream_grad_elems(const struct model *model, int stage, int n_shards, const void *payload)
{
    const struct model_stage *st = &model->stage[stage];
    int64_t n = 0;
    if (!payload) return st->n_grads;
    for (int v = 0; v < st->n_views; v++)
        for (int m = 0; m < n_shards; m++)
            n += stream_packed_grad_count(payload, n_shards, v, m);
    return n;
}

/* Copy one vector: the elements of the part of every view, one view after the other. */
static float *cut_vector(const int64_t *count, int n_views, struct stream_part_of of,
                         const float *whole, float *part)
{
    for (int v = 0; v < n_views; v++)
        for (int m = 0; m < of.n_shards; m++) {
            const int64_t n = count[v * of.n_shards + m];
            if (m == of.m && n) memcpy(part, whole, (size_t)n * sizeof *part);
            if (m == of.m) part += n;
            whole += n;
        }
    return part;
}

enum wsc_err stream_packed_cut(struct comm *comm, const struct model *model, int stage,
                               struct stream_part_of of, struct comm_buf *whole, int n_sums,
                               struct comm_buf **part)
{
    const int n_views = model->stage[stage].n_views;
    const int64_t *count = comm_buf_data(whole);
    const int64_t head = stream_packed_grad_head(model, stage, of.n_shards);
    const int64_t part_head = stream_packed_grad_head(model, stage, 1);
    const int64_t n_whole = stream_grad_elems(model, stage, of.n_shards, count);
    int64_t n_part = 0;
    for (int v = 0; v < n_views; v++)
        n_part += count[v * of.n_shards + of.m];
    TRY(comm_buf_create(comm, part, part_head + n_sums * n_part * (int64_t)sizeof(float)));
    int64_t *of_part = comm_buf_data(*part);
    memset(of_part, 0, (size_t)part_head);
    for (int v = 0; v < n_views; v++)
        of_part[v] = count[v * of.n_shards + of.m];
    const float *from = (const float *)(const void *)((const char *)comm_buf_data(whole) + head);
    float *to = (float *)(void *)((char *)comm_buf_data(*part) + part_head);
    for (int i = 0; i < n_sums; i++)
        to = cut_vector(count, n_views, of, from + i * n_whole, to);
    return WSC_OK;
}
