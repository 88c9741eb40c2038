/** What a sweep of `wsc scale` looks into beside its curves: effects, faults, values of a constant,
 *  sensitivities, whole trainings, the parts of a step; and the files that it writes for each.
 */
#ifndef WSC_APP_SCALE_STUDY_H
#define WSC_APP_SCALE_STUDY_H
#include "model_files.h"
#include "requests.h"
#include "step_report.h"

#include <wsc/report.h>
#include <wsc/scaling.h>
#include <wsc/zoo.h>

/** The request and what is loaded for it. */
struct app_sweep {
    struct app_scale *o;
    struct comm *comm; /**< borrowed; NULL: this process alone */
    struct scaling_sweep sweep;
    int n_models;
    struct app_model_files files;
    struct zoo_params params[APP_MODEL_FILES];
    struct scaling_model model[APP_MODEL_FILES]; /**< those that are swept */
    char set[2][64];                             /**< texts of `config.set` */
    int n_left_out;                              /**< points and values that do not fit */
    char left_out[640];                          /**< the first of them, and why it does not */
};

/** Everything that a report may hold; app_study_fini() frees it. */
struct app_study {
    struct scaling_row *row;
    struct validation_point *point;
    struct scaling_variant *effect, *fault, *varied, *varied_all;
    struct scaling_sensitivity *sensitivity;
    struct scaling_training *training;
    struct app_breakdown breakdown;
    struct report_scaling report;
};

/** Sweep the curves; points and models that do not fit leave @p c and the report. Collective. */
enum wsc_err app_study_curves(struct app_sweep *c, struct app_study *s) WSC_CHECKED;
/** Sweep what the request varies: effects, faults, values of --sweep, constants. Collective. */
enum wsc_err app_study_vary(struct app_sweep *c, struct app_study *s) WSC_CHECKED;
/** Compute whole trainings and take a step apart, as far as the request asks for them. */
enum wsc_err app_study_details(const struct app_sweep *c, struct app_study *s) WSC_CHECKED;
/** Release what the study allocated; members that were not made are NULL. */
void app_study_fini(struct app_study *s);

/** Print the names of the files that were written. */
void app_study_print_files(const struct app_sweep *c);
/** Warn of the files of an earlier sweep in the folder that would lie beside those of this one. */
enum wsc_err app_study_warn_of_earlier(const struct app_sweep *c) WSC_CHECKED;
#endif
