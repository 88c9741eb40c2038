// SPDX-License-Identifier: Apache-2.0
/* The files that `wsc scale` writes for each study of a sweep: a table of their names, of which the
 * command prints those that it has written and names those that an earlier sweep left. */
#include "option_parse.h"
#include "result_files.h"
#include "scale_study.h"
#include "user_files.h"

#include <wsc/text.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a sweep may look into beside its curves. */
enum { EFFECTS, FAULTS, SPARSITY, VALUES, SENSITIVITY, TRAINING, STEP };

/* The files of each under --out. */
static const struct study_files {
    int study;
    const char *names; /* separated by spaces */
} study_files[] = {
    {EFFECTS, APP_EFFECTS_FILES},
    {FAULTS, APP_FAULTS_FILES},
    {SPARSITY, APP_SPARSITY_FILES},
    {VALUES, APP_VALUES_FILES},
    {SENSITIVITY, APP_SENSITIVITY_FILES},
    {TRAINING, APP_TRAINING_FILES},
    {STEP, APP_STEP_FILES},
};
enum { N_STUDY_FILES = sizeof study_files / sizeof *study_files };

/* True when the command line asks for @p study. */
static bool is_asked(const struct app_sweep *c, int study)
{
    const struct app_scale *o = c->o;
    const bool asked[] = {[EFFECTS] = o->effects,
                          [FAULTS] = c->sweep.cluster->faults.n > 0,
                          [SPARSITY] = o->values.sparsity,
                          [VALUES] = o->values.n && !o->values.sparsity,
                          [SENSITIVITY] = o->sensitivity,
                          [TRAINING] = o->tokens > 0 || o->tokens_per_param > 0,
                          [STEP] = o->breakdown || o->trace || o->goal};
    return asked[study];
}

/* The word at *@p list, which moves on to the next one; false at the end. */
static bool next_name(const char **list, char name[64])
{
    const size_t n = strcspn(*list, " ");
    (void)snprintf(name, 64, "%.*s", (int)n, *list);
    *list += n;
    *list += strspn(*list, " ");
    return n > 0;
}

static void print_names(const char *begin, const char *folder, const char *names)
{
    char name[64];
    const char *separator = "/";
    (void)printf("%s%s", begin, folder);
    for (; next_name(&names, name); separator = ", ")
        (void)printf("%s%s", separator, name);
    (void)printf("\n");
}

void app_study_print_files(const struct app_sweep *c)
{
    print_names("\nWrote ", c->o->out, APP_CURVE_FILES);
    for (int i = 0; i < N_STUDY_FILES; i++)
        if (is_asked(c, study_files[i].study))
            print_names("      ", c->o->out, study_files[i].names);
    if (c->o->trace) (void)printf("      %s\n", c->o->trace);
    if (c->o->goal) (void)printf("      %s\n", c->o->goal);
}

/* True when this sweep writes the file @p name. */
static bool is_written(const struct app_sweep *c, const char *name)
{
    for (int i = 0; i < N_STUDY_FILES; i++)
        if (is_asked(c, study_files[i].study) && app_share_word(study_files[i].names, name))
            return true;
    return false;
}

/* Append the files of a study that lie in the folder and that this sweep does not write; two
 * studies may share a file. */
static void add_earlier(const struct app_sweep *c, const char *names, struct wsc_text *list)
{
    char name[64];
    while (next_name(&names, name)) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/%s", c->o->out, name);
        if (access(path, F_OK) || is_written(c, name)) continue;
        if (list->n && strstr(list->bytes, name)) continue;
        wsc_text_add(list, "%s%s", list->n ? ", " : "", name);
    }
}

enum wsc_err app_study_warn_of_earlier(const struct app_sweep *c)
{
    struct wsc_text list = {0};
    for (int i = 0; i < N_STUDY_FILES; i++)
        add_earlier(c, study_files[i].names, &list);
    enum wsc_err rc = wsc_text_check(&list);
    if (!rc && list.n) app_warn_of_earlier(c->o->out, list.bytes, "sweep");
    wsc_text_free(&list);
    return rc;
}
