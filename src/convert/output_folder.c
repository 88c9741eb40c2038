// SPDX-License-Identifier: Apache-2.0
/* The files of --out.  The folder may be that of the input, or hold a model of its own: a name that
 * is taken there ends the conversion before anything is written. */
#include "output_folder.h"
#include "json_file.h"

#include <stdio.h>
#include <unistd.h>

enum wsc_err convert_check_new(const char *dir, const char *const *names)
{
    char path[CONVERT_PATH_BYTES];
    for (; *names; names++) {
        TRY(convert_path(path, dir, *names));
        if (!access(path, F_OK))
            return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: exists", path),
                                "remove it, or take another folder for --out");
    }
    return WSC_OK;
}

enum wsc_err convert_name_checkpoint(const struct convert_job *job, struct convert_result *result)
{
    static const char *const names[] = {"model.mdl", "params.yaml", NULL};
    *result = (struct convert_result){0};
    TRY(convert_check_new(job->out, names));
    TRY(convert_path(result->checkpoint, job->out, names[0]));
    return convert_path(result->params, job->out, names[1]);
}
