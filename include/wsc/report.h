/** Reports: writes tables, CSV files, HTML files and pictures of the results of other modules.
 *
 *  It computes no results: result types are declared where results are computed (<wsc/scaling.h>,
 *  <wsc/timeline.h>, <wsc/validation.h>, <wsc/job.h>), and files are written with <wsc/out.h>. A
 *  number that is not finite is an error (WSC_NUMERIC), never text. Not collective: rank 0 reports.
 *  Most functions have two forms: `_print` writes to stdout for people, `_write` writes files for
 *  programs; docs/FILES.md names the columns.
 *
 *      struct report_scaling s = {.row = rows, .n_rows = n, .scaling = "weak",
 *                                 .cluster = machine, .cluster_text = text, .command = command};
 *      TRY(report_scaling_write(dir, &s));
 *      TRY(report_scaling_print(&s));
 *
 *  Errors: WSC_IO (also when gnuplot is missing: tables are written before pictures), WSC_NUMERIC,
 *  WSC_NOMEM. Start reading at struct report_scaling. */
#ifndef WSC_REPORT_H
#define WSC_REPORT_H
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/job.h>
#include <wsc/law.h>
#include <wsc/out.h>
#include <wsc/scaling.h>
#include <wsc/timeline.h>
#include <wsc/validation.h>
#include <wsc/validation_exhibits.h>
#include <wsc/validation_products.h>
#include <wsc/zoo.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ---- wsc scale ------------------------------------------------------------------------------- */
/** Results that `wsc scale` reports; an absent one is NULL with a count of 0. Borrowed. */
struct report_scaling {
    /** The sweep: n_rows rows, in any order; with any of effect, fault, varied and sensitivity,
     *  model by model with ascending numbers of systems, because their tables and pictures are of
     *  the last row of each model, or of its last number of systems. */
    const struct scaling_row *row;
    int n_rows;
    /** Published points drawn with the curves, n_points. */
    const struct validation_point *point;
    int n_points;
    const char *scaling; /**< weak or strong */
    /** The machine of the sweep. */
    const struct hw_machine *cluster;
    const char *cluster_text; /**< the cluster file as read */
    const char *command;      /**< the command line, for provenance */
    /* Each of the following may be absent. */
    const struct scaling_variant *effect; /**< the sweep itself, then with each effect off */
    int n_effects;
    const struct scaling_variant *fault; /**< the sweep itself, then without each fault */
    int n_faults;
    /** The sweep at each value of one constant; varied_key is the key of the constant. */
    const struct scaling_variant *varied;
    int n_varied;
    const char *varied_key;
    /** For a sweep over sparsity: the variants of `varied` with all weight gradients computed. */
    const struct scaling_variant *varied_all;
    const struct scaling_sensitivity *sensitivity; /**< sensitivities of some of the models */
    int n_sensitivities;
    /** Whole trainings at each node count. */
    const struct scaling_training *training;
    int n_trainings;
    const struct timeline_step *breakdown; /**< one step each; files show only the first */
    int n_breakdowns;
};
/** Write scaling.csv, scaling.gp, scaling.svg, scaling.png, report.html under @p dir (made when
 * missing), and for results that are present: effects.csv, faults.csv, sweep.csv with a picture,
 * sensitivity.csv with tornado.svg and .png (a panel per model), training.csv. Each file appears
 * whole. Tables are written before pictures, so they exist even without gnuplot. */
enum wsc_err report_scaling_write(const char *dir, const struct report_scaling *s) WSC_CHECKED;
/** Write the text of scaling.csv into *@p text, owned by the caller. */
enum wsc_err report_scaling_csv(const struct report_scaling *s, char **text) WSC_CHECKED;
/** Print a table on stdout: one block per model, one row per node count, units for people; below it
 *  the breakdown of the scaling loss at the largest count. */
enum wsc_err report_scaling_print(const struct report_scaling *s) WSC_CHECKED;

/* ---- heat maps ------------------------------------------------------------------------------- */
/** One panel of a heat map: values of the PEs of the grid. */
struct report_panel {
    /** Line above the panel. */
    const char *title;
    const float *value; /**< (h, w), 0 .. 100 %; borrowed */
    bool peak; /**< a dot of several cells shows the maximum, not the mean; scale to 100 % */
};
/** Panels of one grid, side by side in one picture. */
struct report_heatmap {
    const char *title, *note; /**< two lines above all panels */
    int w, h;                 /**< 1 .. 2048 */
    /** Panels from left to right. */
    const struct report_panel *panel;
    int n_panels;
};
/** Cells along one side of a dot of the picture; 1 unless the grid is larger than 1024. */
int report_heatmap_fold(int w, int h);
/** Write the PNG @p path; an old file is replaced atomically. The scale of each panel ends at 1, 2
 *  or 5 times a power of ten, at or above its largest value. */
enum wsc_err report_heatmap_write(const char *path, const struct report_heatmap *map) WSC_CHECKED;

/* ---- predictions and fits ----------------------------------------------------------------------
 */
/** Print published figures of single products and their predictions. */
enum wsc_err report_products_print(const struct validation_product *rows, int n) WSC_CHECKED;
/** The files of report_products_write(), for messages and help. */
#define REPORT_PRODUCT_FILES "products.csv, products.md"
/** Write REPORT_PRODUCT_FILES under @p dir, which must exist. */
enum wsc_err report_products_write(const char *dir, const struct validation_product *rows,
                                   int n) WSC_CHECKED;
/** Print the tables of a validation: predictions with their speed error (predicted / published - 1
 *  in speed, positive: too fast), the breakdown of each prediction, rows that were not compared. */
enum wsc_err report_validation_print(const struct validation_table *v) WSC_CHECKED;
/** The files of report_validation_write(), for messages and help. */
#define REPORT_VALIDATION_FILES                                                                    \
    "validation.csv, validation.md, validation.gp, validation.svg, validation.png"
/** Write REPORT_VALIDATION_FILES under @p dir (made when missing). */
enum wsc_err report_validation_write(const char *dir, const struct validation_table *v) WSC_CHECKED;
/** Print the tables of `wsc calibrate --leave_one_out`: errors of each fitted row when the row, or
 *  its family, is left out of the fit; errors by number of free constants. */
enum wsc_err report_protocol_print(const struct validation_protocol *p) WSC_CHECKED;
/** Print the fitted constants with their errors and correlations, and the fitted rows. */
enum wsc_err report_calibration_print(const struct validation_fit *c) WSC_CHECKED;
/** Write a cluster file @p path that is based on @p base (its name as written in the file). It has
 *  the constants fitted on machine number @p machine, with kind calibrated, standard errors, and
 *  the fitted rows as source, and those of the command line that @p with, the machine of the fit,
 *  has. The machine is read back before the file gets its name. WSC_CONFIG, and no file: the
 *  fitted correlations contradict those of the base. */
enum wsc_err report_calibration_write(const char *path, const char *base,
                                      const struct validation_fit *c, int machine,
                                      const struct hw_machine *with) WSC_CHECKED;

/* ---- exhibits -------------------------------------------------------------------------------- */
/** Print tables of the rows and of the points of the curves of each exhibit on stdout. */
enum wsc_err report_reproduction_print(const struct validation_reproduction *r) WSC_CHECKED;
/** Write files under @p dir (made when missing): for each exhibit `<id>.csv`, `<id>_curves.csv`,
 *  `<id>.svg` and `<id>.png`; for all exhibits reproduction.html and reproduction.pdf. If a picture
 *  cannot be drawn, all other files are written, and the error (WSC_IO) is returned at the end. */
enum wsc_err report_reproduction_write(const char *dir,
                                       const struct validation_reproduction *r) WSC_CHECKED;
/** Append to @p names, separated by commas, the files of @p dir with an ending of exhibit files
 * that report_reproduction_write() does not write for @p r: files of other exhibits, other rows or
 *  another program. WSC_IO: the folder cannot be read. */
enum wsc_err report_reproduction_others(const char *dir, const struct validation_reproduction *r,
                                        struct wsc_text *names) WSC_CHECKED;

/* ---- machines -------------------------------------------------------------------------------- */
/** Print every constant of @p cluster with value, kind and source, as a table. */
enum wsc_err report_constants_print(const struct hw_machine *cluster) WSC_CHECKED;
/** The constants of report_constants_print() as JSON, with `low` and `high` in base units. */
enum wsc_err report_constants_print_json(const struct hw_machine *cluster) WSC_CHECKED;

/* ---- jobs ------------------------------------------------------------------------------------ */

/** Print @p d on stdout: as text (the effective params as YAML, model, batch, schedule, precision,
 *  parameters by module, notes; with a plan also the stages and @p speed, which may be NULL), or as
 *  one JSON object on one line with the fields of docs/FILES.md. */
enum wsc_err report_job_print(const struct job_description *d, const struct scaling_row *speed,
                              bool json) WSC_CHECKED;
/** Print the speeds of @p n micro-batches, of which number @p best is the fastest, for people. */
enum wsc_err report_explored_print(const struct scaling_row *row, int n, int best) WSC_CHECKED;
/** Print the speeds of report_explored_print() as one JSON object: `micro_batch_size`, `explored`.
 */
enum wsc_err report_explored_print_json(const struct scaling_row *row, int n, int best) WSC_CHECKED;
/* ---- step breakdown -------------------------------------------------------------------------- */

/** Print the breakdown of a step: the ten longest modules, in the form of the Model Zoo's profiler;
 *  the critical path by part, and its longest segments; the load of the links by kind. */
enum wsc_err report_step_print(const struct timeline_step *a) WSC_CHECKED;
/** Write `critical_path.csv`, `links.csv`, `op_profile.csv` under @p dir (made when missing). */
enum wsc_err report_step_write(const char *dir, const struct timeline_step *a) WSC_CHECKED;

/** Write docs/CONFIG.md into *@p text, owned by the caller: every key of all tables with type,
 *  unit, default and meaning. */
enum wsc_err report_config_reference(char **text) WSC_CHECKED;
/** Kinds of files that users write: manual pages wsc-params(5) and wsc-cluster(5). */
enum report_config_file { REPORT_PARAMS_FILE, REPORT_CLUSTER_FILE };
/** Write the manual page of one kind of files into *@p text, owned by the caller: the text of
 *  report_config_reference() about it, in man(7) macros. */
enum wsc_err report_config_manual(enum report_config_file file, char **text) WSC_CHECKED;
/** Write the JSON Schema (draft 7) of one kind of files into *@p text, owned by the caller. It
 *  describes all values that the key tables allow, params files in all styles; conditions that
 *  involve several keys are not included. WSC_NOMEM. */
enum wsc_err report_config_schema(enum report_config_file file, char **text) WSC_CHECKED;
/* ---- wsc law --------------------------------------------------------------------------------- */
/** Results that `wsc law` reports; borrowed. */
struct report_law {
    const struct law_point *point; /**< fitted points and points that are compared with the fit */
    int n_points;
    const struct law_fit *fit;
    double left_out; /**< law_leave_out_last() */
    const struct law_prediction *prediction;
    int n_predictions;
    double target; /**< loss to reach; 0: none */
};
/** Print points, law with intervals, predictions and the cost of the target as text on stdout. */
enum wsc_err report_law_print(const struct report_law *r) WSC_CHECKED;
/** The tables of report_law_write(), for messages and help. */
#define REPORT_LAW_TABLES "law.csv, predictions.csv"
/** The picture of report_law_write(), which needs a law, for messages and help. */
#define REPORT_LAW_PICTURES "law.gp, law.svg, law.png"
/** Write REPORT_LAW_TABLES, then REPORT_LAW_PICTURES, under @p dir (made when missing). */
enum wsc_err report_law_write(const char *dir, const struct report_law *r) WSC_CHECKED;
#endif
