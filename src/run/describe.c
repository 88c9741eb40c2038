// SPDX-License-Identifier: Apache-2.0
#include "job_impl.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* What one module of the model holds. */
struct module_row {
    const char *name;
    int64_t n_params;
};

/* Parameters by stage kind: embedding, one block, all blocks, head. */
static void module_rows(const struct model *m, struct module_row row[4])
{
    row[0] = (struct module_row){"embedding", 0};
    row[1] = (struct module_row){"one block", 0};
    row[2] = (struct module_row){"all blocks", 0};
    row[3] = (struct module_row){"final norm and head", 0};
    for (int i = 0; i < m->n_tensors; i++) {
        const struct model_tensor *t = &m->tensor[i];
        if (t->layer >= 0)
            row[2].n_params += t->n_elems;
        else if (t->kind < MODEL_NORM1_W)
            row[0].n_params += t->n_elems;
        else
            row[3].n_params += t->n_elems;
    }
    row[1].n_params = row[2].n_params / m->L;
}

static enum wsc_err print_modules(const struct model *m)
{
    struct module_row row[4];
    struct report_table *table;
    module_rows(m, row);
    TRY(report_table_new(&table, "lr", (const char *const[]){"module", "parameters"}));
    for (int i = 0; i < 4; i++) {
        report_table_cell(table, "%s", row[i].name);
        report_table_cell(table, "%lld", (long long)row[i].n_params);
    }
    report_table_cell(table, "total");
    report_table_cell(table, "%lld", (long long)m->n_params);
    enum wsc_err rc = report_table_print(table, stdout, 2);
    report_table_free(&table);
    return rc;
}

static enum wsc_err print_text(const struct run_job *job, const struct model *m)
{
    char *yaml = NULL;
    TRY(conf_params_dump(job->params, &yaml));
    (void)printf("%s\n", yaml);
    wsc_free(yaml);
    for (int i = 0; i < job->params->n_warnings; i++)
        (void)printf("# note: %s\n", job->params->warning[i].text);
    return print_modules(m);
}

static void print_json(const struct run_job *job, const struct model *m)
{
    const struct conf_params *p = job->params;
    const char *position =
        conf_params_choice("model.position_embedding_type", (int)p->model.position_embedding_type);
    char position_json[32];
    (void)snprintf(position_json, sizeof position_json,
                   p->model.position_embedding_type == CONF_POSITION_NONE ? "%s" : "\"%s\"",
                   position);
    const long long micro = p->train_input.micro_batch_size;
    char micro_text[32];
    (void)snprintf(micro_text, sizeof micro_text, "%lld", micro);
    const char *micro_json = micro == CONF_AUTO   ? "\"auto\""
                             : micro == CONF_NULL ? "null"
                                                  : micro_text;
    (void)printf("{\"params\": %lld, \"hidden_size\": %lld, \"num_hidden_layers\": %lld, "
                 "\"num_heads\": %lld, "
                 "\"num_kv_groups\": %lld, \"filter_size\": %lld, \"vocab_size\": %lld, "
                 "\"max_position_embeddings\": %lld, \"position_embedding_type\": %s, "
                 "\"nonlinearity\": \"%s\", \"norm_type\": \"%s\", \"tied\": %s, "
                 "\"batch_size\": %lld, \"micro_batch_size\": %s}\n",
                 (long long)m->n_params, (long long)m->C, (long long)m->L, (long long)m->H,
                 (long long)m->kv_heads, (long long)m->F, (long long)m->V, (long long)m->T,
                 position_json,
                 conf_params_choice("model.nonlinearity", (int)p->model.nonlinearity),
                 conf_params_choice("model.norm_type", (int)p->model.norm_type),
                 m->tied ? "true" : "false", (long long)p->train_input.batch_size, micro_json);
}

/* ---- the plan -------------------------------------------------------------------------------- */

static enum wsc_err print_stages(const struct run_cluster *c, const struct kernels_plan *plan)
{
    struct report_table *table;
    TRY(report_table_new(&table, "lrrrr",
                         (const char *const[]){"stage", "parameters", "weights", "forward cycles",
                                               "backward cycles"}));
    for (int s = 0; s < c->model->n_stages; s++) {
        char bytes[32];
        /* Blocks are alike: the first one stands for all. */
        if (c->model->stage[s].layer > 0) continue;
        report_si_unit(bytes, sizeof bytes, (double)stream_weight_bytes(c->model, s), "B");
        report_table_cell(table, "%s", c->model->stage[s].name);
        report_table_cell(table, "%lld", (long long)c->model->stage[s].n_elems);
        report_table_cell(table, "%s", bytes);
        for (int backward = 0; backward < 2; backward++)
            report_table_cell(table, "%lld",
                              (long long)kernels_stage_cycles(&c->hw, c->model, plan, s, backward,
                                                              plan->micro_batch));
    }
    enum wsc_err rc = report_table_print(table, stdout, 2);
    report_table_free(&table);
    return rc;
}

static enum wsc_err print_plan(const struct run_cluster *c)
{
    struct kernels_plan plan;
    struct stream_batch batch;
    TRY(run_plan_batch(c, &c->params->train_input, true, &plan, &batch));
    char kept[32], have[32];
    report_si_unit(kept, sizeof kept, (double)(plan.act_bytes_per_sequence * plan.micro_batch),
                   "B");
    report_si_unit(have, sizeof have, (double)plan.act_bytes_available, "B");
    (void)printf("\nplan on %d x %s\n"
                 "  lanes                %d\n"
                 "  micro-batch          %lld sequences per system, %lld per step\n"
                 "  recomputation        %s\n"
                 "  activations kept     %s per system; the SRAM has %s for them\n"
                 "  of each sequence     %lld bytes go to the activation servers\n",
                 c->net->topology->n_wafers, c->hw.cluster->name, plan.lanes,
                 (long long)plan.micro_batch, (long long)batch.n_micro,
                 plan.recompute ? "on" : "off", kept, have,
                 (long long)plan.spill_bytes_per_sequence);
    return print_stages(c, &plan);
}

static enum wsc_err print_params(const struct run_job *job, const struct model *m)
{
    if (!job->json) return print_text(job, m);
    print_json(job, m);
    return WSC_OK;
}

/* A plan needs the machine, and that the model fits it. */
static enum wsc_err describe_plan(const struct run_job *job)
{
    struct comm *comm = NULL;
    struct run_cluster *c = NULL;
    const struct memoryx_hooks hooks = {0};
    enum wsc_err rc = comm_create(&comm, false);
    if (!rc) rc = run_cluster_create(&c, comm, job->params, job->cluster, false, &hooks);
    if (!rc) rc = print_params(job, c->model);
    if (!rc && !job->json) rc = print_plan(c);
    run_cluster_destroy(&c);
    comm_destroy(&comm);
    return rc;
}

enum wsc_err run_describe(const struct run_job *job, bool with_plan)
{
    struct model *model = NULL;
    if (with_plan) return describe_plan(job);
    enum wsc_err rc = model_create(&model, job->params, job->cluster->stream.granularity);
    if (!rc) rc = print_params(job, model);
    model_destroy(&model);
    return rc;
}

static void print_roles(const struct stream_topology *t, int n_ranks, const int *rank_of_role)
{
    for (int rank = 0; rank < n_ranks; rank++) {
        (void)printf("rank %d:", rank);
        for (int role = 0; role < t->n_roles; role++) {
            char name[48];
            if (rank_of_role[role] != rank) continue;
            stream_role_name(t, role, name, sizeof name);
            (void)printf(" [%s]", name);
        }
        (void)printf("\n");
    }
}

enum wsc_err run_print_placement(const struct run_job *job, int n_ranks)
{
    struct stream_topology *t = NULL;
    int *rank_of_role;
    TRY(stream_topology_create(&t, run_n_shards(job->params, job->cluster),
                               (int)job->params->runconfig.num_csx,
                               (int)job->cluster->swarmx.fanout));
    rank_of_role = wsc_alloc(WSC_MEM_RUN, (size_t)t->n_roles, sizeof *rank_of_role);
    if (rank_of_role) {
        stream_place(t, n_ranks, rank_of_role);
        print_roles(t, n_ranks, rank_of_role);
    }
    wsc_free(rank_of_role);
    stream_topology_destroy(&t);
    return rank_of_role ? WSC_OK : WSC_NOMEM;
}
