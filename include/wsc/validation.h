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
 *                                        .params_dir = "configs/params",
 *                                        .cluster_dir = "configs/cluster"};
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
#include <stdint.h>

/* ---- published points -------------------------------------------------------------------------
 */

/** What a point measures. */
enum validation_point_unit {
    VALIDATION_TOKENS_PER_S,
    VALIDATION_SAMPLES_PER_S,
    VALIDATION_SPEEDUPS
};
/** A published rate to draw beside a curve, with the conditions of its measurement as far as they
 *  are known. */
struct validation_point {
    /** Name of the model, as in a sweep. */
    char model[64];
    /** Systems, and the published rate, tokens/s. */
    double num_csx;
    double tokens_per_s; /**< in `unit` until validation_points_select() has turned it into that */
    enum validation_point_unit unit;
    /** Publication, for the legend. */
    char source[128];
    char id[48];          /**< of the row of benchmarks/reference; "": a point of the user's own */
    char cluster[32];     /**< name of a machine file; "": unknown, as the next three when 0 */
    int64_t global_batch; /**< sequences */
    int64_t micro_batch;  /**< sequences per system; CONF_AUTO: unknown */
    int64_t msl;          /**< tokens of a sequence */
};
/** Points of a CSV that starts with the line `model,num_csx,tokens_per_s,source`, with
 *  samples_per_s or speedup as the third column if those are given (more columns may follow); `#`
 * lines and blank lines are skipped, fields may be quoted.  *@p points is owned by the caller. */
enum wsc_err validation_points_read(const char *path, struct validation_point **points,
                                    int *n) WSC_CHECKED;

/* ---- published figures ----------------------------------------------------------------------- */
/** What was measured; src/validation/quantities.c has the names, the units and the predictions. */
enum validation_quantity {
    VALIDATION_TIME, /**< of the steps of `samples` samples: d, h, s, ms */
    /** Time of a whole training of `samples` samples, with checkpoints and failures: d, h, s. */
    VALIDATION_TRAINING_TIME,
    VALIDATION_RATE,       /**< of a training: samples/s, tokens/s */
    VALIDATION_EVAL_RATE,  /**< of an evaluation, forward passes alone: samples/s, tokens/s */
    VALIDATION_STEP_TIME,  /**< of one optimizer step: s, ms */
    VALIDATION_SLOPE,      /**< of the straight line through the step times of `global_batch` and
                                `other_batches` (least squares): ms/sequence */
    VALIDATION_INTERCEPT,  /**< of that line: s, ms */
    VALIDATION_SPEEDUP,    /**< of num_csx systems over one, the batch per system the same */
    VALIDATION_EFFICIENCY, /**< speedup over the number of systems */
    VALIDATION_BOUNDARY,   /**< s of a step in which the wafers wait for its end */
    VALIDATION_OTHER       /**< any figure of a row of kind context */
};
/** Most batches beside global_batch that a line goes through. */
enum { VALIDATION_MAX_OTHER_BATCHES = 4 };
/** What a row is used for. */
enum validation_kind {
    VALIDATION_KIND_CALIBRATION, /**< constants were fitted on it */
    VALIDATION_KIND_VALIDATION,  /**< compared, not fitted */
    VALIDATION_KIND_CONTEXT      /**< not judged; `reason` says why */
};
/** A published figure with its conditions: a row of benchmarks/reference. */
struct validation_figure {
    /** Unique name of the row. */
    char id[48];
    enum validation_quantity quantity;
    /** Unit of value, low and high, one that its quantity has. */
    char unit[16];
    double value; /**< as published, in unit */
    /** VALIDATION_TIME, VALIDATION_TRAINING_TIME: samples that took so long; 0 otherwise. */
    double samples;
    char model[48];                                    /**< name of a params file */
    int64_t num_csx;                                   /**< 0: not stated */
    int64_t global_batch;                              /**< sequences; 0: not stated */
    int64_t other_batch[VALIDATION_MAX_OTHER_BATCHES]; /**< of a slope or intercept */
    int n_other_batches;
    int64_t micro_batch; /**< per system; CONF_AUTO: the planner's, CONF_NULL: the whole share */
    int64_t msl;         /**< tokens of a sequence */
    char cluster[32];    /**< name of a cluster file */
    char set[128];       /**< overrides `path=value`, separated by `;` */
    /** What the row is used for. */
    enum validation_kind kind;
    char site[24];      /**< whose systems they were, e.g. usc, alcf, cerebras */
    char family[24];    /**< rows that one cause would move together, e.g. usc_gpt */
    char release[24];   /**< of the software, as far as it is known */
    char date[16];      /**< of the run or the publication: 2024, 2024-03, 2024-03-14 */
    double low, high;   /**< what a prediction must lie in, in unit */
    char tolerance[32]; /**< as written: `10 %` or LOW..HIGH */
    char file[256];     /**< that the row stands in, for messages */
    int line;           /**< of the row in its file, from 1; 0: of no file */
    /** Columns of `model`, `cluster` and `set` in that line, from 1, for messages. */
    int model_column, cluster_column, set_column;
    /** Why a row is not compared; the conditions of the measurement in words; the publication. */
    char reason[192], conditions[256], source[160];
};
/** Read the rows of a CSV with the columns id, quantity, unit, value, samples, model, num_csx,
 *  global_batch, other_batches, micro_batch, msl, cluster, set, kind, site, family, release, date,
 *  tolerance, reason, conditions, source in any order, and add them to *@p rows (owned by the
 * caller, NULL at first; stays valid after an error).  Errors (WSC_CONFIG) name file, line, column
 * and the field. */
enum wsc_err validation_figures_read(const char *path, struct validation_figure **rows,
                                     int *n) WSC_CHECKED;
/** Column of a row that says what the override `key=value` @p set would, as global_batch says
 * train_input.batch_size: such an override has no effect on rows.  NULL: none does. */
const char *validation_column_of_key(const char *set);
/** Speed error of a prediction of @p figure, in its unit: predicted / published - 1 in speed, so
 * that positive is too fast; of a time the inverse ratio.  NaN of a bound and of a figure of 0. */
double validation_speed_error(const struct validation_figure *figure, double predicted);
/** @p value over the published figure, in speed: of times and steps the inverse ratio; NaN of a
 *  bound. */
double validation_speed(const struct validation_figure *figure, double value);
/** True when @p figure is a measurement of its own: not derived from other rows, as slopes and
 *  intercepts are, and no bound or claim, as boundaries and efficiencies are. */
bool validation_figure_measured(const struct validation_figure *figure);
/** True when constants were fitted on @p figure and it is a measurement: bands are made of the
 *  deviation of these rows. */
static inline bool validation_figure_fitted(const struct validation_figure *figure)
{
    return figure->kind == VALIDATION_KIND_CALIBRATION && validation_figure_measured(figure);
}
/** Name of a quantity in the files, e.g. "rate". */
const char *validation_quantity_name(enum validation_quantity quantity);
/** Name of a kind in the files, e.g. "context". */
const char *validation_kind_name(enum validation_kind kind);
/** The rates among @p rows as points; rows of kind context and rows with overrides are left out.
 *  Owned by the caller. */
enum wsc_err validation_points_of(const struct validation_figure *rows, int n_rows,
                                  struct validation_point **points, int *n) WSC_CHECKED;
/** Called with a point that a sweep must not be compared with, and what differs. */
typedef void (*validation_skipped_fn)(const struct validation_point *point, const char *why);
/** Keep of the @p n points those that @p sweep may be compared with: of a model of the sweep, on
 * the same wafers (machine files lie in @p cluster_dir), with its global batch for that number of
 *  systems and its sequence length, and with the micro-batch that the plan of @p rows (as of
 *  scaling_run()) chose, where the publication states one.  Conditions that are unknown differ in
 *  nothing.  Samples are turned into tokens by the sequence length of the sweep, speedups by its
 *  rate of one system.  @p skipped is called for points of the sweep's models that are left out. */
enum wsc_err validation_points_select(struct validation_point *points, int *n,
                                      const struct scaling_sweep *sweep,
                                      const struct scaling_row *rows, const char *cluster_dir,
                                      validation_skipped_fn skipped) WSC_CHECKED;

/** Most constants that are fitted together. */
enum { VALIDATION_MAX_CALIBRATED = 6 };
/** A published figure and what the emulator makes of it. */
struct validation_prediction {
    const struct validation_figure *ref; /**< borrowed */
    double predicted;                    /**< in the unit of ref */
    /** Standard deviation of ln(predicted) when all uncertain constants of the machine move inside
     *  their ranges. */
    double spread;
    /** Where 90 of 100 published figures should lie: `spread`, the deviation of the fitted rows
     * and, for rows of other sites, that between sites together. */
    double band_low, band_high;
    double neutral; /**< predicted with the calibrated constants at their neutral values */
    /** Change of the prediction, relative, when a calibrated constant grows by a tenth. */
    double sensitivity[VALIDATION_MAX_CALIBRATED];
    /** The predicted step (of num_csx systems): time, where it went, fraction of the peak. */
    int64_t step_time_ps;
    /** Fraction of the peak of all systems, and that with neutral constants. */
    double mfu, mfu_neutral;
    /** Sequences of a micro-batch and replicas on a wafer that the planner chose. */
    int64_t micro_batch;
    int lanes;
    struct vtime_breakdown breakdown;
    /** What breakdown.compute_ps consists of; jitter may be negative. */
    int64_t products_ps, attention_ps, elementwise_ps, recompute_ps, latency_ps, jitter_ps;
};
/** True when the prediction lies inside the tolerance of its row; rows of kind context have none.
 */
bool validation_prediction_holds(const struct validation_prediction *p);
/** The predictions of all rows, and which constants of the machine were fitted. */
struct validation_table {
    /** One for each compared row, n_rows. */
    const struct validation_prediction *row;
    int n_rows;
    const struct validation_figure *figure; /**< all rows; those of kind context are listed */
    int n_figures;
    const struct hw_source *calibrated[VALIDATION_MAX_CALIBRATED]; /**< borrowed */
    int n_calibrated;
    double fitted_deviation; /**< of ln(predicted / published) of the fitted rows */
    double site_deviation;   /**< of ln(rate) between sites, from published figures alone */
    int n_banded, n_inside;  /**< measured rows of kind validation, and those inside their band */
    const char *command;     /**< for provenance */
};
/** Most machines that one fit covers. */
enum { VALIDATION_MAX_FITTED_MACHINES = 8 };
/** A machine of the fitted rows, for which `wsc calibrate` writes a file. */
struct validation_fitted_machine {
    char name[32];  /**< of its file, without ".yaml" */
    bool stands_in; /**< the comparison's own machine is fitted in its place */
};
/** One constant of a fit. */
struct validation_fitted {
    char path[64];          /**< without `cluster.` */
    unsigned machines;      /**< a bit for each machine of the fit that it was fitted on */
    char value[48];         /**< with unit */
    char error[48];         /**< standard error with unit; "" when the points do not tell */
    char low[48], high[48]; /**< two standard errors around the value, inside the key's range */
};
/** The result of a fit. */
struct validation_fit {
    struct validation_fitted constant[VALIDATION_MAX_CALIBRATED];
    struct validation_fitted_machine machine[VALIDATION_MAX_FITTED_MACHINES];
    int n_machines;
    /** Correlations of the constants' errors, 1 on the diagonal. */
    double correlation[VALIDATION_MAX_CALIBRATED][VALIDATION_MAX_CALIBRATED];
    int n_constants;
    const struct validation_figure *const *point; /**< borrowed; what was fitted */
    const double *residual;                       /**< ln(predicted / published), parallel */
    int n_points;
    /** Standard deviation of the residuals; threshold of Huber's function; value of the objective
     *  at the fit and before it. */
    double sigma, threshold, objective, objective_before;
    /** Simulations of all rows that the fit took. */
    int n_evaluations;
};
/** What a fitted row is worth when it was not looked at. */
struct validation_left_out {
    const struct validation_figure *ref; /**< borrowed */
    double fitted;                       /**< ln(predicted / published) with all rows fitted */
    double without_row;                  /**< of the fit without this row */
    double without_family; /**< of the fit without its family; NaN when no other row is left */
};
/** Errors against the number of free constants. */
struct validation_freedom {
    int n_free;                                /**< the first ones of the table of constants */
    char value[VALIDATION_MAX_CALIBRATED][48]; /**< of each, with unit */
    double fitted, never_fitted;               /**< mean absolute speed error of measured rows */
    double worst_never_fitted;                 /**< and the largest; NaN of no such row */
};
/** How far a fit may be trusted: the rows of kind calibration left out one by one and by family,
 * and the same rows fitted with 0, 1, 2, ... free constants, those that are not free at their
 * neutral values. */
struct validation_protocol {
    struct validation_left_out *left_out; /**< owned, n_left_out */
    int n_left_out;
    double rms_fitted, rms_without_row, rms_without_family; /**< of ln(predicted / published) */
    struct validation_freedom freedom[VALIDATION_MAX_CALIBRATED + 1];
    int n_freedoms;
};

/* ---- predictions and fits ---------------------------------------------------------------------
 */

/** What a comparison with published figures needs; all borrowed. */
struct validation_comparison {
    const struct validation_figure *ref;
    int n_refs;
    const char *params_dir, *cluster_dir; /**< where the models and machines of the rows lie */
    /** Stands in for the rows' machines that have the same grid of PEs; NULL: none. */
    const struct hw_machine *cluster;
    const struct conf_set *sets; /**< of all models and machines */
    int n_sets;
    struct comm *comm; /**< shares the rows over its ranks, all of which call; NULL: all here */
    /** Called before each item of a part of the work, items done of a total (0: unknown), with the
     *  name of the item (may be NULL).  May be NULL. */
    void (*progress)(void *ctx, const char *part, int done, int total, const char *what);
    void *progress_ctx;
};
/** Predictions of every row that says enough to be predicted, of all kinds. */
struct validation_result {
    struct validation_table report; /**< its rows are owned */
    struct validation_cases *cases; /**< owned; what the rows were computed from */
};
/** Predict the rows of @p comparison, of kind context those that are complete.  Collective.
 *  validation_result_fini() @p out also after an error. */
enum wsc_err validation_run(const struct validation_comparison *comparison,
                            struct validation_result *out) WSC_CHECKED;
/** Release what validation_run() allocated. */
void validation_result_fini(struct validation_result *v);

/** Result of validation_calibrate(). */
struct validation_calibration {
    struct validation_fit report;
    const struct validation_figure **point; /**< owned */
    double *residual;                       /**< owned */
};
/** Collective.  Fit the @p n_paths constants @p path (of validation_fittable_paths(); 0: those that
 * the machines of the rows have with kind calibrated) to the rows of kind calibration: least
 * squares of ln(predicted / published), with Huber's function so that no single row decides.  A
 * constant is fitted on the machines whose files have it with kind calibrated, and on all machines
 * when no file has.
 *  @p out borrows from the comparison; validation_calibration_fini() it also after an error. */
enum wsc_err validation_calibrate(const struct validation_comparison *comparison,
                                  const char *const *path, int n_paths,
                                  struct validation_calibration *out) WSC_CHECKED;
/** Names of the constants that may be fitted, without `cluster.`, in the order in which they become
 *  free; *@p n is their number. */
const char *const *validation_fittable_paths(int *n);
/** Leave rows and families out of the fit of @p path, and fit with every number of free constants.
 *  Collective.  validation_protocol_fini() @p out also after an error. */
enum wsc_err validation_leave_one_out(const struct validation_comparison *comparison,
                                      const char *const *path, int n_paths,
                                      struct validation_protocol *out) WSC_CHECKED;
/** Release what validation_leave_one_out() allocated. */
void validation_protocol_fini(struct validation_protocol *p);
/** Release what validation_calibrate() allocated. */
void validation_calibration_fini(struct validation_calibration *c);
#endif
