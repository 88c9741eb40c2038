// SPDX-License-Identifier: Apache-2.0
/* `wsc COMMAND --help`, written from the rows of the option table: usage, what the command does,
 * its options by group with choices and defaults, examples.  The usage and the examples are the
 * command's (commands.c); names, values, ranges and defaults are the rows' own (options.c). */
#include "option_help.h"
#include "about.h"
#include "option_parse.h"

#include <wsc/mem.h>
#include <wsc/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 96, WIDEST = 24 };

void app_option_value(const struct app_option *o, char text[256])
{
    const bool choice = !o->arg && o->words;
    (void)snprintf(text, 256, "%s",
                   choice                          ? o->words
                   : o->arg && o->type != APP_FLAG ? o->arg
                                                   : "");
    for (char *at = choice ? text : NULL; at && *at; at++)
        if (*at == ' ') *at = '|';
}

void app_option_text(const struct app_option *o, char text[1024])
{
    const char *why = o->preset ? o->preset : o->preset_why;
    const size_t n = strlen(o->help);
    char words[512] = "";
    if (n && o->help[n - 1] == ':') app_list_words(o->words, words, sizeof words);
    (void)snprintf(text, 1024, "%s%s%s%s%s%s%s", o->help, *words ? " " : "", words,
                   why ? " (default: " : "", why ? why : "", why ? ")" : "",
                   o->repeats || o->type == APP_TEXTS || o->type == APP_PATHS ? "; may be repeated"
                                                                              : "");
}

/* "  --name VALUE"; choices stand as a|b|c. */
static void write_name(const struct app_option *o, char text[324])
{
    char value[256];
    app_option_value(o, value);
    if (o->name)
        (void)snprintf(text, 324, "  --%.60s%s%s", o->name, *value ? " " : "", value);
    else
        (void)snprintf(text, 324, "  %s", value);
}

/* @p text from column @p column on, broken at spaces. */
static void wrap(FILE *f, const char *text, int column)
{
    while (*text) {
        size_t n = strlen(text);
        const size_t most = (size_t)(LINE - column);
        if (n > most)
            for (n = most; n && text[n] != ' ';)
                n--;
        if (!n) n = strcspn(text, " ");
        (void)fprintf(f, "%.*s\n", (int)n, text);
        text += n + strspn(text + n, " ");
        if (*text) (void)fprintf(f, "%*s", column, "");
    }
}

/* Where the help texts begin: after the longest name that is not too long. */
static int find_column(const struct app_option *table, const struct app_command *command)
{
    int widest = (int)strlen("  --help");
    const struct app_option *o = NULL;
    while ((o = app_next_option(table, command, o))) {
        char name[324];
        write_name(o, name);
        const int n = (int)strlen(name);
        if (n > widest && n <= WIDEST) widest = n;
    }
    return widest + 2;
}

/* The options of a command by group, in the order of the table. */
static void write_rows(FILE *f, const struct app_command *command, const struct app_option *table)
{
    const int column = find_column(table, command);
    const char *group = NULL;
    const struct app_option *o = NULL;
    while ((o = app_next_option(table, command, o))) {
        char name[324], text[1024];
        if (o->group && (!group || strcmp(o->group, group) != 0))
            (void)fprintf(f, "\n%s:\n", o->group);
        group = o->group;
        write_name(o, name);
        app_option_text(o, text);
        const bool fits = (int)strlen(name) + 2 <= column;
        (void)fprintf(f, "%-*s%s", column, name, fits ? "" : "\n");
        if (!fits) (void)fprintf(f, "%*s", column, "");
        wrap(f, text, column);
    }
    (void)fprintf(f, "%s%-*sprint this text\n", group ? "\n" : "", column, "  --help");
}

/* "usage: wsc " before the first line, below it the others. */
static void write_usage(FILE *f, const char *usage)
{
    for (const char *at = usage; *at;) {
        const size_t n = strcspn(at, "\n");
        (void)fprintf(f, "%s%.*s\n", at == usage ? "usage: wsc " : "       ", (int)n, at);
        at += n + (at[n] == '\n');
    }
}

/* ---- the program ----------------------------------------------------------------------------- */

enum wsc_err app_overview(const struct app_command *commands, char **text)
{
    struct wsc_text t = {0};
    int widest = 0;
    for (const struct app_command *c = commands; c->name; c++)
        if ((int)strlen(c->name) > widest) widest = (int)strlen(c->name);
    wsc_text_add(&t,
                 "wsc: %s.\n%s\n\n"
                 "usage: wsc COMMAND [options]     (wsc COMMAND --help for its options)\n"
                 "       wsc --version | --help-config\n\n",
                 app_subject, app_purpose);
    for (const struct app_command *c = commands; c->name; c++)
        wsc_text_add(&t, "  %-*s  %s\n", widest, c->name, c->summary);
    wsc_text_add(&t,
                 "\nexamples:\n"
                 "  wsc run --params configs/params/default.yaml --num_csx 4\n"
                 "  mpi_launch/local.sh --params my.yaml --num_csx 4      one MPI rank for each "
                 "role\n"
                 "  wsc scale --params configs/params/gpt3_13b.yaml --out out/scale\n\n"
                 "exit status:\n");
    for (int i = 0; i < APP_N_STATUSES; i++)
        wsc_text_add(&t, "  %d  %s\n", i, app_statuses[i]);
    return wsc_text_take(&t, text);
}

enum wsc_err app_help(const struct app_command *command, const struct app_option *table,
                      char **text)
{
    char *buffer = NULL;
    size_t size = 0;
    *text = NULL;
    FILE *f = open_memstream(&buffer, &size);
    if (!f) return WSC_RAISE(WSC_NOMEM, "the host has no memory for a help text");
    write_usage(f, command->usage);
    (void)fputs("\n", f);
    if (command->about) wrap(f, command->about, 0);
    if (command->about) (void)fputs("\n", f);
    write_rows(f, command, table);
    (void)fprintf(f, "\nexamples:\n%s", command->examples);
    const bool failed = fclose(f) != 0;
    if (!failed) *text = wsc_strdup(WSC_MEM_APP, buffer);
    free(buffer);
    return *text ? WSC_OK : WSC_RAISE(WSC_NOMEM, "the host has no memory for a help text");
}
