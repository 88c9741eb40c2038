// SPDX-License-Identifier: Apache-2.0
/* Completion scripts: one shell function whose lists come from the tables of commands, options and
 * keys.  zsh runs the same function through its bashcompinit.  Values are completed by what their
 * row says: choices, files (with shipped params and machines), folders, PATH= of `--set`.
 * `wsc help --completion` prints them (cmd_help.c), packaging/install.sh installs them. */
#include "completion.h"
#include "option_parse.h"

#include <wsc/hw.h>
#include <wsc/text.h>
#include <wsc/zoo.h>

#include <string.h>

/* Files that come with the program: beside it, or below $WSC_DATA_DIR. */
static const char functions[] =
    "_wsc_shipped() { # params|cluster\n"
    "    local root=${WSC_DATA_DIR:-}\n"
    "    [ -n \"$root\" ] || root=$(readlink -f \"$(command -v \"$program\")\")\n"
    "    [ -n \"${WSC_DATA_DIR:-}\" ] || root=${root%/*}/../share/wsc\n"
    "    compgen -G \"$root/configs/$1/*.yaml\"\n"
    "}\n"
    "_wsc_files() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    list=$(compgen -f -- \"$cur\")\n"
    "}\n"
    "_wsc() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} IFS=$'\\n'\n"
    "    local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]} list=\n"
    "    [ \"$COMP_CWORD\" -gt 1 ] || command=\n"
    "    [ \"$COMP_CWORD\" -le 2 ] || [ \"${COMP_WORDS[2]}\" != train-bpe ] || "
    "command='data train-bpe'\n";

/* The words of @p list, separated by blanks, one in a line. */
static void add_list(struct wsc_text *t, const char *list)
{
    for (const char *c = list; *c; c++)
        wsc_text_add(t, "%c", *c == ' ' ? '\n' : *c);
}

/* Every key of a table as PATH=. */
static void add_keys(struct wsc_text *t, const struct conf_table *table, const char *prefix)
{
    for (int i = 0; i < table->n; i++)
        if (table->key[i].path[strlen(table->key[i].path) - 1] != '*')
            wsc_text_add(t, "%s%s=\n", prefix, table->key[i].path);
}

/* The choices of a key of the params; NULL when it has none. */
static const struct conf_choice *key_choices(const char *path)
{
    const struct conf_table *table = zoo_params_table();
    const int row = path && *path ? conf_keys_find(table, path) : -1;
    return row < 0 ? NULL : table->key[row].choices;
}

/* Is the value the name of a file, or of several? */
static bool takes_file(const struct app_option *o)
{
    return o->type == APP_FILE || o->type == APP_PATHS || (o->arg && !strncmp(o->arg, "FILE", 4));
}

/* What completes the value of a row: a command that sets $list, or nothing. */
static void add_value(struct wsc_text *t, const struct app_option *o)
{
    const struct conf_choice *choice = key_choices(o->key);
    const bool file = takes_file(o);
    if (o->words || choice) {
        wsc_text_add(t, "list='");
        if (o->words) add_list(t, o->words);
        for (; !o->words && choice->name; choice++)
            wsc_text_add(t, "%s\n", choice->name);
        wsc_text_add(t, "'");
    } else if (o->key && !*o->key) {
        wsc_text_add(t, "compopt -o nospace 2>/dev/null; list=$_wsc_keys");
    } else if (o->arg && !strncmp(o->arg, "KEY=", 4)) {
        wsc_text_add(t, "compopt -o nospace 2>/dev/null; "
                        "list=$(printf %%s \"$_wsc_keys\" | grep '^cluster')");
    } else if (file) {
        wsc_text_add(t, "_wsc_files");
        if (o->name && (!strcmp(o->name, "params") || !strcmp(o->name, "cluster")))
            wsc_text_add(t, "; list+=$'\\n'$(_wsc_shipped %s)", o->name);
    } else {
        wsc_text_add(t, o->type == APP_FOLDER ? "_wsc_files; list=$(compgen -d -- \"$cur\")"
                                              : "list=");
    }
}

/* After an option: its values. */
static void add_values(struct wsc_text *t, const struct app_call *call)
{
    wsc_text_add(t, "    case \"$command:$prev\" in\n");
    for (const struct app_command *c = call->commands; c->name; c++) {
        const struct app_option *o = NULL;
        while ((o = app_next_option(call->table, c, o))) {
            if (!o->name || o->type == APP_FLAG) continue;
            wsc_text_add(t, "    '%s:--%s') ", c->name, o->name);
            add_value(t, o);
            wsc_text_add(t, " ;;\n");
        }
    }
}

/* Elsewhere: the options of the command, and its words without an option's name. */
static void add_options(struct wsc_text *t, const struct app_call *call)
{
    wsc_text_add(t, "    *) case \"$command\" in\n    '') list='");
    for (const struct app_command *c = call->commands; c->name; c++)
        if (!strchr(c->name, ' ')) wsc_text_add(t, "%s\n", c->name);
    wsc_text_add(t, "--help\n--version\n--help-config' ;;\n");
    for (const struct app_command *c = call->commands; c->name; c++) {
        const struct app_option *o = NULL, *bare = NULL;
        wsc_text_add(t, "    '%s') ", c->name);
        while ((o = app_next_option(call->table, c, o)))
            if (o->bare) bare = o;
        if (bare) add_value(t, bare);
        wsc_text_add(t, "%slist+=$'\\n''", bare ? "; " : "");
        while ((o = app_next_option(call->table, c, o)))
            if (o->name) wsc_text_add(t, "--%s\n", o->name);
        wsc_text_add(t, "--help%s' ;;\n", !strcmp(c->name, "data") ? "\ntrain-bpe" : "");
    }
    wsc_text_add(t, "    esac ;;\n    esac\n");
}

enum wsc_err app_completion(const struct app_call *call, bool zsh, char **text)
{
    struct wsc_text t = {0};
    if (zsh) wsc_text_add(&t, "#compdef wsc\nautoload -U +X bashcompinit && bashcompinit\n");
    wsc_text_add(&t, "_wsc_keys='");
    add_keys(&t, zoo_params_table(), "");
    add_keys(&t, hw_machine_table(), "cluster.");
    wsc_text_add(&t, "'\n%s", functions);
    add_values(&t, call);
    add_options(&t, call);
    wsc_text_add(&t, "    COMPREPLY=($(compgen -W \"$list\" -- \"$cur\"))\n}\n"
                     "complete -F _wsc wsc\n");
    /* zsh reads the file when wsc is completed for the first time. */
    if (zsh) wsc_text_add(&t, "(( $+compstate )) && _bash_complete -F _wsc\ntrue\n");
    return wsc_text_take(&t, text);
}
