// SPDX-License-Identifier: Apache-2.0
/* Sweeps over the number of systems: each point runs a few steps of the whole emulated cluster
 * without values in one process, leaves out the first ones, and averages over jitter and changes of
 * the sparsity where there are any.  The points are shared by the ranks of sweep->comm.
 */
#include "scaling_point.h"

#include <wsc/cluster.h>
#include <wsc/mem.h>
#include <wsc/stop.h>

#include <stddef.h>
#include <stdio.h>

/* The first step streams into empty links, the second has the first one's boundary before it; from
 * the third on, steps are alike.  With jitter, lost packets or masks that change they differ: then
 * the mean of a few pairs of steps.
 */
enum { WARM_UP = SCALING_WARM_UP, ALIKE = 1, VARIED = 8 };

/* Sums over the measured steps. */
struct measured {
    int n_seen, n_steps;
    struct memoryx_batch sum;
};

/* WSC_INTERRUPTED when the process was asked to stop while it watches. */
static WSC_CHECKED enum wsc_err stop_if_asked(void)
{
    const int asked = wsc_stop_asked();
    return asked ? WSC_RAISE(WSC_INTERRUPTED, "stopped by %s", wsc_stop_name(asked)) : WSC_OK;
}

/* Hook of shard 0: steps after the warm-up are summed. */
static enum wsc_err add_step(void *ctx, const struct memoryx_batch *batch)
{
    struct measured *m = ctx;
    TRY(stop_if_asked());
    if (m->n_seen++ < WARM_UP) return WSC_OK;
    m->n_steps++;
    m->sum.time_ps += batch->time_ps;
    vtime_breakdown_add(&m->sum.breakdown, &batch->breakdown);
    return WSC_OK;
}

/* Means whose parts still add up: each part is a difference of rounded running sums. */
static struct vtime_breakdown mean_parts(const struct measured *m)
{
    const struct vtime_breakdown *b = &m->sum.breakdown;
    const int64_t part[] = {b->compute_ps, b->weights_wait_ps, b->reduce_wait_ps, b->boundary_ps,
                            b->input_wait_ps};
    int64_t mean[sizeof part / sizeof *part], before = 0;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        const int64_t until = before + part[i];
        mean[i] = until / m->n_steps - before / m->n_steps;
        before = until;
    }
    return (struct vtime_breakdown){mean[0], mean[1], mean[2], mean[3], mean[4]};
}

/* Useful FLOPs of a token, mean of the measured steps: masks and gradients differ by step. */
static double mean_useful_flop(const struct model *model, const struct stream_pass *pass,
                               const struct measured *m)
{
    double sum = 0;
    if (pass->mode != STREAM_TRAIN) return model_useful_flop_per_token(model, false, pass->updates);
    for (int i = 0; i < m->n_steps; i++)
        sum += model_useful_flop_per_token(model, true, pass->first_step + WARM_UP + i);
    return sum / m->n_steps;
}

/* One row from the means of the measured steps. */
static void fill_row(const struct cluster *c, const struct stream_pass *pass,
                     const struct measured *m, struct scaling_row *row)
{
    const bool training = pass->mode == STREAM_TRAIN;
    const int64_t n = c->machine->n_wafers;
    const int64_t time_ps = m->sum.time_ps / m->n_steps;
    const double useful = mean_useful_flop(c->model, pass, m);
    const struct cluster_rates r =
        cluster_rates_of(&c->hw, c->model, n, pass->batch.batch_size, time_ps, useful);
    *row = (struct scaling_row){.params = c->model->n_params,
                                .n_reference = c->model->n_reference,
                                .num_csx = n,
                                .global_batch = pass->batch.batch_size,
                                .tokens_per_s = r.tokens_per_s,
                                .samples_per_s = r.samples_per_s,
                                .step_time_ps = time_ps,
                                .breakdown = mean_parts(m),
                                .first_step = pass->first_step + WARM_UP,
                                .n_steps = m->n_steps,
                                .mfu = r.mfu,
                                .joules_per_token = r.joules_per_token,
                                .flop_per_token = model_flop_per_token(c->model, training),
                                .useful_flop_per_token = useful,
                                .flop_per_token_hoffmann =
                                    model_flop_per_token_hoffmann(c->model, training)};
}

bool scaling_changes_masks(const struct zoo_sparsities *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->entry[i].algorithm != ZOO_SPARSITY_STATIC) return true;
    return false;
}

bool scaling_is_noisy(const struct hw_machine *cluster)
{
    bool noisy = cluster->effects.jitter && (cluster->jitter > 0 || cluster->jitter_stage > 0);
    for (int i = 0; i < cluster->faults.n && !noisy; i++)
        noisy = hw_fault_has(&cluster->faults.item[i], HW_FAULT_IS_SAMPLED);
    return noisy;
}

/* Masks and gradients of a training whose masks change differ from step to step too. */
static bool varies_by_step(const struct hw_machine *c, const struct zoo_params *params, bool trains)
{
    return scaling_is_noisy(c) || (trains && scaling_changes_masks(&params->sparsity));
}

/* Build the cluster, run the steps of one pass, read the row. */
static enum wsc_err simulate(struct comm *comm, const struct zoo_params *params,
                             const struct hw_machine *cluster, const struct scaling_place *place,
                             struct scaling_row *row)
{
    struct cluster *c = NULL;
    struct measured measured = {0};
    const struct memoryx_hooks hooks = {.on_batch = add_step, .ctx = &measured};
    struct cycles_plan plan;
    const bool trains = place->work == SCALING_TRAINING;
    const bool varies = varies_by_step(cluster, params, trains);
    const int n_measured = place->n_measured ? place->n_measured : varies ? VARIED : ALIKE;
    const struct zoo_input *input =
        place->work == SCALING_EVALUATION ? &params->eval_input : &params->train_input;
    struct stream_pass pass = {.mode = trains ? STREAM_TRAIN : STREAM_EVAL,
                               .first_step = trains ? place->first_step : 0,
                               .updates = trains ? 0 : place->first_step,
                               .n_steps = WARM_UP + n_measured};
    const struct wafer_work work = {.plan = &plan, .seed = cluster_seed(params)};
    struct cluster_change change;
    enum wsc_err rc;
    TRY_GOTO(cluster_create(&c, comm, params, cluster, false, &hooks), cleanup);
    TRY_GOTO(cluster_faults_plan(c, stream_end_step(&pass), -1), cleanup);
    TRY_GOTO(cluster_faults_enter(c, 0, &change), cleanup);
    TRY_GOTO(cluster_plan_batch(c, input, trains, &plan, &pass.batch), cleanup);
    TRY_GOTO(cluster_run_pass(c, &pass, &work), cleanup);
    fill_row(c, &pass, &measured, row);
    row->micro_batch = plan.micro_batch / model_sequences(c->model);
cleanup:
    cluster_destroy(&c);
    return rc;
}

enum wsc_err scaling_point_at(const struct scaling_model *model, const struct hw_machine *cluster,
                              const struct scaling_place *place, struct scaling_row *row)
{
    /* A shallow copy: only numbers differ, and the original owns the rest. */
    struct zoo_params params = *model->params;
    struct comm *comm = NULL;
    TRY(stop_if_asked());
    params.runconfig.num_csx = place->num_csx;
    if (place->work != SCALING_EVALUATION) params.train_input.batch_size = place->global_batch;
    params.runconfig.checkpoint_steps =
        0; /* a pause between steps; scaling_training_at() adds it */
    enum wsc_err rc = comm_create(&comm, false);
    if (!rc) rc = simulate(comm, &params, cluster, place, row);
    row->model = model->name;
    comm_destroy(&comm);
    return rc;
}

enum wsc_err scaling_point(const struct scaling_model *model, const struct hw_machine *cluster,
                           int64_t num_csx, int64_t global_batch, struct scaling_row *row)
{
    const struct scaling_place place = {.num_csx = num_csx, .global_batch = global_batch};
    return scaling_point_at(model, cluster, &place, row);
}

enum wsc_err scaling_evaluation(const struct scaling_model *model, const struct hw_machine *cluster,
                                int64_t num_csx, int64_t global_batch, struct scaling_row *row)
{
    const struct scaling_place place = {
        .num_csx = num_csx, .global_batch = global_batch, .work = SCALING_FORWARD};
    return scaling_point_at(model, cluster, &place, row);
}

/* Sequences of the global batch on n systems: constant in strong scaling, n times the batch per
 * system in weak scaling. */
static int64_t batch_for(const struct scaling_sweep *s, const struct zoo_params *p, int64_t n)
{
    const int64_t per_csx =
        s->batch_per_csx ? s->batch_per_csx : p->train_input.batch_size / p->runconfig.num_csx;
    if (s->global_batch) return s->global_batch;
    if (s->strong) return p->train_input.batch_size;
    return (per_csx > 0 ? per_csx : 1) * n;
}

/* Against the smallest count, which need not come first. */
static void fill_speedup(struct scaling_row *row, int n)
{
    const struct scaling_row *base = NULL;
    for (int i = 0; i < n; i++)
        if (!*row[i].left_out && (!base || row[i].num_csx < base->num_csx)) base = &row[i];
    if (!base) return;
    const double per_system = base->tokens_per_s / (double)base->num_csx;
    for (int i = 0; i < n; i++) {
        row[i].speedup = row[i].tokens_per_s / per_system;
        row[i].efficiency = row[i].speedup / (double)row[i].num_csx;
    }
}

static int n_points(const struct scaling_sweep *s)
{
    return s->n_models * s->n_counts;
}

/* Point @p i of the sweep, models first; on any thread. */
static enum wsc_err run_point(void *ctx, int i, void *row)
{
    const struct scaling_sweep *s = ctx;
    const struct scaling_model *model = &s->model[i / s->n_counts];
    const int64_t n = s->num_csx[i % s->n_counts];
    enum wsc_err rc = scaling_point(model, s->cluster, n, batch_for(s, model->params, n), row);
    if (rc == WSC_CAPACITY && s->leaves_out) {
        struct scaling_row *out = row;
        *out = (struct scaling_row){.num_csx = n};
        (void)snprintf(out->left_out, sizeof out->left_out, "%s", wsc_err_message());
        return WSC_OK;
    }
    return rc ? wsc_err_frame(rc, __FILE__, __LINE__, model->name) : WSC_OK;
}

static void show_point(void *ctx, int done, int i)
{
    const struct scaling_sweep *s = ctx;
    if (!s->progress) return;
    s->progress(s->progress_ctx, "sweep", done, n_points(s), s->model[i / s->n_counts].name);
}

static bool is_large(void *ctx, int i)
{
    const struct scaling_sweep *s = ctx;
    return cluster_has_workers(s->num_csx[i % s->n_counts]);
}

static enum wsc_err run_points(const struct scaling_sweep *s, struct scaling_row *row)
{
    struct scaling_sweep sweep = *s;
    const struct scaling_items items = {.item = row,
                                        .bytes = sizeof *row,
                                        .n = n_points(s),
                                        .compute = run_point,
                                        .alone = is_large,
                                        .progress = show_point,
                                        .ctx = &sweep};
    TRY(scaling_share(s->comm, &items));
    for (int m = 0; m < s->n_models; m++) {
        struct scaling_row *of_model = row + (ptrdiff_t)m * s->n_counts;
        for (int i = 0; i < s->n_counts; i++)
            of_model[i].model = s->model[m].name; /* an address of this process */
        fill_speedup(of_model, s->n_counts);
    }
    return WSC_OK;
}

enum wsc_err scaling_refuse_passing_faults(const struct hw_machine *cluster)
{
    for (int i = 0; i < cluster->faults.n; i++) {
        const struct hw_fault *f = &cluster->faults.item[i];
        const bool always = f->from == 1 && !f->steps && !(f->rate > 0);
        if (always && !hw_fault_has(f, HW_FAULT_LOSES_MEMORY)) continue;
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "fault %s: a prediction looks at a step like all others",
                                      f->text),
                            "wsc run --numerics none reports what it costs");
    }
    return WSC_OK;
}

enum wsc_err scaling_refuse_other_modes(const struct zoo_params *params)
{
    const enum zoo_mode mode = params->runconfig.mode;
    if (zoo_mode_trains(mode)) return WSC_OK;
    return wsc_err_hint(
        WSC_RAISE(WSC_CONFIG, "%s: the mode does not train; this command simulates training steps",
                  zoo_params_place(params, "runconfig.mode")),
        mode == ZOO_EVAL ? "wsc run --mode eval --numerics none, or a row of quantity eval_rate "
                           "for wsc validate --points"
                         : "wsc run --mode generate --prompt TEXT");
}

/* Batches that can be simulated. */
static enum wsc_err check_batches(const struct scaling_sweep *s)
{
    for (int i = 0; i < n_points(s); i++) {
        const struct scaling_model *model = &s->model[i / s->n_counts];
        const int64_t n = s->num_csx[i % s->n_counts], batch = batch_for(s, model->params, n);
        if (batch > SCALING_MOST_GLOBAL)
            return WSC_RAISE(WSC_USAGE, "%s on %lld systems: %lld sequences, expected at most %d",
                             model->name, (long long)n, (long long)batch, SCALING_MOST_GLOBAL);
        if ((batch - 1) / n >= SCALING_MOST_SEQUENCES)
            return wsc_err_hint(
                WSC_RAISE(WSC_USAGE,
                          "%s on %lld systems: %lld sequences of a system, expected at most %d",
                          model->name, (long long)n, (long long)((batch - 1) / n + 1),
                          SCALING_MOST_SEQUENCES),
                "the rate of a larger batch is nearly that of %d sequences",
                SCALING_MOST_SEQUENCES);
    }
    return WSC_OK;
}

enum wsc_err scaling_run(const struct scaling_sweep *sweep, struct scaling_row **rows)
{
    TRY(check_batches(sweep));
    TRY_NEW(*rows, WSC_MEM_SCALING, n_points(sweep));
    enum wsc_err rc = run_points(sweep, *rows);
    if (!rc) return WSC_OK;
    wsc_free(*rows);
    *rows = NULL;
    return rc;
}
