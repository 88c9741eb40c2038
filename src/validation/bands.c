// SPDX-License-Identifier: Apache-2.0
/* The uncertainty of each prediction: its spread when all uncertain constants of the machine move
 * together (Latin hypercube, McKay, Beckman and Conover 1979), and the band that follows from it,
 * from the deviation of the fitted rows and from that between sites.  Constants move inside their
 * ranges; calibrated ones as normal numbers with the covariance of their fit, by its Cholesky
 * factor (Stein 1987).  Called by validate.c for each row. */
#include "validation_impl.h"

#include <wsc/hash.h>
#include <wsc/matrix.h>
#include <wsc/mem.h>
#include <wsc/rng.h>

#include <math.h>
#include <string.h>

/* Standard deviation of ln(rate) between sites and releases since 2.0, from figures alone: two logs
 * of GPT-2 small (ln 516.4 / 494.3 = 0.044) and two of BERT-large at batch 1024 (ln 5311 / 4044 =
 * 0.27, whose heads differ); the root of the mean of half their squares. */
static const double BETWEEN_SITES = 0.137;
static const double NINETY_PERCENT = 1.645; /* standard deviations of a normal distribution */

/* ---- samples --------------------------------------------------------------------------------- */

/* The stratum of sample @p s for the constant @p key: a permutation of 0 .. VALIDATION_N_MACHINES
 * - 1. */
static int stratum(const char *key, int s)
{
    const uint64_t seed = wsc_hash64(key, strlen(key), 0);
    int order[VALIDATION_N_MACHINES];
    for (int i = 0; i < VALIDATION_N_MACHINES; i++)
        order[i] = i;
    for (int i = VALIDATION_N_MACHINES - 1; i > 0; i--) {
        const uint64_t bits = wsc_rng_u64(seed, wsc_rng_stream(WSC_RNG_SAMPLE, 0), (uint64_t)i);
        const int k = (int)(bits % (uint64_t)(i + 1));
        const int moving = order[i];
        order[i] = order[k];
        order[k] = moving;
    }
    return order[s];
}

/* The middle of the stratum, as a share of the distribution. */
static double share_at(const struct hw_source *source, int s)
{
    return (stratum(source->key, s) + 0.5) / VALIDATION_N_MACHINES;
}

/* Ranges that begin above 0 are walked in the logarithm. */
static double value_at(const struct hw_source *source, int s)
{
    const double share = share_at(source, s);
    if (source->low > 0) return source->low * pow(source->high / source->low, share);
    return source->low + share * (source->high - source->low);
}

/* ---- calibrated constants -------------------------------------------------------------------- */

/* Those of a machine, and the Cholesky factor of the correlations of their errors. */
struct fitted {
    const struct hw_source *source[VALIDATION_MAX_CALIBRATED];
    double factor[VALIDATION_MAX_CALIBRATED][VALIDATION_MAX_CALIBRATED];
    int n;
};

static bool is_calibrated(const struct hw_source *source)
{
    return !strcmp(source->kind, "calibrated") && source->low < source->high;
}

/* The factor L, L L' = correlations. */
static WSC_CHECKED enum wsc_err factor_of(const struct hw_machine *c, struct fitted *f)
{
    double r[VALIDATION_MAX_CALIBRATED][VALIDATION_MAX_CALIBRATED] = {{0}};
    for (int i = 0; i < f->n; i++)
        for (int j = 0; j <= i; j++)
            r[i][j] = hw_correlation(c, f->source[i]->key, f->source[j]->key);
    const int n =
        wsc_matrix_cholesky(&r[0][0], f->n, VALIDATION_MAX_CALIBRATED, 0, &f->factor[0][0]);
    if (n == f->n) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: %s: its correlations contradict each other", c->file,
                     f->source[n]->key);
}

static WSC_CHECKED enum wsc_err fitted_of(const struct hw_machine *c, struct fitted *f)
{
    *f = (struct fitted){.n = 0};
    for (int i = 0; i < c->n_sources && f->n < VALIDATION_MAX_CALIBRATED; i++)
        if (is_calibrated(&c->source[i])) f->source[f->n++] = &c->source[i];
    return factor_of(c, f);
}

enum wsc_err validation_check_correlations(const struct hw_machine *machine)
{
    struct fitted fitted;
    return fitted_of(machine, &fitted);
}

/* Constant @p i in sample @p s: a normal number around its value.  The range is two standard errors
 * to the side that no documented bound cuts, and nothing lies beyond it. */
static WSC_CHECKED enum wsc_err sample_fitted(const struct fitted *f, int i, int s,
                                              struct hw_machine *out)
{
    const struct hw_source *source = f->source[i];
    struct hw_constant constant;
    double z = 0;
    TRY(hw_constant_find(source->key, &constant));
    const double value = hw_constant_get(&constant, out);
    const double error = fmax(source->high - value, value - source->low) / 2;
    for (int k = 0; k <= i; k++)
        z += f->factor[i][k] * wsc_rng_quantile(share_at(f->source[k], s));
    return hw_constant_set(&constant, out,
                           fmin(fmax(value + error * z, source->low), source->high));
}

/* Machine @p s of the sample; jitter has no mean on one system and would cost many steps. */
static WSC_CHECKED enum wsc_err sample_machine(const struct hw_machine *c, bool alone, int s,
                                               struct hw_machine *out)
{
    struct fitted fitted;
    *out = *c; /* a shallow copy: only numbers differ */
    TRY(fitted_of(c, &fitted));
    for (int i = 0; i < fitted.n; i++)
        TRY(sample_fitted(&fitted, i, s, out));
    for (int i = 0; i < c->n_sources; i++) {
        struct hw_constant constant;
        if (!(c->source[i].low < c->source[i].high) || is_calibrated(&c->source[i])) continue;
        TRY(hw_constant_find(c->source[i].key, &constant));
        TRY(hw_constant_set(&constant, out, value_at(&c->source[i], s)));
    }
    if (alone) out->effects.jitter = false;
    return WSC_OK;
}

enum wsc_err validation_spread(const struct validation_case *item, double predicted,
                               double *deviation, int *n_machines)
{
    double squares = 0;
    int n = 0;
    for (int s = 0; s < VALIDATION_N_MACHINES; s++) {
        struct hw_machine cluster;
        double value;
        TRY(sample_machine(item->cluster, item->ref->num_csx == 1, s, &cluster));
        enum wsc_err rc = validation_predict(item, &cluster, &value, NULL);
        if (rc == WSC_CAPACITY) continue; /* a machine that the model does not fit */
        TRY(rc);
        if (!(value > 0) || !(predicted > 0)) continue;
        const double r = log(value / predicted);
        squares += r * r;
        n++;
    }
    *deviation = n ? sqrt(squares / n) : NAN;
    *n_machines = n;
    return WSC_OK;
}

/* Squares of ln(sample / row) of the sweep on machine @p s; *@p n counts the samples that fit. */
static WSC_CHECKED enum wsc_err add_sample(const struct scaling_sweep *sweep,
                                           const struct scaling_row *row, int s, double *squares,
                                           int *n)
{
    struct scaling_sweep sampled = *sweep;
    struct hw_machine cluster;
    struct scaling_row *other = NULL;
    const bool alone = sweep->n_counts == 1 && sweep->num_csx[0] == 1;
    TRY(sample_machine(sweep->cluster, alone, s, &cluster));
    sampled.cluster = &cluster;
    enum wsc_err rc = scaling_run(&sampled, &other);
    if (rc == WSC_CAPACITY) return WSC_OK; /* a machine that the model does not fit */
    TRY(rc);
    for (int i = 0; i < sweep->n_counts; i++) {
        const double r = log(other[i].tokens_per_s / row[i].tokens_per_s);
        squares[i] += r * r;
    }
    (*n)++;
    wsc_free(other);
    return WSC_OK;
}

enum wsc_err validation_curve_spread(const struct scaling_sweep *sweep,
                                     const struct scaling_row *row, double *deviation,
                                     int *n_machines)
{
    int n = 0;
    for (int i = 0; i < sweep->n_counts; i++)
        deviation[i] = 0;
    for (int s = 0; s < VALIDATION_N_MACHINES; s++)
        TRY(add_sample(sweep, row, s, deviation, &n));
    for (int i = 0; i < sweep->n_counts; i++)
        deviation[i] = n ? sqrt(deviation[i] / n) : NAN;
    *n_machines = n;
    return WSC_OK;
}

double validation_half_band(double spread, double form)
{
    return exp(NINETY_PERCENT * sqrt(spread * spread + form * form));
}

/* ---- bands ----------------------------------------------------------------------------------- */

/* Deviation of the fitted rows, with the degrees of freedom. */
static double fitted_deviation(const struct validation_table *v)
{
    double squares = 0;
    int n = -v->n_calibrated;
    for (int i = 0; i < v->n_rows; i++) {
        const struct validation_prediction *p = &v->row[i];
        const double speed = validation_speed(p->ref, p->predicted);
        if (!validation_figure_fitted(p->ref) || !(speed > 0)) continue;
        squares += log(speed) * log(speed);
        n++;
    }
    return n > 0 ? sqrt(squares / n) : 0;
}

/* No fitted row is of the same site and the same machine. */
static bool is_elsewhere(const struct validation_table *v, const struct validation_figure *f)
{
    for (int i = 0; i < v->n_rows; i++) {
        const struct validation_figure *g = v->row[i].ref;
        if (validation_figure_fitted(g) && !strcmp(f->site, g->site) &&
            !strcmp(f->cluster, g->cluster))
            return false;
    }
    return true;
}

void validation_set_bands(struct validation_table *v, struct validation_prediction *row)
{
    v->fitted_deviation = fitted_deviation(v);
    v->site_deviation = BETWEEN_SITES;
    for (int i = 0; i < v->n_rows; i++) {
        struct validation_prediction *p = &row[i];
        const bool ratio = validation_is_ratio(p->ref->quantity);
        const double form = ratio ? 0 : v->fitted_deviation;
        const bool elsewhere = !ratio && is_elsewhere(v, p->ref);
        const double sites = elsewhere ? BETWEEN_SITES : 0;
        const double all = sqrt(p->spread * p->spread + form * form + sites * sites);
        p->band_low = p->predicted * exp(-NINETY_PERCENT * all);
        p->band_high = p->predicted * exp(NINETY_PERCENT * all);
        const bool counts =
            p->ref->kind == VALIDATION_KIND_VALIDATION && validation_figure_measured(p->ref);
        v->n_banded += counts;
        v->n_inside += counts && p->ref->value >= p->band_low && p->ref->value <= p->band_high;
    }
}
