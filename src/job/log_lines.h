/** Log lines of the Model Zoo, and the rates and remaining times in them.  Called by
 *  job_log.c; job_training.c keeps the rates over recoveries from faults. */
#ifndef WSC_JOB_LOG_LINES_H
#define WSC_JOB_LOG_LINES_H
#include "job_metrics.h"

/** Rates of the emulated machine, smoothed as the Model Zoo does; start from all zero. */
struct job_rate {
    double rate, global_rate; /**< samples/s: 0.6 new + 0.4 old, and since the start */
    int64_t samples, time_ps; /**< since the start */
};
/** Account for @p samples that took @p time_ps of virtual time. */
void job_rate_update(struct job_rate *r, int64_t samples, int64_t time_ps);
/** How fast the emulated machine goes, and how long it will; seconds, NaN: not known. */
struct job_pace {
    double rate, global_rate; /**< samples/s: smoothed, and since the start */
    double loop_s, total_s;   /**< left of this training loop, and of the run */
    bool more;                /**< total_s leaves out what has no estimate (evaluations) */
};
/** The pace after rate @p r with @p loop and @p total steps to go, each of @p batch_size. */
struct job_pace job_pace_of(const struct job_rate *r, int64_t batch_size, int64_t loop,
                            int64_t total, bool more);
/** `| Train Device=CSX, Step=50, Loss=7.15123, Rate=1234.50 samples/sec, GlobalRate=...
 *  samples/sec, LoopTimeRemaining=0:06:42, TimeRemaining>0:06:42`; without values no Loss. */
void job_print_train(const struct job_logged_step *s, const struct job_pace *pace);
/** `| Step=50, GradientNoiseScale=123.456 samples`; nothing when it was not measured. */
void job_print_noise(const struct job_logged_step *s);
/** `| Step=50, chosen_rewards=0.12, ...`; nothing without preference optimization. */
void job_print_rewards(const struct job_logged_step *s);
/** `| Eval Device=CSX, GlobalStep=50, Batch=3, Loss=..., Rate=..., GlobalRate=...`. */
void job_print_eval(int64_t step, int64_t batch, double loss, const struct job_rate *r);
/** `Avg Eval Loss: v`, `Evaluation metrics:`, then a line for each score: `  - eval/accuracy = v`,
 *  `  - eval/lm_perplexity = v`. */
void job_print_eval_end(const struct job_evaluation *e);
#endif
