// SPDX-License-Identifier: Apache-2.0
/* Samples of the evaluations of a job: how often they are read, how many batches they are, and a
 * look at all of them before a training, which would lose its steps to an error in the first
 * evaluation.  job_setup.c asks before the run, job_training.c and job_evaluation.c in it. */
#include "job_eval_samples.h"
#include "job_samples.h"
#include "job_scoring.h"

#include <wsc/data.h>
#include <wsc/log.h>

#include <math.h>

int64_t job_eval_every(const struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    if (!job_evaluates(s)) return 0;
    if (rc->eval_fraction > 0) return (int64_t)ceil(rc->eval_fraction * (double)s->run.last_step);
    return rc->eval_frequency;
}

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

static enum wsc_err too_few_samples(const struct job_state *s)
{
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "eval_input: fewer samples than one batch of %lld",
                                  (long long)s->eval.batch.batch_size),
                        "--set eval_input.batch_size=...");
}

enum wsc_err job_check_eval_batches(const struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    const bool never = job_trains(s) && !rc->eval_frequency && !(rc->eval_fraction > 0);
    if (!s->eval.source || s->scoring || rc->eval_steps != CONF_NULL || never) return WSC_OK;
    if (data_source_n_samples(s->eval.source) >= s->eval.batch.batch_size) return WSC_OK;
    return too_few_samples(s);
}

/* eval_steps batches, or all whole batches of the data.  Every rank walks the same number; ranks
 * without wafers have no data and learn it from the others. */
enum wsc_err job_count_eval_batches(struct job_state *s, int64_t *n)
{
    *n = s->scoring ? job_scoring_batches(s) : s->job->params->runconfig.eval_steps;
    if (s->scoring) return WSC_OK;
    if (*n == CONF_NULL) *n = s->job->values ? job_whole_batches(s, &s->eval) : 1;
    warn_of_samples(s, *n);
    return *n > 0 ? WSC_OK : too_few_samples(s);
}

/* ---- before a training ----------------------------------------------------------------------- */

/* True when the loss is a mean over the tokens that the mask of a batch counts. */
static bool counts_masks(const struct zoo_model *m)
{
    const enum zoo_objective o = m->objective;
    return m->loss_scaling == ZOO_LOSS_NUM_TOKENS && !m->dpo.on &&
           (o == ZOO_CAUSAL_LM || o == ZOO_MASKED_LM || o == ZOO_SEQ2SEQ);
}

/* Read batch @p k of the evaluation, sample by sample into @p sample. */
static enum wsc_err read_batch(struct job_state *s, int64_t k, struct data_batch *sample)
{
    const int64_t batch = s->eval.batch.batch_size;
    int64_t counted = 0;
    for (int64_t i = k * batch; i < (k + 1) * batch; i++) {
        TRY(data_source_read(s->eval.source, i, 1, sample));
        for (int64_t q = 0; q < sample->n; q++)
            counted += data_batch_counted(sample, q);
    }
    if (counted || !counts_masks(&s->job->params->model)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_NUMERIC,
                                  "evaluation batch %lld: no token of the batch has a label, and "
                                  "the loss is a mean over them",
                                  (long long)k + 1),
                        "a larger eval_input.batch_size, or another data set");
}

static enum wsc_err read_batches(struct job_state *s, int64_t n)
{
    struct data_batch *sample = NULL;
    enum wsc_err rc = WSC_OK;
    TRY(data_batch_create(&sample, model_sequences(s->cluster->model), s->cluster->model->T));
    for (int64_t k = 0; k < n && !rc; k++)
        rc = read_batch(s, k, sample);
    data_batch_destroy(&sample);
    return rc;
}

/* One rank reads: that of the first wafer, which is always there. */
static enum wsc_err check_samples(struct job_state *s)
{
    int64_t n;
    TRY(job_count_eval_batches(s, &n));
    return s->eval.source && s->cluster->wafer[0] ? read_batches(s, n) : WSC_OK;
}

/* Before the first step: one rank's error would lose the steps up to the evaluation. */
enum wsc_err job_check_evaluations(struct job_state *s)
{
    const bool evaluates = s->at.step < s->run.last_step ? job_eval_every(s) != 0 : s->at.eval_due;
    const bool reads = s->job->values && job_trains(s) && job_evaluates(s);
    return reads && evaluates ? check_samples(s) : WSC_OK;
}
