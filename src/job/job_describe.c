// SPDX-License-Identifier: Apache-2.0
#include "job_state.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* ---- the params ------------------------------------------------------------------------------ */

enum { N_PARTS = 6 };

/* Where the parameters are. */
static enum {
    EMBEDDING,
    ATTENTION,
    ROUTER,
    FEED_FORWARD,
    NORMS,
    HEAD
} part_of(const struct model_tensor *t)
{
    if (t->layer < 0) return t->kind < MODEL_NORM1_W ? EMBEDDING : HEAD;
    if (t->kind >= MODEL_Q_W && t->kind <= MODEL_O_B) return ATTENTION;
    if (t->kind == MODEL_ROUTER_W) return ROUTER;
    return t->kind >= MODEL_FFN0_W && t->kind <= MODEL_FFN1_B ? FEED_FORWARD : NORMS;
}

static enum wsc_err print_params(const struct job *job, const struct model *m)
{
    static const char *const name[N_PARTS] = {"embedding",       "attention",
                                              "router",          "feed-forward",
                                              "norms of blocks", "final norm and head"};
    struct report_part part[N_PARTS];
    char *family = NULL;
    for (int i = 0; i < N_PARTS; i++)
        part[i] = (struct report_part){name[i], 0};
    for (int i = 0; i < m->n_tensors; i++)
        part[part_of(&m->tensor[i])].n_params += m->tensor[i].n_elems;
    TRY(zoo_params_text(job->params, "model.name", &family));
    const struct report_params report = {.conf = job->params,
                                         .family = family[0] == ' ' ? family + 1 : family,
                                         .n_params = m->n_params,
                                         .head_dim = m->head_dim,
                                         .part = part,
                                         .n_parts = N_PARTS,
                                         .speed = job->speed};
    enum wsc_err rc = job->json ? report_params_print_json(&report) : report_params_print(&report);
    wsc_free(family);
    return rc;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static enum wsc_err print_stages(const struct cluster *c, const struct kernels_plan *plan)
{
    struct out_table *table;
    TRY(out_table_new(&table, "lrrrr",
                      (const char *const[]){"stage", "parameters", "weights", "forward cycles",
                                            "backward cycles"}));
    for (int s = 0; s < c->model->n_stages; s++) {
        char bytes[32];
        /* Blocks are alike: the first one stands for all. */
        if (c->model->stage[s].layer > 0) continue;
        out_si_unit(bytes, sizeof bytes, (double)stream_weight_bytes(c->model, s), "B");
        out_table_cell(table, "%s", c->model->stage[s].name);
        out_table_cell(table, "%lld", (long long)c->model->stage[s].n_elems);
        out_table_cell(table, "%s", bytes);
        for (int backward = 0; backward < 2; backward++)
            out_table_cell(table, "%lld",
                           (long long)kernels_stage_cycles(&c->hw, c->model, plan, s, backward,
                                                           plan->micro_batch));
    }
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

static enum wsc_err print_plan(const struct cluster *c)
{
    struct kernels_plan plan;
    struct stream_batch batch;
    TRY(cluster_plan_batch(c, &c->params->train_input, true, &plan, &batch));
    char kept[32], have[32];
    out_si_unit(kept, sizeof kept, (double)(plan.act_bytes_per_sequence * plan.micro_batch), "B");
    out_si_unit(have, sizeof have, (double)plan.act_bytes_available, "B");
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

/* A plan needs the machine, and that the model fits it. */
static enum wsc_err describe_plan(const struct job *job)
{
    struct comm *comm = NULL;
    struct cluster *c = NULL;
    const struct memoryx_hooks hooks = {0};
    enum wsc_err rc = comm_create(&comm, false);
    if (!rc) rc = cluster_create(&c, comm, job->params, job->cluster, false, &hooks);
    if (!rc) rc = print_params(job, c->model);
    if (!rc && !job->json) rc = print_plan(c);
    if (!rc && !job->json && job->speed) rc = report_speed_print(job->speed);
    cluster_destroy(&c);
    comm_destroy(&comm);
    return rc;
}

enum wsc_err job_describe(const struct job *job, bool with_plan)
{
    struct model *model = NULL;
    if (with_plan) return describe_plan(job);
    enum wsc_err rc = model_create(&model, job->params, job->cluster->stream.granularity);
    if (!rc) rc = print_params(job, model);
    model_destroy(&model);
    return rc;
}

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
