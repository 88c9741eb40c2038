// SPDX-License-Identifier: Apache-2.0
/* Loads the samples of a wafer: determines its part of a micro-batch (stream_micro_shards()) and
 * reads it from the data source into the buffers of the kernels. Here and in the kernels a sample
 * is a sequence: a pair of preference optimization is two. Called at the start of a micro-batch
 * (wafer_step.c) and of a pass. On the mesh it also keeps the values of training while others are
 * computed, and the other way round, and adds up the cycles of training. */
#include "wafer_load.h"

#include <wsc/mem.h>

/* On the host, lanes affect virtual time alone. */
static bool same_lanes(const struct wafer *w, const struct programs_room *room)
{
    return w->work.numerics != KERNELS_MESH ||
           (room->lanes == w->capacity.lanes && room->leaf_samples == w->capacity.leaf_samples);
}

/* Add the cycles of @p values to @p rows. */
static void add_rows(struct programs_row *rows, const struct kernels *values)
{
    const struct programs_row *of = kernels_rows(values);
    for (int i = 0; of && i < PROGRAMS_ROWS; i++) {
        rows[i].kernel = of[i].kernel;
        rows[i].pass = of[i].pass;
        rows[i].calls += of[i].calls;
        rows[i].cycles += of[i].cycles;
        rows[i].analytical += of[i].analytical;
    }
}

bool wafer_kernel_rows(const struct wafer *w, struct programs_row rows[PROGRAMS_ROWS])
{
    if (!w->values || !kernels_rows(w->values)) return false;
    for (int i = 0; i < PROGRAMS_ROWS; i++)
        rows[i] = w->rows ? w->rows[i] : (struct programs_row){0};
    if (w->capacity_training) add_rows(rows, w->values);
    if (w->parked.kernels && w->parked.training) add_rows(rows, w->parked.kernels);
    return true;
}

/* Destroy the current values; the cycles of a training stay. */
static enum wsc_err drop_values(struct wafer *w)
{
    if (w->values && w->capacity_training && kernels_rows(w->values)) {
        if (!w->rows) TRY_NEW(w->rows, WSC_MEM_WAFER, PROGRAMS_ROWS);
        add_rows(w->rows, w->values);
    }
    kernels_destroy(&w->values);
    data_batch_destroy(&w->batch);
    return WSC_OK;
}

/* Take the values of the other kind of pass, if there are any, and keep the current ones where
 * programs have been recorded. */
static enum wsc_err change_kind(struct wafer *w)
{
    const struct wafer_values other = w->parked;
    if (!kernels_have_recordings(w->values) && !kernels_have_recordings(other.kernels))
        TRY(drop_values(w));
    w->parked = (struct wafer_values){w->values, w->batch, w->capacity, w->capacity_training};
    w->values = other.kernels;
    w->batch = other.batch;
    w->capacity = other.capacity;
    w->capacity_training = other.training;
    return WSC_OK;
}

enum wsc_err wafer_reserve(struct wafer *w, int64_t n_samples, int64_t leaf_samples, bool training)
{
    const struct programs_room room = {.samples = n_samples > 0 ? n_samples : 1,
                                       .leaf_samples = leaf_samples,
                                       .lanes = w->work.plan->lanes};
    if (w->values && training != w->capacity_training) TRY(change_kind(w));
    if (w->values && n_samples <= w->capacity.samples && same_lanes(w, &room)) return WSC_OK;
    TRY(drop_values(w));
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
