// SPDX-License-Identifier: Apache-2.0
/* Faults as they are written: entries of `faults:` in machine files, and `--fault`, which becomes
 * one more entry.  A kind of fault is a record variant with its keys: where it happens, how bad it
 * is, when.  Its effect on the machine is the row of the same kind in fault_events.c. */
#include "machine_parts.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* An entry of the file. */
struct entry {
    int64_t where[HW_N_PLACES]; /* CONF_NULL: not given */
    int64_t from;               /* 0: not given */
    int64_t steps, planes;
    double rate; /* 0: not given */
    double amount;
};

#define AT(n, f)  .path = (n), .offset = offsetof(struct entry, f)
#define DOC(t)    .doc = (t)
#define PLACE(i)  .type = CONF_T_INT, .max = HW_MAX_SYSTEMS - 1, .nullable = true, .fallback = "null"
#define AMOUNT(n) AT(n, amount), .type = CONF_T_DOUBLE, .required = true
#define STEP      .type = CONF_T_INT, .max = 1e15, .nullable = true
/* clang-format off */
#define WAFER {AT("wafer", where[HW_PLACE_WAFER]), PLACE(), DOC("which system, from 0")}
#define NODE  {AT("node", where[HW_PLACE_NODE]), PLACE(), DOC("which SwarmX node, from 0")}
#define SHARD {AT("shard", where[HW_PLACE_SHARD]), PLACE(), DOC("which MemoryX shard, from 0")}
#define STEPS {AT("steps", steps), STEP, .fallback = "0", DOC("how many steps; 0: to the end")}
#define WHEN  {.path = "kind", .type = CONF_T_ANY}, \
              {AT("from", from), STEP, .min = 1, DOC("first step that it touches, from 1")}, \
              {AT("rate", rate), .type = CONF_T_DOUBLE, .nullable = true, .positive = true, \
               .max = 1, DOC("instead: probability that it begins in a step, for each place")}

static const struct conf_variant kinds[HW_N_FAULT_KINDS] = {
    [HW_FAULT_STRAGGLER] = {"straggler", .doc = "a system computes slower", CONF_KEYS(
        WAFER, {AMOUNT("factor"), .min = 1, .max = 1e6, DOC("on its compute time")}, STEPS, WHEN)},
    [HW_FAULT_JITTER] = {"jitter",
        .doc = "compute time varies from step to step, beside the machine's `jitter`; without a "
               "place on all systems", CONF_KEYS(
        WAFER, {AMOUNT("deviation"), .max = 0.2, DOC("relative standard deviation")}, STEPS, WHEN)},
    [HW_FAULT_LOST_WAFER] = {"lost_wafer",
        .doc = "a system is gone, the others share its part of the batch", CONF_KEYS(WAFER, WHEN)},
    [HW_FAULT_SLOW_LINK] = {"slow_link",
        .doc = "the link towards MemoryX is slower, both ways", CONF_KEYS(
        WAFER, NODE, {AMOUNT("factor"), .min = 1, .max = 1e6, DOC("4 is a quarter of the rate")},
        STEPS, WHEN)},
    [HW_FAULT_LOSSY_LINK] = {"lossy_link",
        .doc = "the link towards MemoryX loses packets, both ways", CONF_KEYS(
        WAFER, NODE, {AMOUNT("loss"), .max = 0.5, DOC("probability that a packet is lost")},
        STEPS, WHEN)},
    [HW_FAULT_LOST_PLANES] = {"lost_planes",
        .doc = "a SwarmX node has fewer of its parallel networks", CONF_KEYS(
        NODE, {AT("planes", planes), .type = CONF_T_INT, .required = true, .min = 1, .max = 63,
               DOC("of `swarmx.planes`, on all links of the node")}, STEPS, WHEN)},
    [HW_FAULT_LOST_NODE] = {"lost_node",
        .doc = "a SwarmX node is gone, the tree is formed again without it", CONF_KEYS(NODE, WHEN)},
    [HW_FAULT_LOST_SHARD] = {"lost_shard",
        .doc = "a MemoryX shard loses its memory: the newest checkpoint is restored and the steps "
               "since then are done again", CONF_KEYS(SHARD, WHEN)},
    [HW_FAULT_SLOW_INPUT] = {"slow_input",
        .doc = "the input workers of a system are slower", CONF_KEYS(
        WAFER, {AMOUNT("factor"), .min = 1, .max = 1e6, DOC("4 is a quarter of the rate")},
        STEPS, WHEN)},
};
/* clang-format on */

static const struct conf_variants variants = {
    .selector = "kind", .variant = kinds, .n = HW_N_FAULT_KINDS};

const struct conf_variants *hw_fault_kinds(void)
{
    return &variants;
}

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
    const char *equals = n ? memchr(text, '=', n) : NULL;
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

/* `KIND:KEY=VALUE,...` as the map that the file would have; NULL after an error. */
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
    for (text += n; *text; text += n) { /* at the colon, then at each comma */
        n = strcspn(++text, ",");
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
    done = done && conf_doc_append(doc, list, &entry);
    if (done && !doc->root) doc->root = conf_doc_map(doc, entry.key_pos);
    const struct conf_entry faults = {.key = "faults", .key_pos = entry.key_pos, .value = list};
    /* A list that grows: the one that was there before is part of it. */
    if (!done || !doc->root || !conf_doc_put(doc, doc->root, &faults)) d->no_memory = true;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A fault that is being read. */
struct reader {
    struct conf_parse *p;
    const char *path; /* faults[2] */
    const struct conf_node *node;
    const struct conf_variant *kind;
    struct entry in;
    struct hw_fault *out;
};

/* An error about key @p key of the fault, at the key if it is there. */
static void complain(const struct reader *r, const char *key, const char *what)
{
    const struct conf_node *at = conf_node_find(r->node, key);
    char path[CONF_MAX_PATH];
    (void)snprintf(path, sizeof path, "%s.%s", r->path, key);
    conf_diag_error(r->p->diag, at ? at->pos : r->node->pos, path, "%s", what);
}

/* The row of key @p path of a kind, or NULL. */
static const struct conf_key *key_of(const struct conf_variant *kind, const char *path)
{
    for (int i = 0; i < kind->n; i++)
        if (!strcmp(kind->key[i].path, path)) return &kind->key[i];
    return NULL;
}

/* The key of its own that says how bad a fault is, or NULL. */
static const struct conf_key *amount_of(const struct conf_variant *kind)
{
    for (int i = 0; i < kind->n; i++)
        if (kind->key[i].required) return &kind->key[i];
    return NULL;
}

/* The one place that is given; without one the first that the kind may have, and every one of it.
 */
static void choose_place(struct reader *r)
{
    int n = 0, first = HW_N_PLACES;
    for (int i = HW_N_PLACES - 1; i >= 0; i--) {
        if (key_of(r->kind, place_name[i])) first = i;
        if (r->in.where[i] == CONF_NULL) continue;
        n++;
        r->out->place = (enum hw_place)i;
        r->out->where = r->in.where[i];
    }
    WSC_CHECK(first < HW_N_PLACES, "a kind of fault without a place");
    if (n > 1) complain(r, place_name[r->out->place], "one place is enough");
    if (n) return;
    r->out->place = (enum hw_place)first;
    r->out->where = CONF_NULL;
    if (r->out->kind != HW_FAULT_JITTER && !(r->in.rate > 0))
        complain(r, place_name[first], "is missing; hint: which one, or a rate for all of them");
}

/* What `--fault` would take; at most 9 + 10 keys of 25 bytes. */
static void write_text(struct hw_fault *f, const struct reader *r)
{
    char place[40] = "", amount[40] = "", rate[40] = "", from[40] = "", steps[40] = "";
    const struct conf_key *own = amount_of(r->kind);
    if (f->where != CONF_NULL)
        (void)snprintf(place, sizeof place, ",%s=%lld", place_name[f->place], (long long)f->where);
    if (own) (void)snprintf(amount, sizeof amount, ",%s=%.6g", own->path, f->amount);
    if (f->rate > 0) (void)snprintf(rate, sizeof rate, ",rate=%.6g", f->rate);
    if (r->in.from) (void)snprintf(from, sizeof from, ",from=%lld", (long long)f->from);
    if (f->steps) (void)snprintf(steps, sizeof steps, ",steps=%lld", (long long)f->steps);
    const int n = snprintf(f->text, sizeof f->text, "%s%s%s%s%s%s", r->kind->name, place, amount,
                           rate, from, steps);
    char *comma = n > 0 ? strchr(f->text, ',') : NULL;
    if (comma) *comma = ':';
}

/* Read the keys of a fault whose kind is known into r->out; after an error it stays without effect,
 * since the whole file is refused. */
static void read_keys(struct reader *r)
{
    const struct conf_record record = {
        .path = r->path, .map = r->node, .key = r->kind->key, .n = r->kind->n, .out = &r->in};
    struct entry *in = &r->in;
    *in = (struct entry){.where = {CONF_NULL, CONF_NULL, CONF_NULL}};
    if (!conf_record_read(r->p, &record)) return;
    *r->out = (struct hw_fault){.kind = r->out->kind,
                                .from = in->from ? in->from : 1,
                                .steps = in->steps,
                                .rate = in->rate,
                                .amount = in->planes ? (double)in->planes : in->amount};
    choose_place(r);
    write_text(r->out, r);
}

/* One entry of the list: its kind decides which keys it has. */
static void read_fault(struct conf_parse *p, const char *path, const struct conf_node *node,
                       struct hw_fault *out)
{
    const struct conf_node *kind = conf_node_find(node, "kind");
    struct reader r = {.p = p, .path = path, .node = node, .out = out};
    char full[CONF_MAX_PATH], shown[CONF_QUOTE_BYTES];
    (void)snprintf(full, sizeof full, "%.150s.kind", path);
    *out = (struct hw_fault){.from = 1};
    if (node->kind != CONF_NODE_MAP) {
        conf_diag_error(p->diag, node->pos, path, "expected a map with a kind, got %s",
                        conf_node_describe(node, shown));
        return;
    }
    const int i = kind ? conf_variant_read(p, &variants, full, kind) : -1;
    if (!kind) complain(&r, "kind", "required key is missing");
    if (i < 0) return;
    out->kind = (enum hw_fault_kind)i;
    r.kind = &kinds[i];
    read_keys(&r);
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
