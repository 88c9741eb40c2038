// SPDX-License-Identifier: Apache-2.0
/* Sends weights: narrows this shard's part of a stage's master weights to the format of the links
 * and sends it, at most as far ahead of the wafers as their credits allow (stream_window.c). The
 * message has the times that a wafer's clock needs. memoryx_step.c calls. */
#include "memoryx_send.h"

#include "memoryx_loss_scale.h"
#include "memoryx_mask.h"
#include "memoryx_mask_count.h"
#include "memoryx_update.h"

#include <wsc/mem.h>
#include <wsc/num_sparse.h>

#include <string.h>

/* Master weights in the format of the links, by blocks on all threads. */
struct pack_job {
    enum num_format format;
    char *to;
    const float *w;
    int64_t n;
};
enum { PACK_BLOCK = 1 << 16 };

static void pack_block(void *ctx, int64_t i, int thread)
{
    const struct pack_job *job = ctx;
    int64_t first = i * PACK_BLOCK, n = job->n - first;
    char *to = job->to + first * num_format_bytes(job->format);
    (void)thread;
    if (n > PACK_BLOCK) n = PACK_BLOCK;
    if (job->format == NUM_FP32)
        memcpy(to, job->w + first, (size_t)n * sizeof(float));
    else
        num_narrow(job->format, (uint16_t *)(void *)to, job->w + first, n);
}

static void pack_all(const struct memoryx *mx, const struct memoryx_part *s, char *to)
{
    struct pack_job job = {mx->net->model->format, to, s->w, s->n};
    num_parallel((s->n + PACK_BLOCK - 1) / PACK_BLOCK, pack_block, &job);
}

/* ---- stages with sparse tensors -------------------------------------------------------------- */

struct gather_job {
    enum num_format format;
    char *to;
    const struct memoryx_part *part;
};

/* Gather the kept elements of one block, and narrow some at a time. */
static void gather_block(void *ctx, int64_t i, int thread)
{
    enum { SOME = 4096 };
    const struct gather_job *job = ctx;
    const struct memoryx_part *s = job->part;
    const int64_t first = i * PACK_BLOCK, bytes = num_format_bytes(job->format);
    const int64_t end = first + PACK_BLOCK < s->n ? first + PACK_BLOCK : s->n;
    char *to = job->to + num_packed_count(s->mask, 0, first) * bytes;
    (void)thread;
    for (int64_t at = first; at < end; at += SOME) {
        float kept[SOME];
        const int64_t n = end - at < SOME ? end - at : SOME;
        const int64_t n_kept = num_packed_count(s->mask, at, n);
        num_packed_gather(s->mask, at, n, s->w + at, kept);
        if (job->format == NUM_FP32)
            memcpy(to, kept, (size_t)n_kept * sizeof *kept);
        else
            num_narrow(job->format, (uint16_t *)(void *)to, kept, n_kept);
        to += n_kept * bytes;
    }
}

/* Write the mask and the kept elements. */
static void pack_kept(const struct memoryx *mx, const struct memoryx_part *s,
                      const struct model_weights *to)
{
    struct gather_job job = {mx->net->model->format, (char *)(uintptr_t)to->values, s};
    memcpy((void *)(uintptr_t)to->bits, s->mask,
           (size_t)memoryx_mask_words(s->n) * sizeof *s->mask);
    num_parallel((s->n + PACK_BLOCK - 1) / PACK_BLOCK, gather_block, &job);
}

/* How this shard sends its part of tensor @p tensor: packed or dense, by the number of kept
 * elements of the whole tensor, which all shards know. */
static struct model_weights weights_as_sent(const struct memoryx *mx, int tensor)
{
    const struct model *model = mx->net->model;
    const struct memoryx_part *s = &mx->part[tensor];
    struct model_weights w = {.n_kept = s->n};
    if (!s->mask || !stream_packs_tensor(model, tensor, model_kept(model, tensor, mx->mask_step)))
        return w;
    w.bits = s->mask;
    w.n_kept = memoryx_mask_count(s);
    w.dense_gradient = model_sends_dense_gradient(model, tensor, mx->mask_step);
    return w;
}

static enum wsc_err pack_sparse(struct memoryx *mx, int stage, struct comm_buf **out)
{
    const struct model *model = mx->net->model;
    const struct model_stage *st = &model->stage[stage];
    const struct stream_part_of of = {mx->shard, mx->n_shards};
    struct model_weights *w;
    TRY_NEW(w, WSC_MEM_MEMORYX, st->n_views);
    for (int v = 0; v < st->n_views; v++)
        w[v] = weights_as_sent(mx, st->view[v].tensor);
    const int64_t bytes = stream_packed_layout(model, stage, of, w, NULL);
    const enum wsc_err rc = comm_buf_create(mx->net->comm, out, bytes);
    if (!rc) (void)stream_packed_layout(model, stage, of, w, comm_buf_data(*out));
    for (int v = 0; v < st->n_views && !rc; v++) {
        const struct memoryx_part *s = &mx->part[st->view[v].tensor];
        if (w[v].bits)
            pack_kept(mx, s, &w[v]);
        else
            pack_all(mx, s, (char *)(uintptr_t)w[v].values);
    }
    wsc_free(w);
    return rc;
}

/* Write this shard's parts of the stage's tensors, one after the other. */
static enum wsc_err pack_weights(struct memoryx *mx, int stage, struct comm_buf **out)
{
    const struct model *model = mx->net->model;
    const struct model_stage *st = &model->stage[stage];
    const int64_t elem_bytes = num_format_bytes(model->format);
    int64_t n = stream_stage_part_elems(model, stage, mx->shard, mx->n_shards);
    if (stream_is_packed(model, stage)) return pack_sparse(mx, stage, out);
    TRY(comm_buf_create(mx->net->comm, out, n * elem_bytes));
    char *to = comm_buf_data(*out);
    for (int v = 0; v < st->n_views; v++) {
        const struct memoryx_part *s = &mx->part[st->view[v].tensor];
        pack_all(mx, s, to);
        to += s->n * elem_bytes;
    }
    return WSC_OK;
}

/* Weights change at the end of a step, so they are packed once for all transfers of the stage. */
static enum wsc_err packed_weights(struct memoryx *mx, int stage, struct comm_buf **out)
{
    *out = comm_keep_find(mx->net->comm, &mx->packed, stage);
    if (*out) return WSC_OK;
    memoryx_update_due(mx, stage);
    TRY(pack_weights(mx, stage, out));
    return comm_keep(mx->net->comm, &mx->packed, stage, *out);
}

static void forget_weights(struct memoryx *mx)
{
    comm_keep_drop(mx->net->comm, &mx->packed);
    for (int i = 0; i < mx->ports->down.n; i++)
        comm_link_forget(mx->ports->down.weights[i]);
}

enum wsc_err memoryx_send_weights(struct memoryx *mx, const struct stream_at *at,
                                  struct vtime granted)
{
    const struct memoryx_times *t = &mx->times;
    const struct vtime ready = t->ready[at->stage];
    struct vtime_recorder *r = comm_record_at(mx->net->comm, at->step, at->index);
    const int64_t bytes = stream_amounts(mx->net, at->stage, at->updates)->weight_bytes;
    struct stream_msg msg = {.kind = STREAM_MSG_WEIGHTS,
                             .step = at->step,
                             .index = at->index,
                             .span = vtime_at(vtime_join(r, ready, granted)),
                             .bytes = stream_per_shard(bytes, mx->n_shards),
                             .field.weights = {.step_start = t->step_end,
                                               .reduced = t->reduced,
                                               .ready = ready,
                                               .gradient_scale = memoryx_gradient_scale(mx)}};
    if (mx->pass->values) TRY(packed_weights(mx, at->stage, &msg.payload));
    return stream_send_weights(mx->ports, at, &msg);
}

enum wsc_err memoryx_wait_for_credits(struct memoryx *mx, int64_t index,
                                      struct memoryx_credits *credits)
{
    for (; credits->n <= index; credits->n++)
        TRY(stream_recv_credit(mx->ports, credits->step, (int)credits->n, &credits->granted));
    return WSC_OK;
}

enum wsc_err memoryx_wait_for_update(struct memoryx *mx, int64_t step)
{
    struct stream_msg updated;
    if (step == mx->pass->first_step || mx->pass->mode == STREAM_TRAIN) forget_weights(mx);
    if (step == mx->pass->first_step) return WSC_OK;
    return stream_recv(mx->ports, mx->ports->ready, STREAM_MSG_UPDATED, step, 0, &updated);
}
