// SPDX-License-Identifier: Apache-2.0
/* Implements the edge of the fabric: sources that feed wavelets of the host over a link, one a
 * cycle, and sinks that take the wavelets that leave. router.c moves their wavelets; mesh_link.c
 * gives a source its channel. */
#include "mesh_state.h"

#include <wsc/mem.h>

/* True when side @p side of PE (x, y) is the border of the fabric. */
static bool at_edge(const struct mesh *m, int x, int y, int side)
{
    int nx = x + mesh_dx[side], ny = y + mesh_dy[side];
    return nx < 0 || ny < 0 || nx >= m->config.w || ny >= m->config.h;
}

static enum wsc_err check_edge(const struct mesh *m, int x, int y, int side, int colour)
{
    const struct mesh_rect at = {x, y, 1, 1};
    TRY(mesh_check_rect(m, at));
    TRY(mesh_check_colour(at, colour));
    bool known = side == MESH_EAST || side == MESH_WEST || side == MESH_NORTH || side == MESH_SOUTH;
    if (m->linked || !known || !at_edge(m, x, y, mesh_direction(side)))
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): colour %d: no edge of the fabric there", x, y,
                         colour);
    return WSC_OK;
}

/* @p wavelet is borrowed until the end of the run. Sources on one side of one router share a link:
 * `link` is the first of them, whose `used` counts for all. */
enum wsc_err mesh_edge_source(struct mesh *m, int x, int y, int side, int colour,
                              const struct mesh_wavelet *wavelet, int64_t n)
{
    TRY(check_edge(m, x, y, side, colour));
    if (n < 0)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): colour %d: an edge source of %lld wavelets", x, y,
                         colour, (long long)n);
    void *grown = wsc_realloc(WSC_MEM_MESH, m->source, (size_t)m->n_sources + 1, sizeof *m->source);
    if (!grown) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "edge sources");
    m->source = grown;
    int32_t router = (int32_t)((int64_t)y * m->config.w + x), link = 0;
    while (link < m->n_sources &&
           (m->source[link].router != router || m->source[link].side != side))
        link++;
    m->source[m->n_sources++] = (struct mesh_source){
        .channel = colour, /* the channel itself is known when routes are linked */
        .router = router,
        .side = (uint8_t)side,
        .link = link,
        .wavelet = wavelet,
        .n = n,
    };
    return WSC_OK;
}

enum wsc_err mesh_edge_sink(struct mesh *m, int x, int y, int side, int colour,
                            struct mesh_output *output)
{
    TRY(check_edge(m, x, y, side, colour));
    void *grown = wsc_realloc(WSC_MEM_MESH, m->sink, (size_t)m->n_sinks + 1, sizeof *m->sink);
    if (!grown) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "edge sinks");
    m->sink = grown;
    output->n = 0;
    m->sink[m->n_sinks++] = (struct mesh_sink){x, y, colour, mesh_direction(side), output};
    return WSC_OK;
}

uint32_t mesh_control(const enum mesh_command *command, int n, int entry)
{
    uint32_t payload = entry < 0 ? 1U << 31 : (uint32_t)entry << 24;
    for (int i = 0; i < n && i < 8; i++)
        payload |= (uint32_t)command[i] << (3 * i);
    return payload;
}
