// SPDX-License-Identifier: Apache-2.0
/* What a job logs: the hooks that shard 0 calls after each batch, and the results at the end.
 *
 * job_on_batch() adds up times and losses of training and evaluation batches and prints every
 * log_steps-th one (log_lines.c), into metrics.jsonl (job_metrics.c) and for TensorBoard
 * (job_events.c).  At the end the totals become performance.json (job_performance.c). */
#include "job_log.h"
#include "fault_costs.h"
#include "fault_table.h"
#include "job_classes.h"
#include "job_events.h"
#include "job_kernel_table.h"
#include "job_rewards.h"
#include "job_roles.h"

#include <wsc/clock.h>
#include <wsc/host.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/units.h>

#include <math.h>
#include <stdio.h>

/* ---- training -------------------------------------------------------------------------------- */

/* Useful FLOPs of a token in the step of @p b, by the masks that it begins with. */
static double useful_flop(const struct job_state *s, const struct memoryx_batch *b)
{
    return model_useful_flop_per_token(s->cluster->model, true, b->step - 1 - s->at.uncounted);
}

/* Rates of the machine are of this step alone; those of the host are since the step that was logged
 * before.  Tokens count those of earlier runs too, which a resumed run continues; `at` is where the
 * present pass began. */
static struct job_logged_step step_report(struct job_state *s, const struct memoryx_batch *b)
{
    const struct cluster *c = s->cluster;
    const int64_t n = s->train.batch.batch_size;
    const struct cluster_rates r =
        cluster_rates_of(&c->hw, c->model, c->machine->n_wafers, n, b->time_ps, useful_flop(s, b));
    const double host_s = wsc_clock_s() - s->log.host_logged_s;
    const double host_samples = (double)((b->step - s->log.host_logged_step) * n);
    const double host_rate = host_s > 0 ? host_samples / host_s : 0;
    return (struct job_logged_step){.step = b->step,
                                    .has_values = b->has_values,
                                    .loss = b->loss,
                                    .lr = b->learning_rate,
                                    .grad_norm = b->grad_norm,
                                    .loss_scale = b->loss_scale,
                                    .skipped = b->skipped,
                                    .tokens = (s->at.samples + (b->step - s->at.step) * n) *
                                              model_tokens(c->model),
                                    .virtual_time_ps = b->end.ps,
                                    .step_time_ps = b->time_ps,
                                    .samples_per_s = r.samples_per_s,
                                    .tokens_per_s = r.tokens_per_s,
                                    .host_samples_per_s = host_rate,
                                    .host_tokens_per_s = host_rate * (double)model_tokens(c->model),
                                    .layer_grad_norm = b->layer_grad_norm,
                                    .n_layers = c->model->L,
                                    .params_norm = b->params_norm,
                                    .kept = b->kept,
                                    .mask_step = b->mask_step,
                                    .has_noise = b->noise.known,
                                    .pegsqnorm = b->noise.micro_shard_square,
                                    .gsqnorm = b->noise.batch_square,
                                    .noise_variance = b->noise.variance,
                                    .noise_scale = b->noise.scale,
                                    .has_hash = b->has_hash,
                                    .weights_hash = b->weights_hash,
                                    .breakdown = b->breakdown};
}

/* Every step, logged or not: the totals of performance.json are of all steps. */
static void account(struct job_state *s, const struct memoryx_batch *b)
{
    vtime_breakdown_add(&s->result.total, &b->breakdown);
    s->result.total_time_ps += b->time_ps;
    s->result.useful_flop += useful_flop(s, b);
    s->log.last_loss = b->loss;
    s->log.last_skipped = b->skipped;
    s->log.noise_scale = b->noise.scale;
    job_rate_update(&s->log.rate, s->train.batch.batch_size, b->time_ps);
}

const char *job_progress_name(const struct job_state *s, const char *by_mode)
{
    return s->job->title ? s->job->title : by_mode;
}

static void show_progress(const struct job_state *s, const struct memoryx_batch *b)
{
    char note[64];
    /* A lost shard can go back to a checkpoint from before this run. */
    const int64_t done = b->step > s->run.first_step ? b->step - s->run.first_step : 0;
    if (b->has_values)
        (void)snprintf(note, sizeof note, "loss %.4f", b->loss);
    else
        (void)snprintf(note, sizeof note, "%.3f ms/step", (double)b->time_ps * 1e-9);
    out_progress_at(job_progress_name(s, "train"), done, s->run.last_step - s->run.first_step,
                    note);
}

/* The step as the training has it: with the checkpoint that an evaluation after it waits for. */
static struct memoryx_batch with_pause(const struct memoryx_batch *b)
{
    struct memoryx_batch all = *b;
    all.end = vtime_add(b->end, b->pause_ps);
    all.time_ps += b->pause_ps;
    all.breakdown.boundary_ps += b->pause_ps;
    return all;
}

static enum wsc_err on_train_batch(struct job_state *s, const struct memoryx_batch *b)
{
    const int64_t every = s->job->params->runconfig.log_steps;
    account(s, b);
    show_progress(s, b);
    /* The last step is logged whatever log_steps says: its line has the result of the run. */
    if (b->step % every && b->step != s->run.last_step) return WSC_OK;
    struct job_logged_step step = step_report(s, b);
    if (b->has_values)
        step.n_rewards = job_rewards_trained(s->cluster->model, &b->sums, step.reward);
    s->log.host_logged_s = wsc_clock_s();
    s->log.host_logged_step = b->step;
    const struct job_pace pace =
        job_pace_of(&s->log.rate, s->train.batch.batch_size, s->log.loop_end - b->step,
                    s->run.last_step - b->step, s->eval.events != NULL);
    job_print_train(&step, &pace);
    job_print_noise(&step);
    job_print_rewards(&step);
    TRY(job_metrics_step(s->log.metrics, &step));
    return job_events_train(s, &step, &pace);
}

/* ---- host ------------------------------------------------------------------------------------ */

void job_measure_host(struct job_state *s)
{
    const int64_t rss = wsc_mem_peak_rss_bytes();
    s->result.sent_bytes = comm_max(s->comm, comm_sent_bytes(s->comm));
    s->result.wafer_rss_bytes = comm_max(s->comm, job_has_wafer(s->cluster) ? rss : 0);
    s->result.memoryx_rss_bytes = comm_max(s->comm, job_has_shard(s->cluster) ? rss : 0);
}

/* ---- links ----------------------------------------------------------------------------------- */

enum wsc_err job_log_carried(struct job_state *s)
{
    if (!s->job->values) return WSC_OK;
    return stream_net_carried(s->cluster->net, &s->result.carried, &s->result.n_carried);
}

static struct job_payload payload_of(const struct job_state *s)
{
    const struct cluster *c = s->cluster;
    return (struct job_payload){s->result.carried, s->result.n_carried, c->machine,
                                model_is_sparse(c->model)};
}

/* ---- evaluation ------------------------------------------------------------------------------ */

/* An evaluation between steps is part of the training, which is what takes the time. */
static void show_eval_progress(const struct job_state *s)
{
    const long long n = s->log.eval.n_batches;
    char note[64];
    (void)snprintf(note, sizeof note, "evaluation, batch %lld of %lld", n,
                   (long long)s->log.eval.n_planned);
    if (s->job->params->runconfig.mode == ZOO_EVAL)
        out_progress_at("evaluate", n, s->log.eval.n_planned, NULL);
    else
        out_progress(s->at.step - s->run.first_step, note);
}

static void on_eval_batch(struct job_state *s, const struct memoryx_batch *b)
{
    struct job_eval_sums *e = &s->log.eval;
    const int64_t every = s->job->params->runconfig.log_steps;
    e->n_batches++;
    show_eval_progress(s);
    e->loss += b->loss;
    e->sums.loss_sum += b->sums.loss_sum;
    e->sums.n_tokens += b->sums.n_tokens;
    e->sums.n_correct += b->sums.n_correct;
    e->sums.nats += b->sums.nats;
    e->sums.n_sequences += b->sums.n_sequences;
    e->sums.n_sequences_correct += b->sums.n_sequences_correct;
    job_rewards_add(&e->sums.rewards, &b->sums.rewards);
    job_rate_update(&e->rate, s->eval.batch.batch_size, b->time_ps);
    if (!b->has_values || e->n_batches % every) return;
    job_print_eval(s->at.step, e->n_batches, b->loss, &e->rate);
}

static void add_score(struct job_evaluation *r, const char *name, const char *key, double value)
{
    r->score[r->n_scores++] = (struct job_score){name, key, value};
}

/* A mean; of nothing there is none: NaN without values, and where no token has a label. */
static double mean(double sum, int64_t n)
{
    return n ? sum / (double)n : NAN;
}

/* Metrics by the heads of the model, with the names of the Model Zoo. */
static void add_scores(const struct job_state *s, struct job_evaluation *r)
{
    const struct stream_loss *sums = &s->log.eval.sums;
    const struct model *m = s->cluster->model;
    if (m->zoo.dpo.on) {
        if (s->job->values) r->n_scores = job_rewards_evaluated(m, sums, r->score);
        return;
    }
    const double of_sequences = mean((double)sums->n_sequences_correct, sums->n_sequences);
    const double accuracy = mean((double)sums->n_correct, sums->n_tokens);
    const double nats = mean(sums->nats, sums->n_tokens);
    if (m->head[0].loss == MODEL_SQUARED_ERROR) {
        add_score(r, "eval/mse", "eval_mse", nats);
        return;
    }
    const bool masked = m->head[0].dense == MODEL_DENSE_W;
    add_score(r, masked ? "eval/accuracy_masked_lm" : "eval/accuracy", "eval_accuracy", accuracy);
    r->n_scores += job_classes_evaluated(s, r->score + r->n_scores);
    if (m->head[0].rows == MODEL_ROWS_FIRST && m->head[0].outputs == 2)
        add_score(r, "eval/f1_score", "eval_f1_score", accuracy); /* over both classes together */
    if (m->head[0].loss == MODEL_SPAN_ENTROPY)
        add_score(r, "eval/exact_match", "eval_exact_match", of_sequences);
    if (m->head[0].output != MODEL_LM_HEAD_W) return;
    add_score(r, masked ? "eval/mlm_perplexity" : "eval/lm_perplexity", "eval_perplexity",
              exp(nats));
    if (m->n_heads > 1) add_score(r, "eval/accuracy_cls", "eval_accuracy_cls", of_sequences);
}

/* The loss is the mean over batches, as the Model Zoo prints it; accuracy and perplexity are over
 * all tokens, so that batches with more masked tokens weigh less.  Batches of requests have no
 * meaning of their own: their loss is over all tokens too.  NaN without values. */
static double loss_of(const struct job_state *s)
{
    const struct job_eval_sums *e = &s->log.eval;
    if (!s->job->values) return NAN;
    return s->scoring ? mean(e->sums.nats, e->sums.n_tokens) : e->loss / (double)e->n_batches;
}

static struct job_evaluation summarise(const struct job_state *s)
{
    const struct job_eval_sums *e = &s->log.eval;
    struct job_evaluation r = {.step = s->at.step,
                               .num_csx = s->job->params->runconfig.num_csx,
                               .batches = e->n_batches,
                               .samples = e->rate.samples,
                               .virtual_time_ps = e->rate.time_ps,
                               .samples_per_s = e->rate.global_rate,
                               .loss = loss_of(s),
                               .payload = payload_of(s)};
    add_scores(s, &r);
    return r;
}

enum wsc_err job_log_eval_end(struct job_state *s)
{
    if (!s->log.eval.n_batches) return WSC_OK; /* another rank has shard 0 */
    const struct job_evaluation r = summarise(s);
    s->result.evaluation_ps += r.virtual_time_ps;
    if (s->job->values) {
        job_print_eval_end(&r);
        WSC_INFO("Evaluation completed successfully!");
        TRY(job_metrics_eval(s->log.metrics, &r));
        TRY(job_events_eval(s, &r));
    } else {
        WSC_INFO("Evaluation of %lld batches: %.2f samples/sec of the emulated machine",
                 (long long)r.batches, r.samples_per_s);
    }
    /* After a training, stdout belongs to its performance.json. */
    if (s->job->params->runconfig.mode != ZOO_EVAL) return WSC_OK;
    job_payload_log(&r.payload);
    return s->job->json ? job_evaluation_print(&r) : WSC_OK;
}

/* ---- generation ------------------------------------------------------------------------------ */

/* How many steps count is known at the end, when the texts come. */
static enum wsc_err on_generated(struct job_state *s, const struct memoryx_batch *b)
{
    struct job_generated *g = &s->result.generated;
    TRY_GROW(g->step, WSC_MEM_RUN, g->room, g->n_passed + 1);
    g->step[g->n_passed++] = (struct job_generated_step){b->time_ps, b->breakdown};
    out_progress_at("generate", g->n_passed, s->job->max_new_tokens, "tokens of a text");
    return WSC_OK;
}

/* ---- the hook -------------------------------------------------------------------------------- */

enum wsc_err job_on_batch(void *ctx, const struct memoryx_batch *batch)
{
    struct job_state *s = ctx;
    if (s->job->params->runconfig.mode == ZOO_GENERATE) return on_generated(s, batch);
    if (s->at.in_eval) {
        on_eval_batch(s, batch);
        return WSC_OK;
    }
    const struct memoryx_batch step = with_pause(batch);
    return on_train_batch(s, &step);
}

/* ---- start and end --------------------------------------------------------------------------- */

/* What dropout takes on the mesh is assumed, and missing in the analytical cycles beside it. */
static void tell_dropout(const struct job_state *s)
{
    static const enum model_drop_place place[] = {MODEL_DROP_EMBED, MODEL_DROP_SCORES,
                                                  MODEL_DROP_ATTN};
    bool drops = false;
    for (int i = 0; i < (int)(sizeof place / sizeof *place); i++)
        drops = drops || model_dropout_at(s->cluster->model, 0, 0, place[i]).below > 0;
    if (drops && s->job->numerics == KERNELS_MESH)
        WSC_INFO("Dropout: %d cycles a random number on the mesh, which is assumed; the analytical "
                 "cycles have no dropout.",
                 PROGRAMS_RANDOM_CYCLES);
}

void job_warn_of_frozen(const struct zoo_params *params, const struct model *model)
{
    const char *group;
    for (int at = 0; (group = model_frozen_group(model, params, &at)) != NULL;)
        WSC_WARNING("%s: %s: without effect: all tensors of the group are frozen",
                    zoo_params_place(params, "optimizer.adjust_learning_rate"), group);
}

void job_log_start(const struct job_state *s)
{
    const struct cluster *c = s->cluster;
    const struct stream_topology *t = c->machine;
    const int64_t b = s->train.batch.batch_size;
    char params[32], threads[64] = "";
    out_si(params, sizeof params, (double)c->model->n_params);
    if (num_threads() > 1)
        (void)snprintf(threads, sizeof threads,
                       comm_size(s->comm) == 1 ? " of %d threads" : ", rank 0 of %d threads",
                       num_threads());
    WSC_INFO("%s parameters, %d stages; %d x %s, %d SwarmX node%s, %d MemoryX shard%s on %d rank%s"
             "%s",
             params, c->model->n_stages, t->n_wafers, c->hw.cluster->name, t->n_nodes,
             wsc_plural(t->n_nodes), t->n_shards, wsc_plural(t->n_shards), comm_size(s->comm),
             wsc_plural(comm_size(s->comm)), threads);
    if (s->job->params->train_input.use_vsl || s->job->params->eval_input.use_vsl)
        WSC_INFO("Packed texts (use_vsl): a sample takes the time of a whole sequence.");
    if (!b) return;
    job_warn_of_frozen(s->job->params, c->model);
    WSC_INFO("Effective batch size is %lld.", (long long)b);
    const struct cycles_plan *p = &s->train.plan;
    WSC_INFO("Plan: %d lane%s, micro-batch %lld x %lld per system, recomputation %s", p->lanes,
             wsc_plural(p->lanes), (long long)(p->micro_batch / model_sequences(c->model)),
             (long long)s->train.batch.n_micro, p->recompute ? "on" : "off");
    tell_dropout(s);
    if (p->spill_bytes_per_sequence)
        WSC_INFO("%.3g MB of activations per sequence spill to the activation servers",
                 (double)p->spill_bytes_per_sequence * 1e-6);
    if (s->train.batch.n_micro_shards < t->n_wafers)
        WSC_WARNING("%lld micro-shards of the batch for %d systems: some have nothing to do",
                    (long long)s->train.batch.n_micro_shards, t->n_wafers);
}

/* What every kind of run has: who ran, where, from what. */
static struct job_performance whereabouts(const struct job_state *s)
{
    const struct cluster *c = s->cluster;
    const struct job *job = s->job;
    return (struct job_performance){.num_csx = c->machine->n_wafers,
                                    .ranks = comm_size(s->comm),
                                    .roles = c->machine->n_roles,
                                    .params = c->model->n_params,
                                    .host_seconds = wsc_clock_s() - s->log.host_start_s,
                                    .wafer_peak_rss_bytes = s->result.wafer_rss_bytes,
                                    .memoryx_peak_rss_bytes = s->result.memoryx_rss_bytes,
                                    .host_sent_bytes = s->result.sent_bytes,
                                    .model_name = job->params->file,
                                    .params_file = job->params->file,
                                    .cluster_file = job->cluster->file,
                                    .cluster_name = job->cluster->name,
                                    .cluster_hash = job->cluster->hash,
                                    .kernel = s->result.kernel,
                                    .n_kernels = s->result.n_kernels,
                                    .payload = payload_of(s),
                                    .numerics = kernels_numerics_option(s->job->numerics),
                                    .command = job->command};
}

/* The time of the run is that of its steps and of the recoveries between them.  Host memory of
 * activations is known only where the host computes the values. */
static struct job_performance performance(const struct job_state *s)
{
    const struct cluster *c = s->cluster;
    const int64_t steps = job_trained_steps(s), n_csx = c->machine->n_wafers;
    const int64_t samples = steps * s->train.batch.batch_size;
    const int64_t time_ps = s->result.total_time_ps + s->at.recovery_ps;
    const double useful = steps ? s->result.useful_flop / (double)steps : 0;
    const struct cluster_rates r =
        cluster_rates_of(&c->hw, c->model, n_csx, samples, time_ps, useful);
    struct job_performance p = whereabouts(s);
    p.global_batch_size = s->train.batch.batch_size;
    p.micro_batch_size = s->train.plan.micro_batch / model_sequences(c->model);
    p.first_step = s->run.first_step;
    p.steps = steps;
    p.virtual_time_ps = time_ps;
    p.rate = s->log.rate.rate;
    p.global_rate = s->log.rate.global_rate;
    p.samples_per_s = r.samples_per_s;
    p.tokens_per_s = r.tokens_per_s;
    p.mfu = r.mfu;
    p.joules_per_token = r.joules_per_token;
    if (p.host_seconds > 0)
        p.host_tokens_per_s = (double)(samples * model_tokens(c->model)) / p.host_seconds;
    p.breakdown = s->result.total;
    p.recovery_ps = s->at.recovery_ps;
    p.evaluation_ps = s->result.evaluation_ps;
    p.fault = s->result.fault;
    p.n_faults = s->result.n_faults;
    if (s->job->params->optimizer.gradient_noise_scale && s->job->values)
        p.noise_scale = &s->log.noise_scale;
    if (s->job->numerics == KERNELS_HOST)
        p.wafer_activation_bytes = host_act_bytes(
            c->model, stream_max_samples(&s->train.batch) * model_sequences(c->model), true);
    return p;
}

/* A run that was stopped leaves its totals too: one that resumes in the evaluation after the last
 * step trains nothing, and keeps the file. */
enum wsc_err job_write_performance(struct job_state *s, bool show)
{
    TRY(job_find_fault_costs(s));
    const struct job_performance p = performance(s);
    TRY(job_performance_write(s->job->params->runconfig.model_dir, &p));
    const bool tables = !s->job->no_tables && !s->job->json;
    if (!show) return WSC_OK;
    if (s->result.n_kernels && tables)
        TRY(job_kernels_print(s->result.kernel, s->result.n_kernels));
    if (s->result.n_carried && !s->job->json) TRY(job_payload_print(&p.payload, tables));
    if (s->result.n_faults && tables)
        TRY(job_fault_costs_print(s->result.fault, s->result.n_faults));
    return s->job->json ? job_performance_print(&p) : WSC_OK;
}

/* Rates over all new tokens, from the first step to the last one with an open text; the mean time
 * of a token leaves out the first step, which computes the whole prompts. */
enum wsc_err job_write_generated(struct job_state *s)
{
    const struct job_generated *g = &s->result.generated;
    const struct cluster *c = s->cluster;
    struct job_performance p = whereabouts(s);
    for (int64_t i = 0; i < g->steps; i++) {
        p.virtual_time_ps += g->step[i].time_ps;
        vtime_breakdown_add(&p.breakdown, &g->step[i].breakdown);
    }
    const int64_t first_ps = g->steps ? g->step[0].time_ps : 0;
    const double seconds = wsc_seconds((double)p.virtual_time_ps);
    const struct job_generation generation = {
        .prompts = g->n_prompts,
        .prompt_tokens = g->prompt_tokens,
        .new_tokens = g->new_tokens,
        .first_token_ps = first_ps,
        .token_ps = g->steps > 1 ? (p.virtual_time_ps - first_ps) / (g->steps - 1) : 0,
        .cache_bytes_per_wafer = g->cache_bytes,
        .texts = g->texts.bytes,
        .scores = g->scores};
    p.generation = &generation;
    p.global_batch_size = g->n_prompts;
    p.micro_batch_size = s->eval.plan.micro_batch;
    p.steps = g->steps;
    if (s->job->numerics == KERNELS_HOST)
        p.wafer_activation_bytes = host_act_bytes(c->model, g->most_texts, false);
    if (seconds > 0) {
        p.samples_per_s = (double)g->n_prompts / seconds;
        p.tokens_per_s = (double)g->new_tokens / seconds;
        p.joules_per_token = hw_cluster_power_w(&c->hw, p.num_csx) / p.tokens_per_s;
    }
    if (p.host_seconds > 0) p.host_tokens_per_s = (double)g->new_tokens / p.host_seconds;
    char then[64] = "";
    if (g->steps > 1)
        (void)snprintf(then, sizeof then, ", then one every %.6g ms",
                       (double)generation.token_ps * 1e-9);
    WSC_INFO("Generated %lld token(s) after %lld prompt(s) at %.1f tokens/sec: the first after "
             "%.6g ms%s.",
             (long long)g->new_tokens, (long long)g->n_prompts, p.tokens_per_s,
             (double)first_ps * 1e-9, then);
    job_payload_log(&p.payload);
    TRY(job_performance_write(s->job->params->runconfig.model_dir, &p));
    return s->job->json ? job_performance_print(&p) : WSC_OK;
}
