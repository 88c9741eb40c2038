// SPDX-License-Identifier: Apache-2.0
/* Checks of train_input and eval_input: data loaders and their keys, batch sizes against num_csx,
 * lengths of samples against positions. Values that the real cluster would refuse but the emulator
 * can compute get a warning. */
#include "params_checks.h"
#include "params_passes.h"

#include <wsc/zoo_batch.h>

#include <stdio.h>
#include <string.h>

/* Batches by length need a loader that has them, and complete batches. */
static void check_buckets_of(struct conf_parse *p, struct zoo_input *in, const char *section)
{
    char path[CONF_MAX_PATH];
    (void)snprintf(path, sizeof path, "%s.buckets", section);
    if (!zoo_input_has_buckets(in)) in->n_buckets = 0; /* idle_keys.c warns */
    if (!in->n_buckets) return;
    if (in->samples == ZOO_SAMPLES_SPANS || in->samples == ZOO_SAMPLES_TRANSLATION)
        conf_diag_error(p->diag, conf_parse_place(p, path, NULL), path,
                        "not supported by this release with %s", in->data_processor);
    if (in->num_samples > 0)
        conf_diag_error(p->diag, conf_parse_place(p, path, NULL), path,
                        "not with num_samples: an epoch has the whole batches of each bucket");
    if (!in->drop_last)
        conf_diag_error(p->diag, conf_parse_place(p, path, NULL), path,
                        "not with drop_last: false: a batch has sequences of one bucket");
}

/* Report settings that the Model Zoo's loader treats in another way, or that this release does not
 * have. */
static void check_data(struct conf_parse *p, struct zoo_input *in, const char *section,
                       const struct zoo_model *m)
{
    char path[CONF_MAX_PATH], near[CONF_MAX_PATH];
    (void)snprintf(path, sizeof path, "%s.data_dir", section);
    (void)snprintf(near, sizeof near, "%s.data_processor", section);
    if (!in->n_data_dirs && !in->n_sets)
        conf_diag_error(p->diag, conf_parse_place(p, path, near), path,
                        "required key is missing; hint: or mixture, a list of maps with data_dir "
                        "and weight");
    (void)snprintf(path, sizeof path, "%s.use_vsl", section);
    if (in->use_vsl && in->samples != ZOO_SAMPLES_GPT && in->samples != ZOO_SAMPLES_MASKED)
        conf_diag_error(p->diag, conf_parse_place(p, path, NULL), path,
                        "this data_processor has no packed texts; hint: GptHDF5MapDataProcessor, "
                        "BertHDF5DataProcessor");
    if (in->use_vsl && m->mask_padding_in_positional_embed)
        conf_diag_error(p->diag, conf_parse_place(p, path, NULL), path,
                        "not with model.mask_padding_in_positional_embed: texts have positions of "
                        "their own");
    if (in->use_vsl && in->sink_tokens)
        conf_diag_error(p->diag, conf_parse_place(p, path, NULL), path,
                        "not with data_transforms: the texts of a sample have no common tokens");
    if (in->use_vsl && m->attention_sink_tokens)
        conf_diag_error(p->diag, conf_parse_place(p, path, NULL), path,
                        "not with model.attention_sink_tokens: the texts of a sample have no "
                        "common tokens");
    check_buckets_of(p, in, section);
    (void)snprintf(path, sizeof path, "%s.drop_last", section);
    if (!in->drop_last && in->trains)
        conf_diag_warn(p->diag, conf_parse_place(p, path, NULL), path,
                       "batches are of one size: samples that are left over begin the next epoch");
}

struct zoo_batch_notes zoo_batch_notes(int64_t batch, int64_t micro, int64_t num_csx)
{
    struct zoo_batch_notes notes = {"", ""};
    const int64_t share = (batch - 1) / num_csx + 1; /* the largest share */
    const int64_t n = micro > 0 ? (share - 1) / micro + 1 : 1;
    const char *whose = num_csx > 1 ? "a system" : "the batch";
    if (batch % num_csx)
        (void)snprintf(notes.batch, sizeof notes.batch,
                       "%lld sequences do not divide evenly among %lld systems; the real cluster "
                       "requires it",
                       (long long)batch, (long long)num_csx);
    if (micro > share)
        (void)snprintf(notes.micro, sizeof notes.micro,
                       "%lld is taken as %lld, the sequences of %s", (long long)micro,
                       (long long)share, whose);
    else if (micro > 0 && share % micro)
        (void)snprintf(
            notes.micro, sizeof notes.micro,
            "%lld does not divide the %lld sequences of %s, whose %lld micro-batches have "
            "%lld at most",
            (long long)micro, (long long)share, whose, (long long)n,
            ((long long)share - 1) / n + 1);
    return notes;
}

/* Batch sizes of one input: the global batch divides among the systems, the micro-batch divides the
 * sequences of a system. */
static void check_input(struct conf_parse *p, struct zoo_input *in, bool training,
                        const struct zoo_params *params)
{
    const char *batch = training ? "train_input.batch_size" : "eval_input.batch_size";
    const char *micro = training ? "train_input.micro_batch_size" : "eval_input.micro_batch_size";
    const char *processor = training ? "train_input.data_processor" : "eval_input.data_processor";
    const enum zoo_objective objective = params->model.objective;
    zoo_processor_check(p, in, processor, conf_parse_place(p, processor, NULL), objective);
    in->trains = training;
    in->padding_in_loss = params->model.include_padding_in_loss;
    in->pairs = objective == ZOO_MASKED_LM && !params->model.disable_nsp;
    int64_t n = params->runconfig.num_csx, b = in->batch_size, m = in->micro_batch_size;
    check_data(p, in, training ? "train_input" : "eval_input", &params->model);
    if (b < 1 || n < 1) return;
    const struct zoo_batch_notes notes = zoo_batch_notes(b, m, n);
    if (*notes.batch)
        conf_diag_warn(p->diag, conf_parse_place(p, batch, NULL), batch, "%s", notes.batch);
    if (*notes.micro)
        conf_diag_warn(p->diag, conf_parse_place(p, micro, NULL), micro, "%s", notes.micro);
    if (training && m > 0 && m % params->reduction_leaf)
        conf_diag_warn(p->diag, conf_parse_place(p, micro, NULL), micro,
                       "%lld is no multiple of reduction_leaf, %lld sequences that stay together",
                       (long long)m, (long long)params->reduction_leaf);
    if (training && params->reduction_leaf > b)
        conf_diag_error(p->diag, conf_parse_place(p, "reduction_leaf", NULL), "reduction_leaf",
                        "must be at most train_input.batch_size, %lld, got %lld", (long long)b,
                        (long long)params->reduction_leaf);
}

/* Tokens of the vocabulary, with room for text after them. */
static void check_sinks_of(struct conf_parse *p, const struct zoo_input *in, const char *path,
                           const struct zoo_model *m)
{
    const struct conf_pos pos = conf_parse_place(p, path, NULL);
    if (in->sink_tokens < 1) return;
    if (in->max_sequence_length <= 0 && in->sink_tokens >= m->max_position_embeddings)
        conf_diag_error(p->diag, pos, path,
                        "%lld sink tokens leave no place for text, model.max_position_embeddings "
                        "is %lld; hint: max_position_embeddings counts the sink tokens too: change "
                        "it, num_sink_tokens and attention_sink_tokens together",
                        (long long)in->sink_tokens, (long long)m->max_position_embeddings);
    if (m->vocab_size > 0 && in->sink_token_id >= m->vocab_size)
        conf_diag_error(p->diag, pos, path, "sink_token_id is %lld, expected 0 to %lld",
                        (long long)in->sink_token_id, (long long)m->vocab_size - 1);
}

/* Sink tokens lengthen the samples; both inputs should have the same number of them. @p reads:
 * whether the mode reads the input. */
static void check_sinks(struct conf_parse *p, const struct zoo_params *params, const bool reads[2])
{
    const char *const path[] = {"train_input.data_transforms", "eval_input.data_transforms"};
    const struct zoo_input *train = &params->train_input, *eval = &params->eval_input;
    if (reads[0]) check_sinks_of(p, train, path[0], &params->model);
    if (reads[1]) check_sinks_of(p, eval, path[1], &params->model);
    if (!train->present || !eval->present || train->sink_tokens == eval->sink_tokens) return;
    conf_diag_warn(p->diag, conf_parse_place(p, path[1], "eval_input.data_dir"), path[1],
                   "%lld sink tokens before a sample, %lld in train_input; with them it has "
                   "model.max_position_embeddings tokens",
                   (long long)eval->sink_tokens, (long long)train->sink_tokens);
}

/* Lengths of the samples of an input, the tokens beside them, and the positions that they need. */
struct lengths {
    const char *key[2], *positions;
    int64_t tokens[2], sinks[2], most;
};

/* Samples must not be longer than the number of positions, and both inputs of a run agree.  @p
 * reads: whether the mode reads the input; others are not checked. */
static void check_lengths(struct conf_parse *p, const struct lengths *l, const bool reads[2])
{
    for (int i = 0; i < 2; i++)
        if (reads[i] && l->tokens[i] > 0 && l->tokens[i] + l->sinks[i] > l->most)
            conf_diag_error(p->diag, conf_parse_place(p, l->key[i], l->positions), l->key[i],
                            "%lld tokens, but %s is %lld", (long long)l->tokens[i], l->positions,
                            (long long)l->most);
    const bool own = l->tokens[0] > 0;
    const int64_t run = own ? l->tokens[0] : l->most - l->sinks[1];
    if (!reads[0] || !reads[1] || l->tokens[1] <= 0 || l->tokens[1] == run) return;
    conf_diag_error(p->diag, conf_parse_place(p, l->key[1], l->key[0]), l->key[1],
                    "%lld tokens, but %s is %lld; hint: a run has one length, --mode eval another",
                    (long long)l->tokens[1], own ? l->key[0] : l->positions,
                    (long long)(own ? run : l->most));
}

/* Sources, and the targets of an encoder-decoder; the patches of a latent have no length here. */
static void check_length(struct conf_parse *p, const struct zoo_params *params, const bool reads[2])
{
    const struct zoo_model *m = &params->model;
    const struct zoo_input *in = &params->train_input, *eval = &params->eval_input;
    const struct lengths source = {
        {"train_input.max_sequence_length", "eval_input.max_sequence_length"},
        "model.max_position_embeddings",
        {in->max_sequence_length, eval->max_sequence_length},
        {in->sink_tokens, eval->sink_tokens},
        m->max_position_embeddings};
    const struct lengths target = {
        {"train_input.tgt_max_sequence_length", "eval_input.tgt_max_sequence_length"},
        "model.tgt_max_position_embeddings",
        {in->tgt_max_sequence_length, eval->tgt_max_sequence_length},
        {0, 0},
        m->tgt_max_position_embeddings};
    if (m->objective == ZOO_DIFFUSION) return;
    check_lengths(p, &source, reads);
    if (m->objective == ZOO_SEQ2SEQ) check_lengths(p, &target, reads);
}

/* The head computes positions of a sequence, whose length is that of the input that is read first.
 */
static void check_predictions(struct conf_parse *p, const struct zoo_params *params)
{
    const char *path = "model.max_predictions_per_seq",
               *input = "train_input.max_predictions_per_seq";
    const struct zoo_model *m = &params->model;
    const bool evaluates = params->runconfig.mode == ZOO_EVAL && params->eval_input.present;
    const struct zoo_input *in =
        params->train_input.present && !evaluates ? &params->train_input : &params->eval_input;
    const bool own = in->present && in->max_sequence_length > 0;
    const int64_t length =
        own ? in->max_sequence_length + in->sink_tokens : m->max_position_embeddings;
    if (m->objective != ZOO_MASKED_LM || m->max_predictions_per_seq <= length) return;
    conf_diag_error(p->diag, conf_parse_place(p, path, input),
                    conf_parse_given(p, path) ? path : input,
                    "%lld is more than the %lld tokens of a sequence",
                    (long long)m->max_predictions_per_seq, (long long)length);
}

/* Set the ranges of the values in samples of encoders. */
static void set_ranges(struct zoo_input *in, const struct zoo_model *m)
{
    enum { PAIRS = 2 };
    const enum zoo_objective o = m->objective;
    in->n_labels = o == ZOO_TOKEN_CLASSIFICATION ? m->num_labels
                   : o == ZOO_SUMMARIZATION      ? PAIRS
                   : o == ZOO_SPAN               ? ZOO_ANSWER_LABELS
                                                 : zoo_model_n_ids(m);
    in->n_types = o != ZOO_SEQ2SEQ && m->num_segments > 0 ? m->num_segments : 0;
    in->n_predictions = o == ZOO_MASKED_LM ? m->max_predictions_per_seq : 0;
    in->mean_of_text = m->dpo.loss_type == ZOO_DPO_IPO;
    in->n_classes = o == ZOO_CLASSIFICATION ? m->num_labels : in->pairs ? PAIRS : 0;
}

void zoo_check_inputs(struct conf_parse *p, struct zoo_params *params)
{
    struct zoo_input *train = &params->train_input, *eval = &params->eval_input;
    if (train->present) check_input(p, train, true, params);
    if (eval->present) check_input(p, eval, false, params);
    params->model.max_cls_tokens = train->present ? train->max_cls_tokens : eval->max_cls_tokens;
}

void zoo_check_samples(struct conf_parse *p, const struct zoo_params *params)
{
    const enum zoo_mode mode = params->runconfig.mode;
    const bool reads[] = {zoo_mode_trains(mode) && params->train_input.present,
                          zoo_mode_evaluates(mode) && params->eval_input.present};
    check_sinks(p, params, reads);
    check_length(p, params, reads);
    check_predictions(p, params);
}

void zoo_set_ranges(struct zoo_params *params)
{
    set_ranges(&params->train_input, &params->model);
    set_ranges(&params->eval_input, &params->model);
}
