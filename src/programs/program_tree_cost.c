// SPDX-License-Identifier: Apache-2.0
/* Computes the schedule of a reduction on a tree, message by message, without running the fabric.
 * The schedule decides `--algo auto`, and is the reference where a formula adds terms that
 * overlap. It follows the rules of the fabric (docs/MESH.md). */
#include "program_tree_cost.h"
#include "program_tree_shape.h"

#include <wsc/mem.h>

/* Cycles of a reduction, message by message, with the timing of the fabric. An element executed in
 * cycle t is in the router of its PE in cycle t + 1 + ramp up and in the next router one hop later;
 * it can be executed ramp down after it has reached the last router. If a switch changes in cycle
 * t, the next word, which waits one hop upstream, passes in cycle t + 1 + hop. Words of a message
 * follow each other without gaps once the last word does not wait. */

struct cost {
    const struct programs_tree_shape *s;
    int64_t words;
    int hop, up, down, setup;
    int64_t *first, *last; /* owned: cycles in which a position executes what it sends */
    int64_t *switched;     /* owned, [position][colour]: cycle in which its switch changes */
};
/* Cycles in which the receiver can execute the first and the last word of a message, and in which
 * the control wavelet after the message is in the receiver's router. */
struct arrival {
    int64_t first, last, control;
};

/* The cycle in which the switch of position @p i changes on a colour. */
static int64_t *switched_at(const struct cost *c, int i, int colour)
{
    return &c->switched[(int64_t)i * PROGRAMS_LINE_COLOURS + colour];
}

/* True when position @p k uses @p colour for its own messages before it lets others pass. */
static bool has_switch(const struct programs_tree_shape *s, int k, int colour)
{
    if (!(s->passing[k] >> colour & 1)) return false;
    return s->colour[k] == colour || programs_node_receives(&s->node[k], s->colours.first + colour);
}

/* Arrival of the message of child @p u at its parent, after the switches between them. */
static struct arrival arrive(const struct cost *c, int u)
{
    const int colour = c->s->colour[u], p = c->s->parent[u];
    const int64_t latency = c->up + 1 + (int64_t)c->hop * (u - p);
    int64_t at = c->first[u] + 1 + c->up;
    for (int k = u - 1; k > p; k--) {
        at += c->hop;
        if (!has_switch(c->s, k, colour)) continue;
        int64_t after_switch = *switched_at(c, k, colour) + 1 + c->hop;
        if (at < after_switch) at = after_switch;
    }
    at += c->hop;
    struct arrival a = {at + c->down, c->last[u] + latency + c->down,
                        c->last[u] + 1 + c->setup + latency};
    if (a.last < a.first + c->words - 1) a.last = a.first + c->words - 1;
    if (a.control < a.last - c->down + 1) a.control = a.last - c->down + 1;
    return a;
}

/* The cycle in which the last word of @p u leaves its router. If the message has to wait, the
 * routers ahead hold a part of it. */
static int64_t departure(const struct cost *c, int u, const struct arrival *a)
{
    int distance = u - c->s->parent[u];
    int64_t unblocked = c->last[u] + 1 + c->up;
    int64_t held = a->last - c->down - (int64_t)c->hop * distance;
    int64_t room = (int64_t)(MESH_FIFO - c->hop) * distance;
    if (room > c->words - 1) room = c->words - 1;
    return unblocked > held - room ? unblocked : held - room;
}

/* The cycle in which the switch of @p u changes: with the last word, if the command is in the
 * router by then. A control wavelet always leaves after the last word. */
static int64_t switch_cycle(const struct cost *c, int u, const struct arrival *a)
{
    int64_t last = departure(c, u, a), enters = c->last[u] + 1 + c->setup + 1;
    if (c->s->node[u].switches && enters < last) return last;
    return last + 1 > enters + c->up ? last + 1 : enters + c->up;
}

/* Position @p i receives the message of @p u, from cycle @p from on. */
static void take(struct cost *c, int i, int u, int64_t from)
{
    const struct arrival a = arrive(c, u);
    c->first[i] = from > a.first ? from : a.first;
    c->last[i] = c->first[i] + c->words - 1;
    if (c->last[i] < a.last) c->last[i] = a.last;
    if (c->s->node[u].switches || c->s->node[u].control)
        *switched_at(c, u, c->s->colour[u]) = switch_cycle(c, u, &a);
    if (c->s->node[u].control) *switched_at(c, i, c->s->colour[u]) = a.control;
}

/* Position @p i receives the messages of its children, nearest first, and sends its own. */
static void position(struct cost *c, int i, int *order)
{
    const struct programs_node *node = &c->s->node[i];
    int n = c->s->children[i];
    int64_t from = c->setup;
    c->first[i] = from;
    c->last[i] = from + c->words - 1;
    for (int k = n - 1, u = c->s->last[i]; k >= 0; k--, u = c->s->previous[u])
        order[k] = u;
    for (int block = 0, k = 0; block < node->n_blocks; block++)
        for (int left = node->count[block]; left; left--, k++) {
            take(c, i, order[k], from);
            bool fused = i && k + 2 == n, ends = left == 1;
            from = c->last[i] + 1 + (fused || ends ? c->setup : 0);
        }
}

/* Compute the times from the far end to the root, since a position needs the times of its
 * children. */
static enum wsc_err positions(struct cost *c, int64_t *cycles)
{
    int *order;
    TRY_NEW(order, WSC_MEM_MESH, c->s->n);
    for (int i = c->s->n - 1; i >= 0; i--)
        position(c, i, order);
    wsc_free(order);
    *cycles = c->s->n > 1 ? c->last[0] + 1 : 0;
    return WSC_OK;
}

static enum wsc_err cost_of(struct cost *c, int64_t *cycles)
{
    size_t n = (size_t)c->s->n;
    c->first = wsc_alloc(WSC_MEM_MESH, n, sizeof *c->first);
    c->last = wsc_alloc(WSC_MEM_MESH, n, sizeof *c->last);
    c->switched = wsc_alloc(WSC_MEM_MESH, n * PROGRAMS_LINE_COLOURS, sizeof *c->switched);
    enum wsc_err rc = c->first && c->last && c->switched ? positions(c, cycles) : WSC_NOMEM;
    wsc_free(c->first);
    wsc_free(c->last);
    wsc_free(c->switched);
    return rc ? wsc_err_frame(rc, __FILE__, __LINE__, "the cost of a tree") : WSC_OK;
}

enum wsc_err programs_tree_cycles(const struct programs_load *load, const int *parent,
                                  int64_t *cycles)
{
    const struct mesh_latencies of = mesh_latencies_of(load->arch);
    struct programs_tree_shape s;
    TRY(programs_tree_shape_init(&s, load->n, load->colours, parent));
    struct cost c = {.s = &s,
                     .words = load->words,
                     .hop = of.hop,
                     .up = of.ramp_up,
                     .down = of.ramp_down,
                     .setup = of.setup};
    enum wsc_err rc = cost_of(&c, cycles);
    programs_tree_shape_fini(&s);
    return rc;
}
