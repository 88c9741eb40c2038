// SPDX-License-Identifier: Apache-2.0
/* Reports the state of a fabric in which nothing can move: operations that wait for input or
 * output, wavelets held in routers and queues, edges that could not deliver. It names the first of
 * them with PE, colour and reason; at the limit of cycles it names those that still move. run.c
 * calls it at the end of a run. */
#include "deadlock.h"
#include "mesh_channel.h"
#include "mesh_queue.h"
#include "mesh_share.h"
#include "mesh_state.h"
#include "region.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAMED = 8, TEXT = 1024 };

/* What a PE waits for: a wavelet of a colour to arrive or to leave, the router where it is stopped
 * (`at`), and the PE that has to act first (`on`; -1: none). */
struct wait {
    int colour;
    bool sends;
    int elsewhere; /* the input that the router at `at` takes instead, or -1 */
    bool control;  /* a control wavelet stands before what the PE waits for */
    int64_t at, on;
};

/* Append to a text of TEXT bytes; what does not fit is cut. */
__attribute__((format(printf, 2, 3))) static void add(char *text, const char *fmt, ...)
{
    va_list ap;
    size_t used = strlen(text);
    va_start(ap, fmt);
    (void)vsnprintf(text + used, TEXT - used, fmt, ap);
    va_end(ap);
}

static int64_t neighbour(const struct mesh *m, int64_t router, int d)
{
    int x = m->pe[router].x + mesh_dx[d], y = m->pe[router].y + mesh_dy[d];
    bool inside = x >= 0 && y >= 0 && x < m->config.w && y < m->config.h;
    return inside ? router + m->step[d] : -1;
}

/* The PE whose ramp feeds @p colour at @p router, with the current switch positions; -1 when there
 * is none. */
static int64_t sender(struct mesh *m, int64_t router, int colour)
{
    for (int64_t steps = 0; router >= 0 && steps < m->n_pes; steps++) {
        const struct mesh_channel *ch = mesh_channel_of(m, router, colour);
        if (!ch) return -1;
        if (mesh_gate_rx(ch->gate) & MESH_RAMP) return router;
        router = neighbour(m, router, mesh_direction((int)mesh_gate_rx(ch->gate)));
    }
    return -1;
}

/* True when channel @p to would take a wavelet from side @p d. The question is asked for the cycle
 * after the last one, since nothing moves any more. */
static bool open_after_all(const struct mesh *m, const struct mesh_channel *to, int d)
{
    return mesh_channel_open(to, m->region->now + 1, 1U << mesh_opposite[d]);
}

static bool is_full(const struct mesh_queue *q)
{
    return q->n == q->depth;
}

/* The direction of the output over which @p ch cannot send; 0 when it is the PE itself. */
static int stuck_output(struct mesh *m, const struct mesh_channel *ch)
{
    for (unsigned set = ch->tx & ~1U; set; set &= set - 1) {
        int d = mesh_direction((int)set);
        int32_t to = ch->to[d - 1];
        if (to >= 0 && !open_after_all(m, &m->channel[to], d)) return d;
    }
    return 0;
}

/* The router where wavelets of @p colour that enter @p router from @p side are stopped; @p
 * elsewhere: the input from which that router takes wavelets instead, or -1. */
static int64_t obstacle(struct mesh *m, int64_t router, int colour, int side, int *elsewhere)
{
    *elsewhere = -1;
    for (int64_t steps = 0; steps <= m->n_pes; steps++) { /* after n_pes steps a router repeats */
        const struct mesh_channel *ch = mesh_channel_of(m, router, colour);
        WSC_CHECK(ch, "colour %d has no route at router %lld", colour, (long long)router);
        if (!(mesh_gate_rx(ch->gate) & 1U << side)) {
            *elsewhere = mesh_direction((int)mesh_gate_rx(ch->gate));
            return router;
        }
        int d = mesh_channel_count(ch, ch->gate) ? stuck_output(m, ch) : 0;
        if (!d) return router;
        router = neighbour(m, router, d);
        side = mesh_opposite[d];
    }
    return -1;
}

/* True when a control wavelet is first in the input queue, so that data after it must wait. */
static bool control_is_first(const struct mesh_pe *pe, int queue)
{
    const struct mesh_queue *q = mesh_queue_of(pe, queue);
    return q->n && q->entry[q->head] & MESH_CONTROL_BIT;
}

/* The threads of a PE that have to end. A data-triggered operation may wait for data for ever,
 * unless it is all that the rest of a task can wait for. */
static unsigned unfinished(const struct mesh_pe *pe)
{
    unsigned triggered = 0;
    for (unsigned set = pe->threads; set; set &= set - 1)
        if (mesh_trigger_waits(mesh_thread_of(pe->region, pe, __builtin_ctz(set))))
            triggered |= set & -set;
    const unsigned others = pe->threads & ~triggered;
    return others || pe->next_todo == pe->n_todo ? others : triggered;
}

/* Set @p w to what PE @p i waits for: that of its first thread that cannot continue. False when no
 * thread waits. */
static bool waits(struct mesh *m, int64_t i, struct wait *w)
{
    const struct mesh_pe *pe = &m->pe[i];
    for (unsigned set = unfinished(pe); set; set &= set - 1) {
        const struct mesh_thread *t = mesh_thread_of(pe->region, pe, __builtin_ctz(set));
        w->sends = t->out != MESH_NONE && is_full(mesh_queue_of(pe, MESH_N_IN + t->out));
        if (!w->sends && t->in == MESH_NONE) continue;
        w->colour = mesh_queue_of(pe, w->sends ? MESH_N_IN + t->out : t->in)->colour;
        w->elsewhere = -1;
        w->control = !w->sends && control_is_first(pe, t->in);
        w->at = w->sends ? obstacle(m, i, w->colour, 0, &w->elsewhere) : sender(m, i, w->colour);
        w->on = w->control ? i : w->at;
        if (w->elsewhere >= 0) w->on = sender(m, w->at, w->colour);
        return true;
    }
    return false;
}

static void name_wait(struct mesh *m, char *text, int64_t i, const struct wait *w)
{
    add(text, "PE (%d, %d) waits %s colour %d", m->pe[i].x, m->pe[i].y,
        w->sends ? "to send" : "for", w->colour);
    if (w->at >= 0)
        add(text, " %s PE (%d, %d)", w->sends ? "held up at" : "from", m->pe[w->at].x,
            m->pe[w->at].y);
    if (w->elsewhere >= 0)
        add(text, ", which now takes it from the %s", mesh_direction_name(w->elsewhere));
    if (w->control) add(text, " after a control wavelet, whose task cannot start");
}

/* Follow the wait-for graph from PE @p first until a PE waits for none or was visited. A PE that
 * was visited in this search closes a cycle; @p on_cycle is that PE. */
static bool find_cycle(struct mesh *m, int32_t *mark, int64_t first, int64_t *on_cycle)
{
    struct wait w;
    int64_t i = first;
    while (i >= 0 && !mark[i] && waits(m, i, &w)) {
        mark[i] = (int32_t)first + 1;
        i = w.on;
    }
    *on_cycle = i;
    return i >= 0 && mark[i] == first + 1;
}

static void name_cycle(struct mesh *m, char *text, int64_t first)
{
    struct wait w;
    int64_t i = first;
    add(text, "; a cycle:");
    for (int n = 0; n < MAX_NAMED && waits(m, i, &w); n++) {
        add(text, " PE (%d, %d) on", m->pe[i].x, m->pe[i].y);
        i = w.on;
        if (i == first) break;
    }
    add(text, i == first ? " PE (%d, %d)" : " PE (%d, %d) and so on", m->pe[i].x, m->pe[i].y);
}

/* The first cycle in which nothing moved. */
static int64_t standstill(const struct mesh *m)
{
    int64_t cycle = 0;
    for (int i = 0; i < m->n_regions; i++) {
        if (m->region[i].last > cycle) cycle = m->region[i].last;
        if (m->region[i].visited > cycle) cycle = m->region[i].visited;
    }
    return cycle;
}

/* Report a deadlock with one cycle of the wait-for graph, which is enough for the message. The
 * search starts at every waiting PE and visits each PE once. */
static enum wsc_err raise_deadlock(struct mesh *m, char *text, int64_t n)
{
    int32_t *mark;
    TRY_NEW(mark, WSC_MEM_MESH, m->n_pes);
    int64_t on_cycle;
    struct wait w;
    bool found = false;
    for (int64_t i = 0; i < m->n_pes && !found; i++)
        if (!mark[i] && waits(m, i, &w)) found = find_cycle(m, mark, i, &on_cycle);
    if (found) name_cycle(m, text, on_cycle);
    wsc_free(mark);
    return WSC_RAISE(WSC_DEADLOCK, "mesh: deadlock in cycle %lld: %lld %s: %s",
                     (long long)standstill(m), (long long)n, n == 1 ? "PE waits" : "PEs wait",
                     text);
}

/* Report operations that have not finished. They are the usual cause of a deadlock, so they are
 * reported before the leftovers in queues and routers that follow from them. */
static enum wsc_err check_threads(struct mesh *m)
{
    char text[TEXT] = "";
    int64_t n = 0;
    struct wait w;
    for (int64_t i = 0; i < m->n_pes; i++) {
        if (!waits(m, i, &w)) continue;
        if (n++ >= MAX_NAMED) continue;
        if (*text) add(text, "; ");
        name_wait(m, text, i, &w);
    }
    if (n > MAX_NAMED) add(text, "; and others");
    return n ? raise_deadlock(m, text, n) : WSC_OK;
}

/* Report what is left at a PE: wavelets that no task takes, wavelets that cannot leave, tasks that
 * were activated and remain blocked. */
static enum wsc_err check_queues(const struct mesh_pe *pe)
{
    if (pe->in_used) {
        const int first = __builtin_ctz(pe->in_used);
        const struct mesh_queue *q = mesh_queue_of(pe, first);
        return WSC_RAISE(WSC_DEADLOCK, "PE (%d, %d): nobody takes %d wavelets of colour %d%s",
                         pe->x, pe->y, q->n, q->colour,
                         (unsigned)pe->data_blocked >> first & 1U ? ": the data task is blocked"
                                                                  : "");
    }
    if (pe->out_used) {
        const struct mesh_queue *q = mesh_queue_of(pe, MESH_N_IN + __builtin_ctz(pe->out_used));
        return WSC_RAISE(WSC_DEADLOCK, "PE (%d, %d): %d wavelets of colour %d cannot leave", pe->x,
                         pe->y, q->n, q->colour);
    }
    if (pe->activated)
        return WSC_RAISE(WSC_DEADLOCK, "PE (%d, %d): task %d is activated but blocked", pe->x,
                         pe->y, __builtin_ctzll(pe->activated));
    return WSC_OK;
}

static int n_held(struct mesh *m, int64_t i, int colour)
{
    const struct mesh_channel *ch = mesh_channel_of(m, i, colour);
    return mesh_channel_count(ch, ch->gate);
}

/* Report wavelets that are stopped in a router although no PE waits for anything. */
static enum wsc_err check_router(struct mesh *m, int64_t i)
{
    const struct mesh_router *r = &m->router[i];
    if (!r->waiting) return WSC_OK;
    int colour = mesh_direction((int)r->waiting);
    const struct mesh_channel *ch = mesh_channel_of(m, i, colour);
    int elsewhere;
    int64_t at = obstacle(m, i, colour, mesh_direction((int)mesh_gate_rx(ch->gate)), &elsewhere);
    if (at < 0) at = i;
    return WSC_RAISE(
        WSC_DEADLOCK, "PE (%d, %d): nobody takes %d wavelets of colour %d, held up at PE (%d, %d)",
        m->pe[i].x, m->pe[i].y, n_held(m, i, colour), colour, m->pe[at].x, m->pe[at].y);
}

/* True when a task, an operation, scalar code or a wavelet of PE @p i has not finished. */
static bool is_busy(const struct mesh *m, int64_t i)
{
    const struct mesh_pe *pe = &m->pe[i];
    return unfinished(pe) || pe->in_used || pe->out_used ||
           pe->waits_until > m->config.max_cycles || pe->next_todo < pe->n_todo ||
           pe->activated & ~pe->blocked || m->router[i].waiting;
}

/* The router of the first edge source that still has wavelets, or -1; @p own: only sources of this
 * process. */
static int64_t busy_source(const struct mesh *m, bool own)
{
    for (int i = 0; i < m->n_sources; i++) {
        const struct mesh_source *s = &m->source[i];
        if (s->next < s->n && (!own || mesh_is_own(&m->pe[s->router]))) return s->router;
    }
    return -1;
}

/* Covers what mesh_check_end() reports, for the PEs of this process. */
bool mesh_is_left(struct mesh *m)
{
    const struct mesh_region *first = &m->region[m->own], *last = first + m->n_own - 1;
    for (int64_t i = first->first; i < last->first + last->n_pes; i++)
        if (is_busy(m, i) || m->pe[i].activated) return true;
    return busy_source(m, true) >= 0;
}

enum wsc_err mesh_check_limit(struct mesh *m)
{
    int64_t first = busy_source(m, false), n = 0;
    for (int64_t i = m->n_pes - 1; i >= 0; i--) {
        if (!is_busy(m, i)) continue;
        first = i;
        n++;
    }
    if (first < 0) return WSC_OK;
    return WSC_RAISE(WSC_DEADLOCK,
                     "mesh: still busy after %lld cycles: PE (%d, %d), %lld %s in all",
                     (long long)m->config.max_cycles, m->pe[first].x, m->pe[first].y, (long long)n,
                     n == 1 ? "PE" : "PEs");
}

enum wsc_err mesh_check_end(struct mesh *m)
{
    TRY(check_threads(m));
    for (int64_t i = 0; i < m->n_pes; i++)
        TRY(check_queues(&m->pe[i]));
    for (int64_t i = 0; i < m->n_pes; i++)
        TRY(check_router(m, i));
    for (int i = 0; i < m->n_sources; i++) {
        const struct mesh_source *s = &m->source[i];
        if (s->next < s->n)
            return WSC_RAISE(WSC_DEADLOCK,
                             "PE (%d, %d): %lld wavelets of colour %d cannot enter the fabric",
                             m->pe[s->router].x, m->pe[s->router].y, (long long)(s->n - s->next),
                             m->channel[s->channel].colour);
    }
    return WSC_OK;
}
