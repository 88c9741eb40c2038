// SPDX-License-Identifier: Apache-2.0
/* What the first wafer of the measured steps computes, by kind of operation, from the analytical
 * model: the second table of `wsc validate`.  The transfers, samples, densities and roundings are
 * those of a wafer (src/wafer/wafer_cost.c), so that the parts add up to the simulated compute time
 * of one system but for its jitter.  validate.c calls. */
#include "validation_impl.h"

#include <wsc/cluster.h>

#include <math.h>

/* Sums over stages, micro-batches and steps. */
struct sums {
    struct cycles_breakdown cycles;
    int64_t compute_ps, latency_ps;
};

static void add(struct sums *sum, const struct sums *s)
{
    sum->cycles.products += s->cycles.products;
    sum->cycles.attention += s->cycles.attention;
    sum->cycles.elementwise += s->cycles.elementwise;
    sum->cycles.recompute += s->cycles.recompute;
    sum->compute_ps += s->compute_ps;
    sum->latency_ps += s->latency_ps;
}

/* A pass as the wafer sees it. */
struct pass {
    const struct cluster *c;
    struct cycles_plan plan;
    struct stream_batch batch;
    bool trains;
};

/* One micro-batch of @p n_sequences sequences in the step after @p updates updates. */
static struct sums sums_of_micro_batch(const struct pass *p, int64_t n_sequences, int64_t updates)
{
    const struct cluster *c = p->c;
    struct sums all = {0};
    for (int k = 0; k < model_n_transfers(c->model, p->trains); k++) {
        const struct model_transfer t = model_transfer_at(c->model, k);
        struct model_density some;
        const struct model_density *d =
            model_density_at(c->model, t.stage, updates, &some) ? &some : NULL;
        const int64_t cycles =
            cycles_stage(&c->hw, c->model, &p->plan, t.stage, t.backward, n_sequences, d);
        const struct sums one = {
            .cycles = cycles_stage_breakdown(&c->hw, c->model, &p->plan, t.stage, t.backward,
                                             n_sequences, d),
            .compute_ps = hw_cycles_to_ps(&c->hw, cycles),
            .latency_ps = cycles_latency_ps(c->hw.cluster, c->model, t.stage, t.backward)};
        add(&all, &one);
    }
    return all;
}

/* The step after @p updates updates; consecutive micro-batches of equal sizes are computed once. */
static struct sums sums_of_step(const struct pass *p, int64_t updates)
{
    const int64_t each = model_sequences(p->c->model);
    struct sums all = {0}, micro = {0};
    int64_t computed = -1;
    for (int64_t i = 0; i < p->batch.n_micro; i++) {
        const int64_t n = stream_timed_samples(&p->batch, i, 0) * each;
        if (n != computed) micro = sums_of_micro_batch(p, n, updates);
        computed = n;
        add(&all, &micro);
    }
    return all;
}

/* Divide the time of the mean step of @p sum over the kinds of operations, in whole picoseconds
 * that add up to it. */
static void divide(const struct sums *sum, int n_steps, struct validation_parts *out)
{
    const double kind[] = {sum->cycles.products, sum->cycles.attention, sum->cycles.elementwise,
                           sum->cycles.recompute};
    int64_t *const part[] = {&out->products_ps, &out->attention_ps, &out->elementwise_ps,
                             &out->recompute_ps};
    enum { N_KINDS = sizeof kind / sizeof *kind };
    const int64_t compute_ps = sum->compute_ps / n_steps;
    const double all = kind[0] + kind[1] + kind[2] + kind[3];
    double until = 0;
    int64_t before_ps = 0;
    for (int i = 0; i < N_KINDS; i++) {
        until += kind[i];
        const int64_t until_ps = i == N_KINDS - 1 || !(all > 0)
                                     ? compute_ps
                                     : llround((double)compute_ps * (until / all));
        *part[i] = until_ps - before_ps;
        before_ps = until_ps;
    }
    out->latency_ps = sum->latency_ps / n_steps;
}

/* The measured steps of @p row in the pass @p p; steps of a model without sparsity are equal, and
 * those of an evaluation have the weights of the beginning. */
static void fill(const struct pass *p, const struct scaling_row *row, struct validation_parts *out)
{
    const bool equal = !p->c->model->sparsity || !p->trains;
    struct sums all = {0}, step = {0};
    for (int i = 0; i < row->n_steps; i++) {
        if (!i || !equal) step = sums_of_step(p, p->trains ? row->first_step + i : 0);
        add(&all, &step);
    }
    divide(&all, row->n_steps, out);
    out->lanes = p->plan.lanes;
}

static enum wsc_err parts_on(struct cluster *c, const struct scaling_row *row, bool trains,
                             struct validation_parts *out)
{
    struct pass p = {.c = c, .trains = trains};
    struct cluster_change change;
    TRY(cluster_faults_plan(c, row->first_step + row->n_steps, -1));
    TRY(cluster_faults_enter(c, 0, &change));
    TRY(cluster_plan_batch(c, &c->params->train_input, trains, &p.plan, &p.batch));
    fill(&p, row, out);
    return WSC_OK;
}

enum wsc_err validation_parts_of(const struct validation_case *item, const struct scaling_row *row,
                                 struct validation_parts *out)
{
    struct comm *comm = NULL;
    struct cluster *c = NULL;
    const struct memoryx_hooks hooks = {0};
    const bool trains = item->ref->quantity != VALIDATION_EVAL_RATE;
    enum wsc_err rc = comm_create(&comm, false);
    if (!rc) rc = cluster_create(&c, comm, &item->params, item->cluster, false, &hooks);
    if (!rc) rc = parts_on(c, row, trains, out);
    cluster_destroy(&c);
    comm_destroy(&comm);
    return rc;
}
