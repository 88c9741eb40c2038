/** A job: what `wsc run` does around the emulated cluster.
 *
 *  Steps, log lines, metrics, checkpoints, evaluation, generation, stops and restarts; the files
 *  that it leaves in model_dir are described in docs/FILES.md.  The machine itself is
 *  <wsc/cluster.h>.  All functions but job_describe() and job_print_placement() are collective over
 *  the ranks of the job.
 *
 *      struct job job = {.params = &params, .cluster = &machine, .numerics = KERNELS_HOST,
 *                        .values = true, .command = command};
 *      TRY(comm_create(&comm, true));
 *      enum wsc_err rc = job_run(comm, &job, &report);
 *      if (rc && report) fprintf(stderr, "%s\n", wsc_err_message());
 *      comm_destroy(&comm);
 *
 *  A run that is cut anywhere and resumed has the losses, weights and virtual times of one that was
 *  not.  Read next: src/job/job.c, then job_checkpoint.c and job_stop.c; docs/RUNNING.md. */
#ifndef WSC_JOB_H
#define WSC_JOB_H
#include <wsc/cluster.h>

#include <stdbool.h>
#include <stdint.h>

/** Steps of a job whose virtual time is recorded: of a training its steps, of an evaluation its
 *  batches, of a generation its tokens. */
struct job_recording {
    int64_t first_step; /**< finished steps before the first one; -1: the third one of the run,
                           which all later ones equal, or the last one when there are fewer; the run
                             replaces it by the step */
    /** Steps to record, at least 1. */
    int64_t n_steps;
    /** Rank 0 gets the record of one step or several, which it may use until it returns: the step
     *  before the first one, when the run has it, and then those that were asked for. */
    enum wsc_err (*take)(void *ctx, const struct cluster_record *record);
    /** First argument of `take`. */
    void *ctx;
    int64_t next_step; /**< kept by the run: the next one that is to be recorded */
};
/** What `wsc run` was asked for; all borrowed for the run.  Equal on all ranks, which job_run()
 *  checks for what it can. */
struct job {
    /** The effective params; runconfig.mode decides what the run does. */
    const struct zoo_params *params;
    struct job_recording *recording; /**< NULL: no virtual time is recorded */
    /** The emulated machine. */
    const struct hw_machine *cluster;
    /** Where values are computed: KERNELS_NONE keeps time alone. */
    enum kernels_numerics numerics;
    bool values; /**< numerics is not KERNELS_NONE */
    /** File for the mean gradients of the first step (HDF5), or NULL. */
    const char *dump_gradients;
    /** NULL, or a name that a run shares with its restarts: one that finds checkpoints of this name
     *  in model_dir resumes from the newest and continues to the step at which the first was to
     *  end. */
    const char *run_id;
    const char *const *prompt; /**< texts to continue, or lists of token ids */
    /** Entries of `prompt`; of mode GENERATE. */
    int n_prompts;
    /** The prompts are lists of token ids and not texts. */
    bool prompts_are_ids;
    const char *tokenizer, *vocab, *merges; /**< as data_tokenizer_open() takes them; NULL:
                                                 bytes */
    /** Tokens that a text is continued by, at most. */
    int64_t max_new_tokens;
    double temperature, top_p; /**< as struct wafer_prompts has them, and the next two */
    int64_t top_k, eos_id;
    int64_t n_beams;       /**< texts of a prompt in beam search; 0 and 1: no search */
    double length_penalty; /**< as struct wafer_prompts has it, and the next one */
    bool early_stopping;
    /** JSON Lines of an evaluation harness whose log-likelihoods to compute (mode EVAL), or NULL.
     */
    const char *requests;
    bool json; /**< performance.json on stdout too */
    /** Print which role lives on which rank, before the first step. */
    bool print_placement;
    const char *command; /**< the command line, for provenance */
    /** Name of the progress of a run that is part of a larger work; NULL: by its mode. */
    const char *title;
};
/** Check that all ranks run the same version with the same command line.  WSC_CONFIG names the
 *  first rank that does not, and the word that differs.  To be called before anything else that
 *  depends on the command line, which later steps take to be equal.  Collective; *@p report as of
 *  comm_agree(). */
enum wsc_err job_compare_commands(struct comm *comm, int argc, char **argv,
                                  bool *report) WSC_CHECKED;
/** Run it: set up, train or evaluate or generate, write what is due.  Collective over the job;
 *  blocks until it has ended.  Errors before the first pass are agreed on by all ranks (*@p report:
 *  this rank should print its message), and so is WSC_INTERRUPTED; later ones end the job with
 *  comm_abort() after printing, when there are several ranks. */
enum wsc_err job_run(struct comm *comm, const struct job *job, bool *report) WSC_CHECKED;
/** Step and loss of the last evaluation that the metrics.jsonl of @p dir has; step -1 where there
 * is none, or no file.  WSC_IO, WSC_NOMEM. */
enum wsc_err job_last_evaluation(const char *dir, int64_t *step, double *loss) WSC_CHECKED;
/** Parameters of one module of a model. */
struct job_module {
    const char *name; /**< static */
    /** Parameters, tied ones counted once. */
    int64_t n_params;
};
/** Embedding, attention, router, feed-forward, norms of blocks, final norm and head. */
enum { JOB_MODULES = 7 };
/** Sparse tensors of one kind: the same matrix of all blocks and experts. */
struct job_sparse {
    char name[128];     /**< with `*` for the numbers of blocks and experts */
    int entry;          /**< of model->sparsity */
    int64_t n_tensors;  /**< of this kind */
    int64_t n_elems;    /**< of one of them */
    int64_t kept_first; /**< of one of them, before the first update */
    int64_t kept_last;  /**< of one of them, after the last step of the params */
};
/** What a job comes to before it runs; job_description_fini() it.  report_job_print() prints it. */
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
    bool evaluates;          /**< with a plan: it is that of an evaluation, the mode's only work */
    struct cycles_plan plan; /**< with a plan: how a micro-batch lies on a wafer */
    /** With a plan: how the global batch is cut. */
    struct stream_batch batch;
};
/** Describe @p job in this process alone; with a plan also the machine, which the model must fit
 *  (WSC_CAPACITY).  job_description_fini() @p out also after an error. */
enum wsc_err job_describe(struct job_description *out, const struct job *job,
                          bool with_plan) WSC_CHECKED;
/** Free what @p d owns; a zeroed one is allowed. */
void job_description_fini(struct job_description *d);
/** `--print_placement`: which role lives on which rank of @p comm and on which host, on stdout. */
enum wsc_err job_print_placement(const struct job *job, const struct comm *comm) WSC_CHECKED;
#endif
