// SPDX-License-Identifier: Apache-2.0
/* Evaluation of a job: batches of eval_input in pieces of about a second, between which signals are
 * looked at.  One that is stopped takes no virtual time, and the run that resumes repeats it. */
#include "job_evaluation.h"
#include "job_checkpoint.h"
#include "job_classes.h"
#include "job_eval_samples.h"
#include "job_log.h"
#include "job_record.h"
#include "job_scoring.h"
#include "job_stop.h"

#include <wsc/log.h>
#include <wsc/mem.h>

#include <string.h>

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

/* An evaluation that did not end takes no time: the run that resumes here repeats it. */
static void forget_evaluation(struct job_state *s, const struct vtime *began)
{
    for (int m = 0; m < s->cluster->machine->n_shards; m++)
        if (s->cluster->memoryx[m]) memoryx_rewind(s->cluster->memoryx[m], began[m]);
    s->at.eval_due = true;
}

static enum wsc_err stop_evaluation(struct job_state *s, const struct vtime *began)
{
    forget_evaluation(s, began);
    return job_stop_here(s);
}

/* The steps before an evaluation that failed are not lost, where no other rank waits for this one.
 * The error is that of the evaluation, whose text a checkpoint that fails too would replace. */
static enum wsc_err save_before(struct job_state *s, const struct vtime *began, enum wsc_err failed)
{
    const bool saves = s->job->values && s->job->params->runconfig.checkpoint_steps > 0;
    if (!job_trains(s) || !saves || comm_size(s->comm) > 1) return failed;
    if (s->checkpoint.saved_step == s->at.step) return failed;
    char *text = wsc_strdup(WSC_MEM_RUN, wsc_err_message());
    forget_evaluation(s, began);
    const bool saved = !job_save(s);
    if (saved) WSC_INFO("Started again, the run repeats the evaluation.");
    if (text) (void)WSC_RAISE(failed, "%s", text);
    wsc_free(text);
    return failed;
}

/* In pieces of about a second, between which signals are looked at. */
static enum wsc_err evaluate_until_told(struct job_state *s, const struct vtime *began)
{
    int64_t n, at = 0;
    TRY(job_count_eval_batches(s, &n));
    s->run.evaluations.n_batches = n;
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
    if (rc && rc != WSC_INTERRUPTED) rc = save_before(s, began, rc);
    wsc_free(began);
    return rc;
}
