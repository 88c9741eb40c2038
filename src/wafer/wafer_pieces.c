// SPDX-License-Identifier: Apache-2.0
/* A stage that is computed while its weights arrive and its gradients are sent
 * (docs/decisions/0050): part by part, each part as soon as the bytes of its matrices are there.
 * Forward, weights arrive from the first byte on. The backward pass has the parts in reverse order:
 * weights arrive and gradients are sent from the last byte on, and a gradient is sent when it is
 * final. Times follow from headers and sizes alone, so the message of the gradients is sent before
 * the kernels run, with the times that they will have. wafer_stage.c calls. It computes other
 * stages as a whole: those with masks, on the mesh, and where messages stay within one host. */
#include "wafer_pieces.h"

#include "wafer_clock.h"

/* One part of a stage. */
struct part {
    struct kernels *values;
    const void *weights;
    float *grads;
    int stage, part;
};

static enum wsc_err run_forward(void *arg)
{
    const struct part *p = arg;
    kernels_forward_part(p->values, p->stage, p->part, p->weights);
    return WSC_OK;
}

static enum wsc_err run_backward(void *arg)
{
    const struct part *p = arg;
    kernels_backward_part(p->values, p->stage, p->part, p->weights, p->grads);
    return WSC_OK;
}

/* True when gradients are sent in pieces to any parent; a wafer below several shards has several
 * parents. */
static bool sends_pieces(const struct wafer *w, const struct stream_at *at)
{
    bool any = false;
    for (int m = 0; m < w->ports->up.n; m++)
        any |= comm_link_sends_pieces(w->ports->up.data[m]);
    return at->backward && any;
}

enum wsc_err wafer_pieces_choose(const struct wafer *w, const struct stream_at *at,
                                 struct wafer_stage *s)
{
    struct comm_buf *weights = s->weights.payload;
    if (!weights) return WSC_OK;
    const bool coming = !comm_buf_is_there(weights);
    s->in_pieces = (coming || sends_pieces(w, at)) && w->micro.n_own &&
                   kernels_has_parts(w->values) && !stream_is_packed(w->net->model, at->stage);
    if (!coming || s->in_pieces) return WSC_OK;
    return stream_wait_weights(w->ports, at, weights, 0, comm_buf_bytes(weights));
}

/* Wait until the weights that part @p part reads are there. */
static enum wsc_err wait_for_part(const struct wafer *w, const struct stream_at *at,
                                  const struct wafer_stage *s, int part)
{
    const struct model *model = w->net->model;
    const struct model_stage *plan = &model->stage[at->stage];
    const int first = model->zoo.recompute ? 0 : part; /* the whole block is recomputed */
    const int view = plan->first_view[at->backward ? first : part + 1];
    const int64_t elems = view < plan->n_views ? plan->view[view].offset : plan->n_elems;
    const int64_t bytes = elems * num_format_bytes(model->format);
    return stream_wait_weights(w->ports, at, s->weights.payload, at->backward ? bytes : 0,
                               at->backward ? comm_buf_bytes(s->weights.payload) : bytes);
}

enum wsc_err wafer_pieces_forward(struct wafer *w, const struct stream_at *at,
                                  struct wafer_stage *s)
{
    const struct kernels_simulated counted = {0};
    struct part p = {
        .values = w->values, .weights = comm_buf_data(s->weights.payload), .stage = at->stage};
    s->ready = wafer_clock_end(w, at, &s->weights, &counted);
    for (; p.part < w->net->model->stage[at->stage].n_parts; p.part++) {
        TRY(wait_for_part(w, at, s, p.part));
        if (!p.part) comm_compute_turn(w->net->comm);
        TRY(comm_compute(w->net->comm, run_forward, &p));
        comm_yield(w->net->comm);
    }
    return WSC_OK;
}

/* Send the message of the gradients before they exist; the stage keeps a reference to write them.
 */
static enum wsc_err open_gradients(struct wafer *w, const struct stream_at *at,
                                   struct wafer_stage *s)
{
    TRY(stream_open_gradients(w->ports, at, s->ready, s->n_sums, &s->sums));
    wafer_clock_leave(w);
    return WSC_OK;
}

/* Let the gradients be sent that are final: elements from the end of the last vector on, or all
 * elements after the first part. */
static enum wsc_err send_final_gradients(const struct wafer *w, const struct stream_at *at,
                                         const struct wafer_stage *s, int part)
{
    const int64_t all = comm_buf_bytes(s->sums) / (int64_t)sizeof(float);
    return stream_fill_gradients(w->ports, at, s->sums, s->n_sums,
                                 part ? kernels_final_gradients(w->values) : all);
}

enum wsc_err wafer_pieces_backward(struct wafer *w, const struct stream_at *at,
                                   struct wafer_stage *s)
{
    const struct kernels_simulated counted = {0};
    struct part p = {.values = w->values,
                     .weights = comm_buf_data(s->weights.payload),
                     .stage = at->stage,
                     .part = w->net->model->stage[at->stage].n_parts - 1};
    s->ready = wafer_clock_end(w, at, &s->weights, &counted);
    TRY(wait_for_part(w, at, s, p.part));
    comm_compute_turn(w->net->comm);
    TRY(open_gradients(w, at, s));
    p.grads = comm_buf_data(s->sums);
    for (; p.part >= 0; p.part--) {
        TRY(wait_for_part(w, at, s, p.part));
        TRY(comm_compute(w->net->comm, run_backward, &p));
        TRY(send_final_gradients(w, at, s, p.part));
        comm_yield(w->net->comm);
    }
    return WSC_OK;
}
