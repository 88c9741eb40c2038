/** What the kernels share: lines of PEs, trees on them, the job that runs. */
#ifndef WSC_MESH_KERNELS_IMPL_H
#define WSC_MESH_KERNELS_IMPL_H
#include "mesh_impl.h"

/* Local tasks of the kernels; WSE-3 has local ids from 8 on. */
enum { MESH_TASK_MAIN = 8, MESH_TASK_NEXT, MESH_TASK_AFTER };
/* Colours 0 .. 7 are for the trees of lines, each with the input queue of its number; then the
 * others. */
enum { MESH_LINE_COLOURS = 8, MESH_COLOUR_BCAST = 10 };
struct mesh_colours {
    int first, n;
};

/* What a PE does for the tree of a line: it receives from its children in blocks, one colour each,
 * from the near end; after its own words its switch turns, or a control wavelet follows. */
struct mesh_node {
    int16_t count[MESH_LINE_COLOURS];
    int8_t colour[MESH_LINE_COLOURS];
    uint8_t n_blocks;
    int8_t send; /* colour, -1: none */
    bool turn, control;
    uint32_t payload;
};
/* A reduction on a line of n PEs. */
struct mesh_load {
    enum mesh_arch arch;
    int n;
    int64_t words;
    struct mesh_colours colours;
};
/* PEs one after the other, each next to the one before; position 0 is the root. */
struct mesh_line {
    int n;
    int queue;              /* output queue of what they send */
    int32_t *pe;            /* owned */
    struct mesh_node *node; /* borrowed, of all PEs */
};

struct mesh_job {
    const struct mesh_case *c;
    struct mesh_result *r;
    struct mesh *m;
    int w, h;
    int64_t words;
    int data; /* address of what is sent or added up */
    struct mesh_node *node[4];
    int32_t *step;  /* of a PE, for programs that count */
    int address[8]; /* as the kernel likes */
    int64_t shape[8];
    float *host[4]; /* owned, as the kernel likes */
};
enum wsc_err mesh_job_init(struct mesh_job *j, const struct mesh_case *c, struct mesh_result *r);
void mesh_job_fini(struct mesh_job *j);
enum wsc_err mesh_job_run(struct mesh_job *j);
static inline struct mesh_rect mesh_all(const struct mesh_job *j)
{
    return (struct mesh_rect){0, 0, j->w, j->h};
}
/* Owned memory of the job for @p n floats; the values are multiples of 1/8 below 4, so that sums
 * are exact and a lost or doubled wavelet shows. */
enum wsc_err mesh_job_floats(struct mesh_job *j, int slot, int64_t n, bool fill);
/* A vector of the job's words on every PE; later its sum against the PEs of @p at. */
enum wsc_err mesh_job_vector(struct mesh_job *j);
enum wsc_err mesh_job_check_sum(struct mesh_job *j, struct mesh_rect at);
/* @p got against the exact @p expected, into the result. */
void mesh_job_compare(struct mesh_job *j, double got, double expected);
static inline int64_t mesh_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* lines.c */
enum wsc_err mesh_line_walk(struct mesh_line *l, const struct mesh_job *j, int x, int y, int dx,
                            int dy, int n);
enum wsc_err mesh_line_snake(struct mesh_line *l, const struct mesh_job *j);
/* Routes and queues on @p l for the tree @p parent with @p colours, at least two of them; what each
 * PE has to do goes to l->node. */
enum wsc_err mesh_line_tree(struct mesh_job *j, const struct mesh_line *l, const int *parent,
                            struct mesh_colours colours);
/* One colour from PE (0, 0) over the rectangle's row 0 and down all columns. */
enum wsc_err mesh_spread(struct mesh_job *j, int colour);
/* After the words of a PE: the turn of its switch or the control wavelet. */
enum wsc_err mesh_message_end(struct mesh_pe *pe, const struct mesh_node *node);
/* Issue the part of a PE in a reduction of @p n words at @p address. */
enum wsc_err mesh_reduce_part(struct mesh_pe *pe, const struct mesh_node *node, int address, int n);

/* tree.c: which PE sends to which; parent[0] is -1, the trees are numbered in pre-order */
enum wsc_err mesh_tree(const char *algo, const struct mesh_load *load, int *parent);
/* Closed forms of HPDC'24 in cycles; negative when there is none. */
double mesh_form_reduce(const char *algo, int p, int64_t words);
double mesh_form_broadcast(int w, int h, int64_t words);
double mesh_form_ring(int p, int64_t words);

/* kernels_*.c */
enum wsc_err mesh_run_broadcast(const struct mesh_case *c, struct mesh_result *r);
enum wsc_err mesh_run_reduce(const struct mesh_case *c, struct mesh_result *r);
enum wsc_err mesh_run_allreduce(const struct mesh_case *c, struct mesh_result *r);
enum wsc_err mesh_run_ktree(const struct mesh_case *c, struct mesh_result *r);
enum wsc_err mesh_run_ring(const struct mesh_case *c, struct mesh_result *r);
enum wsc_err mesh_run_scatter(const struct mesh_case *c, struct mesh_result *r);
enum wsc_err mesh_run_gather(const struct mesh_case *c, struct mesh_result *r);
enum wsc_err mesh_run_transpose(const struct mesh_case *c, struct mesh_result *r);
enum wsc_err mesh_run_gemv(const struct mesh_case *c, struct mesh_result *r);
enum wsc_err mesh_run_gemm(const struct mesh_case *c, struct mesh_result *r);
enum wsc_err mesh_run_summa(const struct mesh_case *c, struct mesh_result *r);
enum wsc_err mesh_run_stream(const struct mesh_case *c, struct mesh_result *r);
enum wsc_err mesh_run_fmacs(const struct mesh_case *c, struct mesh_result *r);
#endif
