/** Scaling: throughput against the number of systems.
 *
 *  Each point is a run without values of the whole emulated cluster, in this process: the same
 *  roles, messages and clocks as a training run.  Nothing is fitted and nothing is interpolated.  A
 *  point runs three steps, of which the third is measured, or ten where jitter or lost packets make
 *  steps differ, of which eight are averaged.
 *
 *      struct scaling_model m = {.name = "gpt3-13b", .params = params};
 *      int64_t counts[] = {1, 4, 16};
 *      struct scaling_sweep s = {.model = &m, .n_models = 1, .num_csx = counts,
 *                                .n_counts = 3, .cluster = machine};
 *      TRY(scaling_run(&s, &rows));
 *
 *  Beside the sweep: what the curve depends on (mechanisms, faults, one constant, all uncertain
 *  ones) and whole trainings.  Points are deterministic, so a row is the same on any rank; with
 *  sweep.comm they are shared over its ranks.  Read next: <wsc/report.h>, which prints and draws
 *  the results; <wsc/validation.h>, which compares them with published figures. */
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

/** One row of scaling.csv: the steady-state step of a model on a number of systems. */
struct scaling_row {
    /** Name in tables; borrowed from the sweep. */
    const char *model;
    /** Parameters; systems; sequences of the global batch; largest micro-batch of a system,
     *  sequences. */
    int64_t params, num_csx, global_batch, micro_batch;
    /** Rates of the whole machine; speedup: over the rate per system at the model's smallest count;
     *  efficiency = speedup / num_csx, 1 is ideal. */
    double tokens_per_s, samples_per_s, speedup, efficiency;
    /** Virtual time of a step, ps; its parts, which add up to it, in `breakdown`. */
    int64_t step_time_ps;
    struct vtime_breakdown breakdown;
    /** Useful FLOPs over wafer.peak, 0 to 1; energy of the whole cluster per token, J. */
    double mfu, joules_per_token;
    double flop_per_token;          /**< training, matrix products alone: model_flop_per_token() */
    double useful_flop_per_token;   /**< of them, those of weights that are not zero */
    double flop_per_token_hoffmann; /**< as publications count: model_flop_per_token_hoffmann() */
    /** Why there are no figures, "" when there are: scaling_sweep.leaves_out. */
    char left_out[512];
};
/** The rows of a sweep on one variant of the machine; made by scaling_effects() and its siblings.
 */
struct scaling_variant {
    char name[160];          /**< "all", "without jitter", "1 us" */
    double value;            /**< of the constant that was varied, base units; 0 otherwise */
    struct scaling_row *row; /**< owned; n_models x n_counts, models first */
};
/** One uncertain constant and what it does to a curve. */
struct scaling_constant {
    const char *key, *kind; /**< static */
    /** The value, and the ends of its range, with units. */
    char value[48], low[48], high[48];
    /** tokens/s with the constant at its low and at its high end, relative to the curve, by node
     *  count; NaN where the model does not fit.  Owned. */
    double *at_low, *at_high;
};
/** The band of a curve, and what each uncertain constant does to it. */
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
/** A whole training at one node count; from scaling_training(). */
struct scaling_training {
    const char *model; /**< borrowed */
    /** Parameters, and systems. */
    int64_t params, num_csx;
    /** Tokens of the training; its virtual time, s; energy of the cluster, J. */
    double tokens, seconds, joules;
    double flop;          /**< matrix products alone: model_flop_per_token() */
    double flop_useful;   /**< of them, those of weights that are not zero */
    double flop_hoffmann; /**< as publications count: model_flop_per_token_hoffmann() */
    /** NaN with sparse weights, of which the law has none; else
     *  expected test loss on the Pile for flop_hoffmann, nats per token: (flop / 5.984e22)^-0.0737
     *  + 0.5066 (Dey et al. 2023, arXiv 2304.03208, section 3.1; a fit to 111M .. 6.7B at 20 tokens
     *  per parameter). */
    double loss;
    double checkpoint_s; /**< of the seconds, writing checkpoints */
    double restart_s;    /**< of the seconds, restarts after failures and what is done again */
};
/** What interrupts a training. */
struct scaling_breaks {
    double checkpoint_s;   /**< to write a checkpoint */
    double interval_s;     /**< of steps between two checkpoints; 0: none is written */
    double failures_per_s; /**< of all systems together */
    double restart_s;      /**< from a failure to the first step after it */
};

/** A model of a sweep. */
struct scaling_model {
    const char *name;                /**< in tables; borrowed */
    const struct zoo_params *params; /**< borrowed */
};
/** What to simulate: every model on every number of systems. Everything is borrowed during the
 *  calls. */
struct scaling_sweep {
    /** Models, n_models of them. */
    const struct scaling_model *model;
    int n_models;
    /** Numbers of systems, n_counts, each 1 .. 4096. */
    const int64_t *num_csx;
    int n_counts;
    bool strong;           /**< the global batch stays; otherwise it grows with N */
    int64_t batch_per_csx; /**< weak scaling; 0: batch_size / num_csx of the params */
    int64_t global_batch;  /**< of every point, whatever the scaling; 0: by the scaling */
    /** A point that does not fit the machine has the reason in its row, and the others their
     *  figures; otherwise it ends the sweep. */
    bool leaves_out;
    /** The machine, with its effects and faults. */
    const struct hw_machine *cluster;
    /** Called before each point of this rank, and by the studies before each of their items: the
     *  part of the work, items done of a total, the item (may be NULL).  May be NULL. */
    void (*progress)(void *ctx, const char *part, int done, int total, const char *what);
    void *progress_ctx;
    /** Shares the points over its ranks, which all make the same calls; NULL: this process alone.
     */
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
    /** Whether item @p i has threads of its own and is computed beside no other one; NULL: none. */
    bool (*alone)(void *ctx, int i);
    /** Called before each item of this rank, by one thread at a time: item @p i, and how many of
     *  all items about are done; NULL: never. */
    void (*progress)(void *ctx, int done, int i);
    void *ctx;
};
/** Compute all items, each on one rank of @p comm (NULL: all here), those of a rank on its threads
 *  (comm_threads()); afterwards every rank has all of them.  Collective.  Pointers inside items
 *  are those of the rank that computed them. */
enum wsc_err scaling_share(struct comm *comm, const struct scaling_items *items) WSC_CHECKED;

/** Simulate every (model, node count); *@p rows has n_models x n_counts entries, models first,
 *  owned by the caller; NULL after an error.  speedup and efficiency are against the smallest count
 *  of the model.  The first point with an error decides, on every rank: WSC_CAPACITY, WSC_CONFIG,
 *  WSC_NOMEM.  Collective over sweep->comm when that is not NULL, and every rank gets all rows. */
enum wsc_err scaling_run(const struct scaling_sweep *sweep, struct scaling_row **rows) WSC_CHECKED;
/** The reason of the first of @p n rows that is left out, or NULL. */
const char *scaling_left_out(const struct scaling_row *row, int n);
/** Points, models first, that are a sweep's; the arrays are the caller's and shrink in place. */
struct scaling_points {
    struct scaling_model *model;
    int n_models;
    int64_t *num_csx;
    int n_counts;
    struct scaling_row *row;
    /** Called for each point that goes, with the reason. */
    void (*gone)(void *ctx, const struct scaling_row *row, const char *why);
    void *ctx;
};
/** Take out the models of which no point is left, then the numbers of systems that one of the
 *  others does not fit, so that every model has the same ones. */
void scaling_drop_left_out(struct scaling_points *points);
/** Simulate one point: the steady-state step of @p num_csx systems with @p global_batch sequences,
 *  in this process.  speedup and efficiency stay 0.  Errors as those of scaling_run(). */
enum wsc_err scaling_point(const struct scaling_model *model, const struct hw_machine *cluster,
                           int64_t num_csx, int64_t global_batch,
                           struct scaling_row *row) WSC_CHECKED;
/** The steady-state batch of an evaluation on @p num_csx systems: forward passes over
 *  @p global_batch sequences, nothing is updated.  The FLOPs and the fraction of the peak are those
 * of a forward pass, a third of training's. */
enum wsc_err scaling_evaluation(const struct scaling_model *model, const struct hw_machine *cluster,
                                int64_t num_csx, int64_t global_batch,
                                struct scaling_row *row) WSC_CHECKED;

/** The speed at each micro-batch that divides the share of a system and lies in the bounds of
 *  train_input.micro_batch_size: CONF_EXPLORE.  *@p rows, owned by the caller, has *@p n; *@p best
 *  is the fastest, the smaller of equals.  Sizes that do not fit are left out; error when none is
 *  left. */
enum wsc_err scaling_explore(const struct scaling_model *model, const struct hw_machine *cluster,
                             struct scaling_row **rows, int *n, int *best) WSC_CHECKED;

/* ---- what the curve depends on --------------------------------------------------------------- */

/** Run the sweep with every mechanism of hw_effects, with each one switched off, and with none: one
 *  variant each, seven in all, with n_models x n_counts rows.  scaling_variants_free() it; NULL
 *  after an error.  Collective as scaling_run(). */
enum wsc_err scaling_effects(const struct scaling_sweep *sweep, struct scaling_variant **variants,
                             int *n) WSC_CHECKED;
/** Run the sweep, and the sweep without each one of the machine's faults: n = faults + 1 variants,
 *  the first one with all.  Faults of the measured steps alone have an effect. */
enum wsc_err scaling_faults(const struct scaling_sweep *sweep, struct scaling_variant **variants,
                            int *n) WSC_CHECKED;
/** Release variants with their rows. */
void scaling_variants_free(struct scaling_variant **variants, int n);

/** Most values of a swept constant. */
enum { SCALING_MAX_VALUES = 64 };
/** Values that one constant of the machine, or the global batch, takes; from
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
/** Run the sweep at each value: one variant each, named by the value; scaling_left_out() says which
 *  have points that do not fit, where the sweep leaves such out.  WSC_CONFIG when a value is
 *  outside the key's range.  A sparsity is that of the tensors that are sparse in the params, by
 * the default filter where none is. */
enum wsc_err scaling_vary(const struct scaling_sweep *sweep, const struct scaling_values *values,
                          struct scaling_variant **variants, int *n) WSC_CHECKED;

/** How much model @p model's curve moves when each uncertain constant moves to the ends of its
 *  range, one at a time, everything else as it is; and the band that follows when all of them are
 *  independent: the deviations to one side added as squares.  Differences are taken without jitter,
 *  except that of the jitter itself.  scaling_sensitivity_free() it. */
enum wsc_err scaling_sensitivity(const struct scaling_sweep *sweep, int model,
                                 struct scaling_sensitivity *out) WSC_CHECKED;
/** Release what scaling_sensitivity() allocated. */
void scaling_sensitivity_free(struct scaling_sensitivity *s);

/* ---- a whole training ------------------------------------------------------------------------ */

/** Read `300B`, `2e9`, `1.5T` (tokens, into *@p tokens) or `20xparams` (tokens per parameter, into
 *  *@p per_param); the other one is 0.  WSC_USAGE with how to write it. */
enum wsc_err scaling_tokens_parse(const char *text, double *tokens, double *per_param) WSC_CHECKED;
/** What interrupts a training with @p params at the step time of @p row, by the constants
 * `checkpoint.*` and `reliability.*` of @p cluster and their switches. */
struct scaling_breaks scaling_breaks_of(const struct hw_machine *cluster,
                                        const struct zoo_params *params,
                                        const struct scaling_row *row);
/** Let @p row, a point of @p model on @p cluster, be the mean of a training of @p steps steps whose
 *  sparsity changes: of eight places of the schedule, with what updates by gradients add.  A row of
 *  any other model stays.  Errors as those of scaling_point(). */
enum wsc_err scaling_over_schedule(const struct scaling_model *model,
                                   const struct hw_machine *cluster, int64_t steps,
                                   struct scaling_row *row) WSC_CHECKED;
/** Expected test loss on the Pile, nats per token, of a GPT trained with @p flop FLOPs, counted as
 *  model_flop_per_token_hoffmann() does, on about 20 tokens per parameter (Dey et al. 2023, arXiv
 *  2304.03208, section 3.1). */
double scaling_published_loss(double flop);
/** What training on @p tokens, or @p per_param tokens for each parameter where that is not 0, takes
 *  at the rate of @p row: expected time, as failures come at random (Daly 2006). */
struct scaling_training scaling_training(const struct scaling_row *row, double tokens,
                                         double per_param, const struct scaling_breaks *breaks);

#endif
