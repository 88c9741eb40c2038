// SPDX-License-Identifier: Apache-2.0
#include "wafer_impl.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

enum wsc_err wafer_create(struct wafer **out, struct stream_net *net, int place)
{
    struct wafer *w;
    TRY_NEW(w, WSC_MEM_WAFER, 1);
    *out = w;
    w->net = net;
    w->place = place;
    TRY_NEW(w->price, WSC_MEM_WAFER, 2 * (int64_t)net->model->n_stages);
    return WSC_OK;
}

void wafer_destroy(struct wafer **wafer)
{
    if (!*wafer) return;
    kernels_values_destroy(&(*wafer)->values);
    data_batch_destroy(&(*wafer)->batch);
    wsc_free((*wafer)->price);
    wsc_free((*wafer)->squares);
    wsc_free(*wafer);
    *wafer = NULL;
}

enum wsc_err wafer_reserve(struct wafer *w, int64_t n_samples, bool training)
{
    if (w->values && n_samples <= w->capacity_samples && training == w->capacity_training)
        return WSC_OK;
    kernels_values_destroy(&w->values);
    data_batch_destroy(&w->batch);
    int64_t n = n_samples > 0 ? n_samples : 1;
    TRY(kernels_values_create(&w->values, w->work.numerics, w->net->hw, w->net->model, n,
                              training));
    TRY(data_batch_create(&w->batch, n, w->net->model->T));
    w->capacity_samples = n;
    w->capacity_training = training;
    return WSC_OK;
}

/* ---- one stage ------------------------------------------------------------------------------- */

/* What a stage gave: cycles when they were counted, and gradients by node of the share. */
struct results {
    struct kernels_counted counted;
    struct comm_buf *grads; /* one reference, or NULL */
    struct num_nodes nodes;
};

static enum wsc_err compute(struct wafer *w, const struct kernels_share *share,
                            const struct wafer_visit *v, const void *weights, struct results *out)
{
    if (!v->backward)
        return v->n_samples ? kernels_values_forward(w->values, v->stage, weights, &out->counted)
                            : WSC_OK;
    num_nodes_of_range(&out->nodes, share->first_leaf, share->end_leaf, share->n_leaves);
    int64_t floats = out->nodes.n * w->net->model->stage[v->stage].n_elems;
    TRY(comm_buf_create(w->net->comm, &out->grads, floats * (int64_t)sizeof(float)));
    if (!out->nodes.n) return WSC_OK;
    return kernels_values_backward(w->values, v->stage, weights, comm_buf_data(out->grads),
                                   &out->counted);
}

static enum wsc_err send_gradients(struct wafer *w, const struct wafer_visit *v, struct results *r,
                                   struct vtime_span ready)
{
    struct comm_msg msg = {.kind = STREAM_MSG_GRADS,
                           .step = v->step,
                           .index = v->index,
                           .span = ready,
                           .bytes = stream_grad_bytes(w->net->model, v->stage),
                           .payload = r->grads};
    r->grads = NULL;
    TRY(stream_send_up(w->net, w->ports, &msg, v->stage, r->nodes.n));
    wafer_clock_leave(w);
    return WSC_OK;
}

static void scale_gradients(struct wafer *w, const struct comm_msg *weights)
{
    double scale;
    memcpy(&scale, &weights->field[STREAM_F_GRADIENT_SCALE], sizeof scale);
    kernels_values_scale_gradients(w->values, scale);
}

enum wsc_err wafer_visit_stage(struct wafer *w, const struct kernels_share *share,
                               const struct wafer_visit *v)
{
    struct comm_msg msg;
    struct results r = {0};
    TRY(stream_recv_weights(w->net, w->ports, v->step, v->index, v->stage, &msg));
    w->recorder = comm_recorder(w->net->comm);
    struct vtime begin = wafer_clock_begin(w, &msg, v);
    TRY(stream_send_credit(w->ports, v->step, v->index, begin));
    if (msg.payload && w->pass->mode == STREAM_TRAIN) scale_gradients(w, &msg);
    enum wsc_err rc = msg.payload ? compute(w, share, v, comm_buf_data(msg.payload), &r) : WSC_OK;
    if (!rc) {
        struct vtime_span gradients = wafer_clock_end(w, &msg, v, &r.counted);
        if (v->backward) rc = send_gradients(w, v, &r, gradients);
        if (w->recorder) wafer_clock_record(w, begin, v);
    }
    comm_buf_unref(&r.grads);
    comm_buf_unref(&msg.payload);
    return rc;
}

const struct kernels_mesh_row *wafer_kernel_rows(const struct wafer *w)
{
    return w->values ? kernels_values_rows(w->values) : NULL;
}

/* ---- one batch ------------------------------------------------------------------------------- */

/* Leaf losses along the canonical tree: the maximal nodes of this share. */
static void add_losses(const struct wafer *w, const struct kernels_share *share,
                       struct stream_losses *sums)
{
    const struct kernels_leaf_loss *leaf = kernels_values_losses(w->values);
    for (int64_t i = share->first_leaf; i < share->end_leaf; i++, leaf++) {
        struct num_nodes one;
        const struct stream_loss sum = {leaf->loss_sum, leaf->n_tokens, leaf->n_correct};
        num_nodes_of_range(&one, i, i + 1, share->n_leaves);
        stream_losses_append(sums, &one, share->n_leaves, &sum);
    }
}

static enum wsc_err send_losses(struct wafer *w, const struct kernels_share *share, int64_t step,
                                int index)
{
    struct comm_msg msg = {.kind = STREAM_MSG_LOSS,
                           .step = step,
                           .index = index,
                           .span = vtime_at(w->clock.now),
                           .bytes = STREAM_LOSS_BYTES};
    if (w->pass->values) {
        struct stream_losses sums = {0};
        if (share->end_leaf > share->first_leaf) add_losses(w, share, &sums);
        int64_t bytes = sums.nodes.n * (int64_t)sizeof(struct stream_loss);
        TRY(comm_buf_create(w->net->comm, &msg.payload, bytes));
        memcpy(comm_buf_data(msg.payload), sums.sum, (size_t)bytes);
    }
    return stream_send_up(w->net, w->ports, &msg, 0, 0);
}

/* The same for the squares of the leaves' gradients, behind those of earlier micro-batches. */
static void add_squares(struct wafer *w, const struct kernels_share *share)
{
    const double *leaf = kernels_values_leaf_squares(w->values);
    struct stream_scalars sums = {0};
    for (int64_t i = share->first_leaf; i < share->end_leaf; i++) {
        struct num_nodes one;
        num_nodes_of_range(&one, i, i + 1, share->n_leaves);
        stream_scalars_append(&sums, &one, share->n_leaves, leaf++);
    }
    memcpy(w->squares + w->n_squares, sums.sum, (size_t)sums.nodes.n * sizeof *w->squares);
    w->n_squares += sums.nodes.n;
}

static enum wsc_err take_squares(struct wafer *w, struct comm_buf **payload)
{
    const int64_t bytes = w->n_squares * (int64_t)sizeof *w->squares;
    if (!w->pass->squares) return WSC_OK;
    TRY(comm_buf_create(w->net->comm, payload, bytes));
    memcpy(comm_buf_data(*payload), w->squares, (size_t)bytes);
    w->n_squares = 0;
    return WSC_OK;
}

enum wsc_err wafer_send_times(struct wafer *w, int64_t step)
{
    const struct wafer_clock *c = &w->clock;
    (void)comm_record_at(w->net->comm, step, VTIME_NO_TRANSFER);
    struct comm_msg msg = {.kind = STREAM_MSG_TIMES,
                           .step = step,
                           .span = vtime_at(c->now),
                           .bytes = STREAM_SIGNAL_BYTES};
    msg.field[STREAM_F_END] = c->now.ps;
    msg.field[STREAM_F_END_EVENT] = c->now.event;
    msg.field[STREAM_F_WAFER] = w->place;
    msg.field[STREAM_F_COMPUTE] = c->compute_ps;
    msg.field[STREAM_F_WEIGHTS] = c->weights_wait_ps;
    msg.field[STREAM_F_REDUCE] = c->reduce_wait_ps;
    msg.field[STREAM_F_BOUNDARY] = c->boundary_ps;
    msg.field[STREAM_F_INPUT] = c->input_wait_ps;
    TRY(take_squares(w, &msg.payload));
    return stream_send_up(w->net, w->ports, &msg, 0, 0);
}

static enum wsc_err begin_micro(struct wafer *w, int64_t step, const struct kernels_share *share)
{
    int64_t n = stream_samples(&w->pass->batch, share->first_leaf, share->end_leaf);
    if (!w->pass->values || !n) return WSC_OK;
    const struct stream_pass *p = w->pass;
    int64_t first = p->first_sample + (step - p->first_step) * share->batch_size +
                    share->first_leaf * share->leaf_samples;
    TRY(data_source_read(w->work.source, first, n, w->batch));
    kernels_values_begin(w->values, share, w->batch);
    return WSC_OK;
}

static enum wsc_err run_micro(struct wafer *w, int64_t step, int64_t micro, int64_t *n_fed)
{
    const struct stream_batch *b = &w->pass->batch;
    const struct model *model = w->net->model;
    const int n = model_n_transfers(model, w->pass->mode == STREAM_TRAIN);
    struct kernels_share share = {.n_leaves = b->n_leaves,
                                  .leaf_samples = b->leaf_samples,
                                  .batch_size = b->batch_size,
                                  .step = step};
    stream_leaves(b, micro, w->index, w->index + 1, &share.first_leaf, &share.end_leaf);
    TRY(begin_micro(w, step, &share));
    const int64_t n_samples = stream_samples(b, share.first_leaf, share.end_leaf);
    *n_fed += n_samples;
    for (int k = 0; k < n; k++) {
        struct model_transfer t = model_transfer_at(model, k);
        const struct wafer_visit v = {.step = step,
                                      .index = (int)micro * n + k,
                                      .stage = t.stage,
                                      .backward = t.backward,
                                      .n_samples = n_samples,
                                      .n_fed = k ? 0 : *n_fed};
        TRY(wafer_visit_stage(w, &share, &v));
        if (k == model->n_stages - 1) TRY(send_losses(w, &share, step, v.index));
    }
    if (w->pass->squares && n_samples) add_squares(w, &share);
    return WSC_OK;
}

static enum wsc_err prepare_squares(struct wafer *w)
{
    const int64_t n = stream_scalars_count(&w->pass->batch, w->index, w->index + 1);
    wsc_free(w->squares);
    w->squares = NULL;
    w->n_squares = 0;
    TRY_NEW(w->squares, WSC_MEM_WAFER, n + 1);
    return kernels_values_measure_leaves(w->values);
}

static enum wsc_err run(void *arg)
{
    struct wafer *w = arg;
    const struct stream_pass *p = w->pass;
    if (p->mode == STREAM_GENERATE) return wafer_generate(w);
    if (p->values) TRY(wafer_reserve(w, stream_max_samples(&p->batch), p->mode == STREAM_TRAIN));
    if (p->squares) TRY(prepare_squares(w));
    for (int64_t step = p->first_step; step < p->first_step + p->n_steps; step++) {
        int64_t n_fed = 0;
        for (int64_t micro = 0; micro < p->batch.n_micro; micro++)
            TRY(run_micro(w, step, micro, &n_fed));
        TRY(wafer_send_times(w, step));
    }
    return WSC_OK;
}

enum wsc_err wafer_spawn(struct wafer *wafer, int index, const struct stream_pass *pass,
                         const struct wafer_work *work)
{
    /* Products generate code on their first call and want a deep stack; sizes alone do not. */
    enum { STACK_WITH_VALUES = 8 << 20 };
    const int role = stream_role_of_wafer(wafer->net->topology, index);
    char name[48];
    wafer->index = index;
    wafer->ports = &wafer->net->ports[role];
    wafer->pass = pass;
    wafer->work = *work;
    (void)snprintf(name, sizeof name, "wafer %d", wafer->place);
    return comm_spawn(wafer->net->comm, role, run, wafer, pass->values ? STACK_WITH_VALUES : 0,
                      name);
}
