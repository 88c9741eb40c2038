// SPDX-License-Identifier: Apache-2.0
/* Moves trained weights by distance from the embedding's stage to the scores of all layers, and
 * their gradients back. Every column of a head takes the head's weights and sums their gradients
 * over the scores that it keeps; the edge adds the columns. For relative positions a PE makes a
 * table by distance: the queries of a row of scores are as many tokens apart as the fabric has
 * rows, so the row meets every h-th distance, and a bucket is a run of distances. program_parts.c
 * calls. */
#include "program_distance.h"
#include "program_grid.h"
#include "program_stage.h"
#include "program_vector_ops.h"

#include <wsc/cycles_ops.h>
#include <wsc/mem.h>

static const struct programs_view none = {.kind = PROGRAMS_VIEW_NONE};

/* What the tasks of a table of distances read. */
struct tables {
    const struct programs_model *k;
    int sums; /* address: the sums of the leaf */
};

/* ---- where they lie -------------------------------------------------------------------------- */

/* Number of weights of a head. */
static int n_weights(const struct programs_model *k)
{
    return (int)k->model->buckets;
}

/* Words between a distance and that of the next row of tokens. Rows of scores access the table
 * with this stride; strides of 0, 1, 4 and 7 modulo 8 would be slow (SDK appendix "SIMD"). */
static int pitch_of(int h)
{
    enum { STRIDES = 8 };
    static const bool slow[STRIDES] = {true, true, false, false, true, false, false, true};
    int pitch = h;
    while (h > 1 && slow[pitch % STRIDES])
        pitch++;
    return pitch;
}

/* Position of distance @p d >= 0 in the table of a head, words. */
static int word_of(const struct programs_model *k, int64_t d)
{
    const int h = k->grid.h;
    return (int)(d / h) * k->distances.pitch + (int)(d % h);
}

/* The distances of each bucket: a run that begins at first[bucket] and ends where the next one
 * begins; those of the last bucket end with the sequence. */
static enum wsc_err find_buckets(struct programs_model *k)
{
    const struct model *m = k->model;
    TRY_NEW(k->distances.first, WSC_MEM_KERNELS, m->buckets + 1);
    for (int64_t d = 0, b = 0; b <= m->buckets; b++) {
        while (d < m->T && model_bucket(m, 0, -d) < b)
            d++;
        k->distances.first[b] = (int)d;
    }
    return WSC_OK;
}

/* Lay the weights of its heads on each column. */
static enum wsc_err make_features(struct programs_model *k)
{
    const int w = k->grid.w;
    int *count;
    TRY_NEW(count, WSC_MEM_KERNELS, w);
    for (int x = 0; x < w; x++)
        count[x] = n_weights(k) * programs_heads_on(&k->heads, x);
    enum wsc_err rc = programs_features_init_counts(&k->distances.f, count, w);
    wsc_free(count);
    return rc;
}

/* Number of rows of scores on a PE. */
static int score_rows(const struct programs_model *k)
{
    return (int)(programs_score_words(&k->grid, &k->heads) / k->grid.tokens);
}

/* Words of the sums of a leaf: the size of the table of a PE's heads or, with slopes, one for each
 * row of scores. */
static int sum_words(const struct programs_model *k)
{
    return k->model->slopes ? score_rows(k) : k->heads.heads_per_pe * k->distances.words;
}

static enum wsc_err reserve_table(struct programs_model *k)
{
    struct programs_distances *d = &k->distances;
    TRY(find_buckets(k));
    d->pitch = pitch_of(k->grid.h);
    d->words = word_of(k, k->model->T - 1) + 1;
    return programs_reserve_words(&k->grid, sum_words(k), PROGRAMS_BANK_TILES,
                                  "a weight for each distance", &d->table);
}

enum wsc_err programs_reserve_distances(struct programs_model *k)
{
    struct programs_distances *d = &k->distances;
    struct programs_grid *g = &k->grid;
    TRY(make_features(k));
    TRY_NEW(d->edge, WSC_MEM_KERNELS, (int64_t)g->lanes * d->f.n);
    TRY(programs_reserve_words(g, d->f.slots, PROGRAMS_BANK_TILES, "weights by distance",
                               &d->weights));
    if (!k->model->slopes) TRY(reserve_table(k));
    if (!k->training) return WSC_OK;
    return programs_reserve_words(g, (int64_t)sum_words(k) * g->max_samples, PROGRAMS_BANK_TILES,
                                  "gradients of weights by distance", &d->sums);
}

void programs_distances_fini(struct programs_model *k)
{
    programs_features_fini(&k->distances.f);
    wsc_free(k->distances.first);
    wsc_free(k->distances.edge);
}

/* Index in the tensor (buckets, heads) of feature @p i; a head has the feature on each of its
 * columns. */
static int64_t element_of(const struct programs_model *k, int i)
{
    const struct programs_features *f = &k->distances.f;
    const int head =
        f->column[i] / k->heads.group_cols * k->heads.heads_per_pe + f->slot[i] / n_weights(k);
    return (int64_t)(f->slot[i] % n_weights(k)) * k->model->H + head;
}

/* Address of the gradient sums of the leaf to which sample @p sample of each lane belongs. */
static int sums_of(const struct programs_model *k, int sample)
{
    return k->distances.sums + 4 * (sample / k->grid.leaf_samples) * sum_words(k);
}

struct programs_by_distance programs_by_distance_of(const struct programs_model *k, int sample)
{
    const struct programs_distances *d = &k->distances;
    if (!k->model->buckets) return (struct programs_by_distance){0};
    return (struct programs_by_distance){.kind =
                                             k->model->slopes ? PROGRAMS_SLOPES : PROGRAMS_RELATIVE,
                                         .weights = k->model->slopes ? d->weights : d->table,
                                         .sums = sums_of(k, sample),
                                         .words = d->words,
                                         .pitch = d->pitch,
                                         .unit = (float)(1 / k->model->position_scale)};
}

/* ---- tables by distance ---------------------------------------------------------------------- */

/* Find the words of a head's bucket in the table at @p table, and its weight. False if the PE has
 * no such head or the bucket has no distance. The words include those between two rows of tokens.
 */
static bool find_bucket(const struct mesh_pe *pe, const struct programs_model *k, int table,
                        struct mesh_dsd *words, struct mesh_dsd *weight)
{
    const struct programs_distances *d = &k->distances;
    const int index = programs_script_token(pe);
    const int head = index / n_weights(k), bucket = index % n_weights(k);
    const int first = d->first[bucket], end = d->first[bucket + 1];
    if (head >= programs_heads_on(&k->heads, programs_column_of(pe)) || first == end) return false;
    const int at = head * d->words + word_of(k, first);
    const int n = word_of(k, end - 1) + 1 - word_of(k, first);
    *words = mesh_mem(table + 4 * at, n);
    *weight = mesh_mem_strided(d->weights + 4 * index, n, 0);
    return true;
}

/* Copy the weight of the current bucket to the words of its distances. */
static enum wsc_err spread(struct mesh_pe *pe, const struct programs_script *s,
                           const struct programs_step *step)
{
    const struct tables *t = s->data;
    struct mesh_dsd words, weight;
    (void)step;
    if (!find_bucket(pe, t->k, t->k->distances.table, &words, &weight)) return WSC_OK;
    return mesh_do(pe, MESH_FMOVS, words, weight, (struct mesh_dsd){0});
}

/* Gradient of the current bucket's weight: the sum of the gradients of its distances. */
static enum wsc_err collect(struct mesh_pe *pe, const struct programs_script *s,
                            const struct programs_step *step)
{
    const struct tables *t = s->data;
    struct mesh_dsd words, weight;
    (void)step;
    if (!find_bucket(pe, t->k, t->sums, &words, &weight)) return WSC_OK;
    return mesh_do(pe, MESH_FADDS, weight, weight, words);
}

/* Gradient of the slope of a head: the sum of its rows of scores, each times the position of its
 * key. */
static enum wsc_err collect_row(struct mesh_pe *pe, const struct programs_script *s,
                                const struct programs_step *step)
{
    const struct tables *t = s->data;
    const struct programs_grid *g = &t->k->grid;
    const struct programs_features *f = &t->k->heads;
    const int column = programs_column_of(pe), row = programs_script_token(pe);
    const int head = row % f->heads_per_pe;
    const int key = programs_key_of(g, f, column % f->group_cols, row / f->heads_per_pe);
    (void)step;
    if (key >= g->T || head >= programs_heads_on(f, column)) return WSC_OK;
    const struct mesh_dsd slope = mesh_mem(t->k->distances.weights + 4 * head, 1);
    const double position = (double)g->key_token[key] / t->k->model->position_scale;
    TRY(mesh_wait(pe, CYCLES_SLOPE));
    return mesh_mac(pe, MESH_FMACS, slope, slope, mesh_mem(t->sums + 4 * row, 1),
                    mesh_float((float)position));
}

/* Number of buckets of all heads of a PE. */
static int n_buckets(const struct programs_model *k)
{
    return k->heads.heads_per_pe * n_weights(k);
}

/* ---- in and out ------------------------------------------------------------------------------ */

static void clear(struct programs_script *s, int address, int words)
{
    programs_op(s, PROGRAMS_SHAPE_WORDS, MESH_FMOVS, programs_view(PROGRAMS_VIEW_TOKENS, address),
                programs_number(0), none);
    s->step[s->n_steps - 1].n = words;
}

enum wsc_err programs_take_distances(struct programs_model *k)
{
    struct programs_distances *d = &k->distances;
    const struct tables t = {.k = k};
    struct programs_script s = programs_stage_script(k, &d->f);
    if (!k->model->buckets) return WSC_OK;
    for (int i = 0; i < d->f.n; i++)
        d->edge[i] = k->weight[MODEL_RELATIVE_W][element_of(k, i)];
    s.in[s.n_in++] = (struct programs_vector){.f = &d->f, .address = d->weights, .in = d->edge};
    programs_vectors_in(&s);
    s.data = &t;
    if (!k->model->slopes) programs_call_repeatedly(&s, n_buckets(k), spread);
    if (k->training) clear(&s, d->sums, sum_words(k) * k->grid.max_samples);
    programs_stage_expect(k, PROGRAMS_ROW_DISTANCES, 0); /* the analytical model has no term */
    return programs_stage_run(k, &s, PROGRAMS_ROW_DISTANCES);
}

/* Add up the sums of the columns of a head, column by column, for each lane that has run. */
static void add_columns(struct programs_model *k, int round)
{
    const struct programs_distances *d = &k->distances;
    for (int lane = 0; lane < k->grid.active; lane++) {
        float *to = programs_stage_gradient(k, MODEL_RELATIVE_W, round) + lane * k->n_elems;
        for (int i = 0; i < d->f.n; i++)
            to[element_of(k, i)] += d->edge[(int64_t)lane * d->f.n + i];
    }
}

/* Send the gradients of a round of leaves; they overwrite the weights on the PEs. */
static enum wsc_err send_round(struct programs_model *k, int round)
{
    const struct programs_distances *d = &k->distances;
    struct programs_script s = programs_stage_script(k, &d->f);
    programs_round_samples(k, round, &s.first_sample, &s.n_samples);
    const struct tables t = {.k = k, .sums = sums_of(k, s.first_sample)};
    clear(&s, d->weights, d->f.slots);
    s.data = &t;
    if (k->model->slopes)
        programs_call_repeatedly(&s, score_rows(k), collect_row);
    else
        programs_call_repeatedly(&s, n_buckets(k), collect);
    s.out[s.n_out++] = (struct programs_vector){
        .f = &d->f, .address = d->weights, .out = d->edge, .lane_step = d->f.n};
    programs_vectors_out(&s);
    programs_stage_expect(k, PROGRAMS_ROW_DISTANCES_BACKWARD, 0);
    TRY(programs_stage_run(k, &s, PROGRAMS_ROW_DISTANCES_BACKWARD));
    add_columns(k, round);
    return WSC_OK;
}

enum wsc_err programs_give_distances(struct programs_model *k)
{
    for (int round = 0; k->model->buckets && round < programs_leaf_rounds(k); round++)
        TRY(send_round(k, round));
    return WSC_OK;
}
