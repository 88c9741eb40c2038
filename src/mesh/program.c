// SPDX-License-Identifier: Apache-2.0
#include "mesh_impl.h"

/* ---- programs -------------------------------------------------------------------------------- */

static enum wsc_err add_task(struct mesh *m, mesh_task_fn fn, enum mesh_priority priority,
                             int *index)
{
    for (int i = 0; i < m->n_tasks; i++) {
        *index = i;
        if (m->task[i].fn == fn && m->task[i].priority == priority) return WSC_OK;
    }
    if (m->n_tasks == MESH_NONE - 1) return WSC_RAISE(WSC_CAPACITY, "mesh: too many tasks");
    m->task[m->n_tasks] = (struct mesh_task_entry){fn, priority};
    *index = m->n_tasks++;
    return WSC_OK;
}

static enum wsc_err check_id(const struct mesh *m, struct mesh_rect rect, int id)
{
    TRY(mesh_check_rect(m, rect));
    if (id >= 0 && id < MESH_TASKS) return WSC_OK;
    return WSC_RAISE(WSC_USAGE, "mesh: task %d, expected 0 to %d", id, MESH_TASKS - 1);
}

enum wsc_err mesh_task(struct mesh *m, struct mesh_rect rect, int id, mesh_task_fn fn,
                       enum mesh_priority priority)
{
    int index;
    TRY(check_id(m, rect, id));
    TRY(add_task(m, fn, priority, &index));
    for (int y = rect.y; y < rect.y + rect.h; y++)
        for (int x = rect.x; x < rect.x + rect.w; x++)
            mesh_binding_of(mesh_pe_at(m, x, y))->task[id] = (uint8_t)(index + 1);
    return WSC_OK;
}

enum wsc_err mesh_start(struct mesh *m, struct mesh_rect rect, int id)
{
    TRY(check_id(m, rect, id));
    for (int y = rect.y; y < rect.y + rect.h; y++) {
        for (int x = rect.x; x < rect.x + rect.w; x++) {
            if (!mesh_binding_of(mesh_pe_at(m, x, y))->task[id])
                return WSC_RAISE(WSC_USAGE, "PE (%d, %d): there is no local task %d", x, y, id);
            mesh_pe_at(m, x, y)->activated |= 1ULL << id;
        }
    }
    return WSC_OK;
}

static enum wsc_err bind_queue(struct mesh_pe *pe, bool in, int queue, int colour)
{
    struct mesh_binding *b = mesh_binding_of(pe);
    uint8_t *of = in ? b->in_of : b->out_of, *bound = &b->colour[in ? queue : MESH_N_IN + queue];
    if (of[colour] == queue + 1) return WSC_OK;
    if (*bound != MESH_NONE || of[colour])
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): %s queue %d or colour %d is bound already", pe->x,
                         pe->y, in ? "input" : "output", queue, colour);
    *bound = (uint8_t)colour;
    of[colour] = (uint8_t)(queue + 1);
    return WSC_OK;
}

static enum wsc_err bind(struct mesh *m, struct mesh_rect rect, bool in, int queue, int colour)
{
    TRY(mesh_check_rect(m, rect));
    TRY(mesh_check_colour(colour));
    int n = in ? MESH_N_IN : MESH_N_OUT;
    if (m->linked || queue < 0 || queue >= n)
        return WSC_RAISE(WSC_USAGE, "mesh: %s queue %d, expected 0 to %d before the start",
                         in ? "input" : "output", queue, n - 1);
    for (int y = rect.y; y < rect.y + rect.h; y++)
        for (int x = rect.x; x < rect.x + rect.w; x++)
            TRY(bind_queue(mesh_pe_at(m, x, y), in, queue, colour));
    return WSC_OK;
}

enum wsc_err mesh_input_queue(struct mesh *m, struct mesh_rect rect, int queue, int colour)
{
    return bind(m, rect, true, queue, colour);
}

enum wsc_err mesh_output_queue(struct mesh *m, struct mesh_rect rect, int queue, int colour)
{
    return bind(m, rect, false, queue, colour);
}

enum wsc_err mesh_data_task(struct mesh *m, struct mesh_rect rect, int colour, mesh_task_fn fn,
                            enum mesh_priority priority)
{
    int index;
    TRY(mesh_check_rect(m, rect));
    TRY(mesh_check_colour(colour));
    TRY(add_task(m, fn, priority, &index));
    for (int y = rect.y; y < rect.y + rect.h; y++) {
        for (int x = rect.x; x < rect.x + rect.w; x++) {
            struct mesh_binding *b = mesh_binding_of(mesh_pe_at(m, x, y));
            if (!b->in_of[colour])
                return WSC_RAISE(WSC_USAGE,
                                 "PE (%d, %d): a data task for colour %d, which has no "
                                 "input queue",
                                 x, y, colour);
            b->data_task[b->in_of[colour] - 1] = (uint8_t)(index + 1);
        }
    }
    return WSC_OK;
}
