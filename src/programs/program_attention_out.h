/** The pattern `mix`: the output of attention from scores that lie on the columns of a head and
 * rows that stream along the columns. */
#ifndef WSC_PROGRAMS_ATTENTION_OUT_H
#define WSC_PROGRAMS_ATTENTION_OUT_H
#include "program_grid.h"

#include <wsc/err.h>

/** Run out (queries) = sum over keys of scores (key, query) x rows (key), for one sequence. */
struct programs_mix {
    int sample, scores;
    struct programs_tile rows, out;
};
enum wsc_err programs_run_mix(struct programs_grid *g, const struct programs_mix *m);
#endif
