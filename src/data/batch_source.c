// SPDX-License-Identifier: Apache-2.0
/* Training data as batches: opens the data sets of an input section, and fills a batch with samples
 * of the endless stream, preceded by sink tokens. source_files.c has the files, source_order.c the
 * order of samples, source_values.c checks their values. */
#include "batch_rows.h"
#include "encoder_rows.h"
#include "source_state.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/zoo.h>

#include <string.h>

static bool of_encoder_decoders(const struct zoo_input *input)
{
    return input->samples == ZOO_SAMPLES_SEQ2SEQ || input->samples == ZOO_SAMPLES_SPANS ||
           input->samples == ZOO_SAMPLES_TRANSLATION;
}

/* The length of a sample includes its sink tokens. */
static enum wsc_err check_length(const struct data_source *s, const struct zoo_input *input)
{
    const int64_t target = of_encoder_decoders(input) ? input->tgt_max_sequence_length : 0;
    const int64_t length = input->max_sequence_length + (target > 0 ? target : 0);
    if (s->T < 1)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "data_transforms: %lld sink tokens leave no place for text, "
                                      "model.max_position_embeddings is %lld",
                                      (long long)s->sinks, (long long)(s->T + s->sinks)),
                            "max_position_embeddings counts the sink tokens too: change it, "
                            "num_sink_tokens and attention_sink_tokens together");
    if (s->sinks && s->sink_id >= s->vocab)
        return WSC_RAISE(WSC_CONFIG, "data_transforms: sink_token_id is %lld, expected 0 to %lld",
                         (long long)s->sink_id, (long long)s->vocab - 1);
    if (input->max_sequence_length == CONF_NULL || length == s->T) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG,
                     "max_sequence_length of the input is %lld, but the sequences of the run have "
                     "%lld tokens%s",
                     (long long)length, (long long)s->T, s->sinks ? " beside sink tokens" : "");
}

/* Either the files are empty, or data_subset chooses none of their samples. */
static enum wsc_err no_samples(const struct data_source *s, const struct data_set *set)
{
    const char *path = s->file[set->first_file].path;
    if (!set->n) return WSC_RAISE(WSC_FORMAT, "%s: the files of its data set hold no sample", path);
    return WSC_RAISE(WSC_FORMAT,
                     "%s: the files of its data set hold %lld sample%s, none of them in "
                     "data_subset",
                     path, (long long)set->n, wsc_plural(set->n));
}

/* Files of a data set with weight 0 are not even listed. */
static enum wsc_err open_set(struct data_source *s, const struct zoo_input *input, int k)
{
    struct data_set *set = &s->set[k];
    /* a data set with weight 0 is ignored */
    if (input->n_sets && !(input->weight[k] > 0)) return WSC_OK;
    TRY(data_source_list(s, input, k));
    for (int i = 0; i < set->n_files; i++)
        TRY(data_source_look(s, set, &s->file[set->first_file + i]));
    data_source_choose(set, &input->data_subset[k]);
    if (set->n_used < 1) return no_samples(s, set);
    set->n_epoch = set->n_used;
    return WSC_OK;
}

/* One sequence of tokens with a label each, and no other rows. */
static bool of_decoders(const struct zoo_input *input)
{
    return input->samples == ZOO_SAMPLES_GPT || input->samples == ZOO_SAMPLES_UINT16 ||
           input->samples == ZOO_SAMPLES_PAIRS;
}

/* Number of rows of a sequence. */
static int rows_of_input(const struct zoo_input *input)
{
    if (of_decoders(input)) return input->use_vsl ? 5 : 3;
    return input->use_vsl ? DATA_PACKED_ROWS : DATA_ENCODER_ROWS;
}

static int64_t in_order(const void *source, int64_t i, uint64_t epoch)
{
    return data_source_order(source, i, epoch);
}

/* Read the sample at index @p at of the order, which is number @p g of the stream. */
static enum wsc_err read_place(struct data_source *s, int64_t at, int64_t g)
{
    int64_t i = 0;
    const struct data_file *file = NULL;
    const struct data_set *set = data_source_find(s, at, &i);
    TRY(data_source_fetch(s, set, i, g, &file));
    return data_source_check(s, file, i);
}

/* Read every sample once for its length: the tokens that are not padding. */
static enum wsc_err group(struct data_source *s, const struct zoo_input *input)
{
    TRY(data_buckets_create(&s->buckets, input, s->n));
    for (int64_t at = 0; at < s->n; at++) {
        int64_t length = 0;
        TRY(read_place(s, at, 0));
        for (int64_t t = 0; t < s->T; t++)
            length += s->sample[DATA_ROW_ATTENDS * s->T + t];
        data_buckets_put(s->buckets, at, length);
    }
    s->n_epoch = data_buckets_n(s->buckets);
    if (s->n_epoch) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "buckets: none of %d has a batch of %lld samples of like length",
                                  input->n_buckets + 1, (long long)input->batch_size),
                        "fewer buckets, or a smaller batch_size");
}

/* Set the lengths, open the sets in their order, set the length of an epoch: num_samples, or all
 * samples. */
static enum wsc_err open_all(struct data_source *s, const struct zoo_input *input)
{
    TRY(check_length(s, input));
    if (!of_decoders(input)) TRY(data_examples_share(&s->shared, input, s->T, s->vocab));
    for (int k = 0; k < s->n_sets; k++)
        TRY(open_set(s, input, k));
    if (input->n_sets) TRY(data_source_mix(s, input));
    for (int k = 0; k < s->n_sets; k++)
        s->n += s->set[k].n_epoch;
    s->n_epoch = input->num_samples > 0 ? input->num_samples : s->n;
    if (s->n < 1 || s->n > DATA_MAX_SAMPLES || s->n_epoch > DATA_MAX_SAMPLES)
        return WSC_RAISE(WSC_CONFIG, "an epoch of %lld samples, %lld of them different",
                         (long long)s->n_epoch, (long long)s->n);
    return input->n_buckets ? group(s, input) : WSC_OK;
}

enum wsc_err data_source_open(struct data_source **out, const struct zoo_input *input, int64_t T,
                              int64_t vocab_size)
{
    struct data_source *s = NULL;
    WSC_CHECK(T > 0 && vocab_size > 0, "T %lld, vocabulary %lld", (long long)T,
              (long long)vocab_size);
    *out = NULL;
    TRY_NEW(s, WSC_MEM_DATA, 1);
    s->sinks = input->sink_tokens;
    s->sink_id = input->sink_token_id;
    s->T = s->T_source = T - s->sinks;
    s->vocab = s->target_vocab = vocab_size;
    if (of_encoder_decoders(input)) {
        s->T_source = input->max_sequence_length;
        s->target_vocab = input->n_labels;
    }
    s->shuffle = input->shuffle;
    s->repeat = input->repeat;
    s->seed = (uint64_t)input->shuffle_seed;
    s->packed = input->use_vsl;
    s->tokens_alone = input->samples == ZOO_SAMPLES_UINT16;
    s->n_rows = rows_of_input(input);
    s->sequences = input->samples == ZOO_SAMPLES_PAIRS ? 2 : 1;
    s->length_key = zoo_input_length_key(input, false);
    s->section = input->trains ? "train_input" : "eval_input";
    s->n_labels = input->n_labels;
    s->n_types = input->n_types ? input->n_types : INT32_MAX;
    s->n_classes = input->n_classes;
    s->n_predictions = input->n_predictions;
    s->mean_of_text = input->mean_of_text;
    s->n_sets = input->n_sets ? input->n_sets : 1;
    s->set = wsc_alloc(WSC_MEM_DATA, (size_t)s->n_sets, sizeof *s->set);
    s->sample = wsc_alloc_raw(WSC_MEM_DATA, (size_t)(s->sequences * T),
                              (size_t)s->n_rows * sizeof *s->sample);
    enum wsc_err rc = s->sample && s->set ? open_all(s, input) : WSC_NOMEM;
    if (rc) data_source_close(&s);
    *out = s;
    return rc;
}

void data_source_close(struct data_source **source)
{
    struct data_source *s = *source;
    if (!s) return;
    data_source_close_files(s);
    wsc_free(s->set);
    wsc_free(s->sample);
    data_buckets_destroy(&s->buckets);
    data_examples_unshare(&s->shared);
    wsc_free(s);
    *source = NULL;
}

int64_t data_source_n_samples(const struct data_source *source)
{
    return source->n_epoch;
}

int64_t data_source_left_out(const struct data_source *source)
{
    int64_t n = 0;
    for (int i = 0; i < source->n_files; i++)
        if (source->file[i].examples) n += data_examples_left_out(source->file[i].examples);
    return n;
}

int64_t data_source_n_of_set(const struct data_source *source, int k)
{
    return source->set[k].n_epoch;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Copy sequence @p from of the sample to sequence @p k of the batch. */
static void put_rows(const struct data_source *s, int from, struct data_batch *batch, int64_t k)
{
    const bool encoder = s->shared != NULL;
    int32_t *const of_decoder[] = {batch->input_ids, batch->mask, batch->labels,
                                   batch->attention_span, batch->position_ids};
    int32_t *const of_encoder[] = {batch->input_ids,   batch->mask,        batch->labels,
                                   batch->attends,     batch->token_types, batch->attention_span,
                                   batch->position_ids};
    if (encoder) batch->targets[k] = s->target;
    for (int r = 0; r < s->n_rows; r++) {
        int32_t *out = (encoder ? of_encoder[r] : of_decoder[r]) + k * batch->T;
        for (int64_t t = 0; t < s->sinks; t++)
            out[t] = r ? 0 : (int32_t)s->sink_id; /* labels of sink tokens do not count */
        memcpy(out + s->sinks, data_source_rows(s, from) + r * s->T,
               (size_t)s->T * sizeof *s->sample);
    }
}

/* Without repeat the data end after one epoch: error. */
static enum wsc_err check_end(const struct data_source *s, int64_t last)
{
    if (s->repeat || last <= s->n_epoch) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "the data end after %lld samples, and repeat is false: sample "
                                  "%lld is wanted",
                                  (long long)s->n_epoch, (long long)last),
                        "set repeat: true, or fewer steps");
}

/* Sample g of the stream is element g mod N of epoch g / N: a function of seed and epoch, so that
 * any rank reads its own samples without the others. */
enum wsc_err data_source_read(struct data_source *s, int64_t first, int64_t n,
                              struct data_batch *batch)
{
    WSC_CHECK(first >= 0 && n >= 0 && n <= batch->n_max / s->sequences &&
                  batch->T == s->sinks + s->T,
              "samples %lld, +%lld", (long long)first, (long long)n);
    TRY(data_batch_rows(batch, s->packed, s->shared != NULL));
    TRY(check_end(s, first + n));
    batch->n = n * s->sequences;
    for (int64_t k = 0; k < n; k++) {
        const int64_t g = first + k, place = g % s->n_epoch;
        const uint64_t epoch = (uint64_t)(g / s->n_epoch);
        const int64_t at = s->buckets ? data_buckets_at(s->buckets, place, epoch, in_order, s)
                                      : data_source_order(s, place, epoch);
        TRY(read_place(s, at, g));
        for (int i = 0; i < s->sequences; i++)
            put_rows(s, i, batch, k * s->sequences + i);
    }
    return WSC_OK;
}
