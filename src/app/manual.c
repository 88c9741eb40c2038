// SPDX-License-Identifier: Apache-2.0
/* Pages of the manual, wsc(1) and one for each command, from the tables of commands and options;
 * wsc-params(5) and wsc-cluster(5) come from the tables of keys (report_config_manual()).
 * `wsc help --man` prints them (cmd_help.c), mpi_launch/packaging/install.sh installs them. */
#include "manual.h"
#include "about.h"
#include "option_help.h"
#include "option_parse.h"

#include <wsc/mem.h>
#include <wsc/out.h>
#include <wsc/report.h>

#include <stdio.h>
#include <string.h>

/* Pages that are not of a command. */
static const struct {
    const char *file;
    enum report_config_file keys;
} key_page[] = {{"wsc-params.5", REPORT_PARAMS_FILE}, {"wsc-cluster.5", REPORT_CLUSTER_FILE}};
enum { N_KEY_PAGES = sizeof key_page / sizeof *key_page };

/* "wsc-data-train-bpe" */
static void page_name(const struct app_command *c, char name[64])
{
    (void)snprintf(name, 64, "wsc-%s", c->name);
    for (char *at = name; *at; at++)
        if (*at == ' ') *at = '-';
}

/* ---- sections -------------------------------------------------------------------------------- */

/* "wsc " before the first line; the others have it. */
static void add_synopsis(struct wsc_text *t, const char *usage)
{
    struct wsc_text lines = {0};
    wsc_text_add(&lines, "wsc %s", usage);
    out_manual_heading(t, 1, "synopsis");
    out_manual_lines(t, lines.failed ? "" : lines.bytes);
    t->failed = t->failed || lines.failed;
    wsc_text_free(&lines);
}

/* The options by group, in the order of the table. */
static void add_options(struct wsc_text *t, const struct app_call *call,
                        const struct app_command *command)
{
    const char *group = NULL;
    const struct app_option *o = NULL;
    out_manual_heading(t, 1, "options");
    while ((o = app_next_option(call->table, command, o))) {
        char name[64], value[256], text[1024];
        if (o->group && (!group || strcmp(o->group, group) != 0))
            out_manual_heading(t, 2, o->group);
        group = o->group;
        app_option_value(o, value);
        app_option_text(o, text);
        (void)snprintf(name, sizeof name, "--%s", o->name ? o->name : "");
        out_manual_item(t, o->name ? name : value, o->name ? value : NULL, text);
    }
    out_manual_item(t, "--help", NULL, "print the options");
}

static void add_exit_statuses(struct wsc_text *t)
{
    out_manual_heading(t, 1, "exit status");
    for (int i = 0; i < APP_N_STATUSES; i++) {
        char status[16];
        (void)snprintf(status, sizeof status, "%d", i);
        out_manual_item(t, status, NULL, app_statuses[i]);
    }
}

static enum wsc_err make_command_page(const struct app_call *call, const struct app_command *c,
                                      const char *name, char **text)
{
    struct wsc_text t = {0};
    out_manual_begin(&t, name, 1, c->summary);
    add_synopsis(&t, c->usage);
    if (c->about) {
        out_manual_heading(&t, 1, "description");
        out_manual_paragraph(&t, c->about);
    }
    add_options(&t, call, c);
    out_manual_heading(&t, 1, "examples");
    out_manual_lines(&t, c->examples);
    add_exit_statuses(&t);
    out_manual_heading(&t, 1, "see also");
    out_manual_paragraph(&t, "`wsc`(1), `wsc-params`(5), `wsc-cluster`(5)");
    return wsc_text_take(&t, text);
}

/* wsc(1): the commands. */
static enum wsc_err make_program_page(const struct app_call *call, char **text)
{
    struct wsc_text t = {0};
    out_manual_begin(&t, "wsc", 1, app_subject);
    add_synopsis(&t, "COMMAND [options]\nwsc COMMAND --help\nwsc --version");
    out_manual_heading(&t, 1, "description");
    out_manual_paragraph(&t, app_purpose);
    out_manual_heading(&t, 1, "commands");
    for (const struct app_command *c = call->commands; c->name; c++) {
        struct wsc_text about = {0};
        char name[64];
        page_name(c, name);
        wsc_text_add(&about, "%s: `%s`(1)", c->summary, name);
        out_manual_item(&t, c->name, NULL, about.failed ? "" : about.bytes);
        t.failed = t.failed || about.failed;
        wsc_text_free(&about);
    }
    out_manual_heading(&t, 1, "environment");
    for (const struct app_variable *v = app_variables; v->name; v++)
        out_manual_item(&t, v->name, NULL, v->meaning);
    add_exit_statuses(&t);
    out_manual_heading(&t, 1, "see also");
    out_manual_paragraph(&t, "`wsc-params`(5), `wsc-cluster`(5), `mpirun`(1)");
    return wsc_text_take(&t, text);
}

/* ---- pages by name --------------------------------------------------------------------------- */

/* Is @p page the name of the file @p file, with or without the section? */
static bool is_page(const char *page, const char *file)
{
    const size_t n = strlen(page);
    return !strcmp(page, file) || (n + 2 == strlen(file) && !strncmp(page, file, n));
}

static enum wsc_err list_pages(const struct app_call *call, char **text)
{
    struct wsc_text t = {0};
    wsc_text_add(&t, "wsc.1\n");
    for (const struct app_command *c = call->commands; c->name; c++) {
        char name[64];
        page_name(c, name);
        wsc_text_add(&t, "%s.1\n", name);
    }
    for (int i = 0; i < N_KEY_PAGES; i++)
        wsc_text_add(&t, "%s\n", key_page[i].file);
    return wsc_text_take(&t, text);
}

/* Without a section a name means the page of the lowest one, as with man(1). */
enum wsc_err app_manual(const struct app_call *call, const char *page, char **text)
{
    *text = NULL;
    if (!strcmp(page, "list")) return list_pages(call, text);
    if (is_page(page, "wsc.1")) return make_program_page(call, text);
    for (const struct app_command *c = call->commands; c->name; c++) {
        char name[64], file[68];
        page_name(c, name);
        (void)snprintf(file, sizeof file, "%s.1", name);
        if (is_page(page, file)) return make_command_page(call, c, name, text);
    }
    for (int i = 0; i < N_KEY_PAGES; i++)
        if (is_page(page, key_page[i].file)) return report_config_manual(key_page[i].keys, text);
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--man %s: no such page", page),
                        "wsc help --man list lists the pages");
}
