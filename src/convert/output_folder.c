// SPDX-License-Identifier: Apache-2.0
/* The files of --out.  The folder may be that of the input, or hold a model of its own: a name that
 * is taken there ends the conversion before anything is written. */
#include "output_folder.h"
#include "json_file.h"

#include <dirent.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The first name in @p dir, in the order of strcmp(), that @p pattern matches; "" without one, or
 * without the folder. */
static void find_match(const char *dir, const char *pattern, char name[NAME_MAX + 1])
{
    DIR *d = opendir(dir);
    name[0] = '\0';
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        if (!fnmatch(pattern, e->d_name, 0) && (!*name || strcmp(e->d_name, name) < 0))
            (void)snprintf(name, NAME_MAX + 1, "%s", e->d_name);
    if (d) (void)closedir(d);
}

enum wsc_err convert_check_new(const char *dir, const char *const *names)
{
    char path[CONVERT_PATH_BYTES], match[NAME_MAX + 1];
    for (; *names; names++) {
        const bool any = strchr(*names, '*') != NULL;
        if (any) find_match(dir, *names, match);
        if (any && !*match) continue;
        TRY(convert_path(path, dir, any ? match : *names));
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
