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
/** What `wsc scale` reports; what is absent is NULL with a count of 0.  Borrowed. */
struct report_scaling {
    /** The sweep: n_rows rows, in any order. */
    const struct scaling_row *row;
    int n_rows;
    /** Published points beside the curves, n_points. */
    const struct validation_point *point;
    int n_points;
    const char *scaling; /**< weak or strong */
    /** The machine of the sweep. */
    const struct hw_machine *cluster;
    const char *cluster_text; /**< the cluster file as read */
    const char *command;      /**< the command line, for provenance */
    /** Each may be absent. */
    const struct scaling_variant *effect; /**< the first one is the sweep itself */
    int n_effects;
    const struct scaling_variant *fault; /**< the sweep itself, then without each fault */
    int n_faults;
    /** The sweep at each value of one constant, and its key. */
    const struct scaling_variant *varied;
    int n_varied;
    const char *varied_key;
    /** A sweep over sparsity, which `varied` is then, has a second one: the same with all weight
     * gradients computed. */
    const struct scaling_variant *varied_all;
    const struct scaling_sensitivity *sensitivity; /**< of some of the models */
    int n_sensitivities;
    /** Whole trainings at each node count. */
    const struct scaling_training *training;
    int n_trainings;
    const struct timeline_step *breakdown; /**< of one step each; files are of the first */
    int n_breakdowns;
};
/** Write scaling.csv, scaling.svg, scaling.png, report.html under @p dir (made when missing); and
 *  of what is there: effects.csv, faults.csv, sweep.csv with a picture, sensitivity.csv with
 *  tornado.svg and .png, training.csv.  Each file appears whole; tables come before pictures, so
 *  that they are there when gnuplot is not. */
enum wsc_err report_scaling_write(const char *dir, const struct report_scaling *s) WSC_CHECKED;
/** Write the text of scaling.csv into *@p text, owned by the caller. */
enum wsc_err report_scaling_csv(const struct report_scaling *s, char **text) WSC_CHECKED;
/** The table on stdout: one block per model, a row per node count, human units, and below it where
 *  the loss at the largest count comes from. */
enum wsc_err report_scaling_print(const struct report_scaling *s) WSC_CHECKED;

/* ---- heat maps ------------------------------------------------------------------------------- */
/** One of several pictures of the same grid. */
struct report_panel {
    /** Line above the panel. */
    const char *title;
    const float *value; /**< (h, w), 0 .. 100 %; borrowed */
    bool peak; /**< a dot of several cells shows the greatest, not the mean; scale to 100 % */
};
/** Panels of one grid, side by side in one picture. */
struct report_heatmap {
    const char *title, *note; /**< two lines over all */
    int w, h;                 /**< 1 .. 2048 */
    /** Panels from left to right. */
    const struct report_panel *panel;
    int n_panels;
};
/** Cells along the side of a dot of the picture: 1 unless the grid is larger than 1024. */
int report_heatmap_fold(int w, int h);
/** Write the PNG @p path, replaced at once.  The scale of each panel ends at 1, 2 or 5 times a
 *  power of ten that holds its values. */
enum wsc_err report_heatmap_write(const char *path, const struct report_heatmap *map) WSC_CHECKED;

/* ---- predictions and fits ----------------------------------------------------------------------
 */
/** Print figures of single products beside their predictions. */
enum wsc_err report_products_print(const struct validation_product *rows, int n) WSC_CHECKED;
/** Write products.csv and products.md under @p dir, which is there. */
enum wsc_err report_products_write(const char *dir, const struct validation_product *rows,
                                   int n) WSC_CHECKED;
/** Print the tables of a validation: predictions with their speed error (predicted / published - 1
 *  in speed, positive: too fast), what each consists of, what was not compared. */
enum wsc_err report_validation_print(const struct validation_table *v) WSC_CHECKED;
/** Write validation.csv, validation.md, validation.svg, validation.png under @p dir (made when
 *  missing). */
enum wsc_err report_validation_write(const char *dir, const struct validation_table *v) WSC_CHECKED;
/** Print the tables of `wsc calibrate --leave_one_out`: fitted rows when they and when their
 *  families are left out, and errors against the number of free constants. */
enum wsc_err report_protocol_print(const struct validation_protocol *p) WSC_CHECKED;
/** Print the fitted constants with their errors and correlations, and the fitted rows. */
enum wsc_err report_calibration_print(const struct validation_fit *c) WSC_CHECKED;
/** Write a cluster file @p path that is based on @p base (as it is to be written) and holds the
 *  constants fitted on machine number @p machine with kind calibrated, standard errors and the
 *  fitted rows as their source. */
enum wsc_err report_calibration_write(const char *path, const char *base,
                                      const struct validation_fit *c, int machine) WSC_CHECKED;

/* ---- exhibits -------------------------------------------------------------------------------- */
/** The rows and the points of the curves of each exhibit as tables on stdout. */
enum wsc_err report_reproduction_print(const struct validation_reproduction *r) WSC_CHECKED;
/** Under @p dir (made when missing): for each exhibit `<id>.csv`, `<id>_curves.csv`, `<id>.svg` and
 *  `<id>.png`; reproduction.html and reproduction.pdf of all.  A picture that cannot be drawn keeps
 *  no other file away and is the error at the end (WSC_IO). */
enum wsc_err report_reproduction_write(const char *dir,
                                       const struct validation_reproduction *r) WSC_CHECKED;
/** Append to @p names the files of @p dir that end as those of an exhibit do and that
 *  report_reproduction_write() does not write for @p r, separated by commas: those of other
 *  exhibits, of other rows or of another program.  WSC_IO: the folder cannot be read. */
enum wsc_err report_reproduction_others(const char *dir, const struct validation_reproduction *r,
                                        struct wsc_text *names) WSC_CHECKED;

/* ---- machines -------------------------------------------------------------------------------- */
/** Print every constant of @p cluster with value, kind and source, as a table. */
enum wsc_err report_constants_print(const struct hw_machine *cluster) WSC_CHECKED;
/** The constants of report_constants_print() as JSON, with `low` and `high` in base units. */
enum wsc_err report_constants_print_json(const struct hw_machine *cluster) WSC_CHECKED;

/* ---- what a params file means ---------------------------------------------------------------- */

/** Print @p d on stdout, as text (the effective params as YAML, model, batch, schedule, precision,
 *  parameters by module, notes; with a plan the stages, and @p speed, which may be NULL) or as one
 *  JSON object on a line, whose fields docs/FILES.md names. */
enum wsc_err report_job_print(const struct job_description *d, const struct scaling_row *speed,
                              bool json) WSC_CHECKED;
/** Speeds of @p n micro-batches of which @p best is the fastest, for people or as one JSON object:
 *  `micro_batch_size`, `explored`. */
enum wsc_err report_explored_print(const struct scaling_row *row, int n, int best) WSC_CHECKED;
/** The speeds of report_explored_print() as one JSON object: `micro_batch_size`, `explored`. */
enum wsc_err report_explored_print_json(const struct scaling_row *row, int n, int best) WSC_CHECKED;
/* ---- one step, taken apart ------------------------------------------------------------------- */

/** Print a step taken apart: the ten longest modules in the manner of the Model Zoo's profiler, the
 *  critical path by part and its longest segments, the load of the links by kind. */
enum wsc_err report_step_print(const struct timeline_step *a) WSC_CHECKED;
/** Write `critical_path.csv`, `links.csv`, `op_profile.csv` under @p dir (made when missing). */
enum wsc_err report_step_write(const char *dir, const struct timeline_step *a) WSC_CHECKED;

/** Write docs/CONFIG.md into *@p text, owned by the caller: every key of all tables with type,
 *  unit, default and meaning. */
enum wsc_err report_config_reference(char **text) WSC_CHECKED;
/** Kinds of files that users write: manual pages wsc-params(5) and wsc-cluster(5). */
enum report_config_file { REPORT_PARAMS_FILE, REPORT_CLUSTER_FILE };
/** Write the manual page of one kind of files into *@p text, owned by the caller: what
 *  report_config_reference() says of it, in the macros of man(7). */
enum wsc_err report_config_manual(enum report_config_file file, char **text) WSC_CHECKED;
/** Write the JSON Schema (draft 7) of one kind of files into *@p text, owned by the caller: what
 * the key tables allow; params files of both styles.  What several keys decide together is not in
 * it. WSC_NOMEM. */
enum wsc_err report_config_schema(enum report_config_file file, char **text) WSC_CHECKED;
/* ---- wsc law --------------------------------------------------------------------------------- */
/** What `wsc law` reports; borrowed. */
struct report_law {
    const struct law_point *point; /**< those of the fit, and those that are judged by it */
    int n_points;
    const struct law_fit *fit;
    double left_out; /**< law_leave_out_last() */
    const struct law_prediction *prediction;
    int n_predictions;
    double target; /**< loss to reach; 0: none was asked for */
};
/** Points, law with intervals, predictions and what the target takes, as text on stdout. */
enum wsc_err report_law_print(const struct report_law *r) WSC_CHECKED;
/** Write law.csv and predictions.csv, then law.gp, law.svg and law.png, under @p dir (made when
 *  missing). */
enum wsc_err report_law_write(const char *dir, const struct report_law *r) WSC_CHECKED;
#endif
