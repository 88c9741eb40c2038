// SPDX-License-Identifier: Apache-2.0
/* Binds programs to PEs before the first cycle: tasks to ids or colours, queues to colours, the
 * tasks that start; equal bindings are kept once. Ids follow the SDK documentation and differ
 * between WSE-2 and WSE-3. task.c runs what is bound here. */
#include "program.h"
#include "mesh_state.h"

#include <wsc/hash.h>
#include <wsc/mem.h>

#include <string.h>

/* ---- bindings -------------------------------------------------------------------------------- */

static int32_t *slot_of(const struct mesh_bindings *b, const struct mesh_binding *item)
{
    uint64_t at = wsc_hash64(item, sizeof *item, 0) % (uint64_t)b->n_slots;
    while (b->slot[at] && memcmp(&b->item[b->slot[at] - 1], item, sizeof *item) != 0)
        at = (at + 1) % (uint64_t)b->n_slots;
    return &b->slot[at];
}

/* Grow the hash table so that it stays at most half full. */
static enum wsc_err grow_slots(struct mesh_bindings *b)
{
    enum { FEWEST = 64 };
    if (2 * (b->n + 1) <= b->n_slots) return WSC_OK;
    wsc_free(b->slot);
    b->n_slots = b->n_slots ? 2 * b->n_slots : FEWEST;
    TRY_NEW(b->slot, WSC_MEM_MESH, b->n_slots);
    for (int32_t i = 0; i < b->n; i++)
        *slot_of(b, &b->item[i]) = i + 1;
    return WSC_OK;
}

/* Set @p number to that of the binding, which is added if it is new. */
static enum wsc_err intern(struct mesh_bindings *b, const struct mesh_binding *item,
                           int32_t *number)
{
    TRY(grow_slots(b));
    int32_t *slot = slot_of(b, item);
    if (!*slot) {
        TRY_GROW(b->item, WSC_MEM_MESH, b->capacity, b->n + 1);
        b->item[b->n++] = *item;
        *slot = b->n;
    }
    *number = *slot - 1;
    return WSC_OK;
}

enum wsc_err mesh_bindings_clear(struct mesh *m)
{
    struct mesh_bindings *b = &m->bindings;
    struct mesh_binding empty;
    int32_t first;
    memset(&empty, 0, sizeof empty);
    memset(empty.colour, MESH_NONE, sizeof empty.colour);
    b->n = 0;
    if (b->n_slots) memset(b->slot, 0, (size_t)b->n_slots * sizeof *b->slot);
    return intern(b, &empty, &first);
}

void mesh_bindings_free(struct mesh *m)
{
    wsc_free(m->bindings.item);
    wsc_free(m->bindings.slot);
}

static enum wsc_err rebind(struct mesh_pe *pe, const struct mesh_binding *binding)
{
    return intern(&pe->region->m->bindings, binding, &pe->binding);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* Set @p index to the number of a task function with its priority. PEs store numbers, since a
 * fabric has few different tasks. */
static enum wsc_err add_task(struct mesh *m, struct mesh_rect at, mesh_task_fn fn,
                             enum mesh_priority priority, int *index)
{
    for (int i = 0; i < m->n_tasks; i++) {
        *index = i;
        if (m->task[i].fn == fn && m->task[i].priority == priority) return WSC_OK;
    }
    if (m->n_tasks == MESH_NONE - 1)
        return WSC_RAISE(WSC_CAPACITY, "PE (%d, %d): more than %d different tasks", at.x, at.y,
                         m->n_tasks);
    m->task[m->n_tasks] = (struct mesh_task_entry){fn, priority};
    *index = m->n_tasks++;
    return WSC_OK;
}

static enum wsc_err check_id(const struct mesh *m, struct mesh_rect rect, int id)
{
    TRY(mesh_check_rect(m, rect));
    if (id >= 0 && id < MESH_TASKS) return WSC_OK;
    return WSC_RAISE(WSC_USAGE, "PE (%d, %d): task %d, expected 0 to %d", rect.x, rect.y, id,
                     MESH_TASKS - 1);
}

static enum wsc_err bind_task(struct mesh_pe *pe, int id, int index)
{
    struct mesh_binding b = *mesh_binding_of(pe);
    b.task[id] = (uint8_t)(index + 1);
    return rebind(pe, &b);
}

enum wsc_err mesh_task(struct mesh *m, struct mesh_rect rect, int id, mesh_task_fn fn,
                       enum mesh_priority priority)
{
    int index;
    TRY(check_id(m, rect, id));
    TRY(add_task(m, rect, fn, priority, &index));
    for (int y = rect.y; y < rect.y + rect.h; y++)
        for (int x = rect.x; x < rect.x + rect.w; x++)
            TRY(bind_task(mesh_pe_at(m, x, y), id, index));
    return WSC_OK;
}

/* SDK documentation: local tasks have the ids 0 to 30 on WSE-2 and 8 to 30 on WSE-3. */
enum wsc_err mesh_check_local(const struct mesh *m, struct mesh_rect at, int id)
{
    enum { LAST = 30 };
    int first = m->config.arch == MESH_WSE3 ? 8 : 0;
    if (id >= first && id <= LAST) return WSC_OK;
    return WSC_RAISE(WSC_USAGE,
                     "PE (%d, %d): task %d cannot be activated: local tasks are %d to %d", at.x,
                     at.y, id, first, LAST);
}

enum wsc_err mesh_start(struct mesh *m, struct mesh_rect rect, int id)
{
    TRY(check_id(m, rect, id));
    TRY(mesh_check_local(m, rect, id));
    for (int y = rect.y; y < rect.y + rect.h; y++) {
        for (int x = rect.x; x < rect.x + rect.w; x++) {
            if (!mesh_binding_of(mesh_pe_at(m, x, y))->task[id])
                return WSC_RAISE(WSC_USAGE, "PE (%d, %d): there is no local task %d", x, y, id);
            mesh_pe_at(m, x, y)->activated |= 1ULL << id;
        }
    }
    return WSC_OK;
}

/* Bind a queue to a colour. A queue has one colour, and a colour one queue for each direction; an
 * equal binding may be repeated. */
static enum wsc_err bind_queue(struct mesh_pe *pe, bool in, int queue, int colour)
{
    struct mesh_binding b = *mesh_binding_of(pe);
    uint8_t *of = in ? b.in_of : b.out_of, *bound = &b.colour[in ? queue : MESH_N_IN + queue];
    if (of[colour] == queue + 1) return WSC_OK;
    if (*bound != MESH_NONE || of[colour])
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): %s queue %d or colour %d is bound already", pe->x,
                         pe->y, in ? "input" : "output", queue, colour);
    *bound = (uint8_t)colour;
    of[colour] = (uint8_t)(queue + 1);
    return rebind(pe, &b);
}

static enum wsc_err bind(struct mesh *m, struct mesh_rect rect, bool in, int queue, int colour)
{
    TRY(mesh_check_rect(m, rect));
    TRY(mesh_check_colour(rect, colour));
    int n = in ? MESH_N_IN : MESH_N_OUT;
    if (m->linked || queue < 0 || queue >= n)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): %s queue %d, expected 0 to %d before the start",
                         rect.x, rect.y, in ? "input" : "output", queue, n - 1);
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

static enum wsc_err bind_data_task(struct mesh_pe *pe, int colour, int index)
{
    struct mesh_binding b = *mesh_binding_of(pe);
    if (!b.in_of[colour])
        return WSC_RAISE(WSC_USAGE,
                         "PE (%d, %d): a data task for colour %d, which has no input queue", pe->x,
                         pe->y, colour);
    b.data_task[b.in_of[colour] - 1] = (uint8_t)(index + 1);
    return rebind(pe, &b);
}

enum wsc_err mesh_data_task(struct mesh *m, struct mesh_rect rect, int colour, mesh_task_fn fn,
                            enum mesh_priority priority)
{
    int index;
    TRY(mesh_check_rect(m, rect));
    TRY(mesh_check_colour(rect, colour));
    TRY(add_task(m, rect, fn, priority, &index));
    for (int y = rect.y; y < rect.y + rect.h; y++)
        for (int x = rect.x; x < rect.x + rect.w; x++)
            TRY(bind_data_task(mesh_pe_at(m, x, y), colour, index));
    return WSC_OK;
}
