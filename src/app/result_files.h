/** Names of the files that commands write into their folders, separated by spaces: for each study
 * of a sweep, and all of them for the table of options (options.c). */
#ifndef WSC_APP_RESULT_FILES_H
#define WSC_APP_RESULT_FILES_H

/** `wsc scale`: the curves; then what each study adds. */
#define APP_CURVE_FILES       "scaling.csv scaling.gp scaling.svg scaling.png report.html"
#define APP_EFFECTS_FILES     "effects.csv"
#define APP_FAULTS_FILES      "faults.csv"
#define APP_SPARSITY_FILES    "sweep.csv sparsity.csv sparsity.gp sparsity.svg sparsity.png"
#define APP_VALUES_FILES      "sweep.csv sweep.gp sweep.svg sweep.png"
#define APP_SENSITIVITY_FILES "sensitivity.csv band.csv tornado.gp tornado.svg tornado.png"
#define APP_TRAINING_FILES    "training.csv"
/** A step that was taken apart, also by `wsc run`. */
#define APP_STEP_FILES "op_profile.csv critical_path.csv links.csv"
#define APP_SWEEP_FILES                                                                            \
    APP_CURVE_FILES " " APP_EFFECTS_FILES " " APP_FAULTS_FILES " " APP_SPARSITY_FILES              \
                    " " APP_VALUES_FILES " " APP_SENSITIVITY_FILES " " APP_TRAINING_FILES          \
                    " " APP_STEP_FILES
#endif
