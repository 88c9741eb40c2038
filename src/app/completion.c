// SPDX-License-Identifier: Apache-2.0
/* Completion scripts: one shell function whose lists come from the tables of commands, options and
 * keys.  zsh runs the same function through its bashcompinit.  Values are completed by what their
 * row says: choices, files (with shipped params and machines), folders, PATH= of `--set`.
 * `wsc help --completion` prints them (cmd_help.c), mpi_launch/packaging/install.sh installs them. */
#include "completion.h"
#include "option_parse.h"

#include <wsc/hw.h>
#include <wsc/kernels.h>
#include <wsc/text.h>
#include <wsc/validation.h>
#include <wsc/zoo.h>

#include <string.h>

/* Files that come with the program: below $WSC_DATA_DIR, or beside the program in the layouts of
 * shipped.c, an installation or the source tree. */
static const char functions[] =
    "_wsc_root() {\n"
    "    local bin=$(readlink -f \"$(command -v \"$program\")\")\n"
    "    bin=${bin%/*}\n"
    "    if [ -n \"${WSC_DATA_DIR:-}\" ]; then echo \"$WSC_DATA_DIR\"\n"
    "    elif [ -d \"$bin/../../../configs\" ]; then readlink -f \"$bin/../../..\"\n"
    "    else echo \"$bin/../share/wsc\"; fi\n"
    "}\n"
    "_wsc_shipped() { # params|cluster\n"
    "    compgen -G \"$(_wsc_root)/configs/$1/*.yaml\"\n"
    "}\n"
    "_wsc_exhibits() {\n"
    "    local root=$(_wsc_root)\n"
    "    cat \"$root/benchmarks/reference/exhibits.yaml\" \"$root/reference/exhibits.yaml\" "
    "2>/dev/null |\n"
    "        sed -n 's/^  - id: *//p'\n"
    "}\n"
    "_wsc_files() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    list=$(compgen -f -- \"$cur\")\n"
    "}\n"
    "_wsc_models() { # family\n"
    "    \"$program\" params --template list 2>/dev/null | sort -u | while IFS=' ' read -r name "
    "size; do\n"
    "        [ -n \"$1\" ] || echo \"$name\"\n"
    "        [ -z \"$1\" ] || [ \"$name\" != \"$1\" ] || echo \"$size\"\n"
    "    done\n"
    "}\n"
    /* A list: what stands before the last comma stays. */
    "_wsc_items() {\n"
    "    case $cur in *,*) before=${cur%,*},; cur=${cur##*,} ;; esac\n"
    "}\n"
    /* KIND:KEY=VALUE,... */
    "_wsc_fault() {\n"
    "    local kind=${cur%%:*} known\n"
    "    compopt -o nospace 2>/dev/null\n"
    "    case $cur in\n"
    "    *:*) before=${cur%\"${cur##*[:,]}\"}; cur=${cur##*[:,]}\n"
    "        list=$(printf %s \"$_wsc_faults\" | sed -n \"s/^$kind://p\") ;;\n"
    "    *) list=$(printf %s \"$_wsc_faults\" | sed 's/:.*/:/' | sort -u) ;;\n"
    "    esac\n"
    "}\n"
    /* bash cuts words at : and = too; here they are one word again. */
    "_wsc() {\n"
    "    local i=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} IFS=$'\\n' before= trim= list= item\n"
    "    while [ \"$i\" -gt 1 ]; do\n"
    "        case ${COMP_WORDS[i]}@${COMP_WORDS[i-1]} in\n"
    "        [:=]@* | *@[:=]) i=$((i - 1)); cur=${COMP_WORDS[i]}$cur ;;\n"
    "        *) break ;;\n"
    "        esac\n"
    "    done\n"
    "    [ \"$i\" = \"$COMP_CWORD\" ] || trim=${cur%\"${cur##*[:=]}\"}\n"
    "    cur=${cur//\\\\/}\n"
    "    local prev=${COMP_WORDS[i-1]} program=${COMP_WORDS[0]} command=${COMP_WORDS[1]}\n"
    "    [ \"$COMP_CWORD\" -gt 1 ] || command=\n"
    "    [ \"$COMP_CWORD\" -le 2 ] || case ${COMP_WORDS[2]} in\n"
    "    train-bpe | train-wordpiece) command=\"data ${COMP_WORDS[2]}\" ;;\n"
    "    esac\n";

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

/* The keys of a kind of fault as KIND:KEY=. */
static void add_fault(struct wsc_text *t, const struct conf_variant *kind)
{
    for (int k = 0; k < kind->n; k++)
        if (strcmp(kind->key[k].path, hw_fault_kinds()->selector) != 0)
            wsc_text_add(t, "%s:%s=\n", kind->name, kind->key[k].path);
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

/* The names of the kernels, and the words that stand in their place. */
static void add_kernels(struct wsc_text *t)
{
    const struct kernels_row *row;
    wsc_text_add(t, "list='list\nsurvey\ncalibration\n");
    for (int i = 0; (row = kernels_row_at(i)); i++)
        wsc_text_add(t, "%s\n", row->name);
    wsc_text_add(t, "'");
}

/* The constants that `wsc calibrate` may fit. */
static void add_fittables(struct wsc_text *t)
{
    int n;
    const char *const *path = validation_fittable_paths(&n);
    wsc_text_add(t, "_wsc_items; list='");
    for (int i = 0; i < n; i++)
        wsc_text_add(t, "%s\n", path[i]);
    wsc_text_add(t, "'");
}

/* Words without an option's name, and values of options, that other tables or the program know;
 * false when the row is none of these. */
static bool add_known(struct wsc_text *t, const struct app_option *o)
{
    if (o->bare && o->commands == APP_ON_MESH)
        add_kernels(t);
    else if (o->bare && o->commands == APP_ON_HELP)
        wsc_text_add(t, "list=$_wsc_commands");
    else if (o->bare && o->commands == APP_ON_PARAMS)
        wsc_text_add(t,
                     "[ \"${COMP_WORDS[i-2]}\" != --template ] || list=$(_wsc_models \"$prev\"); "
                     "[ \"${COMP_WORDS[i-2]}\" != --diff ] || _wsc_files; "
                     "[ \"$prev\" != --schema ] || list=$'params\\ncluster'");
    else if (o->name && !strcmp(o->name, "template"))
        wsc_text_add(t, "list=$(_wsc_models | sort -u)");
    else if (o->name && !strcmp(o->name, "man"))
        wsc_text_add(t, "list=$(\"$program\" help --man list)");
    else if (o->name && !strcmp(o->name, "fault"))
        wsc_text_add(t, "_wsc_fault");
    else if (o->name && !strcmp(o->name, "fit"))
        add_fittables(t);
    else if (o->arg && !strncmp(o->arg, "EXHIBIT", strlen("EXHIBIT")))
        wsc_text_add(t, "list=$(_wsc_exhibits)");
    else
        return false;
    return true;
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

/* What completes a row, also one that other tables know, and lists. */
static void add_row(struct wsc_text *t, const struct app_option *o)
{
    if (o->arg && strstr(o->arg, ",") && !strstr(o->arg, ":")) wsc_text_add(t, "_wsc_items; ");
    if (!add_known(t, o)) add_value(t, o);
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
            add_row(t, o);
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
        if (bare) add_row(t, bare);
        wsc_text_add(t, "%slist+=$'\\n''", bare ? "; " : "");
        while ((o = app_next_option(call->table, c, o)))
            if (o->name) wsc_text_add(t, "--%s\n", o->name);
        wsc_text_add(t, "--help%s' ;;\n",
                     !strcmp(c->name, "data") ? "\ntrain-bpe\ntrain-wordpiece" : "");
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
    wsc_text_add(&t, "'\n_wsc_faults='");
    for (int i = 0; i < hw_fault_kinds()->n; i++)
        add_fault(&t, &hw_fault_kinds()->variant[i]);
    wsc_text_add(&t, "'\n_wsc_commands='");
    for (const struct app_command *c = call->commands; c->name; c++)
        if (!strchr(c->name, ' ')) wsc_text_add(&t, "%s\n", c->name);
    wsc_text_add(&t, "'\n%s", functions);
    add_values(&t, call);
    add_options(&t, call);
    wsc_text_add(&t, "    COMPREPLY=()\n"
                     "    while IFS= read -r item; do\n"
                     "        case $item in\n"
                     "        '') ;;\n"
                     "        \"$cur\"*) item=$before$item; "
                     "COMPREPLY+=(\"${item#\"$trim\"}\") ;;\n"
                     "        esac\n"
                     "    done <<<\"$list\"\n}\n"
                     "complete -F _wsc wsc\n");
    /* zsh reads the file when wsc is completed for the first time. */
    if (zsh) wsc_text_add(&t, "(( $+compstate )) && _bash_complete -F _wsc\ntrue\n");
    return wsc_text_take(&t, text);
}
