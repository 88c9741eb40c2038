/** What a run leaves behind: metrics, performance, tables, pictures, progress.  Layer 2.
 *
 *  Owns jansson.  Drawing is gnuplot's, started as a program.  Every number comes in as an
 *  argument; nothing is computed here but formatting (and differences of two rows, for words).
 *  The one invariant: what is written parses back to the same value, and a number that is not
 *  finite is an error (WSC_NUMERIC), never text.  Not collective: rank 0 reports.
 *  Start reading at struct job_logged_step and struct report_scaling.
 */
#ifndef WSC_REPORT_H
#define WSC_REPORT_H
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/out.h>
#include <wsc/vtime.h>
#include <wsc/zoo.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ---- wsc scale ------------------------------------------------------------------------------- */
/** One row of scaling.csv. */
struct report_scale_row {
    const char *model; /**< borrowed */
    int64_t params, num_csx, global_batch, micro_batch;
    double tokens_per_s, samples_per_s, speedup, efficiency;
    int64_t step_time_ps;
    struct vtime_breakdown breakdown;
    double mfu, joules_per_token;
};
/** The rows of a sweep on one variant of the machine. */
struct report_variant {
    char name[160];               /**< "all", "without jitter", "1 us" */
    double value;                 /**< of the constant that was varied, base units; 0 otherwise */
    struct report_scale_row *row; /**< owned; n_models x n_counts, models first */
};
/** One uncertain constant and what it does to a curve. */
struct report_constant {
    const char *key, *kind;            /**< static */
    char value[48], low[48], high[48]; /**< with units */
    /** tokens/s with the constant at its low and at its high end, relative to the curve, by node
     *  count; NaN where the model does not fit.  Owned. */
    double *at_low, *at_high;
};
struct report_sensitivity {
    const char *model;     /**< borrowed */
    int64_t *num_csx;      /**< owned, n_counts */
    double *below, *above; /**< owned, n_counts: the band, relative to the curve: 0.9, 1.1 */
    double *tokens_per_s;  /**< owned, n_counts: the curve */
    int n_counts;
    struct report_constant *constant; /**< owned, largest effect at the last count first */
    int n;
};
/** A whole training at one node count. */
struct report_training {
    const char *model; /**< borrowed */
    int64_t params, num_csx;
    double tokens, seconds, joules, flop, loss; /**< loss: expected, nats per token */
};
/** A published measurement to draw beside the curves. */
struct report_point {
    char model[64];
    double num_csx, tokens_per_s;
    char source[128];
};
struct report_scaling {
    const struct report_scale_row *row;
    int n_rows;
    const struct report_point *point;
    int n_points;
    const char *scaling; /**< weak or strong */
    const struct hw_machine *cluster;
    const char *cluster_text; /**< the cluster file as read */
    const char *command;      /**< the command line, for provenance */
    /** Each may be absent. */
    const struct report_variant *effect; /**< the first one is the sweep itself */
    int n_effects;
    const struct report_variant *fault; /**< the sweep itself, then without each fault */
    int n_faults;
    const struct report_variant *varied;
    int n_varied;
    const char *varied_key;
    const struct report_sensitivity *sensitivity; /**< of some of the models */
    int n_sensitivities;
    const struct report_training *training;
    int n_trainings;
    const struct report_anatomy *anatomy;
    int n_anatomies;
};
/** scaling.csv, scaling.svg, scaling.png, report.html under @p dir (made when missing); and of what
 *  is there: effects.csv, faults.csv, sweep.csv with a picture, sensitivity.csv with tornado.svg
 * and .png, training.csv. */
enum wsc_err report_scaling_write(const char *dir, const struct report_scaling *s) WSC_CHECKED;
/** The table on stdout: one block per model, a row per node count, human units, and below it where
 *  the loss at the largest count comes from. */
enum wsc_err report_scaling_print(const struct report_scaling *s) WSC_CHECKED;
/** Points of a CSV that starts with the line `model,num_csx,tokens_per_s,source` (more columns
 *  may follow); `#` lines and blank lines are skipped, fields may be quoted.  *@p points is owned
 *  by the caller. */
enum wsc_err report_points_read(const char *path, struct report_point **points, int *n) WSC_CHECKED;

/* ---- heat maps ------------------------------------------------------------------------------- */
/** One of several pictures of the same grid. */
struct report_panel {
    const char *title;
    const float *value; /**< (h, w), 0 .. 100 %; borrowed */
    bool peak; /**< a dot of several cells shows the greatest, not the mean; scale to 100 % */
};
struct report_heatmap {
    const char *title, *note; /**< two lines over all */
    int w, h;                 /**< 1 .. 2048 */
    const struct report_panel *panel;
    int n_panels;
};
/** Cells along the side of a dot of the picture: 1 unless the grid is larger than 1024. */
int report_heatmap_fold(int w, int h);
/** The PNG @p path, replaced at once.  The scale of each panel ends at 1, 2 or 5 times a power of
 *  ten that holds its values. */
enum wsc_err report_heatmap_write(const char *path, const struct report_heatmap *map) WSC_CHECKED;

/* ---- published figures ----------------------------------------------------------------------- */
/** What was measured; src/report/reference.c has the names and units. */
enum report_quantity {
    REPORT_TIME,       /**< of `samples` samples: h, s, ms */
    REPORT_RATE,       /**< samples/s, tokens/s */
    REPORT_SPEEDUP,    /**< of num_csx systems over one, the batch per system the same */
    REPORT_EFFICIENCY, /**< the same over the number of systems */
    REPORT_BOUNDARY,   /**< s of a step in which the wafers wait for its end */
    REPORT_OTHER       /**< whatever a row of kind context tells */
};
enum report_reference_kind {
    REPORT_CALIBRATION, /**< constants were fitted on it */
    REPORT_VALIDATION,  /**< compared, not fitted */
    REPORT_CONTEXT      /**< not compared; `reason` says why */
};
/** A published figure with its conditions: a row of benchmarks/reference. */
struct report_reference {
    char id[48];
    enum report_quantity quantity;
    char unit[16];
    double value; /**< as published, in unit */
    double samples;
    char model[48];       /**< name of a params file */
    int64_t num_csx;      /**< 0: not told */
    int64_t global_batch; /**< sequences; 0: not told */
    int64_t micro_batch;  /**< per system, or CONF_AUTO */
    int64_t msl;          /**< tokens of a sequence */
    char cluster[32];     /**< name of a cluster file */
    char set[128];        /**< overrides `path=value`, separated by `;` */
    enum report_reference_kind kind;
    double low, high;   /**< what a prediction must lie in, in unit */
    char tolerance[32]; /**< as written: `10 %` or LOW..HIGH */
    char reason[192], conditions[256], source[160];
};
/** Read the rows of a CSV with the columns id, quantity, unit, value, samples, model, num_csx,
 *  global_batch, micro_batch, msl, cluster, set, kind, tolerance, reason, conditions, source in any
 *  order, and add them to *@p rows (owned by the caller, NULL at first; stays valid after an
 *  error).  Errors (WSC_FORMAT) name file, line, column and the field. */
enum wsc_err report_references_read(const char *path, struct report_reference **rows,
                                    int *n) WSC_CHECKED;
const char *report_quantity_name(enum report_quantity quantity);
const char *report_reference_kind_name(enum report_reference_kind kind);
/** The figure @p ref would show for a machine that trains @p samples_per_s (REPORT_TIME,
 *  REPORT_RATE), in its unit. */
double report_reference_of_rate(const struct report_reference *ref, double samples_per_s);
/** The rates among @p rows as points for a plot, one for each model, number of systems and source;
 *  owned by the caller. */
enum wsc_err report_points_of(const struct report_reference *rows, int n_rows,
                              struct report_point **points, int *n) WSC_CHECKED;

enum { REPORT_MAX_CALIBRATED = 3 };
/** A published figure and what the emulator makes of it. */
struct report_prediction {
    const struct report_reference *ref; /**< borrowed */
    double predicted;                   /**< in the unit of ref */
    double neutral; /**< the same with the calibrated constants at their neutral values */
    /** Change of the prediction, relative, when a calibrated constant grows by a tenth. */
    double sensitivity[REPORT_MAX_CALIBRATED];
    /** The step behind it (of num_csx systems): time, where it went, share of the peak. */
    int64_t step_time_ps;
    double mfu, mfu_neutral;
    int64_t micro_batch;
    int lanes;
    struct vtime_breakdown breakdown;
    /** What breakdown.compute_ps consists of; jitter may be negative. */
    int64_t products_ps, attention_ps, elementwise_ps, recompute_ps, latency_ps, jitter_ps;
};
bool report_prediction_holds(const struct report_prediction *p);
struct report_validation {
    const struct report_prediction *row;
    int n_rows;
    const struct report_reference *context; /**< all rows; those of kind context are listed */
    int n_context;
    const struct hw_source *calibrated[REPORT_MAX_CALIBRATED]; /**< borrowed */
    int n_calibrated;
    const char *command; /**< for provenance */
};
/** The tables on stdout: predictions, what each consists of, what was not compared. */
enum wsc_err report_validation_print(const struct report_validation *v) WSC_CHECKED;
/** validation.csv, validation.md, validation.svg, validation.png under @p dir (made when missing).
 */
enum wsc_err report_validation_write(const char *dir,
                                     const struct report_validation *v) WSC_CHECKED;

/** One constant of a fit. */
struct report_fitted {
    char path[64];          /**< without `cluster.` */
    char value[48];         /**< with unit */
    char error[48];         /**< standard error with unit; "" when the points do not tell */
    char low[48], high[48]; /**< two standard errors around the value, inside the key's range */
};
struct report_calibration {
    struct report_fitted constant[REPORT_MAX_CALIBRATED];
    double correlation[REPORT_MAX_CALIBRATED][REPORT_MAX_CALIBRATED];
    int n_constants;
    const struct report_reference *const *point; /**< borrowed; what was fitted */
    const double *residual;                      /**< ln(predicted / published), parallel */
    int n_points;
    double sigma, threshold, objective, objective_before;
    int n_evaluations;
};
enum wsc_err report_calibration_print(const struct report_calibration *c) WSC_CHECKED;
/** A cluster file @p path that is based on @p base (as it is to be written) and holds the fitted
 *  constants with kind calibrated. */
enum wsc_err report_calibration_write(const char *path, const char *base,
                                      const struct report_calibration *c) WSC_CHECKED;

/* ---- machines -------------------------------------------------------------------------------- */
/** Every constant of @p cluster with value, kind and source on stdout, as a table or as JSON; low
 *  and high of JSON are its uncertainty in base units. */
enum wsc_err report_constants_print(const struct hw_machine *cluster) WSC_CHECKED;
enum wsc_err report_constants_print_json(const struct hw_machine *cluster) WSC_CHECKED;

/* ---- what a params file means ---------------------------------------------------------------- */

/** Parameters of one module. */
struct report_part {
    const char *name;
    int64_t n_params;
};
/** What `wsc run --validate_only` tells; all borrowed. */
struct report_params {
    const struct zoo_params *conf;
    const char *family;
    int64_t n_params; /**< tied tensors counted once */
    int64_t head_dim; /**< width of a head */
    const struct report_part *part;
    int n_parts;
    const struct report_scale_row *speed; /**< of the emulated machine; NULL: not asked for */
};
/** The effective params as YAML, then model, batch, schedule, precision, sparsity, parameters by
 *  module, and notes about what is accepted without effect, on stdout. */
enum wsc_err report_params_print(const struct report_params *params) WSC_CHECKED;
/** The speed of @p row, for people, on stdout. */
enum wsc_err report_speed_print(const struct report_scale_row *row) WSC_CHECKED;
/** Speeds of @p n micro-batches of which @p best is the fastest, for people or as one JSON object:
 *  `micro_batch_size`, `explored`. */
enum wsc_err report_explored_print(const struct report_scale_row *row, int n, int best) WSC_CHECKED;
enum wsc_err report_explored_print_json(const struct report_scale_row *row, int n,
                                        int best) WSC_CHECKED;
/** The same as one JSON object on a line of stdout; docs/FILES.md names its fields. */
enum wsc_err report_params_print_json(const struct report_params *params) WSC_CHECKED;

/* ---- one step, taken apart ------------------------------------------------------------------- */

/** A stretch of the critical path. */
struct report_stretch {
    const char *part; /**< what takes the time; static */
    char who[48];     /**< whose event: "wafer 3" */
    char what[64];    /**< about what: "layers.3 backward" */
    int64_t begin_ps, end_ps;
};
/** One direction of a link in a step. */
struct report_link {
    char from[48], to[48];
    int64_t rate_bytes_per_s; /**< 0: no limit */
    int64_t bytes, busy_ps, n_messages;
};
/** Time of a module of the model in a step. */
struct report_module {
    char name[96];
    int64_t ps;
};
/** All of them, of one step of @p num_csx systems. */
struct report_anatomy {
    const char *model;
    int64_t num_csx, step_time_ps, n_events;
    const struct report_stretch *path;
    int n_path;
    const struct report_link *link;
    int n_links;
    const struct report_module *module;
    int n_modules;
};
/** On stdout: the ten longest modules in the manner of the Model Zoo's profiler, the critical path
 *  by part and its longest stretches, the load of the links by kind. */
enum wsc_err report_anatomy_print(const struct report_anatomy *a) WSC_CHECKED;
/** `critical_path.csv`, `links.csv`, `op_profile.csv` under @p dir (made when missing). */
enum wsc_err report_anatomy_write(const char *dir, const struct report_anatomy *a) WSC_CHECKED;

/** docs/CONFIG.md: every key of both tables with type, unit, default and meaning; owned. */
enum wsc_err report_config_reference(char **text) WSC_CHECKED;
#endif
