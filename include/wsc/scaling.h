/** Scaling: computes the throughput of a model as a function of the number of systems.
 *
 *  Each point is a run of the whole emulated cluster without values, in this process, with the
 *  roles, messages and clocks of a training run. Nothing is fitted or interpolated. A point runs
 *  three steps and measures the third. When jitter, packet loss or masks that change make steps
 *  differ, it runs ten steps and averages eight.
 *
 *      struct scaling_model m = {.name = "gpt3-13b", .params = params};
 *      int64_t counts[] = {1, 4, 16};
 *      struct scaling_sweep s = {.model = &m, .n_models = 1, .num_csx = counts,
 *                                .n_counts = 3, .cluster = machine};
 *      TRY(scaling_run(&s, &rows));
 *
 *  Other functions study what a curve depends on (mechanisms, faults, one constant, all uncertain
 *  constants) and predict whole trainings. Points are deterministic, so a row is equal on any rank;
 *  with sweep.comm the points are divided among its ranks. Read next: <wsc/report.h>, which prints
 *  and draws the results; <wsc/validation.h>, which compares them with published figures. */
#ifndef WSC_SCALING_H
#define WSC_SCALING_H

#include <wsc/comm.h>
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/out.h>
#include <wsc/vtime.h>
#include <wsc/zoo.h>

#include <stdbool.h>
#include <stdint.h>

/** Most sequences of a system that a point may have: every micro-batch of a step is simulated, a
 *  million of them take seconds to minutes by the size of the model. */
enum { SCALING_MOST_SEQUENCES = 1000000 };
/** Most sequences of a global batch, which train_input.batch_size has too: the canonical tree of
 *  sums has at most 2^30 leaves. */
enum { SCALING_MOST_GLOBAL = 1000000000 };

/** One row of scaling.csv: the steady-state step of a model on a number of systems. */
struct scaling_row {
    /** Name in tables; borrowed from the sweep. */
    const char *model;
    /** Parameters; systems; sequences of the global batch; largest micro-batch of a system,
     *  sequences. */
    int64_t params, num_csx, global_batch, micro_batch;
    int64_t n_reference; /**< parameters of the reference model, which a checkpoint has besides */
    /** Rates of the whole machine. speedup is relative to the rate per system at the model's
     *  smallest number of systems; efficiency = speedup / num_csx, 1 is ideal. */
    double tokens_per_s, samples_per_s, speedup, efficiency;
    /** Virtual time of a step, ps; its parts, which add up to it, in `breakdown`. Both are means
     *  over n_steps steps, the first one after first_step updates. */
    int64_t step_time_ps;
    struct vtime_breakdown breakdown;
    int64_t first_step;
    int n_steps;
    /** Useful FLOPs over wafer.peak, 0 to 1; energy of the whole cluster per token, J. */
    double mfu, joules_per_token;
    double flop_per_token;        /**< training, matrix products alone: model_flop_per_token() */
    double useful_flop_per_token; /**< FLOPs of non-zero weights among them */
    double
        flop_per_token_hoffmann; /**< counted as in publications: model_flop_per_token_hoffmann() */
    /** Reason why the row has no figures (scaling_sweep.leaves_out); "" when it has figures. */
    char left_out[512];
};
/** The rows of a sweep on one variant of the machine; made by scaling_effects(), scaling_faults()
 *  and scaling_vary(). */
struct scaling_variant {
    char name[160];          /**< "all", "without jitter", "1 us"; different for each variant */
    double value;            /**< value of the varied constant, base units; otherwise 0 */
    struct scaling_row *row; /**< owned; n_models x n_counts, models first */
    char exact[48];          /**< value with all its digits and its unit; "": it is the name */
};
/** One uncertain constant and its effect on a curve. */
struct scaling_constant {
    const char *key, *kind; /**< static */
    /** The value, and the ends of its range, with units, to four digits. */
    char value[48], low[48], high[48];
    /** tokens/s with the constant at the low and at the high end of its range, relative to the
     *  curve, by number of systems; NaN when the model does not fit. Owned. */
    double *at_low, *at_high;
    /** The value and the ends of its range with all their digits. */
    struct {
        char value[48], low[48], high[48];
    } exact;
};
/** The uncertainty band of a curve and the effect of each uncertain constant. */
struct scaling_sensitivity {
    const char *model;     /**< borrowed */
    int64_t *num_csx;      /**< owned, n_counts */
    double *below, *above; /**< owned, n_counts: the band, relative to the curve: 0.9, 1.1 */
    double *tokens_per_s;  /**< owned, n_counts: the curve */
    int n_counts;
    struct scaling_constant *constant; /**< owned, largest effect at the last count first */
    /** Length of `constant`. */
    int n;
};
/** Prediction of a whole training on one number of systems; from scaling_training_at(). */
struct scaling_training {
    const char *model; /**< borrowed */
    /** Parameters, and systems. */
    int64_t params, num_csx;
    /** Tokens of the training; its virtual time, s; energy of the cluster, J. */
    double tokens, seconds, joules;
    double flop;          /**< matrix products alone: model_flop_per_token() */
    double flop_useful;   /**< FLOPs of non-zero weights among them */
    double flop_hoffmann; /**< counted as in publications: model_flop_per_token_hoffmann() */
    /** NaN with sparse or frozen weights, preference optimization and models that do not learn the
     *  next token, of which the law has none, and outside 10 to 40 tokens per parameter; else
     * expected test loss on the Pile for flop_hoffmann, nats per token: (flop / 5.984e22)^-0.0737 +
     * 0.5066 (Dey et al. 2023, arXiv 2304.03208, section 3.1; a fit to 111M .. 6.7B at 20 tokens
     * per parameter). */
    double loss;
    double checkpoint_s; /**< part of `seconds`: writing checkpoints */
    double restart_s;    /**< part of `seconds`: restarts after failures and repeated work */
    double eval_s;       /**< part of `seconds`: evaluations between the steps */
};

/** Size of the name of a model with its NUL, in tables and in files of published points. */
enum { SCALING_NAME_BYTES = 128 };
/** Name the models of the @p n params files @p path: the base name without its extension, after as
 *  many of its folders as tell it apart from the others, such as `r1/params` and `r2/params`.
 *  WSC_USAGE: two files differ in their extensions alone, or not at all; a name does not fit. */
enum wsc_err scaling_name_models(const char *const *path, int n,
                                 char (*name)[SCALING_NAME_BYTES]) WSC_CHECKED;
/** A model of a sweep. */
struct scaling_model {
    const char *name;                /**< in tables; borrowed */
    const struct zoo_params *params; /**< borrowed */
};
/** A sweep: every model on every number of systems. All pointers are borrowed during the calls. */
struct scaling_sweep {
    /** Models, n_models of them. */
    const struct scaling_model *model;
    int n_models;
    /** Numbers of systems, n_counts, each 1 .. 4096. */
    const int64_t *num_csx;
    int n_counts;
    /** Strong scaling: the global batch is constant; false: it grows with N. */
    bool strong;
    int64_t batch_per_csx; /**< weak scaling; 0: batch_size / num_csx of the params */
    /** Global batch of every point, for both kinds of scaling; 0: by `strong`. */
    int64_t global_batch;
    /** True: a point that does not fit the machine has the reason in its row, and the sweep
     *  continues. False: such a point ends the sweep. */
    bool leaves_out;
    /** The machine, with its effects and faults. */
    const struct hw_machine *cluster;
    /** Called before each point of this rank, and by studies before each of their items; may be
     *  NULL. @p part names the part of the work, @p what the item (may be NULL); @p done of @p
     *  total items are done. */
    void (*progress)(void *ctx, const char *part, int done, int total, const char *what);
    void *progress_ctx;
    /** The points are divided among the ranks of this job, which all make equal calls; NULL: this
     *  process computes all points. */
    struct comm *comm;
};
/** Independent computations whose results have a fixed size. */
struct scaling_items {
    void *item;    /**< n of them; borrowed */
    int64_t bytes; /**< of each */
    int n;
    /** Computes item @p i into @p item, on several threads at a time; errors must depend on @p i
     *  alone. */
    enum wsc_err (*compute)(void *ctx, int i, void *item);
    /** True when item @p i uses threads of its own and must be computed alone; NULL: never. */
    bool (*alone)(void *ctx, int i);
    /** Called before each item @p i of this rank, by one thread at a time; @p done estimates the
     *  finished items of all ranks. NULL: never. */
    void (*progress)(void *ctx, int done, int i);
    void *ctx;
};
/** Compute all items, each on one rank of @p comm (NULL: all in this process), with the threads of
 *  the rank (comm_threads()). Afterwards every rank has all results. Collective. Pointers inside
 *  items are valid only on the rank that computed them. */
enum wsc_err scaling_share(struct comm *comm, const struct scaling_items *items) WSC_CHECKED;

/** Refuse faults that come or go, because a prediction looks at one step that stands for all; the
 *  error says so. */
enum wsc_err scaling_refuse_passing_faults(const struct hw_machine *cluster) WSC_CHECKED;
/** Find the first fault of @p cluster whose wafer or SwarmX node @p num_csx systems (1 .. 4096) do
 *  not have; *@p fault is its index, -1: there is none. WSC_NOMEM. */
enum wsc_err scaling_fault_without_place(const struct hw_machine *cluster, int64_t num_csx,
                                         int *fault) WSC_CHECKED;
/** Refuse params whose mode has no training steps (eval, generate), because sweeps and whole
 *  trainings simulate training steps; the error names the place of the mode. */
enum wsc_err scaling_refuse_other_modes(const struct zoo_params *params) WSC_CHECKED;
/** Simulate every (model, node count); *@p rows has n_models x n_counts entries, models first,
 *  owned by the caller; NULL after an error. speedup and efficiency are against the smallest count
 *  of the model. Every rank returns the error of the first point that failed: WSC_CAPACITY,
 *  WSC_CONFIG, WSC_NOMEM. Collective over sweep->comm when that is not NULL; every rank gets all
 *  rows. */
enum wsc_err scaling_run(const struct scaling_sweep *sweep, struct scaling_row **rows) WSC_CHECKED;
/** Find the first of @p n rows without figures; returns its reason, or NULL when all have figures.
 */
const char *scaling_left_out(const struct scaling_row *row, int n);
/** Points of a sweep, models first. The caller owns the arrays; scaling_drop_left_out() shrinks
 *  them in place. */
struct scaling_points {
    struct scaling_model *model;
    int n_models;
    int64_t *num_csx;
    int n_counts;
    struct scaling_row *row;
    /** Called for each removed point, with the reason. */
    void (*gone)(void *ctx, const struct scaling_row *row, const char *why);
    void *ctx;
};
/** Remove points without figures, so that every remaining model has the same numbers of systems:
 *  first the models without any figures, then the numbers of systems that a remaining model does
 *  not fit. */
void scaling_drop_left_out(struct scaling_points *points);
/** Simulate one point: the steady-state step of @p num_csx systems with @p global_batch sequences,
 *  in this process.  speedup and efficiency stay 0.  Errors as those of scaling_run(). */
enum wsc_err scaling_point(const struct scaling_model *model, const struct hw_machine *cluster,
                           int64_t num_csx, int64_t global_batch,
                           struct scaling_row *row) WSC_CHECKED;
/** Simulate the steady-state batch of an evaluation on @p num_csx systems: forward passes over @p
 *  global_batch sequences, without updates. FLOPs and mfu count the forward pass, a third of a
 *  training step. */
enum wsc_err scaling_evaluation(const struct scaling_model *model, const struct hw_machine *cluster,
                                int64_t num_csx, int64_t global_batch,
                                struct scaling_row *row) WSC_CHECKED;

/** Simulate each micro-batch size that divides the share of a system and is within the bounds of
 *  train_input.micro_batch_size (CONF_EXPLORE). *@p rows, owned by the caller, has *@p n rows. *@p
 *  best is the fastest, the smaller one of equals. Sizes that do not fit are left out; an error
 *  when none fits. */
enum wsc_err scaling_explore(const struct scaling_model *model, const struct hw_machine *cluster,
                             struct scaling_row **rows, int *n, int *best) WSC_CHECKED;

/* ---- what the curve depends on --------------------------------------------------------------- */

/** Run the sweep with all mechanisms of hw_effects, without each one of them, and without all:
 *  seven variants with n_models x n_counts rows each. Free *@p variants with
 *  scaling_variants_free(); it is NULL after an error. Collective like scaling_run(). */
enum wsc_err scaling_effects(const struct scaling_sweep *sweep, struct scaling_variant **variants,
                             int *n) WSC_CHECKED;
/** Run the sweep with all faults of the machine, then without each one: n = faults + 1 variants.
 *  Only faults in the measured steps have an effect. */
enum wsc_err scaling_faults(const struct scaling_sweep *sweep, struct scaling_variant **variants,
                            int *n) WSC_CHECKED;
/** Release variants with their rows. */
void scaling_variants_free(struct scaling_variant **variants, int n);

/** Most values of a swept constant. */
enum { SCALING_MAX_VALUES = 64 };
/** Values of one swept constant of the machine, or of the global batch; from
 *  scaling_values_parse(). */
struct scaling_values {
    struct hw_constant constant;      /**< its path is "global_batch" when that is swept */
    bool global_batch;                /**< values are sequences of all systems together */
    bool sparsity;                    /**< values are fractions of zeros, the first one 0 */
    double value[SCALING_MAX_VALUES]; /**< base units, as given */
    int n;
};
/** Read `sparsity=VALUES` (fractions, a range in equal steps), `global_batch=VALUES` or, as here
 * for a constant, `cluster.KEY=LOW..HIGH`, `cluster.KEY=LOW..HIGH:N` (N values, 9 when not given,
 * evenly on a logarithmic scale) or `cluster.KEY=A,B,C`; units as in a cluster file.  Errors name
 * what is wrong and how to write it.
 */
enum wsc_err scaling_values_parse(struct scaling_values *out, const char *text) WSC_CHECKED;
/** Why a sweep over sparsities replaces the masks of @p entry by static ones: because they would
 * not have the fraction of the sweep in the simulated steps. Static text; NULL: it keeps their
 * updates, which it begins at step 0. */
const char *scaling_static_reason(const struct zoo_sparsity *entry);
/** Run the sweep at each value: one variant each, named by the value. With sweep->leaves_out,
 *  scaling_left_out() finds variants with points that do not fit. WSC_CONFIG when a value is
 *  outside the range of the key. A sparsity applies to the tensors that are sparse in the params,
 *  or to those of the default filter when none is. */
enum wsc_err scaling_vary(const struct scaling_sweep *sweep, const struct scaling_values *values,
                          struct scaling_variant **variants, int *n) WSC_CHECKED;

/** Compute the sensitivity of the curve of model @p model: each uncertain constant moves to the
 *  ends of its range, one at a time. The band assumes independent constants: the squares of the
 *  deviations to one side are added. Differences are taken without jitter, except that of the
 *  jitter itself. Free @p out with scaling_sensitivity_free(). */
enum wsc_err scaling_sensitivity(const struct scaling_sweep *sweep, int model,
                                 struct scaling_sensitivity *out) WSC_CHECKED;
/** Release what scaling_sensitivity() allocated. */
void scaling_sensitivity_free(struct scaling_sensitivity *s);

/* ---- a whole training ------------------------------------------------------------------------ */

/** Read `300B`, `2e9`, `1.5T` (tokens, into *@p tokens) or `20xparams` (tokens per parameter, into
 *  *@p per_param); the other one is 0.  WSC_USAGE with how to write it. */
enum wsc_err scaling_tokens_parse(const char *text, double *tokens, double *per_param) WSC_CHECKED;
/** Expected test loss on the Pile, nats per token, of a GPT trained with @p flop FLOPs, counted as
 *  model_flop_per_token_hoffmann() does, on about 20 tokens per parameter (Dey et al. 2023, arXiv
 *  2304.03208, section 3.1). */
double scaling_published_loss(double flop);
/** That loss for a training on @p tokens_per_param tokens for each parameter; NAN outside 10 to 40,
 * a factor of 2 around the law's 20 (assumed), where the FLOPs alone do not tell the loss. */
double scaling_expected_loss(double flop, double tokens_per_param);
/** Predict a training of @p model at the point @p row of @p cluster, on @p tokens, or on @p
 *  per_param tokens per parameter when that is not 0, with the mean over the schedule of the
 *  sparsity. The time is the expected time with random failures (Daly 2006). Evaluations of mode
 *  train_and_eval are simulated with the global batch of eval_input; eval_steps null counts one
 *  batch, because no data are read. Errors as of scaling_point(). */
enum wsc_err scaling_training_at(const struct scaling_model *model,
                                 const struct hw_machine *cluster, const struct scaling_row *row,
                                 double tokens, double per_param,
                                 struct scaling_training *out) WSC_CHECKED;
/** Fraction of the training's time that failures cost, 0 to 1; 1 where so many failures leave it no
 *  end and `seconds` is infinite. */
double scaling_restart_fraction(const struct scaling_training *training);

#endif
