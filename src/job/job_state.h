/** The state of a job in progress, which the files of job share: phases, bounds and progress of the
 *  run, checkpoints, requests to stop, the log, results. job_run() owns the only struct job_state
 * of a process; every file of src/job has functions on it in its own header. Members marked "rank 0
 *  only" have no meaning on other ranks. */
#ifndef WSC_JOB_STATE_H
#define WSC_JOB_STATE_H
#include "job_metrics.h"
#include "job_performance.h"
#include "log_lines.h"

#include <wsc/job.h>
#include <wsc/out.h>
#include <wsc/store.h>

/* Sums over the batches of one evaluation. */
struct job_eval_sums {
    double loss; /* sum of the losses of batches */
    struct stream_loss sums;
    int64_t n_batches, n_planned;
    struct job_rate rate;
};

/* Tokens of an evaluation by class, or sequences by set, counted where shard 0 is; empty for other
 * data. */
struct job_classes {
    struct model_class_count *count; /* owned (n) */
    bool *ignored;                   /* owned (n): left out of the F1 */
    int64_t n;
};

/* A step of a generation. */
struct job_generated_step {
    int64_t time_ps;
    struct vtime_breakdown breakdown;
};

/* What a run of --mode generate has done. */
struct job_generated {
    int64_t n_prompts, prompt_tokens, new_tokens;
    int64_t steps; /* until all texts had ended; the pass has more, which are empty */
    struct job_generated_step *step; /* owned (n_passed) */
    int64_t n_passed, room;
    int64_t cache_bytes;   /* bytes of keys and values on a wafer, at the end */
    int64_t most_texts;    /* of a wafer, each beam one */
    struct wsc_text texts; /* owned; with --json: prompts and generated texts, each with its NUL */
    double *scores;        /* owned (n_prompts): of a beam search; NULL without one */
};

/* Training or evaluation: data, batches, plan of the wafers, TensorBoard events. */
struct job_phase {
    struct data_source *source; /* owned; NULL without values or without a wafer on this rank */
    struct cycles_plan plan;
    struct stream_batch batch;
    struct out_events *events; /* owned, rank 0 only; NULL in other modes */
};

/* The bounds of this run, set when the checkpoint is restored. */
struct job_bounds {
    int64_t first_step, first_samples; /* step and samples at the start of this run */
    /* Where the training began, of which this run is a part, and samples of the stream before it
     * (-1: not known).  A phase, other params, other data or skipped samples begin a training. */
    int64_t origin_step, origin_samples;
    int64_t last_step;         /* last step of this run */
    int64_t planned_last_step; /* last step of the run that a restart continues, or -1 */
    int64_t num_steps;         /* requested number of steps; CONF_NULL: up to max_steps */
    struct cluster_evaluations evaluations; /* n_batches: 0 before the first one */
    bool evaluates_first; /* the run began with an evaluation in which the one before stopped */
    /* owned, rank 0 only: virtual times of the shards at the start, if the machine has faults and
     * the run continues their clock; otherwise NULL */
    int64_t *start_ps;
};

/* Progress of the run. */
struct job_progress {
    int64_t step;           /* last finished step */
    int64_t uncounted;      /* stream_pass.uncounted of the run */
    int64_t samples;        /* samples of the stream that were used so far */
    bool in_eval;           /* the current pass is an evaluation */
    bool eval_due;          /* the evaluation after this step was stopped and has to be repeated */
    bool eval_counted;      /* eval_steps was compared with the data */
    int64_t reached_step;   /* hw_faults_reached() of the previous run */
    int64_t recovery_ps;    /* virtual time of recovery from faults */
    int64_t repeated_steps; /* steps that were repeated after memory was lost */
};

/* The samples of train_input, as a checkpoint identifies them; 0 without any. */
struct job_samples {
    int64_t n; /* samples in an epoch */
    /* hash of sizes and parts of the files, 52 bits, so that a double has room for it */
    int64_t hash;
};

/* Checkpoints and their folder. */
struct job_checkpoints {
    int claim;                /* lock of model_dir, rank 0 only; -1: none */
    struct store_group group; /* ranks that hold shards */
    bool in_group;
    int64_t saved_step; /* step of the newest checkpoint; -1: none */
    /* owned: path of the checkpoint with which this run began, or NULL */
    char *start_path;
    const char *start_states;   /* what of it was loaded, borrowed; NULL: all */
    struct job_samples samples; /* samples that the run reads, equal on all ranks */
    int64_t params_hash;        /* zoo_training_hash() */
    /* lines of metrics.jsonl when the checkpoint was written: that with which this run began, then
     * that which it writes; -1: not known */
    int64_t n_lines;
};

/* Checks for signals that ask the run to stop. */
struct job_stop {
    int64_t steps_per_look; /* steps between two checks */
    double looked_s;        /* host time of the last check */
    int signal;             /* what asked the run to stop, as wsc_stop_asked(); 0: nothing */
};

/* A failure that is known on all ranks. */
struct job_failure {
    bool everywhere, reports; /* everywhere: there is a failure; reports: this rank reports it */
};

/* Data of log lines and metrics; rank 0 only. */
struct job_log {
    struct job_metrics *metrics; /* owned */
    int loop;                    /* training loops so far */
    int64_t loop_end;            /* last step of the current loop */
    struct job_rate rate;
    /* host time at the beginning of the run, and of the last log line */
    double host_start_s, host_logged_s;
    int64_t host_logged_step;
    double last_loss, noise_scale;
    bool last_skipped; /* dynamic loss scaling skipped the last step */
    struct job_eval_sums eval;
};

/* Data of performance.json; rank 0 only. */
struct job_result {
    struct vtime_breakdown total;
    int64_t total_time_ps;
    double useful_flop;    /* of a token, summed over the trained steps: masks differ by step */
    int64_t evaluation_ps; /* of complete evaluations */
    struct job_fault_cost *fault; /* owned (n_faults): cost of each fault */
    int n_faults;
    int64_t wafer_rss_bytes, memoryx_rss_bytes, sent_bytes;
    struct stream_carried *carried; /* owned (n_carried), in training with values */
    int n_carried;
    struct job_generated generated;
    int n_kernels; /* 0 unless the values come from the mesh */
    struct job_kernel kernel[PROGRAMS_ROWS];
};

struct job_scoring;

struct job_state {
    struct comm *comm;       /* borrowed */
    const struct job *job;   /* borrowed */
    struct cluster *cluster; /* owned */
    struct job_phase train, eval;
    struct job_bounds run;
    struct job_progress at;
    struct job_checkpoints checkpoint;
    struct job_stop stop;
    struct job_failure failure;
    struct data_tokenizer *tokenizer; /* owned; in generation */
    struct job_scoring *scoring;      /* owned; NULL without requests */
    struct job_classes classes;
    struct job_log log;
    struct job_result result;
};

static inline bool job_trains(const struct job_state *s)
{
    return zoo_mode_trains(s->job->params->runconfig.mode);
}

static inline bool job_evaluates(const struct job_state *s)
{
    return zoo_mode_evaluates(s->job->params->runconfig.mode);
}

/* Steps that this run has trained, those that it repeated after a loss of memory included. */
static inline int64_t job_trained_steps(const struct job_state *s)
{
    return s->at.step - s->run.first_step + s->at.repeated_steps;
}

/* Folder of the checkpoints: the job writes them there, and resumes from the newest one in it. */
static inline struct store_folder job_folder(const struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    return (struct store_folder){rc->model_dir, rc->checkpoint_name};
}
#endif
