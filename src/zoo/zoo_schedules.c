// SPDX-License-Identifier: Apache-2.0
/* Schedules of the learning rate and of the weight decay.  The table has one row per scheduler of
 * the Model Zoo; it drives the reader, the messages and the dump. */
#include "zoo_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- the table ------------------------------------------------------------------------------- */

enum arg_type {
    ARG_RATE,     /* a learning rate: not negative */
    ARG_POSITIVE, /* > 0 */
    ARG_NUMBER,
    ARG_FRACTION, /* 0 to 1 */
    ARG_COUNT,    /* steps, at least 1 */
    ARG_FLAG,
    ARG_CHOICE,
    ARG_RATES,     /* lists */
    ARG_MILESTONES /* steps that grow */
};
#define REQUIRED NAN
#define ENDLESS  ((double)CONF_NULL)
enum { MAX_ARGS = 9, MAX_NAMES = 24 };

/* `names`: the first is for messages and the dump, the others are taken too. */
struct arg {
    const char *names;
    enum arg_type type;
    size_t offset;
    double fallback;
    const struct conf_choice *choices;
};
struct row {
    const char *name;
    struct arg arg[MAX_ARGS];
};

static const struct conf_choice cyclic_modes[CONF_MAX_CHOICES] = {
    {"triangular", ZOO_CYCLIC_TRIANGULAR},
    {"triangular2", ZOO_CYCLIC_TRIANGULAR2},
    {"exp_range", ZOO_CYCLIC_EXP_RANGE}};
static const struct conf_choice anneal_strategies[CONF_MAX_CHOICES] = {{"cos", 0}, {"linear", 1}};

#define AT(field) offsetof(struct zoo_schedule_node, field)
#define RATE(n, f)                                                                                 \
    {                                                                                              \
        n, ARG_RATE, AT(f), REQUIRED, NULL                                                         \
    }
#define RATE_OR(n, f, x)                                                                           \
    {                                                                                              \
        n, ARG_RATE, AT(f), x, NULL                                                                \
    }
#define COUNT(n, f)                                                                                \
    {                                                                                              \
        n, ARG_COUNT, AT(f), REQUIRED, NULL                                                        \
    }
#define COUNT_OR(n, f, x)                                                                          \
    {                                                                                              \
        n, ARG_COUNT, AT(f), x, NULL                                                               \
    }
#define FLAG(n, f)                                                                                 \
    {                                                                                              \
        n, ARG_FLAG, AT(f), 0, NULL                                                                \
    }
#define CHOICE(n, f, c)                                                                            \
    {                                                                                              \
        n, ARG_CHOICE, AT(f), 0, c                                                                 \
    }
#define INITIAL          RATE("initial_learning_rate initial_val", initial)
#define END              RATE("end_learning_rate end_val", end)
#define ITERS            COUNT("total_iters steps decay_steps", total_iters)
#define ITERS_OR_ENDLESS COUNT_OR("total_iters steps decay_steps", total_iters, ENDLESS)
/* clang-format off */
#define NUMBER(n, f)      {n, ARG_NUMBER, AT(f), REQUIRED, NULL}
#define POSITIVE(n, f)    {n, ARG_POSITIVE, AT(f), REQUIRED, NULL}
#define POSITIVE_OR(n, f, x) {n, ARG_POSITIVE, AT(f), x, NULL}
#define MILESTONES        {"milestones", ARG_MILESTONES, 0, REQUIRED, NULL}
static const struct row rows[ZOO_N_SCHEDULES] = {
    [ZOO_SCHEDULE_CONSTANT] = {"Constant",
        {RATE("learning_rate initial_learning_rate val initial_val", initial), ITERS_OR_ENDLESS}},
    [ZOO_SCHEDULE_POLYNOMIAL] = {"Polynomial",
        {INITIAL, END, ITERS, POSITIVE_OR("power", power, 1)}},
    [ZOO_SCHEDULE_LINEAR] = {"Linear", {INITIAL, END, ITERS}},
    [ZOO_SCHEDULE_COSINE_DECAY] = {"CosineDecay", {INITIAL, END, ITERS}},
    [ZOO_SCHEDULE_EXPONENTIAL] = {"Exponential",
        {INITIAL, ITERS, POSITIVE("decay_rate", decay_rate), FLAG("staircase", staircase)}},
    [ZOO_SCHEDULE_INVERSE_EXPONENTIAL_TIME_DECAY] = {"InverseExponentialTimeDecay",
        {INITIAL, NUMBER("step_exponent", step_exponent), ITERS,
         POSITIVE("decay_rate", decay_rate), FLAG("staircase", staircase)}},
    [ZOO_SCHEDULE_INVERSE_SQUARE_ROOT_DECAY] = {"InverseSquareRootDecay",
        {RATE_OR("initial_learning_rate initial_val", initial, 1),
         POSITIVE_OR("scale", scale, 1), COUNT_OR("warmup_steps", warmup_steps, 1),
         ITERS_OR_ENDLESS}},
    [ZOO_SCHEDULE_STEP] = {"Step",
        {INITIAL, COUNT("step_size", step_size), POSITIVE("gamma", gamma), ITERS_OR_ENDLESS}},
    [ZOO_SCHEDULE_MULTI_STEP] = {"MultiStep",
        {INITIAL, POSITIVE("gamma", gamma), MILESTONES, ITERS_OR_ENDLESS}},
    [ZOO_SCHEDULE_PIECEWISE_CONSTANT] = {"PiecewiseConstant",
        {{"learning_rates vals", ARG_RATES, 0, REQUIRED, NULL}, MILESTONES, ITERS_OR_ENDLESS}},
    [ZOO_SCHEDULE_COSINE_ANNEALING] = {"CosineAnnealing",
        {INITIAL, COUNT("T_max", total_iters), RATE_OR("eta_min", end, 0)}},
    [ZOO_SCHEDULE_COSINE_ANNEALING_WARM_RESTARTS] = {"CosineAnnealingWarmRestarts",
        {INITIAL, COUNT("T_0", total_iters), COUNT_OR("T_mult", t_mult, 1),
         RATE_OR("eta_min", end, 0)}},
    [ZOO_SCHEDULE_MULTIPLICATIVE] = {"Multiplicative",
        {INITIAL, POSITIVE("coefficient", coefficient), ITERS_OR_ENDLESS}},
    [ZOO_SCHEDULE_CYCLIC] = {"Cyclic",
        {RATE("base_lr base_val", initial), RATE("max_lr max_val", max),
         COUNT_OR("step_size_up", step_size_up, 2000),
         COUNT_OR("step_size_down", step_size_down, ENDLESS),
         CHOICE("mode", mode, cyclic_modes),
         POSITIVE_OR("gamma", gamma, 1), ITERS_OR_ENDLESS}},
    [ZOO_SCHEDULE_ONE_CYCLE] = {"OneCycle",
        {INITIAL, RATE("max_lr max_val", max), COUNT_OR("total_steps", total_iters, 1000),
         {"pct_start", ARG_FRACTION, AT(pct_start), 0.3, NULL},
         POSITIVE_OR("final_div_factor", final_div_factor, 1e4),
         FLAG("three_phase", three_phase),
         CHOICE("anneal_strategy", anneal_linear, anneal_strategies)}},
    [ZOO_SCHEDULE_SEQUENTIAL] = {"Sequential", {{.names = NULL}}},
    [ZOO_SCHEDULE_CHAINED] = {"Chained", {{.names = NULL}}},
};
/* clang-format on */

/* Keys that say nothing about the values; a text warns. */
static const struct {
    const char *name, *warning;
} other_keys[] = {{"alpha", "ignored: no longer a key"},
                  {"disable_lr_steps_reset", "ignored: no longer a key"},
                  {"scale_mode", NULL}, /* the mode decides */
                  {"cycle", NULL},      /* past total_iters the end value holds */
                  {"main_scheduler", NULL},
                  {"steps", "old spelling: write total_iters"},
                  {"decay_steps", "old spelling: write total_iters"}};
enum { N_OTHER = 5, N_WARNED = sizeof other_keys / sizeof *other_keys };

/* ---- names ----------------------------------------------------------------------------------- */

/* "Linear", "linear", "LinearLR", "LinearWD", "ChainedScheduler": neither case nor suffix count. */
static int find_scheduler(const char *text)
{
    static const char *const suffix[] = {"LR", "WD", "Scheduler"};
    const size_t n = strlen(text);
    for (int i = 0; i < ZOO_N_SCHEDULES; i++) {
        const size_t own = strlen(rows[i].name);
        if (strncasecmp(text, rows[i].name, own) != 0) continue;
        bool same = n == own;
        for (int k = 0; k < 3; k++)
            same = same || !strcasecmp(text + own, suffix[k]);
        if (same) return i;
    }
    return -1;
}

static bool is_scale_per_param(const char *text)
{
    return !strcasecmp(text, "ScalePerParamLR") || !strcasecmp(text, "ScalePerParam");
}

static void unsupported(struct conf_parse *p, const char *path, const struct conf_node *name)
{
    struct conf_choice names[CONF_MAX_CHOICES] = {0};
    _Static_assert((int)ZOO_N_SCHEDULES < (int)CONF_MAX_CHOICES, "schedulers that can be listed");
    for (int i = 0; i < ZOO_N_SCHEDULES; i++)
        names[i] = (struct conf_choice){rows[i].name, i};
    conf_key_unsupported(p, path, name, names);
}

static bool has_name(const char *names, const char *key)
{
    const size_t n = strlen(key);
    for (const char *at = names; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        if (length == n && !strncmp(at, key, n)) return true;
        at += length;
    }
    return false;
}

static void first_name(const char *names, char out[CONF_QUOTE_BYTES])
{
    (void)snprintf(out, CONF_QUOTE_BYTES, "%.*s", (int)strcspn(names, " "), names);
}

static int n_args(const struct row *row)
{
    int n = 0;
    while (n < MAX_ARGS && row->arg[n].names)
        n++;
    return n;
}

/* ---- reading arguments ----------------------------------------------------------------------- */

/* A schedule being read. */
struct reading {
    struct conf_parse *p;
    const char *path; /* of the map at hand */
    struct zoo_schedule *schedule;
};

static void wrong(const struct reading *r, const struct conf_node *node, const char *what)
{
    conf_diag_error(r->p->diag, node->pos, r->path, "%s", what);
}

static void read_real(const struct reading *r, const struct arg *arg, const struct conf_node *node,
                      const char *full, double *field)
{
    double x;
    if (!conf_read_double(r->p, full, node, &x)) return;
    *field = x;
    if (arg->type == ARG_RATE && x < 0)
        conf_diag_error(r->p->diag, node->pos, full, "must not be negative, got %.15g", x);
    else if (arg->type == ARG_POSITIVE && !(x > 0))
        conf_diag_error(r->p->diag, node->pos, full, "must be greater than 0, got %.15g", x);
    else if (arg->type == ARG_FRACTION && !(x > 0 && x < 1))
        conf_diag_error(r->p->diag, node->pos, full, "must be between 0 and 1, got %.15g", x);
}

static void read_count(const struct reading *r, const struct conf_node *node, const char *full,
                       int64_t *field)
{
    int64_t n;
    if (!conf_read_int(r->p, full, node, &n)) return;
    *field = n;
    if (n < 1)
        conf_diag_error(r->p->diag, node->pos, full, "must be at least 1, got %lld", (long long)n);
}

static void read_flag(const struct reading *r, const struct conf_node *node, const char *full,
                      bool *field)
{
    char shown[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_SCALAR || !conf_parse_bool(node->text, field))
        conf_diag_error(r->p->diag, node->pos, full, "expected true or false, got %s",
                        conf_node_describe(node, shown));
}

static void read_choice(const struct reading *r, const struct arg *arg,
                        const struct conf_node *node, const char *full, int *field)
{
    const int i = conf_choice_find(arg->choices, node);
    if (i < 0)
        conf_key_unsupported(r->p, full, node, arg->choices);
    else
        *field = arg->choices[i].value;
}

/* A list of numbers at the end of the schedule's own; false after an error. */
static bool read_list(const struct reading *r, const struct conf_node *node, const char *full,
                      int *first, int *n)
{
    struct zoo_schedule *s = r->schedule;
    char shown[CONF_QUOTE_BYTES];
    *first = s->n_used;
    *n = 0;
    if (node->kind != CONF_NODE_LIST || !node->n) {
        conf_diag_error(r->p->diag, node->pos, full, "expected a list of numbers, got %s",
                        conf_node_describe(node, shown));
        return false;
    }
    if (node->n > ZOO_MAX_SCHEDULE_VALUES - s->n_used) {
        conf_diag_error(r->p->diag, node->pos, full, "a schedule takes at most %d numbers in lists",
                        ZOO_MAX_SCHEDULE_VALUES);
        return false;
    }
    for (int i = 0; i < node->n; i++)
        if (!conf_read_double(r->p, full, node->entry[i].value, &s->value[s->n_used + i]))
            return false;
    s->n_used += *n = node->n;
    return true;
}

static void read_rates(const struct reading *r, const struct conf_node *node, const char *full,
                       struct zoo_schedule_node *out)
{
    if (!read_list(r, node, full, &out->first_value, &out->n_values)) return;
    for (int i = 0; i < out->n_values; i++)
        if (r->schedule->value[out->first_value + i] < 0)
            conf_diag_error(r->p->diag, node->pos, full, "must not be negative");
    out->initial = r->schedule->value[out->first_value];
}

static void read_milestones(const struct reading *r, const struct conf_node *node, const char *full,
                            struct zoo_schedule_node *out)
{
    const double most = 1e15;
    double before = 0;
    if (!read_list(r, node, full, &out->first_milestone, &out->n_milestones)) return;
    for (int i = 0; i < out->n_milestones; i++) {
        const double at = r->schedule->value[out->first_milestone + i];
        if (at != floor(at) || at > most || at <= before) {
            conf_diag_error(r->p->diag, node->pos, full,
                            "milestones are whole steps, from 1, each greater than the one before");
            return;
        }
        before = at;
    }
}

static void read_arg(const struct reading *r, const struct arg *arg, const struct conf_entry *entry,
                     struct zoo_schedule_node *out)
{
    void *field = (char *)out + arg->offset;
    const struct conf_node *node = entry->value;
    char full[CONF_MAX_PATH];
    (void)snprintf(full, sizeof full, "%.100s.%.80s", r->path, entry->key);
    switch (arg->type) {
    case ARG_RATE:
    case ARG_POSITIVE:
    case ARG_NUMBER:
    case ARG_FRACTION:
        read_real(r, arg, node, full, field);
        break;
    case ARG_COUNT:
        read_count(r, node, full, field);
        break;
    case ARG_FLAG:
        read_flag(r, node, full, field);
        break;
    case ARG_CHOICE:
        read_choice(r, arg, node, full, field);
        break;
    case ARG_RATES:
        read_rates(r, node, full, out);
        break;
    case ARG_MILESTONES:
        read_milestones(r, node, full, out);
        break;
    }
}

static void set_default(const struct arg *arg, struct zoo_schedule_node *out)
{
    void *field = (char *)out + arg->offset;
    if (arg->type == ARG_COUNT)
        *(int64_t *)field = (int64_t)arg->fallback;
    else if (arg->type != ARG_FLAG && arg->type != ARG_CHOICE) /* those start from 0 */
        *(double *)field = arg->fallback;
}

/* The entry that gives @p arg, the newest spelling first; or NULL. */
static const struct conf_entry *entry_of(const struct arg *arg, const struct conf_node *map)
{
    for (const char *at = arg->names; *at; at += strspn(at, " ")) {
        char name[CONF_QUOTE_BYTES];
        first_name(at, name);
        const int i = conf_node_index(map, name);
        if (i >= 0 && !conf_node_is_null(map->entry[i].value)) return &map->entry[i];
        at += strlen(name);
    }
    return NULL;
}

static void warn_other_keys(const struct reading *r, const struct conf_node *map)
{
    char full[CONF_MAX_PATH];
    for (int i = 0; i < N_WARNED; i++) {
        int k = other_keys[i].warning ? conf_node_index(map, other_keys[i].name) : -1;
        if (k < 0) continue;
        (void)snprintf(full, sizeof full, "%.100s.%s", r->path, other_keys[i].name);
        conf_diag_warn(r->p->diag, map->entry[k].key_pos, full, "%s", other_keys[i].warning);
    }
}

static bool is_other(const char *key)
{
    for (int i = 0; i < N_OTHER; i++)
        if (!strcmp(other_keys[i].name, key)) return true;
    return false;
}

/* Every key of @p map is an argument of @p row, or one of @p more. */
static bool check_keys(const struct reading *r, const struct conf_node *map, const struct row *row,
                       const char *more)
{
    const char *known[MAX_NAMES];
    char first[MAX_ARGS][CONF_QUOTE_BYTES];
    const int before = r->p->diag->n_errors, n = n_args(row);
    for (int i = 0; i < n; i++) {
        first_name(row->arg[i].names, first[i]);
        known[i] = first[i];
    }
    for (int i = 0; i < map->n; i++) {
        const struct conf_entry *e = &map->entry[i];
        bool found = is_other(e->key) || has_name(more, e->key);
        for (int k = 0; k < n; k++)
            found = found || has_name(row->arg[k].names, e->key);
        if (!found) conf_part_unknown(r->p, r->path, e, known, n);
    }
    return r->p->diag->n_errors == before;
}

/* ---- between arguments ----------------------------------------------------------------------- */

static void check_piecewise(const struct reading *r, const struct conf_node *map,
                            const struct zoo_schedule_node *node)
{
    if (node->scheduler == ZOO_SCHEDULE_PIECEWISE_CONSTANT &&
        node->n_values != node->n_milestones + 1)
        conf_diag_error(r->p->diag, map->pos, r->path,
                        "%d milestones part %d learning_rates, got %d", node->n_milestones,
                        node->n_milestones + 1, node->n_values);
}

/* Every phase of a cycle has a length. */
static void check_one_cycle(const struct reading *r, const struct conf_node *map,
                            const struct zoo_schedule_node *node)
{
    const double up = node->pct_start * (double)node->total_iters;
    const bool fits = up > 1 && (node->three_phase ? 2 * up - 1 : up) < (double)node->total_iters;
    if (node->scheduler == ZOO_SCHEDULE_ONE_CYCLE && !fits)
        conf_diag_error(r->p->diag, map->pos, r->path,
                        "pct_start leaves a phase of the cycle without a step");
}

static void read_args(const struct reading *r, const struct conf_node *map, const struct row *row,
                      struct zoo_schedule_node *out)
{
    const int n = n_args(row);
    const int before = r->p->diag->n_errors;
    if (!check_keys(r, map, row, "scheduler")) return;
    for (int i = 0; i < n; i++) {
        const struct arg *arg = &row->arg[i];
        const struct conf_entry *entry = entry_of(arg, map);
        char name[CONF_QUOTE_BYTES];
        first_name(arg->names, name);
        if (entry)
            read_arg(r, arg, entry, out);
        else if (isnan(arg->fallback))
            conf_diag_error(r->p->diag, map->pos, r->path, "%s is missing", name);
        else
            set_default(arg, out);
    }
    if (out->scheduler == ZOO_SCHEDULE_CYCLIC && out->step_size_down == CONF_NULL)
        out->step_size_down = out->step_size_up;
    if (r->p->diag->n_errors != before) return;
    check_piecewise(r, map, out);
    check_one_cycle(r, map, out);
}

/* ---- trees ----------------------------------------------------------------------------------- */

static void read_node(const struct reading *r, const struct conf_node *node, int at);

/* The values of the first part, which a chain divides by. */
static double initial_of(const struct zoo_schedule *s, int at)
{
    while (s->node[at].n_children)
        at = s->node[at].first_child;
    return s->node[at].initial;
}

static void check_chain(const struct reading *r, const struct conf_node *list,
                        const struct zoo_schedule_node *node)
{
    for (int i = 1; i < node->n_children; i++)
        if (!(initial_of(r->schedule, node->first_child + i) > 0))
            wrong(r, list->entry[i].value,
                  "a chain multiplies by value / initial value: the initial value must not be 0");
}

/* Where each part begins, from how long those before it are. */
static void set_milestones(const struct reading *r, const struct conf_node *list, int at)
{
    struct zoo_schedule *s = r->schedule;
    struct zoo_schedule_node *node = &s->node[at];
    double end = 0;
    node->first_milestone = s->n_used;
    if (node->n_children - 1 > ZOO_MAX_SCHEDULE_VALUES - s->n_used) {
        wrong(r, list, "too many phases");
        return;
    }
    for (int i = 0; i + 1 < node->n_children; i++) {
        const struct zoo_schedule_node *child = &s->node[node->first_child + i];
        char place[CONF_MAX_PATH];
        (void)snprintf(place, sizeof place, "%.150s[%d]", r->path, i);
        if (child->n_children || child->total_iters == CONF_NULL) {
            conf_diag_error(r->p->diag, list->entry[i].value->pos, place,
                            "total_iters is missing; without it no later phase begins");
            return;
        }
        end += (double)child->total_iters;
        s->value[s->n_used++] = end;
    }
    node->n_milestones = node->n_children - 1;
}

/* Milestones that are given must be where the parts before them end, as far as those say how long
 * they are. */
static void check_milestones(const struct reading *r, const struct conf_node *milestones,
                             const struct zoo_schedule_node *node)
{
    const struct zoo_schedule *s = r->schedule;
    double end = 0;
    for (int i = 0; i < node->n_milestones; i++) {
        const struct zoo_schedule_node *child = &s->node[node->first_child + i];
        const double given = s->value[node->first_milestone + i];
        if (child->n_children || child->total_iters == CONF_NULL) return;
        end += (double)child->total_iters;
        if (given == end) continue;
        conf_diag_error(r->p->diag, milestones->entry[i].value->pos, r->path,
                        "milestone %.0f, but total_iters of the schedulers before add up to %.0f; "
                        "hint: leave milestones out",
                        given, end);
        return;
    }
}

/* @p list are the children of node @p at; @p milestones NULL follows from their lengths. */
static void read_children(const struct reading *r, const struct conf_node *list,
                          const struct conf_node *milestones, int at)
{
    struct zoo_schedule *s = r->schedule;
    const int n = list->n, before = r->p->diag->n_errors;
    if (!n || n > ZOO_MAX_SCHEDULES - s->n) {
        conf_diag_error(r->p->diag, list->pos, r->path, "expected 1 to %d phases, got %d",
                        ZOO_MAX_SCHEDULES - s->n, n);
        return;
    }
    s->node[at].first_child = s->n;
    s->node[at].n_children = n;
    s->n += n;
    for (int i = 0; i < n; i++) {
        char place[CONF_MAX_PATH];
        (void)snprintf(place, sizeof place, "%.150s[%d]", r->path, i);
        const struct reading child = {r->p, place, s};
        read_node(&child, list->entry[i].value, s->node[at].first_child + i);
    }
    if (r->p->diag->n_errors != before) return;
    if (s->node[at].scheduler == ZOO_SCHEDULE_CHAINED) {
        check_chain(r, list, &s->node[at]);
    } else if (!milestones) {
        set_milestones(r, list, at);
    } else {
        read_milestones(r, milestones, r->path, &s->node[at]);
        if (s->node[at].n_milestones != n - 1)
            wrong(r, milestones, "a sequence has one milestone fewer than schedulers");
        else if (r->p->diag->n_errors == before)
            check_milestones(r, milestones, &s->node[at]);
    }
}

static void read_group(const struct reading *r, const struct conf_node *map, int at)
{
    const struct conf_node *list = conf_node_find(map, "schedulers"),
                           *milestones = conf_node_find(map, "milestones");
    if (!check_keys(r, map, &rows[r->schedule->node[at].scheduler],
                    "scheduler schedulers milestones"))
        return;
    if (!list || list->kind != CONF_NODE_LIST)
        wrong(r, map, "expected a list of schedulers");
    else
        read_children(r, list, conf_node_is_null(milestones) ? NULL : milestones, at);
}

/* A scheduler by its name, with the map of its arguments. */
static void read_named(const struct reading *r, const struct conf_node *name,
                       const struct conf_node *map, int at)
{
    struct zoo_schedule_node *node = &r->schedule->node[at];
    const int i = name->kind == CONF_NODE_SCALAR ? find_scheduler(name->text) : -1;
    if (i < 0) {
        unsupported(r->p, r->path, name);
        return;
    }
    const struct conf_node *tags = conf_node_find(map, "param_group_tags");
    if (!conf_node_is_null(tags)) {
        wrong(r, tags, "param_group_tags is not supported: a schedule is for all parameters");
        return;
    }
    node->scheduler = (enum zoo_scheduler)i;
    node->total_iters = CONF_NULL;
    warn_other_keys(r, map);
    if (i == ZOO_SCHEDULE_SEQUENTIAL || i == ZOO_SCHEDULE_CHAINED)
        read_group(r, map, at);
    else
        read_args(r, map, &rows[i], node);
}

/* `Name: {arguments}`, as files of the trainer style have it.  The factors of ScalePerParamLR are
 * those of adjust_learning_rate, which every schedule obeys: what it wraps is read in its place. */
static void read_single(const struct reading *r, const struct conf_entry *entry, int at)
{
    const struct conf_node name = {
        .kind = CONF_NODE_SCALAR, .text = entry->key, .pos = entry->key_pos};
    const struct conf_node *inner = conf_node_find(entry->value, "scheduler");
    if (is_scale_per_param(entry->key) && inner)
        read_node(r, inner, at);
    else
        read_named(r, &name, entry->value, at);
}

static void read_map(const struct reading *r, const struct conf_node *map, int at)
{
    char shown[CONF_QUOTE_BYTES];
    const struct conf_node *name = conf_node_find(map, "scheduler");
    const struct conf_node *inner = conf_node_find(map, "schedulers");
    if (name && name->kind == CONF_NODE_SCALAR && is_scale_per_param(name->text) && inner)
        read_node(r, inner, at);
    else if (name)
        read_named(r, name, map, at);
    else if (map->kind == CONF_NODE_MAP && map->n == 1 &&
             map->entry[0].value->kind == CONF_NODE_MAP)
        read_single(r, &map->entry[0], at);
    else
        conf_diag_error(r->p->diag, map->pos, r->path, "expected a map with a scheduler, got %s",
                        conf_node_describe(map, shown));
}

/* `main_scheduler: chained` in the first item makes the list a chain. */
static bool is_chain(const struct conf_node *list)
{
    const struct conf_node *first = list->n ? list->entry[0].value : NULL;
    const struct conf_node *main = conf_node_find(first, "main_scheduler");
    return main && main->kind == CONF_NODE_SCALAR && !strcasecmp(main->text, "chained");
}

static void read_node(const struct reading *r, const struct conf_node *node, int at)
{
    struct zoo_schedule_node *out = &r->schedule->node[at];
    if (node->kind == CONF_NODE_LIST && node->n == 1) {
        char place[CONF_MAX_PATH];
        (void)snprintf(place, sizeof place, "%.150s[0]", r->path);
        const struct reading only = {r->p, place, r->schedule};
        read_map(&only, node->entry[0].value, at);
    } else if (node->kind == CONF_NODE_LIST) {
        out->total_iters = CONF_NULL;
        out->scheduler = is_chain(node) ? ZOO_SCHEDULE_CHAINED : ZOO_SCHEDULE_SEQUENTIAL;
        read_children(r, node, NULL, at);
    } else {
        read_map(r, node, at);
    }
}

void zoo_read_schedule(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, void *field)
{
    struct zoo_schedule *s = field;
    const struct reading r = {p, key->path, s};
    memset(s, 0, sizeof *s);
    s->n = 1;
    if (node->kind != CONF_NODE_SCALAR) {
        read_node(&r, node, 0);
        return;
    }
    s->node[0].total_iters = CONF_NULL;
    if (conf_read_double(p, key->path, node, &s->node[0].initial) && s->node[0].initial < 0)
        conf_diag_error(p->diag, node->pos, key->path, "must not be negative, got %.15g",
                        s->node[0].initial);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_list(struct conf_text *out, const char *name, const double *value, int n)
{
    conf_text_add(out, ", %s: [", name);
    for (int i = 0; i < n; i++) {
        conf_text_add(out, "%s", i ? ", " : "");
        conf_text_double(out, value[i]);
    }
    conf_text_add(out, "]");
}

static void write_number(struct conf_text *out, const char *name, double value)
{
    conf_text_add(out, ", %s: ", name);
    conf_text_double(out, value);
}

static void write_arg(struct conf_text *out, const struct zoo_schedule *s,
                      const struct zoo_schedule_node *node, const struct arg *arg)
{
    const void *field = (const char *)node + arg->offset;
    char name[CONF_QUOTE_BYTES];
    first_name(arg->names, name);
    if (arg->type == ARG_RATES)
        write_list(out, name, s->value + node->first_value, node->n_values);
    else if (arg->type == ARG_MILESTONES)
        write_list(out, name, s->value + node->first_milestone, node->n_milestones);
    else if (arg->type == ARG_FLAG)
        conf_text_add(out, ", %s: %s", name, *(const bool *)field ? "true" : "false");
    else if (arg->type == ARG_CHOICE)
        conf_text_add(out, ", %s: %s", name, arg->choices[*(const int *)field].name);
    else if (arg->type != ARG_COUNT)
        write_number(out, name, *(const double *)field);
    else if (*(const int64_t *)field != CONF_NULL)
        conf_text_add(out, ", %s: %lld", name, (long long)*(const int64_t *)field);
}

static void write_node(struct conf_text *out, const struct zoo_schedule *s, int at)
{
    const struct zoo_schedule_node *node = &s->node[at];
    const struct row *row = &rows[node->scheduler];
    conf_text_add(out, "{scheduler: %s", row->name);
    for (int i = 0; i < n_args(row); i++)
        write_arg(out, s, node, &row->arg[i]);
    for (int i = 0; i < node->n_children; i++) {
        conf_text_add(out, "%s", i ? ", " : ", schedulers: [");
        write_node(out, s, node->first_child + i);
    }
    if (node->n_children) conf_text_add(out, "]");
    if (node->n_children && node->n_milestones)
        write_list(out, "milestones", s->value + node->first_milestone, node->n_milestones);
    conf_text_add(out, "}");
}

void zoo_write_schedule(struct conf_text *out, const void *field, int indent)
{
    const struct zoo_schedule *s = field;
    const struct zoo_schedule_node *root = &s->node[0];
    (void)indent;
    conf_text_add(out, " ");
    if (s->n == 1 && root->scheduler == ZOO_SCHEDULE_CONSTANT && root->total_iters == CONF_NULL)
        conf_text_double(out, root->initial);
    else
        write_node(out, s, 0);
}
