/** The state of a job in progress, and what its files do for each other.  job.c calls all others;
 *  each file's part is under its name. */
#ifndef WSC_JOB_STATE_H
#define WSC_JOB_STATE_H
#include <wsc/job.h>

/* Sums over the batches of one evaluation. */
struct job_eval_sums {
    double loss; /* of batch losses */
    struct stream_loss sums;
    int64_t n_batches;
    struct job_rate rate;
};

/* What a run of --mode generate has done. */
struct job_generated {
    int64_t n_prompts, prompt_tokens, new_tokens, steps;
    int64_t first_ps, total_ps; /* until the first new tokens, and until the last */
    int64_t cache_bytes;        /* of keys and values on a wafer, at the end */
    struct vtime_breakdown breakdown;
    struct out_text
        texts; /* owned; with --json: prompts and what follows them, each with its NUL */
};

struct job_state {
    struct comm *comm;        /* borrowed */
    const struct job *job;    /* borrowed */
    struct cluster *cluster;  /* owned */
    bool eval_counted;        /* eval_steps was compared with the data */
    struct store_group group; /* of the ranks that hold shards */
    bool in_group;
    struct data_source *train_source, *eval_source; /* owned; NULL without values */
    struct cycles_plan train_plan, eval_plan;
    struct stream_batch train_batch, eval_batch;
    bool in_eval;                     /* the pass in progress evaluates */
    bool eval_due;                    /* the evaluation after this step was stopped */
    struct data_tokenizer *tokenizer; /* owned; while it generates */

    int64_t step, last_step;           /* finished, and where to stop */
    int64_t planned_last_step;         /* of the run that a restart goes on with, or -1 */
    int64_t samples;                   /* of the stream, so far */
    int64_t first_step, first_samples; /* at the start of this run */
    int64_t saved_step;                /* of the newest checkpoint; -1 none */
    char *start_path;                  /* owned: the checkpoint that this run began with, or NULL */
    int64_t reached_step;              /* as hw_faults_reached(), of the run before */
    int64_t recovery_ps;               /* virtual time of recovery from faults */
    int64_t repeated_steps;            /* done again after memory was lost */
    int64_t steps_per_look;            /* between looks at what signals ask for */
    double looked_s;                   /* the last look, host clock */
    int stop_signal;                   /* that asked to stop; 0: go on */
    int claim;                         /* of model_dir, rank 0 only */
    bool all_failed, speaks;           /* every rank knows of the failure, and this one tells it */

    /* rank 0 only: what on_batch keeps */
    struct job_metrics *metrics;                   /* owned */
    struct out_events *train_events, *eval_events; /* owned; NULL in other modes */
    int loop;                                      /* training loops so far */
    int64_t loop_end;                              /* last step of the one in progress */
    struct job_rate rate;
    struct vtime_breakdown total;
    int64_t total_time_ps;
    double host_start_s, host_logged_s;
    int64_t host_logged_step;
    double last_loss, noise_scale;
    struct job_fault_cost *fault; /* owned: what the faults cost */
    int n_faults;
    int64_t wafer_rss_bytes, memoryx_rss_bytes;
    struct job_eval_sums eval;
    struct job_generated generated;
    int n_kernels; /* 0 unless the values come from the mesh */
    struct job_kernel kernel[PROGRAMS_ROWS];
};

/* job_log.c: hooks of shard 0, and what they print */
enum wsc_err job_on_batch(void *ctx, const struct memoryx_batch *batch);
enum wsc_err job_write_performance(struct job_state *s);
enum wsc_err job_write_generated(struct job_state *s);
void job_log_start(const struct job_state *s);
enum wsc_err job_log_eval_end(struct job_state *s);

/* job_events.c: TensorBoard; rank 0 only */
enum wsc_err job_events_open(struct job_state *s, bool trains, bool evaluates) WSC_CHECKED;
void job_events_close(struct job_state *s);
enum wsc_err job_events_train(struct job_state *s, const struct job_logged_step *step,
                              const struct job_pace *pace) WSC_CHECKED;
enum wsc_err job_events_eval(struct job_state *s, double loss, double accuracy,
                             double perplexity) WSC_CHECKED;

/* job_generate.c: prompts to texts */
/* Tokenizes the prompts, checks that keys and values fit a wafer, and generates; collective. */
enum wsc_err job_generate(struct job_state *s) WSC_CHECKED;
/* Hook of shard 0: account for a step of generation. */
void job_on_generated(struct job_state *s, const struct memoryx_batch *b);
/* Hook of shard 0: print the texts, each a count and its tokens, on stdout. */
enum wsc_err job_on_texts(void *ctx, const int32_t *words, int64_t n_words);

/* job_stop.c: what asks a training run to stop; all but job_stop_end collective over the job */
void job_stop_begin(struct job_state *s);
void job_stop_end(void);
/* After @p n_steps steps since the last look: set stop_signal and steps_per_look on all ranks. */
void job_stop_look(struct job_state *s, int64_t n_steps);
/* Before steps of another kind: the next look comes after the first of them. */
void job_stop_restart(struct job_state *s);
/* Write a checkpoint and raise WSC_INTERRUPTED. */
enum wsc_err job_stop_here(struct job_state *s) WSC_CHECKED;

/* job_checkpoint.c; all collective over the job */
/* Choose a checkpoint and load it, or initialize the weights; sets step, samples, start_path. */
enum wsc_err job_restore(struct job_state *s);
/* Load the checkpoint of step @p step again, in the middle of a run that lost the memory of a
 * shard. */
enum wsc_err job_restore_again(struct job_state *s, int64_t step);
/* Write checkpoint_<step>.mdl, then remove what max_checkpoints leaves out. */
enum wsc_err job_save(struct job_state *s);
/* Write the mean gradients of the newest step for --dump_gradients. */
enum wsc_err job_dump_gradients(struct job_state *s);

/* job_history.c: which training is a checkpoint of? */
/* Params of this run into a checkpoint; collective as store_set_text(). */
enum wsc_err job_history_write(const struct job_state *s, struct store_file *file) WSC_CHECKED;
/* Warn of params that are not those of the run that wrote the checkpoint; with @p resumes another
 * model is an error. */
enum wsc_err job_history_check(const struct job_state *s, struct store_file *file,
                               bool resumes) WSC_CHECKED;
/* Before a training that writes checkpoints begins: move those that it does not go on from out of
 * model_dir.  On rank 0, nothing on others. */
enum wsc_err job_set_aside(const struct job_state *s) WSC_CHECKED;
/* job_same.c: do all ranks read the same samples?  WSC_CONFIG names the first that does not.
 * Collective; *@p report as of comm_agree() */
enum wsc_err job_compare_data(const struct job_state *s, bool *report);
/* shared_folder.c: is model_dir the same folder on all hosts with shards?  Collective; *@p report
 * as of comm_agree() */
enum wsc_err job_check_shared(const struct job_state *s, bool *report);
/* fault_costs.c: walk the run again, without values, to see what each fault cost; this process
 * alone */
enum wsc_err job_find_fault_costs(struct job_state *s) WSC_CHECKED;

/* job_check.c: what the params ask for and this program cannot do */
enum wsc_err job_check(const struct job *job);

/* job_record.c */
/* The job's passes begin: its steps are [@p first_step, @p last_step). */
void job_record_plan(const struct job_state *s, int64_t first_step, int64_t last_step);
/* cluster_run_pass(), with the steps recorded that the job asks for. */
enum wsc_err job_run_pass(struct job_state *s, const struct stream_pass *pass,
                          const struct wafer_work *work);
#endif
