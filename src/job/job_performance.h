/** performance.json, and the objects that --json prints.  job_log.c fills them at the end of
 *  a run. */
#ifndef WSC_JOB_PERFORMANCE_H
#define WSC_JOB_PERFORMANCE_H
#include "job_payload.h"

#include <wsc/job.h>

/** Cycles of one kind of kernel over a run: counted on the mesh, and by the analytical model. */
struct job_kernel {
    const char *kernel, *pass;
    int64_t calls, cycles, analytical_cycles, time_ps;
};
/** What --mode generate has beside that. */
struct job_generation {
    int64_t prompts, prompt_tokens, new_tokens;
    int64_t first_token_ps; /**< from the start to the first new tokens: the prompts' forward */
    int64_t token_ps;       /**< mean of the steps after it; 0 when there was one */
    int64_t cache_bytes_per_wafer;
    const char *texts;    /**< borrowed; one for each prompt, ended by a NUL; NULL: left out */
    const double *scores; /**< borrowed, of a beam search, one for each prompt; NULL: left out */
};
/** What a fault of the emulated machine cost a training: its virtual time with all faults, and
 *  without this one. */
struct job_fault_cost {
    const char *fault; /**< as `--fault` takes it, or "all of them"; borrowed */
    int64_t n_events;  /**< how often it began */
    int64_t with_ps, without_ps;
    int64_t repeated_tokens; /**< that were trained on again because of it */
};
/** The figures of performance.json; strings are borrowed. */
struct job_performance {
    int64_t num_csx, ranks, roles, params, global_batch_size, micro_batch_size;
    int64_t first_step; /**< steps that earlier runs had finished; all totals are of the others */
    int64_t steps;
    int64_t virtual_time_ps;
    double rate, global_rate; /**< as the newest log line; samples/s */
    double samples_per_s, tokens_per_s, mfu, joules_per_token;
    double host_seconds, host_tokens_per_s;
    struct vtime_breakdown breakdown;
    /** Host memory: the largest process with a wafer, the activations of one wafer in it, the
     *  largest process with a MemoryX shard. */
    int64_t wafer_peak_rss_bytes, wafer_activation_bytes, memoryx_peak_rss_bytes;
    int64_t host_sent_bytes; /* to other ranks, by the one that sent most */
    const char *model_name, *params_file, *cluster_file, *cluster_name;
    uint64_t cluster_hash;
    const struct job_kernel *kernel; /**< borrowed */
    int n_kernels;
    const double *noise_scale;               /**< borrowed; NULL: not measured */
    const struct job_generation *generation; /**< borrowed; NULL: a run that trained.  Then
                                                     tokens are new ones, rate, global_rate and mfu
                                                     are left out */
    int64_t recovery_ps;                     /**< of virtual_time_ps, recovery from faults */
    int64_t evaluation_ps;                   /**< of evaluations, beside virtual_time_ps */
    const struct job_fault_cost *fault;      /**< borrowed; none in a sound machine */
    int n_faults;
    struct job_payload payload; /**< of links, where weights are sparse */
    const char *numerics;       /**< host, none, mesh */
    const char *command;        /**< the command line, for provenance; NULL leaves it out */
};
/** One metric of an evaluation: its name in log lines and events, its key in JSON. */
struct job_score {
    const char *name, *key; /**< static */
    double value;
};
enum { JOB_MOST_SCORES = 6 };
/** Results of `--mode eval`; loss and scores are NaN where no values were computed. */
struct job_evaluation {
    int64_t step, num_csx, batches, samples;
    int64_t virtual_time_ps;
    double samples_per_s; /**< of the emulated machine */
    double loss;
    struct job_score score[JOB_MOST_SCORES];
    int n_scores;
    struct job_payload payload;
};
/** Print an evaluation as one JSON object on stdout: `--mode eval --json`. */
enum wsc_err job_evaluation_print(const struct job_evaluation *e) WSC_CHECKED;
/** `<dir>/performance.json`: the fields and a `provenance` object; breakdown in ps.  The folder is
 *  there: one that was removed during the run is an error and not made again.  A run without steps
 *  (started again after its end) leaves an existing file as it is. */
enum wsc_err job_performance_write(const char *dir, const struct job_performance *p) WSC_CHECKED;
/** What job_performance_write() writes, on stdout: `--json`. */
enum wsc_err job_performance_print(const struct job_performance *p) WSC_CHECKED;
#endif
