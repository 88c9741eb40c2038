// SPDX-License-Identifier: Apache-2.0
/* The table of options: its rows are complete and consistent, and one row is all that an option
 * needs.  A dummy table with one option of each type goes through parser, help and errors. */
#include "../../../src/app/commands.h"
#include "../../../src/app/option_help.h"
#include "../../../src/app/option_parse.h"
#include "../../../src/app/options.h"
#include "../../../src/convert/hf_families.h"
#include "../../../src/convert/hf_family.h"
#include "../../support/test.h"

#include <wsc/convert.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* ---- the real table -------------------------------------------------------------------------- */

static const char *name_of(const struct app_option *o)
{
    return o->name ? o->name : o->arg;
}

static bool has_row(const struct app_command *command, const char *name, size_t n)
{
    const struct app_option *o = NULL;
    while ((o = app_next_option(app_options, command, o)))
        if (strlen(name_of(o)) == n && !strncmp(name_of(o), name, n)) return true;
    return false;
}

/* Call @p check for each row of each command. */
static void for_each_row(void (*check)(const struct app_command *c, const struct app_option *o))
{
    for (const struct app_command *c = app_commands; c->name; c++) {
        const struct app_option *o = NULL;
        while ((o = app_next_option(app_options, c, o)))
            check(c, o);
    }
}

/* What the type of a row needs besides a name. */
static bool fits_type(const struct app_option *o)
{
    switch (o->type) {
    case APP_INT:
    case APP_INTS:
    case APP_BYTES:
        return o->arg && (o->key || o->min < o->max);
    case APP_REAL:
        return o->arg && o->low < o->high;
    case APP_CHOICE:
    case APP_WORD:
        return o->words;
    case APP_TEXTS:
    case APP_PATHS:
        return o->arg && o->max > 0;
    case APP_TEXT:
    case APP_FILE:
    case APP_FOLDER:
    case APP_NAMES:
        return o->arg;
    case APP_FLAG:
        return !o->arg && !o->preset;
    }
    return false;
}

TEST(app_options, every_row_has_a_help_text_and_fits_its_type)
{
    int n = 0;
    for (const struct app_option *o = app_options; o->commands; o++, n++) {
        const bool said = o->help && *o->help && name_of(o) && !(o->preset && o->preset_why);
        if (!said || !fits_type(o)) (void)fprintf(stderr, "row of %s\n", name_of(o));
        CU_ASSERT(said && fits_type(o));
    }
    CU_ASSERT(n > 100 && n < APP_MAX_ROWS);
}

/* No other row of the command has the name; rows without a heading stand before all headings. */
static void check_place(const struct app_command *c, const struct app_option *o)
{
    const struct app_option *later = o;
    while ((later = app_next_option(app_options, c, later))) {
        CU_ASSERT(strcmp(name_of(o), name_of(later)) != 0);
        CU_ASSERT(later->group || !o->group);
    }
}

TEST(app_options, names_are_unique_and_groups_stand_together)
{
    for_each_row(check_place);
}

/* The parser reads defaults as it reads values, so that one out of range fails here. */
static void check_defaults(const struct app_command *c)
{
    char word[] = "wsc", help[] = "--help", *argv[] = {word, help, NULL};
    struct app_call call;
    T_OK(app_parse(&call, app_commands, c, app_options, 2, argv));
    CU_ASSERT(call.help);
    app_call_fini(&call);
}

TEST(app_options, defaults_are_within_their_ranges)
{
    for (const struct app_command *c = app_commands; c->name; c++)
        check_defaults(c);
}

static void check_conditions(const struct app_command *c, const char *at)
{
    while (at && *at) {
        at += *at == '!';
        CU_ASSERT(has_row(c, at, strcspn(at, " =")));
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
}

static void check_row_conditions(const struct app_command *c, const struct app_option *o)
{
    check_conditions(c, o->needs);
    check_conditions(c, o->required);
}

/* A condition that names no option of its command would end the program. */
TEST(app_options, conditions_name_options_of_the_command)
{
    for_each_row(check_row_conditions);
}

/* Every --word of a text of command @p c is an option of some command. */
static void check_words(const struct app_command *c, const char *text)
{
    for (const char *at = text ? strstr(text, "--") : NULL; at; at = strstr(at, "--")) {
        bool found = false;
        at += 2;
        for (const struct app_command *k = app_commands; k->name && !found; k++)
            found = has_row(k, at, strcspn(at, " ]\n"));
        if (!found) (void)fprintf(stderr, "%s: --%.20s\n", c->name, at);
        CU_ASSERT(found);
    }
}

TEST(app_options, texts_of_a_command_name_options_that_exist)
{
    for (const struct app_command *c = app_commands; c->name; c++) {
        check_words(c, c->usage);
        check_words(c, c->about);
        check_words(c, c->examples);
    }
}

static void check_help(const struct app_command *c, const struct app_option *o)
{
    char *text = NULL, word[80];
    T_OK(app_help(c, app_options, &text));
    (void)snprintf(word, sizeof word, "\n  %s%s", o->name ? "--" : "", name_of(o));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, word));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        CU_ASSERT(strcspn(line, "\n") <= 100);
    wsc_free(text);
}

/* The words of --model are the names of the table of families, each once. */
TEST(app_options, families_are_those_of_the_table)
{
    char words[] = CONVERT_FAMILIES, *rest = NULL;
    int n = 0, rows = 0;
    for (const char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest), n++) {
        const struct convert_family *family = NULL;
        T_OK(convert_family_named(w, &family));
    }
    for (const struct convert_family *f = convert_families; f->name; f++)
        rows++;
    T_EQ(n, rows);
}

TEST(app_options, help_shows_every_option_in_short_lines)
{
    for_each_row(check_help);
}

/* Is an option of a command, written as @p word, the one called @p name? */
static bool is_taken_for(const char *command, const char *word, const char *name)
{
    char first[] = "wsc", written[64], *argv[] = {first, written, NULL};
    const struct app_command *c = app_commands;
    struct app_call call;
    while (c->name && strcmp(c->name, command) != 0)
        c++;
    (void)snprintf(written, sizeof written, "%s", word);
    const enum wsc_err rc = app_parse(&call, app_commands, c, app_options, 2, argv);
    const bool taken = app_given(&call, name);
    CU_ASSERT(!rc || rc == WSC_USAGE); /* others may be missing */
    app_call_fini(&call);
    return taken;
}

TEST(app_options, names_may_have_dashes_and_be_cut_short)
{
    CU_ASSERT(is_taken_for("calibrate", "--leave_one_out", "leave_one_out"));
    CU_ASSERT(is_taken_for("calibrate", "--leave-one-out", "leave_one_out"));
    CU_ASSERT(is_taken_for("calibrate", "--leave-one", "leave_one_out"));
    CU_ASSERT(is_taken_for("calibrate", "--leave", "leave_one_out"));
    CU_ASSERT(is_taken_for("scale", "--num-csx=2", "num_csx"));
    CU_ASSERT(!is_taken_for("scale", "--num-csx2=2", "num_csx"));
}

/* What wsc COMMAND without arguments answers. */
static void check_alone(const char *name, const char *message)
{
    char first[] = "wsc", *argv[] = {first, NULL};
    const struct app_command *c = app_commands;
    while (strcmp(c->name, name) != 0)
        c++;
    struct app_call call;
    T_EQ(app_parse(&call, app_commands, c, app_options, 1, argv), WSC_USAGE);
    T_STR(wsc_err_message(), message);
    app_call_fini(&call);
}

TEST(app_options, what_is_missing_names_what_would_do_instead)
{
    check_alone("reproduce", "--out is missing; hint: wsc reproduce --help");
    check_alone("params", "--template is missing; hint: --diff or --schema instead of --template, "
                          "or wsc params --help");
    check_alone("law", "--params, --sizes, --out are missing; hint: --points instead of --params, "
                       "or wsc law --help");
}

/* ---- a table of dummies ---------------------------------------------------------------------- */

struct dummy {
    struct app_config config;
    bool flag;
    const char *text, *word;
    int64_t number, size;
    double real;
    int choice;
    struct app_ints list;
    struct app_texts many;
    const char *bare, *names;
};
#define AT(member) .at = offsetof(struct dummy, member)
enum { ON_DUMMY = 1 << 20, ON_OTHER = 1 << 21 };
static const struct app_option dummy_table[] = {
    {ON_DUMMY, NULL, APP_TEXT, "WHAT", .help = "what", AT(bare), .bare = true, .required = ""},
    {ON_DUMMY, "flag", APP_FLAG, .help = "a flag", AT(flag)},
    {ON_DUMMY, "number", APP_INT, "N", .help = "a number", AT(number), .min = 2, .max = 9,
     .preset = "7", .none = "never", .needs = "!flag"},
    {ON_DUMMY, "choice", APP_CHOICE, NULL, .help = "a choice", AT(choice), .words = "red green",
     .modes = "train train_and_eval --word"},
    {ON_DUMMY, "word", APP_WORD, NULL, .help = "a word", AT(word), .words = "up down"},
    {ON_DUMMY, "list", APP_INTS, "LIST", .help = "numbers", AT(list), .min = 1, .max = 64},
    {ON_DUMMY, "names", APP_NAMES, "LIST", .help = "names", AT(names)},
    {ON_DUMMY, "many", APP_TEXTS, "TEXT", .help = "texts", AT(many), .max = 2},
    {ON_DUMMY, "key", APP_TEXT, "V", .help = "a key", .key = "model.key"},
    {ON_DUMMY, "set", APP_TEXT, "PATH=VALUE", .help = "any key", .key = "", .repeats = true},
    {ON_DUMMY, "real", APP_REAL, "X", "numbers", .help = "a real number", AT(real), .low = 0,
     .high = 1, .preset = "0.5"},
    {ON_DUMMY, "size", APP_BYTES, "SIZE", "numbers", .help = "a size", AT(size), .min = 1,
     .max = 1000000, .preset = "2kB", .needs = "real=0.5"},
    {ON_OTHER, "other", APP_FLAG, .help = "of another command", AT(flag)},
    {0}};
static const struct app_command dummy_commands[] = {{.name = "dummy",
                                                     .bit = ON_DUMMY,
                                                     .usage = "dummy WHAT",
                                                     .examples = "  wsc dummy x\n",
                                                     .request_bytes = sizeof(struct dummy)},
                                                    {.name = "second", .bit = ON_OTHER},
                                                    {.name = "third", .bit = ON_OTHER},
                                                    {.name = NULL}};

/* Parse "dummy" and the words of @p line. */
static enum wsc_err parse(struct app_call *call, char *line)
{
    static char words[512];
    char *argv[32] = {words};
    int argc = 1;
    (void)snprintf(words, sizeof words, "dummy %s", line);
    for (char *at = strchr(words, ' '); at && argc < 31; at = strchr(at, ' ')) {
        *at++ = '\0';
        if (*at) argv[argc++] = at;
    }
    return app_parse(call, dummy_commands, dummy_commands, dummy_table, argc, argv);
}

TEST(app_options, a_row_is_parsed_into_the_request)
{
    struct app_call call;
    char line[] = "x --real 1 --choice green --word up --list 1,64,3 --many a --many b "
                  "--key 5 --set a=b --size=3kB --real=0.50";
    char good[] = "x --choice green --word up --list 1,64,3 --many a --many b --key 5 --set a=b "
                  "--set c=d --size=3kB --real=0.50 --number never";
    CU_ASSERT(parse(&call, line) == WSC_USAGE); /* --real twice */
    app_call_fini(&call);
    T_OK(parse(&call, good));
    const struct dummy *d = call.request;
    T_STR(d->bare, "x");
    T_EQ(d->choice, 1);
    T_STR(d->word, "up");
    T_EQ(d->list.n, 3);
    T_EQ(d->list.item[1], 64);
    T_EQ(d->many.n, 2);
    T_STR(d->many.item[1], "b");
    T_EQ(d->config.n_sets, 3);
    T_STR(d->config.set[0].text, "model.key=5");
    T_STR(d->config.set[2].text, "c=d");
    T_EQ(d->size, 3000);
    T_EQ(d->number, -1);
    CU_ASSERT(!d->flag && app_given(&call, "many") && !app_given(&call, "flag"));
    T_OK(app_check_mode(&call, "eval train"));
    CU_ASSERT(app_check_mode(&call, "eval generate") == WSC_USAGE);
    T_STR(wsc_err_message(),
          "--choice: has no effect in mode eval generate; hint: --mode train, or --mode "
          "train_and_eval, or --word");
    app_call_fini(&call);
}

TEST(app_options, defaults_of_rows_are_in_the_request)
{
    struct app_call call;
    char line[] = "x";
    T_OK(parse(&call, line));
    const struct dummy *d = call.request;
    T_EQ(d->number, 7);
    T_EQ(d->size, 2000);
    CU_ASSERT_DOUBLE_EQUAL(d->real, 0.5, 0);
    CU_ASSERT(!app_given(&call, "number") && d->config.n_sets == 0);
    app_call_fini(&call);
}

TEST(app_options, a_row_makes_its_errors)
{
    static const struct {
        const char *line, *message;
    } row[] = {
        {"", "WHAT is missing; hint: wsc dummy --help"},
        {"x y", "y: unexpected argument; hint: wsc dummy --help"},
        {"x --numbr 3", "--numbr: no such option; hint: did you mean --number?"},
        {"x --other", "--other: no such option; hint: dummy has none; --other: second, third"},
        {"x --flock", "--flock: no such option; hint: wsc dummy --help lists the options"},
        {"x --real2", "--real2: no such option; hint: did you mean --real?"},
        {"x --wort", "--wort: no such option; hint: did you mean --word?"},
        {"x --ist", "--ist: no such option; hint: did you mean --list?"},
        {"x -n3", "-n: no such option; hint: wsc dummy --help lists the options"},
        {"x --flag -qh", "-q: no such option; hint: wsc dummy --help lists the options"},
        {"x --six", "--six: no such option; hint: wsc dummy --help lists the options"},
        {"x --flag=3", "--flag: takes no value"},
        {"x --n 3", "--n: several options begin so; hint: --number, --names"},
        {"x --number", "--number: a value is missing; hint: wsc dummy --help lists the options"},
        {"x --number 10", "--number: expected a whole number from 2 to 9, got \"10\""},
        {"x --number 3 --number 4", "--number: given twice, \"3\" and \"4\""},
        {"x --number 3 --flag", "--number: cannot be combined with --flag"},
        {"x --real 2", "--real: expected a number from 0 to 1, got \"2\""},
        {"x --size 3", "--size: expected a size from 1 B to 1 MB, got \"3\"; hint: --size 2kB"},
        {"x --size 3kB --real 1", "--size: has no effect without --real 0.5; hint: --real 0.5"},
        {"x --choice gren",
         "--choice: expected red or green, got \"gren\"; hint: did you mean green?"},
        {"x --word dawn", "--word: expected up or down, got \"dawn\"; hint: did you mean down?"},
        {"x --list 1,65", "--list: expected a whole number from 1 to 64, got \"65\""},
        {"x --list 3,1,3", "--list: 3 stands twice in the list"},
        {"x --list ,", "--list: an item of the list \",\" is empty"},
        {"x --list 1,2,", "--list: an item of the list \"1,2,\" is empty"},
        {"x --names a,,b", "--names: an item of the list \"a,,b\" is empty"},
        {"x --names a,", "--names: an item of the list \"a,\" is empty"},
        {"x --names ab,a,ab", "--names: ab stands twice in the list"},
        {"x --names a --names b", "--names: given twice, \"a\" and \"b\"; hint: several, "
                                  "separated by commas: a,b"},
        {"x --many a --many b --many c", "--many: more than 2 values"},
        {"x --key 1 --key 2", "--key: given twice, \"1\" and \"2\""},
    };
    for (int i = 0; i < (int)(sizeof row / sizeof *row); i++) {
        struct app_call call;
        char line[128];
        (void)snprintf(line, sizeof line, "%s", row[i].line);
        CU_ASSERT(parse(&call, line) == WSC_USAGE);
        T_STR(wsc_err_message(), row[i].message);
        app_call_fini(&call);
    }
}

TEST(app_options, a_row_makes_its_help)
{
    char *text = NULL;
    T_OK(app_help(dummy_commands, dummy_table, &text));
    T_STR(text, "usage: wsc dummy WHAT\n\n"
                "  WHAT                what\n"
                "  --flag              a flag\n"
                "  --number N          a number (default: 7)\n"
                "  --choice red|green  a choice\n"
                "  --word up|down      a word\n"
                "  --list LIST         numbers\n"
                "  --names LIST        names\n"
                "  --many TEXT         texts; may be repeated\n"
                "  --key V             a key\n"
                "  --set PATH=VALUE    any key; may be repeated\n"
                "\nnumbers:\n"
                "  --real X            a real number (default: 0.5)\n"
                "  --size SIZE         a size (default: 2kB)\n"
                "\n"
                "  --help              print this text\n"
                "\nexamples:\n  wsc dummy x\n");
    wsc_free(text);
}
