/** Random clusters, models and batches for property tests: case @p i is the same for ever. */
#ifndef WSC_TEST_RANDOM_CASE_H
#define WSC_TEST_RANDOM_CASE_H
#include "small_run.h"

enum { RANDOM_MAX_SETS = 64, RANDOM_SET_BYTES = 80 };

/** What case @p i puts on the small run; texts as after `--set`. */
struct random_case {
    int64_t num_csx;
    char text[RANDOM_MAX_SETS][RANDOM_SET_BYTES];
    int n;
};
/** @param faults  also switches, stragglers, slow links and lost planes, and jitter */
void random_case_draw(struct random_case *c, uint64_t i, bool faults);
/** One more set; the last of a key wins.  Ends the program when there is no room for it. */
void random_case_add(struct random_case *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Params and cluster of a case; small_config_fini() also after an error. */
enum wsc_err random_case_config(const struct random_case *c,
                                struct small_config *config) WSC_CHECKED;
/** A whole number in [low, high]: draw @p k of case @p i. */
int64_t random_case_int(uint64_t i, uint64_t k, int64_t low, int64_t high);
#endif
