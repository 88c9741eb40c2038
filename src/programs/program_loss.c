// SPDX-License-Identifier: Apache-2.0
/* Computes the cross entropy over the vocabulary, whose features lie on the columns. Maximum, the
 * label's logit, the lowest index of a largest logit and the sum of exponentials are sums along the
 * row. The gradient then starts from the exponentials that the loss left in memory.
 * program_head_loss.c, program_operations.c, program_regression.c and program_spans.c call. */
#include "program_loss.h"
#include "program_grid.h"
#include "program_softmax.h"
#include "program_vector_ops.h"

#include <wsc/cycles_ops.h>
#include <wsc/mem.h>

#include <math.h>
#include <string.h>

static const struct programs_view none = {.kind = PROGRAMS_VIEW_NONE};

/* Vectors of tokens: maximum; sum of exponentials; the label's logit or, with smoothed labels, the
 * mean of the logits weighted by the labels; minus the lowest index of the largest logit; nats. */
enum { MAX, SUM, LABEL, BEST, NATS };

struct views {
    struct programs_view logits, tmp, number, row[PROGRAMS_LOSS_ROWS];
};

/* Views of the tile and of the PROGRAMS_LOSS_ROWS vectors of tokens. */
static struct views views_of(const struct programs_grid *g, const struct programs_loss *l)
{
    struct views v = {.logits = programs_tile_view(&l->logits),
                      .tmp = programs_tile_view(l->tmp),
                      .number = programs_view(PROGRAMS_VIEW_FEATURES, l->number)};
    for (int i = 0; i < PROGRAMS_LOSS_ROWS; i++)
        v.row[i] = programs_view(PROGRAMS_VIEW_TOKENS, l->tokens + 4 * i * g->pitch);
    return v;
}

/* True when the PE holds the logit of the label of its token @p i, in slot @p slot; never for a
 * token that is not in the loss. */
static bool label_here(const struct programs_grid *g, const struct programs_loss *l,
                       const struct mesh_pe *pe, int i, int *slot)
{
    const int64_t token = programs_token_at(g, programs_row_of(pe), i);
    const int label = l->labels[token];
    if (!l->mask[token] || l->logits.f->column[label] != programs_column_of(pe)) return false;
    *slot = l->logits.f->slot[label];
    return true;
}

/* The part of a smoothed label that each feature gets. */
static float even_share(const struct programs_loss *l)
{
    return l->even / (float)l->logits.f->n;
}

/* The PE that holds the label's logit adds it to its sum over the even part of the labels (0
 * without smoothing). A sum along the row then gives the total to all PEs. */
static enum wsc_err pick_labels(struct mesh_pe *pe, const struct programs_script *s,
                                const struct programs_step *step)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct programs_loss *l = s->data;
    const int n = programs_row_tokens(g, programs_row_of(pe));
    (void)step;
    for (int i = 0, slot; i < n; i++) {
        const int sum = l->tokens + 4 * (LABEL * g->pitch + i);
        union programs_word logit, label;
        if (!label_here(g, l, pe, i, &slot)) continue;
        TRY(mesh_load(pe, programs_at(g, &l->logits, slot, i), &logit.bits));
        TRY(mesh_load(pe, sum, &label.bits));
        label.value += (1 - l->even) * logit.value;
        TRY(mesh_store(pe, sum, label.bits));
    }
    return n ? mesh_wait(pe, (int64_t)n * CYCLES_LABEL) : WSC_OK;
}

/* Scale the logits, then apply c tanh(logit / c). */
static void scale_and_cap(const struct programs_grid *g, struct programs_script *s,
                          const struct programs_loss *l)
{
    const struct programs_view logits = programs_tile_view(&l->logits);
    const float cap = l->cap > 0 ? l->cap : 1;
    if (l->scale / cap != 1)
        programs_op(s, PROGRAMS_SHAPE_TILE, MESH_FMULS, logits, logits,
                    programs_number(l->scale / cap));
    if (!(l->cap > 0)) return;
    programs_cap(g, s, PROGRAMS_SHAPE_TILE, logits, programs_tile_view(l->capped), cap);
}

static void forward_steps(struct programs_grid *g, struct programs_script *s,
                          const struct programs_loss *l)
{
    const struct views v = views_of(g, l);
    const enum programs_shape tile = PROGRAMS_SHAPE_TILE, tokens = PROGRAMS_SHAPE_TOKENS;
    scale_and_cap(g, s, l);
    programs_op(s, tokens, MESH_FMOVS, v.row[MAX], programs_number(-INFINITY), none);
    programs_op(s, tokens, MESH_FMOVS, v.row[BEST], programs_number(-INFINITY), none);
    programs_op(s, tokens, MESH_FMOVS, v.row[SUM], programs_number(0), none);
    programs_op(s, tokens, MESH_FMOVS, v.row[LABEL], programs_number(0), none);
    programs_op(s, tile, MESH_FMAXS, v.row[MAX], v.row[MAX], v.logits);
    programs_row_sum(s, MESH_FMAXS, v.row[MAX], 1);
    if (l->even > 0) {
        programs_op(s, tile, MESH_FADDS, v.row[LABEL], v.row[LABEL], v.logits);
        programs_op(s, tokens, MESH_FMULS, v.row[LABEL], v.row[LABEL],
                    programs_number(even_share(l)));
    }
    programs_call(s, pick_labels);
    const struct programs_map to_exp = {programs_exp_of_difference, g->exp_cycles};
    const struct programs_largest largest = {v.logits, v.tmp, v.number, v.row[MAX], v.row[BEST]};
    programs_row_first(s, &largest);
    programs_map(s, tile, to_exp, v.logits, v.logits, v.row[MAX]);
    programs_op(s, tile, MESH_FADDS, v.row[SUM], v.row[SUM], v.logits);
    programs_row_sum(s, MESH_FADDS, v.row[SUM], 2); /* with the logits of the labels */
    programs_map(s, tokens, (struct programs_map){programs_log_of_sum, g->exp_cycles}, v.row[NATS],
                 v.row[SUM], v.row[MAX]);
    programs_op(s, tokens, MESH_FSUBS, v.row[NATS], v.row[NATS], v.row[LABEL]);
    programs_row_out(s, v.row[BEST], 2);
}

/* The words at the west edge are, for each token of the row, minus the index of the largest logit,
 * then the nats. */
void programs_store_losses(const struct programs_grid *g, const struct programs_script *s,
                           const struct programs_losses *out)
{
    for (int row = 0; row < programs_rows(g); row++) {
        const int n = programs_row_tokens(g, row);
        for (int i = 0; i < n; i++) {
            const int64_t token = programs_token_at(g, row, i);
            const float best = -programs_row_word(g, s, row, i);
            out->best[token] = isfinite(best) ? (int32_t)best : -1;
            out->nats[token] = programs_row_word(g, s, row, n + i);
        }
    }
}

enum wsc_err programs_run_loss(struct programs_grid *g, const struct programs_loss *l,
                               const struct programs_losses *out)
{
    struct programs_script s = {.features = l->logits.f, .n_samples = g->n_samples, .data = l};
    forward_steps(g, &s, l);
    enum wsc_err rc = programs_run_script(g, &s);
    if (!rc) programs_store_losses(g, &s, out);
    programs_script_fini(&s);
    return rc;
}

/* ---- backward -------------------------------------------------------------------------------- */

/* A token that is not in the loss gets factor 0 and no label, smoothed or not. */
static enum wsc_err mask_tokens(struct mesh_pe *pe, const struct programs_script *s,
                                const struct programs_step *step)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct programs_loss *l = s->data;
    const int row = programs_row_of(pe), n = programs_row_tokens(g, row);
    (void)step;
    for (int i = 0; i < n; i++) {
        const int64_t token = programs_token_at(g, row, i);
        if (l->mask[token]) continue;
        TRY(mesh_store(pe, l->tokens + 4 * (LABEL * g->pitch + i), 0));
        TRY(mesh_store(pe, l->tokens + 4 * (NATS * g->pitch + i), 0));
    }
    return n ? mesh_wait(pe, (int64_t)n * CYCLES_LABEL) : WSC_OK;
}

/* Factor of the gradient of a token. */
static float scale_of(const struct programs_loss *l, int64_t token)
{
    return l->weight ? l->scale * l->weight[token] : l->scale;
}

/* Multiply the factors of the tokens by their scales, if these differ. */
static enum wsc_err weigh_tokens(struct mesh_pe *pe, const struct programs_script *s,
                                 const struct programs_step *step)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct programs_loss *l = s->data;
    const int row = programs_row_of(pe), n = programs_row_tokens(g, row);
    (void)step;
    for (int i = 0; i < n; i++) {
        const union programs_word scale = {.value = scale_of(l, programs_token_at(g, row, i))};
        TRY(mesh_store(pe, l->tokens + 4 * (NATS * g->pitch + i), scale.bits));
    }
    return n ? mesh_wait(pe, (int64_t)n * CYCLES_LABEL) : WSC_OK;
}

/* Subtract the label's own part times the scale: the gradient of -log softmax. */
static enum wsc_err subtract_labels(struct mesh_pe *pe, const struct programs_script *s,
                                    const struct programs_step *step)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct programs_loss *l = s->data;
    const int row = programs_row_of(pe), n = programs_row_tokens(g, row);
    (void)step;
    for (int i = 0, slot; i < n; i++) {
        union programs_word x;
        if (!label_here(g, l, pe, i, &slot)) continue;
        const int address = programs_at(g, &l->logits, slot, i);
        TRY(mesh_load(pe, address, &x.bits));
        x.value -= (1 - l->even) * scale_of(l, programs_token_at(g, row, i));
        TRY(mesh_store(pe, address, x.bits));
    }
    return n ? mesh_wait(pe, (int64_t)n * CYCLES_LABEL) : WSC_OK;
}

enum wsc_err programs_run_loss_backward(struct programs_grid *g, const struct programs_loss *l)
{
    struct programs_script s = {.features = l->logits.f, .n_samples = g->n_samples, .data = l};
    const struct views v = views_of(g, l);
    const struct programs_map factor = {programs_scaled_reciprocal, g->divide_cycles};
    programs_op(&s, PROGRAMS_SHAPE_TOKENS, MESH_FMOVS, v.row[NATS], programs_number(l->scale),
                none);
    if (l->weight) programs_call(&s, weigh_tokens);
    programs_map(&s, PROGRAMS_SHAPE_TOKENS, factor, v.row[LABEL], v.row[SUM], v.row[NATS]);
    programs_call(&s, mask_tokens);
    programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMULS, v.logits, v.logits, v.row[LABEL]);
    if (l->even > 0) {
        programs_op(&s, PROGRAMS_SHAPE_TOKENS, MESH_FMULS, v.row[NATS], v.row[NATS],
                    programs_number(even_share(l)));
        programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FSUBS, v.logits, v.logits, v.row[NATS]);
    }
    programs_call(&s, subtract_labels);
    if (l->cap > 0)
        programs_cap_backward(&s, PROGRAMS_SHAPE_TILE, v.logits, programs_tile_view(l->capped));
    enum wsc_err rc = programs_run_script(g, &s);
    programs_script_fini(&s);
    return rc;
}
