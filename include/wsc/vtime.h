/** Virtual time: integer picoseconds of the emulated machine, the links that carry it, and the
 *  recorder of its events.
 *
 *  Integers, so that adding is exact in any order; a struct, so that the compiler rejects
 *  `time + seconds`.  Nothing here reads a host clock.  int64 picoseconds reach 106 days; what is
 *  later stays at VTIME_END and never wraps, and a run that gets there ends with an error.
 *
 *  Virtual time is a graph: an event happens when the last of the events that it waits for has
 *  happened, plus the time that passes after it.  A program that keeps time does it through
 *  vtime_latest(), vtime_after() and vtime_link_send(), which compute the time and, when the
 *  program has a recorder, keep the event.  Each struct vtime names the event at which it is, so
 *  that the graph follows the values wherever they are stored or sent.  Without a recorder nothing
 *  is kept and nothing but one pointer is tested.
 */
#ifndef WSC_VTIME_H
#define WSC_VTIME_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A point in virtual time.  Compared and added by @c ps alone; @c event never takes part in a
 *  time, so that a recorded run has the times of one that is not. */
struct vtime {
    /** Picoseconds since the start of the run's virtual time, 0 .. VTIME_END. */
    int64_t ps;
    int64_t event; /**< recorded event that happens then, see vtime_event_id(); 0: none */
};

/** The end of time, 2^63 - 1 ps. */
#define VTIME_END INT64_MAX

/** When the first and the last byte of something are there, first <= last.  Messages and results
 *  have two times, because a receiver can begin with the first byte (cut-through). */
struct vtime_span {
    struct vtime first, last;
};

/* ---- arithmetic ------------------------------------------------------------------------------ */

/** @p ps picoseconds after @p at_ps, @p ps >= 0; VTIME_END when that is later still. */
static inline int64_t vtime_add_ps(int64_t at_ps, int64_t ps)
{
    int64_t sum;
    return __builtin_add_overflow(at_ps, ps, &sum) ? VTIME_END : sum;
}
/** @p ps later, @p ps >= 0; VTIME_END when that is later still.  Plain arithmetic: no event. */
static inline struct vtime vtime_add(struct vtime a, int64_t ps)
{
    return (struct vtime){.ps = vtime_add_ps(a.ps, ps)};
}
/** The later of two times, the first one when they are equal; no event is recorded. */
static inline struct vtime vtime_max(struct vtime a, struct vtime b)
{
    return b.ps > a.ps ? b : a;
}
/** Both ends at @p t. */
static inline struct vtime_span vtime_at(struct vtime t)
{
    return (struct vtime_span){t, t};
}
/** Time for @p amount units at @p per_s units per second, rounded up, in ps; @p per_s 0 is no limit
 *  and takes no time.  VTIME_END when it takes longer.  Exact integer arithmetic in 128 bits: the
 *  same on every host. */
int64_t vtime_duration_ps(int64_t amount, int64_t per_s);

/* ---- events ---------------------------------------------------------------------------------- */

/** What takes the time between an event and one that waits for it. */
enum vtime_part {
    VTIME_WAIT,       /**< nothing: it only waits */
    VTIME_COMPUTE,    /**< kernels */
    VTIME_STAGE,      /**< start of a stage */
    VTIME_DRAIN,      /**< from the edge of the wafer inwards */
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

/** Wait for @c from, then let @c delay_ps pass.  An event has one edge for each event that it waits
 *  for; the one that determines its time is on the critical path. */
struct vtime_edge {
    struct vtime from;    /**< event 0: the origin of time, or one before the record */
    int64_t delay_ps;     /**< at least 0 */
    enum vtime_part part; /**< what takes the delay */
};
/** An event of a record; its edges follow those of the event before it. */
struct vtime_event {
    /** Time of the event. */
    int64_t ps;
    /** Finished steps before the one that the event belongs to. */
    int64_t step;
    int32_t transfer; /**< what it is about: a transfer of the step, or VTIME_NO_TRANSFER */
    /** Edges of the event, at least 1. */
    int32_t n_edges;
};
/** Label of events at the end of a step: its times, its update. */
enum { VTIME_NO_TRANSFER = -1 };

/** What a viewer draws as one bar. */
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

/** Events of one sequential program in the order in which it made them.  One for each program of a
 *  role (comm_recorder()); the graph of a pass is all of them together (<wsc/timeline.h>).  Arrays
 *  grow as events come; 24 bytes an event, 32 an edge. */
struct vtime_recorder {
    int32_t id;   /**< of the program: unique in the machine, whoever runs it */
    int64_t step; /**< label of the events that come, and transfer */
    int32_t transfer;
    int64_t n_before;          /**< events that were taken away: the number of event[0] */
    struct vtime_event *event; /**< owned */
    struct vtime_edge *edge;   /**< owned */
    struct vtime_bar *bar;     /**< owned */
    int64_t n_events, n_edges, n_bars;
    int64_t events_size, edges_size, bars_size; /**< room */
    enum wsc_err rc;                            /**< the first failure; nothing is kept after it */
};
/** Start to record program @p id; the recorder is the caller's.  Nothing is allocated before the
 *  first event. */
void vtime_recorder_init(struct vtime_recorder *r, int32_t id);
/** Free what the recorder keeps. */
void vtime_recorder_fini(struct vtime_recorder *r);
/** Move what @p r keeps to @p out (ownership passes, vtime_recorder_fini() it); numbers of later
 *  events continue from there, so ids stay unique over a run. */
void vtime_recorder_take(struct vtime_recorder *r, struct vtime_recorder *out);

/** Id of event @p number (from 0, of all that the program ever made) of program @p program; the
 *  same on any number of ranks. */
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

/** Append an event that waits for @p in; what vtime_latest() does with a recorder. */
struct vtime vtime_record(struct vtime_recorder *r, const struct vtime_edge *in, int n);
/** Append the event of vtime_after(). */
struct vtime vtime_record_after(struct vtime_recorder *r, struct vtime t, int64_t delay_ps,
                                enum vtime_part part);
/** Append the event of vtime_join_after(). */
struct vtime vtime_record_join(struct vtime_recorder *r, struct vtime a, struct vtime b,
                               int64_t delay_ps, enum vtime_part part);
/** Append an event that waits for @p n times, @p stride of them apart. */
struct vtime vtime_record_list(struct vtime_recorder *r, const struct vtime *t, int n, int stride);
/** Append a bar with the present label; NULL @p r allowed. */
void vtime_record_bar(struct vtime_recorder *r, const struct vtime_bar *bar);

/** The time at which all of @p in (@p n >= 1) have happened and their delays have passed.  Recorded
 *  as one event, unless it is the only one of @p in without a delay.  The example is a stage that
 *  begins when its weights and the stage before are there, a latency later:
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
/** @p delay_ps after @p t; an event, unless nothing passes. */
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
/** The later of two times, as an event that waits for both; @p b at the origin of time, where
 *  nothing has happened, is not waited for. */
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
/** Both ends @p ps later. */
static inline struct vtime_span vtime_span_after(struct vtime_recorder *r, struct vtime_span s,
                                                 int64_t ps, enum vtime_part part)
{
    return (struct vtime_span){vtime_after(r, s.first, ps, part), vtime_after(r, s.last, ps, part)};
}

/* ---- links ----------------------------------------------------------------------------------- */

/** How a link loses packets, and how long what is lost takes to come again. */
struct vtime_loss {
    double rate;           /**< probability for each packet, each time it is sent; 0: none */
    int64_t packet_bytes;  /**< a message is cut into ceil(bytes / packet) of them, at least one */
    int64_t timeout_ps;    /**< until the last packet of a message is sent again */
    uint64_t seed, stream; /**< of the random numbers, see <wsc/rng.h> */
};

/** One direction of a link.  The sender owns and advances it; the receiver uses rate and latency
 *  alone.  Zero it, then set rate, latency, loss, part and ends. */
struct vtime_link {
    int64_t rate_bytes_per_s; /**< 0: no limit */
    int64_t latency_ps;
    struct vtime_loss loss;
    enum vtime_part part; /**< what the bytes on it are, for the record */
    int32_t src, dst;     /**< roles at its ends, for the record */
    struct vtime free;    /**< when the sending end can take the next message */
    int64_t bytes;        /**< carried so far */
    int64_t n_messages;   /**< carried so far */
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
 *  so a slow producer prolongs the message and a busy link delays it.  bytes / rate is rounded up
 *  to whole picoseconds. @p r is the recorder of the sending program, or NULL.  @p span becomes the
 *  times at which the bytes arrive; its events are those at which they left, and
 *  vtime_link_arrive() makes those of the arrival. */
void vtime_link_send(struct vtime_recorder *r, struct vtime_link *link, struct vtime_span *span,
                     int64_t bytes);
/** vtime_link_send() over a link that may lose packets.  Go-back-N, as network cards for RDMA over
 *  Ethernet do it (InfiniBand specification, volume 1, 9.7; Mittal et al., SIGCOMM 2018, section
 *  2): when packet i is lost, the receiver drops what follows and reports it on seeing packet i +
 *  1; the sender resumes from i, so that each loss costs 2 (packet / rate + latency) of the link's
 *  time.  Nothing follows the last packet: its loss costs packet / rate + time-out.  A packet that
 *  is sent again may be lost again.  Second losses within one round trip, and losses of
 *  acknowledgements, are left out: they are of the order of the square of the rate.  How often the
 *  first packet, those between and the last are lost is sampled from the seed, the stream and
 *  @p message, which names the message among those of the link: geometric and negative binomial
 *  distributions, the latter by a normal one when its mean is above 64. */
void vtime_link_send_over(struct vtime_recorder *r, struct vtime_link *link,
                          struct vtime_span *span, int64_t bytes, uint64_t message);
/** A message of no size that waits for nobody and delays nobody, such as a credit; returns when it
 *  arrives, with the event of @p ready. */
struct vtime vtime_link_signal(struct vtime_link *link, struct vtime ready);
/** Make the arrival of what was sent events of the receiving program @p r: the latency passes after
 *  the events of @p span, whose times stay as they are. */
void vtime_link_arrive(struct vtime_recorder *r, const struct vtime_link *link,
                       struct vtime_span *span);

/* ---- breakdown ------------------------------------------------------------------------------- */

/** Where the time of a step went, by what a wafer did or waited for; see docs/decisions/0003.  All
 *  in picoseconds, none negative; the parts add up to the time of the step, with WSC_CHECK.  A wait
 *  for weights is divided by its causes in this order: gradients of the step before on their way
 *  (reduce), MemoryX updating (boundary), the stream (weights). */
struct vtime_breakdown {
    int64_t compute_ps;      /**< stages ran */
    int64_t weights_wait_ps; /**< weights were still streaming */
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
