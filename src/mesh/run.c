// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

#include <string.h>

/* ---- programs -------------------------------------------------------------------------------- */

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

enum wsc_err mesh_task(struct mesh *m, struct mesh_rect rect, int id, mesh_task_fn fn,
                       enum mesh_priority priority)
{
    int index;
    TRY(check_id(m, rect, id));
    TRY(add_task(m, rect, fn, priority, &index));
    for (int y = rect.y; y < rect.y + rect.h; y++)
        for (int x = rect.x; x < rect.x + rect.w; x++)
            mesh_pe_at(m, x, y)->task[id] = (uint8_t)(index + 1);
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
            if (!mesh_pe_at(m, x, y)->task[id])
                return WSC_RAISE(WSC_USAGE, "PE (%d, %d): there is no local task %d", x, y, id);
            mesh_pe_at(m, x, y)->activated |= 1ULL << id;
        }
    }
    return WSC_OK;
}

static enum wsc_err bind_queue(struct mesh_pe *pe, bool in, int queue, int colour)
{
    struct mesh_queue *q = in ? &pe->in[queue] : &pe->out[queue];
    uint8_t *of = in ? pe->in_of : pe->out_of;
    if (of[colour] == queue + 1) return WSC_OK;
    if (q->colour != MESH_NONE || of[colour])
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): %s queue %d or colour %d is bound already", pe->x,
                         pe->y, in ? "input" : "output", queue, colour);
    q->colour = (uint8_t)colour;
    of[colour] = (uint8_t)(queue + 1);
    return WSC_OK;
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

enum wsc_err mesh_data_task(struct mesh *m, struct mesh_rect rect, int colour, mesh_task_fn fn,
                            enum mesh_priority priority)
{
    int index;
    TRY(mesh_check_rect(m, rect));
    TRY(mesh_check_colour(rect, colour));
    TRY(add_task(m, rect, fn, priority, &index));
    for (int y = rect.y; y < rect.y + rect.h; y++) {
        for (int x = rect.x; x < rect.x + rect.w; x++) {
            struct mesh_pe *pe = mesh_pe_at(m, x, y);
            if (!pe->in_of[colour])
                return WSC_RAISE(WSC_USAGE,
                                 "PE (%d, %d): a data task for colour %d, which has no "
                                 "input queue",
                                 x, y, colour);
            pe->in[pe->in_of[colour] - 1].task = (uint8_t)index;
        }
    }
    return WSC_OK;
}

/* ---- time ------------------------------------------------------------------------------------ */

enum wsc_err mesh_timer_add(struct mesh *m, int64_t cycle, int32_t pe)
{
    struct mesh_bucket *b = &m->wheel[cycle % MESH_WHEEL];
    if (b->n == b->capacity) {
        int capacity = b->capacity ? 2 * b->capacity : 16;
        void *timer = wsc_realloc(WSC_MEM_MESH, b->timer, (size_t)capacity, sizeof *b->timer);
        if (!timer) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "timers");
        b->timer = timer;
        b->capacity = capacity;
    }
    b->timer[b->n++] = (struct mesh_timer){cycle, pe};
    m->n_timers++;
    return WSC_OK;
}

/* PEs whose time has come join the list of this cycle. */
static void fire_timers(struct mesh *m)
{
    struct mesh_bucket *b = &m->wheel[m->now % MESH_WHEEL];
    int kept = 0;
    for (int i = 0; i < b->n; i++) {
        struct mesh_timer t = b->timer[i];
        if (t.cycle > m->now) {
            b->timer[kept++] = t;
            continue;
        }
        m->n_timers--;
        struct mesh_pe *pe = &m->pe[t.pe];
        if (pe->listed == m->now) continue;
        pe->listed = m->now;
        m->pes.item[m->pes.n++] = t.pe;
    }
    b->n = kept;
}

static int64_t bucket_first(const struct mesh_bucket *b)
{
    int64_t first = INT64_MAX;
    for (int i = 0; i < b->n; i++)
        if (b->timer[i].cycle < first) first = b->timer[i].cycle;
    return first;
}

static int64_t next_timer(const struct mesh *m)
{
    int64_t first = INT64_MAX;
    for (int64_t i = 1; i <= MESH_WHEEL; i++) {
        int64_t cycle = bucket_first(&m->wheel[(m->now + i) % MESH_WHEEL]);
        if (cycle < first) first = cycle;
        if (first == m->now + i) break;
    }
    return first;
}

static bool source_can_send(const struct mesh *m)
{
    for (int i = 0; i < m->n_sources; i++) {
        const struct mesh_source *s = &m->source[i];
        const struct mesh_channel *ch = &m->channel[s->channel];
        if (s->next < s->n && (ch->rx & s->side) && ch->n < MESH_FIFO) return true;
    }
    return false;
}

/* The next cycle in which something happens; false when nothing ever will. */
static bool next_cycle(struct mesh *m)
{
    bool soon = m->next_routers.n || m->next_pes.n || source_can_send(m);
    if (!soon && !m->n_timers) return false;
    struct mesh_list routers = m->routers, pes = m->pes;
    m->routers = m->next_routers;
    m->pes = m->next_pes;
    m->next_routers = routers;
    m->next_pes = pes;
    m->next_routers.n = m->next_pes.n = 0;
    m->now = soon ? m->now + 1 : next_timer(m);
    return true;
}

static enum wsc_err start(struct mesh *m)
{
    if (m->linked)
        return WSC_RAISE(WSC_USAGE,
                         "mesh: a program runs once; mesh_clear makes room for the next");
    TRY(mesh_link(m));
    for (int64_t i = 0; i < m->n_pes; i++) {
        struct mesh_pe *pe = &m->pe[i];
        if (!pe->activated) continue;
        pe->listed = 0;
        m->pes.item[m->pes.n++] = (int32_t)i;
    }
    return WSC_OK;
}

static enum wsc_err all_cycles(struct mesh *m)
{
    do {
        if (m->now >= m->config.max_cycles) return mesh_check_limit(m);
        fire_timers(m);
        TRY(mesh_sources_cycle(m));
        TRY(mesh_routers_cycle(m));
        TRY(mesh_pes_cycle(m));
    } while (next_cycle(m));
    return WSC_OK;
}

enum wsc_err mesh_run(struct mesh *m, struct mesh_stats *stats)
{
    TRY(start(m));
    if (m->watch) TRY(mesh_watch_begin(m));
    TRY(all_cycles(m));
    m->stats.cycles = m->last;
    *stats = m->stats;
    TRY(mesh_check_end(m));
    return m->watch ? mesh_watch_finish(m, stats->cycles) : WSC_OK;
}
