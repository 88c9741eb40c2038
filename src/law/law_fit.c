// SPDX-License-Identifier: Apache-2.0
/* Fits L(f) = A (f / s)^b + c to points (f, L), where s is the geometric mean of the FLOPs: the
 * law (f / a)^b + c with a = s A^(-1/b).
 *
 * For a given b the law is linear in A and c, so only b is searched (variable projection, Golub and
 * Pereyra 1973): a scan of (-3, 0), then golden sections around its best value.  Intervals are
 * those of the linearised law, sigma^2 (J^T J)^-1 with Student's t.  The floor c stays when its 90
 * % interval is above 0, otherwise the law of two parameters is fitted: few points that lie close
 * together always follow a straight line on logarithmic axes.  docs/LAWS.md. */
#include <wsc/law.h>

#include <wsc/matrix.h>

#include <math.h>

enum { A, B, C, N_COEFFICIENTS };
/* Exponents that are searched; published ones are -0.05 to -0.5. */
static const double steepest = -3, flattest = -1e-4;

/* The points that are fitted, and their geometric mean of FLOPs. */
struct series {
    const struct law_point *point;
    int n;
    double scale;
};

static bool is_fitted(const struct series *s, int i)
{
    return !s->point[i].judged;
}

/* Sums over the fitted points that the linear part needs: x = (f / s)^b. */
struct sums {
    double n, x, xx, l, xl, ll;
};

static struct sums sums_of(const struct series *s, double b)
{
    struct sums t = {0};
    for (int i = 0; i < s->n; i++) {
        if (!is_fitted(s, i)) continue;
        const double x = pow(s->point[i].flop / s->scale, b), l = s->point[i].loss;
        t.n += 1;
        t.x += x;
        t.xx += x * x;
        t.l += l;
        t.xl += x * l;
        t.ll += l * l;
    }
    return t;
}

/* A and c of least squares at @p b, c >= 0; the sum of squared residuals. */
static double linear_part(const struct series *s, double b, bool floor, double *amplitude,
                          double *c)
{
    const struct sums t = sums_of(s, b);
    const double det = t.n * t.xx - t.x * t.x;
    *c = floor && det > 0 ? (t.xx * t.l - t.x * t.xl) / det : 0;
    if (*c < 0) *c = 0;
    *amplitude = (t.xl - *c * t.x) / t.xx;
    double sum = 0;
    for (int i = 0; i < s->n; i++) {
        if (!is_fitted(s, i)) continue;
        const double x = pow(s->point[i].flop / s->scale, b);
        const double r = s->point[i].loss - *amplitude * x - *c;
        sum += r * r;
    }
    return sum;
}

static double residual(const struct series *s, double b, bool floor)
{
    double amplitude, c;
    return linear_part(s, b, floor, &amplitude, &c);
}

/* The exponent of least squares. */
static double search(const struct series *s, bool floor)
{
    enum { SCAN = 600, SECTIONS = 80 };
    const double golden = (sqrt(5) - 1) / 2, ratio = pow(flattest / steepest, 1.0 / SCAN);
    int best = 0;
    double least = INFINITY;
    for (int i = 0; i <= SCAN; i++) {
        const double r = residual(s, steepest * pow(ratio, i), floor);
        if (r < least) {
            least = r;
            best = i;
        }
    }
    double low = steepest * pow(ratio, best ? best - 1 : 0),
           high = steepest * pow(ratio, best < SCAN ? best + 1 : SCAN);
    for (int i = 0; i < SECTIONS; i++) {
        const double left = high - golden * (high - low), right = low + golden * (high - low);
        if (residual(s, left, floor) < residual(s, right, floor))
            high = right;
        else
            low = left;
    }
    return (low + high) / 2;
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* Student's t that is exceeded by 5 %, so that +- t holds 90 %.  Tables to 10 degrees of freedom,
 * above it the expansion of Fisher and Cornish in 1 / dof (Abramowitz and Stegun 26.7.5). */
static double student(int dof)
{
    static const double table[] = {6.313752, 2.919986, 2.353363, 2.131847, 2.015048,
                                   1.943180, 1.894579, 1.859548, 1.833113, 1.812461};
    const double z = 1.644854, n = dof;
    if (dof < 1) return INFINITY;
    if (dof <= (int)(sizeof table / sizeof *table)) return table[dof - 1];
    return z + (pow(z, 3) + z) / (4 * n) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * n * n);
}

/* Derivatives of the law by (A, b, c) at @p flop. */
static void gradient(const struct law_fit *fit, double flop, double g[N_COEFFICIENTS])
{
    const double x = pow(flop / fit->scale, fit->b);
    g[A] = x;
    g[B] = fit->amplitude * x * log(flop / fit->scale);
    g[C] = fit->floor ? 1 : 0;
}

/* sigma^2 (J^T J)^-1, and the intervals of b and c. */
static void add_intervals(const struct series *s, struct law_fit *fit)
{
    const int n = fit->floor ? N_COEFFICIENTS : C;
    double normal[N_COEFFICIENTS][N_COEFFICIENTS] = {{0}}, sum = 0;
    for (int k = 0; k < s->n; k++) {
        if (!is_fitted(s, k)) continue;
        double g[N_COEFFICIENTS];
        gradient(fit, s->point[k].flop, g);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                normal[i][j] += g[i] * g[j];
        const double r = s->point[k].loss - law_loss(fit, s->point[k].flop);
        sum += r * r;
    }
    fit->dof = fit->n - n;
    fit->deviation = fit->dof > 0 ? sqrt(sum / fit->dof) : 0;
    const bool known = fit->dof > 0 && wsc_matrix_invert(&normal[0][0], n, N_COEFFICIENTS, 0);
    for (int i = 0; i < n && known; i++)
        for (int j = 0; j < n; j++)
            fit->covariance[i][j] = fit->deviation * fit->deviation * normal[i][j];
    const double t = student(fit->dof);
    const double b = known ? t * sqrt(fit->covariance[B][B]) : INFINITY;
    const double c = known ? t * sqrt(fit->covariance[C][C]) : INFINITY;
    fit->b_low = fit->b - b;
    fit->b_high = fit->b + b;
    fit->c_low = fit->floor ? fit->c - c : 0;
    fit->c_high = fit->floor ? fit->c + c : 0;
}

/* ---- the fit --------------------------------------------------------------------------------- */

static void fit_form(const struct series *s, bool floor, struct law_fit *fit)
{
    const int n = fit->n;
    *fit = (struct law_fit){
        .n = n, .floor = floor, .scale = s->scale, .convention = s->point->convention};
    fit->b = search(s, floor);
    (void)linear_part(s, fit->b, floor, &fit->amplitude, &fit->c);
    fit->a = fit->scale * pow(fit->amplitude, -1 / fit->b);
    add_intervals(s, fit);
}

/* Different FLOPs among the fitted points. */
static int count_different(const struct series *s)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        bool again = !is_fitted(s, i);
        for (int k = 0; k < i && !again; k++)
            again = is_fitted(s, k) && !(fabs(s->point[k].flop - s->point[i].flop) > 0);
        n += !again;
    }
    return n;
}

static enum wsc_err check_points(const struct law_point *point, int n)
{
    for (int i = 0; i < n; i++) {
        if (point[i].convention != point->convention)
            return WSC_RAISE(WSC_CONFIG, "%s: its FLOPs are counted by %s, those of %s by %s",
                             point[i].name, law_convention_name(point[i].convention), point->name,
                             law_convention_name(point->convention));
        if (isfinite(point[i].flop) && point[i].flop > 0 && isfinite(point[i].loss) &&
            point[i].loss > 0)
            continue;
        return WSC_RAISE(WSC_CONFIG, "%s: %g FLOPs and a loss of %g, expected positive numbers",
                         point[i].name, point[i].flop, point[i].loss);
    }
    return WSC_OK;
}

enum wsc_err law_fit(const struct law_point *point, int n, struct law_fit *out)
{
    enum { LEAST = 3 };
    struct series s = {.point = point, .n = n};
    *out = (struct law_fit){.support = LAW_TOO_FEW};
    TRY(check_points(point, n));
    if (n) out->convention = point->convention;
    double sum = 0;
    for (int i = 0; i < n; i++) {
        out->n += is_fitted(&s, i);
        if (is_fitted(&s, i)) sum += log(point[i].flop);
    }
    const int different = count_different(&s);
    if (different < LEAST) return WSC_OK;
    s.scale = exp(sum / out->n);
    fit_form(&s, true, out);
    /* The negation also holds without degrees of freedom, when the interval is infinite. */
    if (!(out->c_low > 0)) fit_form(&s, false, out);
    out->support = out->b_high < 0 ? LAW_SUPPORTED : LAW_NOT_FALLING;
    return WSC_OK;
}

double law_loss(const struct law_fit *fit, double flop)
{
    return fit->amplitude * pow(flop / fit->scale, fit->b) + fit->c;
}

double law_half_width(const struct law_fit *fit, double flop)
{
    double g[N_COEFFICIENTS], variance = fit->deviation * fit->deviation;
    if (fit->dof < 1) return INFINITY;
    gradient(fit, flop, g);
    for (int i = 0; i < N_COEFFICIENTS; i++)
        for (int j = 0; j < N_COEFFICIENTS; j++)
            variance += g[i] * fit->covariance[i][j] * g[j];
    return student(fit->dof) * sqrt(variance);
}

double law_flop(const struct law_fit *fit, double loss)
{
    if (!(loss > fit->c)) return NAN;
    return fit->scale * pow((loss - fit->c) / fit->amplitude, 1 / fit->b);
}

double law_leave_out_last(const struct law_point *point, int n)
{
    enum { MOST = 256 };
    struct law_point others[MOST];
    struct law_fit fit;
    int last = -1;
    if (n > MOST) return NAN;
    for (int i = 0; i < n; i++) {
        others[i] = point[i];
        if (!point[i].judged && (last < 0 || point[i].flop > point[last].flop)) last = i;
    }
    if (last < 0) return NAN;
    others[last].judged = true;
    if (law_fit(others, n, &fit) || fit.support == LAW_TOO_FEW) return NAN;
    return law_loss(&fit, point[last].flop) / point[last].loss - 1;
}
