/** What the files of mesh share.  Data is laid out by how often a cycle touches it: a channel (one
 *  colour at one router) is a cache line, a router lists its channels that hold something, a PE
 *  starts with what every cycle reads. */
#ifndef WSC_MESH_IMPL_H
#define WSC_MESH_IMPL_H
#include <wsc/mem.h>
#include <wsc/mesh.h>

enum {
    MESH_FIFO = 4, /* wavelets a colour holds at a router; assumed: the least power of two that
                      passes one a cycle over hops of two cycles */
    MESH_N_IN = 8,
    MESH_N_OUT = 6,
    MESH_QUEUE = 16, /* slots of a queue of the emulator; the machine's depth is in `depth` */
    MESH_TODO = 32,  /* what one task can issue */
    MESH_SLOTS = 8,  /* parts of a datapath cycle: an operation of SIMD width w takes 8 / w of them
                        for an element */
    MESH_MAX_FILTERS = 4,
    MESH_NONE = 255,
    MESH_AHEAD = 4,      /* items whose data are fetched ahead */
    MESH_OFF_FABRIC = -1 /* smaller numbers: edge sinks */
};

/* In the payload of a control wavelet: it turns the switch of its own router and goes no further.
 */
#define MESH_TURN (1U << 30)

/* Entry of a queue: payload, cycle from which it can be taken, control bit. */
#define MESH_CONTROL_BIT 0x8000000000000000ULL
static inline uint64_t mesh_entry(uint32_t data, int64_t ready, uint64_t control_bit)
{
    return data | (uint64_t)ready << 32 | control_bit;
}
static inline int64_t mesh_entry_ready(uint64_t e)
{
    return (int64_t)(e >> 32 & 0x7FFFFFFF);
}

struct mesh_switch {
    struct mesh_position pos[MESH_POSITIONS];
    uint8_t n, at, pop;
    bool ring;
    bool has_filter, filter_off, limit2_used;
    uint32_t counter;
    struct mesh_filter filter;
};

/* One colour at one router. */
struct mesh_channel {
    uint64_t entry[MESH_FIFO];
    int32_t to[4];   /* channel east, west, north, south */
    uint32_t popped; /* 1 + cycle of the last pop */
    int32_t extra;   /* switch and filter, or -1 */
    uint8_t rx, tx, head, n, colour, queue;
    uint8_t rx_before; /* in the cycle of a pop: rx at its start */
    uint8_t pad;
};
_Static_assert(sizeof(struct mesh_channel) == 64, "a channel is a cache line");

struct mesh_router {
    uint32_t waiting, colours; /* sets of colours: with wavelets, with routes */
    int32_t first;             /* channel of the lowest colour */
    uint32_t used[5];          /* 1 + cycle in which a direction was last used */
    uint32_t listed;           /* cycle for which it is in a list */
};

struct mesh_queue {
    uint8_t head, n, depth, colour;
    uint8_t task; /* of data wavelets: index in mesh.task, or MESH_NONE */
    uint64_t entry[MESH_QUEUE];
};

enum mesh_thread_state { MESH_IDLE, MESH_SETUP, MESH_RUNNING };
struct mesh_thread {
    uint8_t state;
    bool fabric;      /* a wavelet an element */
    uint8_t in, out;  /* queues, or MESH_NONE */
    uint16_t cost;    /* slots an element */
    int64_t ready_at; /* end of the set-up */
    int64_t left, done;
    int64_t work; /* memory operations: slots left */
    struct mesh_op op;
};

enum mesh_todo_kind {
    MESH_TODO_OP,
    MESH_TODO_WAIT,
    MESH_TODO_JOIN,
    MESH_TODO_ACTIVATE,
    MESH_TODO_BLOCK,
    MESH_TODO_UNBLOCK,
    MESH_TODO_BLOCK_DATA,
    MESH_TODO_UNBLOCK_DATA
};
struct mesh_todo {
    uint8_t kind;
    int64_t arg;
    struct mesh_op op;
};

struct mesh_pe {
    struct mesh *m;
    int32_t index;
    int16_t x, y;
    bool running;           /* inside a task */
    int64_t listed;         /* cycle for which it is in a list */
    uint8_t turn, out_turn; /* round robin of threads, of output queues */
    uint8_t n_todo, next_todo;
    uint16_t threads;            /* set of threads that are not idle; bit 0: the main one */
    uint16_t in_used, out_used;  /* sets of queues that hold something */
    uint16_t data_blocked;       /* set of input queues */
    uint64_t activated, blocked; /* sets of local tasks */
    int64_t waits_until;         /* scalar code */
    int64_t bulk_since;          /* a memory operation runs alone since then, or -1 */
    uint8_t bulk;                /* its thread */
    uint8_t *memory;             /* owned, grows as touched */
    int32_t memory_bytes, reserved;
    struct mesh_thread thread[MESH_THREADS + 1];
    struct mesh_queue in[MESH_N_IN], out[MESH_N_OUT];
    uint8_t in_of[MESH_COLOURS], out_of[MESH_COLOURS]; /* queue + 1 of a colour, or 0 */
    uint8_t task[MESH_TASKS];                          /* index in mesh.task + 1, or 0 */
    struct mesh_todo *todo;                            /* owned, MESH_TODO */
};

struct mesh_task_entry {
    mesh_task_fn fn;
    enum mesh_priority priority;
};

struct mesh_source {
    int32_t channel, router;
    uint8_t side;
    int32_t link;  /* first source on the same link */
    uint32_t used; /* 1 + cycle in which that link was last used */
    const struct mesh_wavelet *wavelet;
    int64_t n, next;
};
struct mesh_sink {
    int x, y, colour, side;
    struct mesh_output *output;
};

struct mesh_timer {
    int64_t cycle;
    int32_t pe;
};
enum { MESH_WHEEL = 256 };
struct mesh_bucket {
    struct mesh_timer *timer;
    int n, capacity;
};

/* A list of routers or PEs that have something to do in the next cycle. */
struct mesh_list {
    int32_t *item;
    int n;
};

/* Before the start: the route of a colour at a router. */
struct mesh_cell {
    uint8_t rx, tx;
    int32_t extra; /* index + 1 */
};

struct mesh {
    struct mesh_config config;
    int hop, ramp_up, ramp_down, setup_fabric;
    int64_t step[5]; /* from a router to its neighbour */
    int64_t now, n_pes;
    int colour_turn; /* the colour that chooses first in this cycle */
    int64_t last;    /* end of the last cycle in which a PE or edge did something */
    struct mesh_stats stats;
    bool linked;
    struct mesh_router *router;
    struct mesh_channel *channel;
    int64_t n_channels;
    struct mesh_pe *pe;
    struct mesh_switch *extra;
    int n_extra, extra_capacity;
    struct mesh_cell *cell; /* n_pes x MESH_COLOURS until linked */
    struct mesh_list routers, next_routers, pes, next_pes;
    struct mesh_bucket wheel[MESH_WHEEL];
    int64_t n_timers;
    struct mesh_task_entry task[MESH_NONE];
    int n_tasks;
    struct mesh_source *source;
    int n_sources;
    struct mesh_sink *sink;
    int n_sinks;
};

/* mesh.c */
enum wsc_err mesh_check_rect(const struct mesh *m, struct mesh_rect r);
enum wsc_err mesh_check_colour(int colour);
static inline struct mesh_pe *mesh_pe_at(struct mesh *m, int x, int y)
{
    return &m->pe[(int64_t)y * m->config.w + x];
}
/* Direction numbers 0 .. 4 are ramp, east, west, north, south. */
extern const int mesh_dx[5], mesh_dy[5], mesh_opposite[5];
static inline int mesh_direction(int set)
{
    return __builtin_ctz((unsigned)set);
}
const char *mesh_direction_name(int direction);

/* memory.c */
/* Make address .. address + bytes - 1 exist; the range has been checked. */
enum wsc_err mesh_touch(struct mesh_pe *pe, int64_t end);

/* link.c: from routes to channels */
enum wsc_err mesh_link(struct mesh *m);
struct mesh_channel *mesh_channel_of(struct mesh *m, int64_t router, int colour);

/* A PE or an edge does something in this cycle. */
static inline void mesh_did(struct mesh *m)
{
    if (m->last < m->now + 1) m->last = m->now + 1;
}

/* router.c */
enum wsc_err mesh_routers_cycle(struct mesh *m);
enum wsc_err mesh_sources_cycle(struct mesh *m);
/* True when the channel takes a wavelet from @p side (a set of one) now. */
bool mesh_channel_open(const struct mesh *m, const struct mesh_channel *ch, int side);
void mesh_channel_push(struct mesh *m, int64_t router, struct mesh_channel *ch, uint64_t entry);
/* After the switch of a channel moved: whoever may enter now is woken. */
void mesh_router_wake(struct mesh *m, int64_t router);

/* pe.c */
enum wsc_err mesh_pes_cycle(struct mesh *m);
void mesh_pe_wake(struct mesh *m, struct mesh_pe *pe);
/* run.c */
enum wsc_err mesh_timer_add(struct mesh *m, int64_t cycle, int32_t pe);

/* op.c */
/* Begin @p op on @p thread in the current cycle. */
enum wsc_err mesh_thread_begin(struct mesh_pe *pe, int thread, const struct mesh_op *op);
/* One element of a thread with a fabric operand; it has been checked that it can go. */
enum wsc_err mesh_element(struct mesh_pe *pe, struct mesh_thread *t);

/* alu.c */
/* The whole of a memory operation. */
void mesh_vector(struct mesh_pe *pe, const struct mesh_op *op, int64_t n);
uint32_t mesh_alu(enum mesh_half half, int code, const uint32_t v[3]);
struct mesh_code_info {
    const char *name;
    char type[3]; /* of dst, a, b */
    uint8_t simd[2], setup;
};
extern const struct mesh_code_info mesh_code_info[MESH_N_CODES];
int64_t mesh_dsd_address(const struct mesh_dsd *d, int64_t i, int bytes);
static inline int mesh_type_bytes(char type)
{
    return type == 's' ? 4 : 2;
}
int64_t mesh_dsd_length(const struct mesh_dsd *d);

/* deadlock.c: what is left when nothing moves any more */
enum wsc_err mesh_check_end(struct mesh *m);
#endif
