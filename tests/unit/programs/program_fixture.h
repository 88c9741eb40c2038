/** A step on the mesh of a fixture of the host (tests/unit/host/host_fixture.h), and its check
 *  against the same step there: other code, other orders of summation, the same numbers up to
 *  rounding. */
#ifndef WSC_TEST_PROGRAM_FIXTURE_H
#define WSC_TEST_PROGRAM_FIXTURE_H
#include "../host/host_fixture.h"

#include <wsc/err.h>
#include <wsc/mesh.h>
#include <wsc/programs.h>
#include <wsc/zoo.h>

struct program_fabric {
    int w, h, hop, lanes;
};

struct program_masked {
    int every;    /* of 0: no masks */
    bool shown;   /* to the programs */
    bool dense;   /* gradients of zeros are wanted too */
    double scale; /* of gradients; 0: 1 */
    int earlier;  /* micro-batches with other weights and tokens on the same mesh before the step */
};

/** T_OK with less nesting: it stands in loops here. */
void program_ok(enum wsc_err rc);
/** @p n numbers that are none, so that every element must be written; the caller frees. */
float *program_floats(int64_t n);
/** Programs of the last program_step() that were played from recordings. */
extern struct mesh_repeat_counts program_repeats;
/** Cycles of its kinds of operations. */
extern struct programs_row program_rows[PROGRAMS_ROWS];
/** As fixture_step, on the mesh; *@p cycles of all stages. */
void program_step(const struct fixture *f, const struct fixture_run *run,
                  const struct program_fabric *fabric, const struct program_masked *masked,
                  struct fixture_result *out, int64_t *cycles);
/** Largest difference of the gradients of a tensor, relative to the scale of @p b's; a scale is
 *  @p least or more. */
double program_difference(const struct fixture *f, const struct fixture_result *a,
                          const struct fixture_result *b, double least);
/** Two steps have the same losses and gradients, bit by bit. */
void program_same_step(const struct fixture *f, const struct fixture_result *a,
                       const struct fixture_result *b);
/** All losses and gradients of a step are those of the host; the same step after two others has the
 *  same bits and cycles. */
void program_check(const struct fixture *f, int64_t leaf_samples,
                   const struct program_fabric *fabric);
/** A model of one layer and 24 features in fp32. */
struct zoo_params program_params(int64_t heads, int64_t length);
#endif
