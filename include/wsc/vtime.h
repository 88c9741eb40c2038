/** Virtual time: the clock of the emulated machine in integer picoseconds, the timing of links, and
 *  the recorder of events.
 *
 *  Times are integers, so that sums are exact in any order, inside a struct, so that the compiler
 *  rejects `time + seconds`. No function reads a host clock. int64 picoseconds reach 106 days. A
 *  later time stays at VTIME_END and never wraps; a run that reaches it ends with an error.
 *
 *  Events form a graph. An event waits for earlier events, each with a delay; its time is the
 *  latest of their times plus delays. A program advances its time only with vtime_latest(),
 *  vtime_after() and vtime_link_send(). They compute the time and, when the program has a recorder,
 *  store the event. Each struct vtime names its event, so the graph follows times wherever they are
 *  stored or sent. Without a recorder the only cost is the test of a pointer. */
#ifndef WSC_VTIME_H
#define WSC_VTIME_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A point in virtual time. Only @c ps is compared and added; @c event never influences a time, so
 *  a recorded run has the times of a run that is not recorded. */
struct vtime {
    /** Picoseconds since the start of the run's virtual time, 0 .. VTIME_END. */
    int64_t ps;
    int64_t event; /**< recorded event that happens then, see vtime_event_id(); 0: none */
};

/** The end of time, 2^63 - 1 ps. */
#define VTIME_END INT64_MAX
/** Picoseconds of a second. */
#define VTIME_PS_PER_S 1000000000000LL

/** Times at which the first and the last byte of something are available, first <= last. Messages
 *  and results have two times, because a receiver can begin with the first byte (cut-through). */
struct vtime_span {
    struct vtime first, last;
};

/* ---- arithmetic ------------------------------------------------------------------------------ */

/** The time @p ps picoseconds after @p at_ps, @p ps >= 0; VTIME_END when the sum is later. */
static inline int64_t vtime_add_ps(int64_t at_ps, int64_t ps)
{
    int64_t sum;
    return __builtin_add_overflow(at_ps, ps, &sum) ? VTIME_END : sum;
}
/** The time @p ps picoseconds after @p a, @p ps >= 0; VTIME_END when the sum is later. Records no
 *  event. */
static inline struct vtime vtime_add(struct vtime a, int64_t ps)
{
    return (struct vtime){.ps = vtime_add_ps(a.ps, ps)};
}
/** The later of two times, the first one when they are equal; no event is recorded. */
static inline struct vtime vtime_max(struct vtime a, struct vtime b)
{
    return b.ps > a.ps ? b : a;
}
/** Span whose first and last byte are available at @p t. */
static inline struct vtime_span vtime_at(struct vtime t)
{
    return (struct vtime_span){t, t};
}
/** Time for @p amount units at @p per_s units per second, rounded up, in ps; @p per_s 0 means no
 *  limit and takes no time. VTIME_END when it takes longer. Exact integer arithmetic in 128 bits,
 *  so the result is equal on every host. */
int64_t vtime_duration_ps(int64_t amount, int64_t per_s);

/* ---- events ---------------------------------------------------------------------------------- */

/** Cause of the delay between an event and one that waits for it. */
enum vtime_part {
    VTIME_WAIT,       /**< no cause: zero delay, only a dependency */
    VTIME_COMPUTE,    /**< kernels */
    VTIME_STAGE,      /**< start of a stage */
    VTIME_IN,         /**< weights through the wafer's I/O, and from its edge inwards */
    VTIME_OUT,        /**< gradients through the wafer's I/O */
    VTIME_SPILL,      /**< activations to and from their servers */
    VTIME_INPUT,      /**< samples */
    VTIME_WEIGHTS,    /**< bytes on a link, downwards */
    VTIME_GRADIENTS,  /**< bytes on a link, upwards */
    VTIME_ADD,        /**< addition in a SwarmX node */
    VTIME_LATENCY,    /**< links and nodes */
    VTIME_UPDATE,     /**< the optimizer */
    VTIME_CONTROL,    /**< coordination of the systems at the start of a step */
    VTIME_CHECKPOINT, /**< a checkpoint is written */
    VTIME_RESEND,     /**< packets that were lost and are sent again */
    VTIME_BEFORE,     /**< what happened before the record begins */
    VTIME_N_PARTS
};
/** Name of a part for tables, e.g. "weights on a link"; static. */
const char *vtime_part_name(enum vtime_part part);

/** Dependency of an event: it waits for @c from, then for @c delay_ps. An event has one edge for
 *  each event that it waits for. The edge that determines its time may lie on the critical path. */
struct vtime_edge {
    struct vtime from;    /**< event 0: the origin of time, or one before the record */
    int64_t delay_ps;     /**< at least 0 */
    enum vtime_part part; /**< cause of the delay */
};
/** An event of a record; its edges follow those of the event before it. */
struct vtime_event {
    /** Time of the event. */
    int64_t ps;
    /** Finished steps before the one that the event belongs to. */
    int64_t step;
    int32_t transfer; /**< transfer of the step that it belongs to, or VTIME_NO_TRANSFER */
    /** Edges of the event, at least 1. */
    int32_t n_edges;
};
/** Label of events at the end of a step: its times, its update. */
enum { VTIME_NO_TRANSFER = -1 };

/** Kind of an interval that a timeline viewer draws as one bar. */
enum vtime_bar_kind {
    VTIME_BAR_SEND,  /**< a message occupies the sending end of a link */
    VTIME_BAR_STAGE, /**< a stage on a wafer */
    VTIME_BAR_UPDATE /**< the optimizer of a shard */
};
/** An interval between two events of one program. */
struct vtime_bar {
    enum vtime_bar_kind kind;
    enum vtime_part part; /**< SEND: of the bytes, WEIGHTS or GRADIENTS */
    int32_t src, dst;     /**< SEND: roles at the ends of the link */
    int64_t step;         /**< as in struct vtime_event, and transfer */
    int32_t transfer;
    struct vtime begin, end;  /**< events */
    int64_t amount;           /**< SEND: bytes; STAGE: samples or texts */
    int64_t rate_bytes_per_s; /**< SEND: of the link; 0: no limit */
    /** STAGE, in generation: positions of a text that are new, and known from earlier steps. */
    int64_t n_new, n_cached;
    /** STAGE, in generation: positions of a source that are new, those that a decoder attends to,
     *  and texts of one prompt. */
    int64_t n_source, n_memory, n_beams;
};

/** Recorder: stores the events of one sequential program in the order of their creation. Each
 *  program of a role has one (comm_recorder()); together they form the graph of a pass
 *  (<wsc/timeline.h>). Arrays grow with the events: 24 bytes per event, 32 per edge. */
struct vtime_recorder {
    int32_t id;   /**< id of the program, unique in the machine, on any rank */
    int64_t step; /**< label of the next events, with transfer */
    int32_t transfer;
    /** Events removed by vtime_recorder_take(): the number of event[0]. */
    int64_t n_before;
    struct vtime_event *event; /**< owned */
    struct vtime_edge *edge;   /**< owned */
    struct vtime_bar *bar;     /**< owned */
    int64_t n_events, n_edges, n_bars;
    int64_t events_size, edges_size, bars_size; /**< room */
    /** The first failure; no event is stored after it. */
    enum wsc_err rc;
};
/** Start to record program @p id; the recorder is the caller's.  Nothing is allocated before the
 *  first event. */
void vtime_recorder_init(struct vtime_recorder *r, int32_t id);
/** Free what the recorder keeps. */
void vtime_recorder_fini(struct vtime_recorder *r);
/** Move the events of @p r to @p out, which the caller frees with vtime_recorder_fini(). Numbers of
 *  later events continue, so ids stay unique over a run. */
void vtime_recorder_take(struct vtime_recorder *r, struct vtime_recorder *out);

/** Id of an event: @p number counts all events of program @p program from 0. Equal on any number of
 *  ranks. */
static inline int64_t vtime_event_id(int32_t program, int64_t number)
{
    return (int64_t)program << 40 | (number + 1);
}
/** Program of an event id other than 0. */
static inline int32_t vtime_event_program(int64_t id)
{
    return (int32_t)(id >> 40);
}
/** Number of an event id other than 0, from 0. */
static inline int64_t vtime_event_number(int64_t id)
{
    return (id & ((INT64_C(1) << 40) - 1)) - 1;
}

/** Append an event that waits for @p in; vtime_latest() calls it when there is a recorder. */
struct vtime vtime_record(struct vtime_recorder *r, const struct vtime_edge *in, int n);
/** Append the event of vtime_after(). */
struct vtime vtime_record_after(struct vtime_recorder *r, struct vtime t, int64_t delay_ps,
                                enum vtime_part part);
/** Append the event of vtime_join_after(). */
struct vtime vtime_record_join(struct vtime_recorder *r, struct vtime a, struct vtime b,
                               int64_t delay_ps, enum vtime_part part);
/** Append an event that waits for @p n times, @p stride of them apart. */
struct vtime vtime_record_list(struct vtime_recorder *r, const struct vtime *t, int n, int stride);
/** Append a bar with the current label; it must not end before it begins. NULL @p r allowed. */
void vtime_record_bar(struct vtime_recorder *r, const struct vtime_bar *bar);

/** The time at which all of @p in (@p n >= 1) have happened and their delays have passed. Recorded
 *  as one event, unless @p in is a single edge without a delay. Example: a stage begins one latency
 *  after its weights have arrived and the previous stage has ended:
 *
 *      const struct vtime_edge in[] = {{weights.first, latency_ps, VTIME_STAGE},
 *                                      {end_of_last, latency_ps, VTIME_STAGE}};
 *      struct vtime begin = vtime_latest(r, in, 2); */
static inline struct vtime vtime_latest(struct vtime_recorder *r, const struct vtime_edge *in,
                                        int n)
{
    if (r) return vtime_record(r, in, n);
    struct vtime latest = {.ps = vtime_add_ps(in[0].from.ps, in[0].delay_ps)};
    for (int i = 1; i < n; i++) {
        const int64_t ps = vtime_add_ps(in[i].from.ps, in[i].delay_ps);
        if (ps > latest.ps) latest.ps = ps;
    }
    return latest;
}
/** The time @p delay_ps after @p t. Recorded as an event, unless the delay is 0. */
static inline struct vtime vtime_after(struct vtime_recorder *r, struct vtime t, int64_t delay_ps,
                                       enum vtime_part part)
{
    return r ? vtime_record_after(r, t, delay_ps, part) : vtime_add(t, delay_ps);
}
/** The later of @p a and @p delay_ps after @p b, as an event that waits for both. */
static inline struct vtime vtime_join_after(struct vtime_recorder *r, struct vtime a,
                                            struct vtime b, int64_t delay_ps, enum vtime_part part)
{
    if (r) return vtime_record_join(r, a, b, delay_ps, part);
    return vtime_max((struct vtime){.ps = a.ps}, vtime_add(b, delay_ps));
}
/** The later of two times, as an event that waits for both; @p b is ignored when it is the origin
 *  of time, which has no event. */
static inline struct vtime vtime_join(struct vtime_recorder *r, struct vtime a, struct vtime b)
{
    return b.ps || b.event ? vtime_join_after(r, a, b, 0, VTIME_WAIT) : a;
}
/** The latest of @p n >= 1 times, as an event that waits for all of them. */
static inline struct vtime vtime_latest_of(struct vtime_recorder *r, const struct vtime *t, int n)
{
    if (r) return vtime_record_list(r, t, n, 1);
    struct vtime latest = t[0];
    for (int i = 1; i < n; i++)
        latest = vtime_max(latest, t[i]);
    return latest;
}
/** The latest first and the latest last byte of @p n >= 1 sources that are needed together. */
static inline struct vtime_span vtime_span_latest(struct vtime_recorder *r,
                                                  const struct vtime_span *span, int n)
{
    enum { STRIDE = sizeof *span / sizeof span->first };
    if (r)
        return (struct vtime_span){vtime_record_list(r, &span->first, n, STRIDE),
                                   vtime_record_list(r, &span->last, n, STRIDE)};
    struct vtime_span latest = span[0];
    for (int i = 1; i < n; i++) {
        latest.first = vtime_max(latest.first, span[i].first);
        latest.last = vtime_max(latest.last, span[i].last);
    }
    return latest;
}
/** The span @p s, both ends @p ps later. */
static inline struct vtime_span vtime_span_after(struct vtime_recorder *r, struct vtime_span s,
                                                 int64_t ps, enum vtime_part part)
{
    return (struct vtime_span){vtime_after(r, s.first, ps, part), vtime_after(r, s.last, ps, part)};
}

/* ---- links ----------------------------------------------------------------------------------- */

/** Packet loss of a link: probability and time until a lost packet is sent again. */
struct vtime_loss {
    double rate;           /**< probability for each packet, each time it is sent; 0: none */
    int64_t packet_bytes;  /**< a message has ceil(bytes / packet_bytes) packets, at least one */
    int64_t timeout_ps;    /**< until the last packet of a message is sent again */
    uint64_t seed, stream; /**< of the random numbers, see <wsc/rng.h> */
};

/** State of one direction of an emulated link. The sender owns and advances it; the receiver reads
 *  only rate and latency. Set all to zero, then set rate, latency, loss, part and ends. */
struct vtime_link {
    int64_t rate_bytes_per_s; /**< 0: no limit */
    int64_t latency_ps;
    struct vtime_loss loss;
    enum vtime_part part; /**< label of its bytes in the record */
    int32_t src, dst;     /**< roles at its ends, for the record */
    struct vtime free;    /**< when the sending end can take the next message */
    int64_t bytes;        /**< sent so far */
    int64_t n_messages;   /**< sent so far */
    int64_t n_lost;       /**< packets that were lost and sent again */
    int64_t busy_ps;      /**< time in which a message occupied the sending end */
};

/** Send @p bytes whose first and last byte are ready at @p span:
 *
 *           start = max(span.first, free)
 *           first = start + latency
 *           last  = max(span.last, start + bytes / rate) + latency
 *           free  = last - latency
 *
 *  A slow producer prolongs the message and a busy link delays it. bytes / rate is rounded up to
 *  whole picoseconds. @p r is the recorder of the sending program, or NULL. @p span is set to the
 *  times at which the bytes arrive. Its events are those of sending; vtime_link_arrive() makes the
 *  events of the arrival. */
void vtime_link_send(struct vtime_recorder *r, struct vtime_link *link, struct vtime_span *span,
                     int64_t bytes);
/** vtime_link_send() over a link that may lose packets. Go-back-N, as network cards for RDMA over
 *  Ethernet do it (InfiniBand specification, volume 1, 9.7; Mittal et al., SIGCOMM 2018, section
 *  2): when packet i is lost, the receiver drops what follows and reports it on seeing packet i +
 *  1; the sender resumes from i, so that each loss costs 2 (packet / rate + latency) of the link's
 *  time. Nothing follows the last packet: its loss costs packet / rate + time-out. A packet that is
 *  sent again may be lost again. Second losses within one round trip and losses of acknowledgements
 *  are neglected: they are of the order of the square of the rate. The losses of the first packet,
 *  of those between and of the last are sampled from the seed, the stream and @p message, which
 *  identifies the message on its link. The distributions are geometric and negative binomial; a
 *  normal distribution replaces the latter when its mean is above 64. */
void vtime_link_send_over(struct vtime_recorder *r, struct vtime_link *link,
                          struct vtime_span *span, int64_t bytes, uint64_t message);
/** Send a message of no size, such as a credit, which neither waits for other messages nor delays
 *  them. Returns its time of arrival, with the event of @p ready. */
struct vtime vtime_link_signal(struct vtime_link *link, struct vtime ready);
/** Record the arrival of a message as events of the receiving program @p r, one latency after the
 *  events of @p span. The times of @p span do not change. */
void vtime_link_arrive(struct vtime_recorder *r, const struct vtime_link *link,
                       struct vtime_span *span);

/* ---- breakdown ------------------------------------------------------------------------------- */

/** Breakdown of the time of a step by what a wafer did or waited for; see docs/decisions/0003.
 *  Parts are in picoseconds and not negative; they add up to the time of the step, checked by
 *  WSC_CHECK. A wait for weights is divided by cause, in this order: gradients of the previous step
 *  still in flight (reduce), update in MemoryX (boundary), the stream (weights). */
struct vtime_breakdown {
    int64_t compute_ps;      /**< stages ran */
    int64_t weights_wait_ps; /**< weights were still streaming, or a stage that had computed waited
                                  for its spilled activations */
    int64_t reduce_wait_ps;  /**< gradients could not leave faster, or were not yet in MemoryX */
    int64_t boundary_ps;     /**< MemoryX was updating or writing a checkpoint, or systems were
                                  being coordinated */
    int64_t input_wait_ps;   /**< samples of the next step had not come in */
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
