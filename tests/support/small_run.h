/** A tiny GPT on an emulated cluster, run inside a test: what a job does, without its files.
 *
 *  The model has every kind of tensor, its data is made from random numbers, and both are small
 *  enough for hundreds of runs in a test.
 */
#ifndef WSC_TEST_SMALL_RUN_H
#define WSC_TEST_SMALL_RUN_H
#include <wsc/job.h>

enum { SMALL_LAYERS = 2, SMALL_V = 64, SMALL_T = 16, SMALL_BATCH = 6 };
enum { SMALL_MAX_SETS = 44, SMALL_MAX_STEPS = 16, SMALL_MAX_EDGES = 64 };

/** Params and cluster of one run. */
struct small_config {
    struct zoo_params params;
    struct hw_machine cluster;
};
/** @p sets as after `--set`, ended by NULL; small_config_fini() also after an error. */
enum wsc_err small_config_init(struct small_config *c, int64_t num_csx,
                               const char *const *sets) WSC_CHECKED;
void small_config_fini(struct small_config *c);

/** Write @p n random samples to @p dir/data.h5, some places masked. */
enum wsc_err small_data_write(const char *dir, int64_t n) WSC_CHECKED;

/** What a run reported: only the rank of shard 0 hears the batches. */
struct small_result {
    int n;
    struct memoryx_batch batch[SMALL_MAX_STEPS];
    int64_t bytes_down, bytes_up; /**< of this rank's links */
    int64_t n_micro;
    struct stream_carried carried[SMALL_MAX_EDGES]; /**< payloads of all ranks; the first edges */
    int n_carried;
};
/** Train @p n_steps on all ranks of @p comm; values need @p data_dir, NULL keeps time only. */
enum wsc_err small_run(struct comm *comm, const struct small_config *c, int n_steps,
                       const char *data_dir, struct small_result *out) WSC_CHECKED;
/** The same in this process alone. */
enum wsc_err small_run_alone(const struct small_config *c, int n_steps, const char *data_dir,
                             struct small_result *out) WSC_CHECKED;
#endif
