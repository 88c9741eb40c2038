/** --mode generate: prompts to texts.
 *
 *  Called by job.c; what its steps cost is added up in job_log.c. */
#ifndef WSC_JOB_GENERATE_H
#define WSC_JOB_GENERATE_H
#include "job_state.h"

/** Tokenize the prompts, check that keys and values fit a wafer, and generate.  Collective. */
enum wsc_err job_generate(struct job_state *s) WSC_CHECKED;
/** Hook of shard 0: print the texts, each a count and its tokens, on stdout, or keep them for
 *  --json. */
enum wsc_err job_on_texts(void *ctx, const int32_t *words, int64_t n_words);
#endif
