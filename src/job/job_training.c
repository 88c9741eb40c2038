// SPDX-License-Identifier: Apache-2.0
/* The training loop of a job: passes over the steps that stop where something is due, which is a
 * checkpoint, an evaluation, a fault, a dump, a look at signals. */
#include "job_training.h"
#include "job_checkpoint.h"
#include "job_eval_samples.h"
#include "job_evaluation.h"
#include "job_log.h"
#include "job_record.h"
#include "job_setup.h"
#include "job_stop.h"

#include <wsc/clock.h>
#include <wsc/log.h>
#include <wsc/mem.h>

#include <math.h>

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
    int64_t eval = next_multiple(s->at.step, s->run.evaluations.every);
    const int64_t change = hw_faults_next(s->cluster->faults);
    if (change < stop) stop = change;
    if (save < stop) stop = save;
    if (eval < stop) stop = eval;
    if (s->job->dump_gradients && s->at.step == s->run.first_step) stop = s->at.step + 1;
    return stop;
}

static bool is_due(const struct job_state *s, int64_t step, int64_t every)
{
    return step == s->run.last_step || (every > 0 && step % every == 0);
}

static enum wsc_err train_steps(struct job_state *s, int64_t n_steps)
{
    const struct zoo_optimizer *optimizer = &s->job->params->optimizer;
    const int64_t end = s->at.step + n_steps;
    const struct stream_pass pass = {
        .mode = STREAM_TRAIN,
        .first_step = s->at.step,
        .uncounted = s->at.uncounted,
        .eval_step = cluster_evaluates_after(&s->run.evaluations, end) ? end : 0,
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
    s->at.eval_due = false; /* also one that this run has left out */
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

static enum wsc_err after_training(struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    if (s->job->dump_gradients && s->job->values && s->at.step == s->run.first_step + 1)
        TRY(job_dump_gradients(s));
    /* First the evaluation: a run that resumes from the checkpoint does not repeat it. */
    if (cluster_evaluates_after(&s->run.evaluations, s->at.step)) TRY(job_evaluate(s));
    if (!s->job->values) return WSC_OK;
    if (rc->checkpoint_steps > 0 && is_due(s, s->at.step, rc->checkpoint_steps)) return job_save(s);
    return s->at.step == s->run.last_step ? job_check_weights(s) : WSC_OK;
}

/* Cycles by kernel on the wafer that has most of them.  Collective. */
static void collect_kernels(struct job_state *s)
{
    const struct cluster *c = s->cluster;
    if (s->job->numerics != KERNELS_MESH) return;
    for (int row = 0; row < PROGRAMS_ROWS; row++) {
        struct job_kernel here = {0};
        for (int i = 0; i < c->machine->n_machine_wafers; i++) {
            struct programs_row rows[PROGRAMS_ROWS];
            if (!c->wafer[i] || !wafer_kernel_rows(c->wafer[i], rows)) continue;
            if (rows[row].cycles < here.cycles) continue;
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
    const int64_t eval = next_multiple(s->at.step, s->run.evaluations.every);
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

/* The machine of @p step, with the faults of that step. */
static enum wsc_err enter_step(struct job_state *s, int64_t step, struct cluster_change *change)
{
    TRY(cluster_faults_enter(s->cluster, step, change));
    tell_faults(s);
    if (!change->replan) return WSC_OK;
    TRY(job_plan(s));
    WSC_WARNING("%d systems share the batch of %lld", s->train.batch.n_wafers,
                (long long)s->train.batch.batch_size);
    return WSC_OK;
}

/* Go back to the newest checkpoint; collective. */
static enum wsc_err go_back(struct job_state *s, int64_t recovery_ps)
{
    const int64_t before = s->at.step;
    const int64_t saved =
        cluster_checkpoint_before(&s->job->params->runconfig, s->run.origin_step, before);
    struct cluster_loss lost = cluster_faults_lost(s->cluster, before, saved);
    lost.at.ps = comm_max(s->comm, lost.at.ps);
    lost.saved.ps = comm_max(s->comm, lost.saved.ps);
    TRY(job_restore_again(s, saved));
    TRY(cluster_make_masks(s->cluster));
    cluster_faults_restored(s->cluster, &lost, recovery_ps);
    s->at.repeated_steps += before - saved;
    s->checkpoint.saved_step = -1; /* one of a step that is repeated says nothing of the loss */
    return WSC_OK;
}

/* The weights live in MemoryX: a lost wafer takes nothing with it but its share of the speed.  A
 * lost shard takes the steps since the newest checkpoint, when *@p again is set. */
static enum wsc_err meet_faults(struct job_state *s, bool *again)
{
    struct cluster_change change;
    TRY(enter_step(s, s->at.step, &change));
    *again = change.memory_lost;
    s->at.recovery_ps += change.recovery_ps;
    job_rate_update(&s->log.rate, 0, change.recovery_ps);
    return *again ? go_back(s, change.recovery_ps) : WSC_OK;
}

/* The evaluation in which the run before was stopped, on the machine of the step before it.  The
 * checkpoint says that it is due; from now on that is wrong. */
static enum wsc_err repeat_evaluation(struct job_state *s)
{
    struct cluster_change change;
    if (s->at.step > 0) TRY(enter_step(s, s->at.step - 1, &change));
    TRY(job_evaluate(s));
    s->run.evaluates_first = true;
    return s->job->params->runconfig.checkpoint_steps > 0 ? job_save(s) : WSC_OK;
}

/* Train to the last step, with what falls due between them; a loss of memory takes the loop back to
 * the step of a checkpoint. */
static enum wsc_err train_all(struct job_state *s)
{
    if (s->at.eval_due && job_evaluates(s)) TRY(repeat_evaluation(s));
    job_record_plan(s, s->at.step, s->run.last_step);
    while (s->at.step < s->run.last_step) {
        if (s->at.step == s->log.loop_end) begin_loop(s);
        bool again = false;
        TRY(meet_faults(s, &again));
        if (again) continue;
        const int64_t stop = next_stop(s);
        TRY(train_to(s, stop));
        /* Also with a signal: an evaluation that is due here stops, and its checkpoint says so. */
        if (s->at.step == stop) TRY(after_training(s));
        if (s->stop.signal && s->at.step < s->run.last_step) return job_stop_here(s);
    }
    return WSC_OK;
}

static void log_end(const struct job_state *s)
{
    out_progress_hide();
    WSC_INFO("Training completed successfully!");
    const double host_s = wsc_clock_s() - s->log.host_start_s;
    WSC_INFO("Processed %lld training sample(s) in %.2f seconds of this host.",
             (long long)(job_trained_steps(s) * s->train.batch.batch_size), host_s);
}

enum wsc_err job_train(struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    if (s->job->values && rc->save_initial_checkpoint && s->at.step == 0) TRY(job_save(s));
    if (s->at.step == s->run.last_step)
        WSC_WARNING("nothing to train: step %lld has reached runconfig.max_steps",
                    (long long)s->at.step);
    out_progress_at(job_progress_name(s, "train"), 0, s->run.last_step - s->run.first_step, NULL);
    s->log.loop_end = s->at.step;
    s->run.evaluations.every = job_eval_every(s);
    s->run.evaluations.last_step = s->run.last_step;
    out_progress_hold(true);
    const enum wsc_err end = train_all(s);
    out_progress_hold(false);
    const bool stopped = end == WSC_INTERRUPTED; /* on all ranks */
    if (end && !stopped) return end;
    if (!stopped) log_end(s);
    job_measure_host(s);
    collect_kernels(s);
    TRY(job_log_carried(s));
    if (comm_rank(s->comm) == 0) TRY(job_write_performance(s, !stopped));
    return end;
}
