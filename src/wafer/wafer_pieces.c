// SPDX-License-Identifier: Apache-2.0
/* A stage that a wafer computes while its weights come (docs/decisions/0050): part by part, each as
 * soon as the bytes of its matrices are there.  Forward weights come from the first byte on; in the
 * backward pass, whose parts are in reverse order, from the last one.
 *
 * Times follow from headers and sizes alone.  Called by wafer_stage.c, which has whole stages:
 * those with masks, the mesh, and where messages move within one host. */
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

void wafer_pieces_choose(const struct wafer *w, const struct stream_at *at, struct wafer_stage *s)
{
    struct comm_buf *weights = s->weights.payload;
    if (!weights || comm_buf_is_there(weights)) return;
    s->in_pieces = w->micro.n_own && kernels_has_parts(w->values) &&
                   !stream_is_packed(w->net->model, at->stage);
    if (!s->in_pieces) comm_buf_wait(w->ports->up.weights[0], weights, 0, comm_buf_bytes(weights));
}

/* Until the weights that part @p part reads are there. */
static void wait_for_part(const struct wafer *w, const struct stream_at *at,
                          const struct wafer_stage *s, int part)
{
    const struct model *model = w->net->model;
    const struct model_stage *plan = &model->stage[at->stage];
    const int view = plan->first_view[at->backward ? part : part + 1];
    const int64_t elems = view < plan->n_views ? plan->view[view].offset : plan->n_elems;
    const int64_t bytes = elems * num_format_bytes(model->format);
    comm_buf_wait(w->ports->up.weights[0], s->weights.payload, at->backward ? bytes : 0,
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
        wait_for_part(w, at, s, p.part);
        if (!p.part) comm_compute_turn(w->net->comm);
        TRY(comm_compute(w->net->comm, run_forward, &p));
        comm_yield(w->net->comm);
    }
    return WSC_OK;
}

enum wsc_err wafer_pieces_backward(struct wafer *w, const struct stream_at *at,
                                   struct wafer_stage *s)
{
    const int64_t n_elems = w->net->model->stage[at->stage].n_grads;
    const struct kernels_simulated counted = {0};
    struct part p = {.values = w->values,
                     .weights = comm_buf_data(s->weights.payload),
                     .stage = at->stage,
                     .part = w->net->model->stage[at->stage].n_parts - 1};
    s->ready = wafer_clock_end(w, at, &s->weights, &counted);
    wait_for_part(w, at, s, p.part);
    comm_compute_turn(w->net->comm);
    TRY(comm_buf_create(w->net->comm, &s->sums, s->n_sums * n_elems * (int64_t)sizeof(float)));
    p.grads = comm_buf_data(s->sums);
    for (; p.part >= 0; p.part--) {
        wait_for_part(w, at, s, p.part);
        TRY(comm_compute(w->net->comm, run_backward, &p));
        comm_yield(w->net->comm);
    }
    return WSC_OK;
}
