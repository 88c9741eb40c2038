/** metrics.jsonl: lines of JSON, one for each logged step and each evaluation.
 *  job_log.c fills struct job_logged_step; log_lines.c and job_events.c show it too. */
#ifndef WSC_JOB_METRICS_H
#define WSC_JOB_METRICS_H
#include "job_performance.h"

#include <wsc/job.h>

/** One logged training step. */
struct job_logged_step {
    int64_t step;
    bool has_values; /**< false: time without values; loss and grad_norm are null */
    double loss, lr, grad_norm, loss_scale;
    bool skipped;   /**< dynamic loss scaling: the norm is not finite and is written as null */
    int64_t tokens; /**< trained so far, all steps */
    int64_t virtual_time_ps, step_time_ps;
    double samples_per_s, tokens_per_s;           /**< of the emulated machine, this step */
    double host_samples_per_s, host_tokens_per_s; /**< of this program on this host */
    const double *layer_grad_norm; /**< borrowed (n_layers): of the gradient's parts; NULL: not
                                      asked for, nor params_norm */
    int64_t n_layers;
    double params_norm;
    const int64_t *kept; /**< borrowed: of struct memoryx_batch; NULL: no sparsity is logged */
    int64_t mask_step;
    bool has_noise;            /**< the four below */
    double pegsqnorm, gsqnorm; /**< mean of |g|^2 of a leaf; |g|^2 of the batch */
    double noise_variance;     /**< tr(Sigma), running mean */
    double noise_scale;        /**< B_simple, samples; NAN: not known yet, written as null */
    bool has_hash;
    uint64_t weights_hash;
    struct vtime_breakdown breakdown;
    struct job_score reward[JOB_MOST_SCORES]; /**< means over the pairs of the batch */
    int n_rewards;                            /**< 0 without preference optimization */
};

/** An open metrics.jsonl. */
struct job_metrics;
/** What is kept of the file: the first @c lines lines, but none of a step above @c reached, the
 *  latest one before the checkpoint; after them evaluations up to step @c evaluations that a run of
 *  `--mode eval` appended.  Where @c lines is not known, -1, lines of steps and of evaluations up
 * to those steps; -1: none, INT64_MAX: all. */
struct job_kept {
    int64_t steps, evaluations, lines, reached;
};
/** Open `<dir>/metrics.jsonl` (@p dir is made when missing), keeping whole lines as
 *  @p kept says.  A last line that a crash tore is dropped; any other line
 *  that is not ours is an error (WSC_FORMAT) and the file is left as it was. */
enum wsc_err job_metrics_open(struct job_metrics **out, const char *dir,
                              struct job_kept kept) WSC_CHECKED;
/** One object on one line, written whole or not at all; `breakdown` holds ps. */
enum wsc_err job_metrics_step(struct job_metrics *m,
                              const struct job_logged_step *step) WSC_CHECKED;
/** One evaluation: `{"step", "eval_loss", "eval_accuracy", "eval_perplexity", "samples"}`; between
 *  the loss and the samples are the scores of the model. */
enum wsc_err job_metrics_eval(struct job_metrics *m, const struct job_evaluation *e) WSC_CHECKED;
/** Lines in the file; -1 for NULL. */
int64_t job_metrics_lines(const struct job_metrics *m);
/** Close and release; NULL inside allowed. */
void job_metrics_close(struct job_metrics **m);
#endif
