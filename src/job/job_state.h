/** The state of a job in progress, which its files share, by what it is: the run's phases and
 * bounds, where it stands, its checkpoints, what stops it, its log, its results.
 *
 *  job_run() owns the one struct job_state of a process; every file of src/job works on it through
 *  the functions of its own header.  Parts marked "rank 0 only" mean nothing on other ranks. */
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
    double loss; /* of batch losses */
    struct stream_loss sums;
    int64_t n_batches, n_planned;
    struct job_rate rate;
};

/* What a run of --mode generate has done. */
struct job_generated {
    int64_t n_prompts, prompt_tokens, new_tokens, steps;
    int64_t first_ps, total_ps; /* until the first new tokens, and until the last */
    int64_t cache_bytes;        /* of keys and values on a wafer, at the end */
    struct vtime_breakdown breakdown;
    struct wsc_text
        texts;      /* owned; with --json: prompts and what follows them, each with its NUL */
    double *scores; /* owned (n_prompts): of a beam search; NULL without one */
};

/* Training or evaluation: data, batches, plan of the wafers, TensorBoard events. */
struct job_phase {
    struct data_source *source; /* owned; NULL without values or without a wafer on this rank */
    struct cycles_plan plan;
    struct stream_batch batch;
    struct out_events *events; /* owned, rank 0 only; NULL in other modes */
};

/* The bounds of this run, from the restore on. */
struct job_bounds {
    int64_t first_step, first_samples; /* at the start of this run */
    int64_t last_step;                 /* where to stop */
    int64_t planned_last_step;         /* of the run that a restart continues, or -1 */
    int64_t num_steps;                 /* that are asked for, CONF_NULL: up to max_steps */
};

/* Where the run stands. */
struct job_progress {
    int64_t step;           /* finished */
    int64_t samples;        /* of the stream, so far */
    bool in_eval;           /* the pass in progress evaluates */
    bool eval_due;          /* the evaluation after this step was stopped */
    bool eval_counted;      /* eval_steps was compared with the data */
    int64_t reached_step;   /* as hw_faults_reached(), of the run before */
    int64_t recovery_ps;    /* virtual time of recovery from faults */
    int64_t repeated_steps; /* done again after memory was lost */
};

/* The samples of train_input, by which a checkpoint knows them; zero without any. */
struct job_samples {
    int64_t n;    /* in an epoch */
    int64_t hash; /* of sizes and parts of the files, 52 bits, so that a double holds it */
};

/* Checkpoints and the folder that has them. */
struct job_checkpoints {
    int claim;                /* of model_dir, rank 0 only; -1: none */
    struct store_group group; /* of the ranks that hold shards */
    bool in_group;
    int64_t saved_step;         /* of the newest checkpoint; -1 none */
    char *start_path;           /* owned: the checkpoint that this run began with, or NULL */
    struct job_samples samples; /* that the run reads, the same on all ranks */
};

/* Looks at what signals ask for. */
struct job_stop {
    int64_t steps_per_look; /* between two looks */
    double looked_s;        /* the last look, host clock */
    int signal;             /* that asked to stop; 0: none */
};

/* A failure that every rank knows of. */
struct job_failure {
    bool everywhere, reports; /* there is one; this rank reports it */
};

/* What log lines and metrics are made of; rank 0 only. */
struct job_log {
    struct job_metrics *metrics; /* owned */
    int loop;                    /* training loops so far */
    int64_t loop_end;            /* last step of the one in progress */
    struct job_rate rate;
    double host_start_s, host_logged_s; /* host clock: begin of the run, last line */
    int64_t host_logged_step;
    double last_loss, noise_scale;
    struct job_eval_sums eval;
};

/* What performance.json has at the end; rank 0 only. */
struct job_result {
    struct vtime_breakdown total;
    int64_t total_time_ps;
    struct job_fault_cost *fault; /* owned: what the faults cost */
    int n_faults;
    int64_t wafer_rss_bytes, memoryx_rss_bytes, sent_bytes;
    struct stream_carried *carried; /* owned, n_carried: of a training with values */
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
    struct data_tokenizer *tokenizer; /* owned; while it generates */
    struct job_scoring *scoring;      /* owned; NULL without requests */
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

/* Where the job writes its checkpoints, and looks for one to resume from. */
static inline struct store_folder job_folder(const struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    return (struct store_folder){rc->model_dir, rc->checkpoint_name};
}
#endif
