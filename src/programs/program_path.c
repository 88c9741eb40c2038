// SPDX-License-Identifier: Apache-2.0
/* Implements a tree (program_tree_shape.c) on a path of PEs, a row or a snake over the whole
 * fabric. It sets routes, switches and queues of every colour, and the list of operations that each
 * PE issues in a reduction. */
#include "program_path.h"
#include "program_job.h"
#include "program_tree_shape.h"

#include <wsc/mem.h>

#include <string.h>

enum wsc_err programs_path_walk(struct programs_path *l, const struct programs_job *j, int x, int y,
                                int dx, int dy, int n)
{
    l->n = n;
    TRY_NEW(l->pe, WSC_MEM_MESH, n);
    for (int i = 0; i < n; i++)
        l->pe[i] = (y + i * dy) * j->w + x + i * dx;
    return WSC_OK;
}

enum wsc_err programs_path_snake(struct programs_path *l, const struct programs_job *j)
{
    l->n = j->w * j->h;
    TRY_NEW(l->pe, WSC_MEM_MESH, l->n);
    for (int i = 0; i < l->n; i++) {
        int y = i / j->w, x = i % j->w;
        l->pe[i] = y * j->w + (y % 2 ? j->w - 1 - x : x);
    }
    return WSC_OK;
}

/* Direction (a set of one) from position i to its neighbour k. */
static uint8_t toward(const struct programs_job *j, const struct programs_path *l, int i, int k)
{
    int step = l->pe[k] - l->pe[i];
    if (step == j->w && j->w > 1) return MESH_SOUTH;
    if (step == -j->w && j->w > 1) return MESH_NORTH;
    if (j->w == 1) return step > 0 ? MESH_SOUTH : MESH_NORTH;
    return step > 0 ? MESH_EAST : MESH_WEST;
}

static struct mesh_rect rect_of(const struct programs_job *j, int32_t pe)
{
    return (struct mesh_rect){pe % j->w, pe / j->w, 1, 1};
}

/* Set the route of colour number @p c at position @p i. */
static enum wsc_err route_colour(struct programs_job *j, const struct programs_path *l,
                                 const struct programs_tree_shape *s, int i, int c)
{
    const int colour = s->colours.first + c;
    struct mesh_route r = {.pop = MESH_POP_ON_ADVANCE};
    bool in = programs_node_receives(&s->node[i], colour), out = s->colour[i] == c;
    bool passes = s->passing[i] >> c & 1;
    if (!in && !out && !passes) return WSC_OK;
    r.rx = out ? MESH_RAMP : toward(j, l, i, i + 1);
    r.tx = in ? MESH_RAMP : toward(j, l, i, i - 1);
    r.n_more = passes && (in || out);
    if (r.n_more && out) r.more[0].rx = toward(j, l, i, i + 1);
    if (r.n_more && in) r.more[0].tx = toward(j, l, i, i - 1);
    TRY(mesh_route(j->m, rect_of(j, l->pe[i]), colour, &r));
    if (in) return mesh_input_queue(j->m, rect_of(j, l->pe[i]), colour, colour);
    return out ? mesh_output_queue(j->m, rect_of(j, l->pe[i]), l->queue, colour) : WSC_OK;
}

/* Set every colour of the tree at every position of the path. */
static enum wsc_err set_routes(struct programs_job *j, const struct programs_path *l,
                               const struct programs_tree_shape *s)
{
    for (int i = 0; i < l->n; i++) {
        l->node[l->pe[i]] = s->node[i];
        for (int c = 0; c < s->colours.n; c++)
            TRY(route_colour(j, l, s, i, c));
    }
    return WSC_OK;
}

enum wsc_err programs_path_tree(struct programs_job *j, const struct programs_path *l,
                                const int *parent, struct programs_colours colours)
{
    struct programs_tree_shape s;
    TRY(programs_tree_shape_init(&s, l->n, colours, parent));
    enum wsc_err rc = set_routes(j, l, &s);
    programs_tree_shape_fini(&s);
    return rc;
}

/* Route the broadcast at PE (x, y): along row 0, then down. */
static enum wsc_err spread_at(struct programs_job *j, int colour, int x, int y)
{
    struct mesh_route r = {.rx = y ? MESH_NORTH : MESH_WEST, .tx = MESH_RAMP};
    if (!x && !y) r = (struct mesh_route){.rx = MESH_RAMP};
    if (!y && x + 1 < j->w) r.tx |= MESH_EAST;
    if (y + 1 < j->h) r.tx |= MESH_SOUTH;
    return r.tx ? mesh_route(j->m, (struct mesh_rect){x, y, 1, 1}, colour, &r) : WSC_OK;
}

/* An input queue that no line of PE @p i uses. */
static int free_queue(const struct programs_job *j, int i)
{
    unsigned used = 0;
    for (int line = 0; line < 4; line++)
        for (int k = 0; k < j->node[line][i].n_blocks; k++)
            used |= 1U << j->node[line][i].colour[k];
    return __builtin_ctz(~used);
}

enum wsc_err programs_spread(struct programs_job *j, int colour)
{
    for (int i = 0; i < j->w * j->h; i++) {
        struct mesh_rect at = {i % j->w, i / j->w, 1, 1};
        TRY(spread_at(j, colour, at.x, at.y));
        TRY(i ? mesh_input_queue(j->m, at, free_queue(j, i), colour)
              : mesh_output_queue(j->m, at, 0, colour));
    }
    return WSC_OK;
}

enum wsc_err programs_message_end(struct mesh_pe *pe, const struct programs_node *node)
{
    if (node->switches) return mesh_advance_switch(pe, node->send, 0, 0);
    return node->control ? mesh_send_control(pe, node->send, node->payload, 0) : WSC_OK;
}

/* The vectors of all children but the last are added one by one, nearest child first. In the last
 * operation the words of the last child are added to the PE's own and sent on as they come. */
enum wsc_err programs_reduce_part(struct mesh_pe *pe, const struct programs_node *node, int address,
                                  int n)
{
    const struct mesh_dsd own = mesh_mem(address, n), none = {0};
    const bool sends = node->send >= 0;
    for (int i = 0; i < node->n_blocks; i++) {
        int k = node->count[i] - (sends && i + 1 == node->n_blocks);
        if (k)
            TRY(mesh_do(pe, MESH_FADDS, mesh_rows(own, k, 0),
                        mesh_rows(mesh_in(node->colour[i], n), k, 0), mesh_rows(own, k, 0)));
    }
    if (!sends) return WSC_OK;
    if (node->n_blocks) /* add and send on */
        TRY(mesh_do(pe, MESH_FADDS, mesh_out(node->send, n),
                    mesh_in(node->colour[node->n_blocks - 1], n), own));
    else
        TRY(mesh_do(pe, MESH_FMOVS, mesh_out(node->send, n), own, none));
    return programs_message_end(pe, node);
}
