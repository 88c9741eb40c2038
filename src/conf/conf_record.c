// SPDX-License-Identifier: Apache-2.0
/* Records: maps with a small table of keys of their own, such as an entry of a list.  The keys of a
 * polymorphic record depend on what one of them says, its selector: `scheduler`, `kind`, `name`.
 * A record is one more pass of the engine (conf_keys.c, conf_values.c) with a table whose paths are
 * single names and a prefix for messages.  Used by schedules, initializers, mixtures and faults. */
#include <wsc/check.h>
#include <wsc/conf.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool conf_record_read(const struct conf_parse *p, const struct conf_record *record)
{
    bool seen[CONF_MAX_RECORD] = {0};
    const struct conf_node *given[CONF_MAX_RECORD] = {0};
    const struct conf_table table = {.key = record->key, .n = record->n};
    struct conf_parse inner = {.table = &table,
                               .diag = p->diag,
                               .out = record->out,
                               .seen = seen,
                               .given = given,
                               .prefix = record->path,
                               .context = record->context ? record->context : p->context};
    const int n_errors = p->diag->n_errors;
    WSC_CHECK(record->n <= CONF_MAX_RECORD, "%d keys of %s", record->n, record->path);
    if (record->map->kind == CONF_NODE_MAP) conf_keys_read(&inner, record->map, conf_key_read);
    /* After an error a missing key may be there under the wrong name. */
    if (p->diag->n_errors == n_errors) conf_keys_defaults(&inner, record->map);
    return p->diag->n_errors == n_errors;
}

/* True when @p tail is nothing, or one of @p suffixes, whatever its case. */
static bool is_suffix(const char *tail, const char *suffixes)
{
    const size_t n = strlen(tail);
    if (!n) return true;
    for (const char *at = suffixes; at && *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        if (length == n && !strncasecmp(at, tail, n)) return true;
        at += length;
    }
    return false;
}

/* Index of the variant that is called @p name, whatever its case and with any of the suffixes; -1.
 */
static int find_variant(const struct conf_variants *variants, const char *name)
{
    for (int i = 0; i < variants->n; i++) {
        const char *known = variants->variant[i].name;
        const size_t n = strlen(known);
        if (!strncasecmp(name, known, n) && is_suffix(name + n, variants->suffixes)) return i;
    }
    return -1;
}

int conf_variant_read(const struct conf_parse *p, const struct conf_variants *variants,
                      const char *path, const struct conf_node *name)
{
    struct conf_choice names[CONF_MAX_CHOICES + 1] = {{0}};
    const int i = name->kind == CONF_NODE_SCALAR ? find_variant(variants, name->text) : -1;
    if (i >= 0) return i;
    WSC_CHECK(variants->n <= CONF_MAX_CHOICES, "%d kinds of %s", variants->n, path);
    for (int k = 0; k < variants->n; k++)
        names[k] = (struct conf_choice){variants->variant[k].name, k};
    conf_key_unsupported(p, path, name, names);
    return -1;
}
