// SPDX-License-Identifier: Apache-2.0
/* docs/FILES.md against real outputs, key by key: the fields that a line or a table of the page
 * names in backquotes are the columns of the CSV file, or the keys of the JSON objects, that the
 * program writes, none more and none less.  What stands in parentheses explains a field. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FIELDS = 96, FIELD_BYTES = 64 };

struct fields {
    int n;
    char name[MOST_FIELDS][FIELD_BYTES];
};

static void add_field(struct fields *f, const char *name, size_t n)
{
    if (!n || *name == '-') return; /* an option */
    if (f->n == MOST_FIELDS || n >= FIELD_BYTES) abort();
    for (int i = 0; i < f->n; i++)
        if (strlen(f->name[i]) == n && !strncmp(f->name[i], name, n)) return;
    (void)snprintf(f->name[f->n++], FIELD_BYTES, "%.*s", (int)n, name);
}

/* "a, b" as two fields. */
static void add_list(struct fields *f, const char *text, size_t n)
{
    for (const char *at = text, *end = text + n; at < end;) {
        const size_t length = strcspn(at, ", `\n");
        add_field(f, at, length);
        at += length + 1;
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

/* What stands in backquotes, outside of parentheses, up to one of @p ends. */
static void add_quoted(struct fields *f, const char *text, const char *ends)
{
    int depth = 0;
    for (const char *at = text; *at && !strchr(ends, *at); at++) {
        depth += (*at == '(') - (*at == ')');
        if (*at != '`') continue;
        const size_t n = strcspn(at + 1, "`");
        if (!depth) add_list(f, at + 1, n);
        at += n + 1;
    }
}

/* The line that begins with fields of performance.json has no words before them. */
#define PERFORMANCE "### `performance.json`"

/* Fields that the page names: after @p mark in its line; or, where the mark is a heading, in the
 * first column of the tables below. */
static void read_page(struct fields *f, const char *mark)
{
    char *line = NULL;
    size_t size = 0;
    bool below = false;
    FILE *page = fopen("docs/FILES.md", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(page);
    f->n = 0;
    while (getline(&line, &size, page) > 0) {
        const char *found = strstr(line, mark);
        if (found && *mark != '#') add_quoted(f, found + strlen(mark), "|\n");
        if (*line == '#') below = *mark == '#' && found;
        if (below && !strncmp(line, "| `", 3)) add_quoted(f, line + 2, "|");
        if (below && !strncmp(line, "`model`, ", 9)) add_quoted(f, line, "\n");
    }
    free(line);
    (void)fclose(page);
    if (!f->n) (void)fprintf(stderr, "docs/FILES.md has no \"%s\"\n", mark);
    CU_ASSERT(f->n > 0);
}

/* True when @p name is the field, or begins with what stands before its `<`. */
static bool is_field(const char *field, const char *name)
{
    const char *any = strchr(field, '<');
    return any ? !strncmp(field, name, (size_t)(any - field)) : !strcmp(field, name);
}

static bool has_field(const struct fields *f, const char *name)
{
    for (int i = 0; i < f->n; i++)
        if (is_field(f->name[i], name) || is_field(name, f->name[i])) return true;
    return false;
}

static void compare(const char *mark, const struct fields *written)
{
    static struct fields page;
    read_page(&page, mark);
    for (int i = 0; i < page.n; i++) {
        const bool there = has_field(written, page.name[i]);
        if (!there) (void)fprintf(stderr, "%s: nobody writes %s\n", mark, page.name[i]);
        T_TRUE(there);
    }
    for (int i = 0; i < written->n; i++) {
        const bool there = has_field(&page, written->name[i]);
        if (!there) (void)fprintf(stderr, "%s: %s is not on the page\n", mark, written->name[i]);
        T_TRUE(there);
    }
}

/* ---- outputs --------------------------------------------------------------------------------- */

static void add_keys(struct fields *f, json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) add_field(f, key, strlen(key));
}

/* The keys of an object, or of all objects of a list. */
static void add_all_keys(struct fields *f, json_t *value)
{
    size_t i;
    json_t *item;
    add_keys(f, value);
    json_array_foreach(value, i, item) add_keys(f, item);
}

/* A member of an object, or of a member: "a.b". */
static json_t *member_of(json_t *object, const char *path)
{
    char first[FIELD_BYTES];
    const size_t n = strcspn(path, ".");
    (void)snprintf(first, sizeof first, "%.*s", (int)n, path);
    json_t *member = json_object_get(object, first);
    return path[n] ? member_of(member, path + n + 1) : member;
}

/* Keys of the JSON values in what @p command prints, one after another; @p below: of that member of
 * them.  Values without the key @p with are left out; NULL: none. */
static void add_json(struct fields *f, const char *command, const char *with, const char *below)
{
    struct spawn_result r;
    spawn_run(&r, "%s", command);
    if (r.status) (void)fprintf(stderr, "%s\n%s\n", command, r.err);
    T_EQ(r.status, 0);
    FILE *text = fmemopen(r.out, strlen(r.out), "r");
    json_t *value;
    while (text && (value = json_loadf(text, JSON_DISABLE_EOF_CHECK, NULL))) {
        if (!with || json_object_get(value, with))
            add_all_keys(f, below ? member_of(value, below) : value);
        json_decref(value);
    }
    if (text) (void)fclose(text);
    spawn_free(&r);
}

static void check_json(const char *mark, const char *command, const char *with, const char *below)
{
    static struct fields written;
    written.n = 0;
    add_json(&written, command, with, below);
    compare(mark, &written);
}

/* The first line of a CSV file. */
static void check_csv(const char *mark, const char *dir, const char *name)
{
    static struct fields written;
    struct spawn_result r;
    spawn_run(&r, "head -n 1 %s/%s", dir, name);
    T_EQ(r.status, 0);
    written.n = 0;
    add_list(&written, r.out, strlen(r.out));
    compare(mark, &written);
    spawn_free(&r);
}

/* ---- files of a run -------------------------------------------------------------------------- */

/* Step 1 overflows and is skipped; with a factor that fits, step 1 has norms. */
#define EVERYTHING                                                                                 \
    "--mode train_and_eval --num_steps 1 --num_csx 2 --set optimizer.log_summaries=true "          \
    "--set optimizer.gradient_noise_scale=true --set model.mixed_precision=true "                  \
    "--set model.fp16_type=float16 --set optimizer.loss_scaling_factor=dynamic "                   \
    "--set runconfig.eval_frequency=1 --fault straggler:wafer=0,factor=2 "
#define OVERFLOW "--set optimizer.initial_loss_scale=1e30 --set optimizer.max_loss_scale=1e30 "

TEST(files, of_a_run_are_as_the_page_says)
{
    static struct fields written;
    char dir[160], overflow[160], command[2048];
    (void)snprintf(dir, sizeof dir, "%s", job_path("files"));
    (void)snprintf(overflow, sizeof overflow, "%s", job_path("overflow"));
    CU_ASSERT_FATAL(spawn_ok("%s " EVERYTHING "--model_dir %s", job_tiny(), dir));
    CU_ASSERT_FATAL(spawn_ok("%s " EVERYTHING OVERFLOW "--model_dir %s", job_tiny(), overflow));
    (void)snprintf(command, sizeof command, "cat %s/metrics.jsonl %s/metrics.jsonl", dir, overflow);
    check_json("### `metrics.jsonl`", command, "step_time_ps", NULL);
    check_json("An evaluation: ", command, "eval_loss", NULL);
    (void)snprintf(command, sizeof command, "cat %s/performance.json", dir);
    written.n = 0;
    add_json(&written, command, NULL, NULL);
    add_field(&written, "kernels", strlen("kernels")); /* on the mesh alone, below */
    compare(PERFORMANCE, &written);
    check_json("Each of `payload.links` has ", command, NULL, "payload.links");
    check_json("`payload` has ", command, NULL, "payload");
}

TEST(files, kernels_of_a_run_on_the_mesh_are_as_the_page_says)
{
    char dir[160], command[2048];
    (void)snprintf(dir, sizeof dir, "%s", job_path("files_mesh"));
    CU_ASSERT_FATAL(spawn_ok(
        "%s --mode train --numerics mesh --num_steps 1 --model_dir %s --set model.hidden_size=16 "
        "--set model.num_heads=2 --set model.filter_size=32 --set model.num_hidden_layers=1 --set "
        "train_input.batch_size=1 --set cluster.wafer.pe_cols=6 --set cluster.wafer.pe_rows=5 "
        "--set runconfig.checkpoint_steps=0",
        job_tiny(), dir));
    (void)snprintf(command, sizeof command, "cat %s/performance.json", dir);
    check_json("Each of `kernels` has ", command, NULL, "kernels");
}

TEST(files, json_of_an_evaluation_is_as_the_page_says)
{
    char command[2048];
    (void)snprintf(command, sizeof command, "%s --mode eval --json --model_dir %s", job_tiny(),
                   job_path("files_eval"));
    check_json("`--mode eval --json` prints ", command, NULL, NULL);
}

/* ---- files of a sweep ------------------------------------------------------------------------ */

TEST(files, of_a_sweep_are_as_the_page_says)
{
    static const struct {
        const char *mark, *file;
    } csv[] = {{"`scaling.csv`: ", "scaling.csv"},
               {"`band.csv`: ", "band.csv"},
               {"`sensitivity.csv`: ", "sensitivity.csv"},
               {"`training.csv`: ", "training.csv"},
               {"`op_profile.csv`: ", "op_profile.csv"},
               {"`links.csv`: ", "links.csv"},
               {"`critical_path.csv`: ", "critical_path.csv"}};
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("files_scale"));
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1,2 "
                             "--sensitivity --breakdown --tokens 1e6 --out %s >/dev/null",
                             dir));
    for (size_t i = 0; i < sizeof csv / sizeof *csv; i++)
        check_csv(csv[i].mark, dir, csv[i].file);
}

/* ---- the mesh -------------------------------------------------------------------------------- */

TEST(files, json_of_the_mesh_is_as_the_page_says)
{
    check_json("`wsc mesh KERNEL --json` prints one object: ",
               "\"$WSC\" mesh reduce --algo tree --fabric 8x1 --words 16 --explain --json", NULL,
               NULL);
    check_json("print a list with an object for each point: ",
               "\"$WSC\" mesh survey --max_p 8 --max_words 16 --json", NULL, NULL);
    check_json("`wsc validate --mesh --json` prints a list with an object for each pair: ",
               "\"$WSC\" validate --mesh --pairs 1 --json", NULL, NULL);
}
