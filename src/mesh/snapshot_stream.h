/** Bytes of a snapshot in one direction at a time: the same function counts them, writes them and
 *  reads them back, so that the two sides cannot differ. */
#ifndef WSC_MESH_SNAPSHOT_STREAM_H
#define WSC_MESH_SNAPSHOT_STREAM_H
#include <stdbool.h>
#include <stdint.h>

enum mesh_stream_mode { MESH_STREAM_COUNT, MESH_STREAM_WRITE, MESH_STREAM_READ };
/* A stream of @c n bytes from @c bytes on (borrowed), of which @c at have passed; counting needs
 * no bytes. Reading past the end gives zeros and sets @c damaged. */
struct mesh_stream {
    enum mesh_stream_mode mode;
    char *bytes;
    int64_t at, n;
    bool damaged;
};
/* Pass the @p n bytes @p data: counted, written, or read into @p data. */
void mesh_stream_bytes(struct mesh_stream *s, void *data, int64_t n);
/* Pass a variable. */
#define MESH_STREAM(s, x) mesh_stream_bytes((s), &(x), (int64_t)sizeof(x))
/* Check a condition on what was read: if @p ok is false while reading, the stream counts as
 * damaged from here on. False when the stream is damaged. */
bool mesh_stream_holds(struct mesh_stream *s, bool ok);
static inline bool mesh_stream_reads(const struct mesh_stream *s)
{
    return s->mode == MESH_STREAM_READ;
}
#endif
