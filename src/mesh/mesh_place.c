// SPDX-License-Identifier: Apache-2.0
/* Defines places of the fabric: directions, checks of rectangles and colours with the place in the
 * message, depths of the queues of a PE. The files that set a fabric up use it. */
#include "mesh_queue.h"
#include "mesh_state.h"

const int mesh_dx[5] = {0, 1, -1, 0, 0}, mesh_dy[5] = {0, 0, 0, -1, 1};
const int mesh_opposite[5] = {0, 2, 1, 4, 3};

const char *mesh_direction_name(int direction)
{
    static const char *const name[] = {"ramp", "east", "west", "north", "south"};
    return name[direction];
}

enum wsc_err mesh_check_rect(const struct mesh *m, struct mesh_rect r)
{
    bool inside = r.x >= 0 && r.y >= 0 && r.w > 0 && r.h > 0 && r.w <= m->config.w &&
                  r.h <= m->config.h && r.x <= m->config.w - r.w && r.y <= m->config.h - r.h;
    if (inside) return WSC_OK;
    return WSC_RAISE(WSC_USAGE, "mesh: PEs (%d, %d) + %d x %d lie outside the fabric of %d x %d",
                     r.x, r.y, r.w, r.h, m->config.w, m->config.h);
}

enum wsc_err mesh_check_colour(struct mesh_rect at, int colour)
{
    if (colour >= 0 && colour < MESH_COLOURS) return WSC_OK;
    return WSC_RAISE(WSC_USAGE, "PE (%d, %d): colour %d, expected 0 to %d", at.x, at.y, colour,
                     MESH_COLOURS - 1);
}

/* Depths in wavelets, WSE-2: comment in csl-examples allreduce/pe.csl.  WSE-3: SPADA's text says 8
 * words for the output queues; the input queues are assumed as on WSE-2. In addition, an input
 * queue holds the wavelets on the ramp. */
int mesh_queue_depth(const struct mesh *m, int queue)
{
    static const uint8_t in[MESH_N_IN] = {MESH_DEEPEST_IN, 6, 4, 4, 2, 2, 2, 2};
    static const uint8_t out[2][MESH_N_OUT] = {{2, 2, 6, 6, 2, 2}, {8, 8, 8, 8, 8, 8}};
    return queue < MESH_N_IN ? in[queue] + m->ramp_down : out[m->config.arch][queue - MESH_N_IN];
}
