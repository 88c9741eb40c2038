/** The job in which a collective or a product on blocks of words runs: its fabric, its operands,
 *  its check. Operands are multiples of 1/8, so that sums are exact and a lost or doubled wavelet
 *  shows. */
#ifndef WSC_PROGRAMS_JOB_H
#define WSC_PROGRAMS_JOB_H
#include "program_tree_shape.h"

#include <wsc/err.h>
#include <wsc/mesh.h>
#include <wsc/programs.h>

#include <stdbool.h>
#include <stdint.h>

/* Local tasks of the kernels; WSE-3 has local ids from 8 on. */
enum { PROGRAMS_JOB_MAIN = 8, PROGRAMS_JOB_NEXT, PROGRAMS_JOB_AFTER };
/* A column call as in SpMM_Cerebras' GEMM, besides the fmacs itself: two updates of a DSR base, one
 * cycle each, and one load to use of 4 cycles (FABRICA, "DSR load to use"). */
enum { PROGRAMS_JOB_CALL_CYCLES = 2 + 4 };
struct programs_job {
    const struct programs_case *c;
    struct programs_result *r;
    struct mesh *m;
    int w, h;
    int64_t words;
    int data; /* address of the vector that is sent or added up */
    struct programs_node *node[4];
    int32_t *step;  /* counter of each PE, for programs that need one */
    int address[8]; /* used freely by the kernel */
    int64_t shape[8];
    float *host[4]; /* owned; used freely by the kernel */
    double *sum;    /* of the vectors of all PEs, [words]; owned */
};
/** Create the fabric of case @p c and the nodes of its trees; results go to @p r. After a failure,
 *  too, call programs_job_fini(). */
enum wsc_err programs_job_init(struct programs_job *j, const struct programs_case *c,
                               struct programs_result *r);
/** Free what @p j owns. */
void programs_job_fini(struct programs_job *j);
/** Run a whole job: create it, let @p work lay out its program, run and check it, free it. */
enum wsc_err programs_job_do(const struct programs_case *c, struct programs_result *r,
                             enum wsc_err (*work)(struct programs_job *j));
/** Run the fabric until it is idle; counts and host seconds are added to the result. */
enum wsc_err programs_job_run(struct programs_job *j);
static inline struct mesh_rect programs_job_all(const struct programs_job *j)
{
    return (struct mesh_rect){0, 0, j->w, j->h};
}
/* Owned memory of the job for @p n floats; the values are multiples of 1/8 below 4, so that sums
 * are exact and a lost or doubled wavelet shows. */
enum wsc_err programs_job_floats(struct programs_job *j, int slot, int64_t n, bool fill);
/* Reserve and fill a vector of the job's words on every PE, and add them up on the host.
 * programs_job_check_sum(): compare the vectors of the PEs of @p at with that exact sum. */
enum wsc_err programs_job_vector(struct programs_job *j);
enum wsc_err programs_job_check_sum(struct programs_job *j, struct mesh_rect at);
/* Record the difference of @p got from the exact value @p expected in the result. */
void programs_job_compare(struct programs_job *j, double got, double expected);
static inline int64_t programs_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}
#endif
