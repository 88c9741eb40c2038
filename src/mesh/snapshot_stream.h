/** Bytes of a snapshot in one direction at a time: the same function counts them, writes them and
 *  reads them back, so that the two sides cannot differ. */
#ifndef WSC_MESH_SNAPSHOT_STREAM_H
#define WSC_MESH_SNAPSHOT_STREAM_H
#include <stdbool.h>
#include <stdint.h>

enum mesh_stream_mode { MESH_STREAM_COUNT, MESH_STREAM_WRITE, MESH_STREAM_READ };
/* @c n bytes from @c bytes on (borrowed), of which @c at have passed; counting needs none.  What
 * cannot be is read as zero and sets @c damaged. */
struct mesh_stream {
    enum mesh_stream_mode mode;
    char *bytes;
    int64_t at, n;
    bool damaged;
};
/* The next @p n bytes are @p data. */
void mesh_stream_bytes(struct mesh_stream *s, void *data, int64_t n);
/* The next bytes are those of a variable. */
#define MESH_STREAM(s, x) mesh_stream_bytes((s), &(x), (int64_t)sizeof(x))
/* Is @p ok true of what was read?  Otherwise the stream is damaged from here on. */
bool mesh_stream_holds(struct mesh_stream *s, bool ok);
static inline bool mesh_stream_reads(const struct mesh_stream *s)
{
    return s->mode == MESH_STREAM_READ;
}
#endif
