// SPDX-License-Identifier: Apache-2.0
/* Evaluation of a job: batches of eval_input in pieces of about a second, between which signals are
 * looked at.  One that is stopped takes no virtual time, and the run that resumes repeats it. */
#include "job_evaluation.h"
#include "job_classes.h"
#include "job_log.h"
#include "job_record.h"
#include "job_scoring.h"
#include "job_setup.h"
#include "job_stop.h"

#include <wsc/log.h>
#include <wsc/mem.h>

#include <string.h>

/* Samples after the last whole batch are not evaluated; more samples than there are come round
 * again, and weigh more in the loss. */
static void warn_of_samples(struct job_state *s, int64_t n_batches)
{
    if (s->at.eval_counted) return;
    s->at.eval_counted = true;
    const int64_t batch = s->eval.batch.batch_size;
    const bool all = s->job->params->runconfig.eval_steps == CONF_NULL;
    const int64_t have =
        comm_max(s->comm, s->eval.source ? data_source_n_samples(s->eval.source) : 0);
    if (have < 1 || comm_rank(s->comm)) return;
    if (all && have % batch)
        WSC_WARNING("eval_input: %lld of %lld samples are left out (batch_size %lld)",
                    (long long)(have % batch), (long long)have, (long long)batch);
    if (n_batches <= have / batch) return;
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
    if (*n == CONF_NULL) *n = s->job->values ? job_whole_batches(s, &s->eval) : 1;
    warn_of_samples(s, *n);
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
                                     .updates = s->at.step - s->at.uncounted,
                                     .n_steps = n,
                                     .first_sample = first * s->eval.batch.batch_size,
                                     .batch = s->eval.batch,
                                     .values = s->job->values,
                                     .scores = s->scoring && s->job->values,
                                     .n_classes = job_n_classes(s)};
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
    if (!job_trains(s)) job_record_plan(s, 0, n);
    memset(&s->log.eval, 0, sizeof s->log.eval);
    s->log.eval.n_planned = n;
    job_classes_begin(s);
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
    if (!job_trains(s)) TRY(job_log_carried(s));
    TRY(job_log_eval_end(s));
    return s->scoring ? job_scoring_end(s) : WSC_OK;
}

enum wsc_err job_evaluate(struct job_state *s)
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
