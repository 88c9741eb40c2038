// SPDX-License-Identifier: Apache-2.0
/* Combines the observations of several processes. Each process watches its own band, and wavelets
 * that cross a border bring their origin along (mesh_share.c). Here every process gets the
 * observations of the others: counts and slots of channels as ranges of arrays, paths and events as
 * the bytes of a snapshot (snapshot_watch.c). run.c calls it at the end of a run, snapshot.c before
 * it writes. */
#include "mesh_share_watch.h"
#include "mesh_share.h"
#include "mesh_state.h"
#include "snapshot_stream.h"
#include "snapshot_watch.h"
#include "watch_state.h"

#include <wsc/check.h>
#include <wsc/mem.h>

/* ---- arrays ---------------------------------------------------------------------------------- */

static int64_t pe_bytes(const struct mesh *m, int64_t at)
{
    return at * (int64_t)sizeof *m->watch->pe;
}
static int64_t router_bytes(const struct mesh *m, int64_t at)
{
    return at * (int64_t)sizeof *m->watch->router;
}
static int64_t origin_bytes(const struct mesh *m, int64_t at)
{
    const int64_t channels = at < m->n_pes ? m->router[at].first : m->n_channels;
    return channels * (int64_t)(MESH_FIFO * sizeof *m->watch->origin);
}

/* Send the path of the last wavelet over each edge from the process of its PE to all. */
static enum wsc_err broadcast_edges(struct mesh *m)
{
    struct mesh_watch *w = m->watch;
    const int64_t bytes = (int64_t)sizeof(struct mesh_watch_path);
    for (int i = 0; i < w->n_sources; i++)
        TRY(mesh_share_from(m, mesh_share_part(m, m->source[i].router), &w->source[i], bytes));
    for (int i = 0; i < w->n_sinks; i++) {
        const struct mesh_sink *s = &m->sink[i];
        const int owner = mesh_share_part(m, (int64_t)s->y * m->config.w + s->x);
        TRY(mesh_share_from(m, owner, &w->sink[i], bytes));
    }
    return WSC_OK;
}

/* ---- paths and events ------------------------------------------------------------------------ */

/* Pass the observations of the PEs of process @p part through a stream. */
static enum wsc_err pass_places(const struct mesh *m, struct mesh_stream *s, int part)
{
    TRY(mesh_snapshot_watch_places(m->watch, s, mesh_share_first(m, part),
                                   mesh_share_first(m, part + 1)));
    WSC_CHECK(!s->damaged, "what process %d has seen is damaged", part);
    return WSC_OK;
}

/* Send the observations of process @p part to all. Processes agree on an error before the next
 * exchange, so that none waits forever. */
static enum wsc_err broadcast_places(const struct mesh *m, int part)
{
    const bool own = part == m->config.share->part;
    struct mesh_stream s = {.mode = MESH_STREAM_COUNT};
    enum wsc_err rc = own ? pass_places(m, &s, part) : WSC_OK;
    int64_t n = s.at;
    TRY(mesh_share_agree(m, rc));
    TRY(mesh_share_from(m, part, &n, (int64_t)sizeof n));
    s = (struct mesh_stream){.mode = own ? MESH_STREAM_WRITE : MESH_STREAM_READ, .n = n};
    s.bytes = wsc_alloc(WSC_MEM_MESH, (size_t)n, 1);
    rc = s.bytes ? WSC_OK : WSC_RAISE(WSC_NOMEM, "mesh: %lld bytes of paths", (long long)n);
    if (!rc && own) rc = pass_places(m, &s, part);
    rc = mesh_share_agree(m, rc);
    if (!rc) rc = mesh_share_from(m, part, s.bytes, n);
    if (!rc) rc = mesh_share_agree(m, own ? WSC_OK : pass_places(m, &s, part));
    wsc_free(s.bytes);
    return rc;
}

enum wsc_err mesh_share_watch(struct mesh *m)
{
    struct mesh_watch *w = m->watch;
    if (!m->border) return WSC_OK;
    TRY(mesh_share_places(m, w->pe, pe_bytes));
    TRY(mesh_share_places(m, w->router, router_bytes));
    if (!w->follows) return WSC_OK;
    TRY(mesh_share_places(m, w->origin, origin_bytes));
    TRY(broadcast_edges(m));
    for (int part = 0; part < m->config.share->parts; part++)
        TRY(broadcast_places(m, part));
    return WSC_OK;
}
