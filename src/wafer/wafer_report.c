// SPDX-License-Identifier: Apache-2.0
/* Sends the results of a wafer other than gradients: sums of the losses after the last forward
 * stage of a micro-batch; at the end of the step its time by parts, and squares of the
 * micro-shards' gradients if the noise scale is measured, and counts of classes. Sums follow the
 * canonical tree: one for each maximal subtree of the wafer's micro-shards. wafer_step.c calls. */
#include "wafer_report.h"

#include "wafer_clock.h"

#include <wsc/mem.h>

#include <string.h>

/* ---- losses ---------------------------------------------------------------------------------- */

/* Store the score of one sample of this step, which is sent with the times. */
static void add_score(struct wafer *w, int64_t sample, const struct model_loss *loss)
{
    const struct stream_score score = {(double)sample, loss->nats, (double)loss->n_tokens,
                                       (double)loss->n_correct};
    memcpy(w->squares + w->n_squares, &score, sizeof score);
    w->n_squares += (int64_t)(sizeof score / sizeof *w->squares);
}

static void add_losses(struct wafer *w, struct stream_losses *sums)
{
    const struct data_share *share = &w->micro.share;
    const struct model_loss *leaf = kernels_losses(w->values);
    for (int64_t i = share->first_leaf; i < share->end_leaf; i++, leaf++) {
        struct num_nodes one;
        if (w->pass->scores) add_score(w, i, leaf);
        const struct stream_loss sum = {.loss_sum = leaf->loss_sum,
                                        .n_tokens = leaf->n_tokens,
                                        .n_correct = leaf->n_correct,
                                        .nats = leaf->nats,
                                        .n_sequences = leaf->n_sequences,
                                        .n_sequences_correct = leaf->n_sequences_correct,
                                        .rewards = leaf->rewards};
        num_nodes_of_range(&one, i, i + 1, share->n_leaves);
        stream_losses_append(sums, &one, share->n_leaves, &sum);
    }
}

enum wsc_err wafer_send_losses(struct wafer *w, const struct stream_at *at)
{
    struct stream_losses sums = {0};
    const struct vtime_span ready = vtime_at(w->clock.now);
    if (w->pass->values && w->micro.n_own) {
        add_losses(w, &sums);
        if (w->classes) kernels_count_classes(w->values, w->classes);
    }
    return stream_send_losses(w->ports, at, ready, w->pass->values ? &sums : NULL);
}

/* ---- classes of tokens ----------------------------------------------------------------------- */

enum wsc_err wafer_prepare_classes(struct wafer *w)
{
    wsc_free(w->classes);
    w->classes = NULL;
    if (!w->pass->n_classes) return WSC_OK;
    TRY_NEW(w->classes, WSC_MEM_WAFER, w->pass->n_classes);
    return WSC_OK;
}

/* Move the counts of the step to a message. */
static enum wsc_err take_classes(struct wafer *w, struct comm_buf **payload)
{
    const int64_t bytes = w->pass->n_classes * (int64_t)sizeof *w->classes;
    if (!bytes) return WSC_OK;
    TRY(comm_buf_create(w->net->comm, payload, bytes));
    memcpy(comm_buf_data(*payload), w->classes, (size_t)bytes);
    memset(w->classes, 0, (size_t)bytes);
    return WSC_OK;
}

/* ---- squares of gradients -------------------------------------------------------------------- */

enum wsc_err wafer_prepare_squares(struct wafer *w)
{
    const struct stream_pass *p = w->pass;
    const int64_t of_scores = (int64_t)(sizeof(struct stream_score) / sizeof *w->squares);
    const int64_t n = p->scores ? of_scores * p->batch.batch_size
                                : stream_scalars_count(&p->batch, w->index, w->index + 1);
    if (!p->squares && !p->scores) return WSC_OK;
    wsc_free(w->squares);
    w->squares = NULL;
    w->n_squares = 0;
    TRY_NEW(w->squares, WSC_MEM_WAFER, n + 1);
    return p->squares ? kernels_measure_leaves(w->values) : WSC_OK;
}

void wafer_add_squares(struct wafer *w)
{
    const struct data_share *share = &w->micro.share;
    struct stream_scalars sums = {0};
    if (!w->pass->squares || !w->micro.n_own) return;
    const double *leaf = kernels_leaf_squares(w->values);
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
    if (!w->pass->squares && !w->pass->scores) return WSC_OK;
    TRY(comm_buf_create(w->net->comm, payload, bytes));
    memcpy(comm_buf_data(*payload), w->squares, (size_t)bytes);
    w->n_squares = 0;
    return WSC_OK;
}

/* ---- times ----------------------------------------------------------------------------------- */

enum wsc_err wafer_send_times(struct wafer *w, int64_t step)
{
    const struct wafer_clock *c = &w->clock;
    w->recorder = comm_record_at(w->net->comm, step, VTIME_NO_TRANSFER);
    wafer_clock_feed(w);
    struct stream_msg msg = {
        .kind = STREAM_MSG_TIMES,
        .step = step,
        .span = vtime_at(c->now),
        .bytes = STREAM_SIGNAL_BYTES,
        .field.times = {.end = c->now, .wafer = w->position, .spent = c->spent}};
    TRY(take_squares(w, &msg.payload));
    TRY(take_classes(w, &msg.payload));
    return stream_send_up(w->ports, &msg);
}
