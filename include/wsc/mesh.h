/** Mesh: simulates the dataflow mesh inside a wafer cycle by cycle, with routers, colours and
 *  processing elements (PEs).
 *
 *  It moves every wavelet over every link and executes every vector operation of every PE, with
 *  values. No cycle comes from a formula. It does not decode instructions: a task is a C function
 *  that issues vector operations and states the cycles of scalar code with mesh_wait(). Kernels for
 *  the mesh are in <wsc/programs.h>.
 *
 *  The one invariant: a cycle depends only on the state at its start. Results therefore do not
 *  depend on the order in which routers and PEs are visited, or on the number of host threads.
 *
 *  A program in five steps: create, route, bind queues and tasks, run, copy out.
 *
 *      TRY(mesh_create(&m, &(struct mesh_config){.w = 2, .h = 1, .user = ctx}));
 *      TRY(mesh_route(m, (struct mesh_rect){0, 0, 1, 1}, 0,
 *                     &(struct mesh_route){.rx = MESH_RAMP, .tx = MESH_EAST}));
 *      TRY(mesh_task(m, (struct mesh_rect){0, 0, 1, 1}, 8, send_words, MESH_LOW));
 *      TRY(mesh_start(m, (struct mesh_rect){0, 0, 1, 1}, 8));
 *      TRY(mesh_run(m, &stats));
 *
 *  Errors: WSC_USAGE for a program that the machine does not allow, with PE, colour or operation;
 *  WSC_CAPACITY for more memory, filters or tasks than a PE has; WSC_DEADLOCK with the wait-for
 *  graph; WSC_NOMEM. Start with mesh_create(), mesh_route() and mesh_issue(). docs/MESH.md states
 *  the rules of the machine with their sources and has an example. */
#ifndef WSC_MESH_H
#define WSC_MESH_H
#include <wsc/err.h>
#include <wsc/num_formats.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ---- the fabric ------------------------------------------------------------------------------ */

/** Limits of the machine, and MESH_MAX_MAP_CYCLES, one of the emulator. */
enum {
    MESH_COLOURS = 24,       /**< routable colours (SDK documentation) */
    MESH_TASKS = 64,         /**< task ids (SDK documentation) */
    MESH_SRAM_BYTES = 49152, /**< 48 KB of a PE, 8 banks of 6 KB (SDK documentation) */
    MESH_POSITIONS = 4,      /**< switch positions of a colour, the initial one included */
    MESH_THREADS = 8,        /**< microthreads of a PE */
    /** Buffer of a colour at a router, wavelets; assumed: the smallest power of two that passes one
     *  wavelet per cycle over hops of two cycles. */
    MESH_FIFO = 4,
    MESH_MAX_MAP_CYCLES = 1024
};
/** Generations of the wafer; the index of the table of latencies. */
enum mesh_arch { MESH_WSE2, MESH_WSE3 };
/** Latencies of the fabric of one generation, cycles: router to router (hop), PE to router, router
 *  to PE, and the set-up of an operation that sends or receives. */
struct mesh_latencies {
    int hop, ramp_up, ramp_down, setup;
};
/** The latencies of @p arch, one of enum mesh_arch. */
struct mesh_latencies mesh_latencies_of(enum mesh_arch arch);
/** Wavelets of a colour that a PE holds while it takes none: in its router, on the ramp and in the
 *  deepest input queue. */
int mesh_held_wavelets(enum mesh_arch arch);
/** Find the generation whose hop takes @p hop cycles; false: none. */
bool mesh_arch_of(int64_t hop, enum mesh_arch *arch);
/** Directions of a router, for sets; x grows to the east, y to the south. */
enum { MESH_RAMP = 1, MESH_EAST = 2, MESH_WEST = 4, MESH_NORTH = 8, MESH_SOUTH = 16 };

/** A fabric with its program and memories. Only one host thread may use it; it starts its own
 *  threads. Order of calls for a program: routes and filters, queues, tasks, mesh_start(),
 *  mesh_run(). mesh_clear() then removes the program for the next one, which finds the memories
 *  unchanged. */
struct mesh;
/** One PE, as its tasks see it. */
struct mesh_pe;
/** Bytes sent from one process to another: borrowed memory for @c capacity bytes, @c n of them
 *  used. */
struct mesh_bytes {
    void *data;
    int64_t n, capacity;
};
/** Callbacks with which several processes simulate one fabric together; each process has a band of
 *  its rows. All processes call the functions of this header in one order with equal arguments, and
 *  get equal results. A task runs in the process that has its PE. The callbacks are collective; an
 *  error from one of them ends the run. */
struct mesh_share {
    int part, parts; /**< number of this process, and of processes; band 0 is the northernmost */
    void *ctx;       /**< first argument of the callbacks; borrowed */
    /** Exchange bytes with the neighbouring bands, north in [0] and south in [1]: send @p out,
     *  receive @p in. Capacities of @p in are those of the fabric's rows; its `n` is set to the
     *  received bytes, 0 at an edge. */
    enum wsc_err (*swap)(void *ctx, const struct mesh_bytes out[2], struct mesh_bytes in[2]);
    /** Replace each of @p n values by its minimum over all processes. */
    enum wsc_err (*least)(void *ctx, int64_t *value, int n);
    /** Gather parts of @p bytes on all processes: process p provides bytes first[p] up to first[p +
     *  1]. */
    enum wsc_err (*spread)(void *ctx, void *bytes, const int64_t *first);
};
struct mesh_snapshots;
/** Configuration of a fabric: size, generation and 16-bit format, for mesh_create(). */
struct mesh_config {
    int w, h; /**< PEs; at most 2048 each */
    /** Generation: latencies, rates, ids of tasks. */
    enum mesh_arch arch;
    /** Meaning of 16-bit elements. */
    enum num_half half;
    int64_t max_cycles; /**< a longer run is an error; 0: 2^31 - 1, the maximum */
    void *user;         /**< for tasks: mesh_user() */
    int threads;        /**< host threads, at most 64; 0 or 1: only the caller's */
    /** Processes that simulate the fabric together, borrowed until mesh_destroy(); NULL: this one
     *  only. To use a watch, every process attaches one with an equal configuration; all get equal
     *  results. */
    const struct mesh_share *share;
    /** Called from time to time by one thread during a run, with the current cycle; NULL: never. */
    void (*progress)(void *ctx, int64_t cycle);
    /** Called by one thread after every cycle: true ends the run with WSC_INTERRUPTED, after a last
     *  snapshot if snapshots are written; NULL: never. */
    bool (*stop)(void *ctx);
    void *progress_ctx; /**< first argument of both */
    /** <wsc/mesh_snapshot.h>, borrowed until mesh_destroy(); NULL: none. */
    struct mesh_snapshots *snapshots;
};
/** PEs x .. x + w - 1, y .. y + h - 1. */
struct mesh_rect {
    int x, y, w, h;
};
/** Create a fabric without routes, programs and memory; @p config is copied. WSC_USAGE for sizes or
 *  threads out of range, WSC_NOMEM; *@p out is NULL then. Host memory is allocated when the memory
 *  of a PE is first used. */
enum wsc_err mesh_create(struct mesh **out, const struct mesh_config *config) WSC_CHECKED;
/** Release the fabric and null the pointer; NULL inside allowed. An attached watch is not released.
 */
void mesh_destroy(struct mesh **m);

/* ---- routes ---------------------------------------------------------------------------------- */

/** A further position of a switch. On WSE-2 it changes one direction of the input or of the output;
 *  on WSE-3 both may change. 0: the direction of the initial position. */
struct mesh_position {
    uint8_t rx, tx;
};
/** When a router removes the first command of a passing control wavelet. */
enum mesh_pop { MESH_NO_POP, MESH_ALWAYS_POP, MESH_POP_ON_ADVANCE };
/** Route of a colour at one router: @c rx is the input direction, @c tx a set of output directions.
 *  A wavelet is copied to all outputs in one cycle, and waits until all have room. A switch has
 *  further positions. */
struct mesh_route {
    uint8_t rx, tx;
    int n_more; /**< 0 .. 3 further positions */
    struct mesh_position more[MESH_POSITIONS - 1];
    bool ring; /**< after the last position comes the initial one; otherwise it stays */
    enum mesh_pop pop;
    int start; /**< position at the start */
};
/** Set the route of @p colour at the routers of @p rect. A second, different route at a router is
 *  an error, because a colour has one sender at a time. */
enum wsc_err mesh_route(struct mesh *m, struct mesh_rect rect, int colour,
                        const struct mesh_route *route) WSC_CHECKED;

/** Kind of a filter, which withholds wavelets from the router's own PE; neighbours get every
 *  wavelet. */
enum mesh_filter_kind { MESH_FILTER_COUNTER, MESH_FILTER_SPARSE, MESH_FILTER_RANGE };
/** A filter of one colour at a router; only the fields of its kind are read. */
struct mesh_filter {
    enum mesh_filter_kind kind;
    bool count_data, count_control; /**< what the counter counts */
    bool filter_control;            /**< pass control wavelets only at counter == max */
    uint32_t init, max;             /**< counter: passes while counter <= max ... */
    uint32_t limit1, limit2;        /**< ... and returns to 0 after limit1 (inclusive) */
    uint16_t min_index, max_index;  /**< range: data whose upper half lies here */
};
/** Set a filter of @p colour at the routers of @p rect: at most four filters per PE, and the colour
 *  must have a route there. A filter withholds wavelets from the PE only. */
enum wsc_err mesh_filter(struct mesh *m, struct mesh_rect rect, int colour,
                         const struct mesh_filter *filter) WSC_CHECKED;

/** A command of a control wavelet. */
enum mesh_command { MESH_NOP, MESH_ADVANCE, MESH_RESET };
/** Payload of a control wavelet with @p n <= 8 commands of three bits. Each router that the wavelet
 *  reaches executes the first command, after the wavelet has passed. @p entry is the control task
 *  that it starts at a PE, or -1 when no PE receives it. */
uint32_t mesh_control(const enum mesh_command *command, int n, int entry);

/** A wavelet as the host writes and reads it. */
struct mesh_wavelet {
    uint32_t data;
    bool control;
};
/** Send @p n wavelets (borrowed until the run has ended) into the fabric at PE (x, y) over the link
 *  from @p side, at most one per cycle. WSC_USAGE when that side is not at the edge. */
enum wsc_err mesh_edge_source(struct mesh *m, int x, int y, int side, int colour,
                              const struct mesh_wavelet *wavelet, int64_t n) WSC_CHECKED;
/** Buffer for data words that leave the fabric; owned by the caller, filled during the run. */
struct mesh_output {
    uint32_t *word;
    int64_t capacity, n;
    int64_t first_cycle; /**< cycle in which word 0 left */
};
/** Store the data words that leave the fabric at PE (x, y) over @p side on @p colour in @p output
 *  (borrowed). */
enum wsc_err mesh_edge_sink(struct mesh *m, int x, int y, int side, int colour,
                            struct mesh_output *output) WSC_CHECKED;

/* ---- memory ---------------------------------------------------------------------------------- */

/** Reserve @p bytes at one address, *@p address, on every PE of @p rect, 8-byte aligned plus @p
 *  skew bytes (to place operands in different banks). WSC_CAPACITY when they do not fit; its
 *  message names @p what. */
enum wsc_err mesh_reserve(struct mesh *m, struct mesh_rect rect, int64_t bytes, int skew,
                          const char *what, int *address) WSC_CHECKED;
/** Free the reservations on @p rect at @p address and above. */
enum wsc_err mesh_release(struct mesh *m, struct mesh_rect rect, int address) WSC_CHECKED;
/** Copy @p bytes per PE from the host, row after row of PEs, to @p address. */
enum wsc_err mesh_copy_in(struct mesh *m, struct mesh_rect rect, int address, const void *host,
                          int64_t bytes) WSC_CHECKED;
/** Copy @p bytes per PE from @p address to the host, row after row of PEs. */
enum wsc_err mesh_copy_out(struct mesh *m, struct mesh_rect rect, int address, void *host,
                           int64_t bytes) WSC_CHECKED;
/** Collect an array that tasks have written in host memory, @p bytes for each PE of @p rect in
 *  rows: the entries of PEs of other processes are copied to @p host. Collective; without struct
 *  mesh_share it does nothing. */
enum wsc_err mesh_collect(const struct mesh *m, struct mesh_rect rect, void *host,
                          int64_t bytes) WSC_CHECKED;

/* ---- programs -------------------------------------------------------------------------------- */

/** A task. It runs to completion; the operations that it issues are executed in order after it
 *  returns, then the next task is selected. @p data is the payload of the wavelet that started it,
 *  or 0. */
typedef enum wsc_err (*mesh_task_fn)(struct mesh_pe *pe, uint32_t data);
/** Priority of a task: the runnable task with the highest priority runs. */
enum mesh_priority { MESH_LOW, MESH_MEDIUM, MESH_HIGH };
/** Bind a local or control task to an id; local tasks, which are activated, have the ids 0 to 30 on
 *  WSE-2 and 8 to 30 on WSE-3 (SDK documentation). */
enum wsc_err mesh_task(struct mesh *m, struct mesh_rect rect, int id, mesh_task_fn fn,
                       enum mesh_priority priority) WSC_CHECKED;
/** Bind a data task to a colour that has an input queue: it runs once per data wavelet. */
enum wsc_err mesh_data_task(struct mesh *m, struct mesh_rect rect, int colour, mesh_task_fn fn,
                            enum mesh_priority priority) WSC_CHECKED;
/** Assign input queue 0 .. 7 to one colour. */
enum wsc_err mesh_input_queue(struct mesh *m, struct mesh_rect rect, int queue,
                              int colour) WSC_CHECKED;
/** Assign output queue 0 .. 5 to one colour. */
enum wsc_err mesh_output_queue(struct mesh *m, struct mesh_rect rect, int queue,
                               int colour) WSC_CHECKED;
/** Activate a local task before the first cycle. */
enum wsc_err mesh_start(struct mesh *m, struct mesh_rect rect, int id) WSC_CHECKED;

/** Statistics of a run. */
struct mesh_stats {
    int64_t cycles;       /**< until the last action of a PE or an edge */
    int64_t wavelets;     /**< sent by PEs and edges */
    int64_t wavelet_hops; /**< over links between routers and over edges */
    int64_t elements;     /**< elements of vector operations */
};
/** Run until no PE and no wavelet can continue. WSC_OK: every PE has ended its tasks and no wavelet
 *  is left. WSC_DEADLOCK: the message names PEs and colours, with one cycle of the wait-for graph.
 *  Reaching the limit of cycles is an error too. @p stats is filled when the run ends by itself,
 *  also in a deadlock. */
enum wsc_err mesh_run(struct mesh *m, struct mesh_stats *stats) WSC_CHECKED;

/** Announce that the next run repeats: its routes, tasks and operations are those of every run with
 *  this @p key since mesh_create(), and depend neither on memory nor on the values of wavelets;
 *  only these differ. The first run with a key is simulated. The second one is also recorded as a
 *  list of operations on words, which is played on the same memory and must give the same bits.
 *  Later runs are played, with the statistics of the recorded one. A run is simulated as any other
 *  when its tasks read memory or payloads, when a filter by range is set, when its task functions,
 *  reservations, sources or sinks are not the recorded ones, when it is observed, has snapshots or
 *  several processes, sends more than 32 M wavelets, or the fabrics of this process take 2 GB or
 *  half of the memory for each processor. WSC_NOMEM. */
enum wsc_err mesh_repeat(struct mesh *m, uint64_t key) WSC_CHECKED;
/** What became of the announced runs: recorded; played without cycles; recordings that were given
 * up because the run depends on data or is too long, and because they gave other results. */
struct mesh_repeat_counts {
    int64_t recorded, played, refused, different;
};
/** Counts since mesh_create(). */
struct mesh_repeat_counts mesh_repeat_counts(const struct mesh *m);

/** Remove the program: routes, filters, queues, tasks and edges. Memory and its reservations stay;
 *  cycles and statistics start at 0. Loading a program takes no time. */
enum wsc_err mesh_clear(struct mesh *m) WSC_CHECKED;

/** Column of this PE. */
int mesh_x(const struct mesh_pe *pe);
/** Row of this PE. */
int mesh_y(const struct mesh_pe *pe);
/** The `user` pointer of struct mesh_config. */
void *mesh_user(const struct mesh_pe *pe);
/** The current cycle. */
int64_t mesh_now(const struct mesh_pe *pe);
/** Read the 32-bit number at @p address of the PE's memory, as it is when the task starts. */
enum wsc_err mesh_load(const struct mesh_pe *pe, int address, uint32_t *value) WSC_CHECKED;
/** Write a 32-bit number to @p address of the PE's memory at once, before what the task issues. */
enum wsc_err mesh_store(struct mesh_pe *pe, int address, uint32_t value) WSC_CHECKED;

/* ---- vector operations ----------------------------------------------------------------------- */

/** Location of the elements of an operand. */
enum mesh_dsd_kind { MESH_DSD_NONE, MESH_DSD_MEMORY, MESH_DSD_IN, MESH_DSD_OUT, MESH_DSD_SCALAR };
/** A data structure descriptor (DSD): an array of one to four dimensions in memory (strides in
 *  elements, the last dimension runs fastest), a number of wavelets, or one number. Made by
 *  mesh_mem(), mesh_mem_strided(), mesh_in(), mesh_out(), mesh_float() and mesh_bits(). */
struct mesh_dsd {
    uint8_t kind, n_dims, colour;
    bool control; /**< send control wavelets */
    /** Elements in each dimension, and elements from one to the next. */
    uint16_t len[4];
    int16_t stride[4];
    /** Byte address of the first element (memory). */
    int32_t address;
    /** Bits of the number (scalar). */
    uint32_t scalar;
};
/** @p n consecutive elements from @p address on. */
struct mesh_dsd mesh_mem(int address, int n);
/** @p n elements from @p address on, @p stride elements apart. */
struct mesh_dsd mesh_mem_strided(int address, int n, int stride);
/** @p n vectors like @p row, @p step elements from one to the next: one dimension more, the first.
 *  A colour ignores @p step. mesh_do() refuses a length beyond 65535 and a stride beyond 32767. */
struct mesh_dsd mesh_rows(struct mesh_dsd row, int n, int step);
/** The wavelets of @p fabric, mesh_in() or mesh_out(), in the dimensions of @p shape. */
struct mesh_dsd mesh_shaped(struct mesh_dsd fabric, const struct mesh_dsd *shape);
/** @p n wavelets received on a colour, one element each (a 16-bit element in the lower half). */
struct mesh_dsd mesh_in(int colour, int n);
/** @p n wavelets sent on a colour, one element each. */
struct mesh_dsd mesh_out(int colour, int n);
/** One 32-bit float as an operand. */
struct mesh_dsd mesh_float(float value);
/** One number of any type as an operand, by its bits. */
struct mesh_dsd mesh_bits(uint32_t bits);

/** Operations: name, type of dst, of a, of b, elements per cycle on WSE-2 and WSE-3 when the banks
 *  allow, set-up cycles. Rates: SDK documentation, appendix "SIMD"; FMACS and FMULS are not listed
 *  there and the debugging page says FMACS is SIMD-1. Set-up: FABRICA, measured on WSE-3 for copies
 *  (15), elementwise f16 (9), fp16 (16) and fp32 (17) multiply-add; for the other operations the
 *  value of the most similar one is assumed, and for WSE-2 the value of WSE-3. s: 32 bits, h: 16
 *  bits, -: none. The multiply-adds give a + b c with the number c; the results are rounded once.
 */
#define MESH_OP_MAP(XX)                                                                            \
    XX(FMOVS, "fmovs", 's', 's', '-', 2, 4, 15)                                                    \
    XX(FMOVH, "fmovh", 'h', 'h', '-', 4, 8, 15)                                                    \
    XX(FADDS, "fadds", 's', 's', 's', 2, 4, 9)                                                     \
    XX(FADDH, "faddh", 'h', 'h', 'h', 4, 8, 9)                                                     \
    XX(FADDHS, "faddhs", 's', 's', 'h', 2, 4, 9)                                                   \
    XX(FSUBS, "fsubs", 's', 's', 's', 2, 4, 9)                                                     \
    XX(FSUBH, "fsubh", 'h', 'h', 'h', 4, 8, 9)                                                     \
    XX(FMULS, "fmuls", 's', 's', 's', 1, 1, 9)                                                     \
    XX(FMULH, "fmulh", 'h', 'h', 'h', 4, 8, 9)                                                     \
    XX(FMAXS, "fmaxs", 's', 's', 's', 1, 4, 9)                                                     \
    XX(FMAXH, "fmaxh", 'h', 'h', 'h', 1, 8, 9)                                                     \
    XX(FMACS, "fmacs", 's', 's', 's', 1, 1, 17)                                                    \
    XX(FMACH, "fmach", 'h', 'h', 'h', 4, 8, 16)                                                    \
    XX(FMACHS, "fmachs", 's', 's', 'h', 2, 4, 16)                                                  \
    XX(FS2H, "fs2h", 'h', 's', '-', 1, 4, 15)                                                      \
    XX(FH2S, "fh2s", 's', 'h', '-', 1, 4, 15)                                                      \
    XX(MAP, "map", 's', 's', 's', 1, 1, 15)                                                        \
    XX(MAPH, "maph", 'h', 'h', 'h', 1, 1, 15)

/** Codes of the operations of MESH_OP_MAP. */
enum mesh_code {
#define XX(name, text, d, a, b, w2, w3, setup) MESH_##name,
    MESH_OP_MAP(XX)
#undef XX
        MESH_N_CODES
};

/** Function that MESH_MAP and MESH_MAPH call for each element; @p b is 0 without an operand b. */
typedef float (*mesh_map_fn)(float a, float b);
/** One vector operation. Its length is that of the first operand of a, b, dst that is not a number.
 */
struct mesh_op {
    uint8_t code;
    uint8_t thread;   /**< 0: the task waits for its end; 1 .. 8: microthread thread - 1 runs it */
    uint8_t activate; /**< local task id + 1 to activate when it has ended, or 0 */
    uint8_t unblock;  /**< local task id + 1 to unblock when it has ended, or 0 */
    struct mesh_dsd dst, a, b, c;
    mesh_map_fn map;     /**< MESH_MAP, MESH_MAPH */
    uint16_t map_cycles; /**< of a map: of one element, 1 .. MESH_MAX_MAP_CYCLES */
};
/** Multiply-adds triggered by arriving wavelets, without a task and without set-up. Each data
 *  wavelet of a colour is the number c of one multiply-add, sums += vector c. See docs/MESH.md,
 *  "Data-triggered operations".
 *
 *      {.code = MESH_FMACHS, .thread = 5, .colour = WEIGHTS, .until_control = true, .n = features,
 *       .writes = true, .wait = 12, .sums = mesh_mem(sums, t), .vectors = mesh_mem(x, t),
 *       .vectors_step = t} */
struct mesh_trigger {
    uint8_t code;     /**< MESH_FMACS, MESH_FMACH or MESH_FMACHS */
    uint8_t thread;   /**< 1 .. 8: microthread that runs them */
    uint8_t activate; /**< local task id + 1 to activate after wavelet n, or 0 */
    /** Minimum time from the last element of one multiply-add to the first one of the next, eighths
     *  of a cycle; fractions add up. */
    uint16_t wait;
    int colour; /**< colour with an input queue and without a data task */
    /** True: a control wavelet of the colour ends the binding and starts its task, after at most n
     *  data wavelets. False: it ends after n. */
    bool until_control;
    /** The index of the vector comes with c: in the upper half of the wavelet (16-bit numbers), or
     *  in a wavelet of its own before c (32-bit numbers). */
    bool indexed;
    bool writes; /**< the first multiply-add writes the sums instead of adding to them */
    int n;       /**< vectors, 1 .. 65535 */
    struct mesh_dsd sums, vectors; /**< of the first wavelet; arrays of one dimension in memory.
                                        Without elements wavelets are taken, one a cycle */
    int sums_step, vectors_step;   /**< step of each from one wavelet to the next, elements */
};
/** Bind triggered multiply-adds to their colour, in order with the operations of the running task.
 *  A PE has one such binding at a time. WSC_USAGE, WSC_CAPACITY as for mesh_issue(). */
enum wsc_err mesh_arm(struct mesh_pe *pe, const struct mesh_trigger *trigger) WSC_CHECKED;
/** Number of multiply-adds triggered since the newest mesh_arm() of the PE began. */
int mesh_triggered(const struct mesh_pe *pe);
/** Append an operation to the list of the running task. Types, lengths, memory and colours are
 *  checked here; the operation is executed after the task has returned. WSC_USAGE, WSC_CAPACITY
 *  (too many operations in a task). */
enum wsc_err mesh_issue(struct mesh_pe *pe, const struct mesh_op *op) WSC_CHECKED;
/** True for the operations that call a function for each element: scalar code. */
static inline bool mesh_is_map(int code)
{
    return code == MESH_MAP || code == MESH_MAPH;
}
/** Issue an operation dst = a op b and wait for its end. Pass a zero struct for an operand that the
 *  operation does not have. */
enum wsc_err mesh_do(struct mesh_pe *pe, enum mesh_code code, struct mesh_dsd dst,
                     struct mesh_dsd a, struct mesh_dsd b) WSC_CHECKED;
/** Issue a multiply-add dst = a + b c, c a number, rounded once, and wait for its end. */
enum wsc_err mesh_mac(struct mesh_pe *pe, enum mesh_code code, struct mesh_dsd dst,
                      struct mesh_dsd a, struct mesh_dsd b, struct mesh_dsd c) WSC_CHECKED;
/** Issue dst = fn(a, b), CSL's `@map`: scalar code that takes @p cycles per element; operands in
 *  memory only. */
enum wsc_err mesh_map(struct mesh_pe *pe, mesh_map_fn fn, int cycles, struct mesh_dsd dst,
                      struct mesh_dsd a, struct mesh_dsd b) WSC_CHECKED;
/** Send one control wavelet on @p colour; thread as in struct mesh_op. */
enum wsc_err mesh_send_control(struct mesh_pe *pe, int colour, uint32_t payload,
                               int thread) WSC_CHECKED;
/** Advance the switch of @p colour at this PE's own router, after all wavelets that the PE has sent
 *  on it have left. No wavelet is sent. It is the property advance_switch of a fabric output vector
 *  (code of HPDC'24, spcl/spatial-collectives). */
enum wsc_err mesh_advance_switch(struct mesh_pe *pe, int colour, int thread,
                                 int activate) WSC_CHECKED;
/** Wait until @p thread (1 .. 8, as in struct mesh_op) has ended its operation. */
enum wsc_err mesh_join(struct mesh_pe *pe, int thread) WSC_CHECKED;
/** Execute scalar code of @p cycles >= 0 cycles, in order with the operations. */
enum wsc_err mesh_wait(struct mesh_pe *pe, int64_t cycles) WSC_CHECKED;
/** Activate a local task of this PE, in order with the operations. */
enum wsc_err mesh_activate(struct mesh_pe *pe, int id) WSC_CHECKED;
/** Block a task of this PE, in order with the operations. */
enum wsc_err mesh_block(struct mesh_pe *pe, int id) WSC_CHECKED;
/** Unblock a task of this PE, in order with the operations. */
enum wsc_err mesh_unblock(struct mesh_pe *pe, int id) WSC_CHECKED;
/** Block the data task of a colour. */
enum wsc_err mesh_block_data(struct mesh_pe *pe, int colour) WSC_CHECKED;
/** Unblock the data task of a colour. */
enum wsc_err mesh_unblock_data(struct mesh_pe *pe, int colour) WSC_CHECKED;

/* ---- watching -------------------------------------------------------------------------------- */

/** State of a PE in a cycle: the first one in this order that applies. An operation waits for input
 *  when its next wavelet has not arrived, and for output when its output queue is full. */
enum mesh_pe_state {
    MESH_PE_COMPUTES,      /**< the datapath carries out elements */
    MESH_PE_SCALAR,        /**< mesh_wait, MESH_MAP, a task that begins and issues nothing */
    MESH_PE_SETS_UP,       /**< an operation is in its set-up */
    MESH_PE_WAITS_FOR_OUT, /**< an operation waits for output */
    MESH_PE_WAITS_FOR_IN,  /**< all operations wait for input */
    MESH_PE_IDLE,          /**< no operation, no task */
    MESH_PE_STATES
};
/** Cycles of a PE by state; they add up to the cycles of the run. Peaks of queues are in wavelets,
 *  measured when one enters, and include those still in the ramp. */
struct mesh_pe_counts {
    int32_t cycles[MESH_PE_STATES];
    uint8_t peak_in[8], peak_out[6];
};
/** Counts of a router. `used`: cycles in which its outputs ramp, east, west, north, south carried a
 *  wavelet. `held`: cycles in which at least one wavelet that could continue was held back. `peak`:
 *  maximum wavelets of a colour. */
struct mesh_router_counts {
    int32_t used[5], held;
    uint8_t peak;
};

/** Kinds of time on the critical path. */
enum mesh_part {
    MESH_PART_COMPUTE, /**< elements, and other operations that share the datapath */
    MESH_PART_SETUP,
    MESH_PART_SCALAR,
    MESH_PART_RAMP,
    MESH_PART_HOPS,
    MESH_PART_QUEUES, /**< waiting in queues and routers, for room or for arbitration */
    MESH_PART_EDGE,   /**< waiting at the edge, which passes one wavelet per cycle */
    MESH_PARTS
};
/** A segment (leg) of the critical path: at PE (x, y), or on the way from there to the PE of the
 *  next leg; x = y = -1: from the edge. */
struct mesh_leg {
    int x, y;
    int64_t from, to; /**< cycles */
    int64_t part[MESH_PARTS];
};
/** The critical path: the chain of events from the last event back to cycle 0. From an operation it
 *  continues at the previous task or element, or at the wavelet that the operation needed when that
 *  came later; from a wavelet it continues at its sender. Waiting for room counts as
 *  MESH_PART_QUEUES; the path does not continue at the wavelets that occupied the room. The parts
 *  add up to @c cycles. */
struct mesh_critical {
    int64_t cycles, part[MESH_PARTS];
    bool complete; /**< the legs begin at cycle 0 */
};

/** Configuration of a watch; all zero: counts of PEs and routers only. */
struct mesh_watch_config {
    bool causes;                   /**< store the data of the critical path */
    const struct mesh_rect *trace; /**< PEs whose events are stored; copied */
    /** Rectangles in `trace`. */
    int n_trace;
    int64_t max_events; /**< maximum events of all traced PEs together */
};
/** Watch: counts of every PE and router in the next run of the mesh to which it is attached. The
 *  counts are equal on any host and for any number of threads. Host memory: 100 bytes per PE; with
 *  causes or a trace also 210 bytes per route, 0.6 KB per active PE and 0.8 KB per used queue.
 *  Wavelets that PEs wait for take 40 bytes each, at most about 512 MB: the oldest of a PE are
 *  dropped. */
struct mesh_watch;
/** Make a watch for mesh_watch_attach(); one watch serves many runs and holds the newest.
 *  WSC_NOMEM; *@p out is NULL then. */
enum wsc_err mesh_watch_create(struct mesh_watch **out,
                               const struct mesh_watch_config *config) WSC_CHECKED;
/** NULL inside allowed. */
void mesh_watch_destroy(struct mesh_watch **w);
/** Attach @p w (borrowed; NULL: detach) to the mesh; it holds the counts of the newest mesh_run().
 */
void mesh_watch_attach(struct mesh *m, struct mesh_watch *w);
/** State that the run to watch is program @p program, counted from 0, of @p n programs of one
 *  operation. */
void mesh_watch_of(struct mesh_watch *w, int program, int n);
/** Number of programs of the operation whose program is watched, 1 if none was stated; @p program
 *  is set to its number. */
int mesh_watch_programs(const struct mesh_watch *w, int *program);
/** Cycles of the run watched last; -1 when it ended with an error. The functions below require a
 *  run without error. */
int64_t mesh_watch_cycles(const struct mesh_watch *w);
/** Counts of PE and router (x, y). */
void mesh_watch_counts(const struct mesh_watch *w, int x, int y, struct mesh_pe_counts *pe,
                       struct mesh_router_counts *router);
/** Cycles of all PEs by state; the sum is PEs times mesh_watch_cycles(). */
void mesh_watch_sum(const struct mesh_watch *w, int64_t cycles[static MESH_PE_STATES]);
/** Compute the critical path (of a watch with causes). *@p leg (owned by the caller, wsc_free) has
 *  its last legs in the order of time: @p max_legs, or as many as were stored. */
enum wsc_err mesh_watch_critical(const struct mesh_watch *w, int max_legs, struct mesh_critical *c,
                                 struct mesh_leg **leg, int *n_legs) WSC_CHECKED;
/** Names of a state of a PE or of a part of the critical path; static. */
struct mesh_label {
    const char *key;  /**< in JSON: "wait_for_input" */
    const char *text; /**< in tables: "waits for input" */
};
/** Names of a state. */
struct mesh_label mesh_pe_state_label(enum mesh_pe_state state);
/** Names of a part of the critical path. */
struct mesh_label mesh_part_label(enum mesh_part part);

/** Kind of a picture of the fabric, which shows a percentage for each PE. */
enum mesh_view {
    MESH_VIEW_COMPUTE, /**< cycles in which the PE computes */
    MESH_VIEW_LINK,    /**< cycles in which the busiest output of the router carries a wavelet */
    MESH_VIEW_HELD,    /**< cycles in which its router holds a wavelet back */
    MESH_VIEW_QUEUE,   /**< peak of the fullest queue of router and PE, relative to its depth */
    MESH_VIEWS
};
/** Name of a picture, for titles. */
const char *mesh_view_name(enum mesh_view view);
/** Fill @p percent (h, w), row-major, with 0 to 100 for each PE. */
void mesh_watch_view(const struct mesh_watch *w, enum mesh_view view, float *percent);

/** The traced events in Chrome's trace event format, 1 cycle as 1 us; @p title names the run.
 *  docs/FILES.md describes the rows.  Errors of @p out are the caller's to check. */
enum wsc_err mesh_trace_write(const struct mesh_watch *w, const char *title, FILE *out) WSC_CHECKED;
/** Number of events in the trace. *@p cut is the cycle from which on events are missing because
 *  there were more than max_events, or -1. */
int64_t mesh_trace_events(const struct mesh_watch *w, int64_t *cut);
/** Choose representative PEs for a trace: all PEs of a fabric of up to eight, otherwise the
 *  corners, the middle, and the neighbours of PE (0, 0). Returns their number (at most 8) in @p pe.
 */
int mesh_trace_choice(int w, int h, struct mesh_rect pe[static 8]);

/* ---- numbers --------------------------------------------------------------------------------- */

/** A 16-bit number as a float, exactly. */
float mesh_half_to_float(enum num_half half, uint16_t bits);
/** Round a number to 16 bits: to nearest even, NaN stays NaN, overflow to infinity. */
uint16_t mesh_half_from_double(enum num_half half, double value);
#endif
