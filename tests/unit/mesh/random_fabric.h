/** Random fabrics and programs as data, so that one case can be built again, moved or turned.
 *
 *  A case is drawn from its seed alone.  case_build() makes a fabric of it under a view (a
 *  translation and a symmetry of the rectangle) and case_run() runs it and notes what its tasks
 *  have seen.  model_check() compares a successful run with wavelets counted without a clock.
 */
#ifndef WSC_TEST_RANDOM_CASE_H
#define WSC_TEST_RANDOM_CASE_H
#include <wsc/mesh.h>

enum {
    CASE_SIDE = 8,
    CASE_PES = CASE_SIDE * CASE_SIDE,
    CASE_COLOURS = 4, /* colours of a case, drawn among the 24 */
    CASE_STEPS = 1280,
    CASE_ACTIONS = 2048,
    CASE_WAVELETS = 256, /* of edge sources and sinks */
    CASE_EDGES = 6,
    CASE_BYTES = 1024, /* of a PE: what legal programs use */
    CASE_LOG = 1024
};

/* Programs of a PE; the first three are local tasks, a data task for each colour follows, then a
 * control task. */
enum { SLOT_GO, SLOT_NEXT, SLOT_LAST, SLOT_DATA, SLOT_CONTROL = SLOT_DATA + CASE_COLOURS, N_SLOTS };
enum { FIRST_TASK = 8 }; /* id of SLOT_GO; control task: CONTROL_TASK */
enum { CONTROL_TASK = 40 };

enum action_kind {
    DO_OP,
    DO_CONTROL,
    DO_JOIN,
    DO_WAIT,
    DO_ACTIVATE,
    DO_BLOCK,
    DO_UNBLOCK,
    DO_BLOCK_DATA,
    DO_UNBLOCK_DATA,
    DO_LOAD,
    DO_STORE
};
struct action {
    enum action_kind kind;
    bool tolerant; /* an error of it does not end the task */
    int times;     /* carried out in the first runs of its program only */
    int arg;       /* task, colour, thread, address */
    int64_t value; /* cycles, payload */
    struct mesh_op op;
};
struct program {
    int first, n;
};

enum step_kind {
    SET_ROUTE,
    SET_FILTER,
    SET_INPUT,
    SET_OUTPUT,
    SET_TASK,
    SET_DATA_TASK,
    SET_START,
    SET_SOURCE,
    SET_SINK,
    SET_COPY_IN,
    SET_COPY_OUT,
    SET_RESERVE,
    SET_RELEASE,
    SET_RUN, /* where it is missing, the run comes last */
    SET_NOTHING
};
/* One call that sets the fabric up. */
struct step {
    enum step_kind kind;
    bool tolerant; /* an error of it does not end the case */
    struct mesh_rect rect;
    int colour, arg; /* arg: queue, slot, edge, address */
    int id;          /* task id, side, skew */
    int64_t n;       /* bytes, wavelets, capacity */
    enum mesh_priority priority;
    union {
        struct mesh_route route;
        struct mesh_filter filter;
    } as;
};

struct random_case {
    uint64_t seed, drawn;
    int w, h;
    enum mesh_arch arch;
    enum num_half half;
    int64_t max_cycles;
    int colour[CASE_COLOURS], n_colours;
    bool legal;                    /* nothing in it is refused, though PEs may wait for ever */
    bool must_end;                 /* legal, and no task waits for a wavelet */
    bool odd_rect;                 /* holds a rectangle that depends on the size of the fabric */
    bool west, east, north, south; /* a wavelet enters or leaves there */
    int n_steps, n_actions, n_edges;
    struct mesh_wavelet wavelet[CASE_EDGES][CASE_WAVELETS];
    struct program program[CASE_PES][N_SLOTS];
    struct step step[CASE_STEPS];
    struct action action[CASE_ACTIONS];
};

/* Where a case lies: first mirrored, then transposed, then moved into a larger fabric. */
struct view {
    bool flip_x, flip_y, transpose;
    int dx, dy, more_w, more_h;
};

/* What was set up, sent and taken; PEs by their number in the case. */
struct sent {
    int pe, colour, n;
    bool control, known; /* known: all payloads are `data` */
    uint32_t data;
};
struct case_log {
    bool applied[CASE_STEPS]; /* the step was accepted */
    struct sent sent[CASE_LOG];
    int n_sent;
    bool overflow; /* more than fits was sent */
    int64_t elements;
    int64_t taken[CASE_PES][MESH_COLOURS]; /* data, by operations and data tasks */
    int64_t control_tasks[CASE_PES];
    int sender_thread[CASE_PES][MESH_COLOURS]; /* 1 + thread; -1: several */
};
struct outcome {
    enum wsc_err rc;
    struct mesh_stats stats;
    uint64_t memory; /* hash of the first CASE_BYTES of all PEs, in the order of the case */
    uint64_t output; /* hash of what left over edges */
    int64_t left_edge;
    struct mesh_repeat_counts repeats;
    bool placeless; /* some error, ignored ones included, named no PE */
    char text[1200], placeless_text[200];
};

/* Draw the case of @p seed. */
void case_draw(struct random_case *c, uint64_t seed);
/* Build and run @p c under @p view; both are borrowed. */
void case_run(const struct random_case *c, const struct view *view, struct outcome *out,
              struct case_log *log);
/* How the host runs a case; all zero: alone. */
struct case_host {
    const struct mesh_share *share;
    struct mesh_snapshots *snapshots;
    struct mesh_watch *watch;
    /* Further runs of the program on the same memory, with other values of the sources; announced:
     * mesh_repeat() says so. */
    int more_runs;
    bool announced;
    int threads;
};
/* The same on such a host, at its own place in a fabric of its own size. */
void case_run_on(const struct random_case *c, const struct case_host *host, struct outcome *out,
                 struct case_log *log);
/* True when the wavelets of the run are those that the routes alone predict, or when these do not
 * decide; *@p decided says which.  @p why is a line when false. */
bool model_check(const struct random_case *c, const struct case_log *log, const struct outcome *out,
                 bool *decided, char why[160]);
/* Read "(x, y)" at the start of @p text; NULL when something else stands there. */
const char *case_read_place(const char *text, int *x, int *y);
/* True when an error message names a PE. */
bool case_names_a_place(const char *message);
#endif
