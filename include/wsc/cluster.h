/** The emulated cluster: roles on the ranks of a job, passes, faults.
 *
 *  A struct cluster holds the model, the machine and the roles of this rank. cluster_run_pass()
 *  runs one pass (training steps, an evaluation, a step of generation) on all local roles. Between
 *  passes, faults may change the machine. <wsc/job.h> adds files, log and restarts; <wsc/scaling.h>
 *  runs sweeps without values.
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
 *  Results are passed to the hooks, on the rank of shard 0. All fields except the roles are equal
 *  on all ranks. Values are bit-identical for any number of systems, ranks and threads. Virtual
 *  time is equal for any number of ranks and hosts, with and without values. */
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

/** An emulated cluster as one rank sees it: the model, the machine, and the roles of this rank. The
 *  modules job, scaling and timeline read it; only cluster writes it. */
struct cluster {
    /** Borrowed; the links of the roles belong to it. */
    struct comm *comm;
    /** The machine without the mechanisms that `effects` switches off. */
    struct hw_machine effective;
    /** View of `effective` with the faults of the current step. */
    struct hw hw;
    const struct zoo_params *params; /**< borrowed */
    struct model *model;             /**< owned */
    /** Owned; the tree of the whole machine, with lost parts included. */
    struct stream_topology *machine;
    struct stream_net *net;       /**< owned; its topology has only the parts that are not lost */
    struct hw_faults *faults;     /**< owned */
    struct memoryx **memoryx;     /**< owned, one per shard; NULL where not local */
    struct swarmx **swarmx;       /**< owned, one per SwarmX node; NULL where not local */
    struct wafer **wafer;         /**< owned, one per wafer; NULL where not local */
    int n_workers;                /**< threads that run the roles; 1 with values or several ranks */
    struct wafer_prices **prices; /**< owned, n_workers: one cache of stage costs per thread */
    /** True: messages carry weights and gradients; false: sizes and times only. */
    bool values;
    /** Hooks given to cluster_create(); the hooks of cluster_record.h call them. */
    struct memoryx_hooks hooks;
    /** Borrowed, record of the pass in progress; NULL: not recorded. */
    struct cluster_record *record;
};
/** Number of MemoryX shards: that of the machine file, or runconfig.num_wgt_servers when that is
 *  smaller. With @p params NULL it is that of the machine file. */
int cluster_n_shards(const struct zoo_params *params, const struct hw_machine *cluster);
/** The seed of a job: runconfig.seed, or 0 when there is none. It determines initial weights,
 *  generated tokens, jitter and faults. */
uint64_t cluster_seed(const struct zoo_params *params);
/** Compute the number of roles of a job with @p num_csx systems. A job with this number of ranks
 *  has one role per rank. @p params may be NULL. WSC_CONFIG when num_csx is not in 1 .. 4096. */
enum wsc_err cluster_n_roles(const struct zoo_params *params, const struct hw_machine *cluster,
                             int64_t num_csx, int64_t *n_roles) WSC_CHECKED;
/** Check that the installation has as many systems as the params use: WSC_CAPACITY otherwise.  A
 *  machine with `systems: 0` has any number. */
enum wsc_err cluster_check_systems(const struct zoo_params *params,
                                   const struct hw_machine *cluster) WSC_CHECKED;
/** Build the cluster for @p params on the machine @p cluster (both borrowed for its life); weights
 *  are zero. WSC_CAPACITY when the machine has too few systems or too little MemoryX, WSC_NOMEM
 *  when this host has too little memory for the values, WSC_CONFIG when features of the model
 *  exclude each other; *@p out is NULL then. Collective over @p comm; @p hooks are copied. */
enum wsc_err cluster_create(struct cluster **out, struct comm *comm,
                            const struct zoo_params *params, const struct hw_machine *cluster,
                            bool values, const struct memoryx_hooks *hooks) WSC_CHECKED;
/** True when a cluster of @p num_csx systems without values uses several threads, if the process
 *  has them. */
bool cluster_has_workers(int64_t num_csx);
/** Build a cluster without its roles, which need memory for weights. It is enough to plan a batch
 *  and to see which roles are on this rank. Arguments and errors are those of cluster_create(). */
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
/** Plan the global batch of @p input on one wafer, with the fastest number of lanes. The plan does
 *  not depend on the number of wafers. */
enum wsc_err cluster_plan_whole(const struct cluster *c, const struct zoo_input *input,
                                bool training, struct cycles_plan *plan) WSC_CHECKED;
/** Create the mask of every sparse tensor and set the weights outside it to zero. A mask that was
 *  loaded from a checkpoint is kept. Does nothing without values or without sparse tensors. Every
 *  rank calls it after weights are initialised or loaded and before the next pass. It takes no
 *  virtual time. */
enum wsc_err cluster_make_masks(struct cluster *c) WSC_CHECKED;
/** Run one pass (training steps, evaluation batches, or a generation) on all local roles. Virtual
 *  time continues from the previous pass. Every rank calls it with an equal @p pass. It returns
 *  when the roles of this rank have ended, while slower ranks may still work. The result is the
 *  first error of a role of this rank. */
enum wsc_err cluster_run_pass(struct cluster *c, const struct stream_pass *pass,
                              const struct wafer_work *work) WSC_CHECKED;

/* ---- constants without effect ---------------------------------------------------------------- */

/** Kind of work for which a machine is used. */
enum cluster_use_kind {
    CLUSTER_USE_RUN,      /**< one job: steps, evaluations, checkpoints */
    CLUSTER_USE_SWEEP,    /**< steady steps on several numbers of systems */
    CLUSTER_USE_VALUES,   /**< rates of steady steps over values of a constant */
    CLUSTER_USE_TRAININGS /**< a sweep and complete trainings with checkpoints and failures */
};
/** A model on a machine: the input of the functions that report constants without effect. */
struct cluster_use {
    enum cluster_use_kind kind;
    const struct zoo_params *params; /**< borrowed */
    /** Borrowed; the machine file with the changes of the command line. */
    const struct hw_machine *machine;
    int64_t num_csx; /**< number of systems; the largest number of a sweep */
    bool on_mesh;    /**< kernels are simulated on the mesh */
    bool explores;   /**< a training with micro_batch_size explore compares sizes, and only that */
};
/** Explain why nothing in @p use depends on the constant @p path (written without `cluster.`). The
 *  text is static. NULL: some computation reads the constant, although it need not limit the speed.
 */
const char *cluster_idle_why(const struct cluster_use *use, const char *path);
/** Add warnings to @p to->warning (@p to is use->params). There is one for every constant that the
 *  command line sets and that has no effect in @p use, for servers that the params request without
 *  effect, for micro_batch_size explore where the planner chooses, and for patterns of `sparsity`
 *  that match no tensor. */
enum wsc_err cluster_warn_idle(const struct cluster_use *use, struct zoo_params *to) WSC_CHECKED;

/* ---- recorded passes ------------------------------------------------------------------------- */

/** The virtual time of some steps of a pass, on rank 0; other ranks have no events. */
struct cluster_record {
    /** Mode of the pass. */
    enum stream_mode mode;
    int64_t first_step, n_steps;    /**< steps that are recorded */
    int64_t updates;                /**< updates of the weights before the first recorded step */
    int64_t n_micro;                /**< micro-batches of a step */
    int n_wafers, n_nodes;          /**< without lost ones */
    const struct hw *hw;            /**< borrowed: faults as they were in these steps */
    const struct cycles_plan *plan; /**< borrowed */
    struct memoryx_batch *batch;    /**< owned, n_steps: results of each step from shard 0 */
    struct vtime_recorder *program; /**< owned, n_programs: events of all roles */
    /** Length of `program`: two for each role; 0 on other ranks. */
    int n_programs;
};
/** Run a pass as cluster_run_pass() does and record its steps [@p first_step, @p first_step + @p
 *  n_steps). Collective. The caller owns @p out, also on ranks where it has no events. Values and
 *  times are those of cluster_run_pass(), to the bit. */
enum wsc_err cluster_run_recorded(struct cluster *c, const struct stream_pass *pass,
                                  const struct wafer_work *work, int64_t first_step,
                                  int64_t n_steps, struct cluster_record *out) WSC_CHECKED;
/** Free the arrays of a record. */
void cluster_record_fini(struct cluster_record *r);

/* ---- faults ---------------------------------------------------------------------------------- */

/** Compute the events of the machine file's faults in a training of @p last_step steps. There are
 *  no faults until this is called. @p without: index of one fault to leave out, -1: none. Errors:
 *  those of hw_faults_create(), and a tree that cannot be formed again. Not collective: every rank
 *  samples the same events. */
enum wsc_err cluster_faults_plan(struct cluster *c, int64_t last_step, int without) WSC_CHECKED;
/** Changes of the machine at the beginning of a step; filled by cluster_faults_enter(). */
struct cluster_change {
    bool replan;      /**< the wafers have changed: plan the batches again */
    bool memory_lost; /**< a shard lost its memory: go back to the newest checkpoint */
    /** Time, ps, in which the whole machine pauses before the step begins. */
    int64_t recovery_ps;
};
/** Bring the machine to the state of the step that follows @p step finished steps; called between
 *  passes. The SwarmX tree is formed again without the lost parts, and links and wafers get their
 *  rates. The shards wait for the recovery time; after a loss of memory cluster_faults_restored()
 *  makes them wait. Every rank calls it at the same step, because it is collective
 *  (stream_net_form()) when the tree changes. */
enum wsc_err cluster_faults_enter(struct cluster *c, int64_t step,
                                  struct cluster_change *change) WSC_CHECKED;
/** Virtual times of a loss of memory. */
struct cluster_loss {
    struct vtime at;    /**< of the loss: the end of the step before it */
    struct vtime saved; /**< when the checkpoint is complete that is restored; 0: before `at` */
};
/** The times of a loss after @p step steps that goes back to the checkpoint of @p saved_step, on
 *  the shards of this rank; the latest times of all ranks count. */
struct cluster_loss cluster_faults_lost(const struct cluster *c, int64_t step, int64_t saved_step);
/** Resume after the shards have loaded a checkpoint: the next batch begins @p recovery_ps after the
 *  loss, and its weights are ready @p recovery_ps after the checkpoint too. */
void cluster_faults_restored(struct cluster *c, const struct cluster_loss *lost,
                             int64_t recovery_ps);
/** The step of the newest checkpoint after @p step finished steps, by runconfig.checkpoint_steps,
 *  in a training that began at @p origin_step. -1: there is none. */
int64_t cluster_checkpoint_before(const struct zoo_runconfig *rc, int64_t origin_step,
                                  int64_t step);

/** The evaluations of a training. */
struct cluster_evaluations {
    int64_t every;     /**< steps between two; below 0: only that after the last step; 0: none */
    int64_t last_step; /**< of the training */
    int64_t n_batches; /**< of one evaluation */
};
/** True when an evaluation follows step @p step. */
bool cluster_evaluates_after(const struct cluster_evaluations *evaluations, int64_t step);
/** Dry run of a training: its virtual time with its faults, computed without values. */
struct cluster_dry_run {
    int64_t first_step, last_step; /**< steps of the run */
    int64_t origin_step;           /**< where the training began, of which the run may be a part */
    int64_t reached_step;          /**< hw_faults_reached() of the run before; first_step - 1 */
    /** hw_faults_reached() at the end of the run, which may end while it repeats steps: before
     *  last_step is the end, every loss of memory up to this step has occurred. */
    int64_t end_reached_step;
    int64_t uncounted; /**< as in struct stream_pass */
    int without;       /**< as in cluster_faults_plan() */
    /** Borrowed, of memoryx_read_times(): the clock of the run before; NULL: it starts at 0. */
    const int64_t *start_ps;
    struct cluster_evaluations evaluations;
    /** The run begins with the evaluation after first_step; it ends before that of last_step. */
    bool evaluates_first, stops_before_last;
    int64_t time_ps;        /**< result: time from the start to the end of the run */
    int64_t recovery_ps;    /**< result: part of time_ps for recovery from faults */
    int64_t repeated_steps; /**< result: steps repeated after a loss of memory */
};
/** Make the dry run @p r in this process, with all roles and no values; not collective. Its virtual
 *  time equals that of the job with values on any number of ranks. Errors: those of
 *  cluster_create() and cluster_faults_plan(). */
enum wsc_err cluster_walk(const struct zoo_params *params, const struct hw_machine *cluster,
                          struct cluster_dry_run *r) WSC_CHECKED;

/* ---- results --------------------------------------------------------------------------------- */

/** Rates of the emulated machine and energy over an interval of virtual time. */
struct cluster_rates {
    /** Samples and tokens per second; mfu: useful FLOPs over wafer.peak of all systems, 0 to 1;
     * joules_per_token: power of the whole cluster over tokens per second.
     */
    double samples_per_s, tokens_per_s, mfu, joules_per_token;
};
/** Rates for @p samples samples in @p time_ps on @p n_csx systems, whose tokens have
 *  @p useful_flop_per_token useful FLOPs in the mean (model_useful_flop_per_token()); all 0 when
 *  @p time_ps is not above 0. */
struct cluster_rates cluster_rates_of(const struct hw *hw, const struct model *model, int64_t n_csx,
                                      int64_t samples, int64_t time_ps,
                                      double useful_flop_per_token);
#endif
