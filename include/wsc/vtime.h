/** Virtual time: integer picoseconds of the emulated machine, and the links that carry it. Layer 1.
 *
 *  Integers, so that adding is exact in any order; a struct, so that the compiler rejects
 *  `time + seconds`.  Nothing here reads a host clock.  int64 picoseconds reach 106 days; what is
 *  later stays at VTIME_END and never wraps, and a run that gets there ends with an error.
 */
#ifndef WSC_VTIME_H
#define WSC_VTIME_H
#include <stdbool.h>
#include <stdint.h>

struct vtime {
    int64_t ps;
};

/** The end of time, 2^63 - 1 ps. */
#define VTIME_END INT64_MAX

/** When the first and the last byte of something are there. */
struct vtime_span {
    struct vtime first, last;
};

static inline struct vtime vtime_max(struct vtime a, struct vtime b)
{
    return a.ps > b.ps ? a : b;
}
/** @p ps later, @p ps >= 0; VTIME_END when that is later still. */
static inline struct vtime vtime_add(struct vtime a, int64_t ps)
{
    struct vtime sum;
    if (__builtin_add_overflow(a.ps, ps, &sum.ps)) sum.ps = VTIME_END;
    return sum;
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
 *  limit and takes no time.  VTIME_END when it takes longer. */
int64_t vtime_duration_ps(int64_t amount, int64_t per_s);

/** How a link loses packets, and how long what is lost takes to come again. */
struct vtime_loss {
    double rate;           /**< probability for each packet, each time it is sent; 0: none */
    int64_t packet_bytes;  /**< a message is cut into ceil(bytes / packet) of them, at least one */
    int64_t timeout_ps;    /**< until the last packet of a message is sent again */
    uint64_t seed, stream; /**< what draws, see <wsc/rng.h> */
};

/** One direction of a link. */
struct vtime_link {
    int64_t rate_bytes_per_s; /**< 0: no limit */
    int64_t latency_ps;
    struct vtime_loss loss;
    struct vtime free;  /**< when the sending end can take the next message */
    int64_t bytes;      /**< carried so far */
    int64_t n_messages; /**< carried so far */
    int64_t n_lost;     /**< packets that were lost and sent again */
    int64_t busy_ps;    /**< time in which a message occupied the sending end */
};

/** Send @p bytes whose first and last byte are ready at @p ready; returns when they arrive:
 *      start = max(ready.first, free)
 *      first = start + latency
 *      last  = max(ready.last, start + bytes / rate) + latency
 *      free  = last - latency
 *  so a slow producer stretches the message and a busy link delays it. */
struct vtime_span vtime_link_send(struct vtime_link *link, struct vtime_span ready, int64_t bytes);
/** The same over a link that loses packets.  Go-back-N, as network cards for RDMA over Ethernet do
 *  it (InfiniBand specification, volume 1, 9.7; Mittal et al., SIGCOMM 2018, section 2): when
 * packet i is lost, the receiver drops what follows and tells the sender on seeing packet i + 1;
 * the sender goes on from i, so that each loss costs 2 (packet / rate + latency) of the link's
 * time.  Nothing follows the last packet: its loss costs packet / rate + time-out. A packet that is
 * sent again may be lost again.  Second losses within one round trip, and losses of
 * acknowledgements, are left out: they are of the order of the square of the rate. How often the
 * first packet, those between and the last are lost is drawn from the seed, the stream and @p
 * message, which names the message among those of the link: geometric and negative binomial
 * distributions, the latter by a normal one when its mean is above 64. A link without loss does
 * what vtime_link_send() does. */
struct vtime_span vtime_link_send_over(struct vtime_link *link, struct vtime_span ready,
                                       int64_t bytes, uint64_t message);
/** A message of no size that waits for nobody and delays nobody: credits. */
struct vtime vtime_link_signal(struct vtime_link *link, struct vtime ready);

/** Where the time of a step went, by what a wafer did or waited for; see docs/decisions/0003. Parts
 *  add up to the whole. */
struct vtime_breakdown {
    int64_t compute_ps;      /**< stages ran */
    int64_t weights_wait_ps; /**< weights were still streaming */
    int64_t reduce_wait_ps;  /**< gradients could not leave faster, or were not yet in MemoryX */
    int64_t boundary_ps;     /**< MemoryX was updating */
    int64_t input_wait_ps;   /**< samples had not come in */
};
/** The sum of the five parts. */
static inline int64_t vtime_breakdown_sum(const struct vtime_breakdown *b)
{
    return b->compute_ps + b->weights_wait_ps + b->reduce_wait_ps + b->boundary_ps +
           b->input_wait_ps;
}
/** Add each part of @p b to that of @p total. */
static inline void vtime_breakdown_add(struct vtime_breakdown *total,
                                       const struct vtime_breakdown *b)
{
    total->compute_ps += b->compute_ps;
    total->weights_wait_ps += b->weights_wait_ps;
    total->reduce_wait_ps += b->reduce_wait_ps;
    total->boundary_ps += b->boundary_ps;
    total->input_wait_ps += b->input_wait_ps;
}
#endif
