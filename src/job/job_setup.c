// SPDX-License-Identifier: Apache-2.0
/* Set-up of a job, in an order that all ranks share: roles, outputs, data, comparison of the ranks,
 * restore, counters, faults.  Each rank does its own part, then all agree on how it went. */
#include "job_setup.h"
#include "job_checkpoint.h"
#include "job_classes.h"
#include "job_eval_samples.h"
#include "job_events.h"
#include "job_generate.h"
#include "job_history.h"
#include "job_log.h"
#include "job_mesh.h"
#include "job_roles.h"
#include "job_same.h"
#include "job_samples.h"
#include "job_scoring.h"
#include "job_threads.h"
#include "job_zeros.h"
#include "shared_folder.h"

#include <wsc/check.h>
#include <wsc/clock.h>
#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>

static enum wsc_err open_data(struct job_state *s)
{
    const struct zoo_params *p = s->job->params;
    const struct model *m = s->cluster->model;
    if (!s->job->values || !job_has_wafer(s->cluster)) return WSC_OK;
    if (job_trains(s))
        TRY(data_source_open(&s->train.source, &p->train_input, m->T, m->stack[0].V));
    if (job_evaluates(s))
        TRY(s->scoring ? job_scoring_open_data(s, &s->eval.source)
                       : data_source_open(&s->eval.source, &p->eval_input, m->T, m->stack[0].V));
    return WSC_OK;
}

/* Owned by the caller; NULL without memory. */
char *job_log_path(const struct job_state *s)
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
    char *path = job_log_path(s);
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
    return job_has_wafer(s->cluster) ? job_mesh_try(s, batch, training, plan) : WSC_OK;
}

/* Batches are cut for the wafers that are there, so that this is done again when some are lost. */
enum wsc_err job_plan(struct job_state *s)
{
    const struct zoo_params *p = s->job->params;
    if (job_trains(s)) {
        TRY(cluster_plan_batch(s->cluster, &p->train_input, true, &s->train.plan, &s->train.batch));
        if (s->job->numerics == KERNELS_HOST)
            TRY(stream_cut_batch(s->cluster->net, &s->train.batch));
        TRY(plan_mesh(s, &p->train_input, &s->train.batch, true, &s->train.plan));
    }
    if (job_evaluates(s)) {
        TRY(cluster_plan_batch(s->cluster, &p->eval_input, false, &s->eval.plan, &s->eval.batch));
        TRY(plan_mesh(s, &p->eval_input, &s->eval.batch, false, &s->eval.plan));
    }
    return WSC_OK;
}

enum wsc_err job_set_up_inputs(struct job_state *s, bool ahead)
{
    const struct job *job = s->job;
    const struct memoryx_hooks hooks = {job_on_batch, job_on_texts, job_on_scores, job_on_classes,
                                        s};
    TRY(job_check(job));
    TRY(cluster_create_empty(&s->cluster, s->comm, job->params, job->cluster, job->values, &hooks));
    job_choose_threads(s);
    TRY(job_plan(s));
    if (!ahead) TRY(open_outputs(s));
    if (job->requests) TRY(job_scoring_create(s));
    TRY(open_data(s));
    TRY(job_check_eval_batches(s));
    return job_classes_create(s);
}

/* What a rank does alone; the caller lets all ranks agree on how it went.  The roles come last:
 * what is missing is reported before the memory of weights is asked for. */
static enum wsc_err set_up_local(struct job_state *s)
{
    TRY(job_set_up_inputs(s, false));
    return cluster_create_roles(s->cluster);
}

/* steps_per_epoch may be less than the data have, but not more. */
static enum wsc_err check_epoch_steps(struct job_state *s)
{
    const struct zoo_params *p = s->job->params;
    const int64_t asked = p->runconfig.epoch_steps;
    if (asked == CONF_NULL) return WSC_OK;
    const int64_t n = job_whole_batches(s, &s->train);
    if (asked <= n) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "%s: %lld, but the data of train_input have %lld whole batches "
                                  "of %lld",
                                  zoo_params_place(p, "runconfig.steps_per_epoch"),
                                  (long long)asked, (long long)n,
                                  (long long)s->train.batch.batch_size),
                        "at most that many steps, or num_steps instead of num_epochs");
}

/* Steps that the params ask for; an epoch is as long as the data, of which nothing is read without
 * values. */
static enum wsc_err count_steps(struct job_state *s)
{
    const struct zoo_params *p = s->job->params;
    const int64_t epochs = p->runconfig.num_epochs;
    s->run.num_steps = p->runconfig.num_steps;
    if (!job_trains(s) || !s->job->values) return WSC_OK;
    TRY(check_epoch_steps(s));
    if (epochs == CONF_NULL) return WSC_OK;
    const int64_t n = job_whole_batches(s, &s->train);
    if (!n)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "%s: train_input has fewer samples than one batch of %lld",
                                      zoo_params_place(p, "runconfig.num_epochs"),
                                      (long long)s->train.batch.batch_size),
                            "--set train_input.batch_size=...");
    if (epochs > STORE_LAST_STEP / n)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "%s: %lld epochs of %lld steps, expected at most %lld steps",
                                      zoo_params_place(p, "runconfig.num_epochs"),
                                      (long long)epochs, (long long)n, (long long)STORE_LAST_STEP),
                            "fewer epochs, or num_steps instead");
    s->run.num_steps = epochs * n;
    if (comm_rank(s->comm) == 0)
        WSC_INFO("An epoch has %lld step%s, and num_epochs asks for %lld.", (long long)n,
                 wsc_plural(n), (long long)epochs);
    return WSC_OK;
}

/* The last step of this run: that of the run which it continues, or num_steps from here, but
 * never past max_steps. */
static void choose_last_step(struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    s->run.last_step = s->at.step;
    if (!job_trains(s)) return;
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
    if (!job_trains(s) || s->run.planned_last_step >= 0 || rc->max_steps == CONF_NULL) return;
    if (s->run.num_steps == CONF_NULL || s->run.last_step - s->at.step >= s->run.num_steps) return;
    WSC_INFO("%s asks for %lld step%s from step %lld; the run ends at runconfig.max_steps, %lld.",
             rc->num_epochs == CONF_NULL ? "num_steps" : "num_epochs", (long long)s->run.num_steps,
             wsc_plural(s->run.num_steps), (long long)s->at.step, (long long)rc->max_steps);
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

/* After the checkpoint is known: a run that trains cuts metrics back to it, any other one appends.
 * An evaluation that is repeated may have its line already: from a run that was killed before the
 * next checkpoint. */
static enum wsc_err open_metrics(struct job_state *s)
{
    const bool trains = job_trains(s), evaluates = job_evaluates(s);
    if (comm_rank(s->comm) || !(trains || evaluates)) return WSC_OK;
    const bool again = s->at.eval_due && trains && evaluates;
    const int64_t from = s->at.step ? s->at.step : -1;
    const int64_t last = trains && s->at.step < s->run.last_step ? from : INT64_MAX;
    const bool counted = last != INT64_MAX && job_history_resumes_here(s);
    /* Before the checkpoint a lost shard may have taken the training back from a later step. */
    const struct job_kept kept = {
        last, again ? from - 1 : last, counted ? s->checkpoint.n_lines : -1,
        s->at.reached_step > s->at.step ? s->at.reached_step : s->at.step};
    TRY(job_metrics_open(&s->log.metrics, s->job->params->runconfig.model_dir, kept));
    return job_events_open(s, trains, evaluates);
}

/* The first loss of a shard in this run that goes back to a step before @p step; *@p back is that
 * step, -1 if there is none.  NULL: all go back to later ones. */
static const struct hw_event *goes_before(const struct job_state *s, int64_t step, int64_t *back)
{
    int n;
    const struct hw_event *event = hw_faults_events(s->cluster->faults, &n);
    for (int i = 0; i < n; i++) {
        const int64_t at = event[i].first_step;
        if (!hw_fault_has(event[i].fault, HW_FAULT_LOSES_MEMORY) || at < s->run.first_step)
            continue;
        if (at <= s->at.reached_step) continue;
        *back = cluster_checkpoint_before(&s->job->params->runconfig, s->run.origin_step, at);
        if (*back < step) return event + i;
    }
    return NULL;
}

/* A resumed run goes back to checkpoints of the runs before, as an uninterrupted one does.  When
 * the one that is wanted is not there, the checkpoint from which it resumed has to do. */
static void settle_origin(struct job_state *s)
{
    int64_t back = -1;
    const struct hw_event *lost = goes_before(s, s->run.first_step, &back);
    if (!lost || s->run.origin_step == s->run.first_step) return;
    const bool can = back >= 0 && comm_rank(s->comm) == 0 && job_can_restore(s, back);
    if (comm_max(s->comm, can)) return;
    s->run.origin_step = s->run.first_step;
    s->run.origin_samples = s->run.first_samples;
    if (comm_rank(s->comm) == 0)
        WSC_WARNING("fault %s: checkpoints before step %lld are not there, so this run repeats "
                    "fewer steps than an uninterrupted one",
                    lost->fault->text, (long long)s->run.first_step);
}

/* A shard can lose its memory only when there is a checkpoint to restore it from. */
static enum wsc_err check_restores(struct job_state *s)
{
    int64_t back;
    settle_origin(s);
    const struct hw_event *lost = goes_before(s, 0, &back);
    if (!lost) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "fault %s: no checkpoint is written before step %lld",
                                  lost->fault->text, (long long)lost->first_step + 1),
                        "runconfig.checkpoint_steps, or runconfig.save_initial_checkpoint");
}

/* Faults that a run which does not train never meets. */
static void warn_of_faults(const struct job_state *s)
{
    const struct hw_machine *machine = s->job->cluster;
    for (int i = 0; i < machine->faults.n && comm_rank(s->comm) == 0; i++) {
        const struct hw_fault *f = &machine->faults.item[i];
        if (f->from > 1 || hw_fault_has(f, HW_FAULT_LOSES_MEMORY))
            WSC_WARNING("fault %s: without effect: a run that does not train has the faults of "
                        "step 1 alone, and restores no shard",
                        f->text);
    }
}

/* A run that trains meets its faults; any other one those of the first step. */
static enum wsc_err plan_faults(struct job_state *s)
{
    struct cluster_change change;
    TRY(cluster_faults_plan(s->cluster, job_trains(s) ? s->run.last_step : 1, -1));
    hw_faults_go_on(s->cluster->faults, s->at.reached_step);
    if (job_trains(s)) return check_restores(s);
    warn_of_faults(s);
    TRY(cluster_faults_enter(s->cluster, 0, &change));
    return change.replan ? job_plan(s) : WSC_OK;
}

/* Masks count their own updates: none yet where a training that began dense continues, those of
 * another run where weights come from it. The first shard knows, and all ranks keep time by it. */
static void count_uncounted(struct job_state *s)
{
    const struct memoryx *first = s->cluster->memoryx[0];
    const int64_t here = first ? s->at.step - memoryx_mask_steps(first) : INT64_MIN;
    s->at.uncounted = s->job->values ? comm_max(s->comm, here) : 0;
}

/* A training that skips samples begins here: earlier steps lie before the gap in its stream. */
static void skip_samples(struct job_state *s)
{
    const int64_t n = s->job->params->runconfig.skip_samples;
    if (!n || !job_trains(s) || s->run.planned_last_step >= 0) return;
    s->at.samples += n;
    s->run.origin_step = s->at.step;
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
enum wsc_err job_set_up(struct job_state *s, bool *report)
{
    TRY(comm_agree(s->comm, set_up_local(s), report));
    WSC_CHECK(s->cluster, "set up without a cluster");
    s->checkpoint.in_group = job_has_shard(s->cluster);
    s->checkpoint.group = (struct store_group){.max = group_max, .sum = group_sum, .ctx = s->comm};
    s->checkpoint.group.communicator = comm_subgroup(
        s->comm, s->checkpoint.in_group, &s->checkpoint.group.rank, &s->checkpoint.group.size);
    TRY(job_check_shared_files(s, report));
    TRY(job_compare_data(s, report));
    job_classes_share(s);
    TRY(job_identify_samples(s, report));
    TRY(comm_agree(s->comm, zoo_training_hash(s->job->params, &s->checkpoint.params_hash), report));
    job_log_start(s);
    TRY(restore(s, report));
    count_uncounted(s);
    TRY(comm_agree(s->comm, count_steps(s), report));
    choose_last_step(s);
    log_last_step(s);
    skip_samples(s);
    TRY(comm_agree(s->comm, check_counts(s), report));
    TRY(comm_agree(s->comm, job_check_ends(s), report));
    TRY(comm_agree(s->comm, job_check_evaluations(s), report));
    if (job_trains(s)) TRY(comm_agree(s->comm, job_set_aside(s), report));
    TRY(comm_agree(s->comm, open_metrics(s), report));
    s->run.first_step = s->at.step;
    s->run.first_samples = s->at.samples;
    if (s->run.origin_step == s->run.first_step) s->run.origin_samples = s->at.samples;
    if (s->job->values && s->job->numerics == KERNELS_HOST)
        job_log_zeros(s->cluster->model, s->at.step - s->at.uncounted);
    TRY(comm_agree(s->comm, plan_faults(s), report));
    s->log.host_start_s = s->log.host_logged_s = wsc_clock_s();
    s->log.host_logged_step = s->at.step;
    return WSC_OK;
}
