/** Scaling: throughput against the number of systems.  Layer 7.
 *
 *  Each point is a run without values of the whole emulated cluster, in this process: the same
 *  roles, messages and clocks as a training run.  Nothing is fitted and nothing is interpolated.
 */
#ifndef WSC_SCALING_H
#define WSC_SCALING_H
#include <wsc/conf.h>
#include <wsc/err.h>
#include <wsc/report.h>

#include <stdbool.h>
#include <stdint.h>

struct scaling_model {
    const char *name;                 /**< in tables; borrowed */
    const struct conf_params *params; /**< borrowed */
};
struct scaling_sweep {
    const struct scaling_model *model;
    int n_models;
    const int64_t *num_csx;
    int n_counts;
    bool strong;           /**< the global batch stays; otherwise it grows with N */
    int64_t batch_per_csx; /**< weak scaling; 0: batch_size / num_csx of the params */
    const struct conf_cluster *cluster;
    void (*progress)(void *ctx, int done, int total, const char *what); /**< may be NULL */
    void *progress_ctx;
};
/** Simulate every (model, node count); *@p rows has n_models x n_counts entries, models first,
 *  owned by the caller.  speedup and efficiency are against the smallest count of the model. */
enum wsc_err scaling_run(const struct scaling_sweep *sweep,
                         struct report_scale_row **rows) WSC_CHECKED;
/** One point: the steady-state step of @p num_csx systems with @p global_batch sequences. */
enum wsc_err scaling_point(const struct scaling_model *model, const struct conf_cluster *cluster,
                           int64_t num_csx, int64_t global_batch,
                           struct report_scale_row *row) WSC_CHECKED;
#endif
