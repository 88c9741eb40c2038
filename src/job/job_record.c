// SPDX-License-Identifier: Apache-2.0
/* Passes of a job whose virtual time is recorded for some steps: these steps run as passes of their
 * own, so that no more than one is kept at a time (a generation is one pass, whatever is recorded
 * of it).  The step before the first one is recorded too, because the critical path reaches back
 * into it.  Rank 0 hands each record to whoever asked for it, usually a timeline. */
#include "job_record.h"

/* Evaluations in between do not count as steps of a training. */
static bool is_recorded(const struct job_state *s, const struct stream_pass *pass)
{
    enum stream_mode mode = STREAM_TRAIN;
    if (s->job->params->runconfig.mode == ZOO_EVAL) mode = STREAM_EVAL;
    if (s->job->params->runconfig.mode == ZOO_GENERATE) mode = STREAM_GENERATE;
    return s->job->recording && pass->mode == mode;
}

void job_record_plan(const struct job_state *s, int64_t first_step, int64_t last_step)
{
    struct job_recording *r = s->job->recording;
    if (!r) return;
    if (r->first_step < 0) {
        r->first_step = first_step + JOB_STEADY_STEP;
        if (r->first_step > last_step - 1) r->first_step = last_step - 1;
        r->n_steps = 1;
    }
    r->next_step = r->first_step > first_step ? r->first_step - 1 : first_step;
}

/* Steps [first, first + n) of @p pass as a pass of its own. */
static struct stream_pass part_of(const struct stream_pass *pass, int64_t first, int64_t n)
{
    struct stream_pass part = *pass;
    part.first_sample += (first - pass->first_step) * pass->batch.batch_size;
    part.first_step = first;
    part.n_steps = n;
    return part;
}

static enum wsc_err run_unrecorded(struct job_state *s, const struct stream_pass *pass,
                                   const struct wafer_work *work, int64_t first, int64_t end)
{
    const struct stream_pass part = part_of(pass, first, end - first);
    return end > first ? cluster_run_pass(s->cluster, &part, work) : WSC_OK;
}

static enum wsc_err run_recorded(struct job_state *s, const struct stream_pass *pass,
                                 const struct wafer_work *work, int64_t first, int64_t n)
{
    struct job_recording *r = s->job->recording;
    struct cluster_record record;
    TRY(cluster_run_recorded(s->cluster, pass, work, first, n, &record));
    enum wsc_err rc = comm_rank(s->comm) == 0 ? r->take(r->ctx, &record) : WSC_OK;
    cluster_record_fini(&record);
    r->next_step = first + n;
    return rc;
}

enum wsc_err job_run_pass(struct job_state *s, const struct stream_pass *pass,
                          const struct wafer_work *work)
{
    const struct job_recording *r = s->job->recording;
    const int64_t end = pass->first_step + pass->n_steps;
    if (!is_recorded(s, pass)) return cluster_run_pass(s->cluster, pass, work);
    const int64_t wanted_end = r->first_step + r->n_steps;
    /* Steps that are repeated after a loss of memory have been handed on already. */
    int64_t step = r->next_step > pass->first_step ? r->next_step : pass->first_step;
    const int64_t last = wanted_end < end ? wanted_end : end;
    if (step >= last) return cluster_run_pass(s->cluster, pass, work);
    if (pass->mode == STREAM_GENERATE) return run_recorded(s, pass, work, step, last - step);
    TRY(run_unrecorded(s, pass, work, pass->first_step, step));
    for (; step < last; step++) {
        const struct stream_pass one = part_of(pass, step, 1);
        TRY(run_recorded(s, &one, work, step, 1));
    }
    return run_unrecorded(s, pass, work, last, end);
}
