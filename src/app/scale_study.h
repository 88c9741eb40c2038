/** What a sweep of `wsc scale` looks into beside its curves: effects, faults, values of a constant,
 *  sensitivities, whole trainings, the parts of a step; and the files that it writes for each.
 */
#ifndef WSC_APP_SCALE_STUDY_H
#define WSC_APP_SCALE_STUDY_H
#include "requests.h"
#include "step_report.h"

#include <wsc/report.h>
#include <wsc/scaling.h>
#include <wsc/zoo.h>

enum { SCALE_MAX_MODELS = 64, SCALE_NAME_BYTES = 96 };

/** The request and what is loaded for it. */
struct scale {
    struct app_scale *o;
    struct comm *comm; /**< borrowed; NULL: this process alone */
    struct scaling_sweep sweep;
    int n_models;
    struct zoo_params params[SCALE_MAX_MODELS];
    char name[SCALE_MAX_MODELS][SCALE_NAME_BYTES];
    struct scaling_model model[SCALE_MAX_MODELS]; /**< those that are swept */
    char set[2][64];                              /**< texts of `config.set` */
    int n_left_out;                               /**< points and values that do not fit */
    char left_out[640];                           /**< the first of them, and why it does not */
};

/** Everything that a report may hold; scale_study_fini() frees it. */
struct scale_study {
    struct scaling_row *row;
    struct validation_point *point;
    struct scaling_variant *effect, *fault, *varied, *varied_all;
    struct scaling_sensitivity *sensitivity;
    struct scaling_training *training;
    struct app_breakdown breakdown;
    struct report_scaling report;
};

/** Sweep the curves; points and models that do not fit leave @p c and the report. Collective. */
enum wsc_err scale_study_curves(struct scale *c, struct scale_study *s) WSC_CHECKED;
/** Sweep what the request varies: effects, faults, values of --sweep, constants. Collective. */
enum wsc_err scale_study_vary(struct scale *c, struct scale_study *s) WSC_CHECKED;
/** Compute whole trainings and take a step apart, as far as the request asks for them. */
enum wsc_err scale_study_details(const struct scale *c, struct scale_study *s) WSC_CHECKED;
/** Release what the study allocated; members that were not made are NULL. */
void scale_study_fini(struct scale_study *s);

/** Print the names of the files that were written. */
void scale_files_print(const struct scale *c);
/** Warn of the files of an earlier sweep in the folder that would lie beside those of this one. */
enum wsc_err scale_files_warn_of_earlier(const struct scale *c) WSC_CHECKED;
#endif
