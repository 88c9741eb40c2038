// SPDX-License-Identifier: Apache-2.0
/* Runs items whose multiply-adds arriving data start (mesh_arm). When an item has ended, by a
 * control wavelet or by its count of wavelets, its sums leave on a microthread as soon as those
 * before have ended, and the next item is bound to a free accumulator. program_product.c,
 * program_attention_out.c and program_columns.c define the items. */
#include "program_trigger.h"
#include "program_resources.h"

#include <wsc/check.h>

enum { MOST_KEPT = 64 }; /* items for which `arrived` is kept */

static struct programs_items *state_of(const struct mesh_pe *pe)
{
    struct programs_grid *g = programs_grid_of(pe);
    return &g->items[programs_index(g, pe)];
}

/* True when data have arrived for one of the items first .. end - 1. */
static bool any_arrived(const struct programs_items *s, int first, int end)
{
    for (int i = first; i < end; i++)
        if (s->arrived >> i % MOST_KEPT & 1) return true;
    return false;
}

static void end_item(struct programs_items *s, bool arrived)
{
    const uint64_t bit = 1ULL << s->ended % MOST_KEPT;
    s->arrived = (s->arrived & ~bit) | (arrived ? bit : 0);
    s->ended++;
}

/* The first of the items that share an accumulator with item @p i. */
static int first_part(const struct programs_trigger *t, int i)
{
    return i - i % t->parts;
}

/* Start sending the sums of the next items, in their order and one at a time. */
static enum wsc_err send_sums(struct mesh_pe *pe, const struct programs_trigger *t,
                              struct programs_items *s)
{
    while (s->sent == s->summed && s->sent < s->ended) {
        struct programs_sum sum = {.thread = PROGRAMS_THREAD_SUM,
                                   .activate = PROGRAMS_TASK_SUMMED + 1};
        const int i = s->sent++;
        if (t->sum(pe, i, any_arrived(s, first_part(t, i), i + 1), &sum))
            return programs_sum_part(pe, &sum);
        s->summed++;
    }
    return WSC_OK;
}

/* Allow or block the task that ends items. It is blocked while the next item is not bound, since
 * the control wavelet of an item without data may arrive before that. */
static enum wsc_err allow_ends(struct mesh_pe *pe, struct programs_items *s, bool let)
{
    if (s->held == !let) return WSC_OK;
    s->held = !let;
    return let ? mesh_unblock(pe, PROGRAMS_TASK_ITEM) : mesh_block(pe, PROGRAMS_TASK_ITEM);
}

/* Bind item @p i to its accumulator; an item for which no data will arrive ends at once. */
static enum wsc_err bind_item(struct mesh_pe *pe, const struct programs_trigger *t,
                              struct programs_items *s, int i)
{
    struct mesh_trigger next = {.thread = PROGRAMS_THREAD_TRIGGER,
                                .wait = (uint16_t)programs_grid_of(pe)->arrival_eighths,
                                .activate = PROGRAMS_TASK_ITEM + 1,
                                .writes = !any_arrived(s, first_part(t, i), i)};
    if (t->item(pe, i, &next)) {
        TRY(mesh_arm(pe, &next));
        return allow_ends(pe, s, true);
    }
    end_item(s, false);
    return send_sums(pe, t, s);
}

/* Bind the next item if an accumulator is free. */
static enum wsc_err bind_items(struct mesh_pe *pe, const struct programs_trigger *t,
                               struct programs_items *s)
{
    for (int n = t->items(pe); s->ended < n && s->bound == s->ended; s->bound++) {
        if (s->ended / t->parts - s->summed / t->parts >= t->accumulators)
            return allow_ends(pe, s, false);
        TRY(bind_item(pe, t, s, s->ended));
    }
    return WSC_OK;
}

static enum wsc_err proceed(struct mesh_pe *pe)
{
    const struct programs_trigger *t = programs_grid_of(pe)->trigger;
    struct programs_items *s = state_of(pe);
    TRY(send_sums(pe, t, s));
    return bind_items(pe, t, s);
}

static enum wsc_err start(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return proceed(pe);
}

/* Task after the last multiply-add of an item. */
static enum wsc_err on_item(struct mesh_pe *pe, uint32_t data)
{
    struct programs_items *s = state_of(pe);
    (void)data;
    end_item(s, mesh_triggered(pe) > 0);
    return proceed(pe);
}

/* Task after the sums of the oldest item, with its parts, have ended. The sums of the next item
 * are started before these are used, since the line of PEs waits for them. */
static enum wsc_err on_summed(struct mesh_pe *pe, uint32_t data)
{
    const struct programs_trigger *t = programs_grid_of(pe)->trigger;
    struct programs_items *s = state_of(pe);
    (void)data;
    const int i = s->summed++;
    TRY(send_sums(pe, t, s));
    if (t->ended) TRY(t->ended(pe, i));
    return bind_items(pe, t, s);
}

enum wsc_err programs_trigger_bind(struct programs_grid *g, struct mesh_rect rect)
{
    const struct programs_trigger *t = g->trigger;
    WSC_CHECK(t->accumulators >= 1 && t->parts >= 1 &&
                  (t->accumulators + 1) * t->parts <= MOST_KEPT,
              "%d accumulators of %d parts", t->accumulators, t->parts);
    TRY(mesh_task(g->m, rect, PROGRAMS_TASK_ITEM, on_item, MESH_MEDIUM));
    TRY(mesh_task(g->m, rect, PROGRAMS_TASK_SUMMED, on_summed, MESH_MEDIUM));
    TRY(mesh_task(g->m, rect, PROGRAMS_TASK_MAIN, start, MESH_HIGH));
    return mesh_start(g->m, rect, PROGRAMS_TASK_MAIN);
}

uint32_t programs_item_end(void)
{
    static const enum mesh_command nothing = MESH_NOP;
    return mesh_control(&nothing, 1, PROGRAMS_TASK_ITEM);
}
