// SPDX-License-Identifier: Apache-2.0
/* Describes a job without running it (`--validate_only`, `--compile_only`): parameters by module
 * and, with a plan, the emulated machine and its micro-batches; and the rank of each role
 * (`--print_placement`).  <wsc/report.h> prints the description. */
#include "job_log.h"

#include <wsc/job.h>

#include <wsc/data.h>
#include <wsc/log.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* Where the parameters are; the kinds of tensors of a module stand together (model.h). */
static enum {
    EMBEDDING,
    ATTENTION,
    ROUTER,
    FEED_FORWARD,
    NORMS,
    CONDITIONING,
    HEAD
} part_of(const struct model_tensor *t)
{
    const enum model_tensor_kind kind = model_base_kind(t->kind);
    if (kind == MODEL_RELATIVE_W) return EMBEDDING;
    if (kind >= MODEL_PATCH_W && kind <= MODEL_LABEL_W) return EMBEDDING;
    if (model_is_condition(kind)) return CONDITIONING;
    if (t->layer < 0) return kind < MODEL_NORM1_W ? EMBEDDING : HEAD;
    if (kind >= MODEL_Q_W && kind <= MODEL_O_B) return ATTENTION;
    if (kind >= MODEL_CROSS_Q_W && kind <= MODEL_CROSS_O_B) return ATTENTION;
    if (kind == MODEL_ROUTER_W) return ROUTER;
    return kind >= MODEL_FFN0_W && kind <= MODEL_FFN1_B ? FEED_FORWARD : NORMS;
}

static void count_modules(struct job_description *d)
{
    static const char *const name[JOB_MODULES] = {
        "embedding",    "attention",          "router", "feed-forward", "norms of blocks",
        "conditioning", "final norm and head"};
    const struct model *m = d->model;
    for (int i = 0; i < JOB_MODULES; i++)
        d->module[i].name = name[i];
    for (int i = 0; i < m->n_tensors; i++)
        if (!m->tensor[i].reference)
            d->module[part_of(&m->tensor[i])].n_params += m->tensor[i].n_elems;
}

/* The tensor's @p name with `*` for every number that is a level of it. */
static void name_of_kind(char out[128], const char *name)
{
    size_t n = 0;
    for (const char *at = name; *at && n < 126;) {
        const size_t digits = strspn(at, "0123456789");
        const bool level = digits && at > name && at[-1] == '.' && at[digits] == '.';
        /* The layers of a feed-forward network are kinds of their own. */
        const bool layer = level && strncmp(at + digits, ".linear_layer", 13) != 0;
        if (layer)
            out[n++] = '*';
        else
            out[n++] = *at;
        at += layer ? digits : 1;
    }
    out[n] = '\0';
}

static struct job_sparse *find_kind(struct job_description *d, const char *name,
                                    const struct model_tensor *t)
{
    for (int i = 0; i < d->n_sparse; i++)
        if (!strcmp(d->sparse[i].name, name) && d->sparse[i].entry == t->sparsity &&
            d->sparse[i].n_elems == t->n_elems)
            return &d->sparse[i];
    return NULL;
}

/* Sparse tensors by kind, in the order of the model. */
static enum wsc_err count_sparse(struct job_description *d)
{
    const struct zoo_runconfig *run = &d->params->runconfig;
    const int64_t end = run->max_steps != CONF_NULL ? run->max_steps : run->num_steps;
    const struct model *m = d->model;
    if (!model_is_sparse(m)) return WSC_OK;
    TRY_NEW(d->sparse, WSC_MEM_RUN, m->n_tensors);
    for (int i = 0; i < m->n_tensors; i++) {
        const struct model_tensor *t = &m->tensor[i];
        char name[128];
        if (t->sparsity < 0) continue;
        name_of_kind(name, t->name);
        struct job_sparse *kind = find_kind(d, name, t);
        if (!kind) {
            kind = &d->sparse[d->n_sparse++];
            *kind = (struct job_sparse){.entry = t->sparsity,
                                        .n_elems = t->n_elems,
                                        .kept_first = model_kept(m, i, 0),
                                        .kept_last = model_kept(m, i, end > 0 ? end : 0)};
            memcpy(kind->name, name, sizeof name);
        }
        kind->n_tensors++;
    }
    return WSC_OK;
}

/* A plan needs the machine, and that the model fits it. */
static enum wsc_err plan(struct job_description *d, const struct job *job)
{
    const struct memoryx_hooks hooks = {0};
    if (job->params->runconfig.mode == ZOO_GENERATE)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: plans are of training and evaluation",
                                      zoo_params_place(job->params, "runconfig.mode")),
                            "--numerics none gives the time of a generation");
    TRY(comm_create(&d->comm, false));
    TRY(cluster_create(&d->cluster, d->comm, job->params, job->cluster, false, &hooks));
    d->model = d->cluster->model;
    d->evaluates = job->params->runconfig.mode == ZOO_EVAL;
    const struct zoo_input *input =
        d->evaluates ? &job->params->eval_input : &job->params->train_input;
    return cluster_plan_batch(d->cluster, input, !d->evaluates, &d->plan, &d->batch);
}

/* The samples of @p input as a run would open them.  A warning alone: params are also checked where
 * the data do not lie. */
static void try_data(const struct model *m, const struct zoo_input *input)
{
    struct data_source *source = NULL;
    if (data_source_open(&source, input, m->T, m->stack[0].V))
        WSC_WARNING("a run would end with: %s", wsc_err_message());
    data_source_close(&source);
}

static void try_all_data(const struct job *job, const struct model *m)
{
    const struct zoo_params *p = job->params;
    if (!job->values) return;
    if (zoo_mode_trains(p->runconfig.mode)) try_data(m, &p->train_input);
    if (zoo_mode_evaluates(p->runconfig.mode) && !job->requests) try_data(m, &p->eval_input);
}

enum wsc_err job_describe(struct job_description *out, const struct job *job, bool with_plan)
{
    *out = (struct job_description){.params = job->params};
    if (with_plan)
        TRY(plan(out, job));
    else
        TRY(model_create(&out->own_model, job->params, job->cluster->stream.granularity));
    if (!with_plan) {
        out->model = out->own_model;
        if (zoo_mode_trains(job->params->runconfig.mode))
            job_warn_of_frozen(job->params, out->model);
        try_all_data(job, out->model);
    }
    count_modules(out);
    TRY(count_sparse(out));
    return zoo_params_text(job->params, "model.name", &out->family);
}

void job_description_fini(struct job_description *d)
{
    wsc_free(d->family);
    wsc_free(d->sparse);
    model_destroy(&d->own_model);
    cluster_destroy(&d->cluster);
    comm_destroy(&d->comm);
}

/* A line for each rank, with all roles that it plays. */
static void print_roles(const struct stream_topology *t, const struct comm *comm,
                        const int *rank_of_role)
{
    for (int rank = 0; rank < comm_size(comm); rank++) {
        (void)printf("rank %d on %s:", rank, comm_host_name(comm, rank));
        for (int role = 0; role < t->n_roles; role++) {
            char name[48];
            if (rank_of_role[role] != rank) continue;
            stream_role_name(t, role, name, sizeof name);
            (void)printf(" [%s]", name);
        }
        (void)printf("\n");
    }
}

enum wsc_err job_print_placement(const struct job *job, const struct comm *comm)
{
    struct stream_topology *t = NULL;
    int *rank_of_role;
    TRY(stream_topology_create(&t, cluster_n_shards(job->params, job->cluster),
                               (int)job->params->runconfig.num_csx,
                               (int)job->cluster->swarmx.fanout));
    rank_of_role = wsc_alloc(WSC_MEM_RUN, (size_t)t->n_roles, sizeof *rank_of_role);
    enum wsc_err rc = WSC_NOMEM;
    if (rank_of_role) rc = stream_place(t, comm_size(comm), comm_host_of_rank(comm), rank_of_role);
    if (!rc) print_roles(t, comm, rank_of_role);
    wsc_free(rank_of_role);
    stream_topology_destroy(&t);
    return rc;
}
