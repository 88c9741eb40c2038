// SPDX-License-Identifier: Apache-2.0
/* Computes the squared error of the output of first tokens. The PE that holds the output of a
 * token subtracts its target, which like a label is an input of the step, and the squares leave
 * along the row. */
#include "program_regression.h"
#include "program_vector_ops.h"

#include <wsc/cycles_ops.h>

static const struct programs_view none = {.kind = PROGRAMS_VIEW_NONE};

/* Vectors of tokens, as struct programs_losses has them. */
enum { BEST, ERROR, N_ROWS };

static enum wsc_err subtract_targets(struct mesh_pe *pe, const struct programs_script *s,
                                     const struct programs_step *step)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct programs_loss *l = s->data;
    const int row = programs_row_of(pe), n = programs_row_tokens(g, row);
    (void)step;
    if (l->logits.f->column[0] != programs_column_of(pe)) return WSC_OK;
    for (int i = 0; i < n; i++) {
        const int64_t token = programs_token_at(g, row, i);
        const int address = programs_at(g, &l->logits, l->logits.f->slot[0], i);
        union programs_word x;
        TRY(mesh_load(pe, address, &x.bits));
        x.value = l->mask[token] ? x.value - l->targets[token / g->T] : 0;
        TRY(mesh_store(pe, address, x.bits));
    }
    return n ? mesh_wait(pe, (int64_t)n * CYCLES_LABEL) : WSC_OK;
}

enum wsc_err programs_run_regression(struct programs_grid *g, const struct programs_loss *l,
                                     const struct programs_losses *out)
{
    const enum programs_shape tokens = PROGRAMS_SHAPE_TOKENS;
    const struct programs_view output = programs_tile_view(&l->logits);
    const struct programs_view best = programs_view(PROGRAMS_VIEW_TOKENS, l->tokens);
    const struct programs_view error =
        programs_view(PROGRAMS_VIEW_TOKENS, l->tokens + 4 * ERROR * g->pitch);
    struct programs_script s = {.features = l->logits.f, .n_samples = g->n_samples, .data = l};
    if (l->scale != 1)
        programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMULS, output, output, programs_number(l->scale));
    programs_call(&s, subtract_targets);
    programs_op(&s, tokens, MESH_FMOVS, best, programs_number(0), none);
    programs_op(&s, tokens, MESH_FMOVS, error, programs_number(0), none);
    programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMULS, error, output, output);
    programs_row_sum(&s, MESH_FADDS, error, 1);
    programs_row_out(&s, best, N_ROWS);
    enum wsc_err rc = programs_run_script(g, &s);
    if (!rc) programs_store_losses(g, &s, out);
    programs_script_fini(&s);
    return rc;
}

enum wsc_err programs_run_regression_backward(struct programs_grid *g,
                                              const struct programs_loss *l)
{
    struct programs_script s = {.features = l->logits.f, .n_samples = g->n_samples};
    const struct programs_view output = programs_tile_view(&l->logits);
    programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMULS, output, output, programs_number(2 * l->scale));
    enum wsc_err rc = programs_run_script(g, &s);
    programs_script_fini(&s);
    return rc;
}
