/** A job: what `wsc run` does around the emulated cluster.  Layer 8.
 *
 *  Steps, log lines, metrics, checkpoints, evaluation, generation, stops and restarts.
 */
#ifndef WSC_JOB_H
#define WSC_JOB_H
#include <wsc/cluster.h>
#include <wsc/out.h>

#include <stdbool.h>
#include <stdint.h>

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
    bool has_noise;            /**< the four below */
    double pegsqnorm, gsqnorm; /**< mean of |g|^2 of a leaf; |g|^2 of the batch */
    double noise_variance;     /**< tr(Sigma), running mean */
    double noise_scale;        /**< B_simple, samples; NAN: not known yet, written as null */
    bool has_hash;
    uint64_t weights_hash;
    struct vtime_breakdown breakdown;
};

/* ---- metrics.jsonl --------------------------------------------------------------------------- */
struct job_metrics;
/** Open `<dir>/metrics.jsonl` (@p dir is made when missing), keeping only whole lines with
 *  step <= @p keep_to: -1 starts afresh, a resume passes the step of its checkpoint.  A last line
 *  that a crash tore is dropped; any other line that is not ours is an error (WSC_FORMAT) and the
 *  file is left as it was. */
enum wsc_err job_metrics_open(struct job_metrics **out, const char *dir,
                              int64_t keep_to) WSC_CHECKED;
/** One object on one line, written whole or not at all; `breakdown` holds ps. */
enum wsc_err job_metrics_step(struct job_metrics *m,
                              const struct job_logged_step *step) WSC_CHECKED;
/** One evaluation: `{"step", "eval_loss", "eval_accuracy", "eval_perplexity", "samples"}`. */
enum wsc_err job_metrics_eval(struct job_metrics *m, int64_t step, double loss, double accuracy,
                              double perplexity, int64_t samples) WSC_CHECKED;
/** Close and release; NULL inside allowed. */
void job_metrics_close(struct job_metrics **m);

/* ---- log lines of the Model Zoo -------------------------------------------------------------- */
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
/** `| Eval Device=CSX, GlobalStep=50, Batch=3, Loss=..., Rate=..., GlobalRate=...`. */
void job_print_eval(int64_t step, int64_t batch, double loss, const struct job_rate *r);
/** `Avg Eval Loss: v`, `Evaluation metrics:`, `  - eval/accuracy = v`,
 *  `  - eval/lm_perplexity = v`. */
void job_print_eval_end(double loss, double accuracy, double perplexity);

/* ---- performance.json ------------------------------------------------------------------------ */
/** Cycles of one kind of kernel over a run: counted on the mesh, and by its closed form. */
struct job_kernel {
    const char *kernel, *pass;
    int64_t calls, cycles, form_cycles, time_ps;
};
/** The table on stdout. */
enum wsc_err job_kernels_print(const struct job_kernel *kernel, int n) WSC_CHECKED;
/** What --mode generate has beside that. */
struct job_generation {
    int64_t prompts, prompt_tokens, new_tokens;
    int64_t first_token_ps; /**< from the start to the first new tokens: the prompts' forward */
    int64_t token_ps;       /**< mean of the steps after it; 0 when there was one */
    int64_t cache_bytes_per_wafer;
    const char *texts; /**< borrowed; one for each prompt, ended by a NUL; NULL: left out */
};
/** What a fault of the emulated machine cost a training: its virtual time with all faults, and
 *  without this one. */
struct job_fault_cost {
    const char *fault; /**< as `--fault` takes it, or "all of them"; borrowed */
    int64_t n_events;  /**< how often it began */
    int64_t with_ps, without_ps;
    int64_t repeated_tokens; /**< that were trained on again because of it */
};
/** The table on stdout. */
enum wsc_err job_fault_costs_print(const struct job_fault_cost *fault, int n) WSC_CHECKED;
struct job_performance {
    int64_t num_csx, ranks, roles, params, global_batch_size, micro_batch_size, steps;
    int64_t virtual_time_ps;
    double rate, global_rate; /**< as the newest log line; samples/s */
    double samples_per_s, tokens_per_s, mfu, joules_per_token;
    double host_seconds, host_tokens_per_s;
    struct vtime_breakdown breakdown;
    /** Host memory: the largest process with a wafer, the activations of one wafer in it, the
     *  largest process with a MemoryX shard. */
    int64_t wafer_peak_rss_bytes, wafer_activation_bytes, memoryx_peak_rss_bytes;
    const char *model_name, *params_file, *cluster_file, *cluster_name;
    uint64_t cluster_hash;
    const struct job_kernel *kernel; /**< borrowed */
    int n_kernels;
    const double *noise_scale;               /**< borrowed; NULL: not measured */
    const struct job_generation *generation; /**< borrowed; NULL: a run that trained.  Then
                                                     tokens are new ones, rate, global_rate and mfu
                                                     are left out */
    int64_t recovery_ps;                     /**< of virtual_time_ps, recovery from faults */
    const struct job_fault_cost *fault;      /**< borrowed; none in a sound machine */
    int n_faults;
    const char *numerics; /**< host, none, mesh */
    const char *command;  /**< the command line, for provenance; NULL leaves it out */
};
/** Results of `--mode eval`; loss, accuracy and perplexity are NaN where no values were computed.
 */
struct job_evaluation {
    int64_t step, num_csx, batches, samples;
    int64_t virtual_time_ps;
    double samples_per_s; /**< of the emulated machine */
    double loss, accuracy, perplexity;
};
/** Print an evaluation as one JSON object on stdout: `--mode eval --json`. */
enum wsc_err job_evaluation_print(const struct job_evaluation *e) WSC_CHECKED;
/** `<dir>/performance.json`: the fields and a `provenance` object; breakdown in ps.  The folder is
 *  there: one that was removed during the run is an error and not made anew. */
enum wsc_err job_performance_write(const char *dir, const struct job_performance *p) WSC_CHECKED;
/** The same object on stdout. */
enum wsc_err job_performance_print(const struct job_performance *p) WSC_CHECKED;

/* ---- the job --------------------------------------------------------------------------------- */

/** Steps of a job whose virtual time is recorded: of a training its steps, of an evaluation its
 *  batches, of a generation its tokens. */
struct job_recording {
    int64_t first_step; /**< finished steps before the first one; -1: the third one of the run,
                           which all later ones equal, or the last one when there are fewer; the run
                             replaces it by the step */
    int64_t n_steps;
    /** Rank 0 gets the record of one step or several, which it may use until it returns: the step
     *  before the first one, when the run has it, and then those that were asked for. */
    enum wsc_err (*take)(void *ctx, const struct cluster_record *record);
    void *ctx;
    int64_t next_step; /**< kept by the run: the next one that is to be recorded */
};
/** What `wsc run` was asked for; all borrowed. */
struct job {
    const struct zoo_params *params;
    struct job_recording *recording; /**< NULL: no virtual time is recorded */
    const struct hw_machine *cluster;
    enum kernels_numerics numerics;
    bool values;                /**< numerics is not KERNELS_NONE */
    const char *dump_gradients; /**< file, or NULL */
    /** NULL, or a name that a run shares with its restarts: one that finds checkpoints of this name
     *  in model_dir goes on from the newest to the step at which the first was to end. */
    const char *run_id;
    const char *const *prompt; /**< texts to continue, or lists of token ids */
    int n_prompts;
    bool prompts_are_ids;
    const char *tokenizer, *vocab, *merges; /**< as data_tokenizer_open() takes them; NULL:
                                                 bytes */
    int64_t max_new_tokens;
    double temperature, top_p; /**< as struct wafer_prompts has them, and the next two */
    int64_t top_k, eos_id;
    bool json; /**< performance.json on stdout too */
    bool print_placement;
    const char *command; /**< the command line, for provenance */
};
/** Do all ranks run the same version with the same command line?  WSC_CONFIG names the first that
 *  does not, and the word that differs.  To be called before anything else that depends on the
 *  command line, which later steps take to be equal.  Collective; *@p report as of comm_agree(). */
enum wsc_err job_compare_commands(struct comm *comm, int argc, char **argv,
                                  bool *report) WSC_CHECKED;
/** Run it.  Collective over the job.  Errors before the first pass are agreed on by all ranks
 *  (*@p report: this rank should print its message), and so is WSC_INTERRUPTED; later ones end the
 *  job with comm_abort() after printing, when there are several ranks. */
enum wsc_err job_run(struct comm *comm, const struct job *job, bool *report) WSC_CHECKED;
/** Parameters of one module of a model. */
struct job_module {
    const char *name; /**< static */
    int64_t n_params;
};
enum { JOB_MODULES = 6 };
/** What a job comes to before it runs; job_description_fini() it. */
struct job_description {
    const struct zoo_params *params; /**< borrowed */
    const struct model *model;       /**< borrowed from one of the next two */
    struct model *own_model;         /**< owned; NULL with a plan */
    struct cluster *cluster;         /**< owned; NULL without a plan */
    struct comm *comm;               /**< owned; NULL without a plan */
    char *family;                    /**< name of the model's family as YAML text; owned */
    struct job_module module[JOB_MODULES];
    struct cycles_plan plan; /**< with a plan: how a micro-batch lies on a wafer */
    struct stream_batch batch;
};
/** Describe @p job; with a plan also the machine, which the model must fit (WSC_CAPACITY).
 *  job_description_fini() @p out also after an error. */
enum wsc_err job_describe(struct job_description *out, const struct job *job,
                          bool with_plan) WSC_CHECKED;
void job_description_fini(struct job_description *d);
/** `--print_placement`: which role lives on which rank of @p comm and on which host, on stdout. */
enum wsc_err job_print_placement(const struct job *job, const struct comm *comm) WSC_CHECKED;
#endif
