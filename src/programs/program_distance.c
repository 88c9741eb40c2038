// SPDX-License-Identifier: Apache-2.0
/* Weights by distance that train, from the embedding's stage to the scores of all layers and back.
 * Every column of a head takes the head's weights and sums their gradients over the scores that it
 * keeps; the edge adds up those of the columns.  program_parts.c calls. */
#include "program_distance.h"
#include "program_grid.h"
#include "program_stage.h"
#include "program_vector_ops.h"

#include <wsc/mem.h>

static const struct programs_view none = {.kind = PROGRAMS_VIEW_NONE};

/* ---- where they lie -------------------------------------------------------------------------- */

enum wsc_err programs_reserve_distances(struct programs_model *k)
{
    struct programs_distances *d = &k->distances;
    struct programs_grid *g = &k->grid;
    int *count;
    TRY_NEW(count, WSC_MEM_KERNELS, g->w);
    for (int x = 0; x < g->w; x++)
        count[x] = programs_heads_on(&k->heads, x);
    enum wsc_err rc = programs_features_init_counts(&d->f, count, g->w);
    wsc_free(count);
    if (rc) return rc;
    TRY_NEW(d->edge, WSC_MEM_KERNELS, (int64_t)g->lanes * d->f.n);
    TRY(programs_reserve_words(g, d->f.slots, PROGRAMS_BANK_TILES, "weights by distance",
                               &d->weights));
    if (!k->training) return WSC_OK;
    return programs_reserve_words(g, (int64_t)d->f.slots * g->max_samples, PROGRAMS_BANK_TILES,
                                  "gradients of weights by distance", &d->sums);
}

void programs_distances_fini(struct programs_model *k)
{
    programs_features_fini(&k->distances.f);
    wsc_free(k->distances.edge);
}

/* Number of feature @p i, which a head has on each of its columns, in the tensor (heads). */
static int64_t element_of(const struct programs_model *k, int i)
{
    const struct programs_features *f = &k->distances.f;
    return (int64_t)(f->column[i] / k->heads.group_cols) * k->heads.heads_per_pe + f->slot[i];
}

/* Sums of the gradients of the leaf of each lane that has sample @p sample of it. */
static int sums_of(const struct programs_model *k, int sample)
{
    return k->distances.sums + 4 * (sample / k->grid.leaf_samples) * k->distances.f.slots;
}

struct programs_by_distance programs_by_distance_of(const struct programs_model *k, int sample)
{
    if (!k->model->buckets) return (struct programs_by_distance){0};
    return (struct programs_by_distance){.kind = PROGRAMS_SLOPES,
                                         .weights = k->distances.weights,
                                         .sums = sums_of(k, sample),
                                         .unit = (float)(1 / k->model->position_scale)};
}

/* ---- in and out ------------------------------------------------------------------------------ */

static void clear_sums(const struct programs_model *k, struct programs_script *s)
{
    programs_op(s, PROGRAMS_SHAPE_WORDS, MESH_FMOVS,
                programs_view(PROGRAMS_VIEW_TOKENS, k->distances.sums), programs_number(0), none);
    s->step[s->n_steps - 1].n = k->distances.f.slots * k->grid.max_samples;
}

enum wsc_err programs_take_distances(struct programs_model *k)
{
    struct programs_distances *d = &k->distances;
    struct programs_script s = programs_stage_script(k, &d->f);
    if (!k->model->buckets) return WSC_OK;
    for (int i = 0; i < d->f.n; i++)
        d->edge[i] = k->weight[MODEL_RELATIVE_W][element_of(k, i)];
    s.in[s.n_in++] =
        (struct programs_vector){.f = &d->f, .address = d->weights, .in = d->edge};
    programs_vectors_in(&s);
    if (k->training) clear_sums(k, &s);
    programs_stage_expect(k, PROGRAMS_ROW_DISTANCES, 0); /* the analytical model has no term */
    return programs_stage_run(k, &s, PROGRAMS_ROW_DISTANCES);
}

/* Sums of the columns of a head are added up, column by column, for each lane that has run. */
static void add_columns(struct programs_model *k, int turn)
{
    const struct programs_distances *d = &k->distances;
    for (int lane = 0; lane < k->grid.active; lane++) {
        float *to = programs_stage_gradient(k, MODEL_RELATIVE_W, turn) + lane * k->n_elems;
        for (int i = 0; i < d->f.n; i++)
            to[element_of(k, i)] += d->edge[(int64_t)lane * d->f.n + i];
    }
}

enum wsc_err programs_give_distances(struct programs_model *k)
{
    const struct programs_distances *d = &k->distances;
    if (!k->model->buckets) return WSC_OK;
    for (int turn = 0; turn < programs_leaf_turns(k); turn++) {
        struct programs_script s = programs_stage_script(k, &d->f);
        programs_turn_samples(k, turn, &s.first_sample, &s.n_samples);
        s.out[s.n_out++] = (struct programs_vector){.f = &d->f,
                                                    .address = sums_of(k, s.first_sample),
                                                    .out = d->edge,
                                                    .lane_step = d->f.n};
        programs_vectors_out(&s);
        programs_stage_expect(k, PROGRAMS_ROW_DISTANCES_BACKWARD, 0);
        TRY(programs_stage_run(k, &s, PROGRAMS_ROW_DISTANCES_BACKWARD));
        add_columns(k, turn);
    }
    return WSC_OK;
}
