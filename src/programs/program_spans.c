// SPDX-License-Identifier: Apache-2.0
/* Computes the loss of answers as spans. Maximum, sum of exponentials, the label's logit and the
 * first token with the largest one are sums down the columns of the lane that have an output; the
 * gradient starts from the exponentials that the loss left in memory. The values that leave cross
 * the fabric along the rows, in a program of its own, since both sums use the same colours. */
#include "program_spans.h"
#include "program_softmax.h"
#include "program_stage.h"
#include "program_vector_ops.h"

#include <wsc/check.h>
#include <wsc/cycles_ops.h>

#include <math.h>

static const struct programs_view none = {.kind = PROGRAMS_VIEW_NONE};

/* Words of each output and sequence: the maximum, later the cross entropy; the sum of exponentials;
 * the label's logit, in the backward pass the factor of exponentials; minus the index of the first
 * token with the largest logit. */
enum { MAX, SUM, LABEL, BEST, N_WORDS };
/* Vectors of tokens that leave: as in struct programs_losses. */
enum { BEST_OUT, NATS_OUT, N_OUT };

int64_t programs_spans_words(int samples, int slots)
{
    return (int64_t)N_WORDS * samples * slots;
}

void programs_spans_label(const struct programs_model *k, int32_t *label)
{
    static const int32_t bit[MODEL_SPAN_ENDS] = {ZOO_ANSWER_FIRST, ZOO_ANSWER_LAST};
    const struct data_batch *b = k->batch;
    for (int64_t i = 0; i < b->n * MODEL_SPAN_ENDS; i++) {
        const int64_t row = i / MODEL_SPAN_ENDS * b->T;
        int64_t t = 0;
        while (t < b->T && !(b->mask[row + t] && b->labels[row + t] & bit[i % MODEL_SPAN_ENDS]))
            t++;
        label[i] = t < b->T ? (int32_t)t : -1;
    }
}

/* ---- words of a PE --------------------------------------------------------------------------- */

static int of_each(const struct programs_grid *g, const struct programs_loss *l)
{
    return l->logits.f->slots * g->max_samples;
}

/* Word @p which of all outputs and sequences, as the result of a reduction of a tile. */
static struct programs_view reduced(const struct programs_grid *g, const struct programs_loss *l,
                                    int which)
{
    return programs_view(PROGRAMS_VIEW_SAMPLES, l->words + 4 * which * of_each(g, l));
}

/* Word @p which of all outputs and sequences, as consecutive words. */
static struct programs_view words(const struct programs_grid *g, const struct programs_loss *l,
                                  int which)
{
    return programs_view(PROGRAMS_VIEW_TOKENS, reduced(g, l, which).address);
}

static void of_words(const struct programs_grid *g, struct programs_script *s,
                     const struct programs_loss *l, int steps)
{
    for (int i = s->n_steps - steps; i < s->n_steps; i++)
        s->step[i].n = of_each(g, l);
}

static int word_at(const struct programs_grid *g, const struct programs_loss *l, int which, int end,
                   int sample)
{
    return reduced(g, l, which).address + 4 * (l->logits.f->slot[end] * g->max_samples + sample);
}

static struct programs_view out_view(const struct programs_loss *l)
{
    return programs_view(PROGRAMS_VIEW_TOKENS, l->tokens);
}

/* ---- scalar code ----------------------------------------------------------------------------- */

/* Arguments of scalar code: one sequence of a PE's lane, and one end of its answer whose output
 * the PE holds. */
struct at {
    int end, sample;
    int label;      /* token, or -1 */
    int own, first; /* tokens of a sequence on the PE; slot of the first one */
    int row;        /* of PEs, in the lane */
};

typedef enum wsc_err (*visit_fn)(struct mesh_pe *pe, const struct programs_loss *l,
                                 const struct at *at);

/* Call @p visit for each sequence of the PE's lane, with the current end. */
static enum wsc_err visit_end(struct mesh_pe *pe, const struct programs_loss *l, visit_fn visit,
                              struct at *at)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const int lane = programs_lane(pe);
    for (at->sample = 0; at->sample < g->lane_samples[lane]; at->sample++) {
        const int64_t sample = programs_sample_at(g, lane, at->sample);
        at->label = l->labels[sample * MODEL_SPAN_ENDS + at->end];
        at->first = at->sample * at->own;
        TRY(visit(pe, l, at));
    }
    return WSC_OK;
}

/* Call @p visit for all sequences and all ends whose outputs the PE holds, and charge @p cycles
 * for each call. */
static enum wsc_err visit_all(struct mesh_pe *pe, const struct programs_loss *l, visit_fn visit,
                              int cycles)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const int row = programs_row_of(pe);
    struct at at = {.own = programs_tokens(g, row), .row = programs_y(g, row)};
    int64_t n = 0;
    for (at.end = 0; at.end < MODEL_SPAN_ENDS; at.end++) {
        if (l->logits.f->column[at.end] != programs_column_of(pe)) continue;
        TRY(visit_end(pe, l, visit, &at));
        n += at.sample;
    }
    return n ? mesh_wait(pe, n * cycles) : WSC_OK;
}

/* True when the PE holds token @p token of its sequences. */
static bool holds(const struct programs_grid *g, const struct at *at, int token)
{
    return token >= 0 && token % g->h == at->row;
}

static enum wsc_err pick_label(struct mesh_pe *pe, const struct programs_loss *l,
                               const struct at *at)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const int slot = l->logits.f->slot[at->end];
    uint32_t logit;
    if (!holds(g, at, at->label)) return WSC_OK;
    TRY(mesh_load(pe, programs_at(g, &l->logits, slot, at->first + at->label / g->h), &logit));
    return mesh_store(pe, word_at(g, l, LABEL, at->end, at->sample), logit);
}

static enum wsc_err pick_labels(struct mesh_pe *pe, const struct programs_script *s,
                                const struct programs_step *step)
{
    (void)step;
    return visit_all(pe, s->data, pick_label, CYCLES_LABEL);
}

/* Store minus the index of the PE's first token with the largest logit of the sequence. */
static enum wsc_err find_largest(struct mesh_pe *pe, const struct programs_loss *l,
                                 const struct at *at)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const int slot = l->logits.f->slot[at->end];
    union programs_word max, logit = {.value = -INFINITY};
    int i = 0;
    TRY(mesh_load(pe, word_at(g, l, MAX, at->end, at->sample), &max.bits));
    for (; i < at->own; i++) {
        TRY(mesh_load(pe, programs_at(g, &l->logits, slot, at->first + i), &logit.bits));
        if (logit.value >= max.value) break;
    }
    const union programs_word best = {.value =
                                          i < at->own ? -(float)(i * g->h + at->row) : -INFINITY};
    return mesh_store(pe, word_at(g, l, BEST, at->end, at->sample), best.bits);
}

static enum wsc_err find_all_largest(struct mesh_pe *pe, const struct programs_script *s,
                                     const struct programs_step *step)
{
    const struct programs_grid *g = programs_grid_of(pe);
    (void)step;
    return visit_all(pe, s->data, find_largest,
                     CYCLES_COMPARE * programs_tokens(g, programs_row_of(pe)));
}

/* Store cross entropy and predicted token of end e at token e of their sequence, with which they
 * leave. */
static enum wsc_err keep_end(struct mesh_pe *pe, const struct programs_loss *l, const struct at *at)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const int to = l->tokens + 4 * (at->first + at->end / g->h);
    uint32_t nats, best;
    if (!holds(g, at, at->end)) return WSC_OK;
    TRY(mesh_load(pe, word_at(g, l, MAX, at->end, at->sample), &nats));
    TRY(mesh_load(pe, word_at(g, l, BEST, at->end, at->sample), &best));
    TRY(mesh_store(pe, to + 4 * NATS_OUT * g->pitch, nats));
    return mesh_store(pe, to + 4 * BEST_OUT * g->pitch, best);
}

static enum wsc_err keep_ends(struct mesh_pe *pe, const struct programs_script *s,
                              const struct programs_step *step)
{
    (void)step;
    return visit_all(pe, s->data, keep_end, N_OUT * CYCLES_LABEL);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Append the reductions of the logits: maximum, its first token and the label's logit, for all PEs
 * of the column. */
static void reduce_logits(const struct programs_grid *g, struct programs_script *s,
                          const struct programs_loss *l)
{
    const enum programs_shape all = PROGRAMS_SHAPE_WORDS;
    const struct programs_view logits = programs_tile_view(&l->logits);
    const struct programs_view max = reduced(g, l, MAX);
    if (l->scale != 1)
        programs_op(s, PROGRAMS_SHAPE_TILE, MESH_FMULS, logits, logits, programs_number(l->scale));
    programs_op(s, all, MESH_FMOVS, words(g, l, MAX), programs_number(-INFINITY), none);
    programs_op(s, all, MESH_FMOVS, words(g, l, BEST), programs_number(-INFINITY), none);
    programs_op(s, all, MESH_FMOVS, words(g, l, LABEL), programs_number(0), none);
    programs_op(s, all, MESH_FMOVS, words(g, l, SUM), programs_number(0), none);
    of_words(g, s, l, 4);
    programs_op(s, PROGRAMS_SHAPE_SAMPLES, MESH_FMAXS, max, max, logits);
    programs_column_sum(s, MESH_FMAXS, max);
    programs_call(s, pick_labels);
    programs_call(s, find_all_largest);
    programs_column_sum(s, MESH_FADDS, reduced(g, l, LABEL));
    programs_column_sum(s, MESH_FMAXS, reduced(g, l, BEST));
}

/* Append the steps of log(sum of exp(logit - max)) + max - the label's logit. */
static void cross_entropies(const struct programs_grid *g, struct programs_script *s,
                            const struct programs_loss *l)
{
    const enum programs_shape all = PROGRAMS_SHAPE_WORDS;
    const struct programs_view logits = programs_tile_view(&l->logits);
    const struct programs_view sum = reduced(g, l, SUM), nats = words(g, l, MAX);
    const struct programs_map to_exp = {programs_exp_of_difference, g->exp_cycles};
    const struct programs_map to_log = {programs_log_of_sum, g->exp_cycles};
    programs_map(s, PROGRAMS_SHAPE_SAMPLES, to_exp, logits, logits, reduced(g, l, MAX));
    programs_op(s, PROGRAMS_SHAPE_SAMPLES, MESH_FADDS, sum, sum, logits);
    programs_column_sum(s, MESH_FADDS, sum);
    programs_map(s, all, to_log, nats, words(g, l, SUM), nats);
    programs_op(s, all, MESH_FSUBS, nats, nats, words(g, l, LABEL));
    of_words(g, s, l, 2);
}

/* Send the results along the rows to the west edge. */
static enum wsc_err send_out(struct programs_model *k, const struct programs_loss *l,
                             const struct programs_losses *out)
{
    struct programs_script s = programs_stage_script(k, l->logits.f);
    programs_row_sum(&s, MESH_FADDS, out_view(l), N_OUT);
    programs_row_out(&s, out_view(l), N_OUT);
    enum wsc_err rc = programs_run_script(&k->grid, &s);
    if (!rc) programs_store_losses(&k->grid, &s, out);
    programs_script_fini(&s);
    return rc;
}

enum wsc_err programs_run_spans(struct programs_model *k, const struct programs_loss *l,
                                const struct programs_losses *out, int64_t *cycles)
{
    struct programs_grid *g = &k->grid;
    struct programs_script s = programs_stage_script(k, l->logits.f);
    WSC_CHECK(l->words > 0, "no words are reserved for spans");
    s.data = l;
    reduce_logits(g, &s, l);
    cross_entropies(g, &s, l);
    programs_op(&s, PROGRAMS_SHAPE_WORDS, MESH_FMOVS, out_view(l), programs_number(0), none);
    s.step[s.n_steps - 1].n = N_OUT * g->pitch;
    programs_call(&s, keep_ends);
    enum wsc_err rc = programs_run_script(g, &s);
    programs_script_fini(&s);
    *cycles = g->stats.cycles;
    if (!rc) rc = send_out(k, l, out);
    *cycles += g->stats.cycles;
    return rc;
}

/* ---- backward -------------------------------------------------------------------------------- */

static enum wsc_err mask_end(struct mesh_pe *pe, const struct programs_loss *l, const struct at *at)
{
    const struct programs_grid *g = programs_grid_of(pe);
    return at->label < 0 ? mesh_store(pe, word_at(g, l, LABEL, at->end, at->sample), 0) : WSC_OK;
}

static enum wsc_err mask_ends(struct mesh_pe *pe, const struct programs_script *s,
                              const struct programs_step *step)
{
    (void)step;
    return visit_all(pe, s->data, mask_end, CYCLES_LABEL);
}

static enum wsc_err subtract_label(struct mesh_pe *pe, const struct programs_loss *l,
                                   const struct at *at)
{
    const struct programs_grid *g = programs_grid_of(pe);
    union programs_word x;
    if (!holds(g, at, at->label)) return WSC_OK;
    const int address =
        programs_at(g, &l->logits, l->logits.f->slot[at->end], at->first + at->label / g->h);
    TRY(mesh_load(pe, address, &x.bits));
    x.value -= l->scale;
    return mesh_store(pe, address, x.bits);
}

static enum wsc_err subtract_labels(struct mesh_pe *pe, const struct programs_script *s,
                                    const struct programs_step *step)
{
    (void)step;
    return visit_all(pe, s->data, subtract_label, CYCLES_LABEL);
}

enum wsc_err programs_run_spans_backward(struct programs_model *k, const struct programs_loss *l)
{
    struct programs_grid *g = &k->grid;
    struct programs_script s = programs_stage_script(k, l->logits.f);
    const struct programs_view logits = programs_tile_view(&l->logits), factor = words(g, l, LABEL);
    const struct programs_map divide = {programs_scaled_reciprocal, g->divide_cycles};
    s.data = l;
    programs_op(&s, PROGRAMS_SHAPE_WORDS, MESH_FMOVS, factor, programs_number(l->scale), none);
    programs_map(&s, PROGRAMS_SHAPE_WORDS, divide, factor, words(g, l, SUM), factor);
    of_words(g, &s, l, 2);
    programs_call(&s, mask_ends);
    programs_op(&s, PROGRAMS_SHAPE_SAMPLES, MESH_FMULS, logits, logits, reduced(g, l, LABEL));
    programs_call(&s, subtract_labels);
    enum wsc_err rc = programs_run_script(g, &s);
    programs_script_fini(&s);
    return rc;
}

/* ---- on the host ----------------------------------------------------------------------------- */

void programs_spans_loss(const struct programs_model *k, const int32_t *label, int first, int n,
                         struct model_loss *sum)
{
    for (int64_t s = first; s < first + n; s++) {
        struct model_answer a = {.weight = k->model->head[0].weight};
        for (int end = 0; end < MODEL_SPAN_ENDS; end++) {
            const int64_t at = s * k->model->T + end;
            const int32_t expected = label[s * MODEL_SPAN_ENDS + end];
            a.end[end] = (struct model_answer_end){
                .labelled = expected >= 0, .found = expected == k->best[at], .nats = k->nats[at]};
        }
        model_answer_add(&a, sum);
    }
}
