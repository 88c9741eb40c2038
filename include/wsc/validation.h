/** Validation: compares published figures with predictions of the emulator, and fits constants.
 *
 *  A row of benchmarks/reference is a struct validation_figure; validation_run() predicts each
 *  compared row by simulating a step. validation_calibrate() fits at most VALIDATION_MAX_CALIBRATED
 *  constants to the rows of kind calibration. Rows of kind validation are never fitted; rows of
 *  kind context are never compared, and state the reason. Speed error is predicted / published - 1
 *  in speed, positive: too fast, in every table.
 *
 *      TRY(validation_figures_read("benchmarks/reference/scaling.csv", &rows, &n));
 *      struct validation_comparison c = {.ref = rows, .n_refs = n,
 *                                        .params = {{"configs/params"}},
 *                                        .machines = {{"configs/cluster"}}};
 *      enum wsc_err rc = validation_run(&c, &result);
 *      if (!rc) rc = report_validation_print(&result.report);
 *      validation_result_fini(&result);
 *
 *  Without MPI validation_comparison.comm is NULL. With it, every rank calls the functions that are
 *  marked collective, and all ranks get the same results. Read next: docs/VALIDATION.md;
 *  <wsc/scaling.h>, which simulates; <wsc/report.h>, which prints. */
#ifndef WSC_VALIDATION_H
#define WSC_VALIDATION_H
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/scaling.h>
#include <wsc/vtime.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- published points -------------------------------------------------------------------------
 */

/** Unit of a point. */
enum validation_point_unit {
    VALIDATION_TOKENS_PER_S,
    VALIDATION_SAMPLES_PER_S,
    VALIDATION_SPEEDUPS
};
/** A published rate to draw with a curve, and the known conditions of its measurement. */
struct validation_point {
    /** Name of the model, as in a sweep. */
    char model[SCALING_NAME_BYTES];
    /** Systems, and the published rate, tokens/s. */
    double num_csx;
    double tokens_per_s; /**< in `unit` until validation_points_select() has converted it */
    enum validation_point_unit unit;
    /** Publication, for the legend. */
    char source[128];
    char id[48];          /**< row of benchmarks/reference; "": a point of the user */
    char cluster[32];     /**< name of a machine file; "": unknown */
    int64_t global_batch; /**< sequences; 0 in this member and in msl: unknown */
    int64_t micro_batch; /**< sequences per system; CONF_NULL: the system's whole part of the batch;
                              CONF_AUTO or 0: unknown */
    int64_t msl;         /**< tokens of a sequence */
    int line;            /**< of its file; 0: a row of benchmarks/reference */
};
/** Read the points of a CSV file whose first line is `model,num_csx,tokens_per_s,source`; the third
 *  column may also be samples_per_s or speedup, and more columns may follow. `#` lines and blank
 *  lines are skipped, fields may be quoted. A row equal to an earlier one is left out with a
 *  warning. The caller owns *@p points. */
enum wsc_err validation_points_read(const char *path, struct validation_point **points,
                                    int *n) WSC_CHECKED;

/* ---- published figures ----------------------------------------------------------------------- */
/** Measured quantity; src/validation/quantities.c has the names, the units and the predictions. */
enum validation_quantity {
    VALIDATION_TIME, /**< time of the steps for `samples` samples: d, h, s, ms */
    /** Time of a whole training of `samples` samples, with checkpoints and failures: d, h, s. */
    VALIDATION_TRAINING_TIME,
    VALIDATION_RATE,       /**< rate of a training: samples/s, tokens/s */
    VALIDATION_EVAL_RATE,  /**< rate of an evaluation, only forward passes: samples/s, tokens/s */
    VALIDATION_STEP_TIME,  /**< time of one optimizer step: s, ms */
    VALIDATION_SLOPE,      /**< slope of the straight line through the step times of `global_batch`
                                and `other_batches` (least squares): ms/sequence */
    VALIDATION_INTERCEPT,  /**< intercept of that line: s, ms */
    VALIDATION_SPEEDUP,    /**< speed of num_csx systems / speed of one, equal batch per system */
    VALIDATION_EFFICIENCY, /**< speedup / number of systems */
    VALIDATION_BOUNDARY,   /**< time of a step in which the wafers wait for its end, s */
    VALIDATION_OTHER       /**< any figure of a row of kind context */
};
/** Maximum number of batches, in addition to global_batch, of one line. */
enum { VALIDATION_MAX_OTHER_BATCHES = 4 };
/** Use of a row. */
enum validation_kind {
    VALIDATION_KIND_CALIBRATION, /**< constants were fitted on it */
    VALIDATION_KIND_VALIDATION,  /**< compared, not fitted */
    VALIDATION_KIND_CONTEXT      /**< not compared; `reason` states why */
};
/** A published figure with its conditions: a row of benchmarks/reference. */
struct validation_figure {
    /** Unique name of the row. */
    char id[48];
    enum validation_quantity quantity;
    /** Unit of value, low and high; one of the units of the quantity. */
    char unit[16];
    double value; /**< as published, in unit */
    /** VALIDATION_TIME, VALIDATION_TRAINING_TIME: samples processed in that time; 0 otherwise. */
    double samples;
    char model[48];                                    /**< name of a params file */
    int64_t num_csx;                                   /**< 0: not stated */
    int64_t global_batch;                              /**< sequences; 0: not stated */
    int64_t other_batch[VALIDATION_MAX_OTHER_BATCHES]; /**< slope and intercept: sequences */
    int n_other_batches;
    int64_t micro_batch; /**< sequences per system; CONF_AUTO: chosen by the planner, CONF_NULL: the
                              system's whole part of the batch */
    int64_t msl;         /**< tokens of a sequence */
    char cluster[32];    /**< name of a cluster file */
    char set[128];       /**< overrides `path=value`, separated by `;` */
    /** Use of the row. */
    enum validation_kind kind;
    char site[24];      /**< owner of the systems, e.g. usc, alcf, cerebras */
    char family[24];    /**< group of rows that share causes of errors, e.g. usc_gpt */
    char release[24];   /**< release of the software, if known */
    char date[16];      /**< date of the run or the publication: 2024, 2024-03, 2024-03-14 */
    double low, high;   /**< range of accepted predictions, in unit */
    char tolerance[32]; /**< as written: `10 %` or LOW..HIGH */
    char file[256];     /**< file of the row, for messages */
    int line;           /**< line of the row in its file, from 1; 0: no file */
    /** Columns of `model`, `cluster` and `set` in that line, from 1, for messages. */
    int model_column, cluster_column, set_column;
    /** Reason why a row is not compared; conditions of the measurement in words; publication. */
    char reason[192], conditions[256], source[160];
};
/** Read the rows of a CSV with the columns id, quantity, unit, value, samples, model, num_csx,
 *  global_batch, other_batches, micro_batch, msl, cluster, set, kind, site, family, release, date,
 *  tolerance, reason, conditions, source in any order, and add them to *@p rows (owned by the
 *  caller, NULL at first; still valid after an error). Errors (WSC_CONFIG) name file, line, column
 *  and field. */
enum wsc_err validation_figures_read(const char *path, struct validation_figure **rows,
                                     int *n) WSC_CHECKED;
/** Column of a row that has the value of the key of the override `key=value` @p set; for example
 *  global_batch for train_input.batch_size. Such an override has no effect on rows. NULL: no such
 *  column. */
const char *validation_column_of_key(const char *set);
/** Append the neutral values of the constants that may be fitted: "wafer.stage_latency 0, ...". */
void validation_neutral_words(struct wsc_text *t);
/** Speed error of the prediction @p predicted, in the unit of @p figure: predicted / published - 1
 *  in speed, positive: too fast. For a time the ratio is inverted. NaN for a bound and for a figure
 *  of 0. */
double validation_speed_error(const struct validation_figure *figure, double predicted);
/** Ratio of @p value to the published figure, in speed: inverted for times of trainings and steps;
 *  NaN for a bound. */
double validation_speed(const struct validation_figure *figure, double value);
/** True if @p figure is an independent measurement: not derived from other rows, like slopes and
 *  intercepts, and not a bound or a claim, like boundaries and efficiencies. */
bool validation_figure_measured(const struct validation_figure *figure);
/** True if constants were fitted on @p figure and it is a measurement. The deviation of these rows
 *  determines the width of bands. */
static inline bool validation_figure_fitted(const struct validation_figure *figure)
{
    return figure->kind == VALIDATION_KIND_CALIBRATION && validation_figure_measured(figure);
}
/** Name of a quantity in the files, e.g. "rate". */
const char *validation_quantity_name(enum validation_quantity quantity);
/** Name of a kind in the files, e.g. "context". */
const char *validation_kind_name(enum validation_kind kind);
/** Convert the rates among @p rows to points; rows of kind context and rows with overrides are left
 *  out. The caller owns *@p points. */
enum wsc_err validation_points_of(const struct validation_figure *rows, int n_rows,
                                  struct validation_point **points, int *n) WSC_CHECKED;
/** Called with a point that is not comparable with a sweep, and the difference. */
typedef void (*validation_skipped_fn)(const struct validation_point *point, const char *why);
/** Folders with the files that points name; borrowed. */
struct validation_point_folders {
    const char *machines;
    const char *params; /**< NULL: models are compared by their names alone, as those of a user */
};
/** Keep only those of the *@p n points that are comparable with @p sweep: a model of the sweep that
 *  differs in no key of shape, formats, sparsity or adapters from the params file of its name,
 *  equal wafers, the sweep's global batch for that number of systems, its sequence length, and, if
 *  the publication states a micro-batch, the micro-batch of the plan in @p rows (of scaling_run()).
 *  An unknown condition counts as equal. Samples are
 *  converted to tokens by the sequence length of the sweep, speedups by its rate of one system.
 *  @p skipped is called for points of the sweep's models that are removed. */
enum wsc_err validation_points_select(struct validation_point *points, int *n,
                                      const struct scaling_sweep *sweep,
                                      const struct scaling_row *rows,
                                      const struct validation_point_folders *folders,
                                      validation_skipped_fn skipped) WSC_CHECKED;

/** Maximum number of constants that are fitted together. */
enum { VALIDATION_MAX_CALIBRATED = HW_MAX_CALIBRATED };
/** Machines that are sampled for a band. */
enum { VALIDATION_N_MACHINES = 8 };
/** A published figure and its prediction. */
struct validation_prediction {
    const struct validation_figure *ref; /**< borrowed */
    double predicted;                    /**< in the unit of ref */
    /** Standard deviation of ln(predicted) when all uncertain constants of the machine vary inside
     *  their ranges. */
    double spread;
    /** Band that should contain 90 % of published figures. It combines `spread`, the deviation of
     *  the fitted rows and, for rows of other sites, the deviation between sites. */
    double band_low, band_high;
    int n_machines; /**< sampled machines that the band is of: the model fits, the value is > 0 */
    double neutral; /**< prediction with the calibrated constants at their neutral values */
    /** Relative change of the prediction when a calibrated constant grows by 10 %. A constant that
     *  its key does not let grow so far shrinks by 10 % instead, with the change of the opposite
     *  sign. NaN when neither is possible, or the model does not fit such machines. */
    double sensitivity[VALIDATION_MAX_CALIBRATED];
    /** Time of the predicted step on num_csx systems. */
    int64_t step_time_ps;
    double sample_tokens; /**< tokens of a sample: of both texts of a translation */
    /** Fraction of the peak FLOP/s of all systems; the fraction with neutral constants. */
    double mfu, mfu_neutral;
    /** Chosen by the planner: sequences of a micro-batch, and replicas on a wafer. */
    int64_t micro_batch;
    int lanes;
    struct vtime_breakdown breakdown;
    /** Parts of breakdown.compute_ps; jitter is what the others leave: jitter, slow wafers, and may
     *  be negative; 0 on one system but for rounding. */
    int64_t products_ps, attention_ps, elementwise_ps, recompute_ps, latency_ps, jitter_ps;
};
/** True if the prediction is inside the tolerance of its row; rows of kind context have no
 *  tolerance. */
bool validation_prediction_holds(const struct validation_prediction *p);
/** The predictions of all rows, and the fitted constants of the machine. */
struct validation_table {
    /** Predictions, one per compared row. */
    const struct validation_prediction *row;
    int n_rows;
    const struct validation_figure *figure; /**< all rows; those of kind context are listed */
    int n_figures;
    const struct hw_source *calibrated[VALIDATION_MAX_CALIBRATED]; /**< borrowed */
    int n_calibrated;
    double fitted_deviation; /**< deviation of ln(predicted / published) over the fitted rows */
    double site_deviation;  /**< deviation of ln(rate) between sites, only from published figures */
    int n_banded, n_inside; /**< measured rows of kind validation; those inside their band */
    const char *command;    /**< for provenance */
};
/** Maximum number of machines of one fit. */
enum { VALIDATION_MAX_FITTED_MACHINES = 8 };
/** A machine of the fitted rows, for which `wsc calibrate` writes a file. */
struct validation_fitted_machine {
    char name[32];  /**< name of its file, without ".yaml" */
    bool stands_in; /**< validation_comparison.cluster replaces it in the fit */
};
/** One constant of a fit. */
struct validation_fitted {
    char path[64];          /**< without `cluster.` */
    unsigned machines;      /**< machines on which it was fitted, one bit each */
    char value[48];         /**< with unit */
    char error[48];         /**< standard error with unit; "" if the points do not determine it */
    char low[48], high[48]; /**< value -/+ two standard errors, limited to the search range */
    /** The search ended at an end of its range, which then is "LOW..HIGH": the value is no fit and
     *  has no standard error; "": it did not. */
    char end_of[100];
};
/** The result of a fit. */
struct validation_fit {
    struct validation_fitted constant[VALIDATION_MAX_CALIBRATED];
    struct validation_fitted_machine machine[VALIDATION_MAX_FITTED_MACHINES];
    int n_machines;
    /** Correlations of the constants' errors, 1 on the diagonal; those of constants with a standard
     *  error do not contradict each other. */
    double correlation[VALIDATION_MAX_CALIBRATED][VALIDATION_MAX_CALIBRATED];
    int n_constants;
    const struct validation_figure *const *point; /**< borrowed; fitted rows */
    const double *residual;                       /**< ln(predicted / published) of each point */
    int n_points;
    /** Standard deviation of the residuals; threshold of Huber's function; objective after the fit
     *  and before it. */
    double sigma, threshold, objective, objective_before;
    /** Number of simulations of all rows during the fit. */
    int n_evaluations;
};
/** Cross-validation of one fitted row. */
struct validation_left_out {
    const struct validation_figure *ref; /**< borrowed */
    double fitted;                       /**< ln(predicted / published), all rows fitted */
    double without_row;                  /**< ln(predicted / published), fitted without this row */
    /** ln(predicted / published), fitted without the family of the row; NaN if no other row is
     *  left. */
    double without_family;
};
/** Errors of a fit with a given number of free constants. */
struct validation_freedom {
    int n_free;                                /**< the first n_free constants are fitted */
    char value[VALIDATION_MAX_CALIBRATED][48]; /**< of each free constant, with unit */
    double fitted, never_fitted;               /**< mean absolute speed error of measured rows */
    double worst_never_fitted; /**< largest absolute speed error; NaN: no such row */
};
/** Reliability of a fit: the rows of kind calibration are left out one by one and by family, and
 *  the rows are fitted with 0, 1, 2, ... free constants, the other constants at their neutral
 *  values. */
struct validation_protocol {
    struct validation_left_out *left_out; /**< owned, n_left_out */
    int n_left_out;
    double rms_fitted, rms_without_row, rms_without_family; /**< of ln(predicted / published) */
    struct validation_freedom freedom[VALIDATION_MAX_CALIBRATED + 1];
    int n_freedoms;
};

/* ---- predictions and fits ---------------------------------------------------------------------
 */

/** Folders with the files of the models or machines that rows name; borrowed. */
struct validation_folders {
    const char *folder[2]; /**< searched in this order; the second may be NULL */
};
/** Write the path of NAME.yaml into @p path (@p size bytes): in the first folder that has it, or
 *  else in the first one. */
void validation_name_file(const struct validation_folders *f, const char *name, char *path,
                          size_t size);
/** Input of a comparison with published figures; all borrowed. */
struct validation_comparison {
    const struct validation_figure *ref;
    int n_refs;
    int n_own; /**< rows of the user's own, the last ones of `ref`; they get warnings of their own
                */
    /** Models and machines of the rows. Beside rows of the user's own, published rows search the
     *  folders from the last to the first, so that those of the program count. */
    struct validation_folders params, machines;
    /** Replaces machines of rows that have the same grid of PEs; NULL: none. */
    const struct hw_machine *cluster;
    const struct conf_set *sets; /**< overrides of all models and machines */
    int n_sets;
    /** The rows are divided among its ranks, all of which call; NULL: this process computes all. */
    struct comm *comm;
    /** Called before each item of a part of the work, with the number of items done, the total (0:
     *  unknown) and the name of the item (may be NULL). May be NULL. */
    void (*progress)(void *ctx, const char *part, int done, int total, const char *what);
    void *progress_ctx;
};
/** Predictions of the rows of all kinds that state all conditions a prediction needs. */
struct validation_result {
    struct validation_table report; /**< its rows are owned */
    struct validation_cases *cases; /**< owned; models and machines of the rows */
};
/** Predict the rows of @p comparison; rows of kind context only if they are complete. Collective.
 *  Call validation_result_fini() on @p out also after an error. */
enum wsc_err validation_run(const struct validation_comparison *comparison,
                            struct validation_result *out) WSC_CHECKED;
/** Release what validation_run() allocated. */
void validation_result_fini(struct validation_result *v);

/** WSC_CONFIG when the correlations that @p machine states for its calibrated constants contradict
 *  each other: no errors have them all. */
enum wsc_err validation_check_correlations(const struct hw_machine *machine) WSC_CHECKED;
/** Result of validation_calibrate(). */
struct validation_calibration {
    struct validation_fit report;
    const struct validation_figure **point; /**< owned */
    double *residual;                       /**< owned */
};
/** Fit the @p n_paths constants @p path (of validation_fittable_paths(); 0: the constants of kind
 *  calibrated in the machines of the rows) to the rows of kind calibration. The fit minimizes
 *  Huber's function of ln(predicted / published), least squares with a bounded influence of single
 *  rows. A constant is fitted on the machines whose files have it with kind calibrated, or on all
 *  machines if no file has. Collective. @p out borrows from the comparison; call
 *  validation_calibration_fini() on it also after an error. */
enum wsc_err validation_calibrate(const struct validation_comparison *comparison,
                                  const char *const *path, int n_paths,
                                  struct validation_calibration *out) WSC_CHECKED;
/** Names of the constants that may be fitted, without `cluster.`, in the order of
 *  validation_freedom.n_free; *@p n is their number. */
const char *const *validation_fittable_paths(int *n);
/** Repeat the fit of @p path without each row, without each family, and with every number of free
 *  constants. Collective. Call validation_protocol_fini() on @p out also after an error. */
enum wsc_err validation_leave_one_out(const struct validation_comparison *comparison,
                                      const char *const *path, int n_paths,
                                      struct validation_protocol *out) WSC_CHECKED;
/** Release what validation_leave_one_out() allocated. */
void validation_protocol_fini(struct validation_protocol *p);
/** Release what validation_calibrate() allocated. */
void validation_calibration_fini(struct validation_calibration *c);
#endif
