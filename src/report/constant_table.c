// SPDX-License-Identifier: Apache-2.0
/* Prints the constants of a machine with value, kind, source and uncertainty, and its faults, as a
 * table or as JSON. `wsc inspect` calls it. */
#include <wsc/report.h>

#include <string.h>

/* Key, value, range, kind and source of every constant. */
static enum wsc_err print_table(const struct hw_machine *c)
{
    struct out_table *table;
    TRY(out_table_new(&table, "lrll",
                      (const char *const[]){"constant", "value", "kind", "source"}));
    for (int i = 0; i < c->n_sources; i++) {
        out_table_cell(table, "%s", c->source[i].key);
        const char *unit = c->source[i].unit;
        out_table_cell(table, "%s%s%s", c->source[i].value, unit ? " " : "", unit ? unit : "");
        out_table_cell(table, "%s", c->source[i].kind);
        out_table_cell(table, "%s", c->source[i].source);
    }
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

/* How many constants of each kind the file has, and how many keys it leaves at their defaults. */
static void print_counts(const struct hw_machine *c)
{
    int n_defaults = 0;
    for (int i = 0; i < c->n_sources; i++)
        n_defaults += c->source[i].is_default;
    for (int k = 0; k < HW_N_SOURCE_KINDS; k++) {
        const char *kind = hw_source_kinds()[k].name;
        int n = 0;
        for (int i = 0; i < c->n_sources; i++)
            n += !c->source[i].is_default && !strcmp(c->source[i].kind, kind);
        (void)printf("%s%d %s", k ? ", " : "  ", n, kind);
    }
    if (n_defaults) (void)printf("; %d key%s at the default", n_defaults, wsc_plural(n_defaults));
    (void)printf("\n");
}

enum wsc_err report_constants_print(const struct hw_machine *c)
{
    (void)printf("%s: cluster of %s%s%s, hash %016llx\n", c->file, c->name,
                 c->base ? ", based on " : "", c->base ? c->base : "", (unsigned long long)c->hash);
    TRY(print_table(c));
    print_counts(c);
    for (int i = 0; i < c->faults.n; i++)
        (void)printf("  fault %s\n", c->faults.item[i].text);
    return WSC_OK;
}

enum wsc_err report_constants_print_json(const struct hw_machine *c)
{
    struct out_json j = {.pretty = true};
    out_json_open(&j, NULL);
    out_json_str(&j, "name", c->name);
    out_json_str(&j, "file", c->file);
    out_json_str(&j, "base", c->base);
    out_json_hash(&j, "hash", c->hash);
    out_json_open(&j, "constants");
    for (int i = 0; i < c->n_sources; i++) {
        const struct hw_source *s = &c->source[i];
        out_json_open(&j, s->key);
        out_json_str(&j, "value", s->value);
        if (s->unit) out_json_str(&j, "unit", s->unit);
        out_json_str(&j, "kind", s->kind);
        out_json_str(&j, "source", s->source);
        out_json_real(&j, "low", s->low);
        out_json_real(&j, "high", s->high);
        out_json_close(&j);
    }
    out_json_close(&j);
    out_json_open_list(&j, "faults");
    for (int i = 0; i < c->faults.n; i++)
        out_json_str(&j, NULL, c->faults.item[i].text);
    out_json_close_list(&j);
    out_json_close(&j);
    enum wsc_err rc = out_json_check(&j, c->file);
    if (!rc) (void)fputs(j.text.bytes, stdout);
    wsc_text_free(&j.text);
    return rc;
}
