// SPDX-License-Identifier: Apache-2.0
/* Vocabularies and labels of the files of an input, read once: word pieces, tokens of pairs (one
 * per line), and the labels of token classification (token_labels.c). */
#include "encoder_shared.h"

#include <wsc/mem.h>

/* Read the vocabulary; the model must have its ids. */
static enum wsc_err read_words(struct data_examples_shared *s)
{
    const char *path = s->in->vocab_file;
    if (!path)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "vocab_file of the input is missing: its data "
                                                  "are texts"),
                            "the vocab.txt or tokenizer.json that comes with a BERT");
    TRY(data_wordpiece_open(&s->words, path, s->in->do_lower));
    if (data_wordpiece_n(s->words) <= s->vocab) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: has %lld tokens, but model.vocab_size is %lld", path,
                     (long long)data_wordpiece_n(s->words), (long long)s->vocab);
}

/* Read the vocabulary of pairs; the model must have its ids and sentinels. */
static enum wsc_err read_tokens_of_pairs(struct data_examples_shared *s)
{
    const struct zoo_input *in = s->in;
    const int64_t extra = in->samples == ZOO_SAMPLES_SPANS ? in->extra_ids : 0;
    TRY(data_vocabulary_open(&s->tokens, in->vocab_file, in->do_lower));
    s->pairs = (struct data_pair_rules){.words = &s->tokens,
                                        .T_source = in->max_sequence_length,
                                        .T_target = in->tgt_max_sequence_length,
                                        .extra_ids = extra,
                                        .seed = (uint64_t)in->shuffle_seed};
    const int64_t n = data_vocabulary_n(&s->tokens) + extra;
    const bool source_fits = n <= s->vocab;
    if (source_fits && n <= in->n_labels) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: has %lld tokens, with extra_ids %lld, but the %s has %lld",
                     in->vocab_file, (long long)data_vocabulary_n(&s->tokens), (long long)n,
                     source_fits ? "decoder" : "encoder",
                     (long long)(source_fits ? in->n_labels : s->vocab));
}

static enum wsc_err fill_shared(struct data_examples_shared *s,
                                const struct data_examples_needs *needs)
{
    enum { LISTS = 3 };
    TRY_NEW(s->scratch, WSC_MEM_DATA, LISTS * s->T);
    if (needs->words) TRY(read_words(s));
    if (needs->lines) TRY(read_tokens_of_pairs(s));
    if (needs->labels) TRY(data_labels_read(&s->labels, s->in->label_vocab_file));
    return WSC_OK;
}

enum wsc_err data_shared_open(struct data_examples_shared **out, const struct zoo_input *input,
                              int64_t T, int64_t vocab, const struct data_examples_needs *needs)
{
    struct data_examples_shared *s = NULL;
    *out = NULL;
    TRY_NEW(s, WSC_MEM_DATA, 1);
    s->in = input;
    s->T = T;
    s->vocab = vocab;
    const enum wsc_err rc = fill_shared(s, needs);
    if (rc) data_shared_close(&s);
    *out = s;
    return rc;
}

void data_shared_close(struct data_examples_shared **shared)
{
    struct data_examples_shared *s = *shared;
    *shared = NULL;
    if (!s) return;
    data_wordpiece_close(&s->words);
    data_vocabulary_close(&s->tokens);
    data_labels_fini(&s->labels);
    wsc_free(s->scratch);
    wsc_free(s);
}
