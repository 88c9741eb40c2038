// SPDX-License-Identifier: Apache-2.0
/* Implements the stream of bytes through which a snapshot is counted, written and read.
 * snapshot_pe.c passes the state of PEs through it, snapshot_watch.c that of an observer;
 * snapshot.c provides the bytes. */
#include "snapshot_stream.h"

#include <string.h>

void mesh_stream_bytes(struct mesh_stream *s, void *data, int64_t n)
{
    const bool fits = s->mode == MESH_STREAM_COUNT || n <= s->n - s->at;
    if (!fits) s->damaged = true;
    if (s->mode == MESH_STREAM_WRITE && fits && n) memcpy(s->bytes + s->at, data, (size_t)n);
    if (s->mode == MESH_STREAM_READ && n && s->damaged) memset(data, 0, (size_t)n);
    if (s->mode == MESH_STREAM_READ && n && !s->damaged) memcpy(data, s->bytes + s->at, (size_t)n);
    if (fits) s->at += n;
}

bool mesh_stream_holds(struct mesh_stream *s, bool ok)
{
    if (mesh_stream_reads(s) && !ok) s->damaged = true;
    return !s->damaged;
}
