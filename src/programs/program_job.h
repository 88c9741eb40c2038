/** What collectives and products on blocks of words share: the job that runs, trees on paths of
 *  PEs, and the parts that a PE has in them.  Their operands are multiples of 1/8, so that sums are
 *  exact and a lost or doubled wavelet shows. */
#ifndef WSC_PROGRAMS_JOB_H
#define WSC_PROGRAMS_JOB_H
#include <wsc/mem.h>
#include <wsc/programs.h>

/* Local tasks of the kernels; WSE-3 has local ids from 8 on. */
enum { PROGRAMS_JOB_MAIN = 8, PROGRAMS_JOB_NEXT, PROGRAMS_JOB_AFTER };
/* Colours 0 .. 7 are for the trees of lines, each with the input queue of its number; then the
 * others. */
enum { PROGRAMS_LINE_COLOURS = 8, PROGRAMS_COLOUR_BCAST = 10 };
struct programs_colours {
    int first, n;
};

/* What a PE does for the tree of a line: it receives from its children in blocks, one colour each,
 * from the near end; after its own words its switch turns, or a control wavelet follows. */
struct programs_node {
    int16_t count[PROGRAMS_LINE_COLOURS];
    int8_t colour[PROGRAMS_LINE_COLOURS];
    uint8_t n_blocks;
    int8_t send; /* colour, -1: none */
    bool turn, control;
    uint32_t payload;
};
/* A reduction on a line of n PEs. */
struct programs_load {
    enum mesh_arch arch;
    int n;
    int64_t words;
    struct programs_colours colours;
};
/* PEs one after the other, each next to the one before; position 0 is the root. */
struct programs_path {
    int n;
    int queue;                  /* output queue of what they send */
    int32_t *pe;                /* owned */
    struct programs_node *node; /* borrowed, of all PEs */
};

struct programs_job {
    const struct programs_case *c;
    struct programs_result *r;
    struct mesh *m;
    int w, h;
    int64_t words;
    int data; /* address of what is sent or added up */
    struct programs_node *node[4];
    int32_t *step;  /* of a PE, for programs that count */
    int address[8]; /* as the kernel likes */
    int64_t shape[8];
    float *host[4]; /* owned, as the kernel likes */
};
enum wsc_err programs_job_init(struct programs_job *j, const struct programs_case *c,
                               struct programs_result *r);
void programs_job_fini(struct programs_job *j);
enum wsc_err programs_job_run(struct programs_job *j);
static inline struct mesh_rect programs_job_all(const struct programs_job *j)
{
    return (struct mesh_rect){0, 0, j->w, j->h};
}
/* Owned memory of the job for @p n floats; the values are multiples of 1/8 below 4, so that sums
 * are exact and a lost or doubled wavelet shows. */
enum wsc_err programs_job_floats(struct programs_job *j, int slot, int64_t n, bool fill);
/* A vector of the job's words on every PE; later its sum against the PEs of @p at. */
enum wsc_err programs_job_vector(struct programs_job *j);
enum wsc_err programs_job_check_sum(struct programs_job *j, struct mesh_rect at);
/* @p got against the exact @p expected, into the result. */
void programs_job_compare(struct programs_job *j, double got, double expected);
static inline int64_t programs_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* program_path.c */
enum wsc_err programs_path_walk(struct programs_path *l, const struct programs_job *j, int x, int y,
                                int dx, int dy, int n);
enum wsc_err programs_path_snake(struct programs_path *l, const struct programs_job *j);
/* Routes and queues on @p l for the tree @p parent with @p colours, at least two of them; what each
 * PE has to do goes to l->node. */
enum wsc_err programs_path_tree(struct programs_job *j, const struct programs_path *l,
                                const int *parent, struct programs_colours colours);
/* One colour from PE (0, 0) over the rectangle's row 0 and down all columns. */
enum wsc_err programs_spread(struct programs_job *j, int colour);
/* After the words of a PE: the turn of its switch or the control wavelet. */
enum wsc_err programs_message_end(struct mesh_pe *pe, const struct programs_node *node);
/* Issue the part of a PE in a reduction of @p n words at @p address. */
enum wsc_err programs_reduce_part(struct mesh_pe *pe, const struct programs_node *node, int address,
                                  int n);

/* program_tree.c: which PE sends to which; parent[0] is -1, the trees are numbered in pre-order */
enum wsc_err programs_tree(const char *algo, const struct programs_load *load, int *parent);
/* Analytical model of HPDC'24 in cycles; negative when it has no formula for @p algo. */
double programs_formula_reduce(const char *algo, int p, int64_t words);
double programs_formula_broadcast(int w, int h, int64_t words);
double programs_formula_ring(int p, int64_t words);

/* Programs that others choose by algorithm. */
enum wsc_err programs_run_ktree(const struct programs_case *c, struct programs_result *r);
enum wsc_err programs_run_stream(const struct programs_case *c, struct programs_result *r);
#endif
