// SPDX-License-Identifier: Apache-2.0
/* A job from start to end: set-up, the training loop, evaluation, the end.
 *
 * job_run() sets up in an order that all ranks share (roles, outputs, data, comparison of ranks,
 * restore, counters), then trains in passes that stop where something is due: a checkpoint, an
 * evaluation, a fault, a look at signals.  Until the first pass ranks agree on every error; later
 * an error is one rank's alone and ends the job.  Checkpoints are in job_checkpoint.c, signals in
 * job_stop.c, what is logged in job_log.c. */
#include "job_check.h"
#include "job_checkpoint.h"
#include "job_events.h"
#include "job_generate.h"
#include "job_history.h"
#include "job_log.h"
#include "job_mesh.h"
#include "job_record.h"
#include "job_same.h"
#include "job_samples.h"
#include "job_scoring.h"
#include "job_stop.h"
#include "job_threads.h"
#include "job_zeros.h"
#include "shared_folder.h"

#include <wsc/check.h>
#include <wsc/clock.h>
#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool trains(const struct job_state *s)
{
    enum zoo_mode mode = s->job->params->runconfig.mode;
    return mode == ZOO_TRAIN || mode == ZOO_TRAIN_AND_EVAL;
}

static bool evaluates(const struct job_state *s)
{
    enum zoo_mode mode = s->job->params->runconfig.mode;
    return mode == ZOO_EVAL || mode == ZOO_TRAIN_AND_EVAL;
}

/* ---- set up ---------------------------------------------------------------------------------- */

/* Ranks differ in their roles: only those with wafers read samples, only those with shards write
 * checkpoints. */
static bool has_local_wafer(const struct cluster *c)
{
    for (int i = 0; i < c->machine->n_machine_wafers; i++)
        if (comm_is_local(c->comm, stream_role_of_wafer(c->machine, i))) return true;
    return false;
}

static bool has_local_shard(const struct cluster *c)
{
    for (int i = 0; i < c->net->topology->n_shards; i++)
        if (c->memoryx[i]) return true;
    return false;
}

static enum wsc_err open_data(struct job_state *s)
{
    const struct zoo_params *p = s->job->params;
    const struct model *m = s->cluster->model;
    if (!s->job->values || !has_local_wafer(s->cluster)) return WSC_OK;
    if (trains(s))
        TRY(data_source_open(&s->train.source, &p->train_input, m->T, model_token_limit(m)));
    if (evaluates(s))
        TRY(s->scoring
                ? job_scoring_open_data(s, &s->eval.source)
                : data_source_open(&s->eval.source, &p->eval_input, m->T, model_token_limit(m)));
    return WSC_OK;
}

/* Owned by the caller; NULL without memory. */
static char *log_path(const struct job_state *s)
{
    return wsc_asprintf(WSC_MEM_RUN, "%s/run.log", s->job->params->runconfig.model_dir);
}

/* On rank 0.  The claim keeps a second run out of model_dir, before anything there is changed. */
static enum wsc_err open_outputs(struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    if (comm_rank(s->comm)) return WSC_OK;
    TRY(wsc_file_mkdir(rc->model_dir));
    TRY(store_claim(rc->model_dir, &s->checkpoint.claim));
    char *path = log_path(s);
    enum wsc_err err = path ? wsc_log_open(path) : WSC_NOMEM;
    wsc_free(path);
    TRY(err);
    const struct store_folder folder = job_folder(s);
    return store_prune(&folder, 0, 0);
}

/* How it lies on the mesh, where values come from there; whether it fits is tried before the first
 * pass. */
static enum wsc_err plan_mesh(struct job_state *s, const struct zoo_input *input,
                              const struct stream_batch *batch, bool training,
                              struct cycles_plan *plan)
{
    TRY(job_mesh_plan(s, input, batch, training, true, plan));
    return has_local_wafer(s->cluster) ? job_mesh_try(s, batch, training, plan) : WSC_OK;
}

/* Batches are cut for the wafers that are there, so that this is done again when some are lost. */
static enum wsc_err plan(struct job_state *s)
{
    const struct zoo_params *p = s->job->params;
    if (trains(s)) {
        TRY(cluster_plan_batch(s->cluster, &p->train_input, true, &s->train.plan, &s->train.batch));
        if (s->job->numerics == KERNELS_HOST)
            TRY(stream_cut_batch(s->cluster->net, &s->train.batch));
        TRY(plan_mesh(s, &p->train_input, &s->train.batch, true, &s->train.plan));
    }
    if (evaluates(s)) {
        TRY(cluster_plan_batch(s->cluster, &p->eval_input, false, &s->eval.plan, &s->eval.batch));
        TRY(plan_mesh(s, &p->eval_input, &s->eval.batch, false, &s->eval.plan));
    }
    return WSC_OK;
}

/* What a rank does alone; the caller lets all ranks agree on how it went.  The roles come last:
 * what is missing is reported before the memory of weights is asked for. */
static enum wsc_err set_up_local(struct job_state *s)
{
    const struct job *job = s->job;
    const struct memoryx_hooks hooks = {job_on_batch, job_on_texts, job_on_scores, s};
    TRY(job_check(job));
    TRY(cluster_create_empty(&s->cluster, s->comm, job->params, job->cluster, job->values, &hooks));
    job_choose_threads(s);
    TRY(plan(s));
    TRY(open_outputs(s));
    if (job->requests) TRY(job_scoring_create(s));
    TRY(open_data(s));
    return cluster_create_roles(s->cluster);
}

/* Whole batches of the data of @p phase; ranks without wafers have none and learn it from the
 * others. */
static int64_t whole_batches(const struct job_state *s, const struct job_phase *phase)
{
    int64_t here = 0;
    if (phase->source) here = data_source_n_samples(phase->source) / phase->batch.batch_size;
    return comm_max(s->comm, here);
}

/* Steps that the params ask for; an epoch is as long as the data, of which nothing is read without
 * values. */
static enum wsc_err count_steps(struct job_state *s)
{
    const struct zoo_params *p = s->job->params;
    const int64_t epochs = p->runconfig.num_epochs;
    s->run.num_steps = p->runconfig.num_steps;
    if (!trains(s) || epochs == CONF_NULL || !s->job->values) return WSC_OK;
    const int64_t n = whole_batches(s, &s->train);
    if (!n)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "%s: train_input has fewer samples than one batch of %lld",
                                      zoo_params_place(p, "runconfig.num_epochs"),
                                      (long long)s->train.batch.batch_size),
                            "--set train_input.batch_size=...");
    s->run.num_steps = epochs * n;
    if (comm_rank(s->comm) == 0)
        WSC_INFO("An epoch has %lld step%s, and num_epochs asks for %lld.", (long long)n,
                 n == 1 ? "" : "s", (long long)epochs);
    return WSC_OK;
}

/* The last step of this run: that of the run which it continues, or num_steps from here, but
 * never past max_steps. */
static void choose_last_step(struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    s->run.last_step = s->at.step;
    if (!trains(s)) return;
    if (s->run.planned_last_step >= 0) {
        s->run.last_step = s->run.planned_last_step;
        return;
    }
    int64_t last = STORE_LAST_STEP;
    if (s->run.num_steps != CONF_NULL && s->run.num_steps < last - s->at.step)
        last = s->at.step + s->run.num_steps;
    if (rc->max_steps != CONF_NULL && rc->max_steps < last) last = rc->max_steps;
    if (last > s->run.last_step) s->run.last_step = last;
}

/* max_steps of a file may end a run before num_steps of the command line. */
static void log_last_step(const struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    if (!trains(s) || s->run.planned_last_step >= 0) return;
    if (s->run.num_steps == CONF_NULL || s->run.last_step - s->at.step >= s->run.num_steps) return;
    WSC_INFO("%s asks for %lld step%s from step %lld; the run ends at runconfig.max_steps, %lld.",
             rc->num_epochs == CONF_NULL ? "num_steps" : "num_epochs", (long long)s->run.num_steps,
             s->run.num_steps == 1 ? "" : "s", (long long)s->at.step, (long long)rc->max_steps);
}

/* Samples and tokens are counted too, and there are more of them than steps. */
static enum wsc_err check_counts(const struct job_state *s)
{
    const int64_t n_steps = s->run.last_step - s->at.step;
    int64_t n;
    bool over = __builtin_mul_overflow(n_steps, s->train.batch.batch_size, &n);
    over |= __builtin_add_overflow(n, s->at.samples, &n);
    over |= __builtin_mul_overflow(n, model_tokens(s->cluster->model), &n);
    if (!over) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "runconfig: %lld steps after %lld samples have more tokens than "
                                  "64 bits count",
                                  (long long)n_steps, (long long)s->at.samples),
                        "fewer steps: --num_steps, or --max_steps for all starts together");
}

/* After the checkpoint is known: metrics are cut back to its step.  An evaluation that is repeated
 * may have its line already: from a run that was killed before the next checkpoint. */
static enum wsc_err open_metrics(struct job_state *s)
{
    if (comm_rank(s->comm)) return WSC_OK;
    const bool again = s->at.eval_due && trains(s) && evaluates(s);
    const int64_t last = s->at.step ? s->at.step : -1;
    const struct job_kept kept = {last, again ? last - 1 : last};
    TRY(job_metrics_open(&s->log.metrics, s->job->params->runconfig.model_dir, kept));
    return job_events_open(s, trains(s), evaluates(s));
}

/* A shard can lose its memory only when there is a checkpoint to restore it from. */
static enum wsc_err check_restores(const struct job_state *s)
{
    int n;
    const struct hw_event *event = hw_faults_events(s->cluster->faults, &n);
    for (int i = 0; i < n; i++) {
        const int64_t step = event[i].first_step;
        if (event[i].fault->kind != HW_FAULT_LOST_SHARD || step < s->run.first_step) continue;
        if (cluster_checkpoint_before(&s->job->params->runconfig, s->run.first_step, step) >= 0)
            continue;
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "fault %s: no checkpoint is written before step %lld",
                                      event[i].fault->text, (long long)step + 1),
                            "runconfig.checkpoint_steps, or runconfig.save_initial_checkpoint");
    }
    return WSC_OK;
}

/* Faults that a run which does not train never meets. */
static void warn_of_faults(const struct job_state *s)
{
    const struct hw_machine *machine = s->job->cluster;
    for (int i = 0; i < machine->faults.n && comm_rank(s->comm) == 0; i++) {
        const struct hw_fault *f = &machine->faults.item[i];
        if (f->from > 1 || f->kind == HW_FAULT_LOST_SHARD)
            WSC_WARNING("fault %s: without effect: a run that does not train has the faults of "
                        "step 1 alone, and restores no shard",
                        f->text);
    }
}

/* A run that trains meets its faults; any other one those of the first step. */
static enum wsc_err plan_faults(struct job_state *s)
{
    struct cluster_change change;
    TRY(cluster_faults_plan(s->cluster, trains(s) ? s->run.last_step : 1, -1));
    hw_faults_go_on(s->cluster->faults, s->at.reached_step);
    if (trains(s)) return check_restores(s);
    warn_of_faults(s);
    TRY(cluster_faults_enter(s->cluster, 0, &change));
    return change.replan ? plan(s) : WSC_OK;
}

static enum wsc_err restore(struct job_state *s, bool *report)
{
    enum wsc_err rc = s->job->values ? job_restore(s) : WSC_OK;
    if (!s->failure.everywhere) return comm_agree(s->comm, rc, report);
    *report = s->failure.reports;
    return rc;
}

/* What the store needs of the ranks that write a checkpoint together. */
static enum wsc_err group_max(void *comm, int64_t *x)
{
    return comm_subgroup_max(comm, x);
}

static enum wsc_err group_sum(void *comm, uint64_t *x, int n)
{
    return comm_subgroup_sum(comm, x, n);
}

/* Every rank takes the same path through the agreements: one that failed alone would leave the
 * others waiting in the next collective call. */
static enum wsc_err set_up(struct job_state *s, bool *report)
{
    TRY(comm_agree(s->comm, set_up_local(s), report));
    WSC_CHECK(s->cluster, "set up without a cluster");
    s->checkpoint.in_group = has_local_shard(s->cluster);
    s->checkpoint.group = (struct store_group){.max = group_max, .sum = group_sum, .ctx = s->comm};
    s->checkpoint.group.communicator = comm_subgroup(
        s->comm, s->checkpoint.in_group, &s->checkpoint.group.rank, &s->checkpoint.group.size);
    TRY(job_check_shared(s, report));
    TRY(job_compare_data(s, report));
    TRY(job_identify_samples(s, report));
    job_log_start(s);
    TRY(restore(s, report));
    TRY(comm_agree(s->comm, count_steps(s), report));
    choose_last_step(s);
    log_last_step(s);
    if (trains(s) && s->run.planned_last_step < 0)
        s->at.samples += s->job->params->runconfig.skip_samples;
    TRY(comm_agree(s->comm, check_counts(s), report));
    if (trains(s)) TRY(comm_agree(s->comm, job_set_aside(s), report));
    TRY(comm_agree(s->comm, open_metrics(s), report));
    s->run.first_step = s->at.step;
    s->run.first_samples = s->at.samples;
    if (s->job->values && s->job->numerics == KERNELS_HOST)
        job_log_zeros(s->cluster->model, s->at.step);
    TRY(comm_agree(s->comm, plan_faults(s), report));
    s->log.host_start_s = s->log.host_logged_s = wsc_clock_s();
    s->log.host_logged_step = s->at.step;
    return WSC_OK;
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* More samples than there are come round again, and weigh more in the loss. */
static void warn_of_repeated_data(struct job_state *s, int64_t n_batches)
{
    if (s->at.eval_counted) return;
    s->at.eval_counted = true;
    const int64_t batch = s->eval.batch.batch_size;
    const int64_t have =
        comm_max(s->comm, s->eval.source ? data_source_n_samples(s->eval.source) : 0);
    if (have < 1 || n_batches <= have / batch || comm_rank(s->comm)) return;
    WSC_WARNING("runconfig.eval_steps: %lld batches of %lld are more than the %lld samples of "
                "eval_input: they are repeated",
                (long long)n_batches, (long long)batch, (long long)have);
}

/* eval_steps batches, or all whole batches of the data.  Every rank walks the same number; ranks
 * without wafers have no data and learn it from the others. */
static enum wsc_err count_eval_batches(struct job_state *s, int64_t *n)
{
    *n = s->scoring ? job_scoring_batches(s) : s->job->params->runconfig.eval_steps;
    if (s->scoring) return WSC_OK;
    if (*n != CONF_NULL) {
        warn_of_repeated_data(s, *n);
        return WSC_OK;
    }
    *n = s->job->values ? whole_batches(s, &s->eval) : 1;
    if (*n > 0) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "eval_input: fewer samples than one batch of %lld",
                                  (long long)s->eval.batch.batch_size),
                        "--set eval_input.batch_size=...");
}

/* Batches [first, first + n) of the evaluation data. */
static enum wsc_err evaluate_batches(struct job_state *s, int64_t first, int64_t n)
{
    const struct stream_pass pass = {.mode = STREAM_EVAL,
                                     .first_step = first,
                                     .updates = s->at.step,
                                     .n_steps = n,
                                     .first_sample = first * s->eval.batch.batch_size,
                                     .batch = s->eval.batch,
                                     .values = s->job->values,
                                     .scores = s->scoring && s->job->values};
    const struct wafer_work work = {.plan = &s->eval.plan,
                                    .numerics = s->job->numerics,
                                    .source = s->eval.source,
                                    .seed = cluster_seed(s->job->params)};
    s->at.in_eval = true;
    enum wsc_err err = job_run_pass(s, &pass, &work);
    s->at.in_eval = false;
    return err ? wsc_err_frame(err, __FILE__, __LINE__, "evaluate") : WSC_OK;
}

static struct vtime time_of_shard(const struct job_state *s, int m)
{
    return s->cluster->memoryx[m] ? memoryx_now(s->cluster->memoryx[m]) : (struct vtime){0};
}

/* An evaluation that was stopped takes no time: the run that resumes here repeats it. */
static enum wsc_err stop_evaluation(struct job_state *s, const struct vtime *began)
{
    for (int m = 0; m < s->cluster->machine->n_shards; m++)
        if (s->cluster->memoryx[m]) memoryx_rewind(s->cluster->memoryx[m], began[m]);
    s->at.eval_due = true;
    return job_stop_here(s);
}

/* In pieces of about a second, between which signals are looked at. */
static enum wsc_err evaluate_until_told(struct job_state *s, const struct vtime *began)
{
    int64_t n, at = 0;
    TRY(count_eval_batches(s, &n));
    if (!trains(s)) job_record_plan(s, 0, n);
    memset(&s->log.eval, 0, sizeof s->log.eval);
    s->log.eval.n_planned = n;
    job_stop_restart(s);
    while (at < n && !s->stop.signal) {
        const int64_t k = n - at < s->stop.steps_per_look ? n - at : s->stop.steps_per_look;
        TRY(evaluate_batches(s, at, k));
        job_stop_look(s, k);
        at += k;
    }
    job_stop_restart(s);
    if (at < n) return stop_evaluation(s, began);
    s->at.eval_due = false;
    if (!trains(s)) TRY(job_log_carried(s));
    TRY(job_log_eval_end(s));
    return s->scoring ? job_scoring_end(s) : WSC_OK;
}

static enum wsc_err evaluate(struct job_state *s)
{
    const int n_shards = s->cluster->machine->n_shards;
    struct vtime *began;
    TRY_NEW(began, WSC_MEM_RUN, n_shards);
    for (int m = 0; m < n_shards; m++)
        began[m] = time_of_shard(s, m);
    enum wsc_err rc = evaluate_until_told(s, began);
    wsc_free(began);
    return rc;
}

static int64_t next_multiple(int64_t step, int64_t every)
{
    return every > 0 ? (step / every + 1) * every : INT64_MAX;
}

/* Where the roles have to stop: a checkpoint, an evaluation, a dump, the end. */
static int64_t next_stop(const struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    int64_t stop = s->run.last_step;
    int64_t save = next_multiple(s->at.step, s->job->values ? rc->checkpoint_steps : 0);
    int64_t eval = next_multiple(s->at.step, evaluates(s) ? rc->eval_frequency : 0);
    const int64_t change = hw_faults_next(s->cluster->faults);
    if (change < stop) stop = change;
    if (save < stop) stop = save;
    if (eval < stop) stop = eval;
    if (s->job->dump_gradients && s->at.step == s->run.first_step) stop = s->at.step + 1;
    return stop;
}

static enum wsc_err train_steps(struct job_state *s, int64_t n_steps)
{
    const struct zoo_optimizer *optimizer = &s->job->params->optimizer;
    const struct stream_pass pass = {.mode = STREAM_TRAIN,
                                     .first_step = s->at.step,
                                     .n_steps = n_steps,
                                     .first_sample = s->at.samples,
                                     .batch = s->train.batch,
                                     .values = s->job->values,
                                     .squares = s->job->values && optimizer->gradient_noise_scale};
    const struct wafer_work work = {.plan = &s->train.plan,
                                    .numerics = s->job->numerics,
                                    .source = s->train.source,
                                    .seed = cluster_seed(s->job->params)};
    TRY(job_run_pass(s, &pass, &work));
    s->at.samples += n_steps * s->train.batch.batch_size;
    s->at.step += n_steps;
    return WSC_OK;
}

/* In pieces of about a second, between which signals are looked at; a cut changes no value and no
 * time. */
static enum wsc_err train_to(struct job_state *s, int64_t stop)
{
    while (s->at.step < stop && !s->stop.signal) {
        const int64_t left = stop - s->at.step;
        const int64_t n = left < s->stop.steps_per_look ? left : s->stop.steps_per_look;
        TRY(train_steps(s, n));
        job_stop_look(s, n);
    }
    return WSC_OK;
}

static bool is_due(const struct job_state *s, int64_t every)
{
    return s->at.step == s->run.last_step || (every > 0 && s->at.step % every == 0);
}

static enum wsc_err after_training(struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    if (s->job->dump_gradients && s->job->values && s->at.step == s->run.first_step + 1)
        TRY(job_dump_gradients(s));
    /* First the evaluation: a run that resumes from the checkpoint does not repeat it. */
    if (evaluates(s) && is_due(s, rc->eval_frequency)) TRY(evaluate(s));
    if (s->job->values && rc->checkpoint_steps > 0 && is_due(s, rc->checkpoint_steps))
        TRY(job_save(s));
    return WSC_OK;
}

/* The largest process that holds a wafer, and the largest that holds a shard; the most that a rank
 * has sent.  Collective. */
static void measure_host(struct job_state *s)
{
    const int64_t rss = wsc_mem_peak_rss_bytes();
    s->result.sent_bytes = comm_max(s->comm, comm_sent_bytes(s->comm));
    s->result.wafer_rss_bytes = comm_max(s->comm, has_local_wafer(s->cluster) ? rss : 0);
    s->result.memoryx_rss_bytes = comm_max(s->comm, has_local_shard(s->cluster) ? rss : 0);
}

/* Cycles by kernel on the wafer that has most of them.  Collective. */
static void collect_kernels(struct job_state *s)
{
    const struct cluster *c = s->cluster;
    if (s->job->numerics != KERNELS_MESH) return;
    for (int row = 0; row < PROGRAMS_ROWS; row++) {
        struct job_kernel here = {0};
        for (int i = 0; i < c->machine->n_machine_wafers; i++) {
            const struct programs_row *rows = c->wafer[i] ? wafer_kernel_rows(c->wafer[i]) : NULL;
            if (!rows || rows[row].cycles < here.cycles) continue;
            here = (struct job_kernel){.calls = rows[row].calls,
                                       .cycles = rows[row].cycles,
                                       .analytical_cycles = llround(rows[row].analytical)};
        }
        struct job_kernel *k = &s->result.kernel[row];
        k->kernel = programs_row_name(row, &k->pass);
        k->calls = comm_max(s->comm, here.calls);
        k->cycles = comm_max(s->comm, here.cycles);
        k->analytical_cycles = comm_max(s->comm, here.analytical_cycles);
        k->time_ps = hw_cycles_to_ps(&c->hw, k->cycles);
        s->result.n_kernels = row + 1;
    }
}

/* A training loop continues to the next evaluation. */
static void begin_loop(struct job_state *s)
{
    const int64_t every = s->job->params->runconfig.eval_frequency;
    const int64_t eval = next_multiple(s->at.step, evaluates(s) ? every : 0);
    s->log.loop++;
    s->log.loop_end = eval < s->run.last_step ? eval : s->run.last_step;
    WSC_INFO("Starting training loop %d, from global step %lld to %lld", s->log.loop,
             (long long)s->at.step, (long long)s->log.loop_end);
}

static void tell_faults(const struct job_state *s)
{
    const struct hw_event *event;
    for (int i = 0; (event = hw_faults_new(s->cluster->faults, i)); i++) {
        const struct hw_fault *f = event->fault;
        const bool everywhere = f->where == CONF_NULL && !(f->rate > 0);
        if (everywhere && event->place) continue; /* reported once */
        WSC_WARNING("step %lld: fault %s at %s %d%s", (long long)event->first_step + 1, f->text,
                    hw_place_name(f->place), event->place, everywhere ? " and all others" : "");
    }
}

/* The weights live in MemoryX: a lost wafer takes nothing with it but its share of the speed.  A
 * lost shard takes the steps since the newest checkpoint, when *@p again is set. */
static enum wsc_err meet_faults(struct job_state *s, bool *again)
{
    struct cluster_change change;
    TRY(cluster_faults_enter(s->cluster, s->at.step, &change));
    tell_faults(s);
    *again = change.memory_lost;
    s->at.recovery_ps += change.recovery_ps;
    job_rate_update(&s->log.rate, 0, change.recovery_ps);
    if (change.replan) {
        TRY(plan(s));
        WSC_WARNING("%d systems share the batch of %lld", s->train.batch.n_wafers,
                    (long long)s->train.batch.batch_size);
    }
    if (!*again) return WSC_OK;
    const struct cluster *c = s->cluster;
    const int64_t lost = comm_max(s->comm, c->memoryx[0] ? memoryx_now(c->memoryx[0]).ps : 0);
    const int64_t before = s->at.step;
    TRY(job_restore_again(
        s, cluster_checkpoint_before(&s->job->params->runconfig, s->run.first_step, s->at.step)));
    TRY(cluster_make_masks(s->cluster));
    cluster_faults_restored(s->cluster, (struct vtime){.ps = lost}, change.recovery_ps);
    s->at.repeated_steps += before - s->at.step;
    return WSC_OK;
}

/* The evaluation in which the run before was stopped.  Its checkpoint says that it is due; from now
 * on that is wrong. */
static enum wsc_err repeat_evaluation(struct job_state *s)
{
    TRY(evaluate(s));
    return s->job->params->runconfig.checkpoint_steps > 0 ? job_save(s) : WSC_OK;
}

/* Train to the last step, with what falls due between them; a loss of memory takes the loop back to
 * the step of a checkpoint. */
static enum wsc_err train(struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    if (s->job->values && rc->save_initial_checkpoint && s->at.step == 0) TRY(job_save(s));
    if (s->at.step == s->run.last_step)
        WSC_WARNING("nothing to train: step %lld has reached runconfig.max_steps",
                    (long long)s->at.step);
    out_progress_at(job_progress_name(s, "train"), 0, s->run.last_step - s->run.first_step, NULL);
    s->log.loop_end = s->at.step;
    if (s->at.eval_due && evaluates(s)) TRY(repeat_evaluation(s));
    job_record_plan(s, s->at.step, s->run.last_step);
    while (s->at.step < s->run.last_step) {
        if (s->at.step == s->log.loop_end) begin_loop(s);
        bool again = false;
        TRY(meet_faults(s, &again));
        if (again) continue;
        TRY(train_to(s, next_stop(s)));
        if (s->stop.signal && s->at.step < s->run.last_step) return job_stop_here(s);
        TRY(after_training(s));
    }
    out_progress_hide();
    WSC_INFO("Training completed successfully!");
    const double host_s = wsc_clock_s() - s->log.host_start_s;
    WSC_INFO("Processed %lld training sample(s) in %.2f seconds of this host.",
             (long long)((s->at.step - s->run.first_step) * s->train.batch.batch_size), host_s);
    measure_host(s);
    collect_kernels(s);
    TRY(job_log_carried(s));
    return comm_rank(s->comm) == 0 ? job_write_performance(s) : WSC_OK;
}

/* With signals as questions, until it returns. */
static enum wsc_err until_told(struct job_state *s, enum wsc_err (*run)(struct job_state *s))
{
    job_stop_begin(s);
    enum wsc_err rc = run(s);
    job_stop_end();
    return rc;
}

/* ---- the job --------------------------------------------------------------------------------- */

static enum wsc_err work(struct job_state *s)
{
    TRY(cluster_make_masks(s->cluster));
    switch (s->job->params->runconfig.mode) {
    case ZOO_TRAIN:
    case ZOO_TRAIN_AND_EVAL:
        return until_told(s, train);
    case ZOO_EVAL:
        return until_told(s, evaluate);
    case ZOO_GENERATE:
        return job_generate(s);
    }
    return WSC_OK;
}

/* After success and failure, at any point: everything is closed only if it was opened. */
static void tear_down(struct job_state *s)
{
    out_progress_hide();
    job_metrics_close(&s->log.metrics);
    job_events_close(s);
    data_source_close(&s->train.source);
    data_source_close(&s->eval.source);
    job_scoring_destroy(&s->scoring);
    wsc_log_close();
    store_release(s->checkpoint.claim);
    cluster_destroy(&s->cluster);
    wsc_free(s->checkpoint.start_path);
    wsc_free(s->result.fault);
    wsc_free(s->result.carried);
}

/* Several ranks may fail over the same thing, and the first that reports ends the others: it holds
 * a lock on run.log until its process has ended, which the others wait for in vain.  A rank that
 * cannot lock, as on a host without that folder, reports. */
static void take_turn(const struct job_state *s)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *path = log_path(s);
    const int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1; /* stays open to the end */
    wsc_free(path);
    if (fd >= 0) (void)fcntl(fd, F_SETLKW, &whole);
}

/* An error in the middle of a run is this rank's alone; the others wait for its messages. */
static void end_job(const struct job_state *s, enum wsc_err rc)
{
    if (comm_size(s->comm) == 1) return;
    out_progress_end();
    take_turn(s);
    (void)fprintf(stderr, "wsc: error: %s\n", wsc_err_message());
    wsc_err_show_trace();
    comm_abort(wsc_err_exit_status(rc));
}

enum wsc_err job_run(struct comm *comm, const struct job *job, bool *report)
{
    struct job_state s = {.comm = comm,
                          .job = job,
                          .run.planned_last_step = -1,
                          .at.reached_step = -1,
                          .checkpoint = {.claim = -1, .saved_step = -1},
                          .log.noise_scale = NAN};
    *report = true;
    enum wsc_err rc = set_up(&s, report);
    if (!rc) {
        *report = true; /* from here on an error is this rank's own */
        rc = work(&s);
        if (rc == WSC_INTERRUPTED)
            *report = comm_rank(comm) == 0; /* all ranks agree on that */
        else if (s.failure.everywhere)
            *report = s.failure.reports;
        else if (rc)
            end_job(&s, rc);
    }
    tear_down(&s);
    return rc;
}
