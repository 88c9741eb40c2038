// SPDX-License-Identifier: Apache-2.0
/* Computes Sinkhorn's normalisation (Clark et al. 2022, appendix B) of a router's logits, in
 * logarithms. From each logit it subtracts the logarithm of the sum of exponentials over the
 * experts of its token, a sum along the row, then that over the tokens of its sequence, a sum down
 * the columns of the lane; the two alternate. Each is a program of its own, since both sums use
 * the same colours. */
#include "program_sinkhorn.h"
#include "program_choice.h"
#include "program_softmax.h"
#include "program_stage.h"

#include <math.h>

static const struct programs_view none = {.kind = PROGRAMS_VIEW_NONE};

/* Operands of a normalisation: values, scratch of equal shape, and a maximum and a sum for each
 * token, or for each expert and sequence; the latter are consecutive words. */
struct normed {
    struct programs_view values, tmp, max, sum;
    enum programs_shape shape, of_sums;
    int n; /* words of a sum, of PROGRAMS_SHAPE_WORDS */
    void (*add)(struct programs_script *s, enum mesh_code code, struct programs_view x);
};

static void add_row(struct programs_script *s, enum mesh_code code, struct programs_view x)
{
    programs_row_sum(s, code, x, 1);
}

static struct normed over_experts(const struct programs_model *k, const struct programs_tile *tile)
{
    return (struct normed){
        .values = programs_tile_view(tile),
        .tmp = programs_tile_view(&k->experts.tmp),
        .max = programs_view(PROGRAMS_VIEW_TOKENS, programs_scratch_at(k, PROGRAMS_SCRATCH_MAX)),
        .sum = programs_view(PROGRAMS_VIEW_TOKENS, programs_scratch_at(k, PROGRAMS_SCRATCH_SUM)),
        .shape = PROGRAMS_SHAPE_TILE,
        .of_sums = PROGRAMS_SHAPE_TOKENS,
        .add = add_row};
}

static struct normed over_tokens(const struct programs_model *k, const struct programs_tile *tile)
{
    const int n = k->experts.f.slots * k->grid.max_samples;
    return (struct normed){.values = programs_tile_view(tile),
                           .tmp = programs_tile_view(&k->experts.tmp),
                           .max = programs_view(PROGRAMS_VIEW_SAMPLES, k->experts.samples),
                           .sum = programs_view(PROGRAMS_VIEW_SAMPLES, k->experts.samples + 4 * n),
                           .shape = PROGRAMS_SHAPE_SAMPLES,
                           .of_sums = PROGRAMS_SHAPE_WORDS,
                           .n = n,
                           .add = programs_column_sum};
}

/* A sum as consecutive words, for operations on all of them. */
static struct programs_view words_of(const struct normed *x, struct programs_view sum)
{
    return x->n ? programs_view(PROGRAMS_VIEW_TOKENS, sum.address) : sum;
}

/* Set the number of words of the steps from @p first on. */
static void of_words(struct programs_script *s, int first, int n)
{
    for (int i = first; i < s->n_steps; i++)
        s->step[i].n = n;
}

/* values -= log(sum of exp(values)). */
static void subtract_log_sum(const struct programs_grid *g, struct programs_script *s,
                             const struct normed *x)
{
    const struct programs_map to_exp = {programs_exp_of_difference, g->exp_cycles};
    const struct programs_map to_log = {programs_log_of_sum, g->exp_cycles};
    const struct programs_view max = words_of(x, x->max), sum = words_of(x, x->sum);
    programs_op(s, x->of_sums, MESH_FMOVS, max, programs_number(-INFINITY), none);
    programs_op(s, x->of_sums, MESH_FMOVS, sum, programs_number(0), none);
    of_words(s, s->n_steps - 2, x->n);
    programs_op(s, x->shape, MESH_FMAXS, x->max, x->max, x->values);
    x->add(s, MESH_FMAXS, x->max);
    programs_map(s, x->shape, to_exp, x->tmp, x->values, x->max);
    programs_op(s, x->shape, MESH_FADDS, x->sum, x->sum, x->tmp);
    x->add(s, MESH_FADDS, x->sum);
    programs_map(s, x->of_sums, to_log, sum, sum, max);
    of_words(s, s->n_steps - 1, x->n);
    programs_op(s, x->shape, MESH_FSUBS, x->values, x->values, x->sum);
}

static float exp_of(float x, float unused)
{
    (void)unused;
    return programs_exp_of_difference(x, 0);
}

enum wsc_err programs_sinkhorn(struct programs_model *k, const struct programs_tile *tile)
{
    const struct normed step[2] = {over_experts(k, tile), over_tokens(k, tile)};
    const struct programs_map to_exp = {exp_of, k->grid.exp_cycles};
    const int64_t n = 2 * k->model->zoo.moe.sinkhorn_n_iters;
    for (int64_t i = 0; i < n; i++) {
        struct programs_script s = programs_stage_script(k, &k->experts.f);
        subtract_log_sum(&k->grid, &s, &step[i % 2]);
        if (i == n - 1)
            programs_map(&s, PROGRAMS_SHAPE_TILE, to_exp, step->values, step->values, none);
        TRY(programs_stage_run(k, &s, PROGRAMS_ROW_ROUTER));
    }
    return WSC_OK;
}
