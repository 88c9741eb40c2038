// SPDX-License-Identifier: Apache-2.0
#include "kernels_impl.h"

#include <string.h>

enum wsc_err mesh_line_walk(struct mesh_line *l, const struct mesh_job *j, int x, int y, int dx,
                            int dy, int n)
{
    l->n = n;
    TRY_NEW(l->pe, WSC_MEM_MESH, n);
    for (int i = 0; i < n; i++)
        l->pe[i] = (y + i * dy) * j->w + x + i * dx;
    return WSC_OK;
}

enum wsc_err mesh_line_snake(struct mesh_line *l, const struct mesh_job *j)
{
    l->n = j->w * j->h;
    TRY_NEW(l->pe, WSC_MEM_MESH, l->n);
    for (int i = 0; i < l->n; i++) {
        int y = i / j->w, x = i % j->w;
        l->pe[i] = y * j->w + (y % 2 ? j->w - 1 - x : x);
    }
    return WSC_OK;
}

/* Direction (a set of one) from position i to position k, its neighbour. */
static uint8_t toward(const struct mesh_job *j, const struct mesh_line *l, int i, int k)
{
    int step = l->pe[k] - l->pe[i];
    if (step == j->w && j->w > 1) return MESH_SOUTH;
    if (step == -j->w && j->w > 1) return MESH_NORTH;
    if (j->w == 1) return step > 0 ? MESH_SOUTH : MESH_NORTH;
    return step > 0 ? MESH_EAST : MESH_WEST;
}

/* A tree on a line: depth of each PE, number of children, the last child, and on which of the two
 * colours wavelets of others have to pass.  A message from depth d + 1 to depth d has colour d % 2;
 * so a PE receives on one colour and sends on the other, and each needs a switch at most from its
 * own traffic to passing on. */
struct shape {
    int n;
    const int *parent;
    int *depth, *children, *last;
    bool *passes[2];
};

static void shape_fini(struct shape *s)
{
    wsc_free(s->depth);
    wsc_free(s->children);
    wsc_free(s->last);
    wsc_free(s->passes[0]);
    wsc_free(s->passes[1]);
}

static void shape_fill(struct shape *s)
{
    for (int i = 1; i < s->n; i++) {
        int p = s->parent[i];
        s->depth[i] = s->depth[p] + 1;
        s->children[p]++;
        s->last[p] = i; /* pre-order: the farthest child comes last */
        for (int k = p + 1; k < i; k++)
            s->passes[s->depth[p] % 2][k] = true;
    }
}

static enum wsc_err shape_init(struct shape *s, int n, const int *parent)
{
    *s = (struct shape){.n = n, .parent = parent};
    s->depth = wsc_alloc(WSC_MEM_MESH, (size_t)n, sizeof *s->depth);
    s->children = wsc_alloc(WSC_MEM_MESH, (size_t)n, sizeof *s->children);
    s->last = wsc_alloc(WSC_MEM_MESH, (size_t)n, sizeof *s->last);
    s->passes[0] = wsc_alloc(WSC_MEM_MESH, (size_t)n, sizeof *s->passes[0]);
    s->passes[1] = wsc_alloc(WSC_MEM_MESH, (size_t)n, sizeof *s->passes[1]);
    if (!s->depth || !s->children || !s->last || !s->passes[0] || !s->passes[1]) {
        shape_fini(s);
        return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "a tree");
    }
    shape_fill(s);
    return WSC_OK;
}

static struct mesh_rect rect_of(const struct mesh_job *j, int32_t pe)
{
    return (struct mesh_rect){pe % j->w, pe / j->w, 1, 1};
}

static enum wsc_err route_receive(struct mesh_job *j, const struct mesh_line *l,
                                  const struct shape *s, int i, int colour)
{
    struct mesh_route r = {.pop = MESH_POP_ON_ADVANCE};
    bool passes = s->passes[s->depth[i] % 2][i];
    if (i + 1 == l->n || (!s->children[i] && !passes)) return WSC_OK;
    r.rx = toward(j, l, i, i + 1);
    r.tx = s->children[i] ? MESH_RAMP : toward(j, l, i, i - 1);
    if (s->children[i] && passes) {
        r.n_more = 1;
        r.more[0].tx = toward(j, l, i, i - 1);
    }
    return mesh_route(j->m, rect_of(j, l->pe[i]), colour, &r);
}

static enum wsc_err route_send(struct mesh_job *j, const struct mesh_line *l, const struct shape *s,
                               int i, int colour)
{
    struct mesh_route r = {.rx = MESH_RAMP, .pop = MESH_POP_ON_ADVANCE};
    if (i == 0) return WSC_OK;
    r.tx = toward(j, l, i, i - 1);
    if (s->passes[(s->depth[i] + 1) % 2][i]) {
        r.n_more = 1;
        r.more[0].rx = toward(j, l, i, i + 1);
    }
    return mesh_route(j->m, rect_of(j, l->pe[i]), colour, &r);
}

/* After its words a PE sends one control wavelet if its own switch has to open for those behind
 * it, or if it is the last child and its parent's has to. */
static void fill_control(const struct shape *s, int i, struct mesh_node *node)
{
    static const enum mesh_command all[8] = {MESH_ADVANCE, MESH_ADVANCE, MESH_ADVANCE,
                                             MESH_ADVANCE, MESH_ADVANCE, MESH_ADVANCE,
                                             MESH_ADVANCE, MESH_ADVANCE};
    int p = s->parent[i], colour = s->depth[p] % 2;
    bool own = s->passes[colour][i], parents = s->last[p] == i && s->passes[colour][p];
    node->control = own || parents;
    node->payload = mesh_control(all, own && parents ? 8 : 1, -1);
}

static enum wsc_err line_node(struct mesh_job *j, const struct mesh_line *l, const struct shape *s,
                              int i, int colour, struct mesh_node *node)
{
    node->n_children = s->children[i];
    node->receive = (int8_t)(s->children[i] ? colour + s->depth[i] % 2 : -1);
    node->send = (int8_t)(i ? colour + (s->depth[i] + 1) % 2 : -1);
    if (i) fill_control(s, i, node);
    TRY(route_receive(j, l, s, i, colour + s->depth[i] % 2));
    return route_send(j, l, s, i, colour + (s->depth[i] + 1) % 2);
}

static enum wsc_err line_nodes(struct mesh_job *j, const struct mesh_line *l, const struct shape *s,
                               int colour, int queue, struct mesh_node *nodes)
{
    for (int i = 0; i < l->n; i++) {
        struct mesh_rect at = rect_of(j, l->pe[i]);
        struct mesh_node *node = &nodes[l->pe[i]];
        TRY(line_node(j, l, s, i, colour, node));
        if (node->receive >= 0) TRY(mesh_input_queue(j->m, at, queue, node->receive));
        if (node->send >= 0) TRY(mesh_output_queue(j->m, at, queue, node->send));
    }
    return WSC_OK;
}

enum wsc_err mesh_line_tree(struct mesh_job *j, const struct mesh_line *l, const int *parent,
                            int colour, int queue, struct mesh_node *node)
{
    struct shape s;
    TRY(shape_init(&s, l->n, parent));
    enum wsc_err rc = line_nodes(j, l, &s, colour, queue, node);
    shape_fini(&s);
    return rc;
}

static enum wsc_err spread_at(struct mesh_job *j, int colour, int x, int y)
{
    struct mesh_route r = {.rx = y ? MESH_NORTH : MESH_WEST, .tx = MESH_RAMP};
    if (!x && !y) r = (struct mesh_route){.rx = MESH_RAMP};
    if (!y && x + 1 < j->w) r.tx |= MESH_EAST;
    if (y + 1 < j->h) r.tx |= MESH_SOUTH;
    return r.tx ? mesh_route(j->m, (struct mesh_rect){x, y, 1, 1}, colour, &r) : WSC_OK;
}

enum wsc_err mesh_spread(struct mesh_job *j, int colour, int queue)
{
    for (int i = 0; i < j->w * j->h; i++) {
        struct mesh_rect at = {i % j->w, i / j->w, 1, 1};
        TRY(spread_at(j, colour, at.x, at.y));
        TRY(i ? mesh_input_queue(j->m, at, queue, colour)
              : mesh_output_queue(j->m, at, queue, colour));
    }
    return WSC_OK;
}

/* @p k vectors of @p n words, all to the same memory, or all from a colour. */
static struct mesh_dsd times(struct mesh_dsd d, int k)
{
    d.n_dims = 2;
    d.len[1] = d.len[0];
    d.stride[1] = d.stride[0];
    d.len[0] = (uint16_t)k;
    d.stride[0] = 0;
    return d;
}

enum wsc_err mesh_reduce_part(struct mesh_pe *pe, const struct mesh_node *node, int address, int n)
{
    const struct mesh_dsd mine = mesh_mem(address, n), none = {0};
    int k = node->n_children, before = node->send >= 0 ? k - 1 : k;
    if (before > 0)
        TRY(mesh_do(pe, MESH_FADDS, times(mine, before), times(mesh_in(node->receive, n), before),
                    times(mine, before)));
    if (node->send < 0) return WSC_OK;
    if (k) /* the last child's words are added and sent on as they come */
        TRY(mesh_do(pe, MESH_FADDS, mesh_out(node->send, n), mesh_in(node->receive, n), mine));
    else
        TRY(mesh_do(pe, MESH_FMOVS, mesh_out(node->send, n), mine, none));
    return node->control ? mesh_send_control(pe, node->send, node->payload, 0) : WSC_OK;
}
