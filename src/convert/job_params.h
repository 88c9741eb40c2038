/** The params and the checkpoint that a conversion reads, and what is to be said about them.
 *
 *  Called by from_hf.c, to_hf.c and merge_adapters.c. */
#ifndef WSC_CONVERT_JOB_PARAMS_H
#define WSC_CONVERT_JOB_PARAMS_H
#include <wsc/convert.h>
#include <wsc/err.h>
#include <wsc/model.h>
#include <wsc/zoo.h>

/** Parse @p bytes with the --set of @p job, and log the warnings. @p file is the name for messages.
 *  Errors: those of zoo_params_parse(). */
enum wsc_err convert_parse_params(struct zoo_params *params, const struct convert_job *job,
                                  const char *file, const char *bytes, size_t n) WSC_CHECKED;
/** Read and parse the params file of @p job, likewise; also WSC_IO. */
enum wsc_err convert_read_params(struct zoo_params *params,
                                 const struct convert_job *job) WSC_CHECKED;
/** Verify the checkpoint of @p job, store_check(), and open it: from a damaged one another model
 * would be made, with valid sums. Errors: those of both; *@p out is NULL then. The caller closes
 * it. */
enum wsc_err convert_open_checkpoint(struct store_file **out,
                                     const struct convert_job *job) WSC_CHECKED;
/** Warn when a sliding window shows another number of tokens in the transformers library than here;
 *  @p to_hf: a folder is written, else one is read. */
void convert_warn_window(const struct model *m, bool to_hf);
#endif
