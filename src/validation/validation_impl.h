/** What the files of validation share: the parts of a step, published rows with their model and
 *  machine (cases), constants that may be fitted, the fit itself. */
#ifndef WSC_VALIDATION_IMPL_H
#define WSC_VALIDATION_IMPL_H
#include <wsc/validation.h>

/* ---- cases ----------------------------------------------------------------------------------- */

/** A published figure with the model and the machine that it is about. */
struct validation_case {
    const struct validation_figure *ref;
    struct zoo_params params;
    const struct hw_machine *cluster; /**< borrowed: of the cases, or the comparison's */
    bool own;                         /**< a row of the user's own: validation_comparison.n_own */
};
enum { VALIDATION_MAX_MACHINES = 16 };
struct validation_cases {
    struct validation_case *item; /**< owned */
    int n;
    struct hw_machine machine[VALIDATION_MAX_MACHINES];
    struct validation_machine_name {
        char text[32];
        bool own; /**< of a row of the user's own */
    } name[VALIDATION_MAX_MACHINES];
    int n_machines;
    uint64_t digest; /**< of rows, files of models and machines, and the machine that stands in */
};
/** Load the rows of @p kinds (a bit for each enum validation_kind), all or those that are
 * measurements of their own. Collective where the comparison has a communicator: WSC_CONFIG where a
 * rank has read something else than the others, or cannot. */
enum wsc_err validation_cases_load(struct validation_cases **out,
                                   const struct validation_comparison *c, unsigned kinds,
                                   bool measured_only) WSC_CHECKED;
void validation_cases_free(struct validation_cases **cases);
/** What messages about `--set path=value` begin with. */
#define VALIDATION_SET_OPTION "--set "
/** Put @p file, @p line and @p column, from 1, and @p key before the message of the error @p rc
 * just raised, whose beginning VALIDATION_SET_OPTION is left out; @p rc. Does nothing without an
 * error, or on line 0. */
enum wsc_err validation_at_place(enum wsc_err rc, const char *file, int line, int column,
                                 const char *key) WSC_CHECKED;
/** Cut the overrides @p text, `a=b;c=d`, in place into the items of @p set, at most @p most of
 * them;
 *  *@p n is their number. WSC_CONFIG: there are more. */
enum wsc_err validation_split_sets(char *text, struct conf_set *set, int most, int *n) WSC_CHECKED;
/** Put the row's file, line and @p column, from 1, and @p key before the message of the error @p rc
 *  just raised; @p rc. Does nothing without an error, or for a row that was not read from a file.
 */
enum wsc_err validation_at_row(enum wsc_err rc, const struct validation_figure *ref, int column,
                               const char *key) WSC_CHECKED;
/** True when @p text is a message about an override in the column `set` of @p ref. */
bool validation_is_about_set(const struct validation_figure *ref, const char *text);
/** Refuse the override @p set, `key=value`, of the row @p ref when a column of the row has the
 * value of the key, or when it is a constant of the machine. */
enum wsc_err validation_check_set(const struct validation_figure *ref, const char *set) WSC_CHECKED;
/** Refuse @p params, just parsed for the row @p ref: an override, under any name of its key, that a
 *  column replaces; a mode without the steps of the quantity; another length of a sample than that
 *  of the patches. */
enum wsc_err validation_check_params(const struct validation_figure *ref,
                                     const struct zoo_params *params) WSC_CHECKED;
/** Log what the parse and cluster_warn_idle() found in the models and overrides of the user's own
 *  rows, and batches that do not divide, with the place of the row. */
void validation_warn_of_own(const struct validation_cases *cases);
/** True when @p figure says all that a prediction needs; rows of kind context may not. */
bool validation_figure_complete(const struct validation_figure *figure);

/* ---- quantities ------------------------------------------------------------------------------ */

enum { VALIDATION_MAX_UNITS = 4 };
/** Which way a figure of a quantity goes when the machine is faster. */
enum validation_fast {
    VALIDATION_FAST_IS_LARGE,
    VALIDATION_FAST_IS_SMALL,
    VALIDATION_FAST_IS_NEITHER
};
/** Columns that a row needs because of its quantity. */
enum validation_need { VALIDATION_NEEDS_SAMPLES = 1, VALIDATION_NEEDS_BATCHES = 2 };
/** True when figures of @p quantity are upper bounds: figures and predictions may be 0. */
bool validation_quantity_bounds(enum validation_quantity quantity);
/** True when rows of @p quantity need the columns of @p need. */
bool validation_quantity_needs(enum validation_quantity quantity, enum validation_need need);
/** True for quotients of two predictions: what a site or the form of the model adds is in both. */
bool validation_is_ratio(enum validation_quantity quantity);
/** True when the emulator predicts figures of @p quantity. */
bool validation_quantity_predicted(enum validation_quantity quantity);
/** True when the figure's unit is one of its quantity; *@p such_as is one that is, or NULL. */
bool validation_unit_fits(const struct validation_figure *figure, const char **such_as);
/** What the case's figure is on @p cluster; @p row (may be NULL) is the step of num_csx systems.
 *  Errors name the place of the row. */
enum wsc_err validation_predict(const struct validation_case *item,
                                const struct hw_machine *cluster, double *value,
                                struct scaling_row *row) WSC_CHECKED;

/* ---- parts of a step ------------------------------------------------------------------------- */

/** Mean time of the measured steps by kind of operation, without waiting and jitter. */
struct validation_parts {
    int64_t products_ps, attention_ps, elementwise_ps, recompute_ps;
    int64_t latency_ps; /**< starts of stages */
    int lanes;
};
/** What the first wafer computes in the measured steps of @p row, the step of @p item on its own
 *  machine, by the analytical model; of an evaluation the forward alone. */
enum wsc_err validation_parts_of(const struct validation_case *item, const struct scaling_row *row,
                                 struct validation_parts *out) WSC_CHECKED;

/* ---- bands ----------------------------------------------------------------------------------- */

/** Root mean square of ln(sample / @p predicted) over machines whose uncertain constants lie in
 *  their ranges (Latin hypercube); NaN without one. @p n_machines: those of VALIDATION_N_MACHINES
 *  that the model fits and whose prediction is above 0. */
enum wsc_err validation_spread(const struct validation_case *item, double predicted,
                               double *deviation, int *n_machines) WSC_CHECKED;
/** Spread of each point of @p sweep, a sweep of one model whose result is @p row, as in
 * validation_spread(); @p deviation has n_counts.  Collective over the ranks of the sweep. */
enum wsc_err validation_curve_spread(const struct scaling_sweep *sweep,
                                     const struct scaling_row *row, double *deviation,
                                     int *n_machines) WSC_CHECKED;
/** Upper end of a 90 % band over its middle, from two independent deviations of the logarithm; the
 *  lower end is its inverse. */
double validation_half_band(double spread, double form);
/** Fill the bands of @p row, the rows of @p v, from their spread, and what @p v says of them. */
void validation_set_bands(struct validation_table *v, struct validation_prediction *row);

/* ---- exhibits -------------------------------------------------------------------------------- */

struct validation_reproduced;
/** Fill title and note of @p r. WSC_CONFIG names @p path, the line, the exhibit and a row that
 *  @p rows does not have. */
enum wsc_err validation_exhibit_texts(const struct validation_comparison *rows, const char *path,
                                      struct validation_reproduced *r) WSC_CHECKED;
/** Fill curve_of of @p r, whose rows and curves are there, and name the rows that are not in the
 *  picture at the end of its note. */
enum wsc_err validation_exhibit_place(struct validation_reproduced *r) WSC_CHECKED;

/* ---- fit ------------------------------------------------------------------------------------- */

enum { VALIDATION_MAX_PARAMETERS = VALIDATION_MAX_CALIBRATED, VALIDATION_MAX_POINTS = 64 };
/** Find x in its bounds so that the residuals become small. */
struct validation_problem {
    int n_parameters, n_points;
    double low[VALIDATION_MAX_PARAMETERS], high[VALIDATION_MAX_PARAMETERS],
        start[VALIDATION_MAX_PARAMETERS];
    double step[VALIDATION_MAX_PARAMETERS]; /**< first step of the search */
    double first_scale, last_scale;         /**< of the steps of the search, in `step` */
    double threshold;                       /**< residuals beyond count linearly (Huber) */
    bool no_errors;                         /**< leave the standard errors out */
    const bool *left_out;                   /**< n_points: points that do not count; NULL: all do */
    /** residual[n_points] at x. */
    enum wsc_err (*residuals)(void *ctx, const double *x, double *residual);
    void (*progress)(void *ctx, int done, int total); /**< steps of the search that were halved, of
                                                           those until it ends; NULL: none */
    void *ctx;
};
struct validation_solution {
    double x[VALIDATION_MAX_PARAMETERS];
    double standard_error[VALIDATION_MAX_PARAMETERS]; /**< INFINITY: the points do not tell */
    double correlation[VALIDATION_MAX_PARAMETERS][VALIDATION_MAX_PARAMETERS];
    double residual[VALIDATION_MAX_POINTS];
    double objective; /**< sum of Huber's function */
    double sigma;     /**< of the residuals, with the degrees of freedom */
    int n_evaluations;
};
/** Huber 1964: squares near zero, straight lines beyond @p threshold. */
double validation_huber(double r, double threshold);
/** Search along the axes with shrinking steps: deterministic, and at home with a function that
 *  jumps where the planner changes its mind. */
enum wsc_err validation_least_squares(const struct validation_problem *problem,
                                      struct validation_solution *result) WSC_CHECKED;

/* ---- constants ---- */

/** Constants that may be fitted, at most VALIDATION_MAX_CALIBRATED, and what they are when nothing
 *  is fitted: no latency, an infinite rate, a factor of one, the documented rate. */
struct validation_fittable {
    const char *path; /**< without `cluster.` */
    double neutral;   /**< base units */
    bool by_machine;  /**< documented for each machine: neutral only where it is calibrated */
    double low, high; /**< bounds of a fit, base units */
    double step;      /**< first step of the search, in x */
    bool inverse;     /**< the search moves in x = 1 / value */
};
/** The constants that may be fitted; *@p n is their number. */
const struct validation_fittable *validation_fittables(int *n);

/** Samples per second of a training of @p ref; 0 when it shows no rate of a training. */
double validation_rate_of_figure(const struct validation_figure *ref);
/** True when the figure is in tokens, not in samples. */
bool validation_figure_counts_tokens(const struct validation_figure *ref);

/* ---- fits of constants ----------------------------------------------------------------------- */

/** A fit of constants to cases, with the residuals that were computed already. */
struct validation_job {
    const struct validation_cases *cases; /**< borrowed */
    struct comm *comm;                    /**< shares the cases over its ranks; NULL: none */
    const struct validation_comparison *comparison; /**< borrowed; what the cases are of */
    const struct validation_fittable *fittable[VALIDATION_MAX_CALIBRATED];
    struct hw_constant constant[VALIDATION_MAX_CALIBRATED];
    int n;
    /** Whether a constant is fitted on the machine of a case: validation_job_set_cases(). */
    bool applies[VALIDATION_MAX_CALIBRATED][VALIDATION_MAX_POINTS];
    bool others_neutral; /**< constants that may be fitted and are not are neutral, not as filed */
    struct validation_seen {
        double x[VALIDATION_MAX_CALIBRATED];
        double residual[VALIDATION_MAX_POINTS];
    } * seen; /**< owned, n_seen */
    int n_seen, room;
};
/** Name the constants of @p job; without a @p path those that the machines of @p cases calibrate.
 */
enum wsc_err validation_job_name(struct validation_job *job, const struct validation_cases *cases,
                                 const char *const *path, int n_paths) WSC_CHECKED;
/** Fit @p job, whose constants are named, to @p cases from now on; at most VALIDATION_MAX_POINTS.
 *  A constant applies to the machines that calibrate it, and to all when none does. */
enum wsc_err validation_job_set_cases(struct validation_job *job,
                                      const struct validation_cases *cases) WSC_CHECKED;
/** ln(predicted / published) of all cases at @p x, of n constants in the coordinates of the search;
 *  a ctx of struct validation_problem.  Collective. */
enum wsc_err validation_job_residuals(void *job, const double *x, double *residual) WSC_CHECKED;
/** Fit without the cases that @p left_out (NULL: none) marks, from neutral constants or, without
 *  standard errors, near the solution @p from.  Collective. */
enum wsc_err validation_job_fit(struct validation_job *job, const bool *left_out,
                                const struct validation_solution *from,
                                struct validation_solution *result) WSC_CHECKED;
/** Write constant @p k at @p x with its unit, to three digits. */
void validation_job_write(const struct validation_job *job, int k, double x, char *text,
                          size_t size);
void validation_job_fini(struct validation_job *job);
/** True when the file of @p machine has the constant @p path with kind calibrated. */
bool validation_calibrates(const struct hw_machine *machine, const char *path);
/** Set all constants that may be fitted to their neutral values on @p machine; those that are
 *  documented for each machine only where they are calibrated. */
enum wsc_err validation_set_neutral(struct hw_machine *machine) WSC_CHECKED;

#endif
