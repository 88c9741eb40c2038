// SPDX-License-Identifier: Apache-2.0
/* Lists of params files, as `wsc scale --params` and `wsc law --predict` have them: cut at the
 * commas, each file once; `scaling` names the models. */
#include "model_files.h"

#include <wsc/log.h>
#include <wsc/mem.h>

#include <string.h>

/* Add @p path, unless the list has it. */
static enum wsc_err add(struct app_model_files *files, const char *option, const char *path)
{
    for (int i = 0; i < files->n; i++) {
        if (strcmp(files->path[i], path) != 0) continue;
        WSC_WARNING("%s %s: given twice, taken once", option, path);
        return WSC_OK;
    }
    if (files->n == APP_MODEL_FILES)
        return WSC_RAISE(WSC_USAGE, "%s: more than %d files", option, APP_MODEL_FILES);
    files->path[files->n++] = path;
    return WSC_OK;
}

enum wsc_err app_model_files_take(struct app_model_files *files, const char *option,
                                  const char *list)
{
    files->n = 0;
    files->text = wsc_strdup(WSC_MEM_APP, list);
    if (!files->text) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "a list of params files");
    for (char *rest = files->text; rest && *rest;)
        TRY(add(files, option, strsep(&rest, ",")));
    return scaling_name_models(files->path, files->n, files->name);
}

void app_model_files_fini(struct app_model_files *files)
{
    wsc_free(files->text);
    files->text = NULL;
}
