/** The state of a fabric. Data is laid out by the number of times that a cycle reads it: a channel
 *  (one colour at one router), the operation of a thread and most queues have one cache line each;
 *  a PE begins with the line that every visit reads; bitmaps have the routers and PEs that have
 *  something to do. */
#ifndef WSC_MESH_STATE_H
#define WSC_MESH_STATE_H
#include "pool.h"

#include <wsc/err.h>
#include <wsc/mesh.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MESH_N_IN = 8,
    MESH_N_OUT = 6,
    MESH_TODO = 32, /* most operations that one task can issue */
    MESH_SLOTS = 8, /* parts of a datapath cycle: an operation of SIMD width w uses 8 / w of them
                       for an element */
    MESH_MAX_FILTERS = 4,
    MESH_NONE = 255,
    MESH_OFF_FABRIC = -1, /* smaller numbers are edge sinks */
    MESH_LATENCY = 3,     /* longest latency, cycles: ramp toward the PE of WSE-3 */
    MESH_BATCH = 12, /* cycles of a batch, after which the next batch is chosen (mesh_cycle.c) */
    MESH_AHEAD = 16, /* cycles for which visits are listed, at least MESH_BATCH + MESH_LATENCY */
    MESH_MAX_THREADS = 64
};

/* Bit in the payload of a control wavelet that advances the switch of its own router and goes no
 * further. */
#define MESH_OWN_SWITCH (1U << 30)
/* Entry of a queue: payload, cycle from which it can be taken, control bit. */
#define MESH_CONTROL_BIT  0x8000000000000000ULL
#define MESH_CONTENT_BITS 0x80000000FFFFFFFFULL
static inline uint64_t mesh_ready_bits(int64_t ready)
{
    return ((uint64_t)ready & 0x7FFFFFFF) << 32;
}
static inline int64_t mesh_entry_ready(uint64_t e)
{
    return (int64_t)(e >> 32 & 0x7FFFFFFF);
}

/* Switch and filter of a colour at one router, for the routes that have one: the positions, the
 * current one (`at`), and the counter of the filter. */
struct mesh_switch {
    struct mesh_position pos[MESH_POSITIONS];
    uint8_t n, at, pop;
    bool ring;
    bool has_filter, filter_off, limit2_used;
    uint32_t counter;
    struct mesh_filter filter;
};

/* One colour at one router: a queue with one sender at a time. The sender writes entries and the
 * tail, the router writes the gate, so they may be in two threads. Both are counters, used modulo
 * MESH_FIFO. */
struct mesh_channel {
    uint64_t entry[MESH_FIFO];
    _Atomic uint64_t gate; /* mesh_gate() */
    int32_t to[4];         /* channel east, west, north, south */
    int32_t extra;         /* index for mesh_switch_of(), or -1 */
    _Atomic uint8_t tail;
    uint8_t tx, colour : 5, fast_side : 3, queue; /* fast_side: mesh_channel_set_fast_side() */
};
_Static_assert(sizeof(struct mesh_channel) == MESH_LINE, "a channel is a cache line");

/* Outputs of a channel other than the ramp, if the fast path of router.c applies: none, or side 1
 * to 4. MESH_NO_FAST_PATH: it does not apply. */
enum { MESH_NO_SIDE, MESH_NO_FAST_PATH = 7 };

/* Gate of a channel: 1 + the cycle of the last removal, the input before and after it, the head.
 * An entry that is removed in a cycle becomes free in the next one, and a switch changes in the
 * next one. */
static inline uint64_t mesh_gate(int64_t popped, unsigned before, unsigned rx, unsigned head)
{
    return (uint64_t)popped << 32 | before << 16 | rx << 8 | (head & 255);
}
static inline unsigned mesh_gate_rx(uint64_t gate)
{
    return gate >> 8 & 255;
}

/* A router: the channels of its colours lie one after the other from `first` on, by colour. */
struct mesh_router {
    uint32_t waiting, colours; /* sets of colours: those with wavelets, those with routes */
    int32_t first;             /* channel of the lowest colour */
    uint32_t neighbours;       /* set of the sides on which there is a router */
};

/* Queue of a PE; it occupies as many cache lines as its depth needs. */
struct mesh_queue {
    uint8_t head, n, depth, colour;
    int32_t link; /* input: index in mesh.task of the data task, or -1; output: channel */
    uint64_t entry[];
};
struct mesh_cache_line {
    _Alignas(MESH_LINE) unsigned char byte[MESH_LINE];
};

enum mesh_from { MESH_FROM_NOTHING, MESH_FROM_MEMORY, MESH_FROM_QUEUE, MESH_FROM_NUMBER };
enum {
    MESH_FABRIC = 1,
    MESH_SENDS_CONTROL = 2,
    MESH_C_IN_MEMORY = 4,
    MESH_COLLIDES = 8,
    MESH_SIMPLE = 16,   /* fmovs or fadds by rows */
    MESH_TRIGGERED = 32 /* started by data; with MESH_FABRIC while the operation waits for them */
};
/* Kinds of requests of a task: operations on thread 0 to 8, then the following kinds. */
enum mesh_todo_kind {
    MESH_TODO_WAIT = MESH_THREADS + 1,
    MESH_TODO_JOIN,
    MESH_TODO_ACTIVATE,
    MESH_TODO_BLOCK,
    MESH_TODO_UNBLOCK,
    MESH_TODO_BLOCK_DATA,
    MESH_TODO_UNBLOCK_DATA,
    MESH_TODO_ARM
};
/* An operation as a thread runs it; also an entry of the list of operations that a task has still
 * to start. Addresses are modulo 2^16, so that negative steps are positive ones; at, step and jump
 * are of dst, a, b. */
struct mesh_thread {
    /* kind: mesh_todo_kind; from: mesh_from of a, and of b in bits 2 and 3 */
    uint8_t kind, code, flags, from;
    uint8_t in, out; /* input and output queue, or MESH_NONE */
    uint8_t activate, unblock;
    uint16_t cost; /* slots for an element */
    uint16_t at[3], step[3];
    /* after each row of elements, `jump` is added instead of `step` */
    uint16_t row, row_left, jump[3];
    uint32_t ready_at; /* cycle in which the set-up ends */
    uint32_t c;        /* operand c: number or address */
    int64_t left;      /* elements that are left; argument of the other kinds */
    union {
        int64_t work; /* memory operations: slots that are left */
        int64_t done; /* operations with `op`: elements that are done */
        /* numbers a and b, until the operation begins or with a fabric operand */
        uint32_t number[2];
    };
    union {
        struct mesh_op *op;       /* owned copy if rows do not describe the operation, or NULL */
        struct mesh_armed *armed; /* owned, of MESH_TODO_ARM */
    };
};
_Static_assert(sizeof(struct mesh_thread) == MESH_LINE, "an operation is a cache line");
/* The data-triggered operation (trigger.h) that is bound at a PE, at most one; allocated from the
 * pool of the region's program. */
struct mesh_armed {
    struct mesh_thread axpy;                    /* the multiply-add of the first wavelet */
    int32_t n, done;                            /* wavelets: at most n, done so far */
    int32_t step[2];                            /* bytes: sums, vectors */
    uint32_t index;                             /* vector of the next wavelet, when has_index */
    uint32_t ready_at;                          /* earliest cycle of the next multiply-add */
    uint16_t elements, wait;                    /* wait: eighths of a cycle */
    uint8_t carry;                              /* part of `wait` carried over to the next one */
    bool until_control, indexed, writes, alike; /* alike: sums and vectors have equal steps */
    bool has_index;
    uint8_t unused[6]; /* 0 in the place of padding, which snapshots would store with any value */
};
_Static_assert(sizeof(struct mesh_armed) == sizeof(struct mesh_thread) + 40, "no padding");
/* True when a data-triggered operation waits for a wavelet; such a thread does not make its PE
 * busy. */
static inline bool mesh_trigger_waits(const struct mesh_thread *t)
{
    const unsigned both = MESH_TRIGGERED | MESH_FABRIC;
    return (t->flags & both) == both;
}

struct mesh_pe {
    struct mesh_cache_line *queue; /* borrowed: queues of this PE, in mesh.queues */
    uint8_t *memory;               /* owned, grows when it is written */
    uint64_t activated;            /* set of local tasks */
    uint32_t waits_until;          /* cycle until which scalar code runs */
    uint32_t bulk_since;           /* 1 + cycle since which a memory operation runs alone, or 0 */
    uint16_t threads;              /* set of threads that are not idle; bit 0: the main one */
    uint8_t in_used, out_used;     /* sets of input and output queues that are not empty */
    uint8_t turn, out_turn;        /* round robin: thread and output queue that come first */
    uint8_t bulk;                  /* the thread of bulk_since */
    uint8_t awaits;                /* set of input queues for whose wavelets the PE waits */
    uint8_t n_todo, next_todo;     /* requests of the running task: number, and the next one */
    uint8_t slot[MESH_N_IN + MESH_N_OUT]; /* first line of each queue */
    /* stream: fast path of a cycle of the PE (pe.c), or 0; streams: its thread */
    uint8_t stream, streams;
    uint8_t micro, spare; /* micro: the microthread that began last, or 0 */
    uint32_t queue_heads; /* set of cache lines with which a queue begins */
    /* Members that are read when a task or an operation begins or ends. */
    uint64_t blocked; /* set of local tasks */
    struct mesh_region *region;
    struct mesh_thread *todo; /* entries 0 .. n_todo - 1; owned unless the region's */
    struct mesh_armed *armed; /* owned: data-triggered operation (trigger.h), or NULL */
    int32_t index, binding;   /* binding: index in mesh.bindings */
    int16_t x, y;
    int32_t memory_bytes, reserved;
    uint8_t data_blocked; /* set of input queues */
    bool running;         /* inside a task */
    uint8_t padding[10];  /* padding: the next PE starts with a cache line */
};
_Static_assert(sizeof(struct mesh_pe) == 2 * MESH_LINE, "a PE is two lines");
_Static_assert(offsetof(struct mesh_pe, blocked) == MESH_LINE, "a visit reads one line of a PE");

/* The bindings of a PE. Numbers are stored plus 1, 0 for none, except the colour of a queue. */
struct mesh_binding {
    uint8_t in_of[MESH_COLOURS], out_of[MESH_COLOURS]; /* queue of a colour */
    uint8_t task[MESH_TASKS];                          /* index in mesh.task */
    uint8_t colour[MESH_N_IN + MESH_N_OUT];            /* colour of a queue, or MESH_NONE */
    uint8_t data_task[MESH_N_IN];
};
/* The different bindings of the fabric, each stored once; PEs of one program have few. The first
 * one is empty. */
struct mesh_bindings {
    struct mesh_binding *item; /* owned */
    int32_t n, capacity;
    int32_t *slot; /* owned, hash table: number plus 1 of a binding */
    int32_t n_slots;
};

/* A task function of the fabric; PEs refer to it by its index in mesh.task. */
struct mesh_task_entry {
    mesh_task_fn fn;
    enum mesh_priority priority;
};

/* Wavelets that the host sends over an edge, at most one per cycle and link. */
struct mesh_source {
    int32_t channel, router;
    uint8_t side;
    int32_t link;                       /* first source on the same link */
    uint32_t used;                      /* 1 + cycle in which the link was last used */
    const struct mesh_wavelet *wavelet; /* borrowed */
    int64_t n, next;
    int32_t words; /* data wavelets sent so far, in a recorded run */
};
/* Receiver of the wavelets that leave the fabric over an edge; the output belongs to the caller. */
struct mesh_sink {
    int x, y, colour, side;
    struct mesh_output *output;
};

/* A PE (of its region) that is to be visited in a cycle. Timers lie in a ring of buckets, by the
 * cycle modulo MESH_WHEEL; timers of later rounds stay in their bucket. */
struct mesh_timer {
    uint32_t cycle;
    int32_t at;
};
enum { MESH_WHEEL = 256 };
struct mesh_bucket {
    struct mesh_timer *timer;
    int n, capacity;
};

_Static_assert(MESH_BATCH + MESH_LATENCY <= MESH_AHEAD, "visits of a batch, and those it leads to");

/* Routers and PEs that have something to do in a cycle, 64 a word. */
struct mesh_active {
    uint64_t *routers, *pes; /* the second array follows the first */
};

/* A compiled operation: the key has its properties that do not depend on addresses and numbers, and
 * `thread` how a thread runs it. Words of the key: one for each operand dst, a, b, c, then code,
 * thread, tasks and binding of the PE. bytes: size of each operand in memory from its address on.
 */
enum { MESH_OPERANDS = 4, MESH_FORMS = 64 }; /* 2^6: the top bits of a hash */
struct mesh_form {
    uint64_t key[MESH_OPERANDS + 1];
    int32_t bytes[MESH_OPERANDS]; /* 0: not in memory */
    bool compares_banks;          /* a and b are read at the same stride */
    struct mesh_thread thread;
};

enum { MESH_MICRO_BLOCK = 512 }; /* number of places whose microthreads are allocated together */
/* A place to visit: its router, its PE or both. */
enum { MESH_VISIT_ROUTER = 1, MESH_VISIT_PE = 2, MESH_VISIT_BITS = 2 };
struct mesh_visit {
    uint32_t what; /* the place, shifted left, and the flags above */
};
enum { MESH_FETCH_AHEAD = 12 }; /* visits before which the first lines of a place are fetched */
/* The sides on which a region of rows has neighbours. */
enum mesh_side { MESH_TO_NORTH, MESH_TO_SOUTH, MESH_SIDES };
enum { MESH_AWAITED = 2 * MESH_SIDES };
/* Wavelets and wake-ups that cross to a neighbouring region, a word for each of its PEs on that
 * side: the colours sent, and MESH_MAILBOX_WAKE. */
enum { MESH_MAILBOX_WAKE = 1 << 30 };
struct mesh_mailbox {
    uint32_t *word;
    bool any;
};

/* Progress of a region in its batch (mesh_wave.c). */
struct mesh_wave {
    uint8_t *ran; /* owned (blocks): cycles of the batch that each block has run */
    int64_t step; /* number of steps of the sweep over all blocks */
    int64_t diagonal[MESH_SIDES];
    /* Work waits until side `side` has reached a cycle; cycle 0: it does not wait. First that on
     * the diagonals from each border, then that of blocks left over, for each side. */
    struct mesh_awaited {
        enum mesh_side side;
        int64_t cycle;
    } awaited[MESH_AWAITED];
    /* Read by the region across the border: the blocks beside that border have run all cycles
     * before this one. */
    _Alignas(MESH_LINE) _Atomic int64_t before[MESH_SIDES];
};

/* A band of rows that one thread runs; its PEs are counted from 0. It writes nothing of another
 * region except the far ends of channels and its mailbox. */
struct mesh_region {
    _Alignas(MESH_LINE) struct mesh *m;
    /* Arrays from the first PE of the region on; channels are the fabric's. */
    struct mesh_pe *pe;
    struct mesh_router *router;
    struct mesh_thread *main, **micro[MESH_THREADS]; /* micro: blocks of MESH_MICRO_BLOCK places */
    struct mesh_channel *channel;
    int64_t now;
    int64_t batch, until; /* cycles of the round that it runs now: batch to until - 1 */
    /* next: visits in the next cycle; arrival: visits after the latency of the ramp */
    struct mesh_active next, arrival;
    int64_t n_pes, step[5]; /* from a router to its neighbour */
    /* ready times of wavelets that are sent in this cycle */
    uint64_t ready_next, ready_hop, ready_down, ready_up;
    int colour_turn; /* colour that comes first in this cycle */
    int64_t last;    /* end of the last cycle in which a PE or an edge was active */
    int64_t visited; /* last cycle in which a place was visited */
    struct mesh_stats stats;
    struct mesh_active active[MESH_AHEAD];      /* lists of visits, by cycle modulo MESH_AHEAD */
    struct mesh_mailbox mailbox[2][MESH_SIDES]; /* by the parity of the cycle */
    struct mesh_thread todo[MESH_TODO];         /* requests of the running task */
    struct mesh_form form[MESH_FORMS];          /* by the hash of the key */
    struct mesh_pool program, memory;           /* program: freed by mesh_clear(); memory: of PEs */
    int64_t first, n_words, n_timers;           /* first: PE of the fabric */
    /* number of blocks of places; `south`: first block of the last row */
    int64_t n_blocks, south;
    int block_shift;          /* a block is 2^block_shift places */
    struct mesh_visit *visit; /* the visits of a block, and MESH_FETCH_AHEAD more */
    struct mesh_wave wave;
    /* sources of this region, sorted by the block of their router */
    int32_t *source, *first_source;
    struct mesh_flow *flow; /* owned, or NULL (mesh_flow.h) */
    bool flows;             /* true when places flow in this batch */
    /* error: a wavelet arrived for which a data-triggered operation has no vector */
    bool stray;
    enum wsc_err rc;                  /* first error; `message` is its text */
    struct mesh_recording *recording; /* borrowed: of a run that is recorded, or NULL */
    int64_t error_in, error_block;    /* error_in: cycle of the error, or INT64_MAX */
    char *message;
    struct mesh_bucket wheel[MESH_WHEEL];
};

/* The route of a colour at a router, before mesh_link(). */
struct mesh_cell {
    uint8_t rx, tx;
    int32_t extra; /* index + 1 */
};

/* An array of the host that tasks change, with some bytes for each PE; snapshots include it. */
struct mesh_noted {
    void *array; /* borrowed */
    int64_t bytes;
};
enum { MESH_MAX_NOTED = 8 };

/* How streams cross borders between the regions of this process in a batch: there are none; places
 * on both sides are visited; regions try to agree; streams move before the batch; they move after
 * it. */
enum mesh_flow_crossing {
    MESH_CROSS_NONE,
    MESH_CROSS_VISITED,
    MESH_CROSS_TRIED,
    MESH_CROSS_EARLY,
    MESH_CROSS_LATE
};

struct mesh {
    struct mesh_config config;
    int hop, ramp_up, ramp_down, setup_fabric;
    int64_t step[5]; /* from a router to its neighbour */
    int64_t n_pes, n_channels, queue_lines;
    int64_t round, until; /* regions run the cycles from round to until - 1 by themselves */
    bool linked, expired;
    bool flows; /* regions look for streams before a batch (mesh_flow.h) */
    enum mesh_flow_crossing crossing;
    /* number of batches until the next attempt; length of the last pause */
    int cross_skip, cross_missed;
    _Atomic bool failing; /* a region has met an error in this batch */
    /* borrowed: wait of threads for each other (mesh_wait.h), or NULL */
    struct mesh_wait *wait;
    struct mesh_watch *watch; /* borrowed, or NULL */
    struct mesh_router *router;
    struct mesh_channel *channel;
    struct mesh_pe *pe;
    struct mesh_thread *main; /* main thread of each PE; regions have the microthreads */
    struct mesh_bindings bindings;
    /* memory of all places (router, pe, main), channels and queues */
    struct mesh_buffer places, channels, queues;
    struct mesh_region *region;
    /* n_regions: regions of all processes; own, n_own: first region and number of regions of this
     * one */
    int n_regions, own, n_own;
    /* border to the regions of other processes (mesh_share.h), or NULL */
    struct mesh_border *border;
    /* cycle up to which this process may run before the next exchange with the others */
    int64_t horizon;
    bool together;         /* all processes run the same batch, with an exchange after each cycle */
    enum wsc_err share_rc; /* error of an exchange with the other processes */
    int64_t n_ran;         /* cycles of the run so far, for reports of progress */
    bool stopped;          /* the run was asked to end */
    enum wsc_err end_rc;   /* error with which the run ends between two cycles */
    char *end_message;     /* owned */
    struct mesh_repeats *repeats; /* owned: runs that repeat (repeat.h), or NULL */
    struct mesh_noted noted[MESH_MAX_NOTED];
    int n_noted;
    struct mesh_switch *extra;
    int n_extra, extra_capacity;
    /* n_pes, until linked: MESH_COLOURS cells of each PE, or NULL without routes */
    struct mesh_cell **cell;
    struct mesh_pool cells;
    struct mesh_task_entry task[MESH_NONE];
    int n_tasks;
    struct mesh_source *source;
    int n_sources;
    struct mesh_sink *sink;
    int n_sinks;
};
/* Flag in `extra` of a channel: its switch has a filter. */
enum { MESH_FILTERED = 1 << 30 };
static inline struct mesh_switch *mesh_switch_of(const struct mesh *m,
                                                 const struct mesh_channel *ch)
{
    return ch->extra < 0 ? NULL : &m->extra[ch->extra & ~MESH_FILTERED];
}
enum wsc_err mesh_check_rect(const struct mesh *m, struct mesh_rect r);
/* @p at is the place to name in the message. */
enum wsc_err mesh_check_colour(struct mesh_rect at, int colour);
static inline struct mesh_pe *mesh_pe_at(struct mesh *m, int x, int y)
{
    return &m->pe[(int64_t)y * m->config.w + x];
}
static inline const struct mesh_binding *mesh_binding_of(const struct mesh_pe *pe)
{
    return &pe->region->m->bindings.item[pe->binding];
}
/* Directions have the numbers 0 .. 4: ramp, east, west, north, south. */
extern const int mesh_dx[5], mesh_dy[5], mesh_opposite[5];
static inline int mesh_direction(int set)
{
    return __builtin_ctz((unsigned)set);
}
const char *mesh_direction_name(int direction);
#endif
