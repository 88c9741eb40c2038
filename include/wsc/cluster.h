/** The emulated cluster: roles on the ranks of a job, passes, faults.
 *
 *  A struct cluster holds the model, the machine and the roles of this rank.  cluster_run_pass()
 *  runs one pass (training steps, an evaluation, a step of generation) on all local roles; between
 *  passes faults change the machine.  The files and steps around it are <wsc/job.h>; sweeps without
 *  values are <wsc/scaling.h>.
 *
 *      TRY(cluster_create(&c, comm, params, machine, values, &hooks));
 *      TRY(cluster_faults_plan(c, n_steps, -1));
 *      TRY(cluster_faults_enter(c, 0, &change));
 *      TRY(cluster_plan_batch(c, &params->train_input, true, &plan, &batch));
 *      struct stream_pass pass = {.mode = STREAM_TRAIN, .n_steps = n_steps, .batch = batch};
 *      struct wafer_work work = {.plan = &plan, .seed = cluster_seed(params)};
 *      TRY(cluster_run_pass(c, &pass, &work));
 *      cluster_destroy(&c);
 *
 *  Results come through the hooks, on the rank of shard 0.  Everything is equal on all ranks but
 *  the roles: values are bit-identical for any number of systems, ranks and threads, virtual time
 *  for any ranks and hosts, with and without values. */
#ifndef WSC_CLUSTER_H
#define WSC_CLUSTER_H
#include <wsc/comm.h>
#include <wsc/cycles.h>
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/kernels.h>
#include <wsc/memoryx.h>
#include <wsc/model.h>
#include <wsc/stream.h>
#include <wsc/swarmx.h>
#include <wsc/wafer.h>
#include <wsc/zoo.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- the machine ----------------------------------------------------------------------------- */

/** An emulated cluster as one rank sees it: the model, the machine, and the roles of this rank.
 *  Read by job, scaling and timeline; written by this module alone. */
struct cluster {
    /** Borrowed; the links of the roles belong to it. */
    struct comm *comm;
    struct hw_machine effective; /**< the machine without what its `effects` switch off */
    /** View of `effective` with the faults of the present step. */
    struct hw hw;
    const struct zoo_params *params; /**< borrowed */
    struct model *model;             /**< owned */
    /** Owned; the tree of the whole machine, before anything is lost. */
    struct stream_topology *machine;
    struct stream_net *net;       /**< owned; its topology is of what is left */
    struct hw_faults *faults;     /**< owned */
    struct memoryx **memoryx;     /**< owned, one per shard; NULL where not local */
    struct swarmx **swarmx;       /**< owned, one per SwarmX node; NULL where not local */
    struct wafer **wafer;         /**< owned, one per wafer; NULL where not local */
    int n_workers;                /**< threads that run the roles; 1 with values or several ranks */
    struct wafer_prices **prices; /**< owned, n_workers: of the wafers of each */
    /** True: weights and gradients travel; false: sizes and times alone. */
    bool values;
    /** Hooks of the caller of cluster_create(), called through those of cluster_record.h. */
    struct memoryx_hooks hooks;
    struct cluster_record *record; /**< borrowed, of the recorded pass in progress; NULL: none */
};
/** Number of MemoryX shards: the cluster file's, or runconfig.num_wgt_servers when smaller; NULL @p
 *  params take the former. */
int cluster_n_shards(const struct zoo_params *params, const struct hw_machine *cluster);
/** The seed of a job (runconfig.seed; 0 when there is none): weights, generated tokens, jitter,
 *  faults. */
uint64_t cluster_seed(const struct zoo_params *params);
/** Compute the roles of a job with @p num_csx systems, which is the number of ranks for one role
 *  per rank; @p params may be NULL.  WSC_CONFIG when num_csx is not in 1 .. 4096. */
enum wsc_err cluster_n_roles(const struct zoo_params *params, const struct hw_machine *cluster,
                             int64_t num_csx, int64_t *n_roles) WSC_CHECKED;
/** Check that the installation has as many systems as the params use: WSC_CAPACITY otherwise.  A
 *  machine with `systems: 0` has any number. */
enum wsc_err cluster_check_systems(const struct zoo_params *params,
                                   const struct hw_machine *cluster) WSC_CHECKED;
/** Build the cluster for @p params on the machine @p cluster (both borrowed for its life); weights
 *  are zero.  WSC_CAPACITY when the machine has too few systems or too little MemoryX, WSC_NOMEM
 *  when this host has too little memory for the values, WSC_CONFIG when features of the model do
 *  not go together; *@p out is NULL then.  Collective over @p comm; @p hooks are copied. */
enum wsc_err cluster_create(struct cluster **out, struct comm *comm,
                            const struct zoo_params *params, const struct hw_machine *cluster,
                            bool values, const struct memoryx_hooks *hooks) WSC_CHECKED;
/** Whether a cluster without values of @p num_csx systems runs on several threads by itself, where
 *  its process has them. */
bool cluster_has_workers(int64_t num_csx);
/** The cluster of cluster_create() without its roles, which take the memory of weights: enough for
 *  plans, and to see which roles are on this rank.  Errors and the rest as of cluster_create(). */
enum wsc_err cluster_create_empty(struct cluster **out, struct comm *comm,
                                  const struct zoo_params *params, const struct hw_machine *cluster,
                                  bool values, const struct memoryx_hooks *hooks) WSC_CHECKED;
/** Create the roles of this rank in a cluster of cluster_create_empty(), before the first pass.
 *  Not collective.  WSC_NOMEM. */
enum wsc_err cluster_create_roles(struct cluster *c) WSC_CHECKED;
/** Release everything and null the pointer; NULL inside allowed.  Not collective; not during a
 *  pass. */
void cluster_destroy(struct cluster **cluster);
/** Plan a wafer's work for the global batch of @p input, and cut the batch into micro-shards,
 *  wafers and micro-batches.  @p training: activations are kept for the backward pass.
 *  WSC_CAPACITY when one sequence does not fit.  Not collective: a function of machine, model and
 *  batch, so all ranks get the same. */
enum wsc_err cluster_plan_batch(const struct cluster *c, const struct zoo_input *input,
                                bool training, struct cycles_plan *plan,
                                struct stream_batch *batch) WSC_CHECKED;
/** The plan for the global batch of @p input on one wafer, with as many lanes as are fastest: it
 *  does not depend on the number of wafers. */
enum wsc_err cluster_plan_whole(const struct cluster *c, const struct zoo_input *input,
                                bool training, struct cycles_plan *plan) WSC_CHECKED;
/** Give every sparse tensor its mask, unless a checkpoint brought it, and zero the weights outside;
 *  nothing without values or sparse tensors.  After weights are initialised or loaded, before the
 *  next pass; every rank calls it.  Takes no virtual time. */
enum wsc_err cluster_make_masks(struct cluster *c) WSC_CHECKED;
/** Run one pass (training steps, evaluation batches, or a generation) on all local roles; returns
 *  when they are done, with the first error of a role of this rank.  Virtual time continues from
 *  the pass before.  Every rank calls it with an equal @p pass; it returns when the roles of this
 *  rank have ended, so a slow rank may still work. */
enum wsc_err cluster_run_pass(struct cluster *c, const struct stream_pass *pass,
                              const struct wafer_work *work) WSC_CHECKED;

/* ---- constants without effect ---------------------------------------------------------------- */

/** What a machine is used for. */
enum cluster_use_kind {
    CLUSTER_USE_RUN,      /**< one job: steps, evaluations, checkpoints */
    CLUSTER_USE_SWEEP,    /**< steady steps on several numbers of systems */
    CLUSTER_USE_TRAININGS /**< a sweep, and whole trainings with checkpoints and failures */
};
/** A model on a machine, for the question which constants matter. */
struct cluster_use {
    enum cluster_use_kind kind;
    const struct zoo_params *params;  /**< borrowed */
    const struct hw_machine *machine; /**< borrowed; as the file and the command line say */
    int64_t num_csx;                  /**< systems, of a sweep the largest number */
};
/** Why nothing in @p use depends on the constant @p path (without `cluster.`); static text.  NULL:
 *  something reads it, which does not mean that it limits anything. */
const char *cluster_idle_why(const struct cluster_use *use, const char *path);
/** Add a warning to @p to->warning for every constant that the command line sets and that has no
 *  effect in @p use, for servers that the params ask for in vain, and for patterns of `sparsity`
 *  that no tensor has.  @p to: use->params. */
enum wsc_err cluster_warn_idle(const struct cluster_use *use, struct zoo_params *to) WSC_CHECKED;

/* ---- recorded passes ------------------------------------------------------------------------- */

/** The virtual time of some steps of a pass, on rank 0; other ranks have no events. */
struct cluster_record {
    /** Mode of the pass. */
    enum stream_mode mode;
    int64_t first_step, n_steps;    /**< steps that are recorded */
    int64_t updates;                /**< of the weights, before the first recorded step */
    int64_t n_micro;                /**< micro-batches of a step */
    int n_wafers, n_nodes;          /**< of the machine that was left */
    const struct hw *hw;            /**< borrowed: faults as they were in these steps */
    const struct cycles_plan *plan; /**< borrowed */
    struct memoryx_batch *batch;    /**< owned, n_steps: what shard 0 reported of each */
    struct vtime_recorder *program; /**< owned, n_programs: events of all roles */
    /** Length of `program`: two for each role; 0 on other ranks. */
    int n_programs;
};
/** cluster_run_pass() that records steps [@p first_step, @p first_step + @p n_steps) of the pass.
 *  Collective; @p out is the caller's, also on ranks where it has no events. Values and times are
 *  those of cluster_run_pass(), to the bit. */
enum wsc_err cluster_run_recorded(struct cluster *c, const struct stream_pass *pass,
                                  const struct wafer_work *work, int64_t first_step,
                                  int64_t n_steps, struct cluster_record *out) WSC_CHECKED;
/** Free what a record keeps. */
void cluster_record_fini(struct cluster_record *r);

/* ---- faults ---------------------------------------------------------------------------------- */

/** Compute the events of the faults of the cluster file in a training of @p last_step steps; errors
 *  as hw_faults_create() has them, and a tree that cannot be formed again.  @p without: leave out
 *  this fault of the list, -1: none.  Until this is called there are none.  Not collective: every
 *  rank samples the same events. */
enum wsc_err cluster_faults_plan(struct cluster *c, int64_t last_step, int without) WSC_CHECKED;
/** What a step that begins finds; filled by cluster_faults_enter(). */
struct cluster_change {
    bool replan;      /**< other wafers than before: batches have to be planned again */
    bool memory_lost; /**< a shard's: go back to the newest checkpoint */
    /** Time, ps, that passes before the step begins, in which nothing else happens. */
    int64_t recovery_ps;
};
/** Between passes: bring the machine to the state of step @p step (finished steps before).  The
 *  SwarmX tree is formed again without what is lost, links and wafers get their rates.  When the
 *  machine recovers, the shards wait; after a loss of memory that is left to
 *  cluster_faults_restored().  Collective (stream_net_form()) when the tree changes; every rank
 *  calls it at the same step. */
enum wsc_err cluster_faults_enter(struct cluster *c, int64_t step,
                                  struct cluster_change *change) WSC_CHECKED;
/** The shards have the state of a checkpoint again: the next batch begins @p recovery_ps after
 *  @p lost, the time when memory was lost. */
void cluster_faults_restored(struct cluster *c, struct vtime lost, int64_t recovery_ps);
/** The step of the newest checkpoint when @p step steps are finished, of a run that began at @p
 *  first_step, by runconfig.checkpoint_steps; -1: there is none. */
int64_t cluster_checkpoint_before(const struct zoo_runconfig *rc, int64_t first_step, int64_t step);

/** A training without values, from its first step on: the time that it takes with its faults. */
struct cluster_dry_run {
    int64_t first_step, last_step; /**< what to walk */
    int without;                   /**< as in cluster_faults_plan() */
    int64_t time_ps;               /**< result: from the start to the end of the last step */
    int64_t recovery_ps;           /**< of it, recovery from faults */
    int64_t repeated_steps;        /**< result: done again after a loss of memory */
};
/** Make the dry run @p r in this process alone: all roles, no values. The time is that of the job
 *  with values on any number of ranks.  Errors as those of cluster_create() and
 *  cluster_faults_plan(). */
enum wsc_err cluster_walk(const struct zoo_params *params, const struct hw_machine *cluster,
                          struct cluster_dry_run *r) WSC_CHECKED;

/* ---- results --------------------------------------------------------------------------------- */

/** Rates of the emulated machine and energy over an interval of virtual time. */
struct cluster_rates {
    /** Samples and tokens per second; mfu: useful FLOPs (model_useful_flop_per_token()) over
     * wafer.peak of all systems, 0 to 1; joules_per_token: power of the whole cluster over tokens
     * per second.
     */
    double samples_per_s, tokens_per_s, mfu, joules_per_token;
};
/** Rates for @p samples samples in @p time_ps on @p n_csx systems, with the weights that are kept
 *  after @p updates updates; all 0 when @p time_ps is not
 *  above 0. */
struct cluster_rates cluster_rates_of(const struct hw *hw, const struct model *model, int64_t n_csx,
                                      int64_t samples, int64_t time_ps, int64_t updates);
#endif
