// SPDX-License-Identifier: Apache-2.0
/* Runs one stage on a wafer. Weights are never stored: they arrive, the kernels use them, and they
 * are released. A backward stage computes one gradient vector for each maximal subtree of the
 * wafer's micro-shards and sends all of them; the stage ends when they have left. wafer_step.c
 * calls; wafer_clock.c has the times. */
#include "wafer_stage.h"

#include "wafer_clock.h"
#include "wafer_pieces.h"

#include <wsc/mem.h>

/* Find the tensors of a stage with masks in the payload. */
static enum wsc_err open_weights(const struct wafer *w, int stage, struct wafer_stage *s)
{
    const struct model *model = w->net->model;
    if (!s->weights.payload || !stream_is_packed(model, stage)) return WSC_OK;
    TRY_NEW(s->tensor, WSC_MEM_WAFER, model->stage[stage].n_views);
    stream_packed_open(model, stage, (struct stream_part_of){0, 1},
                       comm_buf_data(s->weights.payload), s->tensor);
    return WSC_OK;
}

enum wsc_err wafer_recv_weights(struct wafer *w, const struct stream_at *at, struct wafer_stage *s)
{
    const struct stream_msg *weights = &s->weights;
    *s = (struct wafer_stage){0};
    TRY(stream_recv_weights(w->ports, at, &s->weights));
    w->recorder = comm_recorder(w->net->comm);
    s->begin = wafer_clock_begin(w, at, weights);
    enum wsc_err rc = stream_send_credit(w->ports, at->step, at->index, s->begin);
    if (!rc) rc = wafer_pieces_choose(w, at, s);
    if (!rc) rc = open_weights(w, at->stage, s);
    if (rc) comm_buf_unref(&s->weights.payload);
    if (weights->payload && w->pass->mode == STREAM_TRAIN)
        kernels_scale_gradients(w->values, weights->field.weights.gradient_scale);
    return rc;
}

/* ---- computing: at the same time as other wafers of the process, see comm_compute() ---- */

/* Arguments of the kernels of a whole stage; wafer_pieces.c has those of its parts. */
struct work {
    struct wafer *w;
    const struct stream_at *at;
    const struct wafer_stage *s;
    float *grads;
    struct kernels_simulated counted;
};

static enum wsc_err run_forward(void *arg)
{
    struct work *k = arg;
    struct kernels *values = k->w->values;
    if (k->s->tensor)
        return kernels_forward_sparse(values, k->at->stage, k->s->tensor, &k->counted);
    return kernels_forward(values, k->at->stage, comm_buf_data(k->s->weights.payload), &k->counted);
}

static enum wsc_err run_backward(void *arg)
{
    struct work *k = arg;
    struct kernels *values = k->w->values;
    if (k->s->tensor)
        return kernels_backward_sparse(values, k->at->stage, k->s->tensor, k->grads, &k->counted);
    return kernels_backward(values, k->at->stage, comm_buf_data(k->s->weights.payload), k->grads,
                            &k->counted);
}

static void wait_until_admitted(const struct wafer *w)
{
    if (kernels_share_threads(w->values)) comm_compute_turn(w->net->comm);
}

static enum wsc_err compute(struct work *k, comm_compute_fn fn)
{
    return kernels_share_threads(k->w->values) ? comm_compute(k->w->net->comm, fn, k) : fn(k);
}

enum wsc_err wafer_run_forward(struct wafer *w, const struct stream_at *at, struct wafer_stage *s)
{
    struct work work = {.w = w, .at = at, .s = s};
    if (s->in_pieces) return wafer_pieces_forward(w, at, s);
    if (s->weights.payload && w->micro.n_own) {
        wait_until_admitted(w);
        TRY(compute(&work, run_forward));
    }
    s->ready = wafer_clock_end(w, at, &s->weights, &work.counted);
    return WSC_OK;
}

/* Number of vectors of gradients: one for each reduction subtree. */
static int count_sums(const struct wafer *w)
{
    const struct data_share *share = &w->micro.share;
    struct num_nodes subtrees;
    num_nodes_of_range(&subtrees, share->first_leaf, share->end_leaf, share->n_leaves);
    return subtrees.n;
}

/* Allocate the gradients; @p grads: the first vector. */
static enum wsc_err take_gradients(struct wafer *w, const struct stream_at *at,
                                   struct wafer_stage *s, float **grads)
{
    const struct model *model = w->net->model;
    const int n_shards = w->net->topology->n_shards;
    int64_t head = 0, n_elems = 0;
    if (s->tensor) head = stream_packed_grad_head(model, at->stage, n_shards);
    for (int v = 0; v < model->stage[at->stage].n_views; v++) {
        const struct model_tensor *t = &model->tensor[model->stage[at->stage].view[v].tensor];
        n_elems += model_gradient_elems(t, s->tensor ? &s->tensor[v] : NULL);
    }
    TRY(comm_buf_create(w->net->comm, &s->sums,
                        head + s->n_sums * n_elems * (int64_t)sizeof(float)));
    char *to = comm_buf_data(s->sums);
    if (s->tensor) stream_packed_grad_start(model, at->stage, n_shards, s->tensor, to);
    *grads = (float *)(void *)(to + head);
    return WSC_OK;
}

static enum wsc_err send_gradients(struct wafer *w, const struct stream_at *at,
                                   struct wafer_stage *s)
{
    struct comm_buf *sums = s->sums;
    s->sums = NULL;
    TRY(stream_send_gradients(w->ports, at, s->ready, sums, s->n_sums));
    wafer_clock_leave(w);
    return WSC_OK;
}

enum wsc_err wafer_run_backward(struct wafer *w, const struct stream_at *at, struct wafer_stage *s)
{
    struct work work = {.w = w, .at = at, .s = s};
    if (s->weights.payload) s->n_sums = count_sums(w);
    if (s->in_pieces) return wafer_pieces_backward(w, at, s);
    if (s->weights.payload) {
        if (w->micro.n_own) wait_until_admitted(w);
        TRY(take_gradients(w, at, s, &work.grads));
        if (s->n_sums) TRY(compute(&work, run_backward));
    }
    s->ready = wafer_clock_end(w, at, &s->weights, &work.counted);
    return send_gradients(w, at, s);
}

void wafer_stage_fini(struct wafer *w, struct wafer_stage *s)
{
    if (w->recorder) wafer_clock_record(w, s->begin);
    wsc_free(s->tensor);
    comm_buf_unref(&s->weights.payload);
    comm_buf_unref(&s->sums);
}
