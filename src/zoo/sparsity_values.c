// SPDX-License-Identifier: Apache-2.0
/* Reader and writer of the section `sparsity`: a number, a map, or a list of maps, in the spellings
 * of release 2.2 and later and of earlier ones: `type`, `sideband`, expressions in
 * param_name_patterns (alone, or each with its own keys), `schedule` instead of `update`, pairs of
 * step and fraction in sparsity_schedule. The tables have a variant per algorithm and per formula
 * with its keys, so a key that the algorithm does not take is an error, as in cstorch. The row
 * `sparsity` of params_keys.c names both functions. */
#include "name_patterns.h"
#include "params_values.h"

#include <wsc/mem.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- fractions ------------------------------------------------------------------------------- */

static void read_values(struct conf_parse *p, const struct conf_key *key,
                        const struct conf_node *list, void *fraction);
static void write_values(struct wsc_text *out, const void *fraction, const struct conf_layout *at);

#define KEY(n, f)  .path = (n), .offset = offsetof(struct zoo_fraction, f)
#define NUMBER     .type = CONF_T_DOUBLE, .min = -DBL_MAX, .max = DBL_MAX
#define FRACTION   .type = CONF_T_DOUBLE, .max = 1
#define REQUIRED   .required = true
#define DEFAULT(t) .nullable = true, .fallback = (t)
#define DOC(t)     .doc = (t)
#define TYPE                                                                                       \
    {                                                                                              \
        .path = "type", .type = CONF_T_ANY                                                         \
    }
#define INIT                                                                                       \
    {                                                                                              \
        KEY("init", init), NUMBER, REQUIRED, DOC("value at step 0")                                \
    }

/* clang-format off */
static const struct conf_variant formulas[ZOO_N_FRACTIONS] = {
    [ZOO_FRACTION_CONSTANT] = {"constant", .doc = "one value", CONF_KEYS(
        TYPE, {KEY("value", init), FRACTION, REQUIRED, DOC("the value")})},
    [ZOO_FRACTION_LINEAR] = {"linear", .doc = "init + slope t", CONF_KEYS(
        TYPE, INIT, {KEY("slope", slope), NUMBER, REQUIRED, DOC("change per step")})},
    [ZOO_FRACTION_EXP] = {"exp", .doc = "final + (init - final) e^(gamma t)", CONF_KEYS(
        TYPE, INIT, {KEY("gamma", gamma), NUMBER, REQUIRED, DOC("exponent per step")},
        {KEY("final", final), NUMBER, DEFAULT("1"), DOC("value that it tends to")})},
    [ZOO_FRACTION_POWER] = {"power", .doc = "init beta^t", CONF_KEYS(
        TYPE, INIT, {KEY("beta", beta), .type = CONF_T_DOUBLE, .max = DBL_MAX, REQUIRED,
                     DOC("factor per step")})},
    [ZOO_FRACTION_COSINE] = {"cosine", .doc = "cosine from init to minimum and back", CONF_KEYS(
        TYPE, INIT,
        {KEY("half_period", half_period), .type = CONF_T_DOUBLE, .positive = true, .max = DBL_MAX,
         REQUIRED, DOC("steps from init to minimum")},
        {KEY("minimum", minimum), NUMBER, DEFAULT("0"), DOC("least value")})},
    [ZOO_FRACTION_CYCLING] = {"cycling", .doc = "the next value at each update", CONF_KEYS(
        TYPE, {KEY("values", kind), .type = CONF_T_SPECIAL, .read = read_values,
               .write = write_values, REQUIRED, .form = "list of numbers", DOC("the values")})},
};
/* clang-format on */
static const struct conf_variants fractions = {
    .selector = "type", .variant = formulas, .n = ZOO_N_FRACTIONS};

const struct conf_variants *zoo_fractions(void)
{
    return &fractions;
}

/* Read a number from 0 to 1; false after an error. */
static bool read_fraction_number(struct conf_parse *p, const char *path,
                                 const struct conf_node *node, double *out)
{
    if (!conf_read_double(p, path, node, out)) return false;
    if (*out >= 0 && *out <= 1) return true;
    conf_diag_error(p->diag, node->pos, path,
                    "must be a fraction from 0 to 1, got %.15g; hint: 0.75 is 75 %%", *out);
    return false;
}

/* False after an error: @p list is not a list of 1 to ZOO_MAX_UPDATES entries. */
static bool is_list(struct conf_parse *p, const char *path, const struct conf_node *list,
                    const char *of)
{
    char shown[CONF_QUOTE_BYTES];
    if (list->kind == CONF_NODE_LIST && list->n >= 1 && list->n <= ZOO_MAX_UPDATES) return true;
    if (list->kind == CONF_NODE_LIST)
        conf_diag_error(p->diag, list->pos, path, "expected 1 to %d %s, got %d; hint: [a, b, ...]",
                        ZOO_MAX_UPDATES, of, list->n);
    else
        conf_diag_error(p->diag, list->pos, path,
                        "expected a list of %s, got %s; hint: [a, b, ...]", of,
                        conf_node_describe(list, shown));
    return false;
}

static void read_values(struct conf_parse *p, const struct conf_key *key,
                        const struct conf_node *list, void *kind)
{
    struct zoo_fraction *f = kind; /* its first member is the fraction */
    f->n_values = 0;
    if (!is_list(p, key->path, list, "numbers")) return;
    for (int i = 0; i < list->n; i++)
        if (!read_fraction_number(p, key->path, list->entry[i].value, &f->value[f->n_values++]))
            return;
}

/* Read a number, a list that cycles, or a map with a type. */
static void read_fraction(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *field)
{
    struct zoo_fraction *f = field;
    const struct conf_node *type = conf_node_find(node, "type");
    *f = (struct zoo_fraction){.kind = ZOO_FRACTION_CONSTANT};
    if (node->kind == CONF_NODE_LIST) {
        f->kind = ZOO_FRACTION_CYCLING;
        read_values(p, key, node, f);
    } else if (node->kind == CONF_NODE_SCALAR) {
        (void)read_fraction_number(p, key->path, node, &f->init);
    } else if (!type) {
        conf_diag_error(p->diag, node->pos, key->path,
                        "type is missing; hint: {type: cosine, init: 0.3, half_period: 1000}");
    } else {
        const int i = conf_variant_read(p, &fractions, key->path, type);
        const struct conf_record record = {.path = key->path,
                                           .map = node,
                                           .key = formulas[i < 0 ? 0 : i].key,
                                           .n = formulas[i < 0 ? 0 : i].n,
                                           .out = f};
        if (i < 0 || !conf_record_read(p, &record)) return;
        f->kind = (enum zoo_fraction_kind)i;
    }
}

static void write_values(struct wsc_text *out, const void *kind, const struct conf_layout *at)
{
    const struct zoo_fraction *f = kind;
    (void)at;
    wsc_text_add(out, " [");
    for (int i = 0; i < f->n_values; i++) {
        wsc_text_add(out, "%s", i ? ", " : "");
        conf_text_double(out, f->value[i]);
    }
    wsc_text_add(out, "]");
}

static void write_fraction(struct wsc_text *out, const void *field, const struct conf_layout *at)
{
    const struct zoo_fraction *f = field;
    (void)at;
    wsc_text_add(out, " ");
    if (f->kind == ZOO_FRACTION_CONSTANT)
        conf_text_double(out, f->init);
    else
        conf_record_write(out, &fractions, (int)f->kind, f, NULL);
}

/* ---- updates --------------------------------------------------------------------------------- */

static int by_step(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Read a number of steps; false after an error. */
static bool read_step(struct conf_parse *p, const char *path, const struct conf_node *node,
                      int64_t least, int64_t *out)
{
    char shown[CONF_QUOTE_BYTES];
    if (node->kind == CONF_NODE_SCALAR && !conf_node_is_null(node) &&
        !wsc_units_int(node->text, out) && *out >= least && *out <= ZOO_MOST_STEPS)
        return true;
    conf_diag_error(p->diag, node->pos, path, "expected a whole number of steps from %lld, got %s",
                    (long long)least, conf_node_describe(node, shown));
    return false;
}

/* Read steps in increasing order. */
static void read_steps(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *list, void *field)
{
    struct zoo_mask_update *u = field;
    int n = 0;
    u->n_steps = 0;
    if (!is_list(p, key->path, list, "steps")) return;
    for (int i = 0; i < list->n; i++)
        if (!read_step(p, key->path, list->entry[i].value, 0, &u->step[i])) return;
    qsort(u->step, (size_t)list->n, sizeof *u->step, by_step);
    for (int i = 0; i < list->n; i++)
        if (!i || u->step[i] != u->step[n - 1]) u->step[n++] = u->step[i];
    u->n_steps = n;
    u->freq = CONF_NULL;
}

/* Read {freq, start, stop} or {steps}: cstorch accepts one of both forms. */
static void read_update(struct conf_parse *p, const struct conf_key *key,
                        const struct conf_node *node, void *field)
{
#define STEPS(n, f)                                                                                \
    .path = (n), .offset = offsetof(struct zoo_mask_update, f), .type = CONF_T_INT,                \
    .max = ZOO_MOST_STEPS
    static const struct conf_key by_freq[] = {
        {STEPS("freq", freq), .min = 1, .required = true},
        {STEPS("start", start), .nullable = true, .fallback = "0"},
        {STEPS("stop", stop), .nullable = true, .fallback = "null"}};
    static const struct conf_key by_list[] = {
        {.path = "steps", .type = CONF_T_SPECIAL, .read = read_steps, .required = true}};
    char shown[CONF_QUOTE_BYTES];
    const bool list = !conf_node_find(node, "freq") && conf_node_find(node, "steps");
    const struct conf_record record = {.path = key->path,
                                       .map = node,
                                       .key = list ? by_list : by_freq,
                                       .n = list ? 1 : 3,
                                       .out = field};
    if (node->kind == CONF_NODE_MAP)
        (void)conf_record_read(p, &record);
    else
        conf_diag_error(
            p->diag, node->pos, key->path,
            "expected a map, got %s; hint: {freq: N, start: N, stop: N} or {steps: [N, ...]}",
            conf_node_describe(node, shown));
}

static void write_update(struct wsc_text *out, const void *field, const struct conf_layout *at)
{
    const struct zoo_mask_update *u = field;
    (void)at;
    if (u->freq == CONF_NULL) {
        wsc_text_add(out, " {steps: [");
        for (int i = 0; i < u->n_steps; i++)
            wsc_text_add(out, "%s%lld", i ? ", " : "", (long long)u->step[i]);
        wsc_text_add(out, "]}");
        return;
    }
    wsc_text_add(out, " {freq: %lld, start: %lld", (long long)u->freq, (long long)u->start);
    if (u->stop != CONF_NULL) wsc_text_add(out, ", stop: %lld", (long long)u->stop);
    wsc_text_add(out, "}");
}

/* ---- patterns -------------------------------------------------------------------------------- */

/* Read one pattern or a list; the two keys together are an error. */
static void read_patterns(struct conf_parse *p, const char *path, const struct conf_node *node,
                          bool expressions, struct zoo_sparsity *s)
{
    if (s->names.n) {
        conf_diag_error(
            p->diag, node->pos, path,
            "not both param_filter and param_name_patterns; hint: param_filter has globs, "
            "the other one expressions of releases before 2.2");
        return;
    }
    s->names.expressions = expressions;
    zoo_patterns_read(p, path, node, &s->names);
}

static void read_globs(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, void *entry)
{
    read_patterns(p, key->path, node, false, entry);
}

static void read_expressions(struct conf_parse *p, const struct conf_key *key,
                             const struct conf_node *node, void *entry)
{
    read_patterns(p, key->path, node, true, entry);
}

static void write_patterns(struct wsc_text *out, const struct zoo_sparsity *s, bool expressions)
{
    static const struct zoo_patterns none;
    zoo_patterns_write(out, s->names.expressions == expressions ? &s->names : &none);
}

static void write_globs(struct wsc_text *out, const void *entry, const struct conf_layout *at)
{
    (void)at;
    write_patterns(out, entry, false);
}

static void write_expressions(struct wsc_text *out, const void *entry, const struct conf_layout *at)
{
    (void)at;
    write_patterns(out, entry, true);
}

/* ---- one entry ------------------------------------------------------------------------------- */

/* Read `schedule` of releases 1.8 to 2.1, beside `sparsity`: every N steps, a list of steps, or the
 * map that is now `update`. */
static void read_old_update(struct conf_parse *p, const struct conf_key *key,
                            const struct conf_node *node, struct zoo_mask_update *u)
{
    conf_diag_warn(p->diag, node->pos, key->path, "old spelling: write update");
    *u = (struct zoo_mask_update){.freq = 1, .stop = CONF_NULL};
    if (node->kind == CONF_NODE_SCALAR)
        (void)read_step(p, key->path, node, 1, &u->freq);
    else if (node->kind == CONF_NODE_LIST)
        read_steps(p, key, node, u);
    else
        read_update(p, key, node, u);
}

/* `schedule` is another name of `sparsity`, and in old files of `update`. */
static void read_schedule(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *entry)
{
    const struct conf_node *map = p->context;
    struct zoo_sparsity *s = entry;
    const bool beside = !conf_node_is_null(conf_node_find(map, "sparsity"));
    if (!beside)
        read_fraction(p, key, node, &s->sparsity);
    else if (s->algorithm == ZOO_SPARSITY_STATIC || conf_node_find(node, "type"))
        conf_diag_error(
            p->diag, node->pos, key->path,
            "not both sparsity and schedule; hint: schedule is another name of sparsity");
    else
        read_old_update(p, key, node, &s->update);
}

/* Read [[step, fraction], ...] of release 1.8: updates at these steps, to these fractions. */
static void read_pairs(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *list, void *entry)
{
    struct zoo_sparsity *s = entry;
    struct zoo_mask_update *u = &s->update;
    if (!is_list(p, key->path, list, "pairs of step and fraction")) return;
    s->sparsity = (struct zoo_fraction){.kind = ZOO_FRACTION_CYCLING, .n_values = list->n};
    *u = (struct zoo_mask_update){.freq = CONF_NULL, .stop = CONF_NULL, .n_steps = list->n};
    for (int i = 0; i < list->n; i++) {
        const struct conf_node *pair = list->entry[i].value;
        if (pair->kind != CONF_NODE_LIST || pair->n != 2) {
            conf_diag_error(p->diag, pair->pos, key->path,
                            "expected [step, fraction]; hint: [[0, 0.3], [1000, 0.6]]");
            return;
        }
        const int64_t least = i ? u->step[i - 1] + 1 : 0;
        if (!read_step(p, key->path, pair->entry[0].value, least, &u->step[i]) ||
            !read_fraction_number(p, key->path, pair->entry[1].value, &s->sparsity.value[i]))
            return;
    }
}

#undef KEY
#define KEY(n, f)  .path = (n), .offset = offsetof(struct zoo_sparsity, f)
#define SPECIAL(w) .type = CONF_T_SPECIAL, .read = read_##w, .write = write_##w
#define WHOLE(w)   .type = CONF_T_SPECIAL, .read = read_##w /* reads the whole entry; not written */

/* clang-format off */
#define NAME {.path = "algorithm", .type = CONF_T_ANY, .old = "type"}
#define SPARSITY {KEY("sparsity", sparsity), SPECIAL(fraction), .nullable = true, \
    .form = "number, list or map with a type", DOC("fraction of zeros")}, \
    {.path = "schedule", WHOLE(schedule), .status = CONF_ALSO, .nullable = true, \
     .form = "as `sparsity`", \
     DOC("another name of `sparsity`; beside it: `update`, as in releases 1.8 to 2.1")}
#define INITIALLY(more, text) {KEY("init_method", init_method), .type = CONF_T_CHOICE, DEFAULT("random"), \
    .choices = CONF_CHOICES({"random", ZOO_MASK_RANDOM}, {"topk", ZOO_MASK_TOPK}, \
                            {"from_zeros", ZOO_MASK_FROM_ZEROS}, \
                            {"checkerboard", ZOO_MASK_CHECKERBOARD} more), \
    DOC("first mask: random, largest magnitudes, what is not zero, a regular pattern" text)}
#define COLUMNS , {"balanced-topk", ZOO_MASK_BALANCED_TOPK}
#define COMMON \
    {KEY("param_filter", algorithm), SPECIAL(globs), DEFAULT("null"), \
     .form = "glob or list of globs", \
     DOC("names of tensors; null: all matrices but embeddings, norms and lm_head")}, \
    {KEY("param_name_patterns", algorithm), SPECIAL(expressions), DEFAULT("null"), \
     .form = "expression, list of them, or map to keys of each", \
     DOC("in place of param_filter, as in releases before 2.2: occur in names")}, \
    {KEY("seed", seed), .type = CONF_T_INT, DEFAULT("null"), .max = 4294967295.0, \
     DOC("of random masks; null: the seed of the run")}, \
    {KEY("add_summaries", add_summaries), .type = CONF_T_BOOL, DEFAULT("false"), \
     DOC("target and actual sparsity of each tensor to TensorBoard")}, \
    {.path = "tiebreak", .type = CONF_T_ANY, .status = CONF_NOISE, \
     DOC("of equal scores the lowest element is kept")}
#define UPDATE {KEY("update", update), SPECIAL(update), .nullable = true, \
    .form = "{freq, start, stop} or {steps}", \
    DOC("steps with a new mask: step >= start, step < stop, every freq from start; null: all")}, \
    {.path = "sparsity_schedule", WHOLE(pairs), .status = CONF_OLD, .nullable = true, \
     .form = "list of [step, fraction]", DOC("write sparsity and update: {steps: [...]}")}
#define DROP {KEY("drop_fraction", drop_fraction), SPECIAL(fraction), DEFAULT("0.3"), \
    .form = "number, list or map with a type", \
    DOC("of the kept weights, dropped at an update")}
#define BALANCE(of, what) {KEY("balance_" #of "_groups", of##_groups), .type = CONF_T_INT, \
    DEFAULT("null"), .min = 1, .max = 1e9, \
    DOC("so many groups of " what " keep equally many each; null: not")}

static const struct conf_variant algorithms[ZOO_N_SPARSITY_ALGORITHMS] = {
    [ZOO_SPARSITY_STATIC] = {"static", .doc = "one mask", CONF_KEYS(
        NAME, SPARSITY, INITIALLY(COLUMNS, ", the largest of each column"), COMMON)},
    [ZOO_SPARSITY_GMP] = {"gmp", .doc = "the largest magnitudes at each update", CONF_KEYS(
        NAME, SPARSITY, INITIALLY(, ""), UPDATE, COMMON)},
    [ZOO_SPARSITY_SET] = {"set", .doc = "drops the least magnitudes, regrows at random", CONF_KEYS(
        NAME, SPARSITY, INITIALLY(, ""), UPDATE, DROP, COMMON)},
    [ZOO_SPARSITY_RIGL] = {"rigl", .doc = "drops the least magnitudes, regrows the largest "
        "gradients", CONF_KEYS(
        NAME, SPARSITY, INITIALLY(, ""), UPDATE, DROP, COMMON, BALANCE(in, "columns"),
        BALANCE(out, "rows"))},
};
/* clang-format on */
static const struct conf_variants algorithm_names = {
    .selector = "algorithm", .variant = algorithms, .n = ZOO_N_SPARSITY_ALGORITHMS};

const struct conf_variants *zoo_sparsity_algorithms(void)
{
    return &algorithm_names;
}

const char *zoo_sparsity_algorithm_name(enum zoo_sparsity_algorithm algorithm)
{
    return algorithms[algorithm].name;
}

/* The algorithm of the map @p node; static if none is named; -1 after an error. `sideband` is the
 * name of static masks in releases 1.7 to 1.9. */
static int read_algorithm(struct conf_parse *p, const char *path, const struct conf_node *node)
{
    const char *key = conf_node_is_null(conf_node_find(node, "algorithm")) ? "type" : "algorithm";
    const struct conf_node *name = conf_node_find(node, key);
    if (conf_node_is_null(name)) return ZOO_SPARSITY_STATIC;
    const bool old = name->kind == CONF_NODE_SCALAR && !strcasecmp(name->text, "sideband");
    char full[CONF_MAX_PATH];
    (void)snprintf(full, sizeof full, "%s.%s", path, key);
    return old ? ZOO_SPARSITY_STATIC : conf_variant_read(p, &algorithm_names, full, name);
}

static bool takes(const struct conf_variant *v, const char *key)
{
    for (int i = 0; i < v->n; i++)
        if (!strcmp(v->key[i].path, key) || (v->key[i].old && !strcmp(v->key[i].old, key)))
            return true;
    return false;
}

/* True after an error: a key of @p map is only taken by algorithms other than @p algorithm. */
static bool refuse_keys_of_others(struct conf_parse *p, const char *path,
                                  const struct conf_node *map, int algorithm)
{
    for (int k = 0; map->kind == CONF_NODE_MAP && k < map->n; k++) {
        const struct conf_entry *e = &map->entry[k];
        char others[CONF_QUOTE_BYTES] = "", full[CONF_MAX_PATH];
        if (takes(&algorithms[algorithm], e->key)) continue;
        for (int i = 0; i < ZOO_N_SPARSITY_ALGORITHMS; i++) {
            const size_t n = strlen(others);
            if (takes(&algorithms[i], e->key))
                (void)snprintf(others + n, sizeof others - n, "%s%s", n ? ", " : "",
                               algorithms[i].name);
        }
        if (!*others) continue;
        (void)snprintf(full, sizeof full, "%.100s.%.40s", path, e->key);
        conf_diag_error(p->diag, e->key_pos, full, "algorithm %s takes no such key; hint: %s",
                        algorithms[algorithm].name, others);
        return true;
    }
    return false;
}

/* Warn about keys that are allowed and have no effect. */
static void warn_idle(struct conf_parse *p, const char *path, const struct conf_node *node,
                      const struct zoo_sparsity *s)
{
    const struct zoo_mask_update *u = &s->update;
    const bool random = s->init_method == ZOO_MASK_RANDOM || s->algorithm == ZOO_SPARSITY_SET;
    if (s->seed != CONF_NULL && !random)
        conf_diag_warn(p->diag, node->pos, path, "seed has no effect: no mask is random");
    if (s->init_method == ZOO_MASK_FROM_ZEROS && s->algorithm == ZOO_SPARSITY_STATIC)
        conf_diag_warn(p->diag, node->pos, path,
                       "sparsity has no effect on masks from_zeros, on virtual time alone");
    if (u->freq != CONF_NULL && u->stop != CONF_NULL && u->stop <= u->start)
        conf_diag_warn(p->diag, node->pos, path,
                       "update: stop is not after start: no mask is ever computed");
}

/* Refuse what cstorch refuses, among it balanced-topk (since 1.9). */
static void check_entry(struct conf_parse *p, const char *path, const struct conf_node *node,
                        const struct zoo_sparsity *s)
{
    const bool constant = s->sparsity.kind == ZOO_FRACTION_CONSTANT;
    if (s->init_method == ZOO_MASK_BALANCED_TOPK)
        conf_diag_warn(p->diag, node->pos, path,
                       "balanced-topk exists in releases 1.7 to 1.9 alone");
    if (s->algorithm == ZOO_SPARSITY_STATIC && !constant)
        conf_diag_error(p->diag, node->pos, path,
                        "static masks have one sparsity; hint: algorithm gmp, set or rigl");
    else if (s->algorithm == ZOO_SPARSITY_GMP && constant)
        conf_diag_error(p->diag, node->pos, path,
                        "gmp needs a sparsity that changes; hint: algorithm static");
    else if (constant && s->sparsity.init >= 1)
        conf_diag_error(p->diag, node->pos, path,
                        "sparsity must be less than 1, got %.15g; hint: 0.75 is 75 %% zeros",
                        s->sparsity.init);
    else if (s->in_groups > 0 && s->out_groups > 0)
        conf_diag_error(p->diag, node->pos, path,
                        "not both balance_in_groups and balance_out_groups; hint: an entry of the "
                        "list for each, with a param_filter");
}

/* The next free entry, with the defaults of cstorch; NULL after an error. */
static struct zoo_sparsity *new_entry(struct conf_parse *p, struct zoo_sparsities *list,
                                      const struct conf_node *node, const char *path)
{
    if (list->n == ZOO_MAX_SPARSITIES) {
        conf_diag_error(p->diag, node->pos, path,
                        "more than %d entries; hint: param_filter takes lists", ZOO_MAX_SPARSITIES);
        return NULL;
    }
    if (!list->entry)
        list->entry = wsc_alloc(WSC_MEM_CONF, ZOO_MAX_SPARSITIES, sizeof *list->entry);
    if (!list->entry) {
        p->diag->no_memory = true;
        return NULL;
    }
    struct zoo_sparsity *s = &list->entry[list->n++];
    *s = (struct zoo_sparsity){.update = {.freq = 1, .stop = CONF_NULL},
                               .in_groups = CONF_NULL,
                               .out_groups = CONF_NULL,
                               .seed = CONF_NULL};
    return s;
}

/* True when @p map has a key for the fraction of zeros, null or not. */
static bool names_sparsity(const struct conf_node *map)
{
    return conf_node_find(map, "sparsity") || conf_node_find(map, "schedule") ||
           conf_node_find(map, "sparsity_schedule");
}

static bool has_sparsity(const struct conf_node *map)
{
    return !conf_node_is_null(conf_node_find(map, "sparsity")) ||
           !conf_node_is_null(conf_node_find(map, "schedule")) ||
           !conf_node_is_null(conf_node_find(map, "sparsity_schedule"));
}

/* Make the entry of `sparsity: null` one of static masks without zeros: its tensors are dense, and
 * no later entry takes them. */
static void keep_dense(struct zoo_sparsity *s)
{
    s->algorithm = ZOO_SPARSITY_STATIC;
    s->init_method = ZOO_MASK_RANDOM;
    s->sparsity = (struct zoo_fraction){.kind = ZOO_FRACTION_CONSTANT};
    s->update = (struct zoo_mask_update){.freq = 1, .stop = CONF_NULL};
    s->in_groups = s->out_groups = s->seed = CONF_NULL;
}

/* Read a map, or a number, which means static masks. */
static void read_entry(struct conf_parse *p, const char *path, const struct conf_node *node,
                       struct zoo_sparsities *list)
{
    const struct conf_key whole = {.path = path};
    const bool map = node->kind == CONF_NODE_MAP;
    const bool dense = map && names_sparsity(node) && !has_sparsity(node);
    if (map && !names_sparsity(node)) {
        conf_diag_error(p->diag, node->pos, path,
                        "sparsity is missing; hint: sparsity: 0.75, the fraction of zeros");
        return;
    }
    struct zoo_sparsity *s = new_entry(p, list, node, path);
    const int before = p->diag->n_errors;
    const int algorithm = map ? read_algorithm(p, path, node) : ZOO_SPARSITY_STATIC;
    if (!s || algorithm < 0) return;
    s->algorithm = (enum zoo_sparsity_algorithm)algorithm;
    const struct conf_record record = {.path = path,
                                       .map = node,
                                       .key = algorithms[algorithm].key,
                                       .n = algorithms[algorithm].n,
                                       .out = s,
                                       .context = (void *)(uintptr_t)node};
    if (map && refuse_keys_of_others(p, path, node, algorithm)) return;
    if (map)
        (void)conf_record_read(p, &record);
    else
        read_fraction(p, &whole, node, &s->sparsity);
    if (p->diag->n_errors > before) return;
    if (dense) {
        keep_dense(s);
        return;
    }
    check_entry(p, path, node, s);
    warn_idle(p, path, node, s);
}

/* ---- the section ----------------------------------------------------------------------------- */

enum { MAX_ENTRY_KEYS = 40 };

/* The entry of pattern @p e: its own keys, and the surrounding keys that it does not have. */
static bool join_keys(struct conf_parse *p, const char *path, const struct conf_node *around,
                      const struct conf_entry *e, struct conf_node *out)
{
    const int own = e->value->kind == CONF_NODE_MAP ? e->value->n : 0;
    const bool fits = own + around->n <= MAX_ENTRY_KEYS;
    if (!fits || (e->value->kind != CONF_NODE_MAP && !conf_node_is_null(e->value))) {
        conf_diag_error(p->diag, e->value->pos, path, "expected a map of at most %d keys",
                        MAX_ENTRY_KEYS - around->n);
        return false;
    }
    for (int k = 0; k < own; k++)
        out->entry[out->n++] = e->value->entry[k];
    for (int k = 0; k < around->n; k++)
        if (conf_node_index(out, around->entry[k].key) < 0) out->entry[out->n++] = around->entry[k];
    return true;
}

/* Read param_name_patterns as a map from expressions to keys: one entry for each. */
static void read_by_pattern(struct conf_parse *p, const char *path, const struct conf_node *node,
                            struct zoo_sparsities *list)
{
    const struct conf_node *patterns = conf_node_find(node, "param_name_patterns");
    for (int i = 0; i < patterns->n; i++) {
        const struct conf_entry *e = &patterns->entry[i];
        struct conf_entry all[MAX_ENTRY_KEYS];
        struct conf_node name = {
            .kind = CONF_NODE_SCALAR, .pos = e->key_pos, .text = e->key, .plain = false};
        struct conf_node one = {
            .kind = CONF_NODE_MAP, .pos = e->key_pos, .entry = all, .capacity = MAX_ENTRY_KEYS};
        if (!join_keys(p, path, node, e, &one)) return;
        all[conf_node_index(&one, "param_name_patterns")].value = &name;
        read_entry(p, path, &one, list);
    }
}

/* `sparsity: 0` is a dense model. */
static bool is_zero(const struct conf_node *node)
{
    double value;
    return node->kind == CONF_NODE_SCALAR && !wsc_units_double(node->text, &value) && value == 0;
}

/* A last entry of the default filter whose tensors are dense has no effect: a section that has no
 * other one is that of a dense model. */
static void drop_last(struct zoo_sparsities *list)
{
    const struct zoo_sparsity *last = list->n ? &list->entry[list->n - 1] : NULL;
    if (!last || last->names.n || !zoo_sparsity_keeps_dense(last)) return;
    if (--list->n) return;
    wsc_free(list->entry);
    list->entry = NULL;
}

void zoo_read_sparsity(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, void *list)
{
    const int before = p->diag->n_errors;
    const bool many = node->kind == CONF_NODE_LIST;
    for (int i = 0; i < (many ? node->n : 1); i++) {
        const struct conf_node *one = many ? node->entry[i].value : node;
        const struct conf_node *patterns = conf_node_find(one, "param_name_patterns");
        char path[CONF_MAX_PATH];
        if (conf_node_is_null(one) || is_zero(one)) continue;
        (void)snprintf(path, sizeof path, "%.150s[%d]", key->path, i);
        if (!many) (void)snprintf(path, sizeof path, "%.150s", key->path);
        if (patterns && patterns->kind == CONF_NODE_MAP)
            read_by_pattern(p, path, one, list);
        else
            read_entry(p, path, one, list);
    }
    if (p->diag->n_errors == before) drop_last(list);
}

void zoo_write_sparsity(struct wsc_text *out, const void *list, const struct conf_layout *at)
{
    const struct zoo_sparsities *s = list;
    if (!s->n) wsc_text_add(out, " null");
    for (int i = 0; i < s->n; i++) {
        wsc_text_add(out, "\n%*s- ", at->indent, "");
        conf_record_write(out, &algorithm_names, (int)s->entry[i].algorithm, &s->entry[i], NULL);
    }
}

void zoo_sparsities_fini(struct zoo_sparsities *list)
{
    for (int i = 0; i < list->n; i++)
        zoo_patterns_fini(&list->entry[i].names);
    wsc_free(list->entry);
    *list = (struct zoo_sparsities){0};
}
