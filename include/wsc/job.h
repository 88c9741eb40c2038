/** Job: implements `wsc run`, everything around the emulated cluster.
 *
 *  A job runs the steps, evaluations and generations that the params ask for. It writes log lines,
 *  metrics and checkpoints, and it handles stops and restarts. docs/FILES.md describes the files
 *  that it writes to model_dir; <wsc/cluster.h> declares the machine itself. Every function is
 *  collective over the ranks of the job, except job_check(), job_describe(),
 *  job_find_phase() and job_print_placement().
 *
 *      struct job job = {.params = &params, .cluster = &machine, .numerics = KERNELS_HOST,
 *                        .values = true, .command = command};
 *      TRY(comm_create(&comm, true));
 *      enum wsc_err rc = job_run(comm, &job, &report);
 *      if (rc && report) fprintf(stderr, "%s\n", wsc_err_message());
 *      comm_destroy(&comm);
 *
 *  A run that is interrupted at any point and resumed has the losses, weights and virtual times of
 *  an uninterrupted run. Read next: src/job/job.c, then job_checkpoint.c and job_stop.c;
 *  docs/RUNNING.md. */
#ifndef WSC_JOB_H
#define WSC_JOB_H
#include <wsc/cluster.h>

#include <stdbool.h>
#include <stdint.h>

/** Finished steps before the one that is recorded when none is named: the first steps begin with
 *  idle links, from the third one on all are equal. */
enum { JOB_STEADY_STEP = 2 };
/** Selects the steps of a job whose virtual time is recorded. A step is one update in a training,
 *  one batch in an evaluation, one token in a generation. */
struct job_recording {
    /** Number of finished steps before the first recorded one. -1 selects the third step of the
     *  run, which all later steps equal, or the last step of a shorter run; the run replaces -1 by
     *  the number. */
    int64_t first_step;
    /** Steps to record, at least 1. */
    int64_t n_steps;
    /** Called on rank 0 with the record of one step or several. @p record is valid until the
     *  return. The first record is that of the step before `first_step`, when the run has it; then
     *  come the requested steps. */
    enum wsc_err (*take)(void *ctx, const struct cluster_record *record);
    /** First argument of `take`. */
    void *ctx;
    int64_t next_step; /**< written by the run: the next step to record */
};
/** The request of `wsc run`. All pointers are borrowed for the run. The contents must be equal on
 *  all ranks; job_run() checks this as far as it can. */
struct job {
    /** The effective params; runconfig.mode decides what the run does. */
    const struct zoo_params *params;
    struct job_recording *recording; /**< NULL: no virtual time is recorded */
    /** The emulated machine. */
    const struct hw_machine *cluster;
    /** Where values are computed; KERNELS_NONE computes virtual time only. */
    enum kernels_numerics numerics;
    bool values; /**< numerics is not KERNELS_NONE */
    /** File for the mean gradients of the first step (HDF5), or NULL. */
    const char *dump_gradients;
    /** NULL, or a name that a run shares with its restarts. A run that finds checkpoints of this
     *  name and of its phase of a list of trainers in model_dir resumes from the newest one; it
     * ends at the last step of the first run. */
    const char *run_id;
    const char *const *prompt; /**< texts to continue, or lists of token ids */
    /** Number of entries of `prompt`; used in mode GENERATE. */
    int n_prompts;
    /** The prompts are lists of token ids and not texts. */
    bool prompts_are_ids;
    const char *tokenizer, *vocab, *merges; /**< arguments of data_tokenizer_open(); NULL: bytes */
    /** Maximum number of tokens added to a prompt. */
    int64_t max_new_tokens;
    double temperature, top_p; /**< these two and the next two: see struct wafer_prompts */
    int64_t top_k, eos_id;
    int64_t n_beams;       /**< beams of a prompt in beam search; 0 and 1: no beam search */
    double length_penalty; /**< this and the next one: see struct wafer_prompts */
    bool early_stopping;
    /** JSON Lines file of an evaluation harness, or NULL. Mode EVAL computes the log-likelihoods of
     *  its requests. */
    const char *requests;
    bool json; /**< performance.json on stdout too */
    /** Print no tables after a training; of log lines see wsc_log_quiet(). */
    bool no_tables;
    /** Print which role lives on which rank, before the first step. */
    bool print_placement;
    const char *command; /**< the command line, for provenance */
    /** Title of the progress line, for a run that is part of a larger command; NULL: named by the
     *  mode. */
    const char *title;
};
/** Check that all ranks run the same version with the same command line. WSC_CONFIG: the message
 *  names the first rank that differs and the differing word. Call it before anything that depends
 *  on the command line, because all later steps assume equal ones. Collective. *@p report is set as
 *  by comm_agree(). */
enum wsc_err job_compare_commands(struct comm *comm, int argc, char **argv,
                                  bool *report) WSC_CHECKED;
/** Check that @p place, a file or with a slash at its end a folder, is the same one for rank 0 and
 *  for all ranks that write there (@p writes), by a file that rank 0 puts there for a moment.
 * WSC_IO names the first rank for which it is not, or the folder in which nothing can be written.
 *  Collective. *@p report is set as by comm_agree(). */
enum wsc_err job_check_shared(struct comm *comm, const char *place, bool writes,
                              bool *report) WSC_CHECKED;
/** Run the job: set up, train or evaluate or generate, and write all output files. Collective over
 *  the job; it blocks until the job has ended. All ranks agree on an error before the first pass
 *  and on WSC_INTERRUPTED, and *@p report is true on the rank that should print its message. A
 *  later error is printed and ends the job with comm_abort(), when there are several ranks. */
enum wsc_err job_run(struct comm *comm, const struct job *job, bool *report) WSC_CHECKED;
/** After a phase that job_run() has finished, and before the next one: WSC_INTERRUPTED on all ranks
 *  when a signal has asked any rank to stop in the steps that were the last ones of the phase.
 *  Collective; one rank should print the message. */
enum wsc_err job_stop_after_phase(struct comm *comm, const struct job *job) WSC_CHECKED;
/** Folders in which earlier phases write checkpoints; borrowed. */
struct job_folders {
    const char *const *dir;
    int n;
};
/** Check a job that runs after others: its params, its plan, its data, and the checkpoint that
 *  `runconfig.checkpoint_path` names, unless that is in a folder of @p earlier. Nothing is written.
 *  Collective. The errors of job_run() before its first step; *@p report as for job_run(). */
enum wsc_err job_check_ahead(struct comm *comm, const struct job *job,
                             const struct job_folders *earlier, bool *report) WSC_CHECKED;
/** Find the phase, from 1, in which the newest good checkpoint of the model_dir of @p job was
 *  written; phases before it have been trained. *@p phase is 0 without values or a checkpoint, and
 *  when neither the run `job->run_id` wrote it nor its step has reached max_steps in a later phase.
 *  Not collective; it reads the whole checkpoint. Errors of a run that resumes from it. */
enum wsc_err job_find_phase(const struct job *job, int64_t *phase) WSC_CHECKED;
/** Read step and loss of the last evaluation from metrics.jsonl in @p dir. *@p step is -1 when the
 *  file is missing or has no evaluation. WSC_IO, WSC_NOMEM. */
enum wsc_err job_last_evaluation(const char *dir, int64_t *step, double *loss) WSC_CHECKED;
/** Parameters of one module of a model. */
struct job_module {
    const char *name; /**< static */
    /** Parameters, tied ones counted once. */
    int64_t n_params;
};
/** Embedding, attention, router, feed-forward, norms of blocks, final norm and head. */
enum { JOB_MODULES = 7 };
/** Sparse tensors of one kind, for example the query matrix of all blocks, or one matrix of all
 *  experts. */
struct job_sparse {
    char name[128];     /**< with `*` for the numbers of blocks and experts */
    int entry;          /**< index in model->sparsity */
    int64_t n_tensors;  /**< number of tensors of this kind */
    int64_t n_elems;    /**< elements of one such tensor */
    int64_t kept_first; /**< non-zeros of one tensor, before the first update */
    int64_t kept_last;  /**< non-zeros of one tensor, after the last step of the params */
};
/** Description of a job before it runs: sizes of the model and, with a plan, the mapping to the
 *  machine. report_job_print() prints it. Free it with job_description_fini(). */
struct job_description {
    const struct zoo_params *params; /**< borrowed */
    const struct model *model;       /**< borrowed from one of the next two */
    struct model *own_model;         /**< owned; NULL with a plan */
    struct cluster *cluster;         /**< owned; NULL without a plan */
    struct comm *comm;               /**< owned; NULL without a plan */
    char *family;                    /**< name of the model's family as YAML text; owned */
    struct job_module module[JOB_MODULES];
    struct job_sparse *sparse; /**< owned, n_sparse: the sparse tensors by kind; NULL: none */
    int n_sparse;
    /** With a plan: the plan is for evaluation, because the mode only evaluates. */
    bool evaluates;
    struct cycles_plan plan; /**< with a plan: mapping of a micro-batch to a wafer */
    /** With a plan: division of the global batch. */
    struct stream_batch batch;
};
/** Refuse what the params of @p job ask for and this program cannot do, and warn of what has no
 *  effect in such a job; not collective. job_run() does it first. WSC_CONFIG or WSC_USAGE with the
 *  option that helps. */
enum wsc_err job_check(const struct job *job);
/** Describe @p job; not collective. @p with_plan: also plan it for the machine; WSC_CAPACITY when
 *  the model does not fit. Without, a job with values opens its data, and what a run would refuse
 *  in them is a warning. Call job_description_fini() on @p out, also after an error. */
enum wsc_err job_describe(struct job_description *out, const struct job *job,
                          bool with_plan) WSC_CHECKED;
/** Free what @p d owns; a zeroed one is allowed. */
void job_description_fini(struct job_description *d);
/** Print rank and host of every role on stdout (`--print_placement`). */
enum wsc_err job_print_placement(const struct job *job, const struct comm *comm) WSC_CHECKED;
#endif
