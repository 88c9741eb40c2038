// SPDX-License-Identifier: Apache-2.0
/* What `faults:` and `--fault` say.  A kind is a row: where it happens, which keys it takes, what
 * they may be.  What it does to the machine is the same row of src/hw/fault_events.c. */
#include "machine_file.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

#define WAFER (1U << HW_PLACE_WAFER)
#define NODE  (1U << HW_PLACE_NODE)
#define SHARD (1U << HW_PLACE_SHARD)

static const struct fault_row {
    const char *name;
    unsigned places;    /* where it happens, a bit each */
    bool everywhere;    /* without a place it is every one; otherwise only where it is drawn */
    bool ends;          /* takes `steps` */
    bool whole;         /* the key of its own takes whole numbers */
    const char *amount; /* that key, or NULL */
    double least, most; /* what it may be */
    const char *amount_doc, *doc;
} rows[HW_N_FAULT_KINDS] = {
    [HW_FAULT_STRAGGLER] = {"straggler", WAFER, false, true, false, "factor", 1, 1e6,
                            "on its compute time", "a system computes slower"},
    [HW_FAULT_JITTER] = {"jitter", WAFER, true, true, false, "deviation", 0, 0.2,
                         "relative standard deviation",
                         "compute time varies from step to step, beside the machine's `jitter`"},
    [HW_FAULT_LOST_WAFER] = {"lost_wafer", WAFER, false, false, false, NULL, 0, 0, "",
                             "a system is gone, the others share its part of the batch"},
    [HW_FAULT_SLOW_LINK] = {"slow_link", WAFER | NODE, false, true, false, "factor", 1, 1e6,
                            "4 is a quarter of the rate",
                            "the link towards MemoryX is slower, both ways"},
    [HW_FAULT_LOSSY_LINK] = {"lossy_link", WAFER | NODE, false, true, false, "loss", 0, 0.5,
                             "probability that a packet is lost",
                             "the link towards MemoryX loses packets, both ways"},
    [HW_FAULT_LOST_PLANES] = {"lost_planes", NODE, false, true, true, "planes", 1, 63,
                              "of `swarmx.planes`, on all links of the node",
                              "a SwarmX node has fewer of its parallel networks"},
    [HW_FAULT_LOST_NODE] = {"lost_node", NODE, false, false, false, NULL, 0, 0, "",
                            "a SwarmX node is gone, the tree is formed anew without it"},
    [HW_FAULT_LOST_SHARD] = {"lost_shard", SHARD, false, false, false, NULL, 0, 0, "",
                             "a MemoryX shard loses its memory: the newest checkpoint is "
                             "restored and the steps since then are done again"}};

static const char *const place_name[HW_N_PLACES] = {"wafer", "node", "shard"};

const char *hw_place_name(enum hw_place place)
{
    return place_name[place];
}

/* ---- one more, from the command line --------------------------------------------------------- */

/* `KEY=VALUE` into the map; false after an error. */
static bool add_pair(struct conf_doc *doc, struct conf_diag *d, struct conf_node *map,
                     const char *text, size_t n)
{
    const char *equals = memchr(text, '=', n);
    const size_t key = equals ? (size_t)(equals - text) : 0;
    if (!key || key + 1 == n) {
        conf_diag_error(d, map->pos, NULL, "expected KIND:KEY=VALUE,KEY=VALUE...");
        return false;
    }
    struct conf_entry entry = {.key = conf_doc_text(doc, text, key), .key_pos = map->pos};
    entry.value = conf_doc_scalar(doc, equals + 1, n - key - 1, map->pos);
    if (entry.key && conf_node_index(map, entry.key) >= 0) {
        conf_diag_error(d, map->pos, NULL, "%s is given twice", entry.key);
        return false;
    }
    const bool done = entry.key && entry.value && conf_doc_append(doc, map, &entry);
    d->no_memory = d->no_memory || !done;
    return done;
}

static struct conf_node *parse_fault(struct conf_doc *doc, struct conf_diag *d, const char *text,
                                     int set)
{
    const struct conf_pos pos = {.line = -set};
    size_t n = strcspn(text, ":");
    struct conf_node *map = conf_doc_map(doc, pos);
    struct conf_entry kind = {
        .key = "kind", .key_pos = pos, .value = conf_doc_scalar(doc, text, n, pos)};
    if (!map || !kind.value || !conf_doc_append(doc, map, &kind)) {
        d->no_memory = true;
        return NULL;
    }
    for (text += n + (text[n] == ':'); *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        if (!add_pair(doc, d, map, text, n)) return NULL;
    }
    return map;
}

void hw_faults_add(struct conf_doc *doc, struct conf_diag *d, const char *text, int set)
{
    struct conf_entry entry = {.key_pos = {.line = -set}, .value = parse_fault(doc, d, text, set)};
    const struct conf_node *old = conf_node_find(doc->root, "faults");
    struct conf_node *list = conf_doc_list(doc, entry.key_pos);
    if (!entry.value) return;
    bool done = list != NULL;
    for (int i = 0; old && old->kind == CONF_NODE_LIST && i < old->n && done; i++)
        done = conf_doc_append(doc, list, &old->entry[i]);
    if (done && conf_doc_append(doc, list, &entry))
        conf_doc_set(doc, d, "faults", list);
    else
        d->no_memory = true;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* An entry in the making. */
struct reader {
    struct conf_parse *p;
    const char *path; /* faults[2] */
    const struct conf_node *node;
    const struct fault_row *row;
    struct hw_fault *out;
    int64_t where[HW_N_PLACES];
    bool given[HW_N_PLACES];
    bool from_given, amount_given, steps_given, rate_given;
};

static void complain(const struct reader *r, const char *key, const char *what)
{
    const struct conf_node *at = conf_node_find(r->node, key);
    char path[CONF_MAX_PATH];
    (void)snprintf(path, sizeof path, "%s.%s", r->path, key);
    conf_diag_error(r->p->diag, at ? at->pos : r->node->pos, path, "%s", what);
}

static bool read_kind(struct reader *r)
{
    const struct conf_node *kind = conf_node_find(r->node, "kind");
    struct conf_choice choices[CONF_MAX_CHOICES] = {{0}};
    char path[CONF_MAX_PATH];
    for (int i = 0; i < HW_N_FAULT_KINDS; i++)
        choices[i] = (struct conf_choice){rows[i].name, i};
    if (!kind) {
        complain(r, "kind", "is missing");
        return false;
    }
    const int i = conf_choice_find(choices, kind);
    (void)snprintf(path, sizeof path, "%s.kind", r->path);
    if (i < 0) {
        conf_key_unsupported(r->p, path, kind, choices);
        return false;
    }
    r->row = &rows[i];
    r->out->kind = (enum hw_fault_kind)i;
    return true;
}

static bool read_parts(struct reader *r)
{
    enum { MOST_PARTS = HW_N_PLACES + 5 };
    struct hw_fault *f = r->out;
    struct conf_part part[MOST_PARTS] = {{"kind", NULL, NULL, NULL},
                                         {"from", NULL, &f->from, &r->from_given},
                                         {"rate", &f->rate, NULL, &r->rate_given}};
    int n = 3;
    for (int i = 0; i < HW_N_PLACES; i++)
        if (r->row->places >> i & 1)
            part[n++] = (struct conf_part){place_name[i], NULL, &r->where[i], &r->given[i]};
    if (r->row->ends) part[n++] = (struct conf_part){"steps", NULL, &f->steps, &r->steps_given};
    if (r->row->amount)
        part[n++] = (struct conf_part){r->row->amount, &f->amount, NULL, &r->amount_given};
    return conf_read_parts(r->p, r->path, r->node, part, n);
}

/* The one place that is given; without one the first that the kind may have, and every one of it.
 */
static void choose_place(struct reader *r)
{
    const int64_t most = 4095;
    int n = 0, first = HW_N_PLACES;
    for (int i = HW_N_PLACES - 1; i >= 0; i--) {
        if (r->row->places >> i & 1) first = i;
        if (!r->given[i]) continue;
        n++;
        r->out->place = (enum hw_place)i;
        r->out->where = r->where[i];
        if (r->where[i] < 0 || r->where[i] > most)
            complain(r, place_name[i], "must be a number from 0 to 4095");
    }
    if (n > 1) complain(r, place_name[r->out->place], "one place is enough");
    if (n) return;
    r->out->place = (enum hw_place)first;
    r->out->where = CONF_NULL;
    if (!r->row->everywhere && !r->rate_given)
        complain(r, place_name[first], "is missing; hint: which one, or a rate for all of them");
}

static void check_numbers(struct reader *r)
{
    const struct fault_row *row = r->row;
    const struct hw_fault *f = r->out;
    const double last_step = 1e15;
    char what[CONF_QUOTE_BYTES];
    if (f->from < 1 || (double)f->from > last_step) complain(r, "from", "must be 1 to 1e15");
    if (f->steps < 0 || (double)f->steps > last_step) complain(r, "steps", "must be 0 to 1e15");
    if (r->rate_given && !(f->rate > 0 && f->rate <= 1))
        complain(r, "rate", "must be greater than 0 and at most 1");
    if (!row->amount) return;
    if (!r->amount_given) {
        complain(r, row->amount, "is missing");
    } else if (!(f->amount >= row->least && f->amount <= row->most) ||
               (row->whole && f->amount != (double)(int64_t)f->amount)) {
        (void)snprintf(what, sizeof what, "must be %s %g to %g",
                       row->whole ? "a whole number," : "a number,", row->least, row->most);
        complain(r, row->amount, what);
    }
}

/* What `--fault` would take; at most 9 + 10 keys of 25 bytes. */
static void write_text(struct hw_fault *f, const struct reader *r)
{
    char place[40] = "", amount[40] = "", rate[40] = "", from[40] = "", steps[40] = "";
    if (f->where != CONF_NULL)
        (void)snprintf(place, sizeof place, ",%s=%lld", place_name[f->place], (long long)f->where);
    if (r->row->amount)
        (void)snprintf(amount, sizeof amount, ",%s=%.6g", r->row->amount, f->amount);
    if (r->rate_given) (void)snprintf(rate, sizeof rate, ",rate=%.6g", f->rate);
    if (r->from_given) (void)snprintf(from, sizeof from, ",from=%lld", (long long)f->from);
    if (f->steps) (void)snprintf(steps, sizeof steps, ",steps=%lld", (long long)f->steps);
    const int n = snprintf(f->text, sizeof f->text, "%s%s%s%s%s%s", r->row->name, place, amount,
                           rate, from, steps);
    char *comma = n > 0 ? strchr(f->text, ',') : NULL;
    if (comma) *comma = ':';
}

static void read_fault(struct conf_parse *p, const char *path, const struct conf_node *node,
                       struct hw_fault *out)
{
    struct reader r = {.p = p, .path = path, .node = node, .out = out};
    char shown[CONF_QUOTE_BYTES];
    *out = (struct hw_fault){.from = 1};
    if (node->kind != CONF_NODE_MAP) {
        conf_diag_error(p->diag, node->pos, path, "expected a map with a kind, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    if (!read_kind(&r) || !read_parts(&r)) return;
    choose_place(&r);
    check_numbers(&r);
    write_text(out, &r);
}

void hw_read_faults(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                    void *list)
{
    enum { MOST_FAULTS = 256 };
    struct hw_fault_list *faults = list;
    char shown[CONF_QUOTE_BYTES], path[CONF_MAX_PATH];
    if (conf_node_is_null(node)) return;
    if (node->kind != CONF_NODE_LIST || node->n > MOST_FAULTS) {
        conf_diag_error(p->diag, node->pos, key->path, "expected a list of at most %d maps, got %s",
                        MOST_FAULTS, conf_node_describe(node, shown));
        return;
    }
    faults->item = wsc_alloc(WSC_MEM_CONF, (size_t)node->n, sizeof *faults->item);
    p->diag->no_memory = p->diag->no_memory || (node->n && !faults->item);
    for (int i = 0; faults->item && i < node->n; i++) {
        (void)snprintf(path, sizeof path, "%s[%d]", key->path, i);
        read_fault(p, path, node->entry[i].value, &faults->item[faults->n++]);
    }
}

/* ---- documentation --------------------------------------------------------------------------- */

void hw_faults_write(struct conf_text *out)
{
    conf_text_add(out, "| kind | where | key of its own | more keys | meaning |\n"
                       "|---|---|---|---|---|\n");
    for (int i = 0; i < HW_N_FAULT_KINDS; i++) {
        const struct fault_row *row = &rows[i];
        const char *comma = "";
        conf_text_add(out, "| `%s` | ", row->name);
        for (int k = 0; k < HW_N_PLACES; k++) {
            if (!(row->places >> k & 1)) continue;
            conf_text_add(out, "%s`%s`", comma, place_name[k]);
            comma = " or ";
        }
        conf_text_add(out, "%s | ", row->everywhere ? ", none: all" : "");
        if (row->amount)
            conf_text_add(out, "`%s`, %g to %g: %s", row->amount, row->least, row->most,
                          row->amount_doc);
        conf_text_add(out, " | `from`%s or `rate` | %s |\n", row->ends ? ", `steps`" : "",
                      row->doc);
    }
}
