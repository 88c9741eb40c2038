// SPDX-License-Identifier: Apache-2.0
/* Stores attention scores key by key on the columns of their head. It computes which column owns a
 * key and where its row lies, and sends rows of scores along the head's columns. */
#include "program_scores.h"
#include "program_chain.h"
#include "program_grid.h"
#include "program_resources.h"

static int keys_per_column(const struct programs_grid *g, const struct programs_features *f)
{
    return (int)((g->T + f->group_cols - 1) / f->group_cols);
}

int64_t programs_score_words(const struct programs_grid *g, const struct programs_features *f)
{
    return (int64_t)keys_per_column(g, f) * f->heads_per_pe * g->tokens;
}

int programs_key_owner(const struct programs_grid *g, const struct programs_features *f, int key,
                       int *row)
{
    *row = key % keys_per_column(g, f);
    return key / keys_per_column(g, f);
}

int programs_key_of(const struct programs_grid *g, const struct programs_features *f, int position,
                    int row)
{
    const int per = keys_per_column(g, f);
    return row < per ? position * per + row : (int)g->T;
}

int programs_keys_at(const struct programs_grid *g, const struct programs_features *f, int position)
{
    const int64_t per = keys_per_column(g, f), left = g->T - per * position;
    return left <= 0 ? 0 : (int)(left < per ? left : per);
}

void programs_key_seen(const struct programs_grid *g, const struct programs_shaping *s, int lane,
                       int key, int64_t *first, int64_t *end)
{
    const int64_t token = g->key_token[key], at = lane * s->lane_step + token;
    int64_t after = g->T;
    if (s->window && token >= s->sinks) after = s->window;
    if (s->span && s->span[at] < after) after = s->span[at];
    *first = s->before ? token - s->before[at] : 0;
    *end = s->attends && !s->attends[at] ? 0 : token + after + 1;
}

/* Range of keys whose scores the PE sends: at position 0 its own and, as they arrive, those of all
 * other positions. */
static void keys_to_send(const struct programs_grid *g, const struct programs_features *f,
                         int position, int *first, int *end)
{
    const int per = keys_per_column(g, f);
    const int before = per * position;
    *first = before < g->T ? before : (int)g->T;
    *end = position && *first + per < g->T ? *first + per : (int)g->T;
}

/* Send one row of scores: an own one from memory; at position 0 also those received from other
 * columns. */
static enum wsc_err send_key(struct mesh_pe *pe, const struct programs_score_rows *s, int position,
                             int key)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const int y = mesh_y(pe), n = programs_queries(g, y, key);
    int row, owner = programs_key_owner(g, s->f, key, &row);
    const enum mesh_code own = s->half ? MESH_FS2H : MESH_FMOVS;
    const enum mesh_code relay = programs_code(s->half, MESH_FMOVS);
    const struct mesh_op op = {.code = (uint8_t)(owner == position ? own : relay),
                               .thread = PROGRAMS_THREAD_SEND_VECTOR,
                               .activate = PROGRAMS_TASK_NEXT + 1,
                               .dst = mesh_out(position ? s->gather->gather : s->gather->colour, n),
                               .a = owner == position
                                        ? mesh_mem(programs_score_at(g, s->scores, row, y, key), n)
                                        : mesh_in(s->gather->gather, n)};
    return mesh_issue(pe, &op);
}

/* Rows of scores are sent key by key; after the last one the rows of the columns further out may
 * pass. */
enum wsc_err programs_send_scores(struct mesh_pe *pe, const struct programs_score_rows *s)
{
    struct programs_grid *g = programs_grid_of(pe);
    const int position = programs_column_of(pe) % s->f->group_cols, at = programs_index(g, pe);
    int first, end, key;
    keys_to_send(g, s->f, position, &first, &end);
    for (key = first + g->scored[at]; key < end && !programs_queries(g, mesh_y(pe), key); key++) {
    }
    g->scored[at] = key + 1 - first;
    if (key < end) return send_key(pe, s, position, key);
    if (key > end) return WSC_OK;
    return programs_gather_pass(pe, s->gather, position, s->f->group_cols,
                                PROGRAMS_THREAD_SEND_VECTOR);
}

enum wsc_err programs_route_scores(struct programs_grid *g, const struct programs_score_rows *s,
                                   mesh_task_fn send)
{
    for (int i = 0; i < programs_n_head_lines(g, s->f); i++) {
        const struct programs_line line = programs_head_line(g, s->f, i);
        const struct mesh_rect pes = {line.x, line.y, line.n, 1};
        TRY(programs_route_gather(g, &line, s->gather));
        TRY(mesh_task(g->m, pes, PROGRAMS_TASK_NEXT, send, MESH_LOW));
        TRY(mesh_start(g->m, pes, PROGRAMS_TASK_NEXT));
    }
    return WSC_OK;
}
