/** What the kernels share: lines of PEs, trees on them, the job that runs. */
#ifndef WSC_MESH_KERNELS_IMPL_H
#define WSC_MESH_KERNELS_IMPL_H
#include "mesh_impl.h"

/* Local tasks of the kernels; WSE-3 has local ids from 8 on. */
enum { MESH_TASK_MAIN = 8, MESH_TASK_NEXT, MESH_TASK_AFTER };
/* Colours: two for a reduction on a line, further pairs for further lines, then the others. */
enum { MESH_COLOUR_X = 0, MESH_COLOUR_Y = 2, MESH_COLOUR_BCAST = 8, MESH_COLOUR_SPREAD = 9 };

/* PEs one after the other, each next to the one before; position 0 is the root. */
struct mesh_line {
    int n;
    int32_t *pe; /* owned */
};
/* What a PE does for the tree of a line. */
struct mesh_node {
    int32_t n_children;
    int8_t send, receive; /* colours, -1: none */
    bool control;
    uint32_t payload;
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
/* Routes and queues (@p queue) on @p l for the tree @p parent with colours @p colour and
 * @p colour + 1; what each PE has to do goes to @p node. */
enum wsc_err mesh_line_tree(struct mesh_job *j, const struct mesh_line *l, const int *parent,
                            int colour, int queue, struct mesh_node *node);
/* One colour from @p root over the rectangle's row 0 and down all columns. */
enum wsc_err mesh_spread(struct mesh_job *j, int colour, int queue);
/* Issue the part of a PE in a reduction of @p n words at @p address. */
enum wsc_err mesh_reduce_part(struct mesh_pe *pe, const struct mesh_node *node, int address, int n);

/* tree.c: which PE sends to which; parent[0] is -1, the trees are numbered in pre-order */
enum wsc_err mesh_tree(const char *algo, int p, int64_t words, int *parent);
/* Closed forms of HPDC'24 in cycles; negative when there is none. */
double mesh_form_reduce(const char *algo, int p, int64_t words);
double mesh_form_broadcast(int w, int h, int64_t words);
double mesh_form_ring(int p, int64_t words);

/* kernels_*.c */
enum wsc_err mesh_run_broadcast(const struct mesh_case *c, struct mesh_result *r);
enum wsc_err mesh_run_reduce(const struct mesh_case *c, struct mesh_result *r);
enum wsc_err mesh_run_allreduce(const struct mesh_case *c, struct mesh_result *r);
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
