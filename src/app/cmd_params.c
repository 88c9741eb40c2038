// SPDX-License-Identifier: Apache-2.0
/* `wsc params`: a params file to start from (params_template.c), the differences of two
 * (params_diff.c), and the JSON Schema of params and cluster files (report_config_schema()). */
#include "cmd.h"
#include "params_files.h"
#include "requests.h"

#include <wsc/mem.h>
#include <wsc/report.h>

#include <stdio.h>
#include <string.h>

/* The schema of the kind of files that @p name names; NULL: params. */
static enum wsc_err make_schema(const char *name, char **text)
{
    if (!name || !strcmp(name, "params")) return report_config_schema(REPORT_PARAMS_FILE, text);
    if (!strcmp(name, "cluster")) return report_config_schema(REPORT_CLUSTER_FILE, text);
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--schema %s: no such kind of files", name),
                        "params or cluster");
}

enum wsc_err app_run_params(struct app_call *call)
{
    const struct app_params *o = call->request;
    char *text = NULL;
    if (o->diff) return app_params_diff(o->diff, o->word);
    enum wsc_err rc = o->template_of ? app_params_template(o->template_of, o->word, &text)
                                     : make_schema(o->word, &text);
    if (text) (void)fputs(text, stdout);
    wsc_free(text);
    return rc;
}
