/** What the files of scaling share. */
#ifndef WSC_SCALING_IMPL_H
#define WSC_SCALING_IMPL_H
#include <wsc/kernels.h>
#include <wsc/scaling.h>

/** What the wafers of a step compute, by kind, from the closed forms: of wafer 0, all
 * micro-batches, without waiting and jitter. */
struct scaling_parts {
    struct kernels_cycles cycles;
    int64_t latency_ps; /**< starts of stages */
    int lanes;
    int64_t micro_batch;
};
enum wsc_err scaling_parts_of(const struct zoo_params *params, const struct hw_machine *cluster,
                              struct scaling_parts *out) WSC_CHECKED;

/* ---- cases ----------------------------------------------------------------------------------- */

/** A published figure with the model and the machine that it is about. */
struct scaling_case {
    const struct report_reference *ref;
    struct zoo_params params;
    const struct hw_machine *cluster; /**< borrowed: of the cases, or the comparison's */
};
enum { SCALING_MAX_MACHINES = 16 };
struct scaling_cases {
    struct scaling_case *item; /**< owned */
    int n;
    struct hw_machine machine[SCALING_MAX_MACHINES];
    char name[SCALING_MAX_MACHINES][32];
    int n_machines;
};
/** Load the rows of @p kinds (a bit for each enum report_reference_kind). */
enum wsc_err scaling_cases_load(struct scaling_cases **out, const struct scaling_comparison *c,
                                unsigned kinds) WSC_CHECKED;
void scaling_cases_free(struct scaling_cases **cases);
/** What the case's figure is on @p cluster; @p row (may be NULL) is the step of num_csx systems. */
enum wsc_err scaling_predict(const struct scaling_case *item, const struct hw_machine *cluster,
                             double *value, struct report_scale_row *row) WSC_CHECKED;

/* ---- fit ------------------------------------------------------------------------------------- */

enum { FIT_MAX_PARAMETERS = 3, FIT_MAX_POINTS = 64 };
/** Find x in its bounds so that the residuals become small. */
struct fit_problem {
    int n_parameters, n_points;
    double low[FIT_MAX_PARAMETERS], high[FIT_MAX_PARAMETERS], start[FIT_MAX_PARAMETERS];
    double step[FIT_MAX_PARAMETERS]; /**< first step of the search */
    double threshold;                /**< residuals beyond count linearly (Huber) */
    /** residual[n_points] at x. */
    enum wsc_err (*residuals)(void *ctx, const double *x, double *residual);
    void *ctx;
};
struct fit_result {
    double x[FIT_MAX_PARAMETERS];
    double standard_error[FIT_MAX_PARAMETERS]; /**< INFINITY: the points do not tell */
    double correlation[FIT_MAX_PARAMETERS][FIT_MAX_PARAMETERS];
    double residual[FIT_MAX_POINTS];
    double objective; /**< sum of Huber's function */
    double sigma;     /**< of the residuals, with the degrees of freedom */
    int n_evaluations;
};
/** Huber 1964: squares near zero, straight lines beyond @p threshold. */
double scaling_fit_huber(double r, double threshold);
/** Search along the axes with shrinking steps: deterministic, and at home with a function that
 *  jumps where the planner changes its mind. */
enum wsc_err scaling_fit(const struct fit_problem *problem, struct fit_result *result) WSC_CHECKED;
#endif
