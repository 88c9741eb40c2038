// SPDX-License-Identifier: Apache-2.0
/* Loads the models and machines that published rows name, with their overrides.  validate.c and
 * calibrate.c predict them with quantities.c. */
#include "validation_impl.h"

#include <wsc/comm.h>
#include <wsc/hash.h>
#include <wsc/mem.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SETS = 64 };

/* ---- files ----------------------------------------------------------------------------------- */

void validation_name_file(const struct validation_folders *f, const char *name, char *path,
                          size_t size)
{
    (void)snprintf(path, size, "%s/%s.yaml", f->folder[0], name);
    if (!f->folder[1] || !access(path, F_OK)) return;
    (void)snprintf(path, size, "%s/%s.yaml", f->folder[1], name);
    if (access(path, F_OK)) (void)snprintf(path, size, "%s/%s.yaml", f->folder[0], name);
}

/* The folders of a row: a published row beside rows of the user's own keeps its model and machine,
 * whatever files of the same names the user has. */
static struct validation_folders folders_of(const struct validation_comparison *c,
                                            const struct validation_folders *f, bool own)
{
    if (own || !c->n_own || !f->folder[1]) return *f;
    return (struct validation_folders){{f->folder[1], f->folder[0]}};
}

/* ---- digests ---------------------------------------------------------------------------------
 */

static uint64_t digest_of_row(const struct validation_figure *f, uint64_t seed)
{
    char text[1024];
    const int n =
        snprintf(text, sizeof text, "%s,%d,%s,%a,%a,%a,%a,%lld,%lld,%lld,%lld,%s,%s,%s,%d", f->id,
                 (int)f->quantity, f->unit, f->value, f->samples, f->low, f->high,
                 (long long)f->num_csx, (long long)f->global_batch, (long long)f->micro_batch,
                 (long long)f->msl, f->model, f->cluster, f->set, (int)f->kind);
    seed = wsc_hash64(text, (size_t)n, seed);
    return wsc_hash64(f->other_batch, (size_t)f->n_other_batches * sizeof *f->other_batch, seed);
}

/* The keys of a machine that may be overridden. */
static uint64_t digest_of_machine(const struct hw_machine *m, uint64_t seed)
{
    const struct conf_table *table = hw_machine_table();
    for (int i = 0; i < table->n; i++) {
        const struct conf_key *key = &table->key[i];
        const void *field = (const char *)m + key->offset;
        struct hw_constant constant;
        double value = 0;
        if (!hw_key_is_constant(key)) continue;
        if (key->type == CONF_T_BOOL)
            value = *(const bool *)field;
        else if (key->type == CONF_T_CHOICE)
            value = *(const int *)field;
        else if (!hw_constant_find(key->path, &constant))
            value = hw_constant_get(&constant, m);
        seed = wsc_hash64(&value, sizeof value, seed);
    }
    return seed;
}

/* ---- machines -------------------------------------------------------------------------------- */

static enum wsc_err load_machine(struct hw_machine *out, const struct validation_comparison *c,
                                 const struct validation_case *item, uint64_t *digest)
{
    const struct validation_figure *ref = item->ref;
    const struct validation_folders folders = folders_of(c, &c->machines, item->own);
    char path[PATH_MAX];
    char *text = NULL;
    size_t n = 0;
    validation_name_file(&folders, ref->cluster, path, sizeof path);
    enum wsc_err rc = hw_machine_read(path, &text, &n);
    if (rc)
        return wsc_err_hint(
            validation_at_row(rc, ref, ref->cluster_column, "cluster"),
            "the name of a file of configs/cluster or of --machines DIR, without .yaml");
    *digest = wsc_hash64(text, n, *digest);
    rc = hw_machine_parse(out, path, text, n, c->sets, c->n_sets);
    if (!rc)
        rc = validation_at_row(scaling_refuse_passing_faults(out), ref, ref->cluster_column,
                               "cluster");
    if (!rc) *digest = digest_of_machine(out, *digest); /* its base too */
    wsc_free(text);
    return rc;
}

static bool same_grid(const struct hw_machine *a, const struct hw_machine *b)
{
    return a->wafer.pe_cols == b->wafer.pe_cols && a->wafer.pe_rows == b->wafer.pe_rows;
}

static enum wsc_err find_machine(struct validation_cases *cases,
                                 const struct validation_comparison *c,
                                 struct validation_case *item)
{
    const char *name = item->ref->cluster;
    int i = 0;
    while (i < cases->n_machines &&
           (cases->name[i].own != item->own || strcmp(cases->name[i].text, name) != 0))
        i++;
    if (i == VALIDATION_MAX_MACHINES)
        return WSC_RAISE(WSC_CONFIG, "more than %d machines in published figures", i);
    if (i == cases->n_machines) {
        cases->n_machines++;
        cases->name[i].own = item->own;
        (void)snprintf(cases->name[i].text, sizeof cases->name[i].text, "%s", name);
        TRY(load_machine(&cases->machine[i], c, item, &cases->digest));
    }
    const bool stands_in = c->cluster && same_grid(c->cluster, &cases->machine[i]);
    item->cluster = stands_in ? c->cluster : &cases->machine[i];
    return WSC_OK;
}

/* A machine that stands in for none of the rows would be compared with nothing. */
static enum wsc_err check_stands_in(const struct validation_cases *cases,
                                    const struct hw_machine *m)
{
    char known[VALIDATION_MAX_MACHINES * 96] = "";
    size_t n = 0;
    for (int i = 0; i < cases->n_machines; i++) {
        const struct hw_machine *other = &cases->machine[i];
        if (same_grid(m, other)) return WSC_OK;
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s %lld x %lld", i ? ", " : "",
                              cases->name[i].text, (long long)other->wafer.pe_cols,
                              (long long)other->wafer.pe_rows);
    }
    return wsc_err_hint(
        WSC_RAISE(WSC_CONFIG, "%s: no published figure is of a wafer of %lld x %lld PEs", m->file,
                  (long long)m->wafer.pe_cols, (long long)m->wafer.pe_rows),
        "the published figures are of %s", known);
}

/* ---- models ---------------------------------------------------------------------------------- */

enum wsc_err validation_split_sets(char *text, struct conf_set *set, int most, int *n)
{
    *n = 0;
    for (char *item = strsep(&text, ";"); item; item = strsep(&text, ";")) {
        if (!*item) continue;
        if (*n == most) return WSC_RAISE(WSC_CONFIG, "more than %d keys are overridden", most);
        set[(*n)++] = (struct conf_set){.text = item};
    }
    return WSC_OK;
}

/* The row's overrides `a=b;c=d`, cut in place in @p text, before those of the comparison. */
static enum wsc_err collect_sets(const struct validation_comparison *c,
                                 const struct validation_figure *ref, char *text,
                                 struct conf_set set[MAX_SETS], int *n)
{
    TRY(validation_split_sets(text, set, MAX_SETS, n));
    for (int i = 0; i < *n; i++)
        TRY(validation_check_set(ref, set[i].text));
    if (*n + c->n_sets > MAX_SETS)
        return WSC_RAISE(WSC_CONFIG, "more than %d keys are overridden", MAX_SETS);
    for (int i = 0; i < c->n_sets; i++)
        set[(*n)++] = c->sets[i];
    return WSC_OK;
}

/* The params that the row names, with the overrides of row and comparison. */
static enum wsc_err read_params(struct validation_case *item, const struct validation_comparison *c,
                                uint64_t *digest)
{
    const struct validation_figure *ref = item->ref;
    const struct validation_folders folders = folders_of(c, &c->params, item->own);
    char path[PATH_MAX], set_text[sizeof ref->set];
    struct conf_set set[MAX_SETS] = {0};
    char *bytes = NULL;
    size_t n = 0;
    int n_sets;
    validation_name_file(&folders, ref->model, path, sizeof path);
    (void)snprintf(set_text, sizeof set_text, "%s", ref->set);
    TRY(collect_sets(c, ref, set_text, set, &n_sets));
    enum wsc_err rc = conf_read_file(path, &bytes, &n);
    if (rc)
        return wsc_err_hint(
            validation_at_row(rc, ref, ref->model_column, "model"),
            "the name of a file of configs/params or of --params DIR, without .yaml");
    *digest = wsc_hash64(bytes, n, *digest);
    rc = zoo_params_parse(&item->params, path, bytes, n, set, n_sets);
    wsc_free(bytes);
    if (!rc) return validation_check_params(ref, &item->params);
    if (!validation_is_about_set(ref, wsc_err_message())) return rc;
    return validation_at_row(rc, ref, ref->set_column, "set");
}

/* Sequences of @p msl tokens, also where the file's input has another max_sequence_length. */
static void set_length(struct zoo_params *params, int64_t msl)
{
    params->model.max_position_embeddings = msl;
    params->train_input.max_sequence_length = 0;
    params->eval_input.max_sequence_length = 0;
}

static enum wsc_err load_model(struct validation_case *item, const struct validation_comparison *c,
                               uint64_t *digest)
{
    const struct validation_figure *ref = item->ref;
    enum wsc_err rc = read_params(item, c, digest);
    item->params.train_input.micro_batch_size = ref->micro_batch;
    if (ref->msl) set_length(&item->params, ref->msl);
    if (ref->global_batch) item->params.train_input.batch_size = ref->global_batch;
    if (ref->num_csx) item->params.runconfig.num_csx = ref->num_csx;
    return rc;
}

/* ---- ranks -----------------------------------------------------------------------------------
 */

/* Ranks share the rows: one that has read other files would predict rows of another model or
 * machine, and one that has failed would be waited for. */
static enum wsc_err compare_ranks(struct comm *comm, enum wsc_err rc, uint64_t digest)
{
    const int64_t here = rc ? -1 : (int64_t)(digest >> 1);
    const int64_t most = comm_max(comm, here), least = -comm_max(comm, -here);
    if (rc || most == least) return rc;
    return wsc_err_hint(
        WSC_RAISE(WSC_CONFIG, "the ranks have read different rows, models or machines, or a rank "
                              "could not read them"),
        "every host needs the same files");
}

static enum wsc_err load(struct validation_cases *cases, const struct validation_comparison *c,
                         unsigned kinds, bool measured_only)
{
    for (int i = 0; i < c->n_refs; i++) {
        struct validation_case *item = &cases->item[cases->n];
        const bool context = c->ref[i].kind == VALIDATION_KIND_CONTEXT;
        if (!(kinds & (1U << c->ref[i].kind))) continue;
        if (context && !validation_figure_complete(&c->ref[i])) continue;
        if (measured_only && !validation_figure_measured(&c->ref[i])) continue;
        item->ref = &c->ref[i];
        item->own = i >= c->n_refs - c->n_own;
        cases->n++;
        cases->digest = digest_of_row(item->ref, cases->digest);
        TRY(load_model(item, c, &cases->digest));
        TRY(find_machine(cases, c, item));
    }
    return c->cluster ? check_stands_in(cases, c->cluster) : WSC_OK;
}

enum wsc_err validation_cases_load(struct validation_cases **out,
                                   const struct validation_comparison *c, unsigned kinds,
                                   bool measured_only)
{
    struct validation_cases *cases;
    TRY_NEW(cases, WSC_MEM_SCALING, 1);
    *out = cases;
    TRY_NEW(cases->item, WSC_MEM_SCALING, c->n_refs + 1);
    if (c->cluster) cases->digest = digest_of_machine(c->cluster, 0);
    const enum wsc_err rc = load(cases, c, kinds, measured_only);
    return c->comm ? compare_ranks(c->comm, rc, cases->digest) : rc;
}

void validation_cases_free(struct validation_cases **cases)
{
    struct validation_cases *c = *cases;
    if (!c) return;
    for (int i = 0; i < c->n; i++)
        zoo_params_fini(&c->item[i].params);
    for (int i = 0; i < c->n_machines; i++)
        hw_machine_fini(&c->machine[i]);
    wsc_free(c->item);
    wsc_free(c);
    *cases = NULL;
}
