// SPDX-License-Identifier: Apache-2.0
/* `wsc help`: the list of commands, the options of one, and the texts that an installation has:
 * pages of the manual (manual.c), completion scripts (completion.c). */
#include "cmd.h"
#include "completion.h"
#include "manual.h"
#include "option_help.h"
#include "requests.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* The help of the command whose words are given. */
static enum wsc_err help_of(const struct app_call *call, const struct app_texts *words, char **text)
{
    char name[128];
    (void)snprintf(name, sizeof name, "%s%s%s", words->item[0], words->n > 1 ? " " : "",
                   words->n > 1 ? words->item[1] : "");
    for (const struct app_command *c = call->commands; c->name; c++)
        if (!strcmp(c->name, name)) return app_help(c, call->table, text);
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: no such command", name),
                        "wsc --help lists the commands");
}

enum wsc_err app_run_help(struct app_call *call)
{
    const struct app_help_request *o = call->request;
    char *text = NULL;
    enum wsc_err rc = o->completion ? app_completion(call, !strcmp(o->completion, "zsh"), &text)
                      : o->man      ? app_manual(call, o->man, &text)
                      : o->words.n  ? help_of(call, &o->words, &text)
                                    : app_overview(call->commands, &text);
    if (!rc && text) (void)fputs(text, stdout);
    wsc_free(text);
    return rc;
}
