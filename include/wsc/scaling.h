/** Scaling: throughput against the number of systems.  Layer 7.
 *
 *  Each point is a run without values of the whole emulated cluster, in this process: the same
 *  roles, messages and clocks as a training run.  Nothing is fitted and nothing is interpolated.
 */
#ifndef WSC_SCALING_H
#define WSC_SCALING_H
#include <wsc/conf.h>
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/report.h>
#include <wsc/zoo.h>

#include <stdbool.h>
#include <stdint.h>

struct scaling_model {
    const char *name;                /**< in tables; borrowed */
    const struct zoo_params *params; /**< borrowed */
};
struct scaling_sweep {
    const struct scaling_model *model;
    int n_models;
    const int64_t *num_csx;
    int n_counts;
    bool strong;           /**< the global batch stays; otherwise it grows with N */
    int64_t batch_per_csx; /**< weak scaling; 0: batch_size / num_csx of the params */
    const struct hw_machine *cluster;
    void (*progress)(void *ctx, int done, int total, const char *what); /**< may be NULL */
    void *progress_ctx;
};
/** Simulate every (model, node count); *@p rows has n_models x n_counts entries, models first,
 *  owned by the caller.  speedup and efficiency are against the smallest count of the model. */
enum wsc_err scaling_run(const struct scaling_sweep *sweep,
                         struct report_scale_row **rows) WSC_CHECKED;
/** One point: the steady-state step of @p num_csx systems with @p global_batch sequences. */
enum wsc_err scaling_point(const struct scaling_model *model, const struct hw_machine *cluster,
                           int64_t num_csx, int64_t global_batch,
                           struct report_scale_row *row) WSC_CHECKED;

/** The speed at each micro-batch that divides the share of a system and lies in the bounds of
 *  train_input.micro_batch_size: CONF_EXPLORE.  *@p rows, owned by the caller, has *@p n; *@p best
 *  is the fastest, the smaller of equals.  Sizes that do not fit are left out; error when none is
 *  left. */
enum wsc_err scaling_explore(const struct scaling_model *model, const struct hw_machine *cluster,
                             struct report_scale_row **rows, int *n, int *best) WSC_CHECKED;

/* ---- what the curve depends on --------------------------------------------------------------- */

/** The sweep with every mechanism, with each one switched off, and with none: one variant each,
 *  with n_models x n_counts rows.  scaling_variants_free() it. */
enum wsc_err scaling_effects(const struct scaling_sweep *sweep, struct report_variant **variants,
                             int *n) WSC_CHECKED;
/** The sweep, and the sweep without each one of the machine's faults. */
enum wsc_err scaling_faults(const struct scaling_sweep *sweep, struct report_variant **variants,
                            int *n) WSC_CHECKED;
void scaling_variants_free(struct report_variant **variants, int n);

enum { SCALING_MAX_VALUES = 64 };
/** Values that one constant takes. */
struct scaling_values {
    struct hw_constant constant;
    double value[SCALING_MAX_VALUES]; /**< base units, as given */
    int n;
};
/** Read `cluster.KEY=LOW..HIGH`, `cluster.KEY=LOW..HIGH:N` (N values, 9 when not given, evenly on a
 *  logarithmic scale) or `cluster.KEY=A,B,C`; units as in a cluster file.  Errors name what is
 *  wrong and how to write it. */
enum wsc_err scaling_values_parse(struct scaling_values *out, const char *text) WSC_CHECKED;
/** The sweep at each value: one variant each, named by the value. */
enum wsc_err scaling_vary(const struct scaling_sweep *sweep, const struct scaling_values *values,
                          struct report_variant **variants, int *n) WSC_CHECKED;

/** How much model @p model's curve moves when each uncertain constant moves to the ends of its
 *  range, one at a time, everything else as it is; and the band that follows when all of them are
 *  independent: the deviations to one side added as squares.  Differences are taken without jitter,
 *  except that of the jitter itself.  scaling_sensitivity_free() it. */
enum wsc_err scaling_sensitivity(const struct scaling_sweep *sweep, int model,
                                 struct report_sensitivity *out) WSC_CHECKED;
void scaling_sensitivity_free(struct report_sensitivity *s);

/* ---- a whole training ------------------------------------------------------------------------ */

/** Read `300B`, `2e9`, `1.5T` (tokens) or `20xparams` (tokens per parameter). */
enum wsc_err scaling_tokens_parse(const char *text, double *tokens, double *per_param) WSC_CHECKED;
/** What training on @p tokens takes at the rate of @p row. */
struct report_training scaling_training(const struct report_scale_row *row,
                                        const struct hw_machine *cluster, double tokens,
                                        double per_param);
/** Expected test loss on the Pile, nats per token, of a GPT trained with @p flop FLOPs on about 20
 *  tokens per parameter: (flop / 5.984e22)^-0.0737 + 0.5066.
 *  Source: Dey et al. 2023, "Cerebras-GPT", arXiv 2304.03208, section 3.1: a fit to 111M .. 6.7B,
 *  documented, said to be within 0.5 % at 13B. */
double scaling_expected_loss(double flop);

/* ---- published figures ----------------------------------------------------------------------- */

/** What a comparison with published figures needs; all borrowed. */
struct scaling_comparison {
    const struct report_reference *ref;
    int n_refs;
    const char *params_dir, *cluster_dir; /**< where the models and machines of the rows lie */
    /** Stands in for the rows' machines that have the same grid of PEs; NULL: none. */
    const struct hw_machine *cluster;
    const struct conf_set *sets; /**< of all models and machines */
    int n_sets;
    void (*progress)(void *ctx, int done, int total, const char *what); /**< may be NULL */
    void *progress_ctx;
};
/** Constants that may be fitted, at most REPORT_MAX_CALIBRATED, and what they are when they say
 *  nothing: no latency, an infinite rate, a factor of one. */
struct scaling_fittable {
    const char *path; /**< without `cluster.` */
    double neutral;   /**< base units */
    double low, high; /**< bounds of a fit, base units */
    double step;      /**< first step of the search, in x */
    bool inverse;     /**< the search moves in x = 1 / value */
};
const struct scaling_fittable *scaling_fittables(int *n);

/** Predict every row that is to be compared.  scaling_validation_fini() @p out also after an
 *  error. */
struct scaling_validation {
    struct report_validation report; /**< its rows are owned */
    struct scaling_cases *cases;     /**< owned; what the rows were computed from */
};
enum wsc_err scaling_validate(const struct scaling_comparison *comparison,
                              struct scaling_validation *out) WSC_CHECKED;
void scaling_validation_fini(struct scaling_validation *v);

/** Fit the constants @p path (of scaling_fittables()) to the rows of kind calibration: least
 * squares of ln(predicted / published), with Huber's function so that no row rules.  @p out borrows
 * from the comparison; scaling_calibration_fini() it also after an error. */
struct scaling_calibration {
    struct report_calibration report;
    const struct report_reference **point; /**< owned */
    double *residual;                      /**< owned */
};
enum wsc_err scaling_calibrate(const struct scaling_comparison *comparison, const char *const *path,
                               int n_paths, struct scaling_calibration *out) WSC_CHECKED;
void scaling_calibration_fini(struct scaling_calibration *c);
#endif
