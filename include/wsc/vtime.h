/** Virtual time: integer picoseconds of the emulated machine, and the links that carry it. Layer 1.
 *
 *  Integers, so that adding is exact in any order; a struct, so that the compiler rejects
 *  `time + seconds`.  Nothing here reads a host clock.  int64 picoseconds reach 106 days.
 */
#ifndef WSC_VTIME_H
#define WSC_VTIME_H
#include <stdint.h>

struct vtime {
    int64_t ps;
};

/** When the first and the last byte of something are there. */
struct vtime_span {
    struct vtime first, last;
};

static inline struct vtime vtime_max(struct vtime a, struct vtime b)
{
    return a.ps > b.ps ? a : b;
}
static inline struct vtime vtime_add(struct vtime a, int64_t ps)
{
    return (struct vtime){a.ps + ps};
}
/** Both ends at @p t. */
static inline struct vtime_span vtime_at(struct vtime t)
{
    return (struct vtime_span){t, t};
}
/** The later first and the later last: several sources that are needed together. */
static inline struct vtime_span vtime_span_max(struct vtime_span a, struct vtime_span b)
{
    return (struct vtime_span){vtime_max(a.first, b.first), vtime_max(a.last, b.last)};
}
/** Both ends @p ps later. */
static inline struct vtime_span vtime_span_add(struct vtime_span s, int64_t ps)
{
    return (struct vtime_span){vtime_add(s.first, ps), vtime_add(s.last, ps)};
}

/** Time for @p amount units at @p per_s units per second, rounded up, in ps; @p per_s 0 is no
 *  limit and takes no time. */
int64_t vtime_duration_ps(int64_t amount, int64_t per_s);

/** One direction of a link. */
struct vtime_link {
    int64_t rate_bytes_per_s; /**< 0: no limit */
    int64_t latency_ps;
    struct vtime free;  /**< when the sending end can take the next message */
    int64_t bytes;      /**< carried so far */
    int64_t n_messages; /**< carried so far */
    int64_t busy_ps;    /**< time in which a message occupied the sending end */
};

/** Send @p bytes whose first and last byte are ready at @p ready; returns when they arrive:
 *      start = max(ready.first, free)
 *      first = start + latency
 *      last  = max(ready.last, start + bytes / rate) + latency
 *      free  = last - latency
 *  so a slow producer stretches the message and a busy link delays it. */
struct vtime_span vtime_link_send(struct vtime_link *link, struct vtime_span ready, int64_t bytes);
/** A message of no size that waits for nobody and delays nobody: credits. */
struct vtime vtime_link_signal(struct vtime_link *link, struct vtime ready);
#endif
