// SPDX-License-Identifier: Apache-2.0
#include "app.h"

#include <wsc/mem.h>
#include <wsc/units.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void app_config_fini(struct app_config *c)
{
    for (int i = 0; i < c->n_owned; i++)
        wsc_free(c->owned[i]);
    c->n_owned = c->n_sets = 0;
}

enum wsc_err app_add_set(struct app_config *c, const char *text)
{
    if (c->n_sets == APP_MAX_SETS) return WSC_RAISE(WSC_USAGE, "more than %d --set", APP_MAX_SETS);
    c->set[c->n_sets++].text = text;
    return WSC_OK;
}

enum wsc_err app_add_override(struct app_config *c, const char *path, const char *value)
{
    if (c->n_owned == APP_MAX_SETS) return WSC_RAISE(WSC_USAGE, "too many options");
    char *text = wsc_asprintf(WSC_MEM_APP, "%s=%s", path, value);
    if (!text) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "override");
    c->owned[c->n_owned++] = text;
    return app_add_set(c, text);
}

typedef enum wsc_err (*read_fn)(const char *path, char **bytes, size_t *n);

/* What rank 0 reads of @p path, on every rank. */
static enum wsc_err share_file(struct comm *comm, read_fn read, const char *path, char **bytes,
                               size_t *n)
{
    int64_t n_bytes = -1;
    enum wsc_err rc = WSC_OK;
    if (!comm || comm_rank(comm) == 0) {
        rc = read(path, bytes, n);
        n_bytes = rc ? -1 : (int64_t)*n;
    }
    if (!comm) return rc;
    bool mine;
    enum wsc_err all = comm_agree(comm, rc, &mine);
    if (all && !mine) app_set_reported();
    if (all) return all;
    TRY(comm_share(comm, bytes, &n_bytes));
    *n = (size_t)n_bytes;
    return WSC_OK;
}

/* Every rank finds the same errors in the same bytes; rank 0 tells. */
static enum wsc_err told_once(struct comm *comm, enum wsc_err rc)
{
    if (rc && comm && comm_rank(comm)) app_set_reported();
    return rc;
}

enum wsc_err app_read_params(struct comm *comm, const struct app_config *c, char **bytes, size_t *n)
{
    *bytes = NULL;
    if (c->params_path) return share_file(comm, conf_read_file, c->params_path, bytes, n);
    return told_once(comm, wsc_err_hint(WSC_RAISE(WSC_USAGE, "--params is missing"),
                                        "--params configs/params/default.yaml"));
}

enum wsc_err app_parse_params(struct comm *comm, const struct app_config *c, const char *bytes,
                              size_t n, int phase, struct zoo_params *params)
{
    struct app_config with = *c;
    char text[32];
    memset(params, 0, sizeof *params);
    (void)snprintf(text, sizeof text, "phase=%d", phase);
    if (phase) TRY(told_once(comm, app_add_set(&with, text)));
    return told_once(comm,
                     zoo_params_parse(params, c->params_path, bytes, n, with.set, with.n_sets));
}

enum wsc_err app_load_params(struct comm *comm, const struct app_config *c,
                             struct zoo_params *params)
{
    char *bytes = NULL;
    size_t n = 0;
    memset(params, 0, sizeof *params);
    enum wsc_err rc = app_read_params(comm, c, &bytes, &n);
    if (!rc) rc = app_parse_params(comm, c, bytes, n, 0, params);
    wsc_free(bytes);
    return rc;
}

enum wsc_err app_load_cluster(struct comm *comm, const struct app_config *c,
                              struct hw_machine *cluster, char **text)
{
    char *bytes = NULL;
    size_t n = 0;
    enum wsc_err rc = WSC_OK;
    memset(cluster, 0, sizeof *cluster);
    if (c->cluster_path) rc = share_file(comm, hw_machine_read, c->cluster_path, &bytes, &n);
    if (!rc)
        rc = told_once(comm,
                       hw_machine_parse(cluster, c->cluster_path, bytes, n, c->set, c->n_sets));
    if (text)
        *text = bytes;
    else
        wsc_free(bytes);
    return rc;
}

enum wsc_err app_add_fault(struct app_config *c, const char *text)
{
    return app_add_override(c, "cluster.faults+", text);
}

enum wsc_err app_refuse_passing_faults(const struct hw_machine *cluster, const char *who,
                                       bool lossy)
{
    for (int i = 0; i < cluster->faults.n; i++) {
        const struct hw_fault *f = &cluster->faults.item[i];
        const bool always = f->from == 1 && !f->steps && !(f->rate > 0);
        if (f->kind == HW_FAULT_LOSSY_LINK ? always && lossy
                                           : always && f->kind != HW_FAULT_LOST_SHARD)
            continue;
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "fault %s: %s like all others", f->text, who),
                            "wsc run --numerics none tells what it costs");
    }
    return WSC_OK;
}

enum wsc_err app_bad_option(const char *command, char **argv, int option)
{
    const char *word = argv[optind - 1] ? argv[optind - 1] : "";
    enum wsc_err rc = option == ':' ? WSC_RAISE(WSC_USAGE, "%s: a value is missing", word)
                                    : WSC_RAISE(WSC_USAGE, "%s: no such option", word);
    return wsc_err_hint(rc, "wsc %s --help lists them", command);
}

enum wsc_err app_parse_int(const char *what, const char *text, int64_t min, int64_t max,
                           int64_t *out)
{
    int64_t value = 0;
    if (wsc_units_int(text, &value) || value < min || value > max)
        return WSC_RAISE(WSC_USAGE, "%s: expected a whole number from %lld to %lld, got \"%s\"",
                         what, (long long)min, (long long)max, text);
    *out = value;
    return WSC_OK;
}

enum wsc_err app_parse_real(const char *what, const char *text, double min, double max, double *out)
{
    double value = 0;
    if (wsc_units_double(text, &value) || value < min || value > max)
        return WSC_RAISE(WSC_USAGE, "%s: expected a number from %g to %g, got \"%s\"", what, min,
                         max, text);
    *out = value;
    return WSC_OK;
}

enum wsc_err app_parse_int_list(const char *what, const char *text, int64_t min, int64_t max,
                                int64_t *out, int *n)
{
    *n = 0;
    for (const char *p = text; *p;) {
        char item[32];
        size_t length = strcspn(p, ",");
        if (*n == APP_MAX_LIST)
            return WSC_RAISE(WSC_USAGE, "%s: more than %d numbers", what, APP_MAX_LIST);
        (void)snprintf(item, sizeof item, "%.*s", (int)(length < 31 ? length : 31), p);
        TRY(app_parse_int(what, item, min, max, &out[(*n)++]));
        p += length;
        if (*p == ',') p++;
    }
    if (*n) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: an empty list", what), "%s 1,2,4", what);
}

void app_base_name(const char *path, char *name, int size)
{
    const char *slash = strrchr(path, '/');
    (void)snprintf(name, (size_t)size, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot && dot != name) *dot = '\0';
}

bool app_under_mpi(void)
{
    static const char *const mark[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
    for (int i = 0; i < (int)(sizeof mark / sizeof *mark); i++)
        if (getenv(mark[i])) return true;
    return false;
}
