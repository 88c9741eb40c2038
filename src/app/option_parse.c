// SPDX-License-Identifier: Apache-2.0
/* Command line to request: every rule is read off the rows of the option table.
 *
 * app_parse() writes the defaults of the command's rows into the request, through the same reader
 * as values of the user; then getopt_long() walks the arguments with a list made of the rows; then
 * the conditions of the rows (needs, required) are checked.  Conditions about the mode of a run
 * wait until the params are known: app_check_mode().  Every error is one line and WSC_USAGE.
 * Read next: options.c (the table), commands.c (who calls this). */
#include "option_parse.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/units.h>

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

const struct app_option *app_next_option(const struct app_option *table,
                                         const struct app_command *command,
                                         const struct app_option *row)
{
    for (row = row ? row + 1 : table; row->commands; row++)
        if (row->commands & command->bit) return row;
    return NULL;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* What messages call the row: "--name", or the name of a bare argument. */
static const char *label(const struct app_option *o, char text[64])
{
    (void)snprintf(text, 64, "%s%s", o->name ? "--" : "", o->name ? o->name : o->arg);
    return text;
}

/* True when the row has this name. */
static bool is_named(const struct app_option *o, const char *name, size_t n)
{
    const char *own = o->name ? o->name : o->arg;
    return strlen(own) == n && !strncmp(own, name, n);
}

/* The command's row of a name, or NULL. */
static const struct app_option *find(const struct app_call *call, const char *name, size_t n)
{
    const struct app_option *o = NULL;
    while ((o = app_next_option(call->table, call->command, o)))
        if (is_named(o, name, n)) return o;
    return NULL;
}

/* Where the request keeps that an option was given. */
static const char **given_of(const struct app_call *call, const struct app_option *o)
{
    return (const char **)&call->given[o - call->table];
}

bool app_given(const struct app_call *call, const char *name)
{
    const struct app_option *o = find(call, name, strlen(name));
    WSC_CHECK(o, "option %s of wsc %s", name, call->command->name);
    return *given_of(call, o) != NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

enum wsc_err app_add_set(struct app_config *c, const char *text)
{
    if (c->n_sets == APP_MAX_SETS)
        return WSC_RAISE(WSC_USAGE, "--set: more than %d keys are overridden", APP_MAX_SETS);
    c->set[c->n_sets++] = (struct conf_set){.text = text};
    return WSC_OK;
}

enum wsc_err app_add_override(struct app_config *c, const struct app_option *o, const char *value)
{
    if (c->n_owned == APP_MAX_SETS)
        return WSC_RAISE(WSC_USAGE, "--%s: more than %d keys are overridden", o->name,
                         APP_MAX_SETS);
    if (*o->key && !*value) /* a shell variable that is not set, and no wish for a null */
        return WSC_RAISE(WSC_USAGE, "--%s: the value is empty", o->name);
    char *text = wsc_asprintf(WSC_MEM_APP, "%s=%s", o->key, value);
    if (!text) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "override");
    c->owned[c->n_owned++] = text;
    TRY(app_add_set(c, text));
    c->set[c->n_sets - 1].option = o->name;
    return WSC_OK;
}

enum wsc_err app_parse_int(const char *what, const char *text, int64_t min, int64_t max,
                           int64_t *out)
{
    int64_t value = 0;
    if (!wsc_units_int(text, &value) && value >= min && value <= max) {
        *out = value;
        return WSC_OK;
    }
    if (max == INT64_MAX)
        return WSC_RAISE(WSC_USAGE, "%s: expected a whole number%s, got \"%s\"", what,
                         min == INT64_MIN ? ""
                         : min            ? " of at least 1"
                                          : " that is not negative",
                         text);
    return WSC_RAISE(WSC_USAGE, "%s: expected a whole number from %lld to %lld, got \"%s\"", what,
                     (long long)min, (long long)max, text);
}

/* A number within the row's range. */
static enum wsc_err take_real(const struct app_option *o, const char *text, double *out)
{
    double value = 0;
    char name[64];
    if (wsc_units_double(text, &value) || value < o->low || value > o->high)
        return WSC_RAISE(WSC_USAGE, "%s: expected a number from %g to %g, got \"%s\"",
                         label(o, name), o->low, o->high, text);
    *out = value;
    return WSC_OK;
}

/* A size with its unit, within the row's range. */
static enum wsc_err take_bytes(const struct app_option *o, const char *text, int64_t *out)
{
    int64_t value = 0;
    char name[64], min[48], max[48];
    if (!wsc_units_quantity(WSC_UNIT_BYTES, text, &value) && value >= o->min && value <= o->max) {
        *out = value;
        return WSC_OK;
    }
    wsc_units_format(WSC_UNIT_BYTES, o->min, min, sizeof min);
    wsc_units_format(WSC_UNIT_BYTES, o->max, max, sizeof max);
    const enum wsc_err rc = WSC_RAISE(WSC_USAGE, "%s: expected a size from %s to %s, got \"%s\"",
                                      label(o, name), min, max, text);
    const char *nearest = wsc_units_nearest(WSC_UNIT_BYTES, text);
    if (nearest) return wsc_err_hint(rc, "did you mean %s?", nearest);
    return wsc_err_hint(rc, "%s %s", name, o->preset ? o->preset : min);
}

/* The word of the list @p words that is spelt most like @p text, or length 0. */
static void nearest_word(const char *words, const char *text, char near[64])
{
    int best = 3;
    near[0] = '\0';
    for (const char *at = words; *at; at += strspn(at, " ")) {
        char word[64];
        const size_t n = strcspn(at, " ");
        (void)snprintf(word, sizeof word, "%.*s", (int)n, at);
        const int d = wsc_units_distance(text, word);
        if (d < best && d < (int)n) {
            best = d;
            (void)snprintf(near, 64, "%s", word);
        }
        at += n;
    }
}

void app_list_words(const char *words, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (const char *at = words; *at;) {
        const size_t n = strcspn(at, " ");
        const bool last = !at[n], first = at == words;
        (void)snprintf(text + used, size - used, "%s%.*s",
                       first  ? ""
                       : last ? " or "
                              : ", ",
                       (int)n, at);
        used += strlen(text + used);
        at += n + !last;
    }
}

/* One of the row's words, as its index. */
static enum wsc_err take_choice(const struct app_option *o, const char *text, int *out)
{
    char name[64], near[64], all[512];
    int i = 0;
    for (const char *at = o->words; *at; at += strspn(at, " "), i++) {
        const size_t n = strcspn(at, " ");
        if (strlen(text) == n && !strncmp(at, text, n)) {
            *out = i;
            return WSC_OK;
        }
        at += n;
    }
    app_list_words(o->words, all, sizeof all);
    nearest_word(o->words, text, near);
    enum wsc_err rc =
        WSC_RAISE(WSC_USAGE, "%s: expected %s, got \"%s\"", label(o, name), all, text);
    return *near ? wsc_err_hint(rc, "did you mean %s?", near) : rc;
}

/* A list of which an item is missing: two commas in a row, or one at an end. */
static enum wsc_err empty_item(const struct app_option *o, const char *list)
{
    char name[64];
    return WSC_RAISE(WSC_USAGE, "%s: an item of the list \"%s\" is empty", label(o, name), list);
}

/* One more number, which the list must not have yet. */
static enum wsc_err add_int(const struct app_option *o, const char *item, struct app_ints *out)
{
    char name[64];
    int64_t value = 0;
    TRY(app_parse_int(label(o, name), item, o->min, o->max, &value));
    for (int i = 0; i < out->n; i++)
        if (out->item[i] == value)
            return WSC_RAISE(WSC_USAGE, "%s: %lld stands twice in the list", name,
                             (long long)value);
    if (out->n == APP_MAX_LIST)
        return WSC_RAISE(WSC_USAGE, "%s: more than %d numbers", name, APP_MAX_LIST);
    out->item[out->n++] = value;
    return WSC_OK;
}

/* Whole numbers separated by commas. */
static enum wsc_err take_ints(const struct app_option *o, const char *text, struct app_ints *out)
{
    char name[64];
    out->n = 0;
    if (!*text)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: the list is empty", label(o, name)),
                            "%s 1,2,4", name);
    for (const char *p = text;; p++) {
        char item[32];
        const size_t length = strcspn(p, ",");
        if (!length) return empty_item(o, text);
        (void)snprintf(item, sizeof item, "%.*s", (int)(length < 31 ? length : 31), p);
        TRY(add_int(o, item, out));
        p += length;
        if (!*p) return WSC_OK;
    }
}

/* True when the first @p n bytes of @p item are an item of the list before it. */
static bool stands_before(const char *list, const char *item, size_t n)
{
    for (const char *p = list; p < item; p += strcspn(p, ",") + 1)
        if (strcspn(p, ",") == n && !strncmp(p, item, n)) return true;
    return false;
}

enum wsc_err app_check_names(const struct app_option *o, const char *list)
{
    char name[64];
    const char *item = list;
    if (!*list) return WSC_RAISE(WSC_USAGE, "%s: the value is empty", label(o, name));
    for (;;) {
        const size_t n = strcspn(item, ",");
        if (!n) return empty_item(o, list);
        if (stands_before(list, item, n))
            return WSC_RAISE(WSC_USAGE, "%s: %.*s stands twice in the list", label(o, name), (int)n,
                             item);
        if (!item[n]) return WSC_OK;
        item += n + 1;
    }
}

/* One more text of an option that may be repeated. */
static enum wsc_err take_text(const struct app_option *o, const char *text, struct app_texts *out)
{
    char name[64];
    if (out->n == o->max)
        return WSC_RAISE(WSC_USAGE, "%s: more than %lld values", label(o, name), (long long)o->max);
    const char **item = wsc_realloc(WSC_MEM_APP, out->item, (size_t)out->n + 1, sizeof *item);
    if (!item) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "values of an option");
    out->item = item;
    out->item[out->n++] = text;
    return WSC_OK;
}

/* Read a text by the type of the row into the request. */
static enum wsc_err store(void *to, const struct app_option *o, const char *text)
{
    char name[64];
    int position;
    switch (o->type) {
    case APP_FLAG:
        *(bool *)to = true;
        return WSC_OK;
    case APP_TEXT:
    case APP_FILE:
    case APP_FOLDER:
        if (!*text) return WSC_RAISE(WSC_USAGE, "%s: the value is empty", label(o, name));
        *(const char **)to = text;
        return WSC_OK;
    case APP_TEXTS:
    case APP_PATHS:
        return take_text(o, text, to);
    case APP_INT:
        if (o->none && !strcmp(text, o->none)) {
            *(int64_t *)to = -1;
            return WSC_OK;
        }
        return app_parse_int(label(o, name), text, o->min, o->max, to);
    case APP_REAL:
        return take_real(o, text, to);
    case APP_BYTES:
        return take_bytes(o, text, to);
    case APP_CHOICE:
        return take_choice(o, text, to);
    case APP_WORD:
        TRY(take_choice(o, text, &position));
        *(const char **)to = text;
        return WSC_OK;
    case APP_INTS:
        return take_ints(o, text, to);
    case APP_NAMES:
        TRY(app_check_names(o, text));
        *(const char **)to = text;
        return WSC_OK;
    }
    return WSC_OK;
}

/* Through the row's own reader, when it has one. */
static enum wsc_err take_value(void *request, const struct app_option *o, const char *text)
{
    if (o->take) return o->take(request, o, text);
    if (!o->key) return store((char *)request + o->at, o, text);
    return *o->key ? app_add_override(request, o, text) : app_add_set(request, text);
}

/* Options that collect values. */
static bool may_repeat(const struct app_option *o)
{
    return o->repeats || o->type == APP_TEXTS || o->type == APP_PATHS || o->type == APP_FLAG;
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char)*text)) return true;
    return false;
}

/* A value of the user. Errors quote values, and an error is one line. */
static enum wsc_err take_given(struct app_call *call, const struct app_option *o, const char *text)
{
    const char **given = given_of(call, o);
    char name[64];
    if (o->type != APP_TEXTS && has_control(text))
        return WSC_RAISE(WSC_USAGE, "%s: the value has a line break or another control character",
                         label(o, name));
    if (*given && !may_repeat(o)) {
        const bool list = o->type == APP_NAMES || o->type == APP_INTS;
        (void)WSC_RAISE(WSC_USAGE, "%s: given twice, \"%s\" and \"%s\"", label(o, name), *given,
                        text);
        return list ? wsc_err_hint(WSC_USAGE, "several, separated by commas: %s,%s", *given, text)
                    : WSC_USAGE;
    }
    *given = text;
    return take_value(call->request, o, text);
}

/* ---- the command line ------------------------------------------------------------------------ */

/* Values of long options for getopt_long(), beyond those of letters. */
enum { FIRST_VALUE = 256 };

/* Names of the options that begin with @p word; how many. */
static int list_beginnings(const struct app_call *call, const char *word, char *text, size_t size)
{
    const struct app_option *o = NULL;
    int n = 0;
    *text = '\0';
    while ((o = app_next_option(call->table, call->command, o))) {
        char name[64];
        if (!o->name || strncmp(label(o, name), word, strlen(word)) != 0) continue;
        const size_t used = strlen(text);
        (void)snprintf(text + used, size - used, "%s%s", n++ ? ", " : "", name);
    }
    return n;
}

/* The option most like @p wanted, at most two letters and half of it away; @return how many
 * letters.  Empty: there is none. */
static int nearest_option(const struct app_call *call, const char *wanted, char best[64])
{
    const struct app_option *o = NULL;
    const int half = (int)(strlen(wanted) - strspn(wanted, "-")) / 2;
    int distance = half < 2 ? half + 1 : 3;
    *best = '\0';
    while ((o = app_next_option(call->table, call->command, o))) {
        char name[64];
        const int d = o->name ? wsc_units_distance(wanted, label(o, name)) : distance;
        if (d >= distance) continue;
        distance = d;
        (void)snprintf(best, 64, "%s", name);
    }
    return distance;
}

/* The commands that have the option. */
static void list_commands(const struct app_call *call, const char *wanted, char *text, size_t size)
{
    *text = '\0';
    for (const struct app_command *c = call->commands; c->name; c++) {
        const struct app_option *o = NULL;
        char name[64] = "";
        while ((o = app_next_option(call->table, c, o)) &&
               (!o->name || strcmp(label(o, name), wanted) != 0))
            ;
        const size_t used = strlen(text);
        if (o) (void)snprintf(text + used, size - used, "%s%s", used ? ", " : "", c->name);
    }
}

static enum wsc_err unknown_option(const struct app_call *call, const char *word,
                                   const char *wanted, const char *best)
{
    char commands[256];
    enum wsc_err rc = WSC_RAISE(WSC_USAGE, "%s: no such option", word);
    if (*best) return wsc_err_hint(rc, "did you mean %s?", best);
    list_commands(call, wanted, commands, sizeof commands);
    if (*commands)
        return wsc_err_hint(rc, "%s has none; %s: %s", call->command->name, wanted, commands);
    return wsc_err_hint(rc, "wsc %s --help lists the options", call->command->name);
}

/* The error of getopt_long(): unknown, without its value, or ambiguous. */
static enum wsc_err bad_option(const struct app_call *call, const char *word, bool no_value)
{
    char best[64], wanted[64], all[256];
    if (no_value) {
        enum wsc_err rc = WSC_RAISE(WSC_USAGE, "%s: a value is missing", word);
        return wsc_err_hint(rc, "wsc %s --help lists the options", call->command->name);
    }
    (void)snprintf(wanted, sizeof wanted, "%.*s", (int)strcspn(word, "="), word);
    if (list_beginnings(call, wanted, all, sizeof all) > 1)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: several options begin so", wanted), "%s",
                            all);
    if (!nearest_option(call, wanted, best) && strchr(word, '=') && *best)
        return WSC_RAISE(WSC_USAGE, "%s: takes no value", best);
    return unknown_option(call, word, wanted, best);
}

/* An argument that follows no option goes to the row that takes such. */
static enum wsc_err take_bare(struct app_call *call, const char *word)
{
    const struct app_option *o = NULL;
    while ((o = app_next_option(call->table, call->command, o))) {
        if (!o->bare) continue;
        if (*given_of(call, o) && !may_repeat(o)) break;
        return take_given(call, o, word);
    }
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: unexpected argument", word), "wsc %s --help",
                        call->command->name);
}

/* The rows of a command as getopt_long() takes them. */
struct option_list {
    struct option entry[2 * APP_MAX_ROWS + 2];
    const struct app_option *row[2 * APP_MAX_ROWS];
    char dashed[APP_MAX_ROWS][64];
    int n;
};

/* One name of a row.  Names of another row have another value: else getopt_long() would take an
 * abbreviation that fits both for the first of them. */
static void list_name(struct option_list *l, const struct app_option *o, const char *name,
                      int number)
{
    const int argument = o->type == APP_FLAG ? no_argument : required_argument;
    l->entry[l->n] = (struct option){name, argument, NULL, FIRST_VALUE + number};
    l->row[l->n++] = o;
}

/* Each name, and the same with dashes. */
static void list_options(const struct app_call *call, struct option_list *l)
{
    const struct app_option *o = NULL;
    for (int number = 0; (o = app_next_option(call->table, call->command, o)); number++) {
        if (!o->name) continue;
        list_name(l, o, o->name, number);
        if (!strchr(o->name, '_')) continue;
        char *dashed = l->dashed[number];
        (void)snprintf(dashed, sizeof l->dashed[number], "%s", o->name);
        for (char *c = dashed; (c = strchr(c, '_'));)
            *c = '-';
        list_name(l, o, dashed, number);
    }
    l->entry[l->n] = (struct option){"help", no_argument, NULL, 'h'};
}

/* Walk the arguments through getopt_long(). */
static enum wsc_err walk(struct app_call *call, int argc, char **argv)
{
    struct option_list list = {0};
    int code, index = 0;
    list_options(call, &list);
    opterr = 0;
    optind = 0; /* start again, also in a process that has parsed before */
    while ((code = getopt_long(argc, argv, ":h", list.entry, &index)) != -1) {
        if (code == '?' || code == ':') {
            /* getopt_long() stays at a word of letters until the last of them: "-n3". */
            const char letter[] = {'-', (char)optopt, '\0'};
            const bool is_letter = optopt > 0 && optopt < FIRST_VALUE;
            const char *word = argv[optind - 1] ? argv[optind - 1] : "";
            return bad_option(call, is_letter ? letter : word, code == ':');
        }
        if (code == 'h') {
            call->help = true;
            continue;
        }
        TRY(take_given(call, list.row[index], optarg ? optarg : ""));
    }
    for (int i = optind; i < argc; i++)
        TRY(take_bare(call, argv[i]));
    return WSC_OK;
}

/* ---- option against option ------------------------------------------------------------------- */

/* One condition, taken apart. */
struct condition {
    const struct app_option *row;
    bool not ;
    char value[64]; /* "" when it asks whether the option was given */
};

/* The condition at *@p at; false at the end.  *@p at moves to the next one. */
static bool next_condition(const struct app_call *call, const char **at, struct condition *c)
{
    const char *text = *at + strspn(*at, " ");
    if (!*text) return false;
    c->not = *text == '!';
    text += c->not ;
    const size_t n = strcspn(text, " ="), all = strcspn(text, " ");
    c->row = find(call, text, n);
    WSC_CHECK(c->row, "a condition on %s, which wsc %s does not have", text, call->command->name);
    (void)snprintf(c->value, sizeof c->value, "%.*s", n < all ? (int)(all - n - 1) : 0,
                   text + n + 1);
    *at = text + all;
    return true;
}

/* True when an option has this value, by the words of its choices. */
static bool has_value(const struct app_option *o, const char *text, const char *value)
{
    double a, b;
    if (o->type != APP_REAL) return text && !strcmp(text, value);
    return text && !wsc_units_double(text, &a) && !wsc_units_double(value, &b) && !(a < b) &&
           !(a > b);
}

/* True when the condition is met. */
static bool holds(const struct app_call *call, const struct condition *c)
{
    const char *given = *given_of(call, c->row);
    const char *value = given ? given : c->row->preset;
    const bool is = c->value[0] ? has_value(c->row, value, c->value) : given != NULL;
    return is != c->not ;
}

/* The condition as the user would write it. */
static void write_condition(const struct condition *c, char text[160])
{
    char name[64];
    const char *option = c->row->name ? label(c->row, name) : c->value[0] ? "" : c->row->arg;
    (void)snprintf(text, 160, "%s%s%s", option, c->value[0] && *option ? " " : "", c->value);
}

/* Conditions of a row that was given. */
static enum wsc_err check_needs(const struct app_call *call, const struct app_option *o)
{
    const char *at = o->needs;
    struct condition c;
    char name[64], other[160];
    while (at && next_condition(call, &at, &c)) {
        if (holds(call, &c)) continue;
        write_condition(&c, other);
        if (c.not )
            return WSC_RAISE(WSC_USAGE, "%s: cannot be combined with %s", label(o, name), other);
        const enum wsc_err rc =
            WSC_RAISE(WSC_USAGE, "%s: has no effect without %s", label(o, name), other);
        if (!c.row->name) return wsc_err_hint(rc, "%s: %s", other, c.row->help);
        const char *arg = c.row->type != APP_FLAG && !c.value[0] ? c.row->arg : NULL;
        return wsc_err_hint(rc, "%s%s%s", other, arg ? " " : "", arg ? arg : "");
    }
    return WSC_OK;
}

/* True when the option was not given although the conditions of its row demand it. */
static bool is_missing(const struct app_call *call, const struct app_option *o)
{
    struct condition c;
    const char *at = o->required;
    bool missing = at != NULL && !*given_of(call, o);
    while (missing && next_condition(call, &at, &c))
        missing = holds(call, &c);
    return missing;
}

/* The options that make @p o unnecessary, as alternatives: "" when there are none. */
static void list_alternatives(const struct app_call *call, const struct app_option *o,
                              char text[static 128])
{
    struct condition c;
    char name[64];
    const char *at = o->required;
    text[0] = '\0';
    while (next_condition(call, &at, &c)) {
        const size_t used = strlen(text);
        if (c.not &&!c.value[0])
            (void)snprintf(text + used, 128 - used, "%s%s", used ? " or " : "", label(c.row, name));
    }
}

/* The options that are missing, in one message; the first one's alternatives in its hint. */
static enum wsc_err check_required(const struct app_call *call)
{
    char missing[256] = "", others[128] = "", name[64];
    int n = 0;
    const struct app_option *o = NULL, *first = NULL;
    while ((o = app_next_option(call->table, call->command, o))) {
        if (!is_missing(call, o)) continue;
        if (!first) first = o;
        const size_t used = strlen(missing);
        (void)snprintf(missing + used, sizeof missing - used, "%s%s", n++ ? ", " : "",
                       label(o, name));
    }
    if (!first) return WSC_OK;
    const enum wsc_err rc = WSC_RAISE(WSC_USAGE, "%s %s missing", missing, n == 1 ? "is" : "are");
    list_alternatives(call, first, others);
    if (!others[0]) return wsc_err_hint(rc, "wsc %s --help", call->command->name);
    return wsc_err_hint(rc, "%s instead of %s, or wsc %s --help", others, label(first, name),
                        call->command->name);
}

bool app_share_word(const char *a, const char *b)
{
    for (const char *x = a; *x; x += strspn(x, " ")) {
        const size_t n = strcspn(x, " ");
        for (const char *y = b; *y; y += strspn(y, " ")) {
            const size_t m = strcspn(y, " ");
            if (n == m && !strncmp(x, y, n)) return true;
            y += m;
        }
        x += n;
    }
    return false;
}

enum { MODES_SIZE = 128 };

/* The modes of an option as alternatives; a word that begins with dashes is an option itself. */
static const char *list_modes(const char *modes, char text[static MODES_SIZE])
{
    text[0] = '\0';
    for (const char *m = modes; *m; m += strspn(m, " ")) {
        const size_t used = strlen(text), n = strcspn(m, " ");
        (void)snprintf(text + used, MODES_SIZE - used, "%s%s%.*s", used ? ", or " : "",
                       *m == '-' ? "" : "--mode ", (int)n, m);
        m += n;
    }
    return text;
}

enum wsc_err app_check_mode(const struct app_call *call, const char *modes)
{
    const struct app_option *o = NULL;
    while ((o = app_next_option(call->table, call->command, o))) {
        char name[64], others[MODES_SIZE];
        if (!o->modes || !*given_of(call, o) || app_share_word(o->modes, modes)) continue;
        return wsc_err_hint(
            WSC_RAISE(WSC_USAGE, "%s: has no effect in mode %s", label(o, name), modes), "%s",
            list_modes(o->modes, others));
    }
    return WSC_OK;
}

/* ---- whole ----------------------------------------------------------------------------------- */

/* Defaults of all rows, through the reader of user values. */
static enum wsc_err take_presets(struct app_call *call)
{
    const struct app_option *o = NULL;
    while ((o = app_next_option(call->table, call->command, o)))
        if (o->preset) TRY(take_value(call->request, o, o->preset));
    return WSC_OK;
}

enum wsc_err app_parse(struct app_call *call, const struct app_command *commands,
                       const struct app_command *command, const struct app_option *table, int argc,
                       char **argv)
{
    *call = (struct app_call){.command = command, .commands = commands, .table = table};
    call->request = wsc_alloc(WSC_MEM_APP, 1, command->request_bytes);
    if (!call->request) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "request");
    TRY(take_presets(call));
    TRY(walk(call, argc, argv));
    const struct app_option *o = NULL;
    while ((o = app_next_option(table, command, o)))
        if (*given_of(call, o)) TRY(check_needs(call, o));
    return call->help ? WSC_OK : check_required(call);
}

void app_call_fini(struct app_call *call)
{
    struct app_config *c = call->request;
    const struct app_option *o = NULL;
    while (c && (o = app_next_option(call->table, call->command, o)))
        if (o->type == APP_TEXTS || o->type == APP_PATHS)
            wsc_free(((struct app_texts *)(void *)((char *)call->request + o->at))->item);
    for (int i = 0; c && i < c->n_owned; i++)
        wsc_free(c->owned[i]);
    wsc_free(call->request);
    call->request = NULL;
}
