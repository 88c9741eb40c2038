// SPDX-License-Identifier: Apache-2.0
/* Loads the samples of a wafer: determines its part of a micro-batch (stream_micro_shards()) and
 * reads it from the data source into the buffers of the kernels. Here and in the kernels a sample
 * is a sequence: a pair of preference optimization is two. Called at the start of a micro-batch
 * (wafer_step.c) and of a pass. */
#include "wafer_load.h"

/* On the host, lanes affect virtual time alone. */
static bool same_lanes(const struct wafer *w, const struct programs_room *room)
{
    return w->work.numerics != KERNELS_MESH ||
           (room->lanes == w->capacity.lanes && room->leaf_samples == w->capacity.leaf_samples);
}

enum wsc_err wafer_reserve(struct wafer *w, int64_t n_samples, int64_t leaf_samples, bool training)
{
    const struct programs_room room = {.samples = n_samples > 0 ? n_samples : 1,
                                       .leaf_samples = leaf_samples,
                                       .lanes = w->work.plan->lanes};
    if (w->values && n_samples <= w->capacity.samples && training == w->capacity_training &&
        same_lanes(w, &room))
        return WSC_OK;
    kernels_destroy(&w->values);
    data_batch_destroy(&w->batch);
    TRY(kernels_create(&w->values, w->work.numerics, w->net->hw, w->net->model, &room, training));
    TRY(data_batch_create(&w->batch, room.samples, w->net->model->T));
    w->capacity = room;
    w->capacity_training = training;
    return WSC_OK;
}

enum wsc_err wafer_load_share(struct wafer *w, const struct stream_at *at)
{
    const struct stream_pass *p = w->pass;
    const struct stream_batch *b = &p->batch;
    struct wafer_micro *m = &w->micro;
    const int64_t n_before = at->micro ? m->n_fed : 0, each = model_sequences(w->net->model);
    m->share = (struct data_share){.n_leaves = b->n_micro_shards,
                                   .leaf_samples = b->micro_shard_samples * each,
                                   .batch_size = b->batch_size * each,
                                   .step = at->step};
    stream_micro_shards(b, at->micro, w->index, w->index + 1, &m->share.first_leaf,
                        &m->share.end_leaf);
    m->n_own = stream_samples(b, m->share.first_leaf, m->share.end_leaf) * each;
    m->n_samples = stream_timed_samples(b, at->micro, w->index) * each;
    m->n_fed = n_before + m->n_samples;
    m->tokens = (struct cycles_tokens){0};
    if (!p->values || !m->n_own) return WSC_OK;
    const int64_t first = p->first_sample + (at->step - p->first_step) * b->batch_size +
                          m->share.first_leaf * b->micro_shard_samples;
    TRY(data_source_read(w->work.source, first, m->n_own / each, w->batch));
    kernels_begin(w->values, &m->share, w->batch);
    return WSC_OK;
}
