/** What a run leaves behind: metrics, performance, tables, pictures, progress.  Layer 2.
 *
 *  Owns jansson.  Drawing is gnuplot's, started as a program.  Every number comes in as an
 *  argument; nothing is computed here but formatting.
 */
#ifndef WSC_REPORT_H
#define WSC_REPORT_H
#include <wsc/conf.h>
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/** Where the time of a step or a run went, ps; the parts add up to the whole exactly. */
struct report_breakdown {
    int64_t compute_ps, weights_wait_ps, reduce_wait_ps, boundary_ps;
};

/** One logged training step. */
struct report_step {
    int64_t step;
    double loss, lr, grad_norm, loss_scale;
    int64_t tokens;                   /**< trained so far, all steps */
    int64_t virtual_time_ps, step_time_ps;
    double samples_per_s, tokens_per_s;           /**< of the emulated machine, this step */
    double host_samples_per_s, host_tokens_per_s; /**< of this program on this host */
    bool has_hash;
    uint64_t weights_hash;
    struct report_breakdown breakdown;
};

/* ---- metrics.jsonl --------------------------------------------------------------------------- */
struct report_metrics;
/** Open `<dir>/metrics.jsonl`, keeping only whole lines with step <= @p keep_to (resume); a line
 *  is written whole or not at all. */
enum wsc_err report_metrics_open(struct report_metrics **out, const char *dir,
                                 int64_t keep_to) WSC_CHECKED;
enum wsc_err report_metrics_step(struct report_metrics *m, const struct report_step *step) WSC_CHECKED;
/** One evaluation: `{"step", "eval_loss", "eval_accuracy", "eval_perplexity", "samples"}`. */
enum wsc_err report_metrics_eval(struct report_metrics *m, int64_t step, double loss,
                                 double accuracy, double perplexity, int64_t samples) WSC_CHECKED;
void report_metrics_close(struct report_metrics **m);

/* ---- performance.json ------------------------------------------------------------------------ */
struct report_performance {
    int64_t num_csx, ranks, roles, params, global_batch_size, micro_batch_size, steps;
    int64_t virtual_time_ps;
    double samples_per_s, tokens_per_s, mfu, joules_per_token;
    double host_seconds, host_tokens_per_s;
    struct report_breakdown breakdown;
    const char *model_name, *params_file, *cluster_file, *cluster_name;
    uint64_t cluster_hash;
    const char *numerics; /**< host, none, mesh */
};
enum wsc_err report_performance_write(const char *dir,
                                      const struct report_performance *p) WSC_CHECKED;
/** The same object on stdout. */
enum wsc_err report_performance_print(const struct report_performance *p) WSC_CHECKED;

/* ---- wsc scale ------------------------------------------------------------------------------- */
/** One row of scaling.csv. */
struct report_scale_row {
    const char *model;                /**< borrowed */
    int64_t params, num_csx, global_batch, micro_batch;
    double tokens_per_s, samples_per_s, speedup, efficiency;
    int64_t step_time_ps;
    struct report_breakdown breakdown;
    double mfu, joules_per_token;
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
    const char *scaling;              /**< weak or strong */
    const struct conf_cluster *cluster;
    const char *cluster_text;         /**< the cluster file as read */
    const char *command;              /**< the command line, for provenance */
};
/** scaling.csv, scaling.svg, scaling.png, report.html under @p dir (made when missing). */
enum wsc_err report_scaling_write(const char *dir, const struct report_scaling *s) WSC_CHECKED;
/** The table on stdout: one block per model, a row per node count, human units. */
void report_scaling_print(const struct report_scaling *s);
/** Points of a CSV `model,num_csx,tokens_per_s,source,...` with a header line; owned array. */
enum wsc_err report_points_read(const char *path, struct report_point **points, int *n) WSC_CHECKED;

/* ---- progress -------------------------------------------------------------------------------- */
/** On a terminal (stderr) one line that is redrawn at most ten times a second; elsewhere nothing,
 *  the log lines tell.  One at a time. */
void report_progress_start(const char *what, int64_t total);
void report_progress(int64_t done, const char *note);
void report_progress_end(void);

/** `12.3 k`, `4.5 M`: three significant digits with an SI prefix. */
void report_si(char *text, int size, double value);
/** Make a folder and its parents. */
enum wsc_err report_mkdir(const char *path) WSC_CHECKED;
/** Program version and source revision, e.g. "wsc 0.1.0 (a1b2c3d)". */
const char *report_version(void);
#endif
