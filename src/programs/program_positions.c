// SPDX-License-Identifier: Apache-2.0
/* Prepares the positions of tokens on the mesh: rotary angles as two tiles beside queries and keys
 * (Su et al. 2021), sines as rows of a table that streams past (Vaswani et al. 2017), slopes of
 * ALiBi (Press et al. 2022) and windows as operations on scores. model_positions.c has the numbers;
 * program_parts.c calls. */
#include "program_positions.h"
#include "program_distance.h"
#include "program_embedding.h"
#include "program_norm.h"
#include "program_stage.h"

#include <wsc/mem.h>

#include <math.h>

/* ---- rotary ---------------------------------------------------------------------------------- */

/* Cosine or sine of feature @p j of a head at position @p t; features beyond rotary_dim are not
 * rotated. */
static float angle_of(const struct model *m, int64_t t, int64_t j, bool sine)
{
    const int64_t pair = j / 2;
    if (j >= m->rotary_dim) return sine ? 0 : 1;
    const double angle = (double)t * model_rotary_frequency(m, pair);
    return (float)((sine ? sin(angle) : cos(angle)) * model_rotary_factor(m));
}

/* Fill a tile with angles; all heads have equal ones. @p table: scratch (tokens, heads x width). */
static enum wsc_err write_tile(struct programs_model *k, const struct programs_tile *tile,
                               float *table, bool sine)
{
    const struct model *m = k->model;
    const int64_t tokens = k->grid.all_samples * m->T, d = m->head_dim, n = m->H * d;
    for (int64_t i = 0; i < tokens; i++)
        for (int64_t j = 0; j < n; j++)
            table[i * n + j] = j < d ? angle_of(m, k->position[i], j, sine) : table[i * n + j % d];
    return programs_tile_in(&k->grid, tile, table);
}

enum wsc_err programs_write_angles(struct programs_model *k)
{
    const struct model *m = k->model;
    const bool texts = k->batch->position_ids != NULL;
    float *table;
    if (!m->rotary_dim || (!texts && k->n_rotated >= k->grid.all_samples)) return WSC_OK;
    TRY_NEW(table, WSC_MEM_KERNELS, k->grid.all_samples * m->T * m->H * m->head_dim);
    enum wsc_err rc = write_tile(k, &k->cosine, table, false);
    if (!rc) rc = write_tile(k, &k->sine, table, true);
    wsc_free(table);
    k->n_rotated = texts ? 0 : k->grid.all_samples;
    return rc;
}

enum wsc_err programs_rotate_tile(struct programs_model *k, const struct programs_tile *x,
                                  bool back)
{
    const enum programs_row_kind row = back ? PROGRAMS_ROW_ROTARY_BACKWARD : PROGRAMS_ROW_ROTARY;
    struct programs_script s = programs_stage_script(k, x->f);
    struct programs_rotary r = {
        .x = *x, .cosine = k->cosine, .sine = k->sine, .tmp = k->tmp, .back = back};
    r.tmp.f = x->f;
    programs_rotate(&s, &r);
    programs_stage_expect(k, row, cycles_rotary(&k->layout, x->f->slots));
    return programs_stage_run(k, &s, row);
}

/* ---- a fixed table --------------------------------------------------------------------------- */

enum wsc_err programs_add_sines(struct programs_model *k, const struct programs_tile *x)
{
    const struct model *m = k->model;
    const struct programs_table t = {.x = *x,
                                     .rows = m->T,
                                     .row_of_token = k->position,
                                     .scale = k->table_scale,
                                     .add = true,
                                     .n_samples = k->grid.n_samples};
    float *table;
    TRY_NEW(table, WSC_MEM_KERNELS, m->T * m->C);
    for (int64_t i = 0; i < m->T * m->C; i++)
        table[i] = model_sine(m, i / m->C, i % m->C);
    enum wsc_err rc = programs_run_table_gather(&k->grid, &t, table);
    wsc_free(table);
    if (!rc) programs_stage_book(k, PROGRAMS_ROW_EMBEDDING, k->grid.stats.cycles);
    return rc;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* The part of @p row that begins at token @p first; NULL when the batch has no such row. */
static const int32_t *from(const int32_t *row, int64_t first)
{
    return row ? row + first : NULL;
}

/* Keys are masked as in src/host/host_attention.c. With packed texts and attention in both
 * directions, the position of a key gives its distance to the first token of its text. Padding
 * attends only to itself. */
struct programs_shaping programs_shaping_of(const struct programs_model *k, int sample)
{
    const struct model *m = k->model;
    const int64_t words = programs_score_words(&k->grid, &k->heads);
    const int capped = programs_layer_of((struct programs_model *)(uintptr_t)k, k->l)->capped;
    const struct data_batch *b = k->batch;
    const int64_t first = programs_sample_at(&k->grid, 0, sample) * m->T;
    const bool packed = b->attention_span != NULL, both_ways = k->grid.both_ways;
    return (struct programs_shaping){
        .rounded = m->softmax_16,
        .cap = (float)m->zoo.attention_logit_softcapping,
        .capped = capped + 4 * sample * (int)words,
        .slope = k->slope,
        .learned = programs_by_distance_of(k, sample),
        .window = model_window(m, k->l),
        .sinks = m->sink_tokens,
        .span = from(b->attention_span, first),
        .before = both_ways && packed ? from(b->position_ids, first) : NULL,
        .attends = both_ways && !packed ? from(b->attends, first) : NULL,
        .lane_step = k->grid.leaf_samples * m->T};
}
