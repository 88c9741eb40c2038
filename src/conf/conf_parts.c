// SPDX-License-Identifier: Apache-2.0
/* Maps with a small set of numeric keys of their own (an initializer, a bound, a fault): every key
 * is one entry of a list of struct conf_part, unknown ones are reported with the nearest known. */
#include <wsc/conf.h>

#include <stdio.h>
#include <string.h>

enum { MAX_PARTS = 32 };

static const struct conf_part *find_part(const struct conf_part *parts, int n, const char *key)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(parts[i].name, key)) return &parts[i];
    return NULL;
}

void conf_part_unknown(struct conf_parse *p, const char *path, const struct conf_entry *entry,
                       const char *const *known, int n)
{
    char full[CONF_MAX_PATH], hint[CONF_MAX_PATH] = "";
    int best = (int)strlen(entry->key) / 3 + 1;
    (void)snprintf(full, sizeof full, "%.100s.%.80s", path, entry->key);
    for (int i = 0; i < n; i++) {
        int d = wsc_units_distance(entry->key, known[i]);
        if (d >= best) continue;
        best = d;
        (void)snprintf(hint, sizeof hint, "; hint: did you mean %s?", known[i]);
    }
    conf_diag_error(p->diag, entry->key_pos, full, "unknown key%s", hint);
}

bool conf_read_parts(struct conf_parse *p, const char *path, const struct conf_node *map,
                     const struct conf_part *parts, int n)
{
    bool ok = true;
    const char *names[MAX_PARTS];
    for (int i = 0; i < n; i++)
        names[i] = parts[i].name;
    for (int i = 0; i < map->n; i++) {
        const struct conf_entry *e = &map->entry[i];
        const struct conf_part *part = find_part(parts, n, e->key);
        char full[CONF_MAX_PATH];
        (void)snprintf(full, sizeof full, "%s.%.80s", path, e->key);
        if (!part) {
            conf_part_unknown(p, path, e, names, n);
            ok = false;
        } else if (!conf_node_is_null(e->value)) {
            if (part->given) *part->given = true;
            if (part->real) ok = conf_read_double(p, full, e->value, part->real) && ok;
            if (part->whole) ok = conf_read_int(p, full, e->value, part->whole) && ok;
        }
    }
    return ok;
}
