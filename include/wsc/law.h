/** Scaling laws of the user's runs: fits the loss as a function of training FLOPs.
 *
 *  A ladder of sizes is trained (law_train()), or points are read from a file (law_points_read());
 *  law_fit() fits
 *
 *      L(f) = (f / a)^b + c,   b < 0, c >= 0
 *
 *  by least squares of the losses, the form of Dey et al. 2023 ("Cerebras-GPT", arXiv 2304.03208,
 *  section 3.1). How FLOPs are counted is a property of the points (enum law_convention), hence of
 *  the law and of its predictions. The floor c is kept only where the points determine it.
 *
 *      struct law_fit fit;
 *      TRY(law_fit(point, n, &fit));
 *      if (fit.support == LAW_SUPPORTED) printf("%g\n", law_loss(&fit, 1e20));
 *
 *  Read next: src/law/law_fit.c; docs/LAWS.md. */
#ifndef WSC_LAW_H
#define WSC_LAW_H
#include <wsc/job.h>
#include <wsc/scaling.h>

#include <stdbool.h>
#include <stdint.h>

/** Size of the name of a point, with its NUL. */
enum { LAW_NAME = 64 };
/** How the FLOPs of a training are counted; equal for all points of a law. */
enum law_convention {
    LAW_HOFFMANN, /**< model_flop_per_token_hoffmann(): Hoffmann et al. 2022, appendix F */
    LAW_6PD,      /**< 6 parameters tokens (Kaplan et al. 2020, arXiv 2001.08361) */
    LAW_N_CONVENTIONS
};
/** Name of @p convention in files: "hoffmann", "6pd". */
const char *law_convention_name(enum law_convention convention);
/** A finished training. */
struct law_point {
    char name[LAW_NAME];
    int64_t params, tokens; /**< parameters, tokens trained on; 0: not known */
    double flop;            /**< FLOPs of the training, by `convention` */
    double loss;            /**< held-out loss, nats per token */
    bool judged;            /**< not fitted, but compared with the law of the other points */
    enum law_convention convention;
};
/** Result of the test whether the points support a law. */
enum law_support {
    LAW_SUPPORTED,
    LAW_TOO_FEW,    /**< fewer than three different FLOPs: nothing is fitted */
    LAW_NOT_FALLING /**< the 90 % interval of b reaches 0: losses do not fall with FLOPs */
};
/** A fitted law. Intervals have 90 %, by Student's t with n - (number of fitted parameters) degrees
 *  of freedom; with 0 degrees of freedom they are infinite. */
struct law_fit {
    enum law_support support;
    enum law_convention convention; /**< of the points */
    int n;                          /**< fitted points */
    int dof;                        /**< degrees of freedom */
    bool floor;              /**< c was fitted; otherwise it is 0, as its interval reached 0 */
    double a, b, c;          /**< FLOPs, exponent, nats per token */
    double b_low, b_high;    /**< interval of b */
    double c_low, c_high;    /**< interval of c; both 0 without a floor */
    double deviation;        /**< standard deviation of the residuals, nats per token; 0 if dof 0 */
    double scale;            /**< FLOPs at which `amplitude` is L - c */
    double amplitude;        /**< nats per token */
    double covariance[3][3]; /**< of (amplitude, b, c) */
};
/** Fit the points without `judged`. WSC_CONFIG names a point whose FLOPs or loss is not a positive
 *  number, or whose FLOPs are not counted as those of the first point. Too few points and losses
 * that do not fall are not errors: see `support`. */
enum wsc_err law_fit(const struct law_point *point, int n, struct law_fit *out) WSC_CHECKED;
/** Loss that @p fit predicts after @p flop FLOPs, nats per token. */
double law_loss(const struct law_fit *fit, double flop);
/** Half width of the 90 % prediction interval of one new training of @p flop FLOPs, nats per token.
 *  It contains the uncertainty of the law (delta method) and the scatter of the points. INFINITY
 *  without degrees of freedom. */
double law_half_width(const struct law_fit *fit, double flop);
/** FLOPs at which the law reaches @p loss; NAN if @p loss is at or below the floor. */
double law_flop(const struct law_fit *fit, double loss);
/** Relative error, predicted / measured - 1, at the fitted point with the most FLOPs, of the law
 *  fitted without this point; NAN if the other points support no law. */
double law_leave_out_last(const struct law_point *point, int n);

/** Prediction for a training that was not run. */
struct law_prediction {
    char name[SCALING_NAME_BYTES]; /**< of the model */
    int64_t params, num_csx;
    int64_t global_batch;    /**< sequences of a step, of all systems together */
    double tokens, flop;     /**< flop by the convention of the law */
    double loss, half_width; /**< nats per token; interval of 90 % */
    double published;        /**< loss of the published law, scaling_expected_loss(); NAN: none */
    double seconds; /**< virtual time on num_csx systems, with evaluations, checkpoints, failures */
};
/** Predict loss and time of a training of @p model on @p num_csx systems with @p tokens_per_param
 *  tokens per parameter. The systems share train_input.batch_size, the global batch, whatever
 *  runconfig.num_csx is. WSC_CAPACITY, WSC_NOMEM. */
enum wsc_err law_predict(const struct law_fit *fit, const struct scaling_model *model,
                         const struct hw_machine *cluster, int64_t num_csx, double tokens_per_param,
                         struct law_prediction *out) WSC_CHECKED;

/** Read points from a CSV whose head line names the columns name, loss, flop or (params and
 * tokens), and optionally use (fit or judge) and convention (hoffmann or 6pd); other columns are
 * ignored with a warning. Without flop a row counts 6 params tokens. Without convention a row is
 * hoffmann with flop and 6pd without; all rows must have one convention. The caller owns *@p out,
 * wsc_free(). WSC_CONFIG with file and line, WSC_NOMEM.
 */
enum wsc_err law_points_read(const char *path, struct law_point **out, int *n) WSC_CHECKED;

/** A size of a ladder. */
struct law_size {
    int64_t hidden, layers;
};
/** A ladder: trainings of one params file with different widths and depths. All borrowed. */
struct law_ladder {
    const char *params_path; /**< for messages */
    const char *bytes;       /**< the params file */
    size_t n_bytes;
    const struct conf_set *set; /**< `--set` of the command line */
    int n_sets;
    const struct hw_machine *cluster;
    const struct law_size *size;
    int n_sizes;
    double tokens_per_param;        /**< tokens of a training / parameters */
    enum law_convention convention; /**< of the points */
    int64_t num_csx;
    const char *out;     /**< folder; a training goes to `<out>/<hidden>x<layers>` */
    const char *command; /**< for provenance */
};
/** Check that the params of every size of @p ladder can be made: WSC_USAGE or WSC_CONFIG with the
 *  reason for the first one that cannot, before a size trains. Equal on all ranks. */
enum wsc_err law_check_sizes(const struct law_ladder *ladder) WSC_CHECKED;

/** Train size @p k of @p ladder, or read the results of an earlier run; an interrupted training is
 *  resumed. The number of heads and the width of the feed-forward network are scaled with the
 * width; the number of tokens gives the steps, and steps of schedules are scaled by the same
 * factor.
 *  @p out is filled on rank 0. Collective over the job; *@p report as of job_run(). */
enum wsc_err law_train(struct comm *comm, const struct law_ladder *ladder, int k,
                       struct law_point *out, bool *report) WSC_CHECKED;
#endif
