// SPDX-License-Identifier: Apache-2.0
/* Reads numbers of config.json for the functions of special keys: the value of a key is taken as
 * text and its form is checked. */
#include "hf_special_values.h"
#include "hf_config.h"
#include "hf_family.h"
#include "hf_source.h"

#include <wsc/units.h>

#include <math.h>
#include <string.h>

enum wsc_err convert_read_int(const struct convert_yaml *y, const char *name, const char *old,
                              int64_t missing, int64_t *value)
{
    const struct convert_key key = {
        .hf = name, .old_hf = old, .type = CONVERT_INT, .missing = "null"};
    char text[CONVERT_VALUE_BYTES];
    *value = missing;
    TRY(convert_config_value(&key, y->from, text));
    if (!strcmp(text, "null")) return WSC_OK;
    return wsc_units_int(text, value);
}

enum wsc_err convert_read_positive(const struct convert_yaml *y, const char *name, const char *old,
                                   int64_t *value)
{
    *value = 1;
    TRY(convert_read_int(y, name, old, 0, value));
    if (*value > 0 && *value <= INT32_MAX) return WSC_OK;
    return convert_source_raise(y->from, WSC_FORMAT, name, "expected a positive whole number");
}

enum wsc_err convert_read_heads(const struct convert_yaml *y, int64_t *hidden, int64_t *heads)
{
    TRY(convert_read_positive(y, "hidden_size", "n_embd", hidden));
    return convert_read_positive(y, "num_attention_heads", "n_head", heads);
}

/* The row of the family's own width of heads, or NULL. */
static const struct convert_key *own_heads(const struct convert_family *family)
{
    for (int i = 0; i < family->n_keys; i++) {
        const struct convert_key *key = &family->key[i];
        if (key->cs && !strcmp(key->cs, "attention_inner_dim")) return key;
    }
    return NULL;
}

enum wsc_err convert_read_head_dim(const struct convert_yaml *y, int64_t *head_dim)
{
    const struct convert_key *own = own_heads(y->family);
    int64_t hidden = 1, heads = 1, given = 0;
    TRY(convert_read_heads(y, &hidden, &heads));
    if (own && own->missing) TRY(wsc_units_int(own->missing, &given));
    TRY(convert_read_int(y, "head_dim", NULL, given, &given));
    const int64_t whole = heads > 0 ? hidden / heads : 1;
    *head_dim = given ? given : whole;
    if (given < 0 || given > INT32_MAX)
        return convert_source_raise(y->from, WSC_FORMAT, "head_dim",
                                    "expected a positive whole number");
    if (given && !own && given * heads != hidden)
        return convert_source_raise(y->from, WSC_CONFIG, "head_dim",
                                    "%lld is not supported, only width / heads = %lld",
                                    (long long)given, (long long)whole);
    if (given || whole * heads == hidden) return WSC_OK;
    return convert_source_raise(y->from, WSC_FORMAT, "num_attention_heads",
                                "%lld heads do not divide a width of %lld", (long long)heads,
                                (long long)hidden);
}

enum wsc_err convert_read_real(const struct convert_yaml *y, const char *name, double *value)
{
    const json_t *given = json_object_get(y->from->json, name);
    if (!given || json_is_null(given)) return WSC_OK;
    if (!json_is_number(given))
        return convert_source_raise(y->from, WSC_FORMAT, name, "expected a number");
    *value = json_number_value(given);
    return WSC_OK;
}

/* ---- rotated parts of heads ------------------------------------------------------------------ */

/* What the transformers library makes of the fraction, int(head_dim * pct); it does not run with an
 * odd number, which a fraction of too few digits gives for the even one above it. */
int64_t convert_rotary_dim(int64_t head_dim, double pct)
{
    const double few_digits = 1e-9;
    const int64_t n = (int64_t)((double)head_dim * pct);
    const double missing = (double)(n + 1) - (double)head_dim * pct;
    return n % 2 && missing < few_digits * (double)head_dim ? n + 1 : n;
}

/* The quotient, or the number above it where the product would be cut to rotary_dim - 1. */
double convert_rotary_pct(int64_t rotary_dim, int64_t head_dim)
{
    double pct = (double)rotary_dim / (double)head_dim;
    while ((double)head_dim * pct < (double)rotary_dim)
        pct = nextafter(pct, 1);
    return pct;
}
