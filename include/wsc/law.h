/** Scaling laws of the user's runs: fits the loss as a function of training FLOPs.
 *
 *  A ladder of sizes is trained (law_train()), or points are read from a file (law_points_read());
 *  law_fit() fits
 *
 *      L(f) = (f / a)^b + c,   b < 0, c >= 0
 *
 *  by least squares of the losses, the form of Dey et al. 2023 ("Cerebras-GPT", arXiv 2304.03208,
 *  section 3.1). FLOPs are those of model_flop_per_token_hoffmann(), as such publications count.
 *  The floor c is kept only where the points determine it.
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

/** Longest name of a point with its end. */
enum { LAW_NAME = 64 };
/** A finished training. */
struct law_point {
    char name[LAW_NAME];
    int64_t params, tokens; /**< parameters, tokens trained on; 0: not known */
    double flop;            /**< of the training, as model_flop_per_token_hoffmann() counts */
    double loss;            /**< held out, nats per token */
    bool judged;            /**< not fitted: compared with the law of the others, on track or not */
};
/** Whether the points support a law. */
enum law_support {
    LAW_SUPPORTED,
    LAW_TOO_FEW,    /**< fewer than three different FLOPs: nothing is fitted */
    LAW_NOT_FALLING /**< the 90 % interval of b reaches 0: losses that do not fall with FLOPs */
};
/** A fitted law.  Intervals are of 90 %, by Student's t on n - (number of parameters) degrees of
 *  freedom; without any they are infinite. */
struct law_fit {
    enum law_support support;
    int n;                   /**< points that were fitted */
    int dof;                 /**< degrees of freedom */
    bool floor;              /**< c was fitted; otherwise it is 0, as its interval reached 0 */
    double a, b, c;          /**< FLOPs, exponent, nats per token */
    double b_low, b_high;    /**< interval of b */
    double c_low, c_high;    /**< interval of c; both 0 without a floor */
    double deviation;        /**< of the residuals, nats per token; 0 without degrees of freedom */
    double scale;            /**< FLOPs at which `amplitude` is L - c */
    double amplitude;        /**< nats per token */
    double covariance[3][3]; /**< of (amplitude, b, c) */
};
/** Fit the points that are not judged.  WSC_CONFIG names a point whose FLOPs or loss is not a
 *  positive number.  Too few points and losses that do not fall are no errors: see `support`. */
enum wsc_err law_fit(const struct law_point *point, int n, struct law_fit *out) WSC_CHECKED;
/** Loss that @p fit expects after @p flop FLOPs, nats per token. */
double law_loss(const struct law_fit *fit, double flop);
/** Half of the width of the 90 % interval in which one more training of @p flop FLOPs lies, nats
 *  per token: uncertainty of the law (delta method) and scatter of the points.  INFINITY without
 *  degrees of freedom. */
double law_half_width(const struct law_fit *fit, double flop);
/** FLOPs after which the law reaches @p loss; NAN when that is at or below its floor. */
double law_flop(const struct law_fit *fit, double loss);
/** Relative error, predicted / measured - 1, of the law that is fitted without the fitted point of
 *  most FLOPs, at that point; NAN when the others support none. */
double law_leave_out_last(const struct law_point *point, int n);

/** What a law says of a training that was not made. */
struct law_prediction {
    char name[LAW_NAME];
    int64_t params, num_csx;
    double tokens, flop;
    double loss, half_width; /**< nats per token; interval of 90 % */
    double published;        /**< loss of the published law, scaling_published_loss() */
    double seconds;          /**< virtual time on num_csx systems, with checkpoints and failures */
};
/** Loss and time of training the model of @p params on @p num_csx systems, on @p tokens_per_param
 *  tokens for each parameter; the batch of a system is that of the file.  WSC_CAPACITY, WSC_NOMEM.
 */
enum wsc_err law_predict(const struct law_fit *fit, const struct scaling_model *model,
                         const struct hw_machine *cluster, int64_t num_csx, double tokens_per_param,
                         struct law_prediction *out) WSC_CHECKED;

/** Read points from a CSV whose head line names the columns name, flop or (params and tokens), loss
 *  and, if it has it, use (fit or judge); others are ignored with a warning.  Without flop it is 6
 *  params tokens.  *@p out is owned by the caller, wsc_free().  WSC_CONFIG with file and
 *  line, WSC_NOMEM. */
enum wsc_err law_points_read(const char *path, struct law_point **out, int *n) WSC_CHECKED;

/** A size of a ladder. */
struct law_size {
    int64_t hidden, layers;
};
/** A ladder: a params file of which width and depth are varied.  All borrowed. */
struct law_ladder {
    const char *params_path; /**< for messages */
    const char *bytes;       /**< the params file */
    size_t n_bytes;
    const struct conf_set *set; /**< of the command line */
    int n_sets;
    const struct hw_machine *cluster;
    const struct law_size *size;
    int n_sizes;
    double tokens_per_param; /**< of each training */
    int64_t num_csx;
    const char *out;     /**< folder; a training goes to `<out>/<hidden>x<layers>` */
    const char *command; /**< for provenance */
};
/** Train size @p k of @p ladder, or read what is there of an earlier run: a training that was cut
 * is resumed.  The number of heads and the width of the feed-forward network follow the width,
 * steps follow from tokens, and those of schedules are multiplied alike.  @p out is filled on
 * rank 0. Collective over the job; *@p report as of job_run(). */
enum wsc_err law_train(struct comm *comm, const struct law_ladder *ladder, int k,
                       struct law_point *out, bool *report) WSC_CHECKED;
#endif
