/** What the subcommands share: the table of commands, files of the user and of the program, the
 *  report of errors, the step breakdown.  Each subcommand is one file, cmd_NAME.c. */
#ifndef WSC_APP_H
#define WSC_APP_H
#include "options.h"
#include "requests.h"

#include <wsc/comm.h>
#include <wsc/conf.h>
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/report.h>
#include <wsc/scaling.h>
#include <wsc/timeline.h>
#include <wsc/zoo.h>

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- commands -------------------------------------------------------------------------------- */

/** Commands as a set of bits, for the rows of the options. */
enum {
    APP_ON_RUN = 1 << 0,
    APP_ON_SCALE = 1 << 1,
    APP_ON_VALIDATE = 1 << 2,
    APP_ON_CALIBRATE = 1 << 3,
    APP_ON_MESH = 1 << 4,
    APP_ON_DATA = 1 << 5,
    APP_ON_TRAIN_BPE = 1 << 6,
    APP_ON_CONVERT = 1 << 7,
    APP_ON_INSPECT = 1 << 8,
    APP_ON_RANKS = 1 << 9
};
/** The table of commands, ended by a row without a name. */
extern const struct app_command app_commands[];

/** What a command does with its request; the error is not yet printed. */
enum wsc_err app_run_job(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_scale(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_validate(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_calibrate(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_mesh(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_data(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_train_bpe(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_convert(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_inspect(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_ranks(struct app_call *call) WSC_CHECKED;

/** The command line as one string, for provenance; set by main. */
const char *app_command_line(void);
/** Marks the error as printed, by this rank or by another: main prints nothing. */
void app_set_reported(void);
/** Pass on an error that every rank of @p comm (or NULL) finds alike: rank 0 prints it. */
enum wsc_err app_reported_once(struct comm *comm, enum wsc_err rc) WSC_CHECKED;

/* ---- files of the user ----------------------------------------------------------------------- */

/** Read and parse the params.  Rank 0 reads, every rank parses the same bytes.  @p comm may be
 *  NULL: this process alone. */
enum wsc_err app_load_params(struct comm *comm, const struct app_config *c,
                             struct zoo_params *params) WSC_CHECKED;
/** First half of app_load_params(): the text, owned by the caller. */
enum wsc_err app_read_params(struct comm *comm, const struct app_config *c, char **bytes,
                             size_t *n) WSC_CHECKED;
/** Second half of app_load_params(), for trainer number @p phase of a list of trainers, from 1; 0
 *  leaves that to the sets. */
enum wsc_err app_parse_params(struct comm *comm, const struct app_config *c, const char *bytes,
                              size_t n, int phase, struct zoo_params *params) WSC_CHECKED;
/** Read and parse the cluster file; no path takes the built-in CS-2.  *@p text (owned by the
 *  caller; @p text may be NULL) is the file. */
enum wsc_err app_load_cluster(struct comm *comm, const struct app_config *c,
                              struct hw_machine *cluster, char **text) WSC_CHECKED;
/** Refuse faults that come or go, because `wsc scale` looks at one step that stands for all; the
 *  error says so. */
enum wsc_err app_refuse_passing_faults(const struct hw_machine *cluster) WSC_CHECKED;

/* ---- files that come with the program -------------------------------------------------------- */

enum app_shipped { APP_REFERENCE, APP_PARAMS, APP_CLUSTER, APP_N_SHIPPED };
/** Find a folder that comes with the program, in the source tree or where it was installed; false
 *  when it is not there. */
bool app_find_folder(enum app_shipped folder, char *path, size_t size);
/** Read all *.csv of @p dir, by name; *@p rows is owned by the caller. */
enum wsc_err app_read_references(const char *dir, struct validation_figure **rows,
                                 int *n) WSC_CHECKED;

/** What `wsc validate` and `wsc calibrate` compare. */
struct app_comparison {
    char params_dir[PATH_MAX], cluster_dir[PATH_MAX];
    struct hw_machine cluster; /**< of config.cluster_path */
    bool has_cluster;
    struct validation_figure *rows; /**< owned */
    struct validation_comparison comparison;
};
/** Read the published figures and find models and machines.  app_comparison_fini() @p c also after
 *  an error. */
enum wsc_err app_comparison_open(struct app_comparison *c, const struct app_config *config,
                                 const struct app_figures *figures) WSC_CHECKED;
void app_comparison_fini(struct app_comparison *c);

/* ---- parts of commands ----------------------------------------------------------------------- */

/** A step breakdown: profile, critical path, links. */
struct app_breakdown {
    struct timeline_step report;
    struct timeline_segment *path;  /**< owned */
    struct timeline_link *link;     /**< owned */
    struct timeline_module *module; /**< owned */
    struct timeline_module *layer;  /**< owned */
};
/** Collect the newest step of @p t in @p b, whose report has the model and num_csx already; write a
 *  trace of all steps and a GOAL schedule where paths are given. */
enum wsc_err app_breakdown_make(struct app_breakdown *b, const struct timeline *t,
                                const char *trace, const char *goal) WSC_CHECKED;
void app_breakdown_fini(struct app_breakdown *b);

/** `wsc validate --mesh`: simulated cycles beside the analytical model. */
enum wsc_err app_validate_mesh(const struct app_validate *request) WSC_CHECKED;

/** Before a run of `wsc mesh KERNEL`: check PEs and files, create a watch when something is to be
 *  shown. */
enum wsc_err app_show_begin(struct app_show *s, int w, int h) WSC_CHECKED;
/** After the run: write heat map and trace; @p title names the run. */
enum wsc_err app_show_files(const struct app_show *s, int w, int h, const char *title) WSC_CHECKED;
/** After the run: print where the cycles went, as text, or as the last member of a JSON object. */
enum wsc_err app_show_explain(const struct app_show *s, bool json) WSC_CHECKED;
void app_show_fini(struct app_show *s);
#endif
