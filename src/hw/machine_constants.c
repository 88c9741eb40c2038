// SPDX-License-Identifier: Apache-2.0
/* Numeric constants of a machine, one at a time.  A sweep or a sensitivity study finds a constant
 * by its path, and reads, writes, gets and sets its value in base units through the row of the key
 * table.  The last parts derive the range of uncertainty of each value, from the file or by the
 * kind of its source, and the correlations of calibrated ones. */
#include "machine_parts.h"

#include <wsc/check.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Constants that a sweep may vary: choices, switches and texts are none. */
static bool is_number(const struct conf_key *key)
{
    return key->status == CONF_USED &&
           (key->type == CONF_T_INT || key->type == CONF_T_DOUBLE || key->type == CONF_T_QUANTITY);
}

/* Row of the key table; all that is known about the constant. */
static const struct conf_key *key_of(const struct hw_constant *c)
{
    return &hw_machine_table()->key[c->row];
}

/* ---- find, read, write ----------------------------------------------------------------------- */

enum wsc_err hw_constant_find(const char *path, struct hw_constant *out)
{
    const struct conf_table *table = hw_machine_table();
    const char *inside = conf_set_cluster_path(path);
    int row = conf_keys_find(table, inside ? inside : path);
    char shown[CONF_QUOTE_BYTES];
    if (row < 0) {
        const struct conf_set set = {.text = path, .option = ""};
        struct conf_diag d = {.file = "cluster", .sets = &set, .n_sets = 1};
        conf_keys_unknown(table, &d, (struct conf_pos){.line = -1}, inside ? inside : path);
        return conf_diag_finish(&d);
    }
    if (!is_number(&table->key[row]))
        return WSC_RAISE(WSC_CONFIG, "cluster.%s: is no number; only numbers can be varied",
                         conf_quote(inside ? inside : path, shown));
    *out = (struct hw_constant){
        .path = table->key[row].path, .row = row, .whole = table->key[row].type != CONF_T_DOUBLE};
    return WSC_OK;
}

/* A value by the type of its row, into base units. */
static enum wsc_err read_number(const struct conf_key *key, const char *text, double *value)
{
    int64_t whole = 0;
    if (key->type == CONF_T_DOUBLE) return wsc_units_double(text, value);
    if (key->type == CONF_T_INT)
        TRY(wsc_units_int(text, &whole));
    else
        TRY(wsc_units_quantity(key->unit, text, &whole));
    *value = (double)whole;
    return WSC_OK;
}

enum wsc_err hw_constant_read(const struct hw_constant *constant, const char *text, double *value)
{
    char why[256];
    enum wsc_err rc = read_number(key_of(constant), text, value);
    if (!rc) return WSC_OK;
    (void)snprintf(why, sizeof why, "%s", wsc_err_message());
    return WSC_RAISE(WSC_CONFIG, "cluster.%s: %s", constant->path, why);
}

/* With at most so many digits; a plain number has two more, a whole one all. */
static void write_digits(const struct conf_key *key, double value, int digits, char *text,
                         size_t size)
{
    if (key->type == CONF_T_QUANTITY) {
        wsc_units_format_digits(key->unit, value, digits, text, size);
    } else if (key->type == CONF_T_INT) {
        (void)snprintf(text, size, "%.0f", value);
    } else {
        (void)snprintf(text, size, "%.*g", digits + 2, value);
    }
}

enum { FEW_DIGITS = 4, ALL_DIGITS = 17 };

void hw_constant_write(const struct hw_constant *constant, double value, char *text, size_t size)
{
    write_digits(key_of(constant), value, FEW_DIGITS, text, size);
}

void hw_constant_show(const struct hw_constant *constant, double value, char *text, size_t size)
{
    const char *unit = key_of(constant)->measure;
    char number[48];
    hw_constant_write(constant, value, number, sizeof number);
    (void)snprintf(text, size, "%s%s%s", number, unit ? " " : "", unit ? unit : "");
}

void hw_constant_write_exact(const struct hw_constant *constant, double value, char *text,
                             size_t size)
{
    const struct conf_key *key = key_of(constant);
    const double exact = constant->whole ? round(value) : value;
    double read = NAN;
    for (int digits = FEW_DIGITS; digits <= ALL_DIGITS && read != exact; digits++) {
        write_digits(key, exact, digits, text, size);
        if (read_number(key, text, &read)) read = NAN;
    }
}

/* ---- get, set -------------------------------------------------------------------------------- */

double hw_constant_get(const struct hw_constant *constant, const struct hw_machine *cluster)
{
    const struct conf_key *key = key_of(constant);
    const void *field = (const char *)cluster + key->offset;
    return key->type == CONF_T_DOUBLE ? *(const double *)field : (double)*(const int64_t *)field;
}

void hw_constant_range(const struct hw_constant *constant, double *low, double *high)
{
    *low = key_of(constant)->min;
    *high = key_of(constant)->max;
}

enum wsc_err hw_constant_set(const struct hw_constant *constant, struct hw_machine *cluster,
                             double value)
{
    const struct conf_key *key = key_of(constant);
    void *field = (char *)cluster + key->offset;
    char shown[48], low[48], high[48];
    const double rounded = constant->whole ? round(value) : value;
    if (!(rounded >= key->min && rounded <= key->max)) {
        hw_constant_write(constant, value, shown, sizeof shown);
        hw_constant_write(constant, key->min, low, sizeof low);
        hw_constant_write(constant, key->max, high, sizeof high);
        return WSC_RAISE(WSC_CONFIG, "cluster.%s: %s is not in %s .. %s", constant->path, shown,
                         low, high);
    }
    if (constant->whole)
        *(int64_t *)field = (int64_t)rounded;
    else
        *(double *)field = rounded;
    return WSC_OK;
}

/* ---- kinds of sources -------------------------------------------------------------------------
 */

/* Where a constant comes from, by its `kind`. */
static const struct conf_choice kinds[CONF_MAX_CHOICES] = {{"documented", HW_DOCUMENTED},
                                                           {"derived", HW_DERIVED},
                                                           {"assumed", HW_ASSUMED},
                                                           {"calibrated", HW_CALIBRATED}};

const struct conf_choice *hw_source_kinds(void)
{
    return kinds;
}

/* ---- uncertainty ----------------------------------------------------------------------------- */

/* How far the true value may lie from the one in the file when the file does not say. */
static const struct {
    double below, above; /* factors */
} by_kind[HW_N_SOURCE_KINDS] = {[HW_DOCUMENTED] = {1, 1},
                                [HW_DERIVED] = {0.95, 1.05},
                                [HW_ASSUMED] = {0.5, 2},
                                [HW_CALIBRATED] = {0.9, 1.1}};

/* The range value * below .. value * above, cut to the range of the key. */
static void spread(const struct conf_key *key, double value, double below, double above,
                   struct hw_source *s)
{
    s->low = fmax(fmin(value * below, value), key->min);
    s->high = fmin(fmax(value * above, value), key->max);
}

/* `10 %`; false when the text has another form. */
static bool read_percent(const char *text, double *share)
{
    const double most = 100;
    char number[CONF_QUOTE_BYTES];
    size_t n = strlen(text);
    if (!n || text[n - 1] != '%' || n >= sizeof number) return false;
    for (n--; n && text[n - 1] == ' ';)
        n--;
    (void)snprintf(number, sizeof number, "%.*s", (int)n, text);
    if (wsc_units_double(number, share) || *share < 0 || *share > most) return false;
    *share /= 100;
    return true;
}

/* `1 us..5 us`; false when the text has another form. */
static bool read_range(const struct conf_key *key, const char *text, struct hw_source *s)
{
    char low[CONF_QUOTE_BYTES];
    const char *dots = strstr(text, "..");
    if (!dots || (size_t)(dots - text) >= sizeof low) return false;
    (void)snprintf(low, sizeof low, "%.*s", (int)(dots - text), text);
    return !read_number(key, low, &s->low) && !read_number(key, dots + 2, &s->high);
}

/* The range that was read has the value of the constant, and lies within that of the key. */
static void check_range(struct conf_parse *p, const struct hw_constant *constant, double value,
                        const struct conf_node *text, const struct hw_source *s)
{
    const struct conf_key *key = key_of(constant);
    char shown[48], low[48], high[48];
    if (!(s->low <= value && value <= s->high)) {
        hw_constant_write(constant, value, shown, sizeof shown);
        conf_diag_error(p->diag, text->pos, key->path,
                        "uncertainty: %s is no range around the value, %s; hint: another range, a "
                        "percentage, or no uncertainty",
                        text->text, shown);
    } else if (s->low < key->min || s->high > key->max) {
        hw_constant_write(constant, key->min, low, sizeof low);
        hw_constant_write(constant, key->max, high, sizeof high);
        conf_diag_error(p->diag, text->pos, key->path,
                        "uncertainty: %s is not in the range of the key, %s..%s", text->text, low,
                        high);
    }
}

void hw_uncertainty_read(struct conf_parse *p, int row, const struct conf_node *text,
                         struct hw_source *s)
{
    const struct conf_key *key = &p->table->key[row];
    char shown[CONF_QUOTE_BYTES];
    double share;
    if (!is_number(key)) {
        if (text && (text->kind != CONF_NODE_SCALAR || strcmp(text->text, "0 %") != 0))
            conf_diag_error(p->diag, text->pos, key->path, "uncertainty: the value is no number");
        return;
    }
    const struct hw_constant constant = {key->path, row, key->type != CONF_T_DOUBLE};
    const double value =
        hw_constant_get(&constant, (const struct hw_machine *)(const void *)p->out);
    for (int i = 0; i < HW_N_SOURCE_KINDS; i++)
        if (!strcmp(s->kind, kinds[i].name))
            spread(key, value, by_kind[i].below, by_kind[i].above, s);
    if (!text) return;
    const bool scalar = text->kind == CONF_NODE_SCALAR;
    if (scalar && read_percent(text->text, &share))
        spread(key, value, 1 - share, 1 + share, s);
    else if (scalar && read_range(key, text->text, s))
        check_range(p, &constant, value, text, s);
    else
        conf_diag_error(p->diag, text->pos, key->path,
                        "uncertainty: expected a percentage (10 %%) or a range (LOW..HIGH), got %s",
                        conf_node_describe(text, shown));
}

/* ---- correlation ----------------------------------------------------------------------------- */

/* One entry `wafer.clock: 0.4`; false after an error. */
static bool read_correlation(struct conf_parse *p, const char *path, const struct conf_entry *entry,
                             struct hw_correlation *out)
{
    const int row = conf_keys_find(p->table, entry->key);
    const bool known = row >= 0 && is_number(&p->table->key[row]) && strcmp(entry->key, path) != 0;
    if (!known) {
        conf_diag_error(p->diag, entry->key_pos, path, "correlation: %s is no other constant",
                        entry->key);
        return false;
    }
    const bool scalar = entry->value->kind == CONF_NODE_SCALAR;
    if (scalar && !wsc_units_double(entry->value->text, &out->value) && fabs(out->value) < 1) {
        out->key = p->table->key[row].path;
        return true;
    }
    conf_diag_error(p->diag, entry->value->pos, path,
                    "correlation: expected a number between -1 and 1 for %s", entry->key);
    return false;
}

void hw_correlation_read(struct conf_parse *p, int row, const struct conf_node *map,
                         struct hw_source *s)
{
    const char *path = p->table->key[row].path;
    if (!map) return;
    if (strcmp(s->kind, kinds[HW_CALIBRATED].name) != 0 || map->kind != CONF_NODE_MAP ||
        map->n > HW_MAX_CORRELATIONS) {
        conf_diag_error(p->diag, map->pos, path,
                        "correlation: a calibrated constant may have a map of at most %d others",
                        HW_MAX_CORRELATIONS);
        return;
    }
    for (int i = 0; i < map->n; i++)
        s->n_correlations +=
            read_correlation(p, path, &map->entry[i], &s->correlation[s->n_correlations]);
}

/* What the source of @p a says of @p b. */
static bool stated(const struct hw_machine *c, const char *a, const char *b, double *value)
{
    for (int i = 0; i < c->n_sources; i++)
        for (int k = 0; k < c->source[i].n_correlations; k++) {
            const struct hw_correlation *r = &c->source[i].correlation[k];
            if (strcmp(c->source[i].key, a) != 0 || strcmp(r->key, b) != 0) continue;
            *value = r->value;
            return true;
        }
    return false;
}

double hw_correlation(const struct hw_machine *c, const char *a, const char *b)
{
    double value = 0;
    if (!strcmp(a, b)) return 1;
    if (!stated(c, a, b, &value)) (void)stated(c, b, a, &value);
    return value;
}
