// SPDX-License-Identifier: Apache-2.0
/* Schedules of the learning rate and of the weight decay. The table has one variant per scheduler
 * of the Model Zoo with its arguments; reading, messages, the dump and docs/CONFIG.md use it. A
 * schedule is a tree: Sequential and Chained have children, a list in the file is a Sequential, a
 * number is a Constant. docs/TRAINING.md has the formulas, src/model/model_schedule.c computes
 * them. */
#include "params_values.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static void read_rates(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *list, void *node);
static void read_milestones(struct conf_parse *p, const struct conf_key *key,
                            const struct conf_node *list, void *node);
static void read_later(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *list, void *node);
static void write_rates(struct wsc_text *out, const void *node, const struct conf_layout *at);
static void write_milestones(struct wsc_text *out, const void *node, const struct conf_layout *at);
static void write_children(struct wsc_text *out, const void *node, const struct conf_layout *at);

/* ---- the table ------------------------------------------------------------------------------- */

#define KEY(n, f)  .path = (n), .offset = offsetof(struct zoo_schedule_node, f)
#define NUMBER     .type = CONF_T_DOUBLE, .min = -DBL_MAX, .max = DBL_MAX
#define RATE       .type = CONF_T_DOUBLE, .max = DBL_MAX
#define POSITIVE   .type = CONF_T_DOUBLE, .positive = true, .max = DBL_MAX
#define FRACTION   .type = CONF_T_DOUBLE, .positive = true, .max = 1, .below_max = true
#define STEPS      .type = CONF_T_INT, .min = 1, .max = ZOO_MOST_STEPS
#define FLAG       .type = CONF_T_BOOL, .nullable = true, .fallback = "false"
#define REQUIRED   .required = true
#define DEFAULT(t) .nullable = true, .fallback = (t)
#define ALSO(t)    .also = (t)
#define OLD(t)     .old = (t)
#define DOC(t)     .doc = (t)
#define LIST(w)    .type = CONF_T_SPECIAL, .read = read_##w, .write = write_##w

/* clang-format off */
#define INITIAL {KEY("initial_learning_rate", initial), RATE, REQUIRED, ALSO("initial_val"), \
                 DOC("value of its first step")}, \
                {.path = "base_lr", .type = CONF_T_ANY, .status = CONF_NOISE, \
                 DOC("initial_learning_rate counts")}, \
                {.path = "learning_rate", .type = CONF_T_ANY, .status = CONF_NOISE, \
                 DOC("initial_learning_rate counts")}
#define END     {KEY("end_learning_rate", end), RATE, REQUIRED, ALSO("end_val"), \
                 DOC("value after total_iters steps")}
#define ITERS   {KEY("total_iters", total_iters), STEPS, REQUIRED, OLD("steps decay_steps"), \
                 DOC("steps")}
#define ITERS_OR_ENDLESS {KEY("total_iters", total_iters), STEPS, DEFAULT("null"), \
                 OLD("steps decay_steps"), DOC("steps; null: to the end of the training")}
#define GAMMA   {KEY("gamma", gamma), POSITIVE, REQUIRED, DOC("factor of each step down")}
#define DECAY   {KEY("decay_rate", decay_rate), POSITIVE, REQUIRED, DOC("decay in total_iters")}
#define STAIRS  {KEY("staircase", staircase), FLAG, DOC("whole multiples of total_iters only")}
#define MILESTONES {KEY("milestones", scheduler), LIST(milestones), REQUIRED, \
                 .form = "list of steps", \
                 DOC("steps at which the value changes")}
/* Keys that any scheduler may have; docs/CONFIG.md leaves them out. The table takes any value of
 * the first two: read_map() reads `scheduler`, take_main() `main_scheduler`. */
#define NAMES \
    {.path = "scheduler", .type = CONF_T_ANY}, {.path = "main_scheduler", .type = CONF_T_ANY}
#define TAGS \
    {.path = "param_group_tags", .type = CONF_T_CHOICE, .status = CONF_ONLY, \
     .choices = CONF_CHOICES({"null", 0}), \
     .refusal = "not supported here, where a schedule is for all parameters; " \
                "hint: optimizer.tagged_schedules"}
#define COMMON NAMES, TAGS, \
    {.path = "alpha", .type = CONF_T_ANY, .status = CONF_NOISE, DOC("no longer a key")}, \
    {.path = "disable_lr_steps_reset", .type = CONF_T_ANY, .status = CONF_NOISE, \
     DOC("no longer a key")}, \
    {.path = "scale_mode", .type = CONF_T_ANY, .status = CONF_NOISE, DOC("the mode decides")}, \
    {.path = "cycle", .type = CONF_T_CHOICE, .status = CONF_ONLY, \
     .choices = CONF_CHOICES({"null", 0}, {"false", 0}), \
     .refusal = "not supported: past total_iters the end value holds"}

static const struct conf_variant schedulers[ZOO_N_SCHEDULES] = {
    [ZOO_SCHEDULE_CONSTANT] = {"Constant", .doc = "one value", CONF_KEYS(
        {KEY("learning_rate", initial), RATE, REQUIRED,
         ALSO("initial_learning_rate val initial_val"), DOC("the value")},
        ITERS_OR_ENDLESS, COMMON)},
    [ZOO_SCHEDULE_POLYNOMIAL] = {"Polynomial", .doc = "a power of the remaining steps", CONF_KEYS(
        INITIAL, END, ITERS,
        {KEY("power", power), POSITIVE, DEFAULT("1"), DOC("exponent")}, COMMON)},
    [ZOO_SCHEDULE_LINEAR] = {"Linear", .doc = "a straight line", CONF_KEYS(
        INITIAL, END, ITERS, COMMON)},
    [ZOO_SCHEDULE_COSINE_DECAY] = {"CosineDecay", .doc = "half a cosine", CONF_KEYS(
        INITIAL, END, ITERS, COMMON)},
    [ZOO_SCHEDULE_EXPONENTIAL] = {"Exponential", .doc = "exponential decay", CONF_KEYS(
        INITIAL, ITERS, DECAY, STAIRS, COMMON)},
    [ZOO_SCHEDULE_INVERSE_EXPONENTIAL_TIME_DECAY] = {"InverseExponentialTimeDecay",
        .doc = "inverse of a power of time", CONF_KEYS(
        INITIAL,
        {KEY("step_exponent", step_exponent), NUMBER, REQUIRED, DOC("exponent of the step")},
        ITERS, DECAY, STAIRS, COMMON)},
    [ZOO_SCHEDULE_INVERSE_SQUARE_ROOT_DECAY] = {"InverseSquareRootDecay",
        .doc = "inverse of the root of the step", CONF_KEYS(
        {KEY("initial_learning_rate", initial), RATE, DEFAULT("1"), ALSO("initial_val"),
         DOC("factor")},
        {KEY("scale", scale), POSITIVE, DEFAULT("1"), DOC("another factor")},
        {KEY("warmup_steps", warmup_steps), STEPS, DEFAULT("1"), DOC("steps of one value")},
        ITERS_OR_ENDLESS, COMMON)},
    [ZOO_SCHEDULE_STEP] = {"Step", .doc = "down every step_size steps", CONF_KEYS(
        INITIAL,
        {KEY("step_size", step_size), STEPS, REQUIRED, DOC("steps of one value")},
        GAMMA, ITERS_OR_ENDLESS, COMMON)},
    [ZOO_SCHEDULE_MULTI_STEP] = {"MultiStep", .doc = "down at milestones", CONF_KEYS(
        INITIAL, GAMMA, MILESTONES, ITERS_OR_ENDLESS, COMMON)},
    [ZOO_SCHEDULE_PIECEWISE_CONSTANT] = {"PiecewiseConstant", .doc = "a value per part", CONF_KEYS(
        {KEY("learning_rates", scheduler), LIST(rates), REQUIRED, ALSO("vals"),
         .form = "list of numbers", DOC("values, one more than milestones")},
        MILESTONES, ITERS_OR_ENDLESS, COMMON)},
    [ZOO_SCHEDULE_COSINE_ANNEALING] = {"CosineAnnealing", .doc = "cosines, down and up", CONF_KEYS(
        INITIAL,
        {KEY("T_max", total_iters), STEPS, REQUIRED, DOC("steps of half a cosine")},
        {KEY("eta_min", end), RATE, DEFAULT("0"), DOC("least value")}, COMMON)},
    [ZOO_SCHEDULE_COSINE_ANNEALING_WARM_RESTARTS] = {"CosineAnnealingWarmRestarts",
        .doc = "cosines down, from the start each time", CONF_KEYS(
        INITIAL,
        {KEY("T_0", total_iters), STEPS, REQUIRED, DOC("steps of the first cosine")},
        {KEY("T_mult", t_mult), STEPS, DEFAULT("1"), DOC("factor from one to the next")},
        {KEY("eta_min", end), RATE, DEFAULT("0"), DOC("least value")}, COMMON)},
    [ZOO_SCHEDULE_MULTIPLICATIVE] = {"Multiplicative", .doc = "a factor per step", CONF_KEYS(
        INITIAL,
        {KEY("coefficient", coefficient), POSITIVE, REQUIRED, DOC("the factor")},
        ITERS_OR_ENDLESS, COMMON)},
    [ZOO_SCHEDULE_CYCLIC] = {"Cyclic", .doc = "up and down between two values", CONF_KEYS(
        {KEY("base_lr", initial), RATE, REQUIRED, ALSO("base_val"), DOC("lower value")},
        {KEY("max_lr", max), RATE, REQUIRED, ALSO("max_val"), DOC("upper value")},
        {KEY("step_size_up", step_size_up), STEPS, DEFAULT("2000"), DOC("steps up")},
        {KEY("step_size_down", step_size_down), STEPS, DEFAULT("null"),
         DOC("steps down; null: step_size_up")},
        {KEY("mode", mode), .type = CONF_T_CHOICE, DEFAULT("triangular"),
         .choices = CONF_CHOICES({"triangular", ZOO_CYCLIC_TRIANGULAR},
                                 {"triangular2", ZOO_CYCLIC_TRIANGULAR2},
                                 {"exp_range", ZOO_CYCLIC_EXP_RANGE}),
         DOC("how the amplitude changes")},
        {KEY("gamma", gamma), POSITIVE, DEFAULT("1"), DOC("exp_range: its factor per step")},
        ITERS_OR_ENDLESS, COMMON)},
    [ZOO_SCHEDULE_ONE_CYCLE] = {"OneCycle", .doc = "once up and down", CONF_KEYS(
        INITIAL,
        {KEY("max_lr", max), RATE, REQUIRED, ALSO("max_val"), DOC("upper value")},
        {KEY("total_steps", total_iters), STEPS, DEFAULT("1000"), DOC("steps")},
        {KEY("pct_start", pct_start), FRACTION, DEFAULT("0.3"), DOC("fraction of steps up")},
        {KEY("final_div_factor", final_div_factor), POSITIVE, DEFAULT("1e4"),
         DOC("initial value by the last one")},
        {KEY("three_phase", three_phase), FLAG, DOC("down to the initial value first")},
        {KEY("anneal_strategy", anneal_linear), .type = CONF_T_CHOICE, DEFAULT("cos"),
         .choices = CONF_CHOICES({"cos", 0}, {"linear", 1}), DOC("shape of both parts")},
        COMMON)},
    [ZOO_SCHEDULE_SEQUENTIAL] = {"Sequential", .doc = "one after another", CONF_KEYS(
        {KEY("schedulers", scheduler), .type = CONF_T_SPECIAL, .read = read_later,
         .write = write_children, REQUIRED, .form = "list of schedulers", DOC("the parts")},
        {KEY("milestones", scheduler), .type = CONF_T_SPECIAL, .read = read_later,
         .write = write_milestones, .nullable = true, .form = "list of steps",
         DOC("at which the next part begins; null: by their total_iters")},
        COMMON)},
    [ZOO_SCHEDULE_CHAINED] = {"Chained", .doc = "the product of value / initial value",
        CONF_KEYS(
        {KEY("schedulers", scheduler), .type = CONF_T_SPECIAL, .read = read_later,
         .write = write_children, REQUIRED, .form = "list of schedulers", DOC("the factors")},
        COMMON)},
};
/* clang-format on */

static const struct conf_variants variants = {.selector = "scheduler",
                                              .variant = schedulers,
                                              .n = ZOO_N_SCHEDULES,
                                              .suffixes = "LR WD Scheduler"};

const struct conf_variants *zoo_schedulers(void)
{
    return &variants;
}

/* ---- lists of numbers ------------------------------------------------------------------------ */

/* Read a list of numbers to the end of the schedule's own list; false after an error. */
static bool read_list(struct conf_parse *p, const char *path, const struct conf_node *node,
                      int *first, int *n)
{
    struct zoo_schedule *s = p->context;
    char shown[CONF_QUOTE_BYTES];
    *first = s->n_used;
    *n = 0;
    if (node->kind != CONF_NODE_LIST || !node->n) {
        conf_diag_error(p->diag, node->pos, path, "expected a list of numbers, got %s",
                        conf_node_describe(node, shown));
        return false;
    }
    if (node->n > ZOO_MAX_SCHEDULE_VALUES - s->n_used) {
        conf_diag_error(p->diag, node->pos, path, "a schedule takes at most %d numbers in lists",
                        ZOO_MAX_SCHEDULE_VALUES);
        return false;
    }
    for (int i = 0; i < node->n; i++)
        if (!conf_read_double(p, path, node->entry[i].value, &s->value[s->n_used + i]))
            return false;
    s->n_used += *n = node->n;
    return true;
}

static void read_rates(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *list, void *node)
{
    const struct zoo_schedule *s = p->context;
    struct zoo_schedule_node *out = node;
    if (!read_list(p, key->path, list, &out->first_value, &out->n_values)) return;
    for (int i = 0; i < out->n_values; i++)
        if (s->value[out->first_value + i] < 0)
            conf_diag_error(p->diag, list->pos, key->path, "must not be negative");
    out->initial = s->value[out->first_value];
}

static void read_milestones(struct conf_parse *p, const struct conf_key *key,
                            const struct conf_node *list, void *node)
{
    const struct zoo_schedule *s = p->context;
    struct zoo_schedule_node *out = node;
    double before = 0;
    if (!read_list(p, key->path, list, &out->first_milestone, &out->n_milestones)) return;
    for (int i = 0; i < out->n_milestones; i++) {
        const double at = s->value[out->first_milestone + i];
        if (at != floor(at) || at > (double)ZOO_MOST_STEPS || at <= before) {
            conf_diag_error(p->diag, list->pos, key->path,
                            "milestones are whole steps, from 1, each greater than the one before");
            return;
        }
        before = at;
    }
}

/* Keys of a group are read together by read_group(). */
static void read_later(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *list, void *node)
{
    (void)p, (void)key, (void)list, (void)node;
}

/* ---- between arguments ----------------------------------------------------------------------- */

/* State of a schedule that is being read. */
struct reading {
    struct conf_parse *p;
    const char *path; /* path of the current map */
    struct zoo_schedule *schedule;
    bool decays; /* of the weight decay, not of the learning rate */
};

/* Report an error about the current map. */
static void wrong(const struct reading *r, const struct conf_node *node, const char *what)
{
    conf_diag_error(r->p->diag, node->pos, r->path, "%s", what);
}

/* There must be one value more than milestones. */
static void check_piecewise(const struct reading *r, const struct conf_node *map,
                            const struct zoo_schedule_node *node)
{
    if (node->scheduler == ZOO_SCHEDULE_PIECEWISE_CONSTANT &&
        node->n_values != node->n_milestones + 1)
        conf_diag_error(r->p->diag, map->pos, r->path,
                        "%d milestones part %d learning_rates, got %d", node->n_milestones,
                        node->n_milestones + 1, node->n_values);
}

/* Every phase of a cycle must have a length. */
static void check_one_cycle(const struct reading *r, const struct conf_node *map,
                            const struct zoo_schedule_node *node)
{
    const double up = node->pct_start * (double)node->total_iters;
    const bool fits = up > 1 && (node->three_phase ? 2 * up - 1 : up) < (double)node->total_iters;
    if (node->scheduler == ZOO_SCHEDULE_ONE_CYCLE && !fits)
        conf_diag_error(r->p->diag, map->pos, r->path,
                        "pct_start leaves a phase of the cycle without a step");
}

/* ---- trees ----------------------------------------------------------------------------------- */

static void read_node(const struct reading *r, const struct conf_node *node, int at);
static void read_map(const struct reading *r, const struct conf_node *map, int at);

double zoo_schedule_initial(const struct zoo_schedule *schedule, int node)
{
    while (schedule->node[node].n_children)
        node = schedule->node[node].first_child;
    return schedule->node[node].initial;
}

/* The members of a chain except the first must not begin with 0, because the chain divides by it.
 */
static void check_chain(const struct reading *r, const struct conf_node *list,
                        const struct zoo_schedule_node *node)
{
    for (int i = 1; i < node->n_children; i++)
        if (!(zoo_schedule_initial(r->schedule, node->first_child + i) > 0))
            wrong(r, list->entry[i].value,
                  "a chain multiplies by value / initial value: the initial value must not be 0");
}

/* The scheduler at the end of a part, and the step of the part at which it begins. */
static const struct zoo_schedule_node *last_of(const struct zoo_schedule *s,
                                               const struct zoo_schedule_node *part, int64_t *begin)
{
    *begin = 0;
    while (part->scheduler == ZOO_SCHEDULE_SEQUENTIAL && part->n_children) {
        if (part->n_milestones)
            *begin += (int64_t)s->value[part->first_milestone + part->n_milestones - 1];
        part = &s->node[part->first_child + part->n_children - 1];
    }
    return part;
}

/* Steps after which a part ends if nothing else is stated; CONF_NULL: never, and for chains. */
static int64_t length_of(const struct zoo_schedule *s, const struct zoo_schedule_node *part)
{
    int64_t begin;
    const int64_t after = last_of(s, part, &begin)->total_iters;
    return after == CONF_NULL ? CONF_NULL : begin + after;
}

/* Does the part repeat after total_iters? Then a sequence may leave it at any step. */
static bool is_periodic(const struct zoo_schedule *s, const struct zoo_schedule_node *part)
{
    int64_t begin;
    const enum zoo_scheduler last = last_of(s, part, &begin)->scheduler;
    return last == ZOO_SCHEDULE_COSINE_ANNEALING ||
           last == ZOO_SCHEDULE_COSINE_ANNEALING_WARM_RESTARTS;
}

/* Set the step at which each part begins, from the lengths of the parts before it. */
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
        const int64_t length = length_of(s, child);
        if (length == CONF_NULL) {
            conf_diag_error(r->p->diag, list->entry[i].value->pos, place,
                            child->n_children
                                ? "without an end no later phase begins; hint: SequentialLR with "
                                  "milestones"
                                : "total_iters is missing; without it no later phase begins");
            return;
        }
        end += (double)length;
        s->value[s->n_used++] = end;
    }
    node->n_milestones = node->n_children - 1;
}

/* Check that given milestones are at the ends of the parts before them, if these have an end. */
static void check_milestones(const struct reading *r, const struct conf_node *milestones,
                             const struct zoo_schedule_node *node)
{
    const struct zoo_schedule *s = r->schedule;
    double begin = 0;
    for (int i = 0; i < node->n_milestones; i++) {
        const struct zoo_schedule_node *child = &s->node[node->first_child + i];
        const double given = s->value[node->first_milestone + i];
        const int64_t length = length_of(s, child);
        const double end = begin + (double)length;
        begin = given;
        if (length == CONF_NULL || is_periodic(s, child) || given == end) continue;
        conf_diag_error(r->p->diag, milestones->entry[i].value->pos, r->path,
                        "milestone %.0f, but the total_iters of the scheduler before end it at "
                        "%.0f; hint: leave milestones out",
                        given, end);
        return;
    }
}

/* Take the milestones of a sequence from the file. */
static void take_milestones(const struct reading *r, const struct conf_node *milestones, int at)
{
    struct zoo_schedule_node *node = &r->schedule->node[at];
    const int before = r->p->diag->n_errors;
    const struct conf_key key = {.path = r->path};
    struct conf_parse p = *r->p;
    p.context = r->schedule;
    read_milestones(&p, &key, milestones, node);
    if (node->n_milestones != node->n_children - 1)
        wrong(r, milestones, "a sequence has one milestone fewer than schedulers");
    else if (r->p->diag->n_errors == before)
        check_milestones(r, milestones, node);
}

/* Read @p list, the children of node @p at. @p milestones NULL: they follow from the lengths. */
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
        const struct reading child = {r->p, place, s, r->decays};
        const struct conf_node *entry = list->entry[i].value;
        (entry->kind == CONF_NODE_LIST ? read_node : read_map)(&child, entry,
                                                               s->node[at].first_child + i);
    }
    if (r->p->diag->n_errors != before) return;
    if (s->node[at].scheduler == ZOO_SCHEDULE_CHAINED)
        check_chain(r, list, &s->node[at]);
    else if (milestones)
        take_milestones(r, milestones, at);
    else
        set_milestones(r, list, at);
}

/* ---- main_scheduler -------------------------------------------------------------------------- */

/* What a list of schedulers is, by the entries that were looked at. */
struct main_of {
    bool is_set;
    enum zoo_scheduler scheduler;
    int line; /* that says so; 0: the list belongs to a scheduler of that name */
};

/* What a main_scheduler makes of the list in which it is; -1: no known name. */
static int find_main(const struct conf_node *name)
{
    static const struct {
        const char *name;
        enum zoo_scheduler scheduler;
    } known[] = {{"Chained", ZOO_SCHEDULE_CHAINED},
                 {"ChainedLR", ZOO_SCHEDULE_CHAINED},
                 {"Sequential", ZOO_SCHEDULE_SEQUENTIAL},
                 {"SequentialLR", ZOO_SCHEDULE_SEQUENTIAL}};
    for (size_t i = 0; name->kind == CONF_NODE_SCALAR && i < sizeof known / sizeof *known; i++)
        if (!strcasecmp(name->text, known[i].name)) return (int)known[i].scheduler;
    return -1;
}

/* True for `Name: {arguments}`. */
static bool is_named(const struct conf_node *map)
{
    return map->kind == CONF_NODE_MAP && map->n == 1 && map->entry[0].value->kind == CONF_NODE_MAP;
}

/* Read the main_scheduler of one scheduler, an entry of the list that @p main is about. The Model
 * Zoo takes any other name than those of a chain for a sequence; here it is an error. */
static void take_main(const struct reading *r, const struct conf_node *map, struct main_of *main)
{
    const struct conf_node *args = is_named(map) ? map->entry[0].value : map;
    const struct conf_node *name = conf_node_find(args, "main_scheduler");
    char place[CONF_MAX_PATH], shown[CONF_QUOTE_BYTES];
    if (conf_node_is_null(name)) return;
    const int scheduler = find_main(name);
    (void)snprintf(place, sizeof place, "%.150s.main_scheduler", r->path);
    (void)conf_node_describe(name, shown);
    if (scheduler < 0)
        conf_diag_error(r->p->diag, name->pos, place, "expected SequentialLR or ChainedLR, got %s",
                        shown);
    else if (main->is_set && scheduler != (int)main->scheduler && main->line)
        conf_diag_error(r->p->diag, name->pos, place,
                        "%s contradicts line %d; hint: one value in all entries", shown,
                        main->line);
    else if (main->is_set && scheduler != (int)main->scheduler)
        conf_diag_error(r->p->diag, name->pos, place,
                        "%s contradicts the scheduler %s; hint: one of the two", shown,
                        schedulers[main->scheduler].name);
    else if (!main->is_set)
        *main = (struct main_of){true, (enum zoo_scheduler)scheduler, name->pos.line};
}

/* Read main_scheduler, which any entry of @p list may have; all that do have one value. */
static void read_main(const struct reading *r, const struct conf_node *list, struct main_of *main)
{
    for (int i = 0; i < list->n; i++) {
        char place[CONF_MAX_PATH];
        (void)snprintf(place, sizeof place, "%.150s[%d]", r->path, i);
        const struct reading entry = {r->p, place, r->schedule, r->decays};
        take_main(&entry, list->entry[i].value, main);
    }
}

static bool has_children(enum zoo_scheduler scheduler)
{
    return scheduler == ZOO_SCHEDULE_SEQUENTIAL || scheduler == ZOO_SCHEDULE_CHAINED;
}

/* Read a scheduler that is in no list: its main_scheduler must exist, and if it has a list of its
 * own, must be what that is. */
static void read_alone(const struct reading *r, const struct conf_node *map, int at)
{
    const int before = r->p->diag->n_errors;
    read_map(r, map, at);
    const enum zoo_scheduler scheduler = r->schedule->node[at].scheduler;
    struct main_of main = {has_children(scheduler), scheduler, 0};
    if (r->p->diag->n_errors == before) take_main(r, map, &main);
}

/* Read a Sequential or Chained: its children, then its milestones. */
static void read_group(const struct reading *r, const struct conf_node *map, int at)
{
    const struct conf_node *list = conf_node_find(map, "schedulers"),
                           *milestones = conf_node_find(map, "milestones");
    struct main_of main = {true, r->schedule->node[at].scheduler, 0};
    if (list->kind != CONF_NODE_LIST) {
        wrong(r, map, "expected a list of schedulers");
        return;
    }
    read_main(r, list, &main);
    read_children(r, list, conf_node_is_null(milestones) ? NULL : milestones, at);
}

/* Read a scheduler by its name, with the map of its arguments. */
static void read_named(const struct reading *r, const struct conf_node *name,
                       const struct conf_node *map, int at)
{
    struct zoo_schedule_node *node = &r->schedule->node[at];
    const int i = conf_variant_read(r->p, &variants, r->path, name);
    if (i < 0) return;
    const struct conf_record record = {.path = r->path,
                                       .map = map,
                                       .key = schedulers[i].key,
                                       .n = schedulers[i].n,
                                       .out = node,
                                       .context = r->schedule};
    node->scheduler = (enum zoo_scheduler)i;
    node->total_iters = CONF_NULL;
    if (!conf_record_read(r->p, &record)) return;
    if (has_children(node->scheduler)) {
        read_group(r, map, at);
        return;
    }
    if (i == ZOO_SCHEDULE_CYCLIC && node->step_size_down == CONF_NULL)
        node->step_size_down = node->step_size_up;
    check_piecewise(r, map, node);
    check_one_cycle(r, map, node);
}

/* Keys of ScalePerParamLR. The first one has the wrapped scheduler beside `scheduler:
 * ScalePerParam` only; in the other form it is `scheduler`. */
static const struct conf_key wrapper[] = {
    {.path = "schedulers", .type = CONF_T_SPECIAL, .read = read_later}, NAMES, TAGS};

/* Read the wrapped scheduler, the value of @p key among the arguments @p map of ScalePerParamLR.
 * Its factors are those of adjust_learning_rate, which apply to every schedule. */
static void read_wrapped(const struct reading *r, const struct conf_node *map, const char *key,
                         int at)
{
    const int skipped = strcmp(key, wrapper[0].path) != 0;
    const struct conf_record record = {.path = r->path,
                                       .map = map,
                                       .key = wrapper + skipped,
                                       .n = (int)(sizeof wrapper / sizeof *wrapper) - skipped,
                                       .out = &r->schedule->node[at],
                                       .context = r->schedule};
    const struct conf_node *inner = conf_node_find(map, key);
    char place[CONF_MAX_PATH];
    (void)snprintf(place, sizeof place, "%.150s.%s", r->path, key);
    if (!conf_record_read(r->p, &record)) return;
    if (inner)
        read_node(r, inner, at);
    else
        conf_diag_error(r->p->diag, map->pos, place, "required key is missing");
}

/* True for the wrapper of the Model Zoo whose factors are keys of the optimizer here. */
static bool is_scale_per_param(const struct conf_node *name)
{
    return name->kind == CONF_NODE_SCALAR &&
           (!strcasecmp(name->text, "ScalePerParamLR") || !strcasecmp(name->text, "ScalePerParam"));
}

/* Report a key `scheduler` among the arguments of @p name that names another scheduler. */
static bool is_other(const struct reading *r, const struct conf_node *name,
                     const struct conf_node *inner)
{
    char place[CONF_MAX_PATH], shown[CONF_QUOTE_BYTES];
    if (conf_node_is_null(inner)) return false;
    (void)snprintf(place, sizeof place, "%.150s.scheduler", r->path);
    const int given = conf_variant_read(r->p, &variants, place, inner);
    if (given < 0) return true;
    const int read = conf_variant_read(r->p, &variants, r->path, name);
    if (read == given) return false;
    if (read >= 0)
        conf_diag_error(r->p->diag, inner->pos, place,
                        "%s contradicts the scheduler %s; hint: one "
                        "of the two",
                        conf_node_describe(inner, shown), name->text);
    return true;
}

/* Report a scheduler ...WD, which schedules the weight decay, in a schedule of the learning rate.
 * The reverse is read: params of the older style name schedulers of the weight decay ...LR too. */
static bool is_for_decay(const struct reading *r, const struct conf_node *name)
{
    static const char suffix[] = "WD";
    const size_t n = name->kind == CONF_NODE_SCALAR ? strlen(name->text) : 0, m = strlen(suffix);
    if (r->decays || n < m || strcasecmp(name->text + n - m, suffix) != 0) return false;
    conf_diag_error(r->p->diag, name->pos, r->path,
                    "%s schedules the weight decay, not the learning rate; hint: %.*sLR",
                    name->text, (int)(n - m), name->text);
    return true;
}

/* Read the scheduler @p name with its arguments; @p wrapped is the key of a wrapped one. */
static void read_scheduler(const struct reading *r, const struct conf_node *name,
                           const struct conf_node *args, const char *wrapped, int at)
{
    if (is_for_decay(r, name)) return;
    if (is_scale_per_param(name))
        read_wrapped(r, args, wrapped, at);
    else
        read_named(r, name, args, at);
}

/* Read `Name: {arguments}`, the form of the trainer style. */
static void read_single(const struct reading *r, const struct conf_entry *entry, int at)
{
    const struct conf_node name = {
        .kind = CONF_NODE_SCALAR, .text = entry->key, .pos = entry->key_pos};
    const struct conf_node *inner = conf_node_find(entry->value, "scheduler");
    if (is_scale_per_param(&name) || !is_other(r, &name, inner))
        read_scheduler(r, &name, entry->value, "scheduler", at);
}

/* Report a node that is neither `scheduler: Name` nor `Name: {arguments}`. */
static void report_form(const struct reading *r, const struct conf_node *node)
{
    char place[CONF_MAX_PATH], shown[CONF_QUOTE_BYTES];
    if (node->kind == CONF_NODE_MAP && node->n == 1) {
        const struct conf_entry *only = &node->entry[0];
        (void)snprintf(place, sizeof place, "%.100s.%.60s", r->path, only->key);
        conf_diag_error(r->p->diag, only->key_pos, place, "expected a map of arguments, got %s",
                        conf_node_describe(only->value, shown));
    } else if (node->kind == CONF_NODE_MAP) {
        conf_diag_error(r->p->diag, node->pos, r->path, "the map has no key scheduler");
    } else {
        conf_diag_error(r->p->diag, node->pos, r->path, "expected a map with a scheduler, got %s",
                        conf_node_describe(node, shown));
    }
}

/* Read a map with `scheduler: Name`, or with the name as its only key. */
static void read_map(const struct reading *r, const struct conf_node *map, int at)
{
    const struct conf_node *name = conf_node_find(map, "scheduler");
    if (name)
        read_scheduler(r, name, map, "schedulers", at);
    else if (is_named(map))
        read_single(r, &map->entry[0], at);
    else
        report_form(r, map);
}

static void read_node(const struct reading *r, const struct conf_node *node, int at)
{
    struct zoo_schedule_node *out = &r->schedule->node[at];
    if (node->kind == CONF_NODE_LIST && node->n == 1) {
        char place[CONF_MAX_PATH];
        (void)snprintf(place, sizeof place, "%.150s[0]", r->path);
        const struct reading only = {r->p, place, r->schedule, r->decays};
        read_alone(&only, node->entry[0].value, at);
    } else if (node->kind == CONF_NODE_LIST) {
        struct main_of main = {.scheduler = ZOO_SCHEDULE_SEQUENTIAL};
        read_main(r, node, &main);
        out->total_iters = CONF_NULL;
        out->scheduler = main.scheduler;
        read_children(r, node, NULL, at);
    } else {
        read_alone(r, node, at);
    }
}

/* Clear the schedule, then read the tree into it from node 0. */
static void read_schedule(const struct reading *r, const struct conf_node *node)
{
    struct zoo_schedule *s = r->schedule;
    memset(s, 0, sizeof *s);
    s->n = 1;
    if (node->kind != CONF_NODE_SCALAR) {
        read_node(r, node, 0);
        return;
    }
    s->node[0].total_iters = CONF_NULL;
    if (conf_read_double(r->p, r->path, node, &s->node[0].initial) && s->node[0].initial < 0)
        conf_diag_error(r->p->diag, node->pos, r->path, "must not be negative, got %.15g",
                        s->node[0].initial);
}

void zoo_read_schedule(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, void *field)
{
    const struct reading r = {p, key->path, field, false};
    read_schedule(&r, node);
}

void zoo_read_decay(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                    void *field)
{
    const struct reading r = {p, key->path, field, true};
    read_schedule(&r, node);
}

bool zoo_scheduler_is_known(struct conf_parse *p, const char *path, const struct conf_node *name)
{
    return is_scale_per_param(name) || conf_variant_read(p, &variants, path, name) >= 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Write numbers so that they are read back exactly. */
static void write_list(struct wsc_text *out, const double *value, int n)
{
    wsc_text_add(out, " [");
    for (int i = 0; i < n; i++) {
        wsc_text_add(out, "%s", i ? ", " : "");
        conf_text_double(out, value[i]);
    }
    wsc_text_add(out, "]");
}

static void write_rates(struct wsc_text *out, const void *node, const struct conf_layout *at)
{
    const struct zoo_schedule_node *n = node;
    const struct zoo_schedule *s = at->context;
    write_list(out, s->value + n->first_value, n->n_values);
}

static void write_milestones(struct wsc_text *out, const void *node, const struct conf_layout *at)
{
    const struct zoo_schedule_node *n = node;
    const struct zoo_schedule *s = at->context;
    if (n->n_milestones)
        write_list(out, s->value + n->first_milestone, n->n_milestones);
    else
        wsc_text_add(out, " null");
}

static void write_children(struct wsc_text *out, const void *node, const struct conf_layout *at)
{
    const struct zoo_schedule_node *n = node;
    const struct zoo_schedule *s = at->context;
    for (int i = 0; i < n->n_children; i++) {
        const struct zoo_schedule_node *child = &s->node[n->first_child + i];
        wsc_text_add(out, i ? ", " : " [");
        conf_record_write(out, &variants, (int)child->scheduler, child, s);
    }
    wsc_text_add(out, "]");
}

/* A constant without an end is written as a number; any other schedule as a map on one line. */
void zoo_write_schedule(struct wsc_text *out, const void *field, const struct conf_layout *at)
{
    const struct zoo_schedule *s = field;
    const struct zoo_schedule_node *root = &s->node[0];
    (void)at;
    wsc_text_add(out, " ");
    if (s->n == 1 && root->scheduler == ZOO_SCHEDULE_CONSTANT && root->total_iters == CONF_NULL) {
        conf_text_double(out, root->initial);
        return;
    }
    conf_record_write(out, &variants, (int)root->scheduler, root, s);
}
