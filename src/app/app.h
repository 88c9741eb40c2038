/** What the subcommands share: options, files, errors.  Each subcommand is one file. */
#ifndef WSC_APP_H
#define WSC_APP_H
#include <wsc/comm.h>
#include <wsc/conf.h>
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/report.h>
#include <wsc/scaling.h>
#include <wsc/timeline.h>
#include <wsc/zoo.h>

#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* A subcommand gets its own name as argv[0] and returns what went wrong, already printed or not. */
struct app_command {
    const char *name;
    enum wsc_err (*run)(int argc, char **argv);
    const char *summary;
};
enum wsc_err app_run(int argc, char **argv);
enum wsc_err app_scale(int argc, char **argv);
enum wsc_err app_data(int argc, char **argv);
enum wsc_err app_convert(int argc, char **argv);
enum wsc_err app_inspect(int argc, char **argv);
enum wsc_err app_ranks(int argc, char **argv);
enum wsc_err app_mesh(int argc, char **argv);
enum wsc_err app_validate(int argc, char **argv);
enum wsc_err app_calibrate(int argc, char **argv);

/* The command line as one string, for provenance; set by main. */
const char *app_command_line(void);
/* Says that the error has been told to the user; main then prints nothing. */
void app_set_reported(void);
/* Tell the user the error just raised, unless it has been told. */
void app_report_error(void);

/* ---- a step, taken apart --------------------------------------------------------------------- */

struct app_anatomy {
    struct report_anatomy report;
    struct report_stretch *path; /* owned, as the next two */
    struct report_link *link;
    struct report_module *module;
};
/* Take the step of @p job apart; write a trace and a GOAL schedule where paths are given. */
enum wsc_err app_anatomy_make(struct app_anatomy *a, struct timeline_job *job, const char *model,
                              const char *trace, const char *goal) WSC_CHECKED;
void app_anatomy_fini(struct app_anatomy *a);

/* ---- options --------------------------------------------------------------------------------- */

enum { APP_MAX_SETS = 256, APP_MAX_LIST = 256 };

/* Params, cluster and what overrides them; most subcommands take these. */
struct app_config {
    const char *params_path, *cluster_path;
    struct conf_set set[APP_MAX_SETS];
    int n_sets;
    char *owned[APP_MAX_SETS]; /* texts of sets that options made; owned */
    int n_owned;
};
void app_config_fini(struct app_config *c);
/* `--set text`, borrowed. */
enum wsc_err app_add_set(struct app_config *c, const char *text) WSC_CHECKED;
/* `--option value` as `path=value`. */
enum wsc_err app_add_override(struct app_config *c, const char *path,
                              const char *value) WSC_CHECKED;
/* Rank 0 reads, every rank parses the same bytes.  @p comm may be NULL: this process alone.  A
 * NULL path of the cluster takes the built-in CS-2.  *text (owned, may be NULL) is the file. */
enum wsc_err app_load_params(struct comm *comm, const struct app_config *c,
                             struct zoo_params *params) WSC_CHECKED;
/* The same in two steps: the text (owned by the caller), then trainer number @p phase of a list of
 * them, from 1; 0 leaves that to the sets. */
enum wsc_err app_read_params(struct comm *comm, const struct app_config *c, char **bytes,
                             size_t *n) WSC_CHECKED;
enum wsc_err app_parse_params(struct comm *comm, const struct app_config *c, const char *bytes,
                              size_t n, int phase, struct zoo_params *params) WSC_CHECKED;
enum wsc_err app_load_cluster(struct comm *comm, const struct app_config *c,
                              struct hw_machine *cluster, char **text) WSC_CHECKED;

/* `--fault text`. */
enum wsc_err app_add_fault(struct app_config *c, const char *text) WSC_CHECKED;
/* Faults that come or go leave no step that is like all others: an error that says @p who looks at
 * one.  @p lossy: links may lose packets. */
enum wsc_err app_refuse_passing_faults(const struct hw_machine *cluster, const char *who,
                                       bool lossy) WSC_CHECKED;

/* ---- files that come with the program -------------------------------------------------------- */

enum app_folder { APP_REFERENCE, APP_PARAMS, APP_CLUSTER, APP_N_FOLDERS };
/* Its full name in the source tree or where it was installed; false when it is not there. */
bool app_find_folder(enum app_folder folder, char *path, size_t size);
/* All *.csv of @p dir, by name; *rows is owned by the caller. */
enum wsc_err app_read_references(const char *dir, struct report_reference **rows,
                                 int *n) WSC_CHECKED;

/* What `wsc validate` and `wsc calibrate` compare: options first, then app_comparison_open(). */
struct app_comparison {
    struct app_config config;                  /* cluster_path and sets */
    const char *reference, *params, *machines; /* folders; NULL: beside the program */
    char params_dir[PATH_MAX], cluster_dir[PATH_MAX];
    struct hw_machine cluster; /* of config.cluster_path */
    bool has_cluster;
    struct report_reference *rows; /* owned */
    struct scaling_comparison comparison;
};
/* Options of both, rows of getopt_long, and what one of them does. */
enum app_comparison_option {
    APP_COMPARE_CLUSTER = 512,
    APP_COMPARE_REFERENCE,
    APP_COMPARE_PARAMS,
    APP_COMPARE_MACHINES,
    APP_COMPARE_SET
};
#define APP_COMPARISON_OPTIONS                                                                     \
    {"cluster", required_argument, NULL, APP_COMPARE_CLUSTER},                                     \
        {"reference", required_argument, NULL, APP_COMPARE_REFERENCE},                             \
        {"params", required_argument, NULL, APP_COMPARE_PARAMS},                                   \
        {"machines", required_argument, NULL, APP_COMPARE_MACHINES},                               \
    {                                                                                              \
        "set", required_argument, NULL, APP_COMPARE_SET                                            \
    }
enum wsc_err app_comparison_take(struct app_comparison *c, int option,
                                 const char *value) WSC_CHECKED;
enum wsc_err app_comparison_open(struct app_comparison *c) WSC_CHECKED;
void app_comparison_fini(struct app_comparison *c);

/* `wsc validate --mesh`: @c n pairs that the seed draws. */
struct app_mesh_pairs {
    int64_t n, seed;
    bool json;
};
enum wsc_err app_validate_mesh(const struct app_mesh_pairs *what,
                               const struct app_config *config) WSC_CHECKED;

/* Usage errors that point to --help; getopt's own messages are off. */
enum wsc_err app_bad_option(const char *command, char **argv, int option) WSC_CHECKED;
/* A whole number in [min, max], or a clear error that names @p what. */
enum wsc_err app_parse_int(const char *what, const char *text, int64_t min, int64_t max,
                           int64_t *out) WSC_CHECKED;
enum wsc_err app_parse_real(const char *what, const char *text, double min, double max,
                            double *out) WSC_CHECKED;
/* "1,2,4" to numbers. */
enum wsc_err app_parse_int_list(const char *what, const char *text, int64_t min, int64_t max,
                                int64_t *out, int *n) WSC_CHECKED;
/* File name without folder and extension, cut to @p size. */
void app_base_name(const char *path, char *name, int size);
/* True when this process was started by mpirun, srun or the like. */
bool app_under_mpi(void);
#endif
