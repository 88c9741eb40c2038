// SPDX-License-Identifier: Apache-2.0
/* Which published points a sweep may be compared with: those of the model that the sweep has,
 * measured on the same wafers, with the same global batch, sequence length and, where it is stated,
 * micro-batch.  Models are compared by the keys of their params, as the row names a params file and
 * a sweep may override its keys.  Called by `wsc scale` before it draws points beside its curves.
 */
#include "validation_impl.h"

#include <wsc/mem.h>
#include <wsc/model.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { WHY_BYTES = 256 };

/* A sweep and the machine of the point at hand. */
struct comparison {
    const struct scaling_sweep *sweep;
    const struct scaling_row *row;
    const char *cluster_dir, *params_dir;
    struct hw_machine machine;
    char name[32];               /* of the file that machine was read from; "": none yet */
    int compared;                /* model of the sweep that was compared last; -1: none yet */
    char other_model[WHY_BYTES]; /* what differs in it from its published file; "": nothing */
};

static enum wsc_err load_machine(struct comparison *c, const char *name)
{
    char *path, *text = NULL;
    size_t n = 0;
    if (!strcmp(c->name, name)) return WSC_OK;
    if (*c->name) hw_machine_fini(&c->machine);
    *c->name = '\0';
    path = wsc_asprintf(WSC_MEM_SCALING, "%s/%s.yaml", c->cluster_dir, name);
    if (!path) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name a machine file");
    enum wsc_err rc = hw_machine_read(path, &text, &n);
    if (!rc) {
        rc = hw_machine_parse(&c->machine, path, text, n, NULL, 0);
        if (rc) hw_machine_fini(&c->machine);
    }
    if (!rc) (void)snprintf(c->name, sizeof c->name, "%s", name);
    wsc_free(text);
    wsc_free(path);
    return rc;
}

/* A row has a column for the length of sequences. */
static bool is_of_model(const struct conf_key *key)
{
    if (key->status != CONF_USED) return false;
    if (!strcmp(key->path, "sparsity")) return true;
    return !strncmp(key->path, "model.", 6) && !key->no_time &&
           strcmp(key->path, "model.max_position_embeddings") != 0;
}

/* Compare the value of @p key, as the dump writes it; a text of several lines is not printed. */
static enum wsc_err compare_key(const struct conf_key *key, const struct zoo_params *published,
                                const struct zoo_params *swept, char why[WHY_BYTES])
{
    char *a = NULL, *b = NULL;
    if (!zoo_key_acts(published, key->path) && !zoo_key_acts(swept, key->path)) return WSC_OK;
    enum wsc_err rc = zoo_params_text(published, key->path, &a);
    if (!rc) rc = zoo_params_text(swept, key->path, &b);
    if (!rc && strcmp(a, b) != 0) {
        if (strchr(a, '\n') || strchr(b, '\n'))
            (void)snprintf(why, WHY_BYTES, "%s, which is another one in this sweep", key->path);
        else
            (void)snprintf(why, WHY_BYTES, "%s%.60s, in this sweep%.60s", key->path, a, b);
    }
    wsc_free(a);
    wsc_free(b);
    return rc;
}

/* What the model @p m of the sweep has else than the params file of its name; once for each model.
 */
static enum wsc_err compare_model(struct comparison *c, int m)
{
    const struct scaling_model *swept = &c->sweep->model[m];
    const struct conf_table *keys = zoo_params_table();
    struct zoo_params published = {0};
    char *bytes = NULL;
    size_t n = 0;
    if (c->compared == m) return WSC_OK;
    char *path = wsc_asprintf(WSC_MEM_SCALING, "%s/%s.yaml", c->params_dir, swept->name);
    if (!path) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name a params file");
    enum wsc_err rc = conf_read_file(path, &bytes, &n);
    if (!rc) rc = zoo_params_parse(&published, path, bytes, n, NULL, 0);
    *c->other_model = '\0';
    for (int i = 0; i < keys->n && !rc && !*c->other_model; i++)
        if (is_of_model(&keys->key[i]))
            rc = compare_key(&keys->key[i], &published, swept->params, c->other_model);
    c->compared = m;
    zoo_params_fini(&published);
    wsc_free(bytes);
    wsc_free(path);
    return rc;
}

/* The micro-batch that the publication states, of a part of @p global_batch; 0: none. */
static int64_t micro_batch_of(const struct validation_point *p, int64_t global_batch)
{
    const int64_t n = (int64_t)p->num_csx;
    if (p->micro_batch == CONF_NULL) return (global_batch + n - 1) / n; /* all of a system */
    return p->micro_batch > 0 ? p->micro_batch : 0;
}

/* The wafer decides: installations of the same wafer differ in how many there are. */
static bool same_wafer(const struct hw_wafer *a, const struct hw_wafer *b)
{
    return a->pe_cols == b->pe_cols && a->pe_rows == b->pe_rows;
}

/* The row of model @p m for @p num_csx systems; NULL when the sweep has none. */
static const struct scaling_row *row_at(const struct comparison *c, int m, double num_csx)
{
    const struct scaling_row *row = c->row + (ptrdiff_t)m * c->sweep->n_counts;
    for (int i = 0; i < c->sweep->n_counts; i++)
        if ((double)row[i].num_csx == num_csx) return &row[i];
    return NULL;
}

static void name_counts(char *why, const char *what, int64_t published, int64_t swept)
{
    (void)snprintf(why, WHY_BYTES, "%s %lld, in this sweep %lld", what, (long long)published,
                   (long long)swept);
}

/* What differs between the point and the sweep of its model @p m; "": nothing. */
static enum wsc_err find_difference(struct comparison *c, const struct validation_point *p, int m,
                                    char why[WHY_BYTES])
{
    const struct scaling_row *row = row_at(c, m, p->num_csx);
    const int64_t msl = model_sequence_length(c->sweep->model[m].params);
    *why = '\0';
    if (*p->cluster) {
        TRY(load_machine(c, p->cluster));
        if (!same_wafer(&c->machine.wafer, &c->sweep->cluster->wafer)) {
            (void)snprintf(why, WHY_BYTES, "machine %s, in this sweep %s", c->machine.name,
                           c->sweep->cluster->name);
            return WSC_OK;
        }
    }
    if (c->params_dir) {
        TRY(compare_model(c, m));
        (void)snprintf(why, WHY_BYTES, "%s", c->other_model);
        if (*why) return WSC_OK;
    }
    const int64_t micro = row ? micro_batch_of(p, row->global_batch) : 0;
    if (!row)
        (void)snprintf(why, WHY_BYTES, "%g systems, which this sweep leaves out", p->num_csx);
    else if (p->unit == VALIDATION_SPEEDUPS && !row_at(c, m, 1))
        (void)snprintf(why, WHY_BYTES, "a speedup over one system, which this sweep leaves out");
    else if (p->msl && p->msl != msl)
        name_counts(why, "sequence length", p->msl, msl);
    else if (p->global_batch && p->global_batch != row->global_batch)
        name_counts(why, "global batch", p->global_batch, row->global_batch);
    else if (micro && micro != row->micro_batch)
        name_counts(why, "micro-batch", micro, row->micro_batch);
    return WSC_OK;
}

/* The point in tokens per second, by the tokens of a sample and the rate of one system of the sweep
 * of its model @p m. */
static void convert(const struct comparison *c, int m, struct validation_point *p)
{
    const struct scaling_row *row = c->row + (ptrdiff_t)m * c->sweep->n_counts;
    if (p->unit == VALIDATION_SAMPLES_PER_S)
        p->tokens_per_s *= row->tokens_per_s / row->samples_per_s;
    if (p->unit == VALIDATION_SPEEDUPS) p->tokens_per_s *= row->tokens_per_s / row->speedup;
    p->unit = VALIDATION_TOKENS_PER_S;
}

static int model_of(const struct scaling_sweep *s, const char *name)
{
    for (int m = 0; m < s->n_models; m++)
        if (!strcmp(s->model[m].name, name)) return m;
    return -1;
}

enum wsc_err validation_points_select(struct validation_point *points, int *n,
                                      const struct scaling_sweep *sweep,
                                      const struct scaling_row *rows,
                                      const struct validation_point_folders *folders,
                                      validation_skipped_fn skipped)
{
    struct comparison c = {.sweep = sweep,
                           .row = rows,
                           .cluster_dir = folders->machines,
                           .params_dir = folders->params,
                           .compared = -1};
    enum wsc_err rc = WSC_OK;
    int kept = 0;
    for (int i = 0; i < *n && !rc; i++) {
        char why[WHY_BYTES];
        const int m = model_of(sweep, points[i].model);
        if (m < 0) continue;
        rc = find_difference(&c, &points[i], m, why);
        if (!rc && *why)
            skipped(&points[i], why);
        else if (!rc) {
            points[kept] = points[i];
            convert(&c, m, &points[kept++]);
        }
    }
    *n = kept;
    if (*c.name) hw_machine_fini(&c.machine);
    return rc;
}
