// SPDX-License-Identifier: Apache-2.0
/* The constants of a machine, each with its provenance. */
#include "report_impl.h"

#include <string.h>

static enum wsc_err print_table(const struct conf_cluster *c)
{
    struct report_table *table;
    TRY(report_table_new(&table, "lrll",
                         (const char *const[]){"constant", "value", "kind", "source"}));
    for (int i = 0; i < c->n_sources; i++) {
        report_table_cell(table, "%s", c->source[i].key);
        report_table_cell(table, "%s", c->source[i].value);
        report_table_cell(table, "%s", c->source[i].kind);
        report_table_cell(table, "%s", c->source[i].source);
    }
    enum wsc_err rc = report_table_print(table, stdout, 2);
    report_table_free(&table);
    return rc;
}

static void print_counts(const struct conf_cluster *c)
{
    static const char *const kind[] = {"documented", "derived", "assumed", "calibrated"};
    for (int k = 0; k < 4; k++) {
        int n = 0;
        for (int i = 0; i < c->n_sources; i++)
            n += !strcmp(c->source[i].kind, kind[k]);
        (void)printf("%s%d %s", k ? ", " : "  ", n, kind[k]);
    }
    (void)printf("\n");
}

enum wsc_err report_constants_print(const struct conf_cluster *c)
{
    (void)printf("%s: cluster of %s%s%s, hash %016llx\n", c->file, c->name,
                 c->base ? ", based on " : "", c->base ? c->base : "", (unsigned long long)c->hash);
    TRY(print_table(c));
    print_counts(c);
    return WSC_OK;
}

enum wsc_err report_constants_print_json(const struct conf_cluster *c)
{
    struct report_json j = {.pretty = true};
    report_json_open(&j, NULL);
    report_json_str(&j, "name", c->name);
    report_json_str(&j, "file", c->file);
    report_json_str(&j, "base", c->base);
    report_json_hash(&j, "hash", c->hash);
    report_json_open(&j, "constants");
    for (int i = 0; i < c->n_sources; i++) {
        const struct conf_source *s = &c->source[i];
        report_json_open(&j, s->key);
        report_json_str(&j, "value", s->value);
        report_json_str(&j, "kind", s->kind);
        report_json_str(&j, "source", s->source);
        report_json_real(&j, "low", s->low);
        report_json_real(&j, "high", s->high);
        report_json_close(&j);
    }
    report_json_close(&j);
    report_json_close(&j);
    enum wsc_err rc = report_json_check(&j, c->file);
    if (!rc) (void)fputs(j.text.bytes, stdout);
    report_text_free(&j.text);
    return rc;
}
