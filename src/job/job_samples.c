// SPDX-License-Identifier: Apache-2.0
/* Which samples a training reads.
 *
 * A run that resumes continues at a position in the stream of samples, which means something else
 * when data_dir has other files by then.  Samples are known by how many there are in an epoch and
 * by a hash of their files: of sizes, and of the first and the last 1 MiB of each file, but not of
 * their names, since a data set may be moved.  Called by job_setup.c; job_checkpoint.c keeps the
 * two numbers in checkpoints. */
#include "job_samples.h"

#include <wsc/data.h>
#include <wsc/hash.h>
#include <wsc/log.h>
#include <wsc/mem.h>

/* The samples that this rank reads; nothing where it reads none. */
static enum wsc_err identify(const struct data_source *source, struct job_samples *samples)
{
    struct data_file_sum *sums = NULL;
    int n = 0;
    uint64_t hash = 0;
    *samples = (struct job_samples){0};
    if (!source) return WSC_OK;
    TRY(data_source_sums(source, 0, &sums, &n));
    for (int i = 0; i < n; i++) {
        const uint64_t file[2] = {(uint64_t)sums[i].size, sums[i].hash};
        hash = wsc_hash64(file, sizeof file, hash);
    }
    wsc_free(sums);
    *samples = (struct job_samples){data_source_n_samples(source), (int64_t)(hash >> 12)};
    return WSC_OK;
}

/* A batch above the number of samples has some of them several times, which weigh more. */
static void warn_of_repeats(const struct job_state *s)
{
    const int64_t batch = s->train.batch.batch_size, n = s->checkpoint.samples.n;
    if (n < 1 || batch <= n || comm_rank(s->comm)) return;
    WSC_WARNING("train_input.batch_size: a batch of %lld is more than the %lld samples of "
                "train_input: some are in it more than once",
                (long long)batch, (long long)n);
}

/* Translations with an empty or a too long side are no samples, as in the Model Zoo. */
static void warn_of_left_out(const struct job_state *s, const char *section,
                             const struct data_source *source)
{
    const int64_t n = comm_max(s->comm, source ? data_source_left_out(source) : 0);
    if (n < 1 || comm_rank(s->comm)) return;
    WSC_WARNING("%s: %lld translation%s left out: a side is empty, or not shorter than its "
                "max_sequence_length",
                section, (long long)n, n == 1 ? " is" : "s are");
}

/* A share of a mixture that rounds down to no sample is read by no batch. */
static void warn_of_unread(const struct job_state *s, const struct zoo_input *in,
                           const struct data_source *source)
{
    const bool read = comm_max(s->comm, source != NULL);
    for (int k = 0; k < in->n_sets && read; k++) {
        const int64_t n = comm_max(s->comm, source ? data_source_n_of_set(source, k) : 0);
        if (n || !(in->weight[k] > 0) || comm_rank(s->comm)) continue;
        WSC_WARNING("%s.mixture: an epoch has no sample of data set %d of %d: its weight is too "
                    "small beside the others",
                    in->trains ? "train_input" : "eval_input", k + 1, in->n_sets);
    }
}

/* An input that does not repeat has samples for the batches that the run reads of it. */
static enum wsc_err check_end(const struct job_state *s, const struct job_phase *phase,
                              const struct zoo_input *in, const char *key, int64_t first,
                              int64_t n_batches)
{
    const int64_t batch = phase->batch.batch_size;
    const int64_t n = comm_max(s->comm, phase->source ? data_source_n_samples(phase->source) : 0);
    const int64_t have = n > first ? (n - first) / batch : 0;
    if (in->repeat || n_batches <= have) return WSC_OK;
    (void)WSC_RAISE(WSC_CONFIG,
                    "%s: is false, and the data have %lld samples: after sample %lld there are "
                    "%lld batches of %lld, and the run reads %lld",
                    zoo_params_place(s->job->params, key), (long long)n, (long long)first,
                    (long long)have, (long long)batch, (long long)n_batches);
    return wsc_err_hint(WSC_CONFIG, "--set %s=true, or fewer %s", key,
                        in->trains ? "steps: --num_steps, --max_steps" : "runconfig.eval_steps");
}

enum wsc_err job_check_ends(const struct job_state *s)
{
    const struct zoo_params *p = s->job->params;
    if (!s->job->values) return WSC_OK;
    if (job_trains(s))
        TRY(check_end(s, &s->train, &p->train_input, "train_input.repeat", s->at.samples,
                      s->run.last_step - s->at.step));
    if (job_evaluates(s) && !s->scoring && p->runconfig.eval_steps != CONF_NULL)
        TRY(check_end(s, &s->eval, &p->eval_input, "eval_input.repeat", 0,
                      p->runconfig.eval_steps));
    return WSC_OK;
}

/* The ranks that read samples have the same ones (job_same.c), so the first of them looks. */
enum wsc_err job_identify_samples(struct job_state *s, bool *report)
{
    struct job_samples *samples = &s->checkpoint.samples;
    const struct data_source *source = s->train.source;
    const int64_t from_last = comm_size(s->comm) - comm_rank(s->comm);
    if (!s->job->values) return WSC_OK;
    const bool first = comm_max(s->comm, source ? from_last : 0) == from_last;
    TRY(comm_agree(s->comm, identify(first ? source : NULL, samples), report));
    samples->n = comm_max(s->comm, samples->n);
    samples->hash = comm_max(s->comm, samples->hash);
    warn_of_repeats(s);
    warn_of_left_out(s, "train_input", source);
    warn_of_left_out(s, "eval_input", s->eval.source);
    warn_of_unread(s, &s->job->params->train_input, source);
    warn_of_unread(s, &s->job->params->eval_input, s->eval.source);
    return WSC_OK;
}

void job_compare_samples(const struct job_state *s, const struct job_samples *then)
{
    const struct job_samples *now = &s->checkpoint.samples;
    const bool known = then->n && now->n;
    if (!known || (then->n == now->n && then->hash == now->hash)) return;
    WSC_WARNING("train_input: the samples are not those of the checkpoint: %lld in an epoch, %lld "
                "there%s; the training continues with sample %lld of these (without dataloader in "
                "runconfig.load_checkpoint_states it begins with their first)",
                (long long)now->n, (long long)then->n, then->n == now->n ? ", of other files" : "",
                (long long)s->at.samples);
}

/* Whole batches of the data of @p phase; ranks without wafers have none and learn it from the
 * others. */
int64_t job_whole_batches(const struct job_state *s, const struct job_phase *phase)
{
    int64_t here = 0;
    if (phase->source) here = data_source_n_samples(phase->source) / phase->batch.batch_size;
    return comm_max(s->comm, here);
}
