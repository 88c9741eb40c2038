// SPDX-License-Identifier: Apache-2.0
/* Texts of `wsc scale`: values of a swept constant or batch (LOW..HIGH:N, A,B,C), and how many
 * tokens a training has, absolute or for each parameter.  A range is cut evenly on a logarithmic
 * scale, with its ends as they were written. */
#include <wsc/scaling.h>

#include <wsc/units.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Longest number or path; values of a range that does not say how many. */
enum { TEXT_BYTES = 128, DEFAULT_VALUES = 9 };

/* The error for a --sweep that cannot be read, with examples. */
static enum wsc_err wrong(const char *text, const char *why)
{
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--sweep %s: %s", text, why),
                        "--sweep cluster.swarmx.latency=1us..1ms, ...=1us..1ms:5 or ...=1us,1ms");
}

/* An error of the machine's keys, which name the constant, as one of the option. */
static enum wsc_err of_option(enum wsc_err rc)
{
    char why[512];
    if (!rc) return WSC_OK;
    (void)snprintf(why, sizeof why, "%s", wsc_err_message());
    return WSC_RAISE(rc, "--sweep %s", why);
}

/* Three digits are enough for a place between two ends, and better to read. */
static double three_digits(double value)
{
    const double digits = 2, unit = pow(10, floor(log10(value)) - digits);
    return round(value / unit) * unit;
}

/* Append a value; one that rounding made equal to the last is dropped. */
static enum wsc_err take(struct scaling_values *v, double value)
{
    if (v->constant.whole) value = round(value);
    if (v->n && v->value[v->n - 1] == value) return WSC_OK; /* small whole numbers repeat */
    v->value[v->n++] = value;
    return WSC_OK;
}

/* A value of the constant with its unit, in the range of its key. */
static enum wsc_err read_constant(const struct hw_constant *constant, const char *text,
                                  double *value)
{
    struct hw_machine scratch = {0}; /* only its range is wanted */
    TRY(hw_constant_read(constant, text, value));
    return hw_constant_set(constant, &scratch, *value);
}

/* A value with its unit, or a number of sequences. */
static enum wsc_err read_value(const struct scaling_values *v, const char *text, double *value)
{
    const int64_t most = 1000000000;
    int64_t n;
    if (v->sparsity) {
        if (!wsc_units_double(text, value) && *value >= 0 && *value < 1) return WSC_OK;
        return wsc_err_hint(WSC_RAISE(WSC_USAGE,
                                      "--sweep sparsity: \"%.40s\" is no fraction from 0 "
                                      "to below 1",
                                      text),
                            "--sweep sparsity=0,0.5,0.75,0.9");
    }
    if (!v->global_batch) return of_option(read_constant(&v->constant, text, value));
    if (wsc_units_int(text, &n) || n < 1 || n > most)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE,
                                      "--sweep global_batch: \"%.40s\" is no number of "
                                      "sequences from 1 to %lld",
                                      text, (long long)most),
                            "--sweep global_batch=64,128,256");
    *value = (double)n;
    return WSC_OK;
}

static bool is_taken(const struct scaling_values *v, double value)
{
    for (int i = 0; i < v->n; i++)
        if (v->value[i] == (v->constant.whole ? round(value) : value)) return true;
    return false;
}

/* A,B,C: the values as they are written, in that order. */
static enum wsc_err take_list(struct scaling_values *v, const char *text, const char *list)
{
    if (!*list) return wrong(text, "no value");
    for (const char *p = list;; p++) {
        char item[TEXT_BYTES];
        double value = 0;
        const size_t n = strcspn(p, ",");
        if (!n) return wrong(text, "an item of the list is empty");
        if (n >= sizeof item) return wrong(text, "a value is too long");
        if (v->n == SCALING_MAX_VALUES) return wrong(text, "more than 64 values");
        (void)snprintf(item, sizeof item, "%.*s", (int)n, p);
        TRY(read_value(v, item, &value));
        if (is_taken(v, value)) return wrong(text, "a value stands twice");
        TRY(take(v, value));
        p += n;
        if (!*p) return WSC_OK;
    }
}

/* LOW..HIGH or LOW..HIGH:N. */
static enum wsc_err take_range(struct scaling_values *v, const char *text, const char *low_text,
                               const char *dots)
{
    char low[TEXT_BYTES], high[TEXT_BYTES];
    double from = 0, to = 0;
    int64_t n = DEFAULT_VALUES;
    const size_t n_high = strcspn(dots + 2, ":");
    if ((size_t)(dots - low_text) >= sizeof low || n_high >= sizeof high)
        return wrong(text, "a value is too long");
    (void)snprintf(low, sizeof low, "%.*s", (int)(dots - low_text), low_text);
    (void)snprintf(high, sizeof high, "%.*s", (int)n_high, dots + 2);
    if (dots[2 + n_high] &&
        (wsc_units_int(dots + 3 + n_high, &n) || n < 2 || n > SCALING_MAX_VALUES))
        return wrong(text, "after the colon a number of values from 2 to 64");
    TRY(read_value(v, low, &from));
    TRY(read_value(v, high, &to));
    if (v->sparsity && to > from) {
        for (int64_t i = 0; i < n; i++)
            TRY(take(v, from + (to - from) * (double)i / (double)(n - 1)));
        return WSC_OK;
    }
    if (!(from > 0)) return wrong(text, "a range is logarithmic and starts above 0");
    if (!(to > from)) return wrong(text, "the range does not rise");
    for (int64_t i = 0; i < n; i++) {
        const bool ends = !i || i == n - 1;
        const double end = i ? to : from;
        TRY(take(v, ends ? end : three_digits(from * pow(to / from, (double)i / (double)(n - 1)))));
    }
    return WSC_OK;
}

/* Dense weights, named or not, are what the others are compared with. */
static enum wsc_err put_dense_first(struct scaling_values *v, const char *text)
{
    int at = 0;
    while (at < v->n && v->value[at] != 0)
        at++;
    if (at == SCALING_MAX_VALUES) return wrong(text, "more than 63 values beside 0");
    memmove(v->value + 1, v->value, (size_t)at * sizeof *v->value);
    v->value[0] = 0;
    if (at == v->n) v->n++;
    return WSC_OK;
}

enum wsc_err scaling_values_parse(struct scaling_values *out, const char *text)
{
    char path[TEXT_BYTES];
    const size_t n = strcspn(text, "=");
    *out = (struct scaling_values){.n = 0};
    if (!text[n] || !n || n >= sizeof path)
        return wrong(text, "expected cluster.KEY=VALUES, global_batch=VALUES or sparsity=VALUES");
    (void)snprintf(path, sizeof path, "%.*s", (int)n, text);
    out->global_batch = !strcmp(path, "global_batch");
    out->sparsity = !strcmp(path, "sparsity");
    const bool key = !out->global_batch && !out->sparsity;
    if (key && strncmp(path, "cluster.", 8) != 0)
        return wrong(text, "a key of the cluster file, global_batch or sparsity is swept");
    if (!key)
        out->constant = (struct hw_constant){.path = out->sparsity ? "sparsity" : "global_batch",
                                             .whole = out->global_batch};
    else
        TRY(of_option(hw_constant_find(path, &out->constant)));
    const char *values = text + n + 1, *dots = strstr(values, "..");
    TRY(dots ? take_range(out, text, values, dots) : take_list(out, text, values));
    return out->sparsity ? put_dense_first(out, text) : WSC_OK;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* Suffixes from long to short: "20xparams" ends with no other one. */
enum wsc_err scaling_tokens_parse(const char *text, double *tokens, double *per_param)
{
    static const struct {
        const char *suffix;
        double factor;
        bool per_param;
    } form[] = {{"xparams", 1, true}, {"k", 1e3, false},  {"M", 1e6, false},
                {"B", 1e9, false},    {"T", 1e12, false}, {"", 1, false}};
    const double most = 1e18; /* of a training, far beyond any, and whole in 64 bits */
    const double least = 1, least_per_param = 1e-2; /* any model has 100 parameters */
    char number[TEXT_BYTES];
    double value;
    *tokens = *per_param = 0;
    for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
        const size_t n = strlen(text), m = strlen(form[i].suffix);
        if (n <= m || n >= sizeof number || strcmp(text + n - m, form[i].suffix) != 0) continue;
        (void)snprintf(number, sizeof number, "%.*s", (int)(n - m), text);
        if (wsc_units_double(number, &value) || !(value > 0)) break;
        if (value * form[i].factor > (form[i].per_param ? most * 1e-12 : most)) break;
        if (value * form[i].factor < (form[i].per_param ? least_per_param : least)) break;
        *(form[i].per_param ? per_param : tokens) = value * form[i].factor;
        return WSC_OK;
    }
    return wsc_err_hint(
        WSC_RAISE(WSC_USAGE,
                  "--tokens: expected a number of tokens, 1 to 1e18, or 0.01 to 1e6 for "
                  "each parameter, got \"%s\"",
                  text),
        "--tokens 300B, --tokens 2.6T, or --tokens 20xparams");
}
